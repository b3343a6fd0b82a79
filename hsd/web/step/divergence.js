// Where a rule judges by divergence (FSD): for each drafted token D against the tolerance T, as a
// needle on a scale; which tokens were kept though the exact test rejects them; and the drift that
// the run has spent, against its bound.
import { h, prose, token } from "../kit/dom.js";
import { divergence as known } from "../kit/facts.js";
import { card } from "../kit/controls.js";
import { appear, gauge } from "./cells.js";
import { number, pair, plain, say } from "./sentences.js";
import { fuzzy, readAlone } from "./model.js";

const SIGNS = {
  unreached: "–",
  kept: "✓",
  overruled: "≈",
  rejected: "✕",
};

/** @type {StepPart["shows"]} */
const shows = ({ own, detail, step }) =>
  own.info.by_divergence && detail && step.divergences.length > 0;

/**
 * Sums over the steps of the run up to that of a view. impossible: kept tokens with p = 0.
 * @param {View} view
 */
function spent({ trace, index }) {
  const sum = {
    drift: 0,
    bound: 0,
    kept: 0,
    overruled: 0,
    impossible: 0,
  };
  for (const step of trace.steps.slice(0, index + 1)) {
    const settings = fuzzy(readAlone(step, trace.setup.options));
    sum.drift += settings?.drift ?? 0;
    sum.bound += settings?.bound ?? 0;
    sum.kept += step.kept;
    sum.overruled += settings?.overruled.length ?? 0;
    const kept = step.nodes.slice(0, step.kept);
    sum.impossible += kept.filter(({ p }) => p === 0).length;
  }
  return sum;
}

/** @type {StepPart["create"]} */
function create() {
  const list = h("ol.hp-needles");
  const bar = h("span");
  const words = h("p.hp-note");
  const meter = h("div.hp-drift", bar);
  const kept = h("p.hp-hint");
  const hint = plain(say("divergence_hint", {}));
  const below = card(
    "hp-divergence",
    "Divergence against the tolerance",
    hint,
    list,
    words,
    meter,
    kept,
  );

  /** @type {PartCard["draw"]} */
  function draw(view, { plan }) {
    const settings = fuzzy(view);
    const own = plan.phases.find(({ name }) => name === "own");
    if (!settings) return;
    const most = scale(view, settings);
    const first = own?.from ?? 0;
    const needles = view.spine.map((id) => {
      const test = view.own.decisions.findIndex(({ node }) => node === id);
      return needle(view, id, settings, most, first + test);
    });
    list.replaceChildren(...needles);
    const sums = spent(view);
    const { T, mode, on, unit, divergence } = settings;
    const bounded = sums.bound > 0 && Number.isFinite(sums.bound);
    const facts = {
      ...sums,
      drift: number(sums.drift),
      bound: number(sums.bound),
      T: number(T),
      unit,
      bounded,
      divergence,
      raw: on === "raw",
      none: T < 0,
      alone: mode !== "exact-first",
    };
    words.replaceChildren(h("span", prose(say("drift_so_far", facts))));
    kept.replaceChildren(h("span", prose(say("overruled_so_far", facts))));
    meter.hidden = !bounded;
    const share = sums.drift / sums.bound || 0;
    bar.style.width = `${100 * Math.min(share, 1)}%`;
  }

  return {
    below,
    draw,
    /** A row says what became of its token once its test is made. */
    beat: (now) => appear(list, now),
  };
}

/**
 * Where the scale ends: at the largest value that the divergence can have, or, of one without such
 * a value, beyond the tolerance and all values of the step.
 * @type {(view: View, settings: FuzzyStep) => number}
 */
function scale(view, { D, T, divergence }) {
  const { most } = known(divergence);
  if (most) return most;
  const finite = view.spine.map((id) => D(id) ?? 0).filter(Number.isFinite);
  const largest = Math.max(...finite, 0);
  const tolerance = Number.isFinite(T) ? T : 0;
  return Math.max(1.15 * largest, 1.5 * tolerance, 0.1);
}

/**
 * A drafted token: what became of it, D beside T, and the test in words. at: the beat of its test.
 * @type {(view: View, id: number, settings: FuzzyStep, most: number, at: number) => HTMLElement}
 */
function needle({ nodes, own, isTrie: tree }, id, { D, T, mode, ...settings }, most, at) {
  const node = nodes.get(id);
  const exact = settings.exact(node);
  const near = settings.near(id);
  const reached = own.at.has(id);
  const rejects = node.coin >= exact;
  /** @type {keyof typeof SIGNS} */
  let state = rejects ? "overruled" : "kept";
  if (!own.path.has(id)) state = "rejected";
  if (!reached) state = "unreached";
  const [value, tolerance] = pair(D(id), T);
  const [coin, limit] = pair(node.coin, exact);
  const facts = {
    reached,
    alone: mode !== "exact-first",
    tree,
    near,
    rejects,
    D: value,
    T: tolerance,
    coin,
    limit,
  };
  const name = h(
    "span.hp-needle-name",
    h("b", SIGNS[state]),
    " ",
    token(node.piece, { cells: 14 }),
  );
  const limitAt = T < 0 ? null : T / most;
  const line = gauge((D(id) ?? 0) / most, limitAt, { "aria-hidden": "true" });
  return h(
    `li.is-${state}`,
    { "data-node": id, "data-at": at, "data-from": "D" },
    name,
    line,
    h("span.hp-needle-said", prose(say("divergence_test", facts))),
  );
}

export { create, shows };
