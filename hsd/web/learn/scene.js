// The picture of a lesson: rows over the drafted tokens, some lit and the rest dim. Every number is the step's own, or was
// measured.
import { h, token } from "../kit/dom.js";
import { number, percent, short } from "../kit/format.js";

const SHOWN = 4; // candidates of a place that have a row of their own
const HIGH = 44; // pixels of a chance of 1

// What a row says above itself, and how it is drawn.
const ROWS = {
  "draft": ["the draft", draft],
  "pass": ["one pass of the target", pass],
  "times": ["time of one pass, in milliseconds", times],
  "pq": ["q, the draft's · p, the target's", probabilities],
  "ratio": ["ρ = p/q · joint ratio r · cut at 1: c", ratios],
  "masses": ["before each token: deficient ▧ and excess ▨", masses],
  "place": ["the first place: what q proposes, what p wants", (at) => place(at, false)],
  "parts": ["the first place: p is what is kept, and what corrections ▧ add", (at) => place(at, at.answered)],
  "classic": ["classic rule, from the left: coin against threshold", (at) => lane(at, at.step.shadow)],
  "hsd": ["HSD, from the right: coin against threshold", (at) => lane(at, at.step.verdict)],
  "kept-classic": ["classic rule: chance of keeping so many, over all coins", (at) => kept(at, at.step.shadow)],
  "kept-hsd": ["HSD: chance of keeping so many, over all coins", (at) => kept(at, at.step.verdict)],
  "costs": ["at each γ: what a step costs, in plain passes · how many tokens it brings", costs],
};

/** The picture of a lesson, before or after its answer. content: what the server told. */
function scene(content, lesson, answered) {
  const at = { ...content, lesson, answered };
  const order = Object.keys(ROWS).filter((name) => lesson.show.includes(name));
  return h(
    "div.ln-scene",
    { "data-lesson": lesson.key },
    order.map((name) => row(name, at)),
  );
}

function row(name, at) {
  const [caption, draw] = ROWS[name];
  const { lit, later } = at.lesson;
  const hidden = later.includes(name) && !at.answered;
  const state = hidden ? "is-later" : lit.includes(name) ? "is-lit" : "is-dim";
  const away = state === "is-lit" ? null : "true";
  return h(
    "div.ln-row",
    { "class": state, "data-row": name, "aria-hidden": away },
    h("p.ln-caption", caption),
    draw(at),
  );
}

/** One cell per drafted token; those of other places stand back. */
function cells(at, draw) {
  const { columns } = at.lesson;
  const one = (node) => {
    const out = columns.length && !columns.includes(node.id);
    return h("div.ln-cell", { "class": out ? "is-out" : null, "aria-hidden": out ? "true" : null }, draw(node));
  };
  return h("div.ln-cells", at.step.nodes.map(one));
}

function bar(css, share, words) {
  const width = `width:${(100 * Math.min(share, 1)).toFixed(1)}%`;
  return h("span.ln-bar", h("i.hp-segment", { class: css, style: width }), h("b", words));
}

function draft(at) {
  return cells(at, (node) => h("span.ln-token", token(node.piece, { cells: 10 })));
}

function pass(at) {
  const places = at.step.drafted + 1;
  return h("div.ln-pass", h("span", `reads ${at.step.drafted} tokens, tells ${places} rows of probabilities`));
}

function times({ times, answered }) {
  const most = Math.max(...times.map(({ ms }) => ms));
  const one = ({ width, ms }) => {
    const known = answered || width === 1;
    const words = `${width} ${width === 1 ? "token" : "tokens"}`;
    return h("div.ln-time", h("span", words), bar("is-p", known ? ms / most : 0, known ? number(ms) : "?"));
  };
  return h("div.ln-list", times.map(one));
}

function probabilities(at) {
  return cells(at, ({ p, q }) => [bar("is-q", q, `q ${short(q)}`), bar("is-p", p, `p ${short(p)}`)]);
}

function ratios(at) {
  let r = 1;
  let c = 1;
  return cells(at, ({ p, q }) => {
    r *= p / q;
    c = Math.min(1, (c * p) / q);
    return [`ρ ${number(p / q)}`, `r ${number(r)}`, `c ${number(c)}`].map((words) => h("span.ln-number", words));
  });
}

