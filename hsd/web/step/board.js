// The board: one draft from top to bottom, a column per token. Its row of guesses, the target's one
// pass, p under q, the masses of what may follow each token, and a lane per rule with its tests,
// what it keeps, and its chances. Every part carries the beat at which it appears (data-at), so
// that a beat only changes classes.
import { afterLayout, h, prose, targetOf, token } from "../kit/dom.js";
import { facts } from "../kit/facts.js";
import { number, percent, visible } from "../kit/format.js";
import { term } from "../kit/glossary.js";
import { lossy, menu } from "../kit/controls.js";
import { chances as oddsOf, judges, likely } from "./rejudge.js";
import * as brief from "./brief.js";
import { appear, chances, follow, masses, trial } from "./cells.js";
import { counts, stop } from "./counts.js";
import { say } from "./sentences.js";
import { exactly, ruleInfo } from "./model.js";
import { bars, mean } from "./odds.js";
import { beatOf, named } from "./phases.js";

const CELLS = 15; // characters of a token that fit its column
const OVER = "the chances of keeping 0, 1, … tokens of this draft, over all coins; ▾ this time";

/** A single draft of a run that recorded its details. @type {StepPart["shows"]} */
const shows = ({ detail, isTrie, step }) => detail && !isTrie && step.drafted > 0;

/** The board of a player. @param {BoardActions} actions */
function create(actions) {
  const map = h("div.hp-minimap", { "aria-hidden": "true" });
  const grid = h("div.hp-board-grid");
  const scroller = h("div.hp-scroll.hp-board-scroll", grid);
  const below = h("div"); // the branch at which HSD stops, at a first look
  const drawing = h(
    "section.hp-card.hp-board",
    { "aria-label": "The draft and both verdicts" },
    map,
    scroller,
    below,
  );
  // the cell of the own lane's last test, which is in sight at the end
  let deciding = /** @type {Element | null} */ (null);
  dragging(grid, actions);
  for (const kind of ["pointerover", "focusin", "focusout"])
    window.addEventListener(kind, (event) =>
      join(drawing, kind === "focusout" ? drawing : targetOf(event)),
    );
  map.addEventListener("click", (event) => {
    const node = targetOf(event).closest("[data-node]")?.getAttribute("data-node");
    follow(scroller, grid.querySelector(`.hp-guess[data-node="${node}"]`));
  });

  /** @type {PartCard["draw"]} */
  function draw(view, { plan, selected, first = false }) {
    grid.style.setProperty("--hp-columns", String(view.step.drafted));
    grid.classList.toggle("is-what-if", Boolean(view.original));
    grid.classList.toggle("is-brief", first);
    const offered = first ? null : actions;
    const rows = [guesses, pass, ratios, massesAfter].flatMap((row) => row(view, plan, offered));
    const lanes = plan.lanes.flatMap((lane) => drawLane(view, lane, plan, offered));
    const held = focusIn(grid);
    grid.replaceChildren(...rows, ...lanes);
    const branch = first ? stop(view) : null;
    const scene = (/** @type {number} */ i) => beatOf(plan, i < 3 ? "counts" : "commit", i);
    below.replaceChildren((branch !== null && counts(view, branch, scene)) || "");
    const focused = /** @type {HTMLElement | null} */ (held && grid.querySelector(held));
    focused?.focus({ preventScroll: true });
    const scrolls = view.step.drafted > 4 ? "narrow" : "no";
    drawing.dataset.long = view.step.drafted > 8 ? "everywhere" : scrolls;
    map.replaceChildren(...view.step.nodes.map(({ id }) => mark(plan, id)));
    const last = view.own.decisions.at(-1)?.node;
    deciding = [...grid.querySelectorAll(`.is-own[data-node="${last}"]`)].at(-1) ?? null;
    select(selected);
  }

  /**
   * Show the board at a beat. ended: whether nothing comes after it.
   * @type {(now: number, ended: boolean) => void}
   */
  function beat(now, ended) {
    appear(drawing, now);
    const part = ended ? deciding : grid.querySelector(".hp-cell-of.is-current");
    afterLayout(() => part?.isConnected && follow(scroller, part));
  }

  function select(/** @type {number} */ node) {
    for (const guess of grid.querySelectorAll("button.hp-guess")) {
      const pressed = guess.getAttribute("data-node") === String(node);
      guess.setAttribute("aria-pressed", String(pressed));
    }
  }

  return {
    drawing,
    picture: grid,
    draw,
    beat,
    select,
  };
}

/**
 * A selector of what has the focus, to give it back once all is drawn anew; null if it is
 * elsewhere.
 * @param {HTMLElement} grid
 */
