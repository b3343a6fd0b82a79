// The draft tree: boxes in the rows and columns of layout.js, the edges between them, under each
// drafted token the tests of both rules, and at the foot the masses of the branches. Drawn whole
// for a step and a selection: what appears at a beat carries its number (data-at), and what became
// of a token the beat from which on it shows (data-turn), so that a beat only changes classes.
import { afterLayout, h, s, token } from "../kit/dom.js";
import { count, number, percent, short, visible } from "../kit/format.js";
import { button } from "../kit/controls.js";
import * as board from "./board.js";
import { appear, compare, follow, level, masses } from "./cells.js";
import { leftOutWords } from "./drafts.js";
import { plain, say } from "./sentences.js";
import { beatIn } from "./growth.js";
import { branchesAlong, layout } from "./layout.js";
import { decisive, usualLength, VERDICTS, verdicts } from "./model.js";
import { beatOf } from "./phases.js";

const MOST = 4; // tests of one rule that are listed under a token
const BESIDE = ["candidate", "dropped"]; // what was not drafted
// pixels from the top of a row to the middle of a box; of all others:
/** @type {Record<string, number | undefined>} */
const MIDDLE = { candidate: 22, dropped: 13 };
const UNDER_NAME = 37;
const NEXT_COLUMN = 140; // pixels that should be in sight to the right of the selected token
const KINDS = Object.entries({
  q: "draft q",
  p: "target p",
  excess: "excess",
  deficient: "deficient",
});

/** @typedef {ReturnType<typeof timesOf>} Times */

/**
 * What the board does not draw: several drafts, and a step without a draft.
 * @type {StepPart["shows"]}
 */
const shows = (view) => !board.shows(view);

/** The card of the tree. @param {PartActions} actions */
function create({ open, mass: onMass }) {
  const grid = h("div.hp-tree", { "role": "group", "aria-label": "draft tree" });
  const readline = h("p.hp-readout");
  const note = h("p.hp-note");
  const left = h("p.hp-hint.hp-left-out");
  const scroller = h("div.hp-scroll.hp-treebox", grid);
  const relative = "masses relative to the branch, or joint (m)";
  const massButton = button("masses", relative, onMass, { class: "hp-button hp-toggle" });
  const swatches = KINDS.map(([kind, words]) =>
    h("span", h(`span.hp-swatch.is-${kind}`), " ", words),
  );
  const keys = h("p.hp-hint.hp-keyline", swatches, h("span", "line width: p"));
  const head = h(
    "div.hp-head",
    h("h3.hp-title", "Draft tree"),
    keys,
    h("span.hp-grow"),
    massButton,
  );
  const below = h(
    "section.hp-card.hp-treecard",
    { "aria-label": "Draft tree" },
    head,
    note,
    scroller,
    readline,
    left,
  );
  const handlers = { select: open, hover: readout };
  let boxes = /** @type {TreeBox[]} */ ([]);
  let active = ""; // the key of the box that is selected
  let shown = /** @type {{view: View, plan: Plan, pinned?: boolean} | null} */ (null);

  const activeBox = () => boxes.find(({ key }) => key === active);
  const activeElement = () =>
    /** @type {HTMLElement | null} */ (grid.querySelector(".hp-node.is-active"));

  /** @type {PartCard["draw"]} */
  function draw(view, { plan }) {
    shown = { view, plan };
    note.textContent = view.detail || view.step.drafted === 0 ? "" : plain(say("no_details", {}));
    afterLayout(reveal);
  }

  /** @type {(node: number, state: PlayerState) => void} */
  function select(selected, { item, mass, beat: now, pinned }) {
    if (!shown) return;
    const { view, plan } = shown;
    const drawable = view.detail || view.own.residual !== null;
    for (const part of [scroller, readline, left, massButton]) part.hidden = !drawable;
    if (!drawable) return;
    const focused = grid.contains(document.activeElement);
    const tree = layout(view, selected);
    const times = timesOf(view, plan);
    boxes = tree.boxes;
    const node = selected ? `n${selected}` : "root";
    active = boxes.find(({ key }) => key === item)?.key ?? node;
    const byKey = new Map(boxes.map((box) => [box.key, box]));
    const columns = Math.max(...tree.free.keys());
    const rows = Math.max(...tree.free.values(), tree.rest?.row ?? 0);
    // the same width in every step of a run
    const usual = Math.max(columns, usualLength(view.trace.setup.options.draft) + 1);
    grid.setAttribute("style", `--hp-columns:${columns};--hp-usual:${usual}`);
    const band = view.depth.get(selected) + 1;
    const style = `grid-area:1 / ${track(band)} / ${rows + 4}`;
    const edges = boxes.flatMap((box) => {
      const from = byKey.get(box.from ?? "");
      return from ? edge(from, box, times) : [];
    });
    const cells = boxes.map((box) =>
      cell(view, box, { active: box.key === active, times, handlers }),
    );
    const how = {
      joint: mass === "joint",
      at: times.masses,
      select: open,
    };
    grid.replaceChildren(
      band > columns ? "" : h("div.hp-band", { style }),
      ...heads(tree, columns),
      ...edges,
      ...cells,
      tree.rest && tree.rest.hidden > 0 ? restOf(tree.rest, times) : "",
      ...massRow(tree, rows + 3, how),
    );
    beat(now, true);
    grid.classList.toggle("is-pinned", pinned);
    left.textContent = view.detail ? leftOutWords(tree) : "";
    massButton.hidden = !view.branches.size;
    massButton.textContent = mass === "joint" ? "masses: joint" : "masses: per branch";
    shown = { view, plan, pinned };
    readout(null);
    if (focused) activeElement()?.focus({ preventScroll: true });
  }

  /** Show the tree at a beat. @param {number} now @param {boolean} last nothing comes after it */
  function beat(now, last) {
    appear(grid, now);
    if (!last) follow(scroller, grid.querySelector(".is-current:is(.hp-node, .hp-badge)"));
  }

  /** Scroll so that the selected token and its branch are in sight. */
  const reveal = () => follow(scroller, activeElement(), NEXT_COLUMN);

  /** A key has selected another token. */
  function arrive() {
    activeElement()?.focus({ preventScroll: true });
    reveal();
  }

  /**
   * The line under the tree: everything about the token under the pointer, else about the selected
   * one.
   * @param {TreeBox | null} box
   */
  function readout(box) {
    const described = box ?? activeBox();
    const words = shown && described ? describe(shown.view, described).join(" · ") : "";
    const pin = shown?.pinned ? [h("span.hp-pin", "pinned"), " "] : [];
    readline.replaceChildren(
      ...pin,
      h("bdi", words.length > 240 ? `${words.slice(0, 240)}…` : words),
    );
  }

  return {
    below,
    picture: grid,
    draw,
    select,
    beat,
    boxes: () => boxes,
    activeBox,
    arrive,
  };
}

