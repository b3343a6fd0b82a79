// The picture of a lesson: rows over the drafted tokens, some lit and the rest dim. Every number is
// the step's own, or was measured.
import { h, token } from "../kit/dom.js";
import { exact, number, short, shortest } from "../kit/format.js";
import { chances, masses as massesOf, trial } from "../step/cells.js";
import { counts } from "../step/counts.js";
import { capped, ratio, readAlone, rho } from "../step/model.js";
import { bars, mean } from "../step/odds.js";

/** @typedef {LearnContent & {view: any, lesson: Lesson, answered: boolean}} LessonScene */

const SHOWN = 4; // candidates of a place that have a row of their own

// What a row says above itself, and how it is drawn.
/** @type {Record<string, [string, (at: LessonScene) => Child]>} */
const ROWS = {
  "draft": ["the text so far, and the draft", draft],
  "pass": ["one pass of the target", pass],
  "times": ["time of one pass, in milliseconds", times],
  "pq": ["q, the draft's · p, the target's", probabilities],
  "ratio": ["ρ = p/q · joint ratio r · cut at 1: c", ratios],
  "masses": ["after each token: excess above, deficient below", masses],
  "counts": ["of 100 drafts that begin so", counted],
  "place": ["the first place: what q proposes, what p wants", (at) => place(at, false)],
  "parts": [
    "the first place: p is what is kept, and what corrections add",
    (at) => place(at, at.answered),
  ],
  "classic": ["vanilla, from the left: coin against threshold", (at) => lane(at, at.view.shadow)],
  "hsd": ["HSD, from the right: coin against threshold", (at) => lane(at, at.view.own)],
  "kept-classic": [
    "vanilla: chance of keeping so many, over all coins",
    (at) => kept(at, at.view.shadow),
  ],
  "kept-hsd": ["HSD: chance of keeping so many, over all coins", (at) => kept(at, at.view.own)],
  "costs": ["at each γ: what a step costs, in plain passes · how many tokens it brings", costs],
};

/**
 * The picture of a lesson, before or after its answer.
 * @type {(content: LearnContent, lesson: Lesson, answered: boolean) => HTMLElement}
 */
function scene(content, lesson, answered) {
  const at = { ...content, view: readAlone(content.step), lesson, answered };
  const names = Object.keys(ROWS).filter((name) => lesson.show.includes(name));
  const rows = names.map((name) => row(name, at));
  return h("div.hf-scene.hsd-player", { "data-lesson": lesson.key }, rows);
}

function row(/** @type {string} */ name, /** @type {LessonScene} */ at) {
  const [caption, draw] = ROWS[name];
  const { lit, later } = at.lesson;
  let state = lit.includes(name) ? "is-lit" : "is-dim";
  if (later.includes(name) && !at.answered) state = "is-later";
  const away = state === "is-lit" ? null : "true";
  const attributes = { "class": state, "data-row": name, "aria-hidden": away };
  return h("div.hf-row", attributes, h("p.hf-row-name", caption), draw(at));
}

/**
 * One cell per drafted token; those of other places stand back.
 * @type {(at: LessonScene, draw: (node: TreeNode) => Child) => HTMLElement}
 */
function cells(at, draw) {
  const { columns } = at.lesson;
  const cell = (/** @type {TreeNode} */ node) => {
    const out = columns.length && !columns.includes(node.id);
    const attributes = out ? { "class": "is-out", "aria-hidden": "true" } : {};
    return h("div.hf-cell", attributes, draw(node));
  };
  return h("div.hf-cells", at.step.nodes.map(cell));
}

/** A bar with words in it. @type {(css: string, share: number, words: string) => HTMLElement} */
function bar(css, share, words) {
  const width = `width:${(100 * Math.min(share, 1)).toFixed(1)}%`;
  return h("span.hf-bar", h("i.hp-segment", { class: css, style: width }), h("b", words));
}

/** The line of the text that the draft goes on, and the draft. @param {LessonScene} at */
function draft(at) {
  const tokens = cells(at, (node) =>
    h("span.hp-ellipsis.hf-token", token(node.piece, { cells: 10 })),
  );
  return [h("p.hf-text", { dir: "auto", translate: "no" }, "… ", at.text), tokens];
}

function pass(/** @type {LessonScene} */ at) {
  const places = at.step.drafted + 1;
  return h("div.hf-pass", h("span", `last token and draft: ${places} rows of probabilities`));
}

function times(/** @type {LessonScene} */ { times, answered }) {
  const most = Math.max(...times.map(({ ms }) => ms));
  const lines = times.map(({ width, ms }) => {
    const known = answered || width === 1;
    const words = `${width} ${width === 1 ? "token" : "tokens"}`;
    return h(
      "div.hf-time",
      h("span", words),
      bar("is-p", known ? ms / most : 0, known ? number(ms) : "?"),
    );
  });
  return h("div.hf-list", lines);
}

