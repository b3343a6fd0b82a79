// A run of the fuzzy rule: its text with the tokens that passed by divergence alone, and one needle per drafted token.
import { h, s, SIGNS, token } from "../../kit/dom.js";
import * as facts from "../../kit/facts.js";
import { number, plural, short } from "../../kit/format.js";
import { button, card, say, setSlider } from "../../kit/parts.js";
import * as texts from "../../step/text.js";
import { div, legend, p, slider, span } from "../parts.js";
import { positions, totals } from "./model.js";
import * as words from "./words.js";

const OVERRULED = "≈";
const KINDS = {
  draft: "kept by the exact test too",
  overruled: "kept by divergence alone",
  correction: "correction",
  bonus: "bonus",
};
const ICONS = { unreached: "–", kept: "✓", overruled: OVERRULED, rejected: "✕" };

/** goTo(index): another step is to be shown. */
function run(goTo) {
  const [lossy, spent] = [p("hp-notice fs-lossy"), div("fs-spent")];
  const text = texts.create(goTo);
  const bar = transport(goTo);
  const needles = h("ol", { class: "fs-needles" });
  const key = Object.entries(KINDS).map(([kind, name]) => [signOf(kind), name]);
  const element = card("sy-fsd-run", "The run", null, lossy, legend(key), bar.element, needles, spent);
  let drawn = null;

  /** trace: may be null. */
  function update(trace, index) {
    element.hidden = text.element.hidden = !trace;
    if (!trace) return;
    if (trace !== drawn) {
      text.load(trace);
      markOverruled(text.element, trace);
    }
    drawn = trace;
    text.select(index);
    bar.update(trace.steps.length, index);
    say(lossy, words.lossy(trace.setup));
    if (trace.steps.length) drawStep(needles, spent, trace, index);
    else needles.replaceChildren();
  }

  return { elements: [text.element, element], update };
}

const signOf = (kind) => h("span", { "class": `fs-sign is-${kind}`, "aria-hidden": "true" }, SIGNS[kind] || OVERRULED);

function markOverruled(text, trace) {
  for (const [i, group] of [...text.querySelectorAll(".hp-group")].entries()) {
    if (!trace.steps[i].nodes.length) continue;
    const { rows } = positions(trace, i);
    for (const [t, token] of [...group.querySelectorAll(".hp-out.is-draft")].entries())
      if (rows[t].rejects) Object.assign(token, { className: "hp-out is-overruled", title: KINDS.overruled });
  }
}

function transport(goTo) {
  const place = h("output", { class: "sy-figure" });
  const range = slider("step", [0, 0, 1], (value) => goTo(Number(value)));
  const move = (label, title, by) => button(label, title, () => goTo(Number(range.value) + by));
  const [back, next] = [move("‹", "one step back", -1), move("›", "one step forward", 1)];
  const update = (count, index) => {
    range.max = String(Math.max(count - 1, 1));
    range.disabled = count < 2;
    setSlider(range, index, `step ${index + 1} of ${count}`);
    back.disabled = index <= 0;
    next.disabled = index >= count - 1;
    say(place, count ? `step ${index + 1}/${count}` : "no step yet");
  };
  return { element: div("fs-transport", back, next, range, place), update };
}

// ---- one step

function drawStep(list, spent, trace, index) {
  const { view, settings, rows } = positions(trace, index);
  const most = scale(rows, settings);
  list.replaceChildren(...rows.map((row, i) => needle(row, settings, most, i)), after(view));
  const sums = totals(trace, index + 1);
  const hint = p("hp-hint", `${words.kept(sums)} ${words.driftMeaning(settings)}`);
  spent.replaceChildren(p("fs-drift", words.drift(sums, settings)), ...meter(sums), hint);
}

/** Where the scale ends: what the divergence can be at most, else beyond the tolerance and all finite values. */
function scale(rows, { T, divergence }) {
  const full = facts.divergence(divergence).most;
  if (full) return full;
  const finite = rows.map((row) => row.D).filter(Number.isFinite);
  return Math.max(1.15 * Math.max(...finite, 0), Number.isFinite(T) ? 1.5 * T : 0, 0.1);
}

const WIDTH = 220;

const named = (icon, piece) => span("fs-name", span("fs-icon", icon), token(piece, { cells: 14 }));

function needle(row, settings, most, i) {
  const { T } = settings;
  const at = (x) => WIDTH * Math.min(Math.max(x / most, 0), 1);
  const state = !row.tested ? "unreached" : !row.kept ? "rejected" : row.rejects ? "overruled" : "kept";
  const told = `D ${number(row.D)} on a scale to ${number(most)}, tolerance ${number(T)}`;
  const drawing = s(
    "svg",
    { "viewBox": `-4 0 ${WIDTH + 8} 30`, "class": "fs-gauge", "role": "img", "aria-label": told },
    s("rect", { x: 0, y: 12, width: WIDTH, height: 8, rx: 3, class: "fs-track" }),
    s("rect", { x: 0, y: 12, width: at(T), height: 8, rx: 3, class: "fs-pass" }),
    T >= 0 && T <= most ? s("path", { d: `M${at(T)} 8V24`, class: "fs-limit" }) : null,
    s("path", { d: `M${at(row.D)} 20l-5 -13h10z`, class: `fs-needle is-${state}` }),
  );
  return h(
    "li",
    { "class": `fs-position is-${state}`, "data-position": i + 1 },
    named(ICONS[state], row.node.piece),
    drawing,
    span("fs-value sy-figure", `D ${short(row.D)}`),
    span("fs-said", words.verdict(row, settings)),
  );
}

/** The token after the kept ones. */
function after({ drawn, own }) {
  const css = `fs-position is-after${drawn ? ` is-${drawn.origin}` : ""}`;
  const name = drawn ? named(SIGNS[drawn.origin], drawn.piece) : null;
  return h("li", { class: css }, name, span("fs-said", words.after(drawn, own)));
}

/** Drift against its bound, as a bar. */
function meter({ drift, bound, kept }) {
  if (!(bound > 0) || !Number.isFinite(bound)) return [];
  const told = `${plural(kept, "kept token")}: drift ${number(drift)} of at most ${number(bound)}`;
  const filled = h("span", { style: `width:${(100 * Math.min(drift / bound, 1)).toFixed(2)}%` });
  return [h("div", { "class": "fs-meter", "role": "img", "aria-label": told }, filled)];
}

export { run };
