// Should I switch it on? Both rules' speed-up at every draft length, from recorded rows or
// anybody's file, at your costs.
import { ask } from "../answers/answers.js";
import { h, label, s } from "../kit/dom.js";
import { rule } from "../kit/facts.js";
import * as page from "../kit/page.js";
import { card, say, scroller, segments, setSlider, slider } from "../kit/controls.js";
import {
  answer,
  costsOf,
  further,
  gathered,
  OPENS,
  opened,
  points,
  RULES,
  scaled,
} from "./costs.js";
import { fileButton, table } from "./tables.js";

const HINT =
  "Tokens per pass are exact: what each rule keeps of the same drafts, on average over all " +
  "coins. Costs are in passes over one token, and yours to change. All is for one request at a " +
  "time: of a server that batches several, measure it by hsd bench --server --concurrency.";
const PRESETS = {
  measured: "measured here",
  here: "CPU, as recorded",
  browser: "browser, as recorded",
  own: "your own",
  assumed: "assumed: set your own",
};
const COSTS = ["a further token of the target's pass", "a drafted token"];
const HALF_A_STEP = 0.005; // of a slider
/** What the sliders show. @param {Costs} costs */
const valuesOf = (costs) => [further(costs), costs.drafted];
const NAMES = RULES.map((name) => rule(name).short);
const RATIO =
  "tokens per pass of one over the other, and the 95 % interval over prompts; level where it " +
  "contains 1";
const COLUMNS = /** @type {Columns} */ ([
  ["draft length γ", ""],
  ...NAMES.map((name) => [
    `${name}, × plain decoding`,
    "speed against plain decoding at these costs",
  ]),
  [`${NAMES[1]} / ${NAMES[0]}`, RATIO],
]);
// of the curves; left has room for a phone's letters
const BOX = {
  left: 82,
  top: 10,
  width: 500,
  height: 190,
};
const LOOKS = ["is-vanilla", "is-own"];

class Calculator {
  kind = "";
  preset = "here";
  base = "here"; // the measured costs that the sliders scale
  file = /** @type {LengthRow[] | null} */ (null);
  shown = /** @type {CalculatorPoint[]} */ ([]);
  /** By pair what a race here measured. @type {Record<string, RacePasses>} */
  own = {};
  pairs = segments("Models", (/** @type {string} */ pair) => this.choose(pair));
  words = h("p.hf-verdict", { role: "status" });
  chart = h("div");
  table = scroller("Speed-up by draft length");
  kinds = segments("Drafts of", (/** @type {string} */ kind) => this.draw({ kind }));
  presets = segments("Costs", (/** @type {string} */ preset) => this.draw({ preset }));

  /**
   * @param {Lengths[]} recorded
   * @param {Record<string, RaceShare>} shares - by pair, see `sharesOf` of recorded.js
   * @param {string} place - whose recorded costs come first, of PRESETS
   */
  constructor(recorded, shares, place) {
    this.all = recorded;
    this.shares = shares;
    this.place = place;
    this.recorded = recorded[0];
    this.measured = costsOf(this.recorded.passes.here);
    this.costs = this.measured;
    this.sliders = COSTS.map((name, i) => {
      const oninput = (/** @type {Event} */ { target }) =>
        this.move(i, Number(/** @type {HTMLInputElement} */ (target).value));
      return slider(`cost of ${name}`, { oninput });
    });
    this.values = COSTS.map(() => h("b"));
    const costs = COSTS.map((name, i) =>
      h("label.hf-labelled-field", `${name}: `, this.values[i], this.sliders[i]),
    );
    const opens = `open ${OPENS}`;
    const file = fileButton("Open a file", opens, "file for the calculator", (text, name) =>
      this.read(text, name),
    );
    const models = h("div.hp-row", this.pairs.element, h("span.hp-grow"), file);
    const first = h("div.hp-row", this.kinds.element);
    const second = h("div.hp-row", this.presets.element, costs);
    const rows = [models, first, second, this.words];
    const both = h("div.hf-columns", this.chart, this.table);
    this.element = card("hf-calculator", "Should I switch it on?", HINT, rows, both);
    this.choose(this.recorded.pair);
  }

  /**
   * Show what a visitor's file says. Of a file without rows a line says so, and what was shown
   * stays.
   * @param {string} text
   * @param {string} name
   */
  async read(text, name) {
    try {
      if (text.includes('"trace_version"')) await ask("check", { text });
      this.file = opened(text);
      page.alert("");
      this.draw({ kind: "file" });
    } catch (error) {
      const { message } = /** @type {Error} */ (error);
      page.alert(`${name}: ${error instanceof SyntaxError ? `open ${OPENS}` : message}`);
    }
  }

  /**
   * Take the costs that a race here measured.
   * @type {(pair: string, passes: RacePasses | null) => void}
   */
  take(pair, passes) {
    if (!passes || !this.all.some((own) => own.pair === pair)) return;
    this.own[pair] = passes;
    this.choose(pair, "measured");
  }

  /**
   * The measured passes of the pair that is shown, by the names of PRESETS.
   * @returns {Record<string, Record<string, number>>}
   */
  get passes() {
    const { pair, passes } = this.recorded;
    const own = this.own[pair];
    return own ? { ...passes, measured: own.times } : passes;
  }

  /**
   * Which share of the speed-up that the passes alone allow was reached where the costs were
   * measured; undefined where no race tells.
   */
  get share() {
    const { pair, machine } = this.recorded;
    if (this.kind === "file") return undefined;
    if (this.base === "measured") return this.own[pair]?.share;
    const raced = this.shares[pair];
    const isHere = this.base === "here" && raced?.processor === machine.processor;
    return isHere ? raced.share : undefined;
  }

