// The board at first sight: what a newcomer needs of a draft and its two verdicts, and no more.
// Nothing in it is a control, a test has its coin, its threshold and what decides it, and a lane
// says its rule in one line. board.js has the rest.
import { h } from "../kit/dom.js";
import { facts } from "../kit/facts.js";
import { apart, shortest } from "../kit/format.js";
import { origin } from "./rejudge.js";
import { gauge, leaves, outcomeAt, tight } from "./cells.js";
import { counted, countsAt, due } from "./counts.js";
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
  const order = judged.info.forward ? "① →" : "← ①";
  return [
    h("span.hp-lane-title", named(judged)),
    h("span.hp-order", order),
    keeps,
    h("span.hp-lane-line", judged.info.own ? judged.info.mark : entry?.line || entry?.words || ""),
  ];
}

/** What a rule did at a token. @type {(view: View, judged: Judged, id: number) => HTMLElement} */
function cell(view, judged, id) {
  const { test, state, verdict } = outcomeAt(view, judged, id);
  const place = h("span.hp-unseen", `${named(judged)}, token ${view.depth.get(id)}: `);
  const share = counted(view) === judged && due(view, id);
  const box = (/** @type {Child[]} */ ...inside) =>
    h(`div.hp-trial.is-${state}`, place, share, inside);
  if (!test) return box(h("span.hp-trial-words", verdict));
  const digits = apart(...test.sides, 2, 1);
  const text = (/** @type {number} */ x) => (x > 0 && x < 0.001 ? "≈0" : tight(x, digits));
  const [low, high] = test.sides.map(text);
  const coin = test.coinless ? null : h("span.hp-wide", "coin ");
  const compared = h("span", coin, `${low} ${test.accepted ? "<" : "≥"} ${high} `);
  const made = decided(view, judged, id, (share) => text(share) === high);
  const order = h("span.hp-order", { title: `test ${test.order}` }, circled(test.order));
  const words = h("span.hp-trial-words", compared, verdict);
  return box(order, made, gauge(...test.sides), words);
}

/** A number in a circle, such as ①. @param {number} n */
const circled = (n) => (n <= 20 ? String.fromCodePoint(0x245f + n) : `(${n})`);

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
  const put = (/** @type {string} */ name, /** @type {string} */ numbers) =>
    h("span.hp-origin", h("span.hp-wide", name), numbers);
  if (branch && counted(view) === judged)
    return put("deficient ÷ excess = ", countsAt(view, branch).equation);
  if (branch) {
    const { deficient, excess } = branch;
    return put("deficient ÷ excess = ", quotient(deficient, excess, fits));
  }
  if (!names.some((name) => RATIOS.includes(name))) return false;
  const cut = value > 1 ? ", at most 1" : "";
  const { p, q } = view.nodes.get(id);
  const isOwn = String(names) === "p,q" || view.depth.get(id) === 1;
  if (isOwn && !cut) return put("p ÷ q = ", quotient(p, q, fits));
  if (isOwn) return h("span.hp-origin", `p ÷ q${cut}`);
  const part = view.children.has(id) ? "up to here" : "the whole draft";
  return counted(view) === judged ? put(part, "") : h("span.hp-origin", `p ÷ q of ${part}${cut}`);
}

/**
 * Two shares in per cent, with the fewest digits whose quotient is printed as the threshold is.
 * @type {(above: number, below: number, fits: (share: number) => boolean) => string}
 */
function quotient(above, below, fits) {
  const numbers = { above: 100 * above, below: 100 * below };
  const { texts } = shortest(numbers, (rounded) => fits(rounded.above / rounded.below), 2);
  return `${texts.above} ÷ ${texts.below}`;
}

export { cell, head };
