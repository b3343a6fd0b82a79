// What is on screen: holds the parts of one player and fills them. Knows how to draw a state, not how to move.
import { afterLayout, h, prose } from "../kit/dom.js";
import { listen } from "../kit/keys.js";
import * as board from "./board.js";
import { follow } from "./cells.js";
import { leftOutWords } from "./drafts.js";
import * as frame from "./frame.js";
import { fold, setupLine, storyCard, toast, treeCard } from "./frame.js";
import { dialog, KEYS } from "./help.js";
import { odds } from "./odds.js";
import { PARTS } from "./parts.js";
import * as phases from "./phases.js";
import { story } from "./sentences.js";
import * as text from "./text.js";
import * as transport from "./transport.js";
import * as tree from "./tree.js";
import { describe } from "./tree.js";

const NO_DETAIL =
  "This trace was recorded without detail: there is no tree to draw. Run again with tracing on to see it.";
const FOLDS = {
  decisions: "The tests, one by one",
  ledger: "A branch in full: what could come next",
  table: "The numbers, token by token",
};
/** @type {typeof import("./folds.js") | null} */
let folds = null; // what fills the folds, once one was opened
const loadFolds = async () => (folds = await import("./folds.js"));
const NEXT_COLUMN = 140; // pixels that should be in sight to the right of the selected token

class Stage {
  /** actions: see player.js; they are what buttons, keys and clicks do. moves: what happens while it plays. */
  constructor(root, actions, moves, hasLink) {
    this.root = root;
    this.actions = actions;
    this.text = text.create(actions.go);
    this.transport = transport.create(actions, moves);
    this.tree = tree.create({
      select: (item) => this.openBeside("ledger", this.card.element, () => actions.selectItem(item)),
      hover: (item) => this.readout(item),
    });
    this.board = board.create({
      ...actions,
      select: (node) => this.openBeside("ledger", this.board.element, () => actions.selectNode(node)),
      test: (judged, node) => this.openTest(judged, node),
    });
    this.parts = PARTS.map((part) => ({ part, ...part.create(actions), on: false }));
    this.story = storyCard(actions.asItWas);
    this.card = treeCard(this.tree.element, actions.mass);
    this.folds = Object.fromEntries(
      Object.entries(FOLDS).map(([name, title]) => [name, fold(title, () => this.drawFold(name))]),
    );
    this.toast = toast();
    this.dialog = dialog();
    this.prepareRoot(frame.tools({ ...actions, link: hasLink ? actions.link : null }));
  }

  prepareRoot(tools) {
    const { root } = this;
    root.classList.add("hsd-kit", "hsd-player");
    root.tabIndex = 0;
    root.setAttribute("role", "region");
    if (!root.hasAttribute("aria-label")) root.setAttribute("aria-label", "speculative decoding, step by step");
    const own = (place) => this.parts.flatMap((one) => one[place] ?? []);
    const elements = (...cards) => cards.map(({ element }) => element);
    root.replaceChildren(
      ...elements(this.text, this.story),
      ...own("drawing"),
      ...elements(this.board, this.transport),
      this.card.element,
      ...own("below"),
      ...elements(...Object.values(this.folds)),
      tools,
      this.toast.element,
      this.dialog,
    );
    root.addEventListener("click", (event) => this.keepFocus(event));
    for (const type of ["pointerover", "focusin"]) root.addEventListener(type, (event) => this.link(event.target));
    root.addEventListener("pointerleave", () => this.link(null));
    listen(root, this.actions, KEYS);
  }

  /** A mouse click on a button leaves the focus with the player, so that Space goes on meaning "play". */
  keepFocus(event) {
    const byMouse = event.detail > 0 && event.target.closest(".hp-button");
    if (byMouse && !this.dialog.open) this.root.focus({ preventScroll: true });
  }

  /** A new trace: the text and the step cells are built once. */
  load(record) {
    this.shown = null;
    this.story.element.style.minHeight = "";
    this.text.load(record);
    this.transport.load(record);
  }

  extend(record, known) {
    this.text.extend(record.steps.slice(known), known);
    this.transport.extend(record.setup, record.steps.slice(known));
  }

