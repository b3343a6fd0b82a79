// Keys: which do what, and the listener that obeys them.
import { targetOf } from "./dom.js";

const MOVES = /** @type {Record<string, string>} */ ({
  " ": "play",
  "ArrowLeft": "back",
  "ArrowRight": "forward",
  "Home": "first",
  "End": "last",
  "n": "next",
  "p": "previous",
});

const TYPED = "input, textarea, select, dialog, [contenteditable='']";

/** Whether a key is for the element that has the focus: Enter and Space are for a button. @type {(event: KeyboardEvent) => boolean} */
const native = (event) =>
  targetOf(event).closest([" ", "Enter"].includes(event.key) ? `${TYPED}, button, a, summary` : TYPED) !== null;

/**
 * Call actions[keys[key]] for what is pressed in `root`. keys: name of the key, as in MOVES, with "Shift+" before an
 * arrow's. early: before anything inside `root` hears of it.
 * @type {(root: HTMLElement | Document, actions: Record<string, () => unknown>, keys?: Record<string, string>, how?: {early?: boolean}) => void}
 */
function listen(root, actions, keys = MOVES, { early = false } = {}) {
  const obey = (/** @type {KeyboardEvent} */ event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || native(event)) return;
    const letter = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const action = keys[event.shiftKey && event.key.startsWith("Arrow") ? `Shift+${event.key}` : letter];
    if (!action) return;
    event.preventDefault();
    event.stopPropagation();
    actions[action]();
  };
  root.addEventListener("keydown", /** @type {EventListener} */ (obey), early);
}

export { MOVES, listen };
