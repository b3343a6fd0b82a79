// Where a rule judges by divergence (FSD): for each drafted token D against the tolerance T, as a needle on a scale; which
// tokens were kept though the exact test rejects them; and the drift that the run has spent, against its bound.
import { h, prose, s, token } from "../kit/dom.js";
import { divergence as known } from "../kit/facts.js";
import { card } from "../kit/parts.js";
import { number, pair, say } from "./fill.js";
import { fuzzy, readStep } from "./model.js";

const WIDTH = 220;
/** @type {Record<string, string>} */
const SIGNS = { unreached: "–", kept: "✓", overruled: "≈", rejected: "✕" };
const HINT =
  "A drafted token may pass where the divergence D between the rows of target and draft is at most the tolerance T, the " +
  "coloured part of the bar. ≈ marks tokens that were kept though the exact test rejects them.";

/** @typedef {{D: number, near: boolean, exact: number, coin: number, rejects: boolean, state: string, id: number}} Row */

/** @param {any} view a step as `model.readStep` gives it */
const shows = ({ own, detail, isTrie, step, trace }) =>
  Boolean(trace && own.info.by_divergence) && detail && !isTrie && step.divergences.length > 0;

/** What became of each drafted token. @param {any} view @param {any} settings @returns {Row[]} */
function rows(view, settings) {
  return view.spine.map((/** @type {number} */ id) => {
    const { coin, ...node } = view.nodes.get(id);
    const exact = settings.exact(node);
    const [tested, kept, rejects] = [view.own.at.has(id), view.own.path.has(id), coin >= exact];
    const state = !tested ? "unreached" : !kept ? "rejected" : rejects ? "overruled" : "kept";
    return { id, D: settings.D(id), near: settings.near(id), exact, coin, rejects, state };
  });
}

const SUMS = new WeakMap(); // step: its own part of the sums

/** Sums over the steps up to one. impossible: tokens with p = 0. @param {any} trace @param {number} last */
function spent(trace, last) {
  /** @type {Record<string, number>} */
  const sum = { drift: 0, bound: 0, kept: 0, overruled: 0, impossible: 0 };
  for (const [i, step] of trace.steps.slice(0, last + 1).entries()) {
    if (!SUMS.has(step)) {
      const { drift, bound, overruled } = /** @type {any} */ (fuzzy(readStep(trace, i)));
      const impossible = step.nodes.slice(0, step.kept).filter((/** @type {any} */ node) => node.p === 0).length;
      SUMS.set(step, { drift, bound, kept: step.kept, overruled: overruled.length, impossible });
    }
    for (const name of Object.keys(sum)) sum[name] += SUMS.get(step)[name];
  }
  return sum;
}

/** @returns {import("./parts.js").Card} */
function create() {
  const list = h("ol.hp-needles");
  const [words, meter, kept] = [h("p.hp-note"), h("div.hp-drift", h("span")), h("p.hp-hint")];
  const below = card("hp-divergence", "Divergence against the tolerance", HINT, list, words, meter, kept);
  /** @type {number[]} */
  let tests = []; // for each row the beat of its test

  /** @param {any} view @param {any} state */
  function draw(view, { plan }) {
    const settings = /** @type {any} */ (fuzzy(view));
    const own = plan.phases.find((/** @type {any} */ phase) => phase.name === "own");
    const all = rows(view, settings);
    const most = scale(all, settings);
    tests = all.map(
      ({ id }) => own?.from + view.own.decisions.findIndex((/** @type {any} */ made) => made.node === id),
    );
    list.replaceChildren(...all.map((row) => needle(row, view.nodes.get(row.id).piece, settings, most)));
    const sums = spent(view.trace, view.index);
    const { T, mode, on, unit, divergence } = settings;
    const bounded = sums.bound > 0 && Number.isFinite(sums.bound);
    const texts = { drift: number(sums.drift), bound: number(sums.bound), T: number(T), unit };
    const cases = { bounded, divergence, raw: on === "raw", none: T < 0, alone: mode !== "exact-first" };
    const facts = { ...sums, ...texts, ...cases };
    words.replaceChildren(...prose(say("drift so far", facts)));
    kept.replaceChildren(...prose(say("overruled so far", facts)));
    meter.hidden = !bounded;
    meter.firstChild.style.width = `${100 * Math.min(sums.drift / sums.bound || 0, 1)}%`;
  }

  /** A row says what became of its token once its test is made. @param {any} found @param {boolean} last */
  function beat({ phase, i }, last) {
    const now = phase.from + i;
    for (const [row, at] of tests.entries()) list.children[row].classList.toggle("is-ahead", !last && !(at <= now));
  }

  return { below, draw, beat };
}

/** Where the scale ends: at most, or beyond the tolerance and all values. @param {Row[]} all @param {any} settings */
function scale(all, { T, divergence }) {
  const finite = all.map(({ D }) => D).filter(Number.isFinite);
  return known(divergence).most ?? Math.max(1.15 * Math.max(...finite, 0), Number.isFinite(T) ? 1.5 * T : 0, 0.1);
}

/** @type {(row: Row, piece: string, settings: any, most: number) => HTMLElement} */
function needle({ id, D, near, exact, coin, rejects, state }, piece, { T, mode }, most) {
  const at = (/** @type {number} */ x) => WIDTH * Math.min(Math.max(x / most, 0), 1);
  const [[value, tolerance], [thrown, limit]] = [pair(D, T), pair(coin, exact)];
  const alone = mode !== "exact-first";
  const facts = { reached: state !== "unreached", alone, near, rejects, D: value, T: tolerance, coin: thrown, limit };
  const said = h("span.hp-needle-said", prose(say("divergence test", facts)));
  const drawing = s(
    "svg.hp-needle",
    { "viewBox": `-5 0 ${WIDTH + 10} 26`, "aria-hidden": "true" },
    s("rect.hp-needle-scale", { x: 0, y: 12, width: WIDTH, height: 8, rx: 3 }),
    s("rect.hp-needle-passes", { x: 0, y: 12, width: at(T), height: 8, rx: 3 }),
    T >= 0 && T <= most && s("path.hp-needle-limit", { d: `M${at(T)} 8V24` }),
    s("path.hp-needle-hand", { d: `M${at(D)} 20l-5 -13h10z` }),
  );
  const name = h("span.hp-needle-name", h("b", SIGNS[state]), " ", token(piece, { cells: 14 }));
  return h(`li.is-${state}`, { "data-node": id }, name, drawing, said);
}

export { create, shows };