  /** Where in the run one is. */
  place(record, step, live) {
    const { element } = this.story; // while a run comes in it only grows, so that the board holds still
    if (live) element.style.minHeight = `${element.offsetHeight}px`;
    this.text.select(step);
    this.transport.select(record, step, live);
    this.transport.setup.textContent = setupLine(record, live);
  }

  /** Everything about a step. state: {node, item, pinned, mass, beat}; plan: of phases.js. */
  drawStep(view, state, plan) {
    this.plan = plan;
    this.card.note.textContent = view.detail || view.step.drafted === 0 ? "" : NO_DETAIL;
    this.onBoard = view.detail && !view.isTrie && view.step.drafted > 0;
    this.board.element.hidden = !this.onBoard;
    if (this.onBoard) this.board.draw(view, { plan, selected: state.node, changed: Boolean(view.original) });
    this.card.element.hidden = this.onBoard;
    this.drawExtras(view, plan, state.node);
    this.story.odds.replaceChildren(this.onBoard ? "" : odds(view));
    this.transport.phases(plan);
    this.text.suppose(view.index, wouldKeep(view));
    this.drawSelection(view, state);
    this.drawFold("decisions");
    this.drawBeat(view, plan, state.beat);
    afterLayout(() => this.reveal());
  }

  /** The parts that this step has. Where one of them has a drawing, the board stands under the transport. */
  drawExtras(view, plan, selected) {
    for (const one of this.parts) {
      one.on = one.part.shows(view);
      for (const card of [one.drawing, one.below]) if (card) card.hidden = !one.on;
      if (one.on) one.draw(view, { plan, selected });
    }
    this.leading = this.parts.find(({ on, drawing }) => on && drawing);
    const [board, bar] = [this.board.element, this.transport.element];
    const led = board.previousElementSibling === bar;
    if (led !== Boolean(this.leading)) bar[led ? "before" : "after"](board);
  }

  /** How far the step has come: what is shown of it, and what is said. */
  drawBeat(view, plan, beat) {
    const found = phases.at(plan, beat);
    const last = beat >= plan.total - 1;
    this.root.dataset.phase = last ? "commit" : found.phase.name;
    this.board.beat(beat, last);
    this.tree.beat(beat, last);
    for (const one of this.parts) if (one.on) one.beat(found, last);
    this.transport.beat(plan, beat);
    const told = last ? story(view) : phases.telling(view, found);
    for (const [part, element] of Object.entries(this.story.parts)) element.replaceChildren(...prose(told[part] || []));
    this.story.back.hidden = !view.original;
  }

  /** What depends on the selected branch: tree, ledger, the marked row of the table. */
  drawSelection(view, state) {
    this.shown = { view, state };
    const drawable = view.detail || view.own.residual !== null;
    this.showTree(drawable);
    if (drawable) this.drawTree();
    this.board.select(state.node);
    for (const one of this.parts) if (one.on) one.select?.(state.node);
    this.drawFold("ledger");
    this.drawFold("table");
  }

  /** What is folded up is made when it is opened, and anew with every step while it is open. */
  drawFold(name) {
    const { element, body } = this.folds[name];
    const { view, state } = this.shown || {};
    const there = view && (view.detail || (name === "ledger" && view.own.residual !== null));
    element.hidden = !there;
    if (element.hidden || !element.open) return body.replaceChildren();
    if (!folds) return void loadFolds().then(() => this.drawFold(name));
    const select = this.actions.selectNode;
    const item = this.tree.boxes().find((it) => it.key === state.item);
    const make = {
      decisions: () => folds.decisions(view, { select, coin: this.actions.coin }),
      ledger: () => folds.ledger(view, state.node, item ? item.token : null),
      table: () => folds.table(view, { node: state.node, select }),
    };
    return body.replaceChildren(make[name]());
  }

  /** Open a fold below the card in which something was clicked. */
  openBeside(name, card, action) {
    const { element } = this.folds[name];
    if (card.nextElementSibling !== element) card.after(element);
    element.classList.toggle("is-under-board", card === this.board.element);
    element.open = true;
    action();
    element.scrollIntoView({ block: "nearest" });
  }