function probabilities(/** @type {LessonScene} */ at) {
  return cells(at, (node) => chances(node).slice(0, 2));
}

function ratios(/** @type {LessonScene} */ at) {
  return cells(at, ({ id, ...node }) => {
    const numbers = {
      ρ: rho(node),
      r: ratio(at.view, id),
      c: capped(at.view, id),
    };
    return Object.entries(numbers).map(([name, x]) => h("span.hf-number", `${name} ${number(x)}`));
  });
}

function masses(/** @type {LessonScene} */ at) {
  return cells(at, ({ id }) => massesOf(at.view.branches.get(id)));
}

/**
 * The branch after the token that the lesson is about in counts; of no single one, where HSD stops.
 * @type {(at: LessonScene) => Child}
 */
function counted({ view, lesson }) {
  return counts(view, lesson.columns[0] ?? view.own.last);
}

/**
 * The tests that one rule made with the coins of this run, and what they mean for the other tokens.
 * @type {(at: LessonScene, judged: any) => HTMLElement}
 */
function lane(at, judged) {
  return cells(at, ({ id }) => {
    const { state, parts } = trial(at.view, judged, id);
    return h("span.hp-trial", { class: `is-${state}` }, parts);
  });
}

/**
 * The candidates of the first place that stands out: q, and p, split into what is kept and what
 * corrections add.
 * @type {(at: LessonScene, split: boolean) => Child}
 */
function place(at, split) {
  const before = at.lesson.columns[0] - 1;
  const branch = at.step.branches.find(({ node }) => node === before);
  if (!branch) return null;
  const largest = [...branch.top];
  largest.sort((a, b) => Math.max(b.p, b.q) - Math.max(a.p, a.q));
  const shown = largest.slice(0, SHOWN).map(({ piece, p, q }) => {
    const added = Math.max(p - q, 0);
    return { piece, p, q, added };
  });
  const sum = (/** @type {"p" | "q" | "added"} */ name) =>
    shown.reduce((total, entry) => total + entry[name], 0);
  const restP = Math.max(0, 1 - sum("p"));
  const restQ = Math.max(0, 1 - sum("q"));
  const corrected = Math.max(0, branch.deficient - sum("added"));
  const rows = shown.map(({ piece, p, q, added }) =>
    candidate(token(piece, { cells: 10 }), p, q, split ? added : 0),
  );
  const others = candidate("all others", restP, restQ, split ? Math.min(corrected, restP) : 0);
  return h("div.hf-list", rows, others);
}

/** @type {(name: Child, p: number, q: number, corrected: number) => HTMLElement} */
function candidate(name, p, q, corrected) {
  const share = (/** @type {string} */ css, /** @type {number} */ x) =>
    h("i.hp-segment", { class: css, style: `width:${(100 * x).toFixed(1)}%` });
  const parts = [share("is-p", p - corrected), corrected > 0 && share("is-deficient", corrected)];
  const { texts } = shortest(
    { left: p - corrected, corrected },
    (t) => exact(t.left + t.corrected) === exact(p),
  );
  const sum =
    corrected > 0 ? `p ${exact(p)} = ${texts.left} + ${texts.corrected}` : `p ${short(p)}`;
  const proposed = bar("is-q", q, `q ${short(q)}`);
  const wanted = h("span.hf-bar", parts, h("b", sum));
  return h("div.hf-candidate", h("span", name), h("div", proposed, wanted));
}

/**
 * Chances of keeping 0, 1, … tokens over all coins, their mean, and what this run's coins gave.
 * @type {(at: LessonScene, judged: any) => HTMLElement}
 */
function kept({ step }, judged) {
  const law = step.kept_law[judged.rule];
  const words = h("span.hf-mean", "mean ", h("b", number(mean(law))), h("small", "▾ this time"));
  return h("div.hf-kept", bars(judged, law, { numbers: true }), words);
}

function costs(/** @type {LessonScene} */ { costs, answered }) {
  const numbers = costs.flatMap(({ cost, brings }) => [cost, brings]);
  const most = Math.max(...numbers);
  const lines = costs.map(({ gamma, cost, brings }) => {
    const paid = bar("is-q", cost / most, `costs ${number(cost)}`);
    const brought = answered
      ? bar("is-p", brings / most, `brings ${number(brings)}`)
      : bar("is-p", 0, "brings ?");
    return h("div.hf-candidate", h("span", `γ = ${gamma}`), h("div", paid, brought));
  });
  return h("div.hf-list", lines);
}

export { scene };
