// A run of the fuzzy rule: its text with the tokens that passed by divergence alone, and one needle per drafted token.
import { SIGNS, token } from "../kit/dom.js";
import { number, plural, runs, short } from "../kit/format.js";
import { DIVERGENCES, MODES, positions, totals } from "./fsd_model.js";
import * as words from "./fsd_words.js";
import { button, card, h, s, say, setSlider, slider } from "./parts.js";

const OVERRULED = "≈";
const FULL = { js: Math.log(2), tv: 1 }; // how large these can be at most
const KINDS = {
  draft: "kept by the exact test too",
  overruled: "kept by divergence alone",
  correction: "correction",
  bonus: "bonus",
};

/** actions: step(index), watch(). */
function run({ step: goTo }) {
  const lead = h("p", { class: "sy-lead" });
  const text = h("div", { class: "fs-text", dir: "auto" });
  const bar = transport(goTo);
  const needles = h("ol", { class: "fs-needles" });
  const spent = h("div", { class: "fs-spent" });
  const lossy = h("p", { class: "fs-lossy" });
  const element = card("fsd-run", "The run", null, lossy, lead, text, legend(), bar.element, needles, spent);

  function update({ trace, index, head }) {
    element.hidden = !trace;
    if (!trace) return;
    say(lead, head);
    drawText(text, trace, index, goTo);
    bar.update(trace.steps.length, index);
    say(lossy, `${lossyWords(trace.setup)} Settings: ${settingsOf(trace)}.`);
    if (trace.steps.length) drawStep(needles, spent, trace, index);
    else needles.replaceChildren();
  }

  return { element, update };
}

function lossyWords({ tolerance, notes = [] }) {
  if (tolerance === 0) return "At T = 0 a token passes only where both rows are equal, so this is exact.";
  return notes.join(" ") || "Not lossless.";
}

function settingsOf({ setup }) {
  const rows = setup.divergence_on === "raw" ? " of raw rows" : "";
  const T = setup.tolerance >= 1e300 ? "∞" : number(setup.tolerance, 4);
  return `${DIVERGENCES[setup.divergence]}${rows} ≤ ${T}, ${MODES[setup.fuzzy_mode].toLowerCase()}, temperature ${setup.temperature}${setup.top_p < 1 ? `, top-p ${setup.top_p}` : ""}, seed ${setup.seed}`;
}

const legend = () =>
  h(
    "p",
    { class: "sy-hint fs-legend" },
    Object.entries(KINDS).map(([kind, name]) =>
      h(
        "span",
        { class: `fs-key is-${kind}` },
        h("span", { "class": "fs-sign", "aria-hidden": "true" }, sign(kind)),
        ` ${name}`,
      ),
    ),
  );

const sign = (kind) => (kind === "overruled" ? OVERRULED : SIGNS[kind]);

// ---- the text

function drawText(box, trace, index, goTo) {
  const prompt = h("span", { class: "fs-prompted" }, trace.prompt.pieces.slice(-60).flatMap(plainPiece));
  const groups = trace.steps.map((step, i) => {
    const rows = step.nodes.length ? positions(trace, i).rows : [];
    const tokens = step.committed.map((one, t) => {
      const kind = one.origin === "draft" && rows[t] && rows[t].rejects ? "overruled" : one.origin;
      return h("span", { class: `fs-token is-${kind}`, title: KINDS[kind] }, plainPiece(one.piece));
    });
    return h(
      "span",
      { "class": `fs-group${i === index ? " is-active" : ""}`, "data-step": i, "onclick": () => goTo(i) },
      tokens,
    );
  });
  box.replaceChildren(prompt, ...groups);
}

/** A piece in running text: spaces as spaces, line ends shown and made, everything else that is invisible marked. */
function plainPiece(piece) {
  return runs(piece).flatMap((run) => {
    if (run.line) return [run.text, h("br")];
    return [run.mark && run.text === "␣" ? " " : run.text];
  });
}

function transport(goTo) {
  const words = h("output", { class: "sy-figure" });
  const range = slider("step", { min: 0, max: 0, step: 1 }, () => goTo(Number(range.value)));
  const back = button("‹", "one step back", () => goTo(Number(range.value) - 1));
  const next = button("›", "one step forward", () => goTo(Number(range.value) + 1));
  const element = h("div", { class: "fs-transport" }, back, next, range, words);
  const update = (count, index) => {
    range.max = String(Math.max(count - 1, 1));
    range.disabled = count < 2;
    setSlider(range, index, `step ${index + 1} of ${count}`);
    back.disabled = index <= 0;
    next.disabled = index >= count - 1;
    say(words, count ? `step ${index + 1}/${count}` : "no step yet");
  };
  return { element, update };
}

