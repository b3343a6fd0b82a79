// The decision table: one row per drafted token with every number that its tests used. Also the rows of the report.
import { h, token } from "../kit/dom.js";
import { number } from "../kit/format.js";
import { card } from "../kit/parts.js";
import { thresholdAt } from "./arithmetic.js";
import * as model from "./model.js";
import { capped, coinOf, decisive, ratio, rho } from "./model.js";
import { VERDICTS } from "./story.js";

const MOST = 60; // rows that are made at once

/** [name, heading, meaning, group] of each column; a tree has the tests by number, for a token may have several. */
function columns(view) {
  const several = view.isTrie ? " (several: the token was tested more than once)" : "";
  const other = view.shadow && !view.sameRule ? otherColumns(view, several) : [];
  const fuzzy = divergences(view) ? model.fuzzy(view) : null;
  const bracket = view.isTrie ? "" : "; in brackets if the test was not made";
  return [
    ["position", "#", "position in the draft"],
    ["piece", "token", "the drafted token"],
    ["p", "p", "what the target gives this token", "token"],
    ["q", "q", "what the draft gives this token", "token"],
    ["rho", "ρ", "p/q of this token", "token"],
    ["r", "r", "joint ratio: product of ρ up to here", "token"],
    ["c", "c", "capped ratio: the same product, never above 1", "token"],
    fuzzy ? ["D", "D", divergenceWords(fuzzy), "token"] : null,
    ["deficient", "deficient", "Σ max(c·p − q, 0) over what may follow", "branch"],
    ["excess", "excess", "Σ max(q − c·p, 0) over what may follow", "branch"],
    view.isTrie ? ["order", "test", `number of the test in the order taken${several}`, "own"] : null,
    ["h", "h", `threshold of the test that would end the draft here${bracket}`, "own"],
    ["coin", "coin", view.isTrie ? "the random number of the test" : COIN, "own"],
    ["verdict", "verdict", "what the run's rule did", "own"],
    ...other,
  ].filter(Boolean);
}

const divergences = (view) => view.step.divergences.length > 0;

function divergenceWords({ name, unit, on, T }) {
  const rows = on === "raw" ? "of the raw rows, temperature 1 and nothing cut off" : "of the two rows";
  return `divergence ${name} ${rows} in which the token was drafted${unit ? ", in nats" : ""}; it passes up to ${number(T)}`;
}

const COIN = "the random number of this position, the same for both rules";

function otherColumns({ shadow, isTrie }, several) {
  const { short: name, forward } = shadow.info;
  const formula = forward && !isTrie && shadow.rule === "tokenwise" ? ": min(1, ρ)" : "";
  return [
    isTrie ? ["otherOrder", "test", `number of the other rule's test${several}`, "other"] : null,
    ["otherThreshold", "threshold", `threshold of ${name}${formula}`, "other"],
    isTrie ? ["otherCoin", "coin", "the random number of the test", "other"] : null,
    ["otherVerdict", "verdict", `what ${name} would have done`, "other"],
  ];
}

/** One record per drafted node: along the main path first, then branch by branch as they were drawn. */
function rows(view) {
  const onSpine = new Set(view.spine);
  const list = [];
  const walk = (id) => {
    if (id) list.push(record(view, id));
    [...(view.children.get(id) || [])].sort((a, b) => onSpine.has(b) - onSpine.has(a) || a - b).forEach(walk);
  };
  walk(0);
  return list;
}

function record(view, id) {
  const node = view.nodes.get(id);
  const branch = view.branches.get(id);
  return {
    id,
    position: view.depth.get(id),
    piece: node.piece,
    p: node.p,
    q: node.q,
    rho: rho(node),
    r: ratio(view, id),
    c: capped(view, id),
    D: divergences(view) ? model.fuzzy(view).D(id) : null,
    deficient: branch ? branch.deficient : null,
    excess: branch ? branch.excess : null,
    verdict: view.own.verdict(id),
    otherVerdict: view.shadow ? view.shadow.verdict(id) : null,
    ...(view.isTrie ? allTests(view, id) : oneTest(view, id)),
  };
}

