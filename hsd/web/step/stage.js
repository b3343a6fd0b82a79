// What is on screen: holds the parts of one player and fills them. Knows how to draw a state, not
// how to move.
import { afterLayout, h, prose, targetOf } from "../kit/dom.js";
import { listen } from "../kit/keys.js";
import { said } from "../kit/controls.js";
import * as board from "./board.js";
import { fold, needed, setupLine, storyCard, tools } from "./frame.js";
import { dialog, KEYS } from "./help.js";
import { odds } from "./odds.js";
import { PARTS } from "./parts.js";
import * as phases from "./phases.js";
import { story } from "./explain.js";
import * as text from "./text.js";
import * as transport from "./transport.js";
import * as tree from "./tree.js";

const FOLDS = {
  decisions: "The tests, one by one",
  ledger: "A branch in full: what could come next",
  table: "The numbers, token by token",
};
/** @typedef {keyof typeof FOLDS} FoldName */
// what fills the folds, once one was opened
let folds = /** @type {typeof import("./folds.js") | null} */ (null);

class Stage {
  shown = /** @type {{view: View, state: PlayerState} | null} */ (null);
  drawn = /** @type {PartCard[]} */ ([]); // of the parts that the step has
  // the node that is marked wherever it stands
  linked = /** @type {string | undefined} */ (undefined);
  toast = said("hp-toast");
  dialog = dialog();