// ---- one step

function drawStep(list, spent, trace, index) {
  const { view, settings, rows } = positions(trace, index);
  const most = scale(rows, settings);
  list.replaceChildren(...rows.map((row, i) => needle(row, settings, most, i)), after(view));
  const sums = totals(trace, index + 1);
  spent.replaceChildren(
    h("p", { class: "fs-drift" }, words.drift(sums, settings)),
    ...meter(sums),
    h("p", { class: "sy-hint" }, `${words.kept(sums)} ${words.driftMeaning(settings)}`),
  );
}

/** Where the scale ends: what the divergence can be at most, else beyond the tolerance and all finite values. */
function scale(rows, { T, divergence }) {
  if (FULL[divergence]) return FULL[divergence];
  const finite = rows.map((row) => row.D).filter(Number.isFinite);
  return Math.max(1.15 * Math.max(...finite, 0), Number.isFinite(T) ? 1.5 * T : 0, 0.1);
}

const WIDTH = 220;

function needle(row, settings, most, i) {
  const { T } = settings;
  const at = (x) => WIDTH * Math.min(Math.max(x / most, 0), 1);
  const passes = Math.max(Math.min(T, most), 0);
  const state = !row.tested ? "unreached" : row.kept ? (row.rejects ? "overruled" : "kept") : "rejected";
  const icon = { unreached: "–", kept: "✓", overruled: OVERRULED, rejected: "✕" }[state];
  const said = words.verdict(row, settings);
  const drawing = s(
    "svg",
    {
      "viewBox": `-4 0 ${WIDTH + 8} 30`,
      "class": "fs-gauge",
      "role": "img",
      "aria-label": `D ${number(row.D)} on a scale to ${number(most)}, tolerance ${number(T)}`,
    },
    s("rect", { x: 0, y: 12, width: WIDTH, height: 8, rx: 3, class: "fs-track" }),
    s("rect", { x: 0, y: 12, width: at(passes), height: 8, rx: 3, class: "fs-pass" }),
    T >= 0 && T <= most ? s("path", { d: `M${at(T)} 8V24`, class: "fs-limit" }) : null,
    s("path", { d: `M${at(row.D)} 20l-5 -13h10z`, class: `fs-needle is-${state}` }),
  );
  return h(
    "li",
    { "class": `fs-position is-${state}`, "data-position": i + 1 },
    h("span", { class: "fs-name" }, h("span", { class: "fs-icon" }, icon), token(row.node.piece, { cells: 14 })),
    drawing,
    h("span", { class: "fs-value sy-figure" }, `D ${short(row.D)}`),
    h("span", { class: "fs-said" }, said),
  );
}

/** The token after the kept ones. */
function after(view) {
  const { drawn, step } = view;
  if (!drawn)
    return h(
      "li",
      { class: "fs-position is-after" },
      h("span", { class: "fs-said" }, "The text ends with the kept tokens."),
    );
  const whole = step.residual && step.residual.weight >= 1e300;
  const from =
    drawn.origin === "bonus"
      ? "all kept: the next token follows the target"
      : whole
        ? "drawn from the whole target p"
        : "drawn from the residual max(p − q, 0)";
  return h(
    "li",
    { class: `fs-position is-after is-${drawn.origin}` },
    h(
      "span",
      { class: "fs-name" },
      h("span", { class: "fs-icon" }, SIGNS[drawn.origin]),
      token(drawn.piece, { cells: 14 }),
    ),
    h("span", { class: "fs-said" }, `${drawn.origin}: ${from}`),
  );
}

/** Drift against its bound, as a bar. */
function meter({ drift, bound, kept }) {
  if (!(bound > 0) || !Number.isFinite(bound)) return [];
  const share = Math.min(drift / bound, 1);
  return [
    h(
      "div",
      {
        "class": "fs-meter",
        "role": "img",
        "aria-label": `${plural(kept, "kept token")}: drift ${number(drift)} of at most ${number(bound)}`,
      },
      h("span", { style: `width:${(100 * share).toFixed(2)}%` }),
    ),
  ];
}

export { run };
