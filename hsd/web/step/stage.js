// What is on screen: holds the parts of one player and fills them. Knows how to draw a state, not how to move.
import { afterLayout, h, prose, targetOf } from "../kit/dom.js";
import { listen } from "../kit/keys.js";
import { said } from "../kit/parts.js";
import * as board from "./board.js";
import { follow } from "./cells.js";
import { leftOutWords } from "./drafts.js";
import { fold, needed, setupLine, storyCard, tools, treeCard } from "./frame.js";
import { dialog, KEYS } from "./help.js";
import { plain, say } from "./fill.js";
import { odds } from "./odds.js";
import { PARTS } from "./parts.js";
import * as phases from "./phases.js";
import { story } from "./sentences.js";
import * as text from "./text.js";
import * as transport from "./transport.js";
import * as tree from "./tree.js";

const FOLDS = {
  decisions: "The tests, one by one",
  ledger: "A branch in full: what could come next",
  table: "The numbers, token by token",
};
/** @typedef {keyof typeof FOLDS} FoldName */
let folds = /** @type {typeof import("./folds.js") | null} */ (null); // what fills the folds, once one was opened
const NEXT_COLUMN = 140; // pixels that should be in sight to the right of the selected token

class Stage {
  shown = /** @type {{view: View, state: PlayerState} | null} */ (null);
  plan = /** @type {Plan | null} */ (null);
  onBoard = false;
  active = ""; // the key of the box of the tree that is selected
  linked = /** @type {string | undefined} */ (undefined); // the node that is marked wherever it stands
  toast = said("hp-toast");
  dialog = dialog();

  /** player: its methods are what buttons, keys and clicks do. @param {HTMLElement} root @param {Player} player @param {boolean} hasLink */
  constructor(root, player, hasLink) {
    this.root = root;
    this.player = player;
    this.text = text.create((step) => player.go(step));
    this.transport = transport.create(player);
    this.tree = tree.create({
      select: (choice) => this.openBeside("ledger", this.card.element, () => player.selectItem(choice)),
      hover: (box) => this.readout(box),
    });
    this.board = board.create({
      select: (node) => this.openBeside("ledger", this.board.element, () => player.selectNode(node)),
      test: (judged, node) => this.openTest(judged, node),
      judgeBy: (rule) => player.judgeBy(rule),
      coin: (node, value) => player.coin(node, value),
    });
    const selectNode = (/** @type {number} */ node) => player.selectNode(node);
    this.parts = PARTS.map((part) => ({ part, card: part.create({ selectNode }), on: false }));
    this.story = storyCard(player.asItWas);
    this.card = treeCard(this.tree.element, player.mass);
    const folded = (/** @type {FoldName} */ name) => fold(FOLDS[name], () => this.drawFold(name));
    this.folds = { decisions: folded("decisions"), ledger: folded("ledger"), table: folded("table") };
    this.prepareRoot(tools(player, hasLink));
  }

  prepareRoot(/** @type {HTMLElement} */ buttons) {
    const { root } = this;
    root.classList.add("hsd-kit", "hsd-player");
    root.ariaLabel ??= "speculative decoding, step by step";
    Object.assign(root, { tabIndex: 0, role: "region" });
    root.replaceChildren(
      this.text.element,
      this.story.element,
      ...this.parts.flatMap(({ card }) => card.drawing ?? []),
      this.board.element,
      this.transport.element,
      this.card.element,
      ...this.parts.flatMap(({ card }) => card.below ?? []),
      ...Object.values(this.folds).map(({ element }) => element),
      buttons,
      this.toast.element,
      this.dialog,
    );
    root.addEventListener("click", (event) => this.keepFocus(event));
    for (const type of ["pointerover", "focusin"])
      root.addEventListener(type, (event) => this.link(targetOf(event).closest?.("[data-node]")));
    root.addEventListener("pointerleave", () => this.link(null));
    listen(root, /** @type {Record<string, any>} */ (this.player), KEYS);
    root.addEventListener("keydown", ({ key }) => {
      const full = root.matches(":fullscreen, .is-maximised"); // elsewhere these keys scroll the page
      if (full && /^Page(Up|Down)$/.test(key)) this.player.move(key === "PageUp" ? -1 : 1);
    });
  }

  /** A mouse click on a button leaves the focus with the player, so that Space goes on meaning "play". @param {MouseEvent} event */
  keepFocus(event) {
    const byMouse = event.detail > 0 && targetOf(event).closest(".hp-button");
    if (byMouse && !this.dialog.open) this.root.focus({ preventScroll: true });
  }

  /** A new trace: the text and the step cells are built once. @param {Trace} record */
  load(record) {
    this.shown = null;
    this.story.element.style.minHeight = "";
    this.text.load(record);
    this.transport.load(record);
  }

