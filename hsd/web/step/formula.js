// The formulas of the tests, with letters and with the recorded numbers, as HTML. Knows the shapes only; the numbers
// come from arithmetic.js.
import { h } from "../kit/dom.js";
import { exact, nearOne, subscript } from "../kit/format.js";

// Building blocks: strings stand as they are; {v} is a letter; {n, of} a number, coloured by what it measures;
// {sup} stands above.
const letter = (name, of) => ({ v: name, of });
const value = (x, of) => ({ n: exact(x, 4, 4), of });
const fraction = (top, bottom) => ({ top, bottom });
const oneMinus = (c) => [" + 1 − ", { n: nearOne(c) }];
// A prime: no longer what it was at the start of the step, because of an earlier rejection.
const primed = (a, name) => (a.changed && a.changed[name] ? "′" : "");
const prime = (name, a, of = null) => letter(`${name}${primed(a, name)}`, of);
const rates = (a) => fraction([prime("p", a, "p")], [prime("q", a, "q")]);
const given = (a) => fraction([value(a.p, "p")], [value(a.q, "q")]);
const cut = (...parts) => ["min(1, ", ...parts, ")"];

/** The path's ratio one token earlier: c₄ for the test of token 5. */
const earlier = (name, t, a) => letter(`${name}${primed(a, name)}${subscript(t - 1)}`);

/** What is tested: h₅, and along a single draft also = min(1, r*₅) = c₅, the ratio from the start of the step. */
function ending(t, { changed }) {
  const h_ = letter(`h${subscript(t)}`);
  return changed ? [h_] : [h_, " = ", ...cut(letter(`r*${subscript(t)}`)), " = ", letter(`c${subscript(t)}`)];
}

// Of every form: what it compares, in letters and in numbers. t: position of the token; a: grounds, see arithmetic.js.
const FORMS = {
  token: (t, a) => [[letter(`a${subscript(t)}`), " = ", ...cut(rates(a))], cut(given(a))],
  capped: (t, a) => [
    [...ending(t, a), " = ", ...cut(earlier("c", t, a), " · ", rates(a))],
    cut(value(a.before), " · ", given(a)),
  ],
  ratio: (t, a) => [
    [
      letter(`h${subscript(t)}`),
      " = ",
      ...cut(letter(`r${subscript(t)}`)),
      " = ",
      ...cut(earlier("r", t, a), " · ", rates(a)),
    ],
    cut(value(a.before), " · ", given(a)),
  ],
  share: (t, a) => {
    const S = prime("S", a, "p");
    const none = a.mass + 1 - a.before <= 0;
    return [
      [
        letter(`h${subscript(t)}`),
        " = ",
        fraction(["deficient"], ["excess"]),
        " = ",
        fraction([S], [S, " + 1 − ", prime("c", a)]),
      ],
      none
        ? ["0/0: nothing to correct"]
        : [fraction([value(a.mass, "p")], [value(a.mass, "p"), ...oneMinus(a.before)])],
    ];
  },
  naive: (t, a) => {
    const D = (order) => [letter("D"), order];
    return [
      [letter(`h${subscript(t)}`), " = ", fraction(D("(p,q)"), ["max( ", ...D("(p,q), "), ...D("(q,p) )")])],
      a.before >= 1
        ? [letter("r"), " = ", value(a.before), " ≥ 1, so ", ...D("(p,q) is the larger")]
        : [
            fraction(
              [value(a.mass, "p")],
              ["max( ", value(a.mass, "p"), ", ", value(a.mass + 1 - a.before, "q"), " )"],
            ),
          ],
    ];
  },
  mixed: (t, a) => {
    const w = letter("w");
    const mixture = ["(1 − ", w, ") ", prime("p", a, "p"), " + ", w, " ", prime("q", a, "q")];
    const numbers = [value(1 - a.weight), " · ", value(a.p, "p"), " + ", value(a.weight), " · ", value(a.q, "q")];
    return [
      [letter(`a${subscript(t)}`), " = ", ...cut(fraction(mixture, [prime("q", a, "q")]))],
      cut(fraction(numbers, [value(a.q, "q")])),
    ];
  },
  chosen: (t, a) => [[letter(`h${subscript(t)}`), " = ", prime("p", a, "p")], [value(a.p, "p")]],
};

