// The formulas of the tests, with letters and with the step's numbers, as HTML. Knows the shapes only;
// the numbers come from model.arithmetic.
(function (hsd) {
  "use strict";

  const { h } = hsd.dom;
  const { exact, subscript } = hsd.format;

  // Building blocks: strings stand as they are; {v} is a letter; {n, of} a number, coloured by what it measures.
  const letter = (name, of) => ({ v: name, of });
  const value = (x, of) => ({ n: exact(x), of });
  const fraction = (top, bottom) => ({ top, bottom });
  const P = letter("p", "p");
  const Q = letter("q", "q");

  const FORMS = {
    token: (t, a) => [
      [letter(`a${t}`), " = min(1, ", fraction([P], [Q]), ")"],
      ["min(1, ", fraction([value(a.p, "p")], [value(a.q, "q")]), ")"],
    ],
    capped: (t, a) => [
      [
        letter(`h${t}`),
        " = min(1, ",
        letter(`r*${t}`),
        ") = ",
        letter(`c${t}`),
        " = min(1, ",
        before("c", t),
        " · ",
        fraction([P], [Q]),
        ")",
      ],
      ["min(1, ", value(a.before), " · ", fraction([value(a.p, "p")], [value(a.q, "q")]), ")"],
    ],
    uncapped: (t, a) => [
      [letter(`h${t}`), " = min(1, ", letter(`r${t}`), ") = min(1, ", before("r", t), " · ", fraction([P], [Q]), ")"],
      ["min(1, ", value(a.before), " · ", fraction([value(a.p, "p")], [value(a.q, "q")]), ")"],
    ],
    share: (t, a) => [
      [
        letter(`h${t}`),
        " = ",
        fraction(["deficient"], ["excess"]),
        " = ",
        fraction([letter("S", "p")], [letter("S", "p"), " + 1 − ", letter("c")]),
      ],
      a.E > 0 ? [fraction([value(a.S, "p")], [value(a.S, "p"), " + 1 − ", value(a.c)])] : ["0/0: nothing to correct"],
    ],
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

  /** The path's ratio one token earlier: c₄ for the test of token 5. */
  function before(name, t) {
    const position = [...t].reduce((n, digit) => n * 10 + "₀₁₂₃₄₅₆₇₈₉".indexOf(digit), 0);
    return letter(name + subscript(position - 1));
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
  };

  /** Symbolic and numeric line of one test, ending in the recorded threshold. */
  function formula(position, arithmetic, recorded) {
    if (!arithmetic)
      return h("div", { class: "hp-formula" }, h("i", {}, "threshold"), " = ", h("b", {}, exact(recorded)));
    const [letters, numbers] = FORMS[arithmetic.form](subscript(position), arithmetic);
    const agrees = Math.abs(arithmetic.value - recorded) <= 1e-3;
    const spoken = [...letters, " = ", ...numbers, " = ", exact(recorded)].map(text).join("");
    return h(
      "div",
      { "class": "hp-formula", "role": "math", "aria-label": spoken, "title": WORDS[arithmetic.form] },
      h("span", { class: "hp-letters" }, letters.map(node)),
      " ",
      h(
        "span",
        { class: "hp-numbers" },
        "= ",
        numbers.map(node),
        agrees ? " = " : " ≈ ",
        h("b", { class: "hp-result" }, exact(recorded)),
      ),
      agrees ? null : h("span", { class: "hp-warn" }, ` (recorded; these numbers give ${exact(arithmetic.value)})`),
    );
  }

  hsd.formula = { formula };
})(window.hsdPlayer);
