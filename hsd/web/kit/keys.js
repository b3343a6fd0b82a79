// Keys: which do what, and the listener that obeys them.

const MOVES = {
  " ": "play",
  "ArrowLeft": "back",
  "ArrowRight": "forward",
  "Home": "first",
  "End": "last",
  "n": "next",
  "p": "previous",
};

const typing = (target) => target.closest("input, textarea, select, dialog, [contenteditable='']") !== null;

/** Enter and Space belong to a button that has the focus. */
const native = ({ key, target }) => [" ", "Enter"].includes(key) && target.closest("button, a, summary") !== null;

/**
 * Call actions[keys[key]] for what is pressed in `root`. keys: name of the key, as in MOVES, with "Shift+" before an
 * arrow's. early: before anything inside `root` hears of it.
 */
function listen(root, actions, keys = MOVES, { early = false } = {}) {
  const obey = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target) || native(event)) return;
    const letter = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const action = keys[event.shiftKey && event.key.startsWith("Arrow") ? `Shift+${event.key}` : letter];
    if (!action) return;
    event.preventDefault();
    event.stopPropagation();
    actions[action]();
  };
  root.addEventListener("keydown", obey, early);
}

export { MOVES, listen };