function masses(at) {
  const branches = new Map(at.step.branches.map((branch) => [branch.node, branch]));
  return cells(at, ({ parent }) => {
    const { deficient, excess } = branches.get(parent);
    return [bar("is-deficient", deficient, `▧ ${short(deficient)}`), bar("is-excess", excess, `▨ ${short(excess)}`)];
  });
}

/** What one rule did with the coins of this run: the tests it made, and what they mean for the other tokens. */
function lane(at, verdict) {
  const tests = new Map(verdict.decisions.map((test) => [test.node, test]));
  return cells(at, ({ id }) => {
    const test = tests.get(id);
    if (!test) return [h("span.ln-track"), h("span.ln-number", id <= verdict.kept ? "✓ kept along" : "lost")];
    const { coin, threshold, accepted } = test;
    const track = h(
      "span.ln-track",
      h("i", { style: `width:${(100 * threshold).toFixed(1)}%` }),
      h("b", { style: `left:${(100 * coin).toFixed(1)}%` }),
    );
    const words = `${accepted ? "✓" : "✕"} ${short(coin)} ${accepted ? "<" : "≥"} ${short(threshold)}`;
    return [track, h("span.ln-number", { class: accepted ? "is-kept" : "is-rejected" }, words)];
  });
}

/** The candidates of the first place that stands out: q, and p, split into what is kept and what corrections add. */
function place(at, split) {
  const branch = at.step.branches.find(({ node }) => node === at.lesson.columns[0] - 1);
  const order = [...branch.top].sort((a, b) => Math.max(b.p, b.q) - Math.max(a.p, a.q)).slice(0, SHOWN);
  const sum = (side) => order.reduce((total, one) => total + one[side], 0);
  const rest = { p: Math.max(0, 1 - sum("p")), q: Math.max(0, 1 - sum("q")) };
  const added = order.reduce((total, { p, q }) => total + Math.max(p - q, 0), 0);
  const corrected = Math.max(0, branch.deficient - added);
  const rows = order.map(({ piece, p, q }) =>
    candidate(token(piece, { cells: 10 }), p, q, split ? Math.max(p - q, 0) : 0),
  );
  return h("div.ln-list", rows, candidate("all others", rest.p, rest.q, split ? Math.min(corrected, rest.p) : 0));
}

function candidate(name, p, q, corrected) {
  const share = (css, x) => h("i.hp-segment", { class: css, style: `width:${(100 * x).toFixed(1)}%` });
  const parts = [share("is-p", p - corrected), corrected > 0 && share("is-deficient", corrected)];
  const sum = corrected > 0 ? `p ${number(p)} = ${number(p - corrected)} + ${number(corrected)}` : `p ${short(p)}`;
  const bars = h("div", bar("is-q", q, `q ${short(q)}`), h("span.ln-bar", parts, h("b", sum)));
  return h("div.ln-candidate", h("span", name), bars);
}

/** Chances of keeping 0, 1, … tokens over all coins, their mean, and what this run's coins gave. */
function kept({ step }, { rule, kept: now }) {
  const chances = step.kept_law[rule];
  const mean = chances.reduce((sum, chance, t) => sum + t * chance, 0);
  const column = (chance, t) =>
    h(
      "span.ln-column",
      h("small", t === now ? `▾ ${percent(chance)}` : percent(chance)),
      h("i", { style: `height:${(HIGH * chance).toFixed(1)}px` }),
      h("small", String(t)),
    );
  return h(
    "div.ln-kept",
    chances.map(column),
    h("span.ln-mean", "mean ", h("b", number(mean)), h("small", "▾ this time")),
  );
}

function costs({ costs, answered }) {
  const most = Math.max(...costs.flatMap(({ cost, brings }) => [cost, brings]));
  const one = ({ gamma, cost, brings }) =>
    h(
      "div.ln-candidate",
      h("span", `γ = ${gamma}`),
      h(
        "div",
        bar("is-q", cost / most, `costs ${number(cost)}`),
        bar("is-p", answered ? brings / most : 0, `brings ${answered ? number(brings) : "?"}`),
      ),
    );
  return h("div.ln-list", costs.map(one));
}

export { scene };
