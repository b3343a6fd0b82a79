// Keys: which do what, and the listener that obeys them.
import { targetOf } from "./dom.js";

const TYPED = "input, textarea, select, dialog, [contenteditable='']";

/**
 * Whether a key is for the element that has the focus: Enter and Space are for a button.
 * @param {KeyboardEvent} event
 */
function native(event) {
  const presses = [" ", "Enter"].includes(event.key);
  const users = presses ? `${TYPED}, button, a, summary` : TYPED;
  return targetOf(event).closest(users) !== null;
}

/**
 * Call actions[keys[key]] for a key that is pressed in `root`. keys: by a key's name, with "Shift+"
 * before an arrow's.
 * @param {HTMLElement | Document} root
 * @param {Record<string, () => unknown>} actions
 * @param {Record<string, string>} keys
 */
function listen(root, actions, keys) {
  const obey = (/** @type {KeyboardEvent} */ event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || native(event)) return;
    let name = event.key;
    if (name.length === 1) name = name.toLowerCase();
    else if (event.shiftKey && name.startsWith("Arrow")) name = `Shift+${name}`;
    const action = keys[name];
    if (!action) return;
    event.preventDefault();
    event.stopPropagation();
    actions[action]();
  };
  root.addEventListener("keydown", /** @type {EventListener} */ (obey));
}

export { listen };