// the edges run in those between
const track = (/** @type {number} */ column) => (column ? 2 * column + 1 : 1);
/** @type {(place: {row: number, column: number}) => string} */
const areaOf = ({ row, column }) => `grid-area:${row + 2} / ${track(column)}`;

/**
 * The beats at which the contents of the tree appear: read, the target's p; masses, those of the
 * branches; at(box), a box; turn(box), what became of its token, null where that shows at once;
 * expanded(box), that the next level grows from it; tested(judged, test), a test of a rule, its
 * last one where `test` is null.
 * @param {View} view
 * @param {Plan} plan
 */
function timesOf(view, plan) {
  const has = (/** @type {string} */ name) => plan.phases.some((phase) => phase.name === name);
  const when = (/** @type {string} */ name) => beatOf(plan, has(name) ? name : "target");
  const grown = (/** @type {string} */ kind, level = 0) =>
    beatOf(plan, "grow", beatIn(view, kind, level));
  const tested = (/** @type {Judged} */ judged, /** @type {ReadTest | null} */ test) =>
    beatOf(plan, judged === view.own ? "own" : "shadow", test ? test.order - 1 : Infinity);
  const read = when("ratio");
  const end = plan.total - 1;
  /** @type {Record<string, number>} */
  const at = { root: 0, drawn: end, candidate: read };
  return {
    read,
    masses: when("masses"),
    at: (/** @type {{kind: string, column: number}} */ { kind, column }) =>
      at[kind] ?? grown("propose", column),
    turn: (/** @type {TreeBox} */ { kind, id = 0, verdict }) => {
      if (kind === "dropped") return when("rerank");
      if (kind !== "draft") return null;
      return verdict === "unreached" ? end : tested(view.own, decisive(view.own, id));
    },
    expanded: (/** @type {TreeBox} */ box) => grown("expand", box.level),
    tested,
  };
}

/** The names of the columns. @type {(tree: TreeLayout, columns: number) => HTMLElement[]} */
function heads({ view, cut }, columns) {
  const deepest = Math.max(view.deepest, cut?.levels ?? 0);
  const after = view.step.drafted ? "bonus" : "next token";
  return Array.from({ length: columns + 1 }, (_, column) => {
    let name = column > deepest ? after : `token ${column}`;
    if (!column) name = "so far";
    return h("span.hp-header", { style: areaOf({ row: -1, column }) }, name);
  });
}