  async openTest(judged, node) {
    await loadFolds();
    this.openBeside("decisions", this.board.element, () => this.actions.selectNode(node));
    this.drawFold("decisions");
    const { body } = this.folds.decisions;
    const test = body.querySelector(`.hp-panel[data-rule="${judged.rule}"] .hp-test[data-node="${node}"]`);
    if (!test) return;
    test.scrollIntoView({ block: "nearest" });
    const coin = test.querySelector("input");
    if (coin) coin.focus({ preventScroll: true });
  }

  /** What an exported picture shows: the drawing of a part, else the board of a single draft, the tree of several. */
  get picture() {
    if (this.leading) return this.leading.picture ?? this.leading.drawing;
    return this.onBoard ? this.board.grid : this.tree.element;
  }

  closeFolds() {
    for (const { element } of Object.values(this.folds)) element.open = false;
  }

  /** One token is marked wherever it stands: in the text, on the board, in the tree, in the table. */
  link(target) {
    const found = target && target.closest && target.closest("[data-node]");
    const node = found ? found.dataset.node : null;
    if (node === this.linked) return;
    this.linked = node;
    for (const old of this.root.querySelectorAll(".is-linked")) old.classList.remove("is-linked");
    if (node === null || node === "0" || !this.shown) return;
    for (const one of this.root.querySelectorAll(`[data-node="${node}"]`)) one.classList.add("is-linked");
    const { view } = this.shown;
    const token = view && view.own.path.has(Number(node)) ? view.depth.get(Number(node)) - 1 : -1;
    const written = this.text.element.querySelectorAll(".hp-group.is-now .hp-out")[token];
    if (written) written.classList.add("is-linked");
  }

  drawTree() {
    if (this.onBoard) return;
    const { view, state } = this.shown;
    const focused = this.tree.element.contains(document.activeElement);
    const { tree, active } = this.tree.draw(view, { state, plan: this.plan });
    this.activeKey = active;
    this.tree.beat(state.beat, true);
    this.card.hidden.textContent = view.detail ? leftOutWords(tree).join(" ") : "";
    this.tree.element.classList.toggle("is-pinned", state.pinned);
    this.card.massButton.hidden = !view.branches.size;
    this.card.massButton.textContent = state.mass === "joint" ? "masses: joint" : "masses: per branch";
    this.readout(null);
    if (focused) this.focusActive();
  }

  /** A run without any step. */
  drawEmpty(words) {
    this.shown = null;
    for (const part of [...Object.values(this.story.parts), this.story.odds]) part.replaceChildren();
    this.story.parts.lead.textContent = words;
    this.card.note.textContent = "";
    for (const card of [this.board.element, ...this.parts.flatMap(({ drawing, below }) => [drawing, below])])
      if (card) card.hidden = true;
    this.showTree(false);
    for (const name of Object.keys(this.folds)) this.drawFold(name);
  }

  showTree(on) {
    for (const part of ["scroller", "readline", "hidden", "massButton"]) this.card[part].hidden = !on;
  }

  active() {
    return this.tree.element.querySelector(".hp-node.is-active");
  }

  activeItem() {
    return this.tree.boxes().find((item) => item.key === this.activeKey);
  }

  focusActive() {
    const element = this.active();
    if (element) element.focus({ preventScroll: true });
  }

  /** The selected token and its branch are in sight. */
  reveal() {
    const element = this.active();
    if (element) follow(this.card.scroller, element, NEXT_COLUMN);
  }

  /** The line under the picture: everything about the token under the pointer, else about the selected one. */
  readout(item) {
    if (!this.shown) return;
    const { view, state } = this.shown;
    const shown = item || this.activeItem();
    const words = shown ? describe(view, shown).join(" · ") : "";
    const pin = state.pinned ? [h("span.hp-pin", "pinned"), " "] : [];
    this.card.readline.replaceChildren(...pin, h("bdi", words.length > 240 ? `${words.slice(0, 240)}…` : words));
  }
}

/** The tokens that a step would keep where something is supposed; null where nothing is. */
const wouldKeep = ({ original, own, nodes }) => original && [...own.path].map((id) => nodes.get(id));

export { Stage };