function allTests(view, id) {
  const of = (judged, name) => (judged && judged.at.get(id) ? judged.at.get(id).map((test) => test[name]) : null);
  return {
    order: of(view.own, "order"),
    h: of(view.own, "threshold"),
    coin: of(view.own, "coin"),
    otherOrder: of(view.shadow, "order"),
    otherThreshold: of(view.shadow, "threshold"),
    otherCoin: of(view.shadow, "coin"),
    tested: true,
    otherTested: true,
  };
}

/** Along a chain every token has one test at most; the threshold of one that was not made is worked out. */
function oneTest(view, id) {
  const made = decisive(view.own, id);
  const other = view.shadow ? decisive(view.shadow, id) : null;
  return {
    h: thresholdAt(view, id, view.own, made),
    tested: Boolean(made),
    coin: coinOf(view, id),
    otherThreshold: view.shadow ? thresholdAt(view, id, view.shadow, other) : null,
    otherTested: Boolean(other),
  };
}

function cell(row, name) {
  const value = row[name];
  if (name === "position") return h("td", { class: "hp-sticky" }, value);
  if (name === "piece") return h("th", { scope: "row", class: "hp-sticky is-second" }, token(value, { cells: 14 }));
  if (name === "verdict" || name === "otherVerdict")
    return h("td", { class: `hp-word is-${value}` }, value ? `${VERDICTS[value].icon} ${VERDICTS[value].word}` : "–");
  const untested = (name === "h" && !row.tested) || (name === "otherThreshold" && !row.otherTested);
  const list = Array.isArray(value) ? value : [value];
  const text = list.map((x) => number(x)).join(", ");
  const title = value === null ? null : list.join(", ");
  return h(
    "td",
    { title, "data-column": name, "class": untested ? "is-untested" : null },
    untested && value !== null ? `(${text})` : text,
  );
}

function table(view, { select, node }) {
  const shown = columns(view);
  const row = (record) =>
    h(
      "tr",
      { "class": record.id === node ? "is-active" : null, "data-node": record.id, "onclick": () => select(record.id) },
      shown.map(([name]) => cell(record, name)),
    );
  const body = h("tbody", {}, someRows(view, node, row));
  return card(
    "hp-table",
    "All numbers of this step",
    view.isTrie ? "Every drafted token; p, q, r, c and the masses are those before any rejection." : UNTESTED,
    h(
      "div",
      { "class": "hp-scroll", "tabindex": "0", "role": "region", "aria-label": "decision table" },
      h("table", { class: "hp-numbers-table" }, h("thead", {}, groups(view, shown), headings(shown)), body),
    ),
    meanings(shown),
  );
}

const UNTESTED = "In brackets: the threshold of a test that was not made.";

/** The first rows, the selected one among them, and a button for the others. */
function someRows(view, node, row) {
  const all = rows(view);
  if (all.length <= MOST) return all.map(row);
  const rest = all.slice(MOST).filter((record) => record.id !== node);
  const more = h("tr", {}, h("td", { class: "hp-sticky", colspan: columns(view).length }, button()));
  function button() {
    const show = (event) => {
      event.stopPropagation();
      more.replaceWith(...rest.map(row));
    };
    return h("button", { type: "button", class: "hp-more", onclick: show }, `show ${rest.length} more rows`);
  }
  return [...all.filter((record) => !rest.includes(record)).map(row), more];
}

function groups(view, shown) {
  const names = {
    token: "this token",
    branch: "branch after it",
    own: view.own.info.short,
    other: view.shadow ? view.shadow.info.short : "",
  };
  const width = (group) => shown.filter((column) => column[3] === group).length;
  return h(
    "tr",
    { class: "hp-groups" },
    h("th", { class: "hp-sticky" }),
    h("th", { class: "hp-sticky is-second" }),
    Object.entries(names)
      .filter(([group]) => width(group))
      .map(([group, name]) => h("th", { colspan: width(group), scope: "colgroup" }, name)),
  );
}

const headings = (shown) =>
  h(
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

let meaningsOpen = false; // stays as the reader left it while stepping

function meanings(shown) {
  const list = shown.map(([, text, title]) => h("div", {}, h("dt", {}, text), h("dd", {}, title)));
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

export { table, rows, columns };
