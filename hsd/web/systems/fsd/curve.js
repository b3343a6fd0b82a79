// The measured trade-off as a drawing: tokens per target call against what they cost, with intervals; FSD in one
// divergence and mode, exact decoding, and acceptance at random. A click on a point sets its tolerance.
import { h, label, s } from "../../kit/dom.js";
import { number, percent } from "../../kit/format.js";
import { folded, press, say } from "../../kit/parts.js";
import { choice, div, group, legend, p } from "../parts.js";
import { DIVERGENCES, MODES } from "./model.js";
import * as words from "./words.js";

const WIDE = { width: 640, height: 330, left: 58, right: 18, top: 14, bottom: 46 };
const NARROW = { width: 350, height: 290, left: 52, right: 14, top: 14, bottom: 46 }; // on a phone
const NAMES = {
  fuzzy: "FSD, this divergence and mode",
  random: "accepting the same share at random",
  exact: "exact: vanilla speculative decoding",
};

/** actions: metric(name), tolerance(value), setting(values). */
function curve(actions) {
  const named = Object.entries(words.METRICS).map(([name, { title }]) => [name, title]);
  const metrics = choice("Against", Object.fromEntries(named), actions.metric);
  const divergence = choice("Divergence D", DIVERGENCES, (value) => actions.setting({ divergence: value }));
  const mode = choice("Mode", MODES, (value) => actions.setting({ mode: value }));
  const box = div("fs-chart");
  const drawAgain = group(box, "point");
  const said = h("p", { "class": "fs-point-said", "aria-live": "polite" });
  const [verdict, source] = [p("hp-hint fs-against"), p("hp-hint")];
  const signs = { "width": 16, "height": 14, "viewBox": "-8 -7 16 14", "aria-hidden": "true" };
  const element = folded(
    "sy-fsd-curve",
    "What it gains, and what it costs",
    "Measured: right is faster. Each point accepts 20, 40, 60, 80 or 100 % of what would be rejected; the crosses are " +
      "95 % intervals over prompts. Choose a point to take its tolerance.",
    div("fs-settings", divergence.element, mode.element, metrics.element),
    box,
    legend(Object.entries(NAMES).map(([kind, name]) => [s("svg", signs, shape(kind)), name])),
    said,
    verdict,
    p("hp-hint fs-published", words.PUBLISHED),
    source,
  );
  let drawn = null;

  function update({ results, state, metric }) {
    element.hidden = !results;
    const now = [results, metric, state.text, state.divergence, state.mode, state.tolerance].join();
    if (!results || now === drawn) return;
    drawn = now;
    const measured = results.texts[state.text];
    const shown = measured.exact[metric] ? metric : "drift";
    for (const one of metrics.buttons) one.disabled = !measured.exact[one.dataset.value];
    metrics.set(shown);
    divergence.set(state.divergence);
    mode.set(state.mode);
    const series = seriesOf(measured, state);
    const chosen = series.fuzzy.findIndex((one) => one.tolerance === Number(state.tolerance));
    const tell = (text) => say(said, text);
    const size = box.clientWidth && box.clientWidth < 520 ? NARROW : WIDE;
    drawAgain([draw({ series, metric: shown, chosen, tell, size }, actions)], "fuzzy-0");
    tell(chosen < 0 ? words.point(series.exact[0], shown, "exact") : words.point(series.fuzzy[chosen], shown, "fuzzy"));
    say(verdict, words.againstRandom(series.fuzzy, series.random, shown));
    say(source, sourceWords(results, measured));
  }

  return { element, update };
}

function seriesOf(measured, { divergence, mode }) {
  const random = measured.random.map((one) => ({ ...one, drift: one.drift[divergence] }));
  return { fuzzy: measured.curve[divergence][mode], random, exact: [measured.exact] };
}

function sourceWords(results, measured) {
  const { machine, setting, date } = results;
  return (
    `Embedded pair, ${measured.prompts} prompts (${measured.source}), γ = ${setting.gamma}, temperature ` +
    `${number(setting.temperature)}, at most ${measured.new_tokens} new tokens; ${machine.processor}, ` +
    `${machine.threads} thread, ${date}. Measured with rows as sampled from.`
  );
}

function shape(kind, chosen = false) {
  const css = `fs-shape is-${kind}${chosen ? " is-chosen" : ""}`;
  if (kind === "exact") return s("path", { d: "M0 -6.5L6.5 0L0 6.5L-6.5 0z", class: css });
  if (kind === "random") return s("rect", { x: -4.5, y: -4.5, width: 9, height: 9, class: css });
  return s("circle", { r: 5.5, class: css });
}

