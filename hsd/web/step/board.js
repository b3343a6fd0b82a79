// The board: one draft from top to bottom, a column per token. Its row of guesses, the target's one pass, p under q, the
// masses of what may follow each token, and a lane per rule with its tests, what it keeps, and its chances.
// Every part carries the beat at which it appears (data-at), so that a beat only changes classes.
import { h, prose, token } from "../kit/dom.js";
import { facts } from "../kit/facts.js";
import { number } from "../kit/format.js";
import { term } from "../kit/glossary.js";
import { lossy, menu } from "../kit/parts.js";
import { chances as oddsOf, judges, likely } from "./again.js";
import { chances, follow, masses, trial } from "./cells.js";
import { exactly, ruleInfo } from "./model.js";
import { bars, mean } from "./odds.js";
import { beatOf, named } from "./phases.js";

const CELLS = 15; // characters of a token that fit its column

/** actions: select(node), test(judged, node), judgeBy(rule), coin(node, value). */
function create(actions) {
  const map = h("div.hp-minimap", { "aria-hidden": "true" });
  const grid = h("div.hp-board-grid");
  const scroller = h("div.hp-scroll.hp-board-scroll", grid);
  const element = h("section.hp-card.hp-board", { "aria-label": "The draft and both verdicts" }, map, scroller);
  let parts = [];
  let deciding = null; // the cell of the own lane's last test, which is in sight at the end
  dragging(grid, actions);
  for (const event of ["pointerover", "focusin"]) grid.addEventListener(event, ({ target }) => join(grid, target));
  for (const event of ["pointerleave", "focusout"]) grid.addEventListener(event, () => join(grid, grid));
  map.addEventListener("click", (event) => {
    const column = event.target.closest("[data-node]");
    const cell = column && grid.querySelector(`.hp-guess[data-node="${column.dataset.node}"]`);
    if (cell) scroller.scrollLeft += cell.getBoundingClientRect().left - scroller.getBoundingClientRect().left - 24;
  });

  /** plan: of phases.js; selected: a node; changed: whether this is not what happened (other coins, another rule). */
  function draw(view, { plan, selected, changed }) {
    grid.style.setProperty("--hp-columns", view.step.drafted);
    grid.classList.toggle("is-what-if", changed);
    const rows = [guesses, pass, ratios, massesBefore].flatMap((row) => row(view, plan, actions));
    const lanes = plan.lanes.flatMap((lane) => drawLane(view, lane, plan, actions));
    const held = focusIn(grid);
    grid.replaceChildren(...rows, ...lanes);
    if (held && grid.querySelector(held)) grid.querySelector(held).focus({ preventScroll: true });
    element.dataset.long = view.step.drafted > 8 ? "everywhere" : view.step.drafted > 4 ? "narrow" : "no";
    map.replaceChildren(...view.step.nodes.map(({ id }) => mark(plan, id)));
    parts = [...element.querySelectorAll("[data-at]")];
    const last = view.own.decisions.at(-1)?.node;
    deciding = [...grid.querySelectorAll(`.is-own[data-node="${last}"]`)].at(-1) ?? null;
    select(selected);
  }

  /** ended: whether nothing comes after it. */
  function beat(now, ended) {
    for (const part of parts) {
      const at = Number(part.dataset.at);
      part.classList.toggle("is-later", at > now);
      part.classList.toggle("is-current", at === now);
    }
    const current = ended ? deciding : grid.querySelector(".hp-cell-of.is-current");
    if (current) follow(scroller, current);
  }

  function select(node) {
    for (const one of grid.querySelectorAll(".hp-guess"))
      one.setAttribute("aria-pressed", String(Number(one.dataset.node) === node));
  }

  return { element, grid, draw, beat, select };
}

/** How to find again what has the focus; null if it is elsewhere. */
function focusIn(grid) {
  const { activeElement: now } = document;
  if (!grid.contains(now)) return null;
  if (now.matches(".hp-lane-rule")) return ".hp-lane-rule";
  const { node, rule } = now.closest("[data-node]")?.dataset || {};
  return rule ? `[data-rule="${rule}"][data-node="${node}"] .hp-trial` : `.hp-guess[data-node="${node}"]`;
}

