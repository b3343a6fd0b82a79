// Keys: which do what, and the listener that obeys them.
import { targetOf } from "./dom.js";

const TYPED = "input, textarea, select, dialog, [contenteditable='']";

/** Whether a key is for the element that has the focus: Enter and Space are for a button. @type {(event: KeyboardEvent) => boolean} */
const native = (event) =>
  targetOf(event).closest([" ", "Enter"].includes(event.key) ? `${TYPED}, button, a, summary` : TYPED) !== null;

/**
 * Call actions[keys[key]] for what is pressed in `root`. keys: by a key's name, with "Shift+" before an arrow's.
 * @type {(root: HTMLElement | Document, actions: Record<string, () => unknown>, keys: Record<string, string>) => void}
 */
function listen(root, actions, keys) {
  const obey = (/** @type {KeyboardEvent} */ event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || native(event)) return;
    const letter = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const action = keys[event.shiftKey && event.key.startsWith("Arrow") ? `Shift+${event.key}` : letter];
    if (!action) return;
    event.preventDefault();
    event.stopPropagation();
    actions[action]();
  };
  root.addEventListener("keydown", /** @type {EventListener} */ (obey));
}

export { listen };