// Of the fuzzy rule: which case it is, in letters and in numbers, and what the threshold is then.
const fuzzyCase = (sign, outcome) => (t, a) => {
  const said = a.D === null ? [] : [value(a.D, null), ` ${sign} `, value(a.T, null), ", so "];
  const [letters, numbers] = outcome(letter(`a${subscript(t)}`), a);
  return [
    [letter(`D${subscript(t)}`), ` ${sign} `, letter("T"), ", so ", ...letters],
    [...said, ...numbers],
  ];
};
/** Of typical acceptance: p against its bar, without a coin. */
const typicalCase = (sign, outcome) => (t, a) => {
  const name = letter(`a${subscript(t)}`);
  const bar = ["min(", value(a.epsilon), ", ", value(Math.sqrt(a.epsilon)), " · e", { sup: ["−", value(a.H)] }, ")"];
  return [
    [
      letter("p", "p"),
      ` ${sign} min(`,
      letter("ε"),
      ", √",
      letter("ε"),
      " · e",
      { sup: ["−", letter("H")] },
      "), so ",
      name,
      outcome,
    ],
    [value(a.p, "p"), ` ${sign} `, ...bar, " = ", value(a.bar), ", so ", name],
  ];
};
const CASES = {
  likely: typicalCase(">", " = 1"),
  unlikely: typicalCase("≤", " = 0"),
  near: fuzzyCase("≤", (name) => [[name, " = 1"], [name]]),
  far: fuzzyCase(">", (name) => [[name, " = 0"], [name]]),
  beyond: fuzzyCase(">", (name, a) => [[name, " = ", ...cut(rates(a))], cut(given(a))]),
};

function node(part) {
  if (typeof part === "string") return part;
  if (part.v !== undefined) return h("i", { class: part.of ? `hp-of-${part.of}` : null }, part.v);
  if (part.n !== undefined) return h("b", { class: part.of ? `hp-of-${part.of}` : null }, part.n);
  if (part.sup) return h("sup", {}, part.sup.map(node));
  return h("span", { class: "hp-frac" }, h("span", {}, part.top.map(node)), h("span", {}, part.bottom.map(node)));
}

function text(part) {
  if (typeof part === "string") return part;
  if (part.sup) return ` to the power of ${part.sup.map(text).join("")}`;
  return part.v ?? part.n ?? `(${part.top.map(text).join("")})/(${part.bottom.map(text).join("")})`;
}

/** What the letters stand for in a form, for the line of words under it. */
const WORDS = {
  token: "p, q: what target and draft give this token",
  capped: "c: the draft's joint ratio p/q so far, never above 1",
  ratio: "r: the draft's joint ratio p/q, without a cap",
  share: "S: deficient mass of the branch after these tokens; c: their capped ratio",
  naive: "D: deficient and excess mass of the branch, without caps",
  chosen: "p: what the target gives this token, which was chosen and not drawn",
  mixed: "w: the draft's share in the mixture that stands in for the target",
  likely: "H: entropy of the target's row; ε: the rule's number. No coin is asked, and q plays no part",
  unlikely: "H: entropy of the target's row; ε: the rule's number. Too unlikely there: no coin is asked",
  near: "D: divergence of the two rows; T: tolerance. Near rows: the token passes, whatever it is",
  far: "D: divergence of the two rows; T: tolerance. Nothing else is asked",
  beyond: "D: divergence of the two rows; T: tolerance. Above it the exact test decides",
};

/** Symbolic and numeric line of one test, ending in the recorded threshold. position: of the token, from 1. */
function formula(position, grounds, recorded) {
  const { form } = grounds;
  const isCase = form in CASES;
  const [letters, numbers] = (isCase ? CASES : FORMS)[form](position, grounds);
  const agrees = Math.abs(grounds.value - recorded) <= 1e-3;
  const spoken = [...letters, isCase ? ": " : " = ", ...numbers, " = ", exact(recorded)].map(text).join("");
  return h(
    "div",
    { "class": "hp-formula", "role": "math", "aria-label": spoken, "title": WORDS[form], "data-form": form },
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
    agrees ? null : h("span", { class: "hp-warn" }, ` (recorded; these numbers give ${exact(grounds.value)})`),
  );
}

export { formula };
