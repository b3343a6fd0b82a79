// What is on screen: holds the parts of one player and fills them. Knows how to draw a state, not how to move.
import { afterLayout, h, prose } from "../kit/dom.js";
import { listen } from "../kit/keys.js";
import * as cards from "./cards.js";
import { leftOutWords } from "./drafts.js";
import * as frame from "./frame.js";
import { setupLine, storyCard, toast, treeCard } from "./frame.js";
import { dialog, KEYS } from "./help.js";
import * as ledger from "./ledger.js";
import { odds } from "./odds.js";
import * as story from "./story.js";
import * as table from "./table.js";
import * as text from "./text.js";
import * as transport from "./transport.js";
import * as tree from "./tree.js";
import { describe } from "./tree.js";

const NO_DETAIL =
  "This trace was recorded without detail: there is no tree to draw. Run again with tracing on to see it.";
const PARTS = ["text", "story", "transport", "tree", "decisions", "ledger", "table", "tools"];
const NEXT_COLUMN = 140; // pixels that should be in sight to the right of the selected token

class Stage {
  /** actions: see player.js; they are what buttons, keys and clicks do. moves: what happens while it plays. */
  constructor(root, actions, moves, { hasLink, parts }) {
    this.root = root;
    this.actions = actions;
    this.parts = new Set(parts || PARTS);
    this.text = text.create(actions.go);
    this.transport = transport.create(actions, moves);
    this.tree = tree.create({ select: actions.selectItem, hover: (item) => this.readout(item) });
    this.story = storyCard();
    this.card = treeCard(this.tree.element, actions.mass);
    const slot = () => h("div", { class: "hp-slot" });
    this.slots = { decisions: slot(), ledger: slot(), table: slot() };
    this.toast = toast();
    this.dialog = dialog();
    this.prepareRoot(frame.tools({ ...actions, link: hasLink ? actions.link : null }));
    this.watchWidth();
  }

  prepareRoot(tools) {
    const { root } = this;
    root.classList.add("hsd-kit", "hsd-player");
    root.tabIndex = 0;
    root.setAttribute("role", "region");
    if (!root.hasAttribute("aria-label")) root.setAttribute("aria-label", "speculative decoding, step by step");
    const elements = {
      text: this.text.element,
      story: this.story.element,
      transport: this.transport.element,
      tree: this.card.element,
      ...this.slots,
      tools,
    };
    const shown = PARTS.filter((part) => this.parts.has(part)).map((part) => elements[part]);
    root.replaceChildren(...shown, this.toast.element, this.dialog);
    root.addEventListener("click", (event) => this.keepFocus(event));
    listen(root, this.actions, KEYS);
  }

  /** A mouse click on a button leaves the focus with the player, so that Space goes on meaning "play". */
  keepFocus(event) {
    const byMouse = event.detail > 0 && event.target.closest(".hp-button");
    if (byMouse && !this.dialog.open) this.root.focus({ preventScroll: true });
  }

  watchWidth() {
    if (typeof ResizeObserver === "undefined") return;
    const { scroller } = this.card;
    new ResizeObserver(() => {
      if (!scroller.clientWidth || Math.abs(scroller.clientWidth - this.width) < 2) return;
      this.width = scroller.clientWidth;
      if (this.shown) this.drawTree();
    }).observe(scroller);
  }

  /** A new trace: the text and the step cells are built once. */
  load(record) {
    this.shown = null;
    if (this.parts.has("text")) this.text.load(record);
    this.transport.load(record);
  }

  extend(record, known) {
    if (this.parts.has("text")) this.text.extend(record.steps.slice(known), known);
    this.transport.extend(record.setup, record.steps.slice(known));
  }

  /** Where in the run one is. */
  place(record, step, live) {
    this.text.select(step);
    this.transport.select(record, step, live);
    this.story.setup.textContent = setupLine(record, live);
  }