  /** @param {Trace} record @param {number} known how many of its steps are drawn */
  extend(record, known) {
    this.text.extend(record.steps.slice(known), known);
    this.transport.extend(record.setup, record.steps.slice(known));
  }

  /** Where in the run one is. @param {Trace} record @param {number} step @param {boolean} live */
  place(record, step, live) {
    const { element } = this.story; // while a run comes in it only grows, so that the board holds still
    if (live) element.style.minHeight = `${element.offsetHeight}px`;
    this.text.select(step);
    this.transport.select(record, step, live);
    this.transport.setup.textContent = setupLine(record, live);
  }

  /** Everything about a step. @param {View} view @param {PlayerState} state @param {Plan} plan */
  drawStep(view, state, plan) {
    this.plan = plan;
    this.card.note.textContent = view.detail || view.step.drafted === 0 ? "" : plain(say("no details", {}));
    this.onBoard = view.detail && !view.isTrie && view.step.drafted > 0;
    this.board.element.hidden = !this.onBoard;
    const shown = { plan, selected: state.node, changed: Boolean(view.original), first: this.player.brief() };
    if (this.onBoard) this.board.draw(view, shown);
    this.card.element.hidden = this.onBoard;
    this.drawParts(view, plan, state.node);
    this.story.odds.replaceChildren(this.onBoard ? "" : odds(view));
    this.transport.phases(plan);
    this.text.suppose(view.index, wouldKeep(view));
    this.drawSelection(view, state);
    this.drawFold("decisions");
    this.drawBeat(view, plan, state.beat);
    afterLayout(() => this.reveal());
  }

  /** The parts that this step has. Where one of them has a drawing, the board stands under the transport. @param {View} view @param {Plan} plan @param {number} selected */
  drawParts(view, plan, selected) {
    for (const one of this.parts) {
      one.on = one.part.shows(view);
      for (const card of [one.card.drawing, one.card.below]) if (card) card.hidden = !one.on;
      if (one.on) one.card.draw(view, { plan, selected });
    }
    const [cells, bar] = [this.board.element, this.transport.element];
    const led = cells.previousElementSibling === bar;
    if (led !== Boolean(this.leading)) bar[led ? "before" : "after"](cells);
  }

  /** The part whose drawing leads. */
  get leading() {
    return this.parts.find(({ on, card }) => on && card.drawing)?.card;
  }

  /** How far the step has come: what is shown of it, and what is said. @param {View} view @param {Plan} plan @param {number} beat */
  drawBeat(view, plan, beat) {
    const place = phases.at(plan, beat);
    const last = beat >= plan.total - 1;
    this.root.dataset.phase = last ? "commit" : place.phase.name;
    this.board.beat(beat, last);
    this.tree.beat(beat, last);
    for (const { on, card } of this.parts) if (on) card.beat?.(place, last);
    this.transport.beat(plan, beat);
    /** @type {Record<string, Part[]>} */
    const words = last ? story(view, this.player.brief()) : phases.telling(view, place);
    for (const [part, element] of Object.entries(this.story.parts))
      element.replaceChildren(.../** @type {Node[]} */ (prose(words[part] ?? [])));
    this.story.back.hidden = !view.original;
  }

  /** What depends on the selected branch: tree, ledger, the marked row of the table. @param {View} view @param {PlayerState} state */
  drawSelection(view, state) {
    this.shown = { view, state };
    const drawable = view.detail || view.own.residual !== null;
    const { scroller, readline, hidden, massButton } = this.card;
    for (const part of [scroller, readline, hidden, massButton]) part.hidden = !drawable;
    if (drawable && !this.onBoard) this.drawTree(view, state);
    this.board.select(state.node);
    for (const { on, card } of this.parts) if (on) card.select?.(state.node);
    this.drawFold("ledger");
    this.drawFold("table");
  }

  /** What is folded up is made when it is opened, and anew with every step while it is open. @param {FoldName} name @returns {Promise<void>} */
  async drawFold(name) {
    const { element, body } = this.folds[name];
    const there =
      this.shown && (this.shown.view.detail || (name === "ledger" && this.shown.view.own.residual !== null));
    element.hidden = !there;
    if (!there || !element.open) return body.replaceChildren();
    try {
      folds ??= await needed(import("./folds.js"));
    } catch (error) {
      return body.replaceChildren(h("p.hp-card.hp-hint", error instanceof Error ? error.message : ""));
    }
    if (!this.shown || !element.open) return;
    const { view, state } = this.shown;
    const select = (/** @type {number} */ node) => this.player.selectNode(node);
    const coin = (/** @type {number} */ node, /** @type {number} */ value) => this.player.coin(node, value);
    const { force } = this.player.options;
    const on = force && ((/** @type {number} */ other) => force(view, state.node, other));
    const token = this.tree.boxes().find(({ key }) => key === state.item)?.token ?? null;
    if (name === "decisions") body.replaceChildren(folds.decisions(view, { select, coin }));
    else if (name === "ledger") body.replaceChildren(folds.ledger(view, state.node, token, on));
    else body.replaceChildren(folds.table(view, { node: state.node, select }));
  }

