// HSD in counts: what becomes of 100 drafts that begin as this one does up to a token. By HSD's law
// a beginning is kept with its chance under the draft times its capped ratio c, so of 100 of them
// 100·c are due; those whose next token stays too have gone on, and the rest is due where others
// come back. Exact for one draft; in a tree each failed test changes what is still due.
import { h, prose, token } from "../kit/dom.js";
import { facts, rule as ruleInfo } from "../kit/facts.js";
import { adding, exact } from "../kit/format.js";
import { together } from "../kit/spans.js";
import { capped, pathTo, rho } from "./model.js";
import { say } from "./sentences.js";

const WORDS = 4; // tokens of a branch that are shown with their masses
const NAMED = 3; // of them that a sentence names
const LEAST = 0.005; // of a mass that is shown
const CELLS = 12; // characters of a token over its bars
const LABELS = { on: "go on", stay: "stay here", leave: "step back" };
const GROUPS = /** @type {(keyof typeof LABELS)[]} */ (Object.keys(LABELS));

/**
 * The verdict of HSD's law on the single draft of a step; null where there is none.
 * @param {StepView} view
 */
function counted({ own, shadow, isTrie, step }) {
  if (isTrie || step.events?.length) return null;
  const { law } = ruleInfo(facts.usual);
  return [own, shadow].find((judged) => judged?.info.law === law) ?? null;
}

/**
 * The node at which HSD's law ends in a step, of a branch that is known; null where it keeps the
 * whole draft, or judges none.
 * @type {(view: StepView) => number | null}
 */
function stop(view) {
  const judged = counted(view);
  return judged?.decisions.length && view.branches.has(judged.last) ? judged.last : null;
}

/** A number of 100, with two digits. @param {number} share */
const hundred = (share) => exact(100 * share, 2, 2);

/**
 * How many of 100 drafts are due up to a token: "57 × 1.47 → 84 due", with as many digits of the
 * ratio as make it true.
 * @type {(view: StepView, id: number) => Child}
 */
function due(view, id) {
  const { parent, ...node } = view.nodes.get(id);
  const before = hundred(capped(view, parent));
  const after = hundred(capped(view, id));
  const ratios = [2, 3, 4, 5].map((digits) => Number(rho(node).toPrecision(digits)));
  const fits = (/** @type {number} */ ratio) =>
    hundred(Math.min(1, (Number(before) / 100) * ratio)) === after;
  const ratio = String(ratios.find(fits) ?? ratios[1]).replace(/^0\./, ".");
  const title = "of 100 drafts that begin so";
  return h("span.hp-due", { title }, `${before} × ${ratio} → `, h("b", `${after} due`));
}

/**
 * Shares of 100 as texts that add up, with so many places after the point.
 * @type {(shares: number[], places: number) => string[]}
 */
const ofHundred = (shares, places) =>
  adding(shares, places + 2).map((text) => String(Number((100 * Number(text)).toFixed(places))));

/**
 * What becomes of 100 drafts that begin as this one does up to a node.
 * @type {(view: StepView, branch: Branch) => CountFacts}
 */
function countsAt(view, { node, capped: c, excess, deficient, top }) {
  const shares = [1 - excess, deficient, Math.max(excess - deficient, 0)];
  const [on, stay, leave] = ofHundred(shares, 0);
  const share = exact(excess && deficient / excess, 2).replace(/^0\./, ".");
  const quotients = [0, 1, 2, 3].map((places) => {
    const parts = ofHundred(shares, places);
    const back = Number((100 - Number(parts[0])).toFixed(places));
    return { stay: parts[1], back: String(back) };
  });
  const isTrue = (/** @type {Record<"stay" | "back", string>} */ own) =>
    exact(Number(own.stay) / Number(own.back), 2).replace(/^0\./, ".") === share;
  const printed = quotients.find(isTrue) ?? quotients[2];
  const path = pathTo(view, node).map((id) => view.nodes.get(id));
  const gaps = gapsOf(c, top);
  const pieces = (/** @type {TokenGap[]} */ list) =>
    list.slice(0, NAMED).map(({ piece }) => ({ piece: { piece, cells: CELLS } }));
  return {
    scene: 0,
    start: node === 0,
    none: on === "100",
    begin: node ? { piece: together(path) } : null,
    due: hundred(c),
    on,
    back: String(100 - Number(on)),
    stay,
    leave,
    share,
    equation: `${printed.stay} ÷ ${printed.back} = ${share}`,
    often: pieces(gaps.filter(({ gap }) => gap > 0)),
    rarely: pieces(gaps.filter(({ gap }) => gap < 0).reverse()),
  };
}

/**
 * The recorded tokens of a branch by how much the draft gives them too much, the largest first;
 * those without a mass worth showing are left out.
 * @type {(c: number, top: Candidate[]) => TokenGap[]}
 */
function gapsOf(c, top) {
  const all = top.map(({ piece, p, q }) => ({ piece, q, due: c * p, gap: q - c * p }));
  return all.filter(({ gap }) => Math.abs(gap) >= LEAST).sort((a, b) => b.gap - a.gap);
}

/**
 * The branch after a node in counts: its tokens with their masses, a dot for each of 100 drafts, and
 * what is said of them. beat: at which each of three scenes comes, of a film.
 * @type {(view: StepView, node: number, beat?: (scene: number) => number) => HTMLElement | null}
 */