function focusIn(grid) {
  const { activeElement: now } = document;
  if (!now || !grid.contains(now)) return null;
  if (now.matches(".hp-lane-rule")) return ".hp-lane-rule";
  const place = now.closest("[data-node]");
  const node = place?.getAttribute("data-node");
  const rule = place?.getAttribute("data-rule");
  return rule
    ? `[data-rule="${rule}"][data-node="${node}"] .hp-trial`
    : `.hp-guess[data-node="${node}"]`;
}

// the numbers made of p/q of all tokens of the path, and how many of its last ones each leaves out
const BEHIND = /** @type {Record<string, number>} */ ({
  before: 1,
  ratio: 0,
  capped: 0,
  starred: 0,
});

/**
 * Selectors of the places where a number of the threshold at a node stands, on the board, in the
 * table and in the ledger. name: of the number, in the expression of the threshold.
 * @type {(name: string, node: number) => string[]}
 */
function placesOf(name, node) {
  const ratio = (/** @type {number} */ id) => `[data-node="${id}"] :is(.hp-rho, [data-column="ρ"])`;
  if (name in BEHIND) {
    const length = node - BEHIND[name];
    return Array.from({ length }, (_, i) => ratio(i + 1));
  }
  if (name === "own") return [ratio(node)];
  const number = `:is(.hp-level:has(.is-${name}), [data-column="${name}"])`;
  return [`:is([data-node="${node}"], [data-branch="${node}"]) ${number}`];
}

/**
 * Mark the numbers from which the threshold or number at `target` is computed. target: what is
 * pointed at or has the focus; elsewhere than at a test or a number of the table nothing is marked.
 * @type {(board: HTMLElement, target: HTMLElement) => void}
 */
function join(board, target) {
  const player = board.closest(".hsd-player") ?? board;
  const test = player.contains(target) ? target.closest("[data-from], .is-lane") : null;
  const origin = test?.querySelector(".hp-origin") ?? test;
  const names = origin?.getAttribute("data-from")?.split(" ") ?? [];
  const node = Number(test?.closest("[data-node]")?.getAttribute("data-node"));
  for (const old of player.querySelectorAll(".is-joined")) old.classList.remove("is-joined");
  const places = names.flatMap((name) => placesOf(name, node));
  const sources = places.flatMap((css) => [...player.querySelectorAll(css)]);
  for (const source of sources) source.classList.add("is-joined");
  if (sources.length) test?.classList.add("is-joined");
}

/**
 * A row: its name, the column before the draft, and a cell per token.
 * @param {string} css
 * @param {Child} name
 * @param {Child} start
 * @param {TreeNode[]} nodes
 * @param {(node: TreeNode, i: number) => BoardCell} cell
 * @returns {HTMLElement[]}
 */
const row = (css, name, start, nodes, cell) => [
  h(`div.hp-row-name.${css}`, name),
  h(`div.hp-cell-of.is-start.${css}`, start),
  ...nodes.map((node, i) => {
    const { at, content, rule } = cell(node, i);
    // so that no number is heard without its token
    const said = h("span.hp-unseen", `${visible(node.piece)}: `);
    return h(
      `div.hp-cell-of.${css}`,
      { "data-node": node.id, "data-at": at, "data-rule": rule },
      said,
      content,
    );
  }),
];

/**
 * A word that is explained where the board has controls.
 * @type {(actions: BoardActions | null, key: string, words?: string) => Child}
 */
const explained = (actions, key, words = key) => (actions ? term(key, words) : words);

/**
 * The tokens; buttons where something can be done with them.
 * @type {(view: View, plan: Plan, actions: BoardActions | null) => HTMLElement[]}
 */
function guesses({ step, rootPiece }, plan, actions) {
  /** @type {(id: number, name: string, piece: string, cells: number) => HTMLElement} */
  const guess = (id, name, piece, cells) => {
    const words = [h("span.hp-unseen", `${name} `), token(piece, { cells })];
    const css = id ? "hp-guess" : "hp-guess is-root";
    if (!actions) return h("div", { "class": css, "data-node": id }, words);
    const attributes = {
      "class": css,
      "type": "button",
      "data-node": id,
      "title": `${name}: what could follow it`,
      "onclick": () => actions.open({ kind: "draft", branch: id, key: null }),
    };
    return h("button", attributes, words);
  };
  const before = guess(0, "the last token of the text so far", rootPiece, 9);
  const name = ["the ", explained(actions, "draft"), h("small", "guesses")];
  return row("is-guesses", name, before, step.nodes, ({ id, piece }, i) => ({
    at: beatOf(plan, "draft", i),
    content: guess(id, `token ${i + 1}`, piece, CELLS),
  }));
}

