// Where a rule judges by divergence (FSD): for each drafted token D against the tolerance T, as a needle on a scale; which
// tokens were kept though the exact test rejects them; and the drift that the run has spent, against its bound.
import { h, prose, token } from "../kit/dom.js";
import { divergence as known } from "../kit/facts.js";
import { card } from "../kit/parts.js";
import { gauge } from "./cells.js";
import { number, pair, say } from "./fill.js";
import { fuzzy, readStep } from "./model.js";

const SIGNS = { unreached: "–", kept: "✓", overruled: "≈", rejected: "✕" };
const HINT =
  "A drafted token may pass where the divergence D between the rows of target and draft is at most the tolerance T, the " +
  "coloured part of the bar. ≈ marks tokens that were kept though the exact test rejects them.";

/** @typedef {NonNullable<ReturnType<typeof fuzzy>>} Settings of the rule, and what it did in a step */

/** @type {import("./parts.js").Part["shows"]} */
const shows = ({ own, detail, step }) => own.info.by_divergence && detail && step.divergences.length > 0;

/** @type {WeakMap<Step, Record<"drift" | "bound" | "kept" | "overruled" | "impossible", number>>} */
const SUMS = new WeakMap(); // step: its own part of the sums

/** Sums over the steps up to that of a view. impossible: tokens with p = 0. @param {View} view */
function spent({ trace, index }) {
  const sum = { drift: 0, bound: 0, kept: 0, overruled: 0, impossible: 0 };
  for (const [i, step] of trace.steps.slice(0, index + 1).entries()) {
    const { drift = 0, bound = 0, overruled = [] } = SUMS.has(step) ? {} : (fuzzy(readStep(trace, i)) ?? {});
    const impossible = step.nodes.slice(0, step.kept).filter(({ p }) => p === 0).length;
    const own = SUMS.get(step) ?? { drift, bound, kept: step.kept, overruled: overruled.length, impossible };
    SUMS.set(step, own);
    for (const name of /** @type {(keyof typeof sum)[]} */ (Object.keys(sum))) sum[name] += own[name];
  }
  return sum;
}

/** @type {import("./parts.js").Part["create"]} */
function create() {
  const list = h("ol.hp-needles");
  const bar = h("span");
  const [words, meter, kept] = [h("p.hp-note"), h("div.hp-drift", bar), h("p.hp-hint")];
  const below = card("hp-divergence", "Divergence against the tolerance", HINT, list, words, meter, kept);
  let tests = /** @type {number[]} */ ([]); // for each row the beat of its test

  /** @type {import("./parts.js").Card["draw"]} */
  function draw(view, { plan }) {
    const settings = fuzzy(view);
    const own = plan.phases.find(({ name }) => name === "own");
    if (!settings) return;
    tests = view.spine.map((id) => (own?.from ?? 0) + view.own.decisions.findIndex(({ node }) => node === id));
    const most = scale(view, settings);
    list.replaceChildren(...view.spine.map((id) => needle(view, id, settings, most)));
    const sums = spent(view);
    const { T, mode, on, unit, divergence } = settings;
    const bounded = sums.bound > 0 && Number.isFinite(sums.bound);
    const texts = { drift: number(sums.drift), bound: number(sums.bound), T: number(T), unit };
    const cases = { bounded, divergence, raw: on === "raw", none: T < 0, alone: mode !== "exact-first" };
    const facts = { ...sums, ...texts, ...cases };
    words.replaceChildren(h("span", prose(say("drift so far", facts))));
    kept.replaceChildren(h("span", prose(say("overruled so far", facts))));
    meter.hidden = !bounded;
    bar.style.width = `${100 * Math.min(sums.drift / sums.bound || 0, 1)}%`;
  }

  return {
    below,
    draw,
    /** A row says what became of its token once its test is made. */
    beat({ phase, i }, last) {
      for (const [row, at] of tests.entries())
        list.children[row].classList.toggle("is-ahead", !last && at > phase.from + i);
    },
  };
}

/** Where the scale ends: at most, or beyond the tolerance and all values. @type {(view: View, settings: Settings) => number} */
function scale(view, { D, T, divergence }) {
  const finite = view.spine.map((id) => D(id) ?? 0).filter(Number.isFinite);
  return known(divergence).most ?? Math.max(1.15 * Math.max(...finite, 0), Number.isFinite(T) ? 1.5 * T : 0, 0.1);
}

/** A drafted token: what became of it, D beside T, and the test in words. @type {(view: View, id: number, settings: Settings, most: number) => HTMLElement} */
function needle({ nodes, own, isTrie: tree }, id, { D, T, mode, ...settings }, most) {
  const node = nodes.get(id);
  const [exact, near, reached] = [settings.exact(node), settings.near(id), own.at.has(id)];
  const rejects = node.coin >= exact;
  const state = !reached ? "unreached" : !own.path.has(id) ? "rejected" : rejects ? "overruled" : "kept";
  const [[value, tolerance], [coin, limit]] = [pair(D(id), T), pair(node.coin, exact)];
  const facts = { reached, alone: mode !== "exact-first", tree, near, rejects, D: value, T: tolerance, coin, limit };
  return h(
    `li.is-${state}`,
    { "data-node": id },
    h("span.hp-needle-name", h("b", SIGNS[state]), " ", token(node.piece, { cells: 14 })),
    gauge((D(id) ?? 0) / most, T < 0 ? null : T / most, { "aria-hidden": "true" }),
    h("span.hp-needle-said", prose(say("divergence test", facts))),
  );
}

export { create, shows };