function counts(view, node, beat) {
  const branch = view.branches.get(node);
  if (!branch || !counted(view)) return null;
  const facts = countsAt(view, branch);
  const at = (/** @type {number} */ scene) => (beat ? { "data-at": beat(scene) } : {});
  const words = [
    h("b", facts.start ? "what may come first" : "what may follow "),
    facts.begin && token(facts.begin.piece ?? ""),
    h("small", facts.start ? " " : ", ", "the draft’s chance over what the target is due"),
  ];
  return h(
    "section.hp-counts",
    { ...at(0), "data-branch": node, "aria-label": "HSD in counts" },
    h("p.hp-counts-name", h("span", words), key(facts, beat)),
    h("div.hp-counts-words", { ...at(1) }, columns(branch)),
    dots(facts, beat),
    h("p.hp-counts-sentence", { ...at(3) }, prose(say("counts", facts))),
  );
}

/** The tokens with the largest masses, a column each, and all others. @param {Branch} branch */
function columns({ capped: c, top, excess, deficient }) {
  const gaps = gapsOf(c, top);
  const kept = [...gaps].sort((a, b) => Math.abs(b.gap) - Math.abs(a.gap)).slice(0, WORDS);
  const shown = gaps.filter((token) => kept.includes(token));
  const most = Math.max(...shown.map(({ q, due }) => Math.max(q, due)), 1e-9);
  const others = [excess, deficient].map((mass, i) => {
    const own = shown.map(({ gap }) => Math.max(i ? -gap : gap, 0));
    return Math.max(mass - own.reduce((sum, gap) => sum + gap, 0), 0);
  });
  const column = (/** @type {TokenGap} */ { piece, q, due, gap }) =>
    h(
      "div.hp-counts-word",
      token(piece, { cells: CELLS }),
      twin(q / most, due / most, [hundred(q), hundred(due)]),
      h(`small.is-${gap > 0 ? "more" : "less"}`, gapWords(gap)),
    );
  const rest = others.map(
    (mass, i) => mass >= LEAST && h(`small.is-${i ? "less" : "more"}`, gapWords(i ? -mass : mass)),
  );
  return [
    shown.map(column),
    rest.some(Boolean) && h("div.hp-counts-word.is-rest", "all others", rest),
  ];
}

/** "44 too often" @param {number} gap */
const gapWords = (gap) => `${hundred(Math.abs(gap))} too ${gap > 0 ? "often" : "rarely"}`;

/**
 * q over c·p, as shares of the longest bar: the common part plain, what goes beyond it hatched.
 * numbers: what stands after the bars, if anything.
 * @type {(q: number, cp: number, numbers?: string[]) => HTMLElement[]}
 */
function twin(q, cp, numbers = []) {
  const both = Math.min(q, cp);
  /** @type {(of: "q" | "p", kind: MassKind, whole: number, i: number) => HTMLElement} */
  const line = (of, kind, whole, i) => {
    const beyond = Math.max(whole - both, 0);
    const parts = [segment(of, "overlap", both), segment(of, kind, beyond)];
    return h("span.hp-twin", parts, numbers[i] && h("b", numbers[i]));
  };
  return [line("q", "excess", q, 0), line("p", "deficient", cp, 1)];
}

/**
 * A part of a bar, as a share of its length.
 * @type {(of: "q" | "p", kind: MassKind, share: number, attributes?: Attributes) => HTMLElement}
 */
const segment = (of, kind, share, attributes = {}) =>
  h(`span.hp-segment.is-${of}.is-${kind}`, {
    style: `width:${(100 * share).toFixed(3)}%`,
    ...attributes,
  });

/**
 * A dot for each of 100 drafts, and what they do. In a film all set out together, those that come
 * back turn at the second scene, and settle or step back at the third.
 * @type {(facts: CountFacts, beat?: (scene: number) => number) => HTMLElement}
 */
function dots(facts, beat) {
  const turn = (/** @type {number} */ scene, /** @type {string} */ verdict) => ({
    "class": beat ? "" : `is-${verdict}`,
    "data-at": beat?.(0),
    "data-turn": beat?.(scene),
    "data-verdict": verdict,
  });
  const drawn = GROUPS.map((name) => {
    const count = Math.round(Number(facts[name]));
    const all = Array.from({ length: count }, () => h("i"));
    if (name === "on") return h("span.hp-dots.is-on", all);
    const settled = h("span.hp-dots-end", turn(2, "settled"), all);
    return h(`span.hp-dots.is-${name}`, h("span.hp-dots-turn", turn(1, "returned"), settled));
  });
  return h("div.hp-counts-dots", { "aria-hidden": "true" }, drawn);
}

/**
 * What the dots' colours mean, each from its scene on.
 * @type {(facts: CountFacts, beat?: (scene: number) => number) => HTMLElement}
 */
function key(facts, beat) {
  const all = GROUPS.map((name, i) => {
    const at = beat ? { "data-at": beat(i ? 2 : 0) } : {};
    return h(`span.hp-dots-key.is-${name}`, at, h("i"), ` ${facts[name]} ${LABELS[name]}`);
  });
  return h("span.hp-counts-key", all);
}

export { counted, counts, countsAt, due, segment, stop, twin };
