// The board at first sight: what a newcomer needs of a draft and its two verdicts, and no more.
// Nothing in it is a control, a test has its coin, its threshold and what decides it, and a lane
// says its rule in one line. board.js has the rest.
import { h } from "../kit/dom.js";
import { facts } from "../kit/facts.js";
import { apart, shortest } from "../kit/format.js";
import { origin } from "./rejudge.js";
import { gauge, leaves, level, outcomeAt, tight } from "./cells.js";
import { pair } from "./sentences.js";
import { fuzzy } from "./model.js";
import { named } from "./phases.js";

const RATIOS = ["q", "own", "before", "starred", "capped", "ratio"]; // p/q in an expression

/**
 * A lane's name, how its rule decides, and what it keeps.
 * @type {(judged: Judged, keeps: HTMLElement) => Child}
 */
function head(judged, keeps) {
  const entry = facts.glossary[judged.info.term ?? ""];
  const full = entry?.full && h("span.hp-wide", `, ${entry.full}`);
  return [
    h("span.hp-lane-title", named(judged), full),
    keeps,
    h("span.hp-lane-line", entry?.line || entry?.words || ""),
  ];
}

/** What a rule did at a token. @type {(view: View, judged: Judged, id: number) => HTMLElement} */
function cell(view, judged, id) {
  const { test, state, verdict } = outcomeAt(view, judged, id);
  const place = h("span.hp-unseen", `${named(judged)}, token ${view.depth.get(id)}: `);
  const box = (/** @type {Child[]} */ ...inside) => h(`div.hp-trial.is-${state}`, place, inside);
  if (!test) return box(h("span.hp-trial-words", verdict));
  const digits = apart(...test.sides, 2, 1);
  const text = (/** @type {number} */ x) => (x > 0 && x < 0.001 ? "≈0" : tight(x, digits));
  const [low, high] = test.sides.map(text);
  const coin = test.coinless ? null : h("span.hp-wide", "coin ");
  const compared = h("span", coin, `${low} ${test.accepted ? "<" : "≥"} ${high} `);
  const made = decided(view, judged, id, (share) => text(share) === high);
  return box(made, gauge(...test.sides), h("span.hp-trial-words", compared, verdict));
}

/**
 * What a threshold is made of: the masses of a branch, or p/q of a token or of all up to it;
 * nothing for anything else. fits: whether a number is printed as the threshold is.
 * @type {(view: View, judged: Judged, id: number, fits: (share: number) => boolean) => Child}
 */
function decided(view, judged, id, fits) {
  const settings = judged.info.by_divergence ? fuzzy(view) : null;
  if (settings?.near(id))
    return h("span.hp-origin", `D ${pair(settings.D(id), settings.T).join(" ≤ T ")}`);
  const { tree = "", value = 0 } = origin(view, judged, id) ?? {};
  const names = leaves(tree);
  const branch = names.includes("excess") && view.branches.get(id);
  if (!branch) {
    if (!names.some((name) => RATIOS.includes(name))) return false;
    const words = ratioWords(view, id, String(names) === "p,q");
    return h("span.hp-origin", words, value > 1 && ", at most 1");
  }
  const share = (/** @type {Branch} */ { deficient, excess }) => deficient / excess;
  const { texts } = shortest({ ...branch }, (rounded) => fits(share(rounded)), 2);
  const words = (/** @type {string} */ name) => ({ words: texts[name].replace(/^0\./, ".") });
  const lack = [h("span.hp-swatch.is-deficient"), h("span.hp-wide", " lack")];
  const surplus = [h("span.hp-swatch.is-excess"), h("span.hp-wide", " excess")];
  return [
    h("span.hp-origin", lack, " ÷ ", surplus),
    level("is-deficient", branch.deficient, words("deficient")),
    level("is-excess", branch.excess, words("excess")),
  ];
}

/**
 * A ratio at a node in words. own: it is that of this token alone.
 * @type {(view: View, id: number, own: boolean) => string}
 */
function ratioWords(view, id, own) {
  if (own || view.depth.get(id) === 1) return "p/q";
  return view.children.has(id) ? "p/q up to here" : "p/q of the whole draft";
}

export { cell, head };