  /** Everything about a step. state: {node, item, pinned, mass}. */
  drawStep(view, state, animate) {
    const { lead, detail, why, warning } = story.story(view);
    this.story.headline.replaceChildren(...prose(lead));
    this.story.detail.replaceChildren(...prose(detail));
    this.story.why.textContent = why;
    this.story.warning.textContent = warning;
    this.story.odds.replaceChildren(odds(view));
    this.card.note.textContent = view.detail || view.step.drafted === 0 ? "" : NO_DETAIL;
    const select = this.actions.selectNode;
    this.fill("decisions", view.detail && (() => cards.decisions(view, { animate, select })));
    this.drawSelection(view, state);
    afterLayout(() => this.reveal());
  }

  /** What depends on the selected branch: tree, ledger, the marked row of the table. */
  drawSelection(view, state) {
    this.shown = { view, state };
    const drawable = view.detail || view.own.residual !== null;
    this.showTree(drawable);
    if (!drawable) return this.empty("ledger", "table");
    this.drawTree();
    const item = this.tree.items().find((it) => it.key === state.item);
    const select = this.actions.selectNode;
    this.fill("ledger", () => ledger.ledger(view, state.node, item ? item.token : null));
    this.fill("table", view.detail && (() => table.table(view, { node: state.node, select })));
    return undefined;
  }

  /** A slot gets what `make` makes; nothing is made for a part that this player leaves out. */
  fill(part, make) {
    this.slots[part].replaceChildren(make && this.parts.has(part) ? make() : "");
  }

  drawTree() {
    if (!this.parts.has("tree")) return;
    const { view, state } = this.shown;
    const focused = this.tree.element.contains(document.activeElement);
    this.width = this.width || this.card.scroller.clientWidth || 900;
    const drawing = { width: this.width, selected: state.node, item: state.item, mass: state.mass };
    const { plan, active } = this.tree.draw(view, drawing);
    this.activeKey = active;
    const leftOut = view.isTrie && view.detail ? leftOutWords(view, plan, state.node) : [];
    this.card.hidden.textContent = leftOut.join(" ");
    this.tree.element.classList.toggle("is-pinned", state.pinned);
    this.card.massButton.hidden = !view.branches.size;
    this.card.massButton.textContent = state.mass === "joint" ? "masses: joint" : "masses: per branch";
    this.readout(null);
    if (focused) this.focusActive();
  }

  /** A run without any step. */
  drawEmpty(words) {
    this.shown = null;
    this.story.headline.textContent = words;
    for (const part of ["detail", "why", "warning", "odds"]) this.story[part].textContent = "";
    this.card.note.textContent = "";
    this.showTree(false);
    this.empty("decisions", "ledger", "table");
  }

  showTree(on) {
    for (const part of ["scroller", "readline", "hidden", "massButton"]) this.card[part].hidden = !on;
  }

  empty(...names) {
    for (const name of names) this.slots[name].replaceChildren();
  }

  active() {
    return this.tree.element.querySelector(".hp-node.is-active");
  }

  activeItem() {
    return this.tree.items().find((item) => item.key === this.activeKey);
  }

  focusActive() {
    const element = this.active();
    if (element) element.focus({ preventScroll: true });
  }

  /** Scroll the picture, not the page, so that the selected token and its branch are in sight. */
  reveal() {
    const element = this.active();
    if (!element) return;
    const box = this.card.scroller.getBoundingClientRect();
    const node = element.getBoundingClientRect();
    if (node.left >= box.left + 8 && node.right + NEXT_COLUMN <= box.right) return;
    this.card.scroller.scrollLeft += node.left - box.left - (box.width < 520 ? 12 : box.width / 3);
  }

  /** The line under the picture: everything about the token under the pointer, else about the selected one. */
  readout(item) {
    if (!this.shown) return;
    const { view, state } = this.shown;
    const shown = item || this.activeItem();
    const words = shown ? describe(view, shown).join(" · ") : "";
    const pin = state.pinned ? [h("span", { class: "hp-pin" }, "pinned"), " "] : [];
    this.card.readline.replaceChildren(...pin, h("bdi", {}, words.length > 240 ? `${words.slice(0, 240)}…` : words));
  }
}

export { Stage };
