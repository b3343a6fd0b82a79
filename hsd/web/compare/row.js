// One row: who judges, what comes of it, its tests in short, and its draft tree (a player that shows nothing else).
import { h, prose, token } from "../kit/dom.js";
import { rule as ruleFacts } from "../kit/facts.js";
import { number, pair, plural } from "../kit/format.js";
import { through } from "../step/drafts.js";
import { pathTo, readStep, ruleOf } from "../step/model.js";
import { create } from "../step/player.js";

const MOST = 8; // tests that are listed
const LAST = 2; // of which the last ones, where there are more
const AIR = 10; // pixels under the lowest part of a compact picture
const EXACT = "its text follows the target's distribution exactly";
const INEXACT = "its text does not follow the target's distribution exactly";

class Row {
  /** letter: A or B. onSelect(row, report): the visitor moved in this row. */
  constructor(letter, onSelect) {
    this.source = null; // the trace that is shown, as it was given
    this.title = h("h3.hp-title.cp-title");
    this.mark = h("span.cp-lossless");
    this.role = h("span.hp-hint.cp-role");
    this.outcome = h("p.cp-outcome");
    this.tests = h("ol.cp-tests");
    this.tree = h("div.cp-tree");
    const sign = h(`span.cp-letter.is-${letter.toLowerCase()}`, letter);
    this.element = h(
      "section.hp-card.cp-row",
      { "data-row": letter, "aria-label": `row ${letter}` },
      h("div.cp-head", sign, this.title, this.mark, this.role),
      this.outcome,
      this.tests,
      this.tree,
    );
    this.player = create(this.tree, { parts: ["tree"], onSelect: (report) => onSelect(this, report) });
    this.tree.setAttribute("aria-label", `row ${letter}, step by step`);
    this.tree.querySelector(".hp-treecard").setAttribute("aria-label", `draft tree of row ${letter}`);
  }

  get scroller() {
    return this.tree.querySelector(".hp-treebox");
  }

  get steps() {
    return this.source ? this.source.steps : [];
  }

  load(trace, where) {
    this.source = { ...trace, steps: [...trace.steps] };
    this.player.load(trace, where);
    this.name(ruleOf(trace.setup.options));
  }

  name(rule) {
    const { title, lossless } = ruleFacts(rule);
    this.title.textContent = title.replace(/ \(not lossless\)$/, "");
    this.mark.textContent = lossless ? "✓ lossless" : "✕ not lossless";
    this.mark.title = lossless ? EXACT : INEXACT;
    this.mark.hidden = lossless === undefined;
    this.mark.classList.toggle("is-not", !lossless);
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
    if (last < 0) return this.empty("Waiting for the first step …", role);
    this.role.textContent = role;
    this.element.classList.toggle("is-over", step > last);
    this.element.classList.remove("is-empty");
    this.player.select({ step: Math.min(step, last), node });
    this.crop();
    const view = readStep(this.player.trace(), Math.min(step, last));
    this.outcome.replaceChildren(...outcome(view));
    this.tests.replaceChildren(...chips(view, (id) => this.player.select({ node: id })));
    return undefined;
  }

  /** Nothing to show yet. rule: whose row it will be. */
  clear(rule, words) {
    this.source = null;
    this.name(rule);
    this.empty(words, "");
  }

  empty(words, role) {
    this.role.textContent = role;
    this.element.classList.remove("is-over");
    this.element.classList.add("is-empty");
    this.outcome.textContent = words;
    this.tests.replaceChildren();
  }

  /** In a compact row the picture ends under the lowest drafted or drawn token. */
  crop(on = this.cropped) {
    this.cropped = on;
    const lowest = [...this.tree.querySelectorAll(".hp-node:not(.is-candidate), .hp-badge")].map(bottom);
    this.scroller.style.maxHeight = on && lowest.length ? `${Math.max(...lowest)}px` : "";
  }
}

/** "keeps 4 of 5, then ‹home› (correction)". */
function outcome(view) {
  const { step, own, drawn, isTrie } = view;
  const next = drawn && { piece: drawn.piece, origin: drawn.origin, cells: 20 };
  if (!step.drafted) return prose(drawn ? ["nothing drafted; the target writes ", next] : ["nothing drafted"]);
  const kept = { strong: `keeps ${own.kept} of ${isTrie ? `at most ${view.deepest}` : step.drafted}` };
  const pieces = pathTo(view, own.last).map((id) => ({ piece: view.nodes.get(id).piece, cells: 12 }));
  const path = isTrie && own.kept ? [": ", ...pieces, ` (${through(view, own.last)})`] : [];
  if (!drawn) return [...prose([kept, ...path, "; the text ends here"]), average(view)];
  const { length } = drawn.extra;
  const extra = length ? `, and ${plural(length, "token")} more at ${plural(length, "further target call")}` : "";
  return [...prose([kept, ...path, ", then ", next, ` (${drawn.origin})${extra}`]), average(view)];
}

/** What the row's rule keeps of this draft with luck taken out; traces of older versions do not tell. */
function average({ step, own }) {
  const mean = step.expected_kept[own.rule];
  return mean === undefined ? "" : h("span.hp-hint.cp-average", ` · ${number(mean)} on average over all coins`);
}

/** Where a token or a test of the picture ends, with some air. */
function bottom(group) {
  const y = Number(group.getAttribute("transform").match(/ ([\d.]+)\)$/)[1]);
  return y + Number(group.querySelector(".hp-pill, rect:not(.hp-ring)").getAttribute("height")) + AIR;
}

/** The tests in order; of many, the first and the last ones. In a tree the picture has them all. */
function chips(view, select) {
  const tests = view.own.decisions;
  const shown = (list) => list.map((decision) => chip(view, decision, select));
  if (tests.length <= MOST) return shown(tests);
  const hidden = tests.slice(MOST - LAST - 1, -LAST);
  const passed = hidden.filter((decision) => decision.accepted).length;
  const words = passed === hidden.length ? "all pass" : passed ? `${passed} pass` : "all fail";
  const rest = h("li.cp-test.hp-hint", `… ${hidden.length} more, ${words}`);
  return [...shown(tests.slice(0, MOST - LAST - 1)), rest, ...shown(tests.slice(-LAST))];
}

function chip(view, { node, test, order, accepted, ...decision }, select) {
  const [coin, threshold] = pair(...decision.sides);
  const position = view.depth.get(node);
  const what = {
    draft: view.isTrie ? `whole draft of ${position}` : "whole draft",
    prefix: position === 1 ? "first token" : `first ${position}`,
    token: `token ${position}`,
  }[test];
  const [low, high] = decision.coinless ? ["bar", "p"] : ["coin", "threshold"];
  const title = `${low} ${coin}, ${high} ${threshold}: ${accepted ? "passes" : "fails"}`;
  const action = h(
    "button.cp-test-button",
    { type: "button", title, onclick: () => select(node) },
    h("span.cp-order", order),
    h("span", what),
    test === "token" || view.isTrie ? token(view.nodes.get(node).piece, { cells: 10 }) : null,
    h("span.cp-numbers", `${coin} ${accepted ? "<" : "≥"} ${threshold}`),
    h("span.cp-verdict", accepted ? "✓" : "✕"),
  );
  return h(`li.cp-test.is-${accepted ? "pass" : "fail"}`, { "data-node": node }, action);
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