  /** Show another pair, at its own costs and on all kinds. @param {string} pair */
  choose(pair, preset = this.place) {
    this.recorded = this.all.find((own) => own.pair === pair) ?? this.all[0];
    this.draw({ kind: "", preset: preset in this.passes ? preset : "here" });
  }

  /**
   * Take a slider's cost. A slider has steps: where it shows the measured cost it means that.
   * @param {number} i
   * @param {number} shown
   */
  move(i, shown) {
    const values = valuesOf(this.costs);
    const measured = valuesOf(this.measured)[i];
    values[i] = Math.abs(shown - measured) < HALF_A_STEP ? measured : shown;
    this.costs = scaled(this.measured, values[0], values[1]);
    this.draw({ preset: "own" });
  }

  /**
   * Show all, after a choice. The drafts of a visitor's file have no measured costs: those of the
   * pair are a first guess, and called so.
   * @param {{kind?: string, preset?: string}} choice
   */
  draw({ kind = this.kind, preset: chosen = this.preset }) {
    const isFile = kind === "file";
    const left = !isFile && chosen === "assumed" ? this.base : chosen;
    const preset = isFile && chosen !== "own" ? "assumed" : left;
    const { file, recorded, passes } = this;
    this.kind = kind;
    this.preset = preset;
    if (preset in passes) {
      this.base = preset;
      this.measured = costsOf(passes[preset]);
      this.costs = this.measured;
    }
    this.pairs.set(
      recorded.pair,
      this.all.map(({ pair, title }) => [pair, title]),
    );
    const kinds = /** @type {[string, string][]} */ ([["", "all kinds"]]);
    for (const name of new Set(recorded.samples.map((sample) => sample.kind)))
      kinds.push([name, name]);
    if (file) kinds.push(["file", "your file"]);
    this.kinds.set(kind, kinds);
    this.presets.set(
      preset,
      Object.entries(PRESETS).filter(([name]) => (name in passes && !isFile) || name === preset),
    );
    const own = recorded.samples.filter((sample) => !kind || sample.kind === kind);
    const rows = isFile && file ? file : gathered(own);
    const { share } = this;
    this.shown = points(rows, this.costs, share);
    for (const [i, cost] of valuesOf(this.costs).entries()) {
      const digits = cost.toFixed(2);
      setSlider(this.sliders[i], cost, `${digits} passes`);
      this.values[i].textContent = digits;
    }
    say(this.words, answer(this.shown, preset, share));
    this.chart.replaceChildren(drawn(this.shown));
    this.table.replaceChildren(table(COLUMNS, this.shown.map(cells)));
  }
}

/**
 * The cells of a line of the table.
 * @param {CalculatorPoint} point
 * @param {number} _
 * @param {CalculatorPoint[]} all
 */
function cells({ gamma, speeds, ratio }, _, all) {
  const texts = speeds.map((x, i) => {
    const best = all.every((point) => point.speeds[i] <= x);
    return x.toFixed(2) + (best ? " ● best" : "");
  });
  const [value, low, high] = ratio.map((x) => x.toFixed(2));
  const level = ratio[1] <= 1 && ratio[2] >= 1 ? " level" : "";
  return [gamma, ...texts, `${value} (${low}–${high})${level}`];
}

/**
 * The figure: both rules' curves over the draft length, and plain decoding as a line.
 * @param {CalculatorPoint[]} points
 */
function drawn(points) {
  const { left, top, width, height } = BOX;
  const plain = { gamma: 0, speeds: [1, 1] };
  const all = [plain, ...points];
  const values = all.flatMap(({ speeds }) => speeds);
  const last = all[all.length - 1].gamma;
  const low = Math.min(...values);
  const high = Math.max(...values);
  const x = (/** @type {number} */ gamma) => left + (width * gamma) / last;
  const y = (/** @type {number} */ speed) => top + (height * (high - speed)) / (high - low || 1);
  const curve = (/** @type {string} */ look, /** @type {number} */ i) => {
    const line = all.map(({ gamma, speeds }) => [x(gamma), y(speeds[i])]);
    const drafted = line.slice(1);
    const [cx, cy] = drafted.reduce((top, place) => (place[1] < top[1] ? place : top));
    const path = s("polyline", { points: line.join(" ") });
    const best = s("circle", { cx, cy, r: 5 });
    return s(`g.hf-curve.${look}`, path, best);
  };
  const foot = top + height + 24;
  const middle = { "text-anchor": "middle" };
  const lengths = all.map(({ gamma }) => label(x(gamma), foot, gamma, "", middle));
  const marks = [...new Set([low, 1, high])];
  const speeds = marks.map((speed) => label(0, y(speed) + 4, `${speed.toFixed(2)} ×`, ""));
  const words = "draft length γ; 0 is plain decoding";
  const title = label(left + width / 2, foot + 24, words, "", middle);
  const level = s("line.hf-level", {
    x1: left,
    x2: left + width,
    y1: y(1),
    y2: y(1),
  });
  const names = {
    "viewBox": `0 0 ${left + width + 16} ${foot + 32}`,
    "role": "img",
    "aria-label": "Speed-up by draft length; the table has its numbers",
  };
  const key = NAMES.map((name, i) => h("span", h(`i.hf-key.${LOOKS[i]}`), ` ${name}`));
  const svg = s("svg.hf-curves", names, level, LOOKS.map(curve), lengths, speeds, title);
  const caption = h("figcaption.hp-hint.hp-keyline", key, h("span", "● at its best"));
  return h("figure", svg, caption);
}

export { Calculator };