/** @type {(view: View, plan: Plan, actions: BoardActions | null) => HTMLElement[]} */
function pass(view, plan, actions) {
  const over = actions
    ? `one pass over ${view.step.drafted + 1} positions`
    : "one pass of the target over the whole draft";
  const words = h("span.hp-sweep-words", over);
  const attributes = { "data-at": beatOf(plan, "target") };
  return [
    h("div.hp-row-name.is-pass-row", [
      "the ",
      explained(actions, "target-model", "target"),
      h("small", "reads"),
    ]),
    h("div.hp-cell-of.is-pass-row.hp-sweep", attributes, h("span.hp-sweep-bar"), words),
  ];
}

/** @type {(view: View, plan: Plan, actions: BoardActions | null) => HTMLElement[]} */
function ratios({ step }, plan, actions) {
  const read = { "data-at": beatOf(plan, "ratio") };
  const q = explained(actions, "q");
  const p = explained(actions, "p");
  const name = ["chances", h("small", q, " of the draft, ", p, " of the target")];
  return row("is-ratios", name, "", step.nodes, (node, i) => {
    const at = beatOf(plan, "draft", i);
    const words = (/** @type {number} */ share) => (actions ? {} : { words: whole(share) });
    const drafted = { "data-at": at, ...words(node.q) };
    return { at, content: chances(node, { q: drafted, p: { ...read, ...words(node.p) } }) };
  });
}

/** A share as a newcomer reads it. @param {number} share */
const whole = (share) => (share > 0.995 ? "100 %" : percent(share));

/**
 * The row of masses: under each token those of the branch after it, which a test there compares.
 * @type {(view: View, plan: Plan, actions: BoardActions | null) => HTMLElement[]}
 */
function massesAfter({ step, branches }, plan, actions) {
  if (!actions) return [];
  const kind = (/** @type {string} */ name, /** @type {string} */ words) =>
    h("span", h(`span.hp-swatch.is-${name}`), " ", term(name, name), h("small", words));
  const kinds = [kind("excess", " q too much"), kind("deficient", " too little")];
  const at = beatOf(plan, "masses");
  const start = h(
    "div",
    { "data-at": at, "title": "before the first token" },
    masses(branches.get(0)),
  );
  const name = ["masses ", h("small", "after each token"), kinds];
  return row("is-masses", name, start, step.nodes, ({ id }) => ({
    at,
    content: masses(branches.get(id)),
  }));
}

// ---- the lanes

/**
 * The beat of a rule's test at a node; of the last one where it made none there.
 * @type {(plan: Plan, lane: RuleLane, id: number) => number}
 */
const beatAt = (plan, { phase, judged }, id) =>
  beatOf(plan, phase, (judged.at.get(id)?.[0].order ?? Infinity) - 1);

/**
 * The row of a rule: its name and what it keeps, and a test per token.
 * @type {(view: View, lane: RuleLane, plan: Plan, actions: BoardActions | null) => HTMLElement[]}
 */
function drawLane(view, lane, plan, actions) {
  const { phase, judged } = lane;
  const last = beatOf(plan, phase, Infinity);
  const keeps = h("span.hp-lane-keeps", { "data-at": last }, outcome(view, lane, !actions));
  const name = actions ? laneName(view, lane, last, keeps, actions) : brief.head(judged, keeps);
  return row(`is-lane.is-${phase}`, name, "", view.step.nodes, ({ id }) => {
    const cell = actions ? laneCell(view, judged, id, actions) : brief.cell(view, judged, id);
    const content = [bracket(view, judged, id, last), cell];
    return {
      at: beatAt(plan, lane, id),
      content,
      rule: judged.rule,
    };
  });
}

/**
 * A part of the bracket over the tokens that a rule keeps as one, and over those it drops, where it
 * judges prefixes.
 * @type {(view: View, judged: Judged, id: number, at: number) => Child}
 */
function bracket(view, { info, kept, decisions }, id, at) {
  if (info.forward || !decisions.length) return null;
  const place = view.depth.get(id);
  const isKept = place <= kept;
  const first = isKept ? 1 : kept + 1;
  const last = isKept ? kept : view.step.drafted;
  const css = [isKept ? "is-kept" : "is-dropped"];
  if (place === first) css.push("is-first");
  if (place === last) css.push("is-last");
  return h("i.hp-bracket", {
    "class": css.join(" "),
    "data-at": at,
    "aria-hidden": "true",
  });
}

/**
 * The head of a rule's row: its name or a menu of rules, its direction, what it keeps, its chances.
 * @param {View} view
 * @param {RuleLane} lane
 * @param {number} at the beat of its last test, from which on the chances are shown
 * @param {HTMLElement} keeps
 * @param {BoardActions} actions
 * @returns {Child}
 */
