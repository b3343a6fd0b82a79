// The decision table: one row per drafted token with every number that its tests used. Also the rows of the report.
(function (hsd) {
  "use strict";

  const { h, token, card } = hsd.dom;
  const { number } = hsd.format;
  const { VERDICTS } = hsd.story;

  const COLUMNS = [
    ["position", "#", "position in the draft"],
    ["piece", "token", "the drafted token"],
    ["p", "p", "what the target gives this token"],
    ["q", "q", "what the draft gives this token"],
    ["rho", "ρ", "p/q of this token"],
    ["r", "r", "joint ratio: product of ρ up to here"],
    ["c", "c", "capped ratio: the same product, never above 1"],
    ["deficient", "deficient", "Σ max(c·p − q, 0) over what may follow"],
    ["excess", "excess", "Σ max(q − c·p, 0) over what may follow"],
    ["h", "h", "threshold of the test that would end the draft here; in brackets if the test was not made"],
    ["coin", "coin", "the random number of this position, the same for both rules"],
    ["verdict", "verdict", "what the run's rule did"],
    ["otherThreshold", "threshold", "vanilla's threshold: min(1, ρ)"],
    ["otherVerdict", "verdict", "what vanilla would have done"],
  ];

  /** One record per drafted node: the main path first, then the others in the order drawn. */
  function rows(view) {
    const onSpine = new Set(view.spine);
    const others = view.step.nodes.map((node) => node.id).filter((id) => !onSpine.has(id));
    return [...view.spine, ...others].map((id) => record(view, id));
  }

  function record(view, id) {
    const node = view.nodes.get(id);
    const branch = view.branches.get(id);
    const made = view.own.at.get(id);
    const other = view.shadow ? view.shadow.at.get(id) : null;
    const computed = made ? null : hsd.model.arithmetic(view, id, view.rule);
    return {
      id,
      position: view.depth.get(id),
      piece: node.piece,
      p: node.p,
      q: node.q,
      rho: hsd.model.rho(node),
      r: hsd.model.ratio(view, id),
      c: hsd.model.capped(view, id),
      deficient: branch ? branch.deficient : null,
      excess: branch ? branch.excess : null,
      h: made ? made.threshold : computed ? computed.value : null,
      tested: Boolean(made),
      coin: made ? made.coin : other ? other.coin : (node.coin ?? null),
      verdict: view.own.verdict(id),
      otherThreshold: view.shadow ? (other ? other.threshold : Math.min(1, hsd.model.rho(node))) : null,
      otherTested: Boolean(other),
      otherVerdict: view.shadow ? view.shadow.verdict(id) : null,
    };
  }

  function cell(row, name) {
    const value = row[name];
    if (name === "position") return h("td", { class: "hp-sticky" }, value);
    if (name === "piece") return h("th", { scope: "row", class: "hp-sticky is-second" }, token(value, { cells: 14 }));
    if (name === "verdict" || name === "otherVerdict")
      return h("td", { class: `hp-word is-${value}` }, value ? `${VERDICTS[value].icon} ${VERDICTS[value].word}` : "–");
    const untested = (name === "h" && !row.tested) || (name === "otherThreshold" && !row.otherTested);
    const text = number(value);
    return h(
      "td",
      { "title": value === null ? null : String(value), "data-column": name, "class": untested ? "is-untested" : null },
      untested && value !== null ? `(${text})` : text,
    );
  }

  function table(view, { select, node }) {
    const own = COLUMNS.slice(0, 12);
    const shown = view.shadow && !view.sameRule ? COLUMNS : own;
    const groups = h(
      "tr",
      { class: "hp-groups" },
      h("th", { class: "hp-sticky" }),
      h("th", { class: "hp-sticky is-second" }),
      h("th", { colspan: 5, scope: "colgroup" }, "this token"),
      h("th", { colspan: 2, scope: "colgroup" }, "branch after it"),
      h("th", { colspan: 3, scope: "colgroup" }, view.own.info.name),
      shown.length > 12 ? h("th", { colspan: 2, scope: "colgroup" }, view.shadow.info.name) : null,
    );
    const head = h(
      "tr",
      {},
      shown.map(([name, text, title], i) =>
        h(
          "th",
          {
            "scope": "col",
            title,
            "class": /erdict$/.test(name) ? "hp-word" : i < 2 ? `hp-sticky${i ? " is-second" : ""}` : null,
            "data-column": name,
          },
          text,
        ),
      ),
    );
    const body = rows(view).map((row) =>
      h(
        "tr",
        { "class": row.id === node ? "is-active" : null, "data-node": row.id, "onclick": () => select(row.id) },
        shown.map(([name]) => cell(row, name)),
      ),
    );
    return card(
      "table",
      "All numbers of this step",
      "In brackets: the threshold of a test that was not made.",
      h(
        "div",
        { "class": "hp-scroll", "tabindex": "0", "role": "region", "aria-label": "decision table" },
        h("table", { class: "hp-numbers-table" }, h("thead", {}, groups, head), h("tbody", {}, body)),
      ),
      meanings(shown),
    );
  }

  let meaningsOpen = false; // stays as the reader left it while stepping

  function meanings(columns) {
    const list = columns.map(([, text, title]) => h("div", {}, h("dt", {}, text), h("dd", {}, title)));
    const element = h(
      "details",
      {
        class: "hp-meanings",
        open: meaningsOpen,
        ontoggle: () => {
          meaningsOpen = element.open;
        },
      },
      h("summary", {}, "What the columns mean"),
      h("dl", {}, list),
    );
    return element;
  }

  hsd.table = { table, rows, COLUMNS };
})(window.hsdPlayer);