function draw({ series, metric, chosen, tell, size }, actions) {
  const plot = layout(series, metric, size);
  const points = ["random", "fuzzy", "exact"].flatMap((kind) =>
    series[kind].map((one, i) => {
      const set = () => actions.tolerance(kind === "exact" ? -1 : one.tolerance);
      const element = drawPoint({ kind, one, i, on: kind === "fuzzy" && i === chosen }, plot, metric, tell);
      return kind === "random" ? element : press(element, set);
    }),
  );
  const told = `Tokens per target call against ${words.METRICS[metric].axis}`;
  return s(
    "svg",
    { "viewBox": `0 0 ${size.width} ${size.height}`, "class": "fs-plot", "role": "group", "aria-label": told },
    axes(plot, metric),
    ["random", "fuzzy"].map((kind) => line(kind, [series.exact[0], ...series[kind]], plot, metric)),
    points,
  );
}

/** Where values stand in the drawing: X and Y of a value, and the ranges x and y; y begins at 0. */
function layout(series, metric, size) {
  const all = [...series.fuzzy, ...series.random, ...series.exact];
  const range = (name) => {
    const [low, high] = [Math.min(...all.map((one) => one[name][1])), Math.max(...all.map((one) => one[name][2]))];
    const pad = 0.04 * (high - low || 1);
    return [Math.max(0, low - pad), high + pad];
  };
  const [x, y] = [range("tokens_per_call"), [0, range(metric)[1]]];
  const { width, height, left, right, top, bottom } = size;
  const X = (value) => left + ((value - x[0]) / (x[1] - x[0])) * (width - left - right);
  const Y = (value) => height - bottom - (value / y[1]) * (height - top - bottom);
  return { X, Y, x, y, size };
}

/** Round numbers between two ends, about five. */
function ticks([low, high]) {
  const raw = (high - low) / 5;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((f) => f * power).find((one) => one >= raw);
  const first = Math.ceil(low / step - 1e-9);
  return Array.from({ length: Math.floor(high / step + 1e-9) - first + 1 }, (_, i) =>
    Number(((first + i) * step).toPrecision(12)),
  );
}

function axes(plot, metric) {
  const { scale, axis } = words.METRICS[metric];
  const { left, right, width, height, top, bottom } = plot.size;
  const down = height - bottom;
  const tell = (x) => (x === 0 ? "0" : String(Number(x.toPrecision(4))));
  return s(
    "g",
    { class: "fs-axes" },
    ticks(plot.y).map((y) => [
      s("path", { d: `M${left} ${plot.Y(y)}H${width - right}`, class: "fs-grid" }),
      label(left - 8, plot.Y(y) + 4, tell(scale * y), "fs-tick", { "text-anchor": "end" }),
    ]),
    ticks(plot.x).map((x) => [
      s("path", { d: `M${plot.X(x)} ${down}v5`, class: "fs-rule" }),
      label(plot.X(x), down + 19, tell(x), "fs-tick", { "text-anchor": "middle" }),
    ]),
    s("path", { d: `M${left} ${top}V${down}H${width - right}`, class: "fs-rule" }),
    label((left + width - right) / 2, height - 8, "tokens per target call", "fs-axis", { "text-anchor": "middle" }),
    label(0, 0, axis, "fs-axis", {
      "text-anchor": "middle",
      "transform": `translate(14 ${(top + down) / 2}) rotate(-90)`,
    }),
  );
}

const line = (kind, points, { X, Y }, metric) =>
  s("path", {
    class: `fs-line is-${kind}`,
    d: `M${points.map((one) => `${X(one.tokens_per_call[0])} ${Y(one[metric][0])}`).join("L")}`,
  });

function drawPoint({ kind, one, i, on }, { X, Y }, metric, tell) {
  const [x, xl, xh] = one.tokens_per_call.map(X);
  const [y, yl, yh] = one[metric].map(Y);
  const told = words.point(one, metric, kind);
  return s(
    "g",
    {
      "class": `fs-point is-${kind}${on ? " is-chosen" : ""}`,
      "data-point": `${kind}-${i}`,
      "role": kind === "random" ? "img" : "button",
      "tabindex": "-1",
      "aria-label": told,
      "onfocus": () => tell(told),
      "onpointerenter": () => tell(told),
    },
    s("path", { d: `M${xl} ${y}H${xh}M${x} ${yl}V${yh}`, class: "fs-interval" }),
    s("circle", { cx: x, cy: y, r: 15, class: "fs-reach" }),
    s("g", { transform: `translate(${x} ${y})` }, shape(kind, on)),
    kind === "fuzzy" ? label(x + 9, y - 8, percent(one.share), "fs-tick", { "aria-hidden": "true" }) : null,
  );
}

export { curve };