  /**
   * player: its methods are what buttons, keys and clicks do.
   * @param {HTMLElement} root
   * @param {Player} player
   * @param {boolean} hasLink
   */
  constructor(root, player, hasLink) {
    this.root = root;
    this.player = player;
    this.text = text.create((step) => player.go(step));
    this.transport = transport.create(player);
    const { selectNode: select, judgeBy, coin, mass } = player;
    /** @type {PartActions} */
    const actions = {
      select,
      judgeBy,
      coin,
      mass,
      open: this.open,
      test: this.openTest,
    };
    this.tree = tree.create(actions);
    this.board = board.create(actions);
    const others = PARTS.map(({ shows, create }) => ({ shows, card: create(actions) }));
    /** @type {{shows: StepPart["shows"], card: PartCard}[]} */
    this.parts = [
      { shows: tree.shows, card: this.tree },
      ...others,
      { shows: board.shows, card: this.board },
    ];
    this.story = storyCard(player.asItWas);
    const folded = (/** @type {FoldName} */ name) => fold(FOLDS[name], () => this.drawFold(name));
    this.folds = {
      decisions: folded("decisions"),
      ledger: folded("ledger"),
      table: folded("table"),
    };
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
      this.transport.element,
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
      // elsewhere these keys scroll the page
      const full = this.player.options.present || root.matches(":fullscreen, .is-maximised");
      if (full && /^Page(Up|Down)$/.test(key)) this.player.move(key === "PageUp" ? -1 : 1);
    });
  }

  /**
   * A mouse click on a button leaves the focus with the player, so that Space goes on meaning
   * "play".
   * @param {MouseEvent} event
   */
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
    if (record.scores) this.text.score(record.scores);
  }

  /** Where in the run one is. @param {Trace} record @param {number} step @param {boolean} live */
  place(record, step, live) {
    // while a run comes in it only grows, so that the board holds still
    const { element } = this.story;
    if (live)
      afterLayout(() => {
        if (this.player.live) element.style.minHeight = `${element.offsetHeight}px`;
      });
    this.text.select(step);
    this.transport.select(record, step, live);
    this.transport.setup.textContent = setupLine(record, live);
  }

  /** Everything about a step. @param {View} view @param {PlayerState} state @param {Plan} plan */
  drawStep(view, state, plan) {
    const parts = this.parts.filter(({ shows }) => shows(view));
    this.use(parts.map(({ card }) => card));
    const how = {
      plan,
      selected: state.node,
      first: this.player.brief(),
    };
    for (const card of this.drawn) card.draw(view, how);
    this.story.odds.replaceChildren(this.drawn.includes(this.board) ? "" : odds(view));
    this.transport.phases(plan);
    this.text.suppose(view.index, wouldKeep(view));
    this.drawSelection(view, state);
    this.drawFold("decisions");
    this.drawBeat(view, plan, state.beat);
  }

  /**
   * Show these cards and no others. Where another part has a drawing, the board stands under the
   * transport.
   * @param {PartCard[]} cards
   */
  use(cards) {
    this.drawn = cards;
    for (const { card } of this.parts) {
      const hidden = !cards.includes(card);
      if (card.drawing) card.drawing.hidden = hidden;
      if (card.below) card.below.hidden = hidden;
    }
    const { drawing: cells } = this.board;
    const { element: bar } = this.transport;
    const under = cards.some(({ drawing }) => drawing && drawing !== cells);
    if (under !== (cells.previousElementSibling === bar)) bar[under ? "after" : "before"](cells);
  }

  /**
   * How far the step has come: what is shown of it, and what is said.
   * @param {View} view
   * @param {Plan} plan
   * @param {number} beat
   */
  drawBeat(view, plan, beat) {
    const place = phases.at(plan, beat);
    const last = beat >= plan.total - 1;
    this.root.dataset.phase = last ? "commit" : place.phase.name;
    for (const card of this.drawn) card.beat?.(beat, last, place);
    this.transport.beat(plan, beat);
    /** @type {Record<string, Part[]>} */
    const words = last ? story(view, this.player.brief()) : phases.telling(view, place);
    for (const [part, element] of Object.entries(this.story.parts))
      element.replaceChildren(.../** @type {Node[]} */ (prose(words[part] ?? [])));
    this.story.back.hidden = !view.original;
  }

  /**
   * What depends on the selected branch: tree, ledger, the marked row of the table.
   * @param {View} view
   * @param {PlayerState} state
   */
  drawSelection(view, state) {
    this.shown = { view, state };
    for (const card of this.drawn) card.select?.(state.node, state);
    this.drawFold("ledger");
    this.drawFold("table");
  }

  /**
   * What is folded up is made when it is opened, and anew with every step while it is open.
   * @param {FoldName} name
   * @returns {Promise<void>}
   */
  async drawFold(name) {
    const { element, body } = this.folds[name];
    const read = this.shown?.view;
    const hasResidual = name === "ledger" && read?.own.residual !== null;
    const hasContent = read && (read.detail || hasResidual);
    element.hidden = !hasContent;
    if (!hasContent || !element.open) return body.replaceChildren();
    try {
      folds ??= await needed(import("./folds.js"));
    } catch (error) {
      const words = error instanceof Error ? error.message : "";
      return body.replaceChildren(h("p.hp-card.hp-hint", words));
    }
    if (!this.shown || !element.open) return;
    const { view, state } = this.shown;
    const { selectNode: select, coin, options } = this.player;
    const token = this.tree.boxes().find(({ key }) => key === state.item)?.token;
    const force = options.force?.bind(null, view, state.node);
    body.replaceChildren(
      folds[name](view, {
        node: state.node,
        token,
        select,
        coin,
        force,
      }),
    );
  }

  /**
   * Open a fold below the card in which something was clicked.
   * @param {FoldName} name
   * @param {HTMLElement} card
   * @param {() => void} action
   */
  openBeside(name, card, action) {
    const { element } = this.folds[name];
    if (card.nextElementSibling !== element) card.after(element);
    element.classList.toggle("is-under-board", card === this.board.drawing);
    element.open = true;
    action();
    element.scrollIntoView({ block: "nearest" });
  }

  /**
   * Select a token of the board or the tree, and open its branch below it.
   * @param {TreeChoice} choice
   */
  open = (choice) => {
    const card = this.drawn.includes(this.board) ? this.board.drawing : this.tree.below;
    this.openBeside("ledger", card, () => this.player.selectItem(choice));
  };

  /** @type {PartActions["test"]} */
  openTest = async ({ rule }, node) => {
    // opened before, it would be drawn twice and lose the focus
    folds ??= await needed(import("./folds.js")).catch(() => null);
    this.openBeside("decisions", this.board.drawing, () => this.player.selectNode(node));
    await this.drawFold("decisions");
    const { body } = this.folds.decisions;
    const test = body.querySelector(`.hp-panel[data-rule="${rule}"] .hp-test[data-node="${node}"]`);
    test?.scrollIntoView({ block: "nearest" });
    test?.querySelector("input")?.focus({ preventScroll: true });
  };

  /**
   * What an exported picture shows: the drawing of a part, else the board of a single draft, the
   * tree of several.
   * @returns {HTMLElement}
   */
  get picture() {
    return (this.drawn.find(({ drawing }) => drawing) ?? this.tree).picture ?? this.root;
  }

  /**
   * One token is marked wherever it stands: in the text, on the board, in the tree, in the table.
   * @param {HTMLElement | null} [place] where it is pointed at
   */
  link(place) {
    const node = place?.dataset.node;
    if (node === this.linked) return;
    this.linked = node;
    for (const old of this.root.querySelectorAll(".is-linked")) old.classList.remove("is-linked");
    if (node === undefined || node === "0" || !this.shown) return;
    const { own, depth } = this.shown.view;
    for (const same of this.root.querySelectorAll(`[data-node="${node}"]`))
      same.classList.add("is-linked");
    const id = Number(node);
    if (!own.path.has(id)) return;
    const written = this.text.element.querySelectorAll(".hp-group.is-now .hp-out");
    written[depth.get(id) - 1]?.classList.add("is-linked");
  }

  /** A run without any step. @param {string} words */
  drawEmpty(words) {
    this.shown = null;
    for (const part of [...Object.values(this.story.parts), this.story.odds])
      part.replaceChildren();
    this.story.parts.lead.textContent = words;
    this.use([]);
    for (const { element } of Object.values(this.folds)) element.hidden = true;
  }
}

/**
 * The tokens that a step would keep where something is supposed; null where nothing is.
 * @param {View} view
 */
const wouldKeep = ({ original, own, nodes }) =>
  original ? [...own.path].map((id) => nodes.get(id)) : null;

export { Stage };
