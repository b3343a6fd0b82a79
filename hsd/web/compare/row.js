// One row: who judges, what comes of it, its tests in short, and its draft tree (a player that shows nothing else).
import { h, prose, token } from "../kit/dom.js";
import { pair, plural } from "../kit/format.js";
import { fullName, pathTo, readStep, ruleInfo } from "../player/model.js";
import { create } from "../player/player.js";
import { draftsThrough } from "./clauses.js";

const MOST = 8; // tests that are listed
const LAST = 2; // of which the last ones, where there are more
const AIR = 10; // pixels under the lowest part of a compact picture

class Row {
  /** letter: A or B. facts: title and lossless mark by rule. onSelect(report): the visitor moved in this row. */
  constructor(letter, facts, onSelect) {
    this.letter = letter;
    this.facts = facts;
    this.source = null; // the trace that is shown, as it was given
    this.parts = {
      title: h("h3", { class: "cp-title" }),
      mark: h("span", { class: "cp-lossless" }),
      role: h("span", { class: "cp-hint cp-role" }),
      outcome: h("p", { class: "cp-outcome" }),
      tests: h("ol", { class: "cp-tests" }),
      tree: h("div", { "class": "cp-tree", "aria-label": `draft tree of row ${letter}` }),
    };
    const { title, mark, role, outcome, tests, tree } = this.parts;
    const head = h(
      "div",
      { class: "cp-head" },
      h("span", { class: `cp-letter is-${letter.toLowerCase()}` }, letter),
      title,
      mark,
      role,
    );
    this.element = h(
      "section",
      { "class": "cp-row", "data-row": letter, "aria-label": `row ${letter}` },
      head,
      outcome,
      tests,
      tree,
    );
    this.player = create(tree, { parts: ["tree"], onSelect: (report) => onSelect(this, report) });
  }

  get scroller() {
    return this.parts.tree.querySelector(".hp-treebox");
  }

  get steps() {
    return this.source ? this.source.steps : [];
  }

  load(trace, where) {
    this.source = { ...trace, steps: [...trace.steps] };
    this.player.load(trace, where);
    this.name(fullName(trace.setup.rule, trace.setup));
  }

  name(rule) {
    const { title = ruleInfo(rule).title, lossless = null } = this.facts[rule] || {};
    const { mark } = this.parts;
    this.parts.title.textContent = title.replace(/ \(not lossless\)$/, "");
    mark.textContent = lossless === null ? "" : lossless ? "✓ lossless" : "✕ not lossless";
    mark.title = lossless
      ? "its text follows the target's distribution exactly"
      : "its text does not follow the target's distribution exactly";
    mark.hidden = lossless === null;
    mark.classList.toggle("is-not", lossless === false);
  }

  /** Steps that came since. */
  extend(steps, result) {
    this.source.steps.push(...steps);
    if (result) this.source = { ...this.source, result };
    this.player.extend(steps, result);
  }

  /** Show a step; beyond the last one that there is the last one stays, pale. role: what is said beside the title. */
  show(step, node, role) {
    const last = this.steps.length - 1;
    this.parts.role.textContent = role;
    this.element.classList.toggle("is-over", step > last && last >= 0);
    this.element.classList.toggle("is-empty", last < 0);
    if (last < 0) return this.empty("Waiting for the first step …");
    this.player.select({ step: Math.min(step, last), node });
    this.crop();
    const view = readStep(this.player.trace(), Math.min(step, last));
    this.parts.outcome.replaceChildren(...outcome(view));
    this.parts.tests.replaceChildren(...chips(view, (id) => this.player.select({ node: id })));
    return undefined;
  }

  /** Nothing to show yet. rule: whose row it will be. */
  clear(rule, words) {
    this.source = null;
    this.name(rule);
    this.element.classList.remove("is-over");
    this.element.classList.add("is-empty");
    this.parts.role.textContent = "";
    this.empty(words);
  }

  /** In a compact row the picture ends under the lowest drafted or drawn token. */
  crop(on = this.cropped) {
    this.cropped = on;
    const lowest = [...this.parts.tree.querySelectorAll(".hp-node:not(.is-candidate), .hp-badge")].map(bottom);
    this.scroller.style.maxHeight = on && lowest.length ? `${Math.max(...lowest)}px` : "";
  }