/**
 * When a box or its edge appears, and what it turns into: a drafted token once it is judged, a
 * candidate when it is cut.
 * @type {(box: TreeBox, times: Times) => Attributes}
 */
function change(box, times) {
  const turn = times.turn(box);
  const css = `is-${box.kind}${turn === null ? ` is-${box.verdict}` : ""}`;
  return {
    "data-at": times.at(box),
    "data-turn": turn,
    "data-verdict": box.verdict,
    "class": css,
  };
}

/**
 * The line from a box to one that follows it, as wide as p.
 * @type {(from: TreeBox, to: TreeBox, times: Times) => HTMLElement}
 */
function edge(from, to, times) {
  const start = MIDDLE[from.kind] ?? UNDER_NAME;
  const end = MIDDLE[to.kind] ?? UNDER_NAME;
  const straight = from.row === to.row;
  const p = to.p ?? 0;
  const width = BESIDE.includes(to.kind) ? 0.75 + 4 * p : 1.5 + 6 * p;
  const last = to.row + (straight ? 3 : 2);
  const path = s("path", {
    "d": straight ? "M0 .5L1 .5" : "M0 0C.6 0 .4 1 1 1",
    "vector-effect": "non-scaling-stroke",
    "stroke-width": width.toFixed(2),
  });
  const area = `${from.row + 2} / ${2 * to.column} / ${last}`;
  const style = `grid-area:${area};margin:${start}px 0 ${straight ? 0 : -end}px`;
  const box = {
    viewBox: "0 0 1 1",
    preserveAspectRatio: "none",
    style: straight && "height:2px;margin-top:-1px",
  };
  const attributes = {
    ...change(to, times),
    "aria-hidden": "true",
    style,
  };
  return h("div.hp-edge", attributes, s("svg", box, path));
}

/**
 * A box, and what stands above and below it.
 * @param {View} view
 * @param {TreeBox} box
 * @param {{active: boolean, times: Times, handlers: TreeActions}} how
 * @returns {HTMLElement}
 */
function cell(view, box, { active, times, handlers: { select, hover } }) {
  const words = describe(view, box);
  const over = () => hover(box);
  const attributes = {
    ...change(box, times),
    "role": "button",
    "aria-label": words.join(", "),
    "title": words.join("\n"),
    "data-key": box.key,
    "data-node": box.id,
    "tabindex": active ? 0 : -1,
    "aria-pressed": String(active),
    "onclick": () => select(box),
    "onpointerenter": over,
    "onpointerleave": () => hover(null),
    "onfocus": over,
  };
  const read = box.read && h("i.hp-expanded", { "data-at": times.expanded(box) }, "▸");
  const inside = [token(box.piece, { cells: 30 }), contents(box, times), read];
  const node = h(`div.hp-node${active ? ".is-active" : ""}`, attributes, inside);
  const name = box.label ? h("span.hp-rowlabel", { "data-at": times.at(box) }, box.label) : null;
  const isRoot = box.kind === "root";
  let below = isRoot ? keyOf(view) : null;
  if (box.kind === "draft") below = testsOf(view, box.id ?? 0, times);
  const style = isRoot ? "grid-area:2 / 1 / span 3" : areaOf(box);
  const css = BESIDE.includes(box.kind) && "is-beside";
  return h("div.hp-treecell", { class: css, style }, name, node, below);
}

/** What a box shows under its token. @type {(box: TreeBox, times: Times) => Child} */
function contents(box, times) {
  const { kind, p, q } = box;
  if (kind === "root") return h("small", "last token of the text");
  if (kind === "dropped") return h("b.hp-value", short(box.joint ?? 0));
  const { icon } = VERDICTS[box.words ?? box.verdict];
  return [
    kind === "candidate" ? null : h("b.hp-icon", { "data-at": times.turn(box) }, icon),
    q === null ? null : level("is-q", q, { name: "q" }),
    p === null ? null : level("is-p", p, { "name": "p", "data-at": times.read }),
  ];
}

// ---- the tests under a token

/**
 * Of each rule its tests, each with its number in the order taken, of many only the first ones; or
 * that a token is kept without one.
 * @type {(view: View, id: number, times: Times) => Child}
 */
