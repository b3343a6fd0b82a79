// Where a rule judges by divergence (FSD): for each drafted token D against the tolerance T, as a needle on a scale; which
// tokens were kept though the exact test rejects them; and the drift that the run has spent, against its bound.
import { h, prose, token } from "../kit/dom.js";
import { divergence as known } from "../kit/facts.js";
import { card } from "../kit/parts.js";
import { appear, gauge } from "./cells.js";
import { number, pair, plain, say } from "./fill.js";
import { fuzzy, readAlone } from "./model.js";

const SIGNS = { unreached: "–", kept: "✓", overruled: "≈", rejected: "✕" };

/** @type {StepPart["shows"]} */
const shows = ({ own, detail, step }) => own.info.by_divergence && detail && step.divergences.length > 0;

/** Sums over the steps up to that of a view. impossible: tokens with p = 0. @param {View} view */
function spent({ trace, index }) {
  const sum = { drift: 0, bound: 0, kept: 0, overruled: 0, impossible: 0 };
  for (const step of trace.steps.slice(0, index + 1)) {
    const { drift = 0, bound = 0, overruled = [] } = fuzzy(readAlone(step, trace.setup.options)) ?? {};
    sum.drift += drift;
    sum.bound += bound;
    sum.kept += step.kept;
    sum.overruled += overruled.length;
    sum.impossible += step.nodes.slice(0, step.kept).filter(({ p }) => p === 0).length;
  }
  return sum;
}

/** @type {StepPart["create"]} */
function create() {
  const list = h("ol.hp-needles");
  const bar = h("span");
  const [words, meter, kept] = [h("p.hp-note"), h("div.hp-drift", bar), h("p.hp-hint")];
  const hint = plain(say("divergence hint", {}));
  const below = card("hp-divergence", "Divergence against the tolerance", hint, list, words, meter, kept);

  /** @type {PartCard["draw"]} */
  function draw(view, { plan }) {
    const settings = fuzzy(view);
    const own = plan.phases.find(({ name }) => name === "own");
    if (!settings) return;
    const most = scale(view, settings);
    const beatOf = (/** @type {number} */ id) =>
      (own?.from ?? 0) + view.own.decisions.findIndex(({ node }) => node === id);
    list.replaceChildren(...view.spine.map((id) => needle(view, id, settings, most, beatOf(id))));
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
    beat: (now) => appear(list, now),
  };
}

/** Where the scale ends: at most, or beyond the tolerance and all values. @type {(view: View, settings: FuzzyStep) => number} */
function scale(view, { D, T, divergence }) {
  const finite = view.spine.map((id) => D(id) ?? 0).filter(Number.isFinite);
  return known(divergence).most ?? Math.max(1.15 * Math.max(...finite, 0), Number.isFinite(T) ? 1.5 * T : 0, 0.1);
}

/** A drafted token: what became of it, D beside T, and the test in words. at: the beat of its test. @type {(view: View, id: number, settings: FuzzyStep, most: number, at: number) => HTMLElement} */
function needle({ nodes, own, isTrie: tree }, id, { D, T, mode, ...settings }, most, at) {
  const node = nodes.get(id);
  const [exact, near, reached] = [settings.exact(node), settings.near(id), own.at.has(id)];
  const rejects = node.coin >= exact;
  const state = !reached ? "unreached" : !own.path.has(id) ? "rejected" : rejects ? "overruled" : "kept";
  const [[value, tolerance], [coin, limit]] = [pair(D(id), T), pair(node.coin, exact)];
  const facts = { reached, alone: mode !== "exact-first", tree, near, rejects, D: value, T: tolerance, coin, limit };
  const name = h("span.hp-needle-name", h("b", SIGNS[state]), " ", token(node.piece, { cells: 14 }));
  const line = gauge((D(id) ?? 0) / most, T < 0 ? null : T / most, { "aria-hidden": "true" });
  return h(
    `li.is-${state}`,
    { "data-node": id, "data-at": at, "data-from": "D" },
    name,
    line,
    h("span.hp-needle-said", prose(say("divergence test", facts))),
  );
}

export { create, shows };
