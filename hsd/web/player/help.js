// Keys: which key does what, the help that lists them, and the listener that obeys them.
import { h, button } from "./dom.js";

// [keys as the browser names them, keys as shown, what they do, name of the action]
const KEYS = [
  [[" "], "Space", "play or pause", "play"],
  [["ArrowLeft"], "←", "one step back", "back"],
  [["ArrowRight"], "→", "one step forward", "forward"],
  [["Home"], "Home", "first step", "first"],
  [["End"], "End", "last step", "last"],
  [["n"], "n", "next step where the rules differ", "nextDifference"],
  [["p"], "p", "previous step where the rules differ", "previousDifference"],
  [["ArrowUp"], "↑", "token above in the column", "up"],
  [["ArrowDown"], "↓", "token below in the column", "down"],
  [["Shift+ArrowLeft"], "Shift ←", "towards the root of the tree", "parent"],
  [["Shift+ArrowRight"], "Shift →", "along the drafted path", "child"],
  [["Enter"], "Enter", "pin the selected branch while stepping", "pin"],
  [["Escape"], "Esc", "unpin; back to the branch that decided", "escape"],
  [["m"], "m", "masses relative to the branch, or joint", "mass"],
  [["f"], "f", "full screen", "fullscreen"],
  [["l"], "l", "copy a link to this view", "link"],
  [["?"], "?", "this help", "help"],
];

function dialog() {
  const rows = KEYS.map(([, shown, words]) => h("tr", {}, h("td", {}, h("kbd", {}, shown)), h("td", {}, words)));
  const element = h(
    "dialog",
    { "class": "hp-dialog", "aria-label": "Keys" },
    h("h3", { class: "hp-title" }, "Keys"),
    h("p", { class: "hp-hint" }, "They work while the player has the focus: click into it once."),
    h("table", {}, h("tbody", {}, rows)),
    button("Close", "close", () => element.close()),
  );
  return element;
}

const typing = (target) =>
  target.closest("input, textarea, select, [contenteditable=''], [contenteditable=true]") !== null;

/** Enter and Space belong to a button that has the focus; a node of the tree has an Enter of its own: pin. */
function native(event) {
  if (event.target.closest("dialog")) return true;
  return (event.key === " " || event.key === "Enter") && event.target.closest("button, a, summary") !== null;
}

function listen(root, actions) {
  root.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target) || native(event)) return;
    const arrow = event.key.startsWith("Arrow");
    const name = event.shiftKey && arrow ? `Shift+${event.key}` : event.key;
    const found = KEYS.find(
      ([keys]) => keys.includes(name) || (!arrow && keys.includes(name.toLowerCase()) && name.length === 1),
    );
    if (!found) return;
    event.preventDefault();
    event.stopPropagation();
    actions[found[3]]();
  });
}

export { KEYS, dialog, listen };
