// Should I switch it on? Both rules' speed-up at every draft length, from recorded rows or anybody's file, at your costs.
import { ask } from "../answers/answers.js";
import { h, label, s } from "../kit/dom.js";
import { rule } from "../kit/facts.js";
import * as page from "../kit/page.js";
import { card, say, scroller, segments, setSlider, slider } from "../kit/parts.js";
import { answer, costsOf, even, further, gathered, OPENS, opened, points, RULES } from "./costs.js";
import { fileButton, table } from "./parts.js";

const HINT =
  "Tokens per pass are exact: what each rule keeps of the same drafts, on average over all coins. Costs are in " +
  "passes over one token, and yours to change; the loop's own time is left out.";
const PRESETS = { here: "CPU, as recorded", browser: "browser", gpu: "GPU (H100), a 7B target", own: "your own" };
const COSTS = ["a further token of the target's pass", "a drafted token"];
const NAMES = RULES.map((name) => rule(name).short);
const RATIO = "tokens per pass of one over the other, and the 95 % interval over prompts; level where it contains 1";
const COLUMNS = /** @type {Columns} */ ([
  ["draft length γ", ""],
  ...NAMES.map((name) => [`${name}, × plain decoding`, "speed against plain decoding at these costs"]),
  [`${NAMES[1]} / ${NAMES[0]}`, RATIO],
]);
const BOX = { left: 82, top: 10, width: 500, height: 190 }; // of the curves; left has room for a phone's letters
const LOOKS = ["is-vanilla", "is-own"];

class Calculator {
  kind = "";
  preset = "here";
  file = /** @type {LengthRow[] | null} */ (null);
  shown = /** @type {CalculatorPoint[]} */ ([]);
  words = h("p.hf-verdict", { role: "status" });
  chart = h("div");
  table = scroller("Speed-up by draft length");
  kinds = segments("Drafts of", (/** @type {string} */ kind) => this.draw({ kind }));
  presets = segments("Costs", (/** @type {string} */ preset) => this.draw({ preset }));

  constructor(/** @type {Lengths} */ recorded) {
    this.recorded = recorded;
    this.costs = costsOf(recorded.passes.here);
    const oninput = () => {
      this.costs = even(Number(this.sliders[0].value), Number(this.sliders[1].value));
      this.draw({ preset: "own" });
    };
    this.sliders = COSTS.map((name) => slider(`cost of ${name}`, { oninput }));
    this.values = COSTS.map(() => h("b"));
    const costs = COSTS.map((name, i) => h("label.hf-labelled-field", `${name}: `, this.values[i], this.sliders[i]));
    const file = fileButton("Open a file", `open ${OPENS}`, "file for the calculator", (...read) => this.read(...read));
    const first = h("div.hp-row", this.kinds.element, h("span.hp-grow"), file);
    const rows = [first, h("div.hp-row", this.presets.element, costs), this.words];
    const both = h("div.hf-columns", this.chart, this.table);
    this.element = card("hf-calculator", "Should I switch it on?", HINT, rows, both);
    this.draw({});
  }

  /** A visitor's file; one without rows is told in a line, and what was shown stays. @param {string} text @param {string} name */
  async read(text, name) {
    try {
      if (text.includes('"trace_version"')) await ask("check", { text });
      this.file = opened(text);
      page.alert("");
      this.draw({ kind: "file" });
    } catch (error) {
      page.alert(`${name}: ${error instanceof SyntaxError ? `open ${OPENS}` : /** @type {Error} */ (error).message}`);
    }
  }

  /** Show all, after a choice. @param {{kind?: string, preset?: string}} choice */
  draw({ kind = this.kind, preset = this.preset }) {
    [this.kind, this.preset] = [kind, preset];
    const { file, recorded } = this;
    if (preset in recorded.passes) this.costs = costsOf(recorded.passes[preset]);
    const kinds = [...new Set(recorded.samples.map((one) => one.kind))].map((one) => [one, one]);
    const named = [["", "all kinds"], ...kinds, ...(file ? [["file", "your file"]] : [])];
    this.kinds.set(kind, /** @type {[string, string][]} */ (named));
    this.presets.set(
      preset,
      Object.entries(PRESETS).filter(([name]) => name in recorded.passes || name === preset),
    );
    const own = recorded.samples.filter((one) => !kind || one.kind === kind);
    this.shown = points(kind === "file" && file ? file : gathered(own), this.costs);
    for (const [i, cost] of [further(this.costs), this.costs.drafted].entries()) {
      setSlider(this.sliders[i], cost, `${cost.toFixed(2)} passes`);
      this.values[i].textContent = cost.toFixed(2);
    }
    say(this.words, answer(this.shown, preset));
    this.chart.replaceChildren(drawn(this.shown));
    this.table.replaceChildren(table(COLUMNS, this.shown.map(cells)));
  }
}

/** A line of the table. @param {CalculatorPoint} point @param {number} _ @param {CalculatorPoint[]} all */
function cells({ gamma, speeds, ratio }, _, all) {
  const best = speeds.map((x, i) => all.every((other) => other.speeds[i] <= x));
  const [value, low, high] = ratio.map((x) => x.toFixed(2));
  const level = ratio[1] <= 1 && ratio[2] >= 1 ? " level" : "";
  return [
    gamma,
    ...speeds.map((x, i) => x.toFixed(2) + (best[i] ? " ● best" : "")),
    `${value} (${low}–${high})${level}`,
  ];
}

/** Both rules' curves over the draft length, and plain decoding as a line. @param {CalculatorPoint[]} points */
function drawn(points) {
  const all = [1, ...points.flatMap(({ speeds }) => speeds)];
  const [last, low, high] = [points[points.length - 1].gamma, Math.min(...all), Math.max(...all)];
  const x = (/** @type {number} */ gamma) => BOX.left + (BOX.width * gamma) / last;
  const y = (/** @type {number} */ speed) => BOX.top + (BOX.height * (high - speed)) / (high - low || 1);
  const curve = (/** @type {string} */ look, /** @type {number} */ i) => {
    const line = [{ gamma: 0, speeds: [1, 1] }, ...points].map((one) => [x(one.gamma), y(one.speeds[i])]);
    const [cx, cy] = line.slice(1).reduce((best, one) => (one[1] < best[1] ? one : best));
    return s(`g.hf-curve.${look}`, s("polyline", { points: line.join(" ") }), s("circle", { cx, cy, r: 5 }));
  };
  const foot = BOX.top + BOX.height + 24;
  const middle = { "text-anchor": "middle" };
  const lengths = [0, ...points.map(({ gamma }) => gamma)].map((gamma) => label(x(gamma), foot, gamma, "", middle));
  const speeds = [...new Set([low, 1, high])].map((speed) => label(0, y(speed) + 4, `${speed.toFixed(2)} ×`, ""));
  const title = label(BOX.left + BOX.width / 2, foot + 24, "draft length γ; 0 is plain decoding", "", middle);
  const level = s("line.hf-level", { x1: BOX.left, x2: BOX.left + BOX.width, y1: y(1), y2: y(1) });
  const viewBox = `0 0 ${BOX.left + BOX.width + 16} ${foot + 32}`;
  const names = { viewBox, "role": "img", "aria-label": "Speed-up by draft length; the table has its numbers" };
  const key = NAMES.map((name, i) => h("span", h(`i.hf-key.${LOOKS[i]}`), ` ${name}`));
  const svg = s("svg.hf-curves", names, level, LOOKS.map(curve), lengths, speeds, title);
  return h("figure", svg, h("figcaption.hp-hint.hp-keyline", key, h("span", "● at its best")));
}

export { Calculator };
