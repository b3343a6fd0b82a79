// The player's keys, and the help that lists them.
import { h } from "../kit/dom.js";
import { button } from "../kit/controls.js";

// [the key as the browser names it, as it is shown, what it does, name of the action]
const LIST = [
  [" ", "Space", "play or pause", "toggle"],
  ["Home", "Home", "first step", "first"],
  ["End", "End", "last step", "last"],
  ["n", "n", "next step where the rules differ", "next"],
  ["p", "p", "previous step where the rules differ", "previous"],
  ["ArrowUp", "↑", "token above in the column", "up"],
  ["ArrowDown", "↓", "token below in the column", "down"],
  ["ArrowLeft", "←", "one move back inside the step", "moveBack"],
  ["ArrowRight", "→", "one move on inside the step", "moveOn"],
  ["Shift+ArrowLeft", "Shift ←", "one step back", "back"],
  ["Shift+ArrowRight", "Shift →", "one step forward", "forward"],
  ["", "Page ↑ ↓", "one move back or on, in full screen", ""],
  ["[", "[", "towards the root of the tree", "parent"],
  ["]", "]", "along the drafted path", "child"],
  ["Enter", "Enter", "pin the selected branch while stepping", "pin"],
  ["Escape", "Esc", "back to the run: its coins and rule; unpin; close what is open", "escape"],
  ["m", "m", "masses relative to the branch, or joint", "mass"],
  ["f", "f", "full screen", "fullscreen"],
  ["l", "l", "copy a link to this view", "link"],
  ["?", "?", "this help", "help"],
];
const KEYS = Object.fromEntries(LIST.map(([key, , , action]) => [key, action]));

/** The help: a dialog with all keys. */
function dialog() {
  const rows = LIST.map(([, shown, words]) => {
    const key = h("td", h("kbd", shown));
    return h("tr", key, h("td", words));
  });
  const close = button("Close", "close", () => element.close());
  const inside = [h("h3.hp-title", "Keys"), h("table", h("tbody", rows)), close];
  const element = /** @type {HTMLDialogElement} */ (
    h("dialog.hp-dialog", { "aria-label": "Keys" }, inside)
  );
  return element;
}

export { KEYS, dialog };