  empty(words) {
    this.parts.outcome.textContent = words;
    this.parts.tests.replaceChildren();
  }
}

/** "keeps 4 of 5, then ‹home› (correction)". */
function outcome(view) {
  const { step, own, drawn } = view;
  if (!step.drafted)
    return prose(
      drawn ? ["nothing drafted; the target writes ", { piece: drawn.piece, origin: "bonus" }] : ["nothing drafted"],
    );
  const count = `keeps ${own.kept} of ${view.isTrie ? `at most ${view.deepest}` : step.drafted}`;
  const path =
    view.isTrie && own.kept
      ? [
          ": ",
          ...pathTo(view, own.last).map((id) => token(view.nodes.get(id).piece, { cells: 12 })),
          ` (${draftsThrough(view, own.last)})`,
        ]
      : [];
  const then = drawn
    ? [", then ", { piece: drawn.piece, origin: drawn.origin, cells: 20 }, ` (${drawn.origin})`]
    : ["; the text ends here"];
  const extra =
    drawn && drawn.extra.length
      ? [`, and ${plural(drawn.extra.length, "token")} more at ${plural(drawn.extra.length, "further target call")}`]
      : [];
  return prose([{ strong: count }, ...path, ...then, ...extra]);
}

/** Where a token or a test of the picture ends, with some air. */
function bottom(group) {
  const y = Number(group.getAttribute("transform").match(/ ([\d.]+)\)$/)[1]);
  return y + Number(group.querySelector(".hp-pill, rect:not(.hp-ring)").getAttribute("height")) + AIR;
}

/** The tests in order; of many, the first and the last ones. In a tree the picture has them all. */
function chips(view, select) {
  const tests = view.own.decisions;
  const one = (decision) => chip(view, decision, select);
  if (tests.length <= MOST) return tests.map(one);
  const hidden = tests.slice(MOST - LAST - 1, -LAST);
  const passed = hidden.filter((decision) => decision.accepted).length;
  const words = `… ${hidden.length} more, ${passed === hidden.length ? "all pass" : passed ? `${passed} pass` : "all fail"}`;
  return [
    ...tests.slice(0, MOST - LAST - 1).map(one),
    h("li", { class: "cp-test cp-hint" }, words),
    ...tests.slice(-LAST).map(one),
  ];
}

function chip(view, decision, select) {
  const [coin, threshold] = pair(decision.coin, decision.threshold);
  const position = view.depth.get(decision.node);
  const what = {
    draft: view.isTrie ? `whole draft of ${position}` : "whole draft",
    prefix: position === 1 ? "first token" : `first ${position}`,
    token: `token ${position}`,
  }[decision.test];
  const piece =
    decision.test === "token" || view.isTrie ? token(view.nodes.get(decision.node).piece, { cells: 10 }) : null;
  return h(
    "li",
    { "class": `cp-test ${decision.accepted ? "is-pass" : "is-fail"}`, "data-node": decision.node },
    h(
      "button",
      {
        type: "button",
        class: "cp-test-button",
        title: `coin ${coin}, threshold ${threshold}: ${decision.accepted ? "passes" : "fails"}`,
        onclick: () => select(decision.node),
      },
      h("span", { class: "cp-order" }, decision.order),
      h("span", {}, what),
      piece,
      h("span", { class: "cp-numbers" }, `${coin} ${decision.accepted ? "<" : "≥"} ${threshold}`),
      h("span", { class: "cp-verdict" }, decision.accepted ? "✓" : "✕"),
    ),
  );
}

/** Two rows scroll sideways together, so that the same token stays at the same place. */
function scrollTogether(a, b) {
  let leader = null;
  const follow = (one, other) =>
    one.addEventListener("scroll", () => {
      if (leader && leader !== one) return;
      leader = one;
      other.scrollLeft = one.scrollLeft;
      requestAnimationFrame(() => {
        leader = null;
      });
    });
  follow(a.scroller, b.scroller);
  follow(b.scroller, a.scroller);
}

export { Row, scrollTogether };