function laneName(view, lane, at, keeps, { judgeBy }) {
  const { judged } = lane;
  const { forward, own, term: word } = judged.info;
  const arrow = !own && [
    forward ? "" : "← ",
    h("span", forward ? "from the left " : "from the right"),
    forward ? "→" : "",
  ];
  const rules = lane.phase === "own" && !own ? judges(view.original ?? view) : [];
  const title = h("span.hp-lane-title", word ? term(word, named(judged)) : named(judged));
  const law = oddsOf(view, judged.rule);
  const full = word && facts.glossary[word]?.full; // what an abbreviation stands for
  const average = law && h("b", number(mean(law)));
  return [
    h(
      "span.hp-lane-head",
      rules.length > 1 ? ruleMenu(view, judged, rules, judgeBy) : title,
      arrow && h("small", arrow),
    ),
    full && h("small.hp-lane-full", term(word, full)),
    (own || !exactly(view, judged.rule)) && lossy(judged.info),
    keeps,
    law &&
      h(
        "span.hp-lane-odds",
        { "data-at": at, "data-rule": judged.rule, "title": OVER },
        bars(judged, law),
        h("small", term("over-all-coins", "mean"), " ", average),
      ),
  ];
}

/**
 * A menu of the rules that can judge this draft.
 * @param {View} view
 * @param {Judged} judged
 * @param {string[]} rules
 * @param {(rule: string) => void} judgeBy
 * @returns {HTMLElement}
 */
function ruleMenu(view, judged, rules, judgeBy) {
  const words = (/** @type {string} */ rule) => {
    const name = named({ info: ruleInfo(rule) });
    return exactly(view, rule) ? name : `${name}, not lossless`;
  };
  const attributes = { class: "hp-speed hp-lane-rule", title: "judge this draft by another rule" };
  const options = rules.map((rule) => /** @type {[string, string]} */ ([rule, words(rule)]));
  return menu("the rule that judges this draft", options, judged.rule, judgeBy, attributes);
}

/**
 * What a rule keeps, and the token after it: the one that was drawn, or which are likely.
 * @type {(view: View, lane: RuleLane, first: boolean) => Child}
 */
function outcome(view, { phase, judged }, first) {
  const next = phase === "own" ? view.drawn : judged.next;
  const [likeliest] = next || !view.original ? [] : likely(view, judged);
  const facts = {
    first,
    kept: judged.kept,
    free: view.original && judged.kept === view.step.drafted,
    next: next && {
      piece: next.piece,
      origin: next.origin,
      cells: 12,
    },
    perhaps: likeliest && { ...likeliest, cells: 10 },
  };
  return prose(say("lane_keeps", facts));
}

/**
 * A test as a button that opens it in full.
 * @type {(view: View, judged: Judged, id: number, actions: BoardActions) => HTMLElement}
 */
function laneCell(view, judged, id, { test }) {
  const { state, parts } = trial(view, judged, id, "drag: what if the coin had been another?");
  const attributes = {
    type: "button",
    title: "open the test",
    onclick: () => test(judged, id),
  };
  const name = h("span.hp-unseen", `${named(judged)}, token ${view.depth.get(id)}: `);
  return h(`button.hp-trial.is-${state}`, attributes, name, parts);
}

/**
 * A token's two verdicts in the overview of a long draft.
 * @type {(plan: Plan, id: number) => HTMLElement}
 */
function mark(plan, id) {
  const marks = plan.lanes.map((lane) =>
    h(`i.is-${lane.judged.verdict(id)}`, { "data-at": beatAt(plan, lane, id) }),
  );
  return h("span.hp-map-column", { "data-node": id }, marks);
}

// ---- other coins

/**
 * A coin follows the pointer that took it; a click that does not move it opens the test.
 * @type {(grid: HTMLElement, actions: BoardActions) => void}
 */
function dragging(grid, { coin }) {
  /** @type {{node: number, box: DOMRect, from: number, moved: boolean} | null} */
  let taken = null;
  grid.addEventListener("pointerdown", (event) => {
    const gauge = targetOf(event).closest(".hp-gauge[data-coin]");
    if (!gauge || event.button) return;
    const node = Number(gauge.getAttribute("data-coin"));
    taken = {
      node,
      box: gauge.getBoundingClientRect(),
      from: event.clientX,
      moved: false,
    };
  });
  window.addEventListener("pointermove", ({ clientX, clientY }) => {
    if (!taken || (!taken.moved && Math.abs(clientX - taken.from) < 4)) return;
    taken.moved = true;
    grid.dataset.dragged = clientY > window.innerHeight / 2 ? "low" : "high";
    const share = (clientX - taken.box.left) / taken.box.width;
    coin(taken.node, Math.min(Math.max(share, 0), 0.999));
  });
  window.addEventListener("pointerup", () => {
    taken = null;
    // after the click that some browsers make at the end of a drag
    setTimeout(() => delete grid.dataset.dragged);
  });
  grid.addEventListener(
    "click",
    (event) => "dragged" in grid.dataset && event.stopPropagation(),
    true,
  );
}

export { create, shows };
