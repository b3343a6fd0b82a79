// The decision card: every test in the order in which it was made, coin against threshold, with its formula;
// beside it what vanilla does with the same draft and coins.
(function (hsd) {
  "use strict";

  const { h, prose, token, card } = hsd.dom;
  const { pair, number, plural } = hsd.format;
  const { testTitle } = hsd.story;

  /** Draw both columns of tests. `animate`: let the coins fly in, one after another. */
  function decisions(view, { select, animate }) {
    const shorter =
      view.shadow && view.own.decisions.length <= view.shadow.decisions.length && !view.sameRule ? "own" : "other";
    const second = view.sameRule ? sameNote() : view.shadow ? panel(view, view.shadow, false, select) : null;
    const hint =
      "Each test throws one coin, a random number from 0 to 1. It passes if the coin falls below the threshold.";
    return card(
      "decisions",
      "The tests, in the order taken",
      hint,
      h(
        "div",
        { class: `hp-duel is-under-${shorter}${animate ? " is-animated" : ""}` },
        panel(view, view.own, true, select),
        second,
        expected(view),
      ),
    );
  }

  const sameNote = () =>
    h(
      "p",
      { class: "hp-note is-shadow" },
      "This run uses the token-wise rule itself, so there is no second verdict. Run HSD on the same seed to see where they part.",
    );

  function panel(view, judged, own, select) {
    const direction =
      judged.rule === "tokenwise"
        ? "from the first token on, until one fails"
        : "from the whole draft back, until one passes";
    return h(
      "div",
      { class: `hp-panel ${own ? "is-own" : "is-shadow"}` },
      h("h4", { class: "hp-subtitle" }, own ? judged.info.title : `${judged.info.title}: same draft, same coins`),
      h("p", { class: "hp-hint" }, judged.decisions.length ? direction : "no tests"),
      h(
        "ol",
        { class: "hp-tests" },
        judged.decisions.map((decision, i) => test(view, judged, decision, i, select)),
      ),
      h("p", { class: "hp-outcome" }, outcome(view, judged, own)),
    );
  }

  function test(view, judged, decision, i, select) {
    const position = view.depth.get(decision.node);
    const arithmetic = hsd.model.arithmetic(view, decision.node, judged.rule, decision.test);
    const piece = decision.test === "token" ? token(view.nodes.get(decision.node).piece, { cells: 14 }) : null;
    const ending =
      decision.test === "token" ? ["passes", "fails: stop here"] : ["passes: keep these", "fails: step back"];
    return h(
      "li",
      {
        "class": `hp-test ${decision.accepted ? "is-pass" : "is-fail"}`,
        "style": `--hp-turn:${i}`,
        "data-node": decision.node,
        "onclick": () => select(decision.node),
      },
      h(
        "div",
        { class: "hp-test-head" },
        h("span", { class: "hp-order" }, i + 1),
        h("span", { class: "hp-what" }, testTitle(view, decision)),
        piece,
        h("span", { class: "hp-grow" }),
        h("span", { class: "hp-says" }, decision.accepted ? `✓ ${ending[0]}` : `✕ ${ending[1]}`),
      ),
      coinLine(decision),
      hsd.formula.formula(position, arithmetic, decision.threshold),
    );
  }

  /** A 0–1 line: the part below the threshold passes, and the coin lies on it. */
  function coinLine({ coin, threshold, accepted }) {
    const [coinText, thresholdText] = pair(coin, threshold);
    const at = (x) => `--hp-at:${(100 * Math.min(x, 1)).toFixed(2)}%`;
    return h(
      "div",
      {
        "class": "hp-coinline",
        "role": "img",
        "aria-label": `coin ${coinText}, threshold ${thresholdText}: ${accepted ? "passes" : "fails"}`,
      },
      h("div", { class: "hp-coinlabel", style: at(coin) }, h("span", {}, `coin ${coinText}`)),
      h(
        "div",
        { class: "hp-line" },
        h("div", { class: "hp-passzone", style: at(threshold) }),
        h("div", { class: "hp-tick", style: at(threshold) }),
        h("div", { class: "hp-coin", style: at(coin) }),
      ),
      h("div", { class: "hp-thresholdlabel", style: at(threshold) }, h("span", {}, `threshold ${thresholdText}`)),
    );
  }

  function outcome(view, judged, own) {
    const next = own ? view.drawn : view.step.shadow.next;
    const gains = [{ strong: `keeps ${judged.kept}` }];
    if (next) gains.push(", then ", { piece: next.piece, origin: next.origin, cells: 16 }, ` (${next.origin})`);
    const unread = view.step.drafted - judged.decisions.length;
    if (judged.rule === "tokenwise" && unread > 0) gains.push(`; ${plural(unread, "token")} never looked at`);
    return prose(["→ ", ...gains]);
  }

  /** E[kept] of this very draft, averaged over all coins: luck taken out. */
  function expected(view) {
    const entries = Object.entries(view.step.expected_kept);
    if (!entries.length) return null;
    const most = Math.max(view.step.drafted, 1);
    const bar = ([rule, kept]) =>
      h(
        "div",
        { class: `hp-expect${rule === view.rule ? " is-own" : ""}` },
        h("span", {}, hsd.model.ruleInfo(rule).name, rule === "hsd-released" ? " (not lossless)" : ""),
        h(
          "span",
          { class: "hp-expect-track" },
          h("span", { class: "hp-expect-bar", style: `width:${Math.min(100, (100 * kept) / most)}%` }),
        ),
        h("b", {}, number(kept)),
      );
    return h(
      "div",
      { class: "hp-expected" },
      h("h4", { class: "hp-subtitle" }, "Luck taken out"),
      h(
        "p",
        { class: "hp-hint" },
        `how many of these ${view.step.drafted} tokens each rule keeps on average over all coins. A single draft can favour either; over all drafts HSD keeps at least as many as vanilla.`,
      ),
      entries.map(bar),
    );
  }

  hsd.cards = { decisions };
})(window.hsdPlayer);