function testsOf(view, id, times) {
  return verdicts(view).map((judged) => {
    const tests = judged.at.get(id) ?? [];
    const first = tests.length > MOST ? tests.slice(0, MOST - 1) : tests;
    const more = tests.slice(first.length);
    const passed = tests.some((test) => test.accepted);
    /** @type {(outcome: string, words: string, test?: ReadTest | null) => HTMLElement} */
    const badge = (outcome, words, test = null) => {
      const place = {
        "data-badge": judged.rule,
        "data-order": test?.order,
        "data-at": times.tested(judged, test),
      };
      const inside = [
        marker(judged === view.own, test?.order),
        h("b", outcome === "fail" ? "✕" : "✓"),
        words,
      ];
      return h(`span.hp-badge.is-${outcome}`, { ...place, "aria-hidden": "true" }, inside);
    };
    return [
      first.map((test) => badge(test.accepted ? "pass" : "fail", compare(test), test)),
      more.length
        ? badge("fail", `${more.length} more, ${passed ? "last passes" : "all fail"}`)
        : null,
      judged.path.has(id) && !passed ? badge("carried", "kept") : null,
    ];
  });
}

/**
 * The number of a test: round for the run's rule, square for the other.
 * @type {(own: boolean, order?: number) => HTMLElement}
 */
const marker = (own, order) => h(`i.hp-marker.${own ? "is-own" : "is-other"}`, order);

/** Under the root: what the round and the square numbers are. @type {(view: View) => Child} */
const keyOf = (view) =>
  view.own.decisions.length > 0 &&
  verdicts(view).map((judged) => {
    const own = judged === view.own;
    return h("span.hp-rowlabel", marker(own, 1), " ", h(own ? "b" : "span", judged.info.short));
  });

/**
 * What a box says in words: its title, and the line under the tree.
 * @type {(view: View, box: TreeBox) => string[]}
 */
function describe(view, box) {
  const { id = 0, kind, p, q, joint = null, verdict } = box;
  if (kind === "root") return [`“${visible(box.piece)}”`, "the last token of the text so far"];
  const numbers = {
    "draft q": q,
    "target p": p,
    "p/q": q && p !== null ? p / q : null,
    "confidence": joint,
  };
  const words = Object.entries(numbers).flatMap(([name, x]) =>
    x === null ? [] : `${name} ${number(x)}`,
  );
  const lines = [
    `“${visible(box.piece)}”`,
    `token id ${box.token}`,
    ...words,
    VERDICTS[box.words ?? verdict].word,
  ];
  if (kind !== "draft") return lines;
  lines.push(...testWords(view.own, id));
  if (!view.shadow || view.sameRule) return lines;
  const { info } = view.shadow;
  return [
    ...lines,
    `${info.short}: ${VERDICTS[view.shadow.verdict(id)].word}`,
    ...testWords(view.shadow, id),
  ];
}

/** A rule's tests at a token in words. @type {(judged: Judged, id: number) => string[]} */
const testWords = ({ at }, id) =>
  (at.get(id) ?? []).map((test) => `test ${test.order}: coin ${compare(test)}`);

/** How many tokens are not drawn. @type {(rest: TreeRest, times: Times) => HTMLElement} */
function restOf({ row, column, hidden, p, q }, times) {
  const words = [
    `+ ${count(hidden)} more`,
    h("br"),
    q === null ? "" : `q ${percent(q)} · `,
    `p ${percent(p)}`,
  ];
  return h("small.hp-rest", { "style": areaOf({ row, column }), "data-at": times.read }, words);
}

/**
 * How much the draft gives too much and too little after each token of the path through the
 * selected one, in that token's column; joint: times its probability.
 * @param {TreeLayout} tree
 * @param {number} line the row of the grid
 * @param {{joint: boolean, at: number, select: TreeActions["select"]}} how
 * @returns {HTMLElement[]}
 */
function massRow({ view, selected }, line, { joint, at, select }) {
  const pair = (/** @type {Branch} */ branch) => {
    const { node, capped } = branch;
    const factor = joint ? branch.joint_q : 1;
    const excess = branch.excess * factor;
    const deficient = branch.deficient * factor;
    const piece = node ? view.nodes.get(node).piece : view.rootPiece;
    const title = `excess ${number(excess)}, deficient ${number(deficient)}`;
    const words = h("small", `c ${short(capped)}, after `, token(piece, { cells: 12 }));
    const attributes = {
      "class": node === selected && "is-active",
      "style": `grid-area:${line} / ${track(view.depth.get(node))}`,
      "title": `${title}, capped ratio c ${number(capped)}`,
      "data-branch": node,
      "data-at": at,
      "onclick": () => select({ kind: "mass", branch: node, key: null }),
    };
    return h("div.hp-masspair", attributes, masses({ excess, deficient }), words);
  };
  return branchesAlong(view, selected).map(pair);
}

export { create, shows };