/** What a threshold is made of is marked while its test is pointed at or has the focus. */
function join(grid, target) {
  const test = target.closest(".is-lane");
  const made = test?.querySelector(".hp-origin")?.dataset.from; // masses after a token are drawn before the next one
  const cells = { masses: [".is-masses", 1], chances: [".is-ratios", 0] }[made];
  const found = cells && grid.querySelector(`${cells[0]}[data-node="${Number(test.dataset.node) + cells[1]}"]`);
  for (const one of grid.querySelectorAll(".is-joined")) one.classList.remove("is-joined");
  for (const one of found ? [found, test] : []) one.classList.add("is-joined");
}

/** A row: its name, the column before the draft, and a cell per token. */
const row = (css, name, start, cells) => [
  h(`div.hp-row-name.${css}`, name),
  h(`div.hp-cell-of.is-start.${css}`, start),
  ...cells.map(({ node, at, content, attributes = {} }) =>
    h(`div.hp-cell-of.${css}`, { "data-node": node, "data-at": at, ...attributes }, content),
  ),
];

function guesses(view, plan, { select }) {
  const guess = (id, name, piece, cells, css = "") =>
    h(
      `button.hp-guess${css}`,
      { "type": "button", "data-node": id, "title": `${name}: what could follow it`, "onclick": () => select(id) },
      h("span.hp-unseen", `${name} `),
      token(piece, { cells }),
    );
  const cells = view.step.nodes.map(({ id, piece }, i) => ({
    node: id,
    at: beatOf(plan, "draft", i),
    content: guess(id, `token ${i + 1}`, piece, CELLS),
  }));
  const before = guess(0, "the last token of the text so far", view.rootPiece, 9, ".is-root");
  return row("is-guesses", ["the ", term("draft", "draft"), h("small", "guesses")], before, cells);
}

function pass(view, plan) {
  const words = `one pass over ${view.step.drafted + 1} positions`;
  const at = beatOf(plan, "target");
  return [
    h("div.hp-row-name.is-pass-row", ["the ", term("target-model", "target"), h("small", "reads")]),
    h(
      "div.hp-cell-of.is-pass-row.hp-sweep",
      { "data-at": at },
      h("span.hp-sweep-bar"),
      h("span.hp-sweep-words", words),
    ),
  ];
}

function ratios(view, plan) {
  const [q, p] = ["draft", "ratio"].map((name) => (i) => beatOf(plan, name, i));
  const cells = view.step.nodes.map((node, i) => ({
    node: node.id,
    at: q(i),
    content: chances(node, { q: { "data-at": q(i) }, p: { "data-at": p(0) } }),
  }));
  const name = ["chances", h("small", term("q"), " of the draft, ", term("p"), " of the target")];
  return row("is-ratios", name, "", cells);
}

/** Each token stands under what could have come in its place. */
function massesBefore(view, plan) {
  const at = beatOf(plan, "masses");
  const cells = view.step.nodes.map(({ id, parent }) => {
    const branch = view.branches.get(parent);
    return { node: id, at, content: branch ? masses(branch) : "" };
  });
  const name = [
    "masses ",
    h("small", "before each token"),
    h("span", h("span.hp-swatch.is-excess"), " ", term("excess", "excess"), h("small", " q too much")),
    h("span", h("span.hp-swatch.is-deficient"), " ", term("deficient", "deficient"), h("small", " too little")),
  ];
  return row("is-masses", name, "", cells);
}

// ---- the lanes

function drawLane(view, { phase, judged }, plan, actions) {
  const order = (id) => judged.decisions.findIndex((decision) => decision.node === id);
  const last = beatOf(plan, phase, Infinity);
  const cells = view.step.nodes.map(({ id }) => {
    const i = order(id);
    const at = i < 0 ? last : beatOf(plan, phase, i);
    const content = [bracket(view, judged, id, last), laneCell(view, judged, id, actions)];
    return { node: id, at, content, attributes: { "data-rule": judged.rule } };
  });
  return row(`is-lane.is-${phase}`, laneName(view, phase, judged, last, actions), "", cells);
}

/** A part of the bracket over the tokens that a rule keeps as one, and over those it drops, where it judges prefixes. */
function bracket(view, { info, kept, decisions }, id, at) {
  if (info.forward || !decisions.length) return null;
  const place = view.depth.get(id);
  const [first, last] = place <= kept ? [1, kept] : [kept + 1, view.step.drafted];
  const ends = [place === first ? "is-first" : "", place === last ? "is-last" : ""].join(" ");
  const css = `is-${place <= kept ? "kept" : "dropped"} ${ends}`;
  return h("i.hp-bracket", { "class": css, "data-at": at, "aria-hidden": "true" });
}

