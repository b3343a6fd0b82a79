// The player of trees: moment by moment how one grows, is cut, read and judged; and what that means for the target's
// rows, for the caches and for the rules. What is looked at is lit in all of these.
import { h, plain, prose } from "../../kit/dom.js";
import { layout } from "../../kit/facts.js";
import { folded, say } from "../../kit/parts.js";
import { Moments } from "../moments.js";
import { div, legend, p, span } from "../parts.js";
import * as mask from "./mask.js";
import { again, beat, beatOf, cost, moments, treeOf } from "./model.js";
import * as taps from "./taps.js";
import * as trees from "./tree.js";
import { about, costs, told } from "./words.js";
import { worthCard } from "./worth.js";

const LEGEND = [
  ["is-q", "how sure the head is of the whole path"],
  ["is-p", "the target's p of the whole path, once it has read it"],
];
const SIGNS = [
  ["▸", "expanded: the next level grows from it"],
  ["2 ✓", "second test, accepted"],
  ["3 ✕", "third test, struck out"],
];

class Player extends Moments {
  /** changed: see Moments. */
  constructor({ changed }) {
    const hint = "Step through it: what each level proposes, what stays of it, and what the target makes of that.";
    super({ title: "How the tree grows, and what is kept", hint, css: "sy-eagle", changed });
    this.lit = null;
    const light = (id) => this.light(id);
    const node = (id) => (id === null ? null : this.ofNode(id));
    this.taps = taps.create();
    this.tree = trees.create({ onChoose: (id) => this.choose(id), onLight: light });
    this.mask = mask.create({ onChoose: (id) => this.choose(this.ofNode(id)), onLight: (id) => light(node(id)) });
    this.worth = worthCard({ onLight: (id) => light(node(id)) });
    this.about = p("eg-about");
    this.cost = p("hp-hint eg-cost");
    this.untold = p("hp-hint eg-untold");
    this.again = div("eg-again");
    const swatches = LEGEND.map(([css, words]) => [h("i", { class: `hp-swatch ${css}` }), words]);
    const key = legend([...swatches, ...SIGNS.map(([sign, words]) => [span("eg-sign", sign), words])]);
    const upper = div("eg-upper", this.taps.element, div("eg-moving", ...[...this.stage.children].slice(1)));
    this.stage.append(upper, this.untold, this.tree.element, this.about, key, this.cost);
    this.cards = [this.text.element, this.stage, this.reading(), this.worth.element];
  }

  reading() {
    const hint = "One row per node. A filled square: this row sees that column. Siblings share a position.";
    const side = div("eg-side", h("h4", { class: "sy-subtitle" }, "What is read again"), this.again);
    return folded("sy-eg-mask", "What the target reads in one pass", hint, div("eg-reading", this.mask.element, side));
  }

  // ---- moments

  momentsOf({ steps, setup }, from) {
    return moments(steps, isChosen(setup), from);
  }

  /** Playing shows the step from its beginning. */
  starts() {
    const { step, event } = this.moment;
    if (event === null) this.go(this.moments.findIndex((one) => one.step === step));
  }

  told() {
    return told(this.trace, this.step, this.step.moments[this.beat], this.around);
  }

  arrived(before) {
    const { moment, trace } = this;
    const step = trace.steps[moment.step];
    this.step = treeOf(step, isChosen(trace.setup));
    this.beat = beat(this.step, moment);
    this.around = around(trace, moment.step);
    this.lit = null;
    if (before && before.step === moment.step && this.drawn === step) return;
    this.drawn = step;
    this.chosen = null;
    this.drawStep();
  }

  /** What stays while one moves inside a step. */
  drawStep() {
    const { trace, step, around: by } = this;
    this.taps.draw(trace.setup);
    this.tree.draw(step, by.rootPiece);
    this.mask.draw(step, by.rootPiece);
    this.worth.update(trace, step);
    const untold = step.chosen && !step.told && step.levels.length;
    say(this.untold, untold ? "This trace is older than the recording of growth: only the kept nodes are in it." : "");
    say(this.cost, costs(trace.setup, cost(step.step), step.nodes.length));
    const rows = again(step.step, by.rootPiece).map(({ piece, origin, after }) =>
      h("li", {}, prose(pairing(piece, origin, after))),
    );
    this.again.replaceChildren(...readAgain(trace.setup, rows));
  }

  draw() {
    this.paint();
    this.changed();
  }

  paint() {
    const { beat: now, step } = this;
    const id = this.lit ?? this.chosen;
    const found = step.candidates.find((one) => one.id === id) || null;
    const node = id === 0 ? 0 : (found?.node ?? null);
    this.taps.update(step, now);
    this.tree.update(now, this.chosen, lineOf(step, id));
    this.mask.update(now, node);
    this.again.classList.toggle("is-on", now >= beatOf(step, "keep"));
    this.stage.dataset.moment = step.moments[now].kind;
    const words = found ? about(step, { candidate: found, node: node === null ? null : step.nodes[node] }) : [ASK];
    if (this.about.textContent !== plain(words)) this.about.replaceChildren(...prose(words));
  }

  // ---- what is looked at: a candidate's id, 0 for the root, null for nothing

  ofNode(node) {
    return node === 0 ? 0 : this.step.candidates.find((one) => one.node === node).id;
  }

  light(id) {
    this.lit = id;
    this.paint();
  }

  choose(id) {
    super.choose(this.chosen === id ? null : id);
  }
}

/** Whether the tokens of a run's trees were chosen, and not drawn. */
const isChosen = ({ options }) => layout(options.draft.tree).siblings === "chosen";

const ASK = "Point at a token, or at a row below, to see its path, its numbers and its tests.";

/** The candidates on the path to one, and the root. */
function lineOf({ candidates }, id) {
  const lit = new Set();
  for (let at = id; at; at = candidates.find((one) => one.id === at).parent) lit.add(at);
  return id === null ? lit : lit.add(0);
}

/** The last token before a step, and how many tokens of the text the head has not read with the target's knowledge. */
function around({ prompt, steps }, index) {
  const before = index ? steps[index - 1].committed : prompt.pieces.map((piece) => ({ piece }));
  return { rootPiece: before.length ? before.at(-1).piece : "", fed: before.length };
}

const pairing = (piece, origin, after) => [{ piece, origin }, ", with what the target knew after ", { piece: after }];

function readAgain({ models: [head] }, rows) {
  if (!head.taps)
    return [p("hp-hint", "A draft model of its own keeps its rows of the kept tokens, as the target does.")];
  const words =
    "While it drafted, the head stood on its own output. Its rows of the tree are forgotten; at the next step it reads " +
    "these tokens again, each with the target's true features of the token before it:";
  return [p("hp-hint", words), h("ol", { class: "eg-pairs" }, rows)];
}

export { isChosen, Player };
