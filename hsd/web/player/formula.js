// The formulas of the tests, with letters and with the step's numbers, as HTML. Knows the shapes only;
// the numbers come from model.arithmetic.
import { h } from "../kit/dom.js";
import * as format from "../kit/format.js";
import { exact, subscript } from "../kit/format.js";

// Building blocks: strings stand as they are; {v} is a letter; {n, of} a number, coloured by what it measures.
const letter = (name, of) => ({ v: name, of });
const value = (x, of) => ({ n: exact(x, 4, 4), of });
const fraction = (top, bottom) => ({ top, bottom });
// A prime: no longer what it was at the start of the step, because of an earlier rejection.
const prime = (name, a, of = null) => letter(`${name}${a.changed && a.changed[name] ? "′" : ""}`, of);
const P = (a) => prime("p", a, "p");
const Q = (a) => prime("q", a, "q");
const S = (a) => prime("S", a, "p");

const FORMS = {
  token: (t, a) => [
    [letter(`a${t}`), " = min(1, ", fraction([P(a)], [Q(a)]), ")"],
    ["min(1, ", fraction([value(a.p, "p")], [value(a.q, "q")]), ")"],
  ],
  capped: (t, a) => [
    [...ending(t, a), " = min(1, ", before("c", t, a), " · ", fraction([P(a)], [Q(a)]), ")"],
    ["min(1, ", value(a.before), " · ", fraction([value(a.p, "p")], [value(a.q, "q")]), ")"],
  ],
  uncapped: (t, a) => [
    [
      letter(`h${t}`),
      " = min(1, ",
      letter(`r${t}`),
      ") = min(1, ",
      before("r", t, a),
      " · ",
      fraction([P(a)], [Q(a)]),
      ")",
    ],
    ["min(1, ", value(a.before), " · ", fraction([value(a.p, "p")], [value(a.q, "q")]), ")"],
  ],
  share: (t, a) => [
    [
      letter(`h${t}`),
      " = ",
      fraction(["deficient"], ["excess"]),
      " = ",
      fraction([S(a)], [S(a), " + 1 − ", prime("c", a)]),
    ],
    a.E > 0 ? [fraction([value(a.S, "p")], [value(a.S, "p"), " + 1 − ", nearOne(a.c)])] : ["0/0: nothing to correct"],
  ],
  chosen: (t, a) => [[letter(`h${t}`), " = ", P(a)], [value(a.p, "p")]],
  naive: (t, a) => [
    [
      letter(`h${t}`),
      " = ",
      fraction([letter("D"), "(p,q)"], ["max( ", letter("D"), "(p,q), ", letter("D"), "(q,p) )"]),
    ],
    a.D === null
      ? [letter("r"), " = ", value(a.r), " ≥ 1, so ", letter("D"), "(p,q) is the larger"]
      : [fraction([value(a.D, "p")], ["max( ", value(a.D, "p"), ", ", value(a.D + 1 - a.r, "q"), " )"])],
  ],
};

// Of the fuzzy rule: which case it is, in letters and in numbers, and what the threshold is then.
const relation = (t, a, sign) => (a.D === null ? [] : [value(a.D, null), ` ${sign} `, value(a.T, null), ", so "]);
const CASES = {
  near: (t, a) => [
    [letter(`D${t}`), " ≤ ", letter("T"), ", so ", letter(`a${t}`), " = 1"],
    [...relation(t, a, "≤"), letter(`a${t}`)],
  ],
  far: (t, a) => [
    [letter(`D${t}`), " > ", letter("T"), ", so ", letter(`a${t}`), " = 0"],
    [...relation(t, a, ">"), letter(`a${t}`)],
  ],
  beyond: (t, a) => [
    [letter(`D${t}`), " > ", letter("T"), ", so ", letter(`a${t}`), " = min(1, ", fraction([P(a)], [Q(a)]), ")"],
    [...relation(t, a, ">"), ...FORMS.token(t, a)[1]],
  ],
};

/** h₅ = min(1, r*₅) = c₅, where c is the ratio of the path from the start of the step. */
const ending = (t, a) =>
  a.changed ? [letter(`h${t}`)] : [letter(`h${t}`), " = min(1, ", letter(`r*${t}`), ") = ", letter(`c${t}`)];

/** A ratio with as many digits as it takes to have four of 1 − c. */
const nearOne = (c) => ({ n: format.nearOne(c) });

/** The path's ratio one token earlier: c₄ for the test of token 5. */
function before(name, t, a) {
  const position = [...t].reduce((n, digit) => n * 10 + "₀₁₂₃₄₅₆₇₈₉".indexOf(digit), 0);
  return letter(`${name}${a.changed && a.changed[name] ? "′" : ""}${subscript(position - 1)}`);
}

function node(part) {
  if (typeof part === "string") return part;
  if (part.v !== undefined) return h("i", { class: part.of ? `hp-of-${part.of}` : null }, part.v);
  if (part.n !== undefined) return h("b", { class: part.of ? `hp-of-${part.of}` : null }, part.n);
  return h("span", { class: "hp-frac" }, h("span", {}, part.top.map(node)), h("span", {}, part.bottom.map(node)));
}

function text(part) {
  if (typeof part === "string") return part;
  if (part.v !== undefined) return part.v;
  if (part.n !== undefined) return part.n;
  return `(${part.top.map(text).join("")})/(${part.bottom.map(text).join("")})`;
}

/** What the letters stand for in a form, for the line of words under it. */
const WORDS = {
  token: "p, q: what target and draft give this token",
  capped: "c: the draft's joint ratio p/q so far, never above 1",
  uncapped: "r: the draft's joint ratio p/q, without a cap",
  share: "S: deficient mass of the branch after these tokens; c: their capped ratio",
  naive: "D: deficient and excess mass of the branch, without caps",
  chosen: "p: what the target gives this token, which was chosen and not drawn",
  near: "D: divergence of the two rows; T: tolerance. Near rows: the token passes, whatever it is",
  far: "D: divergence of the two rows; T: tolerance. Nothing else is asked",
  beyond: "D: divergence of the two rows; T: tolerance. Above it the exact test decides",
};

/** Symbolic and numeric line of one test, ending in the recorded threshold. */
function formula(position, arithmetic, recorded) {
  if (!arithmetic)
    return h("div", { class: "hp-formula" }, h("i", {}, "threshold"), " = ", h("b", {}, exact(recorded)));
  const isCase = arithmetic.form in CASES;
  const [letters, numbers] = (isCase ? CASES : FORMS)[arithmetic.form](subscript(position), arithmetic);
  const agrees = Math.abs(arithmetic.value - recorded) <= 1e-3;
  const join = isCase ? ": " : " = ";
  const spoken = [...letters, join, ...numbers, " = ", exact(recorded)].map(text).join("");
  return h(
    "div",
    {
      "class": "hp-formula",
      "role": "math",
      "aria-label": spoken,
      "title": WORDS[arithmetic.form],
      "data-form": arithmetic.form,
    },
    h("span", { class: "hp-letters" }, letters.map(node)),
    " ",
    h(
      "span",
      { class: "hp-numbers" },
      isCase ? "here: " : "= ",
      numbers.map(node),
      agrees ? " = " : " ≈ ",
      h("b", { class: "hp-result" }, exact(recorded)),
    ),
    agrees ? null : h("span", { class: "hp-warn" }, ` (recorded; these numbers give ${exact(arithmetic.value)})`),
  );
}

export { formula };