function laneName(view, phase, judged, at, { judgeBy }) {
  const { forward } = judged.info;
  const arrow = [forward ? "" : "← ", h("span", forward ? "from the left " : "from the right"), forward ? "→" : ""];
  const rules = phase === "own" ? judges(view.original || view) : [];
  const head = rules.length > 1 ? ruleMenu(view, judged, rules, judgeBy) : h("span.hp-lane-title", title(judged));
  const law = oddsOf(view, judged.rule);
  const full = facts.glossary[judged.info.term]?.full; // what an abbreviation stands for
  return [
    h("span.hp-lane-head", head, h("small", arrow)),
    full && h("small.hp-lane-full", term(judged.info.term, full)),
    exactly(view, judged.rule) ? null : lossy(judged.info),
    h("span.hp-lane-keeps", { "data-at": at }, outcome(view, phase, judged)),
    law &&
      h(
        "span.hp-lane-odds",
        {
          "data-at": at,
          "data-rule": judged.rule,
          "title": "the chances of keeping 0, 1, … tokens of this draft, over all coins; ▾ this time",
        },
        bars(judged, law),
        h("small", term("over-all-coins", "mean"), " ", h("b", number(mean(law)))),
      ),
  ];
}

/** The rule's name, explained where the glossary knows it. */
const title = (judged) => (judged.info.term ? term(judged.info.term, named(judged)) : named(judged));

const ruleMenu = (view, judged, rules, judgeBy) =>
  menu(
    "the rule that judges this draft",
    rules.map((rule) => [rule, `${named({ info: ruleInfo(rule) })}${exactly(view, rule) ? "" : ", not lossless"}`]),
    judged.rule,
    judgeBy,
    { class: "hp-speed hp-lane-rule", title: "judge this draft by another rule" },
  );

/** What a rule keeps, and the token after it: the one that was drawn, or which are likely. */
function outcome(view, phase, judged) {
  const next = phase === "own" ? view.drawn : judged.next;
  const keeps = ["keeps ", { strong: String(judged.kept) }];
  if (next) return prose([...keeps, ", then ", { piece: next.piece, origin: next.origin, cells: 12 }]);
  const [first] = likely(view, judged);
  if (view.original && first) return prose([...keeps, ", then perhaps ", { ...first, cells: 10 }]);
  if (view.original && judged.kept === view.step.drafted) return prose([...keeps, ", then a free token"]);
  return prose(keeps);
}

/** A test as a button that opens it in full. */
function laneCell(view, judged, id, { test }) {
  const { state, parts } = trial(view, judged, id, "drag: what if the coin had been another?");
  return h(
    `button.hp-trial.is-${state}`,
    { type: "button", title: "open the test", onclick: () => test(judged, id) },
    h("span.hp-unseen", `${named(judged)}, token ${view.depth.get(id)}: `),
    parts,
  );
}

/** A token's two verdicts in the overview of a long draft. */
const mark = (plan, id) =>
  h(
    "span.hp-map-column",
    { "data-node": id },
    plan.lanes.map(({ phase, judged }) => {
      const i = judged.decisions.findIndex((decision) => decision.node === id);
      return h(`i.is-${judged.verdict(id)}`, { "data-at": beatOf(plan, phase, i < 0 ? Infinity : i) });
    }),
  );

// ---- other coins

/** A coin follows the pointer that took it; a click that does not move it opens the test. */
function dragging(grid, { coin }) {
  let taken = null;
  grid.addEventListener("pointerdown", (event) => {
    const gauge = event.target.closest(".hp-gauge[data-coin]");
    if (!gauge || event.button) return;
    const box = gauge.getBoundingClientRect();
    taken = { node: Number(gauge.dataset.coin), left: box.left, width: box.width, from: event.clientX, moved: false };
  });
  window.addEventListener("pointermove", (event) => {
    if (!taken || (!taken.moved && Math.abs(event.clientX - taken.from) < 4)) return;
    taken.moved = true;
    grid.dataset.dragged = event.clientY > window.innerHeight / 2 ? "low" : "high";
    coin(taken.node, Math.min(Math.max((event.clientX - taken.left) / taken.width, 0), 0.999));
  });
  window.addEventListener("pointerup", () => {
    if (taken && taken.moved) swallowClick();
    delete grid.dataset.dragged;
    taken = null;
  });
}

/** The click that ends a drag, where the browser makes one, opens nothing. */
function swallowClick() {
  const stop = (event) => event.stopPropagation();
  window.addEventListener("click", stop, { capture: true });
  setTimeout(() => window.removeEventListener("click", stop, { capture: true }));
}

export { create };