  /** Open a fold below the card in which something was clicked. @param {FoldName} name @param {HTMLElement} card @param {() => void} action */
  openBeside(name, card, action) {
    const { element } = this.folds[name];
    if (card.nextElementSibling !== element) card.after(element);
    element.classList.toggle("is-under-board", card === this.board.element);
    element.open = true;
    action();
    element.scrollIntoView({ block: "nearest" });
  }

  /** @param {Judged} judged @param {number} node */
  async openTest({ rule }, node) {
    folds ??= await needed(import("./folds.js")).catch(() => null); // opened before, it would be drawn twice and lose the focus
    this.openBeside("decisions", this.board.element, () => this.player.selectNode(node));
    await this.drawFold("decisions");
    const { body } = this.folds.decisions;
    const test = body.querySelector(`.hp-panel[data-rule="${rule}"] .hp-test[data-node="${node}"]`);
    test?.scrollIntoView({ block: "nearest" });
    test?.querySelector("input")?.focus({ preventScroll: true });
  }

  /** What an exported picture shows: the drawing of a part, else the board of a single draft, the tree of several. @returns {HTMLElement} */
  get picture() {
    const { picture, drawing } = this.leading ?? {};
    return picture ?? drawing ?? (this.onBoard ? this.board.grid : this.tree.element);
  }

  /** One token is marked wherever it stands: in the text, on the board, in the tree, in the table. @param {HTMLElement | null} [place] where it is pointed at */
  link(place) {
    const node = place?.dataset.node;
    if (node === this.linked) return;
    this.linked = node;
    for (const old of this.root.querySelectorAll(".is-linked")) old.classList.remove("is-linked");
    if (node === undefined || node === "0" || !this.shown) return;
    const { own, depth } = this.shown.view;
    const written = this.text.element.querySelectorAll(".hp-group.is-now .hp-out");
    const token = own.path.has(Number(node)) ? [written[depth.get(Number(node)) - 1]] : [];
    for (const one of [...this.root.querySelectorAll(`[data-node="${node}"]`), ...token])
      one?.classList.add("is-linked");
  }

  /** @param {View} view @param {PlayerState} state */
  drawTree(view, state) {
    const { element } = this.tree;
    const focused = element.contains(document.activeElement);
    if (!this.plan) return;
    const drawn = this.tree.draw(view, { state, plan: this.plan });
    this.active = drawn.active;
    this.tree.beat(state.beat, true);
    element.classList.toggle("is-pinned", state.pinned);
    const { hidden, massButton } = this.card;
    hidden.textContent = view.detail ? leftOutWords(drawn.tree) : "";
    massButton.hidden = !view.branches.size;
    massButton.textContent = state.mass === "joint" ? "masses: joint" : "masses: per branch";
    this.readout(null);
    if (focused) this.activeElement()?.focus({ preventScroll: true });
  }

  /** A run without any step. @param {string} words */
  drawEmpty(words) {
    this.shown = null;
    for (const part of [...Object.values(this.story.parts), this.story.odds]) part.replaceChildren();
    this.story.parts.lead.textContent = words;
    const cards = this.parts.flatMap(({ card }) => [card.drawing, card.below]);
    const folds = Object.values(this.folds).map(({ element }) => element);
    for (const card of [this.board.element, this.card.element, ...cards, ...folds]) if (card) card.hidden = true;
  }

  activeBox = () => this.tree.boxes().find(({ key }) => key === this.active);
  activeElement = () => /** @type {HTMLElement | null} */ (this.tree.element.querySelector(".hp-node.is-active"));

  /** Scroll the tree so that the selected token and its branch are in sight. */
  reveal() {
    follow(this.card.scroller, this.activeElement(), NEXT_COLUMN);
  }

  /** A key has selected another token. */
  arrive() {
    this.activeElement()?.focus({ preventScroll: true });
    this.reveal();
  }

  /** The line under the picture: everything about the token under the pointer, else about the selected one. @param {TreeBox | null} box */
  readout(box) {
    if (!this.shown) return;
    const { view, state } = this.shown;
    const shown = box ?? this.activeBox();
    const words = shown ? tree.describe(view, shown).join(" · ") : "";
    const pin = state.pinned ? [h("span.hp-pin", "pinned"), " "] : [];
    this.card.readline.replaceChildren(...pin, h("bdi", words.length > 240 ? `${words.slice(0, 240)}…` : words));
  }
}

/** The tokens that a step would keep where something is supposed; null where nothing is. @param {View} view */
const wouldKeep = ({ original, own, nodes }) => (original ? [...own.path].map((id) => nodes.get(id)) : null);

export { Stage };
