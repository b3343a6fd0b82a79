// The decision card: every test in the order in which it was made, coin against threshold, with its formula, and what
// each rejection changed; beside it what the other rule does with the same drafts and coins.
import { h, prose, token } from "../kit/dom.js";
import { number, pair, plural } from "../kit/format.js";
import { card, setSlider, slider } from "../kit/parts.js";
import { groundsOf } from "./arithmetic.js";
import { all, note } from "./changes.js";
import { formula } from "./formula.js";
import { ruleInfo } from "./model.js";
import { testTitle } from "./story.js";

const MOST = 24; // tests of one rule that are shown at once

/** Draw both columns of tests. coin(node, value): what if the coin had been another? */
function decisions(view, actions) {
  const shorter =
    view.shadow && view.own.decisions.length <= view.shadow.decisions.length && !view.sameRule ? "own" : "other";
  const second = view.sameRule ? sameNote() : view.shadow ? panel(view, view.shadow, false, actions) : null;
  const coin =
    "Each test throws one coin, a random number from 0 to 1. It passes if the coin falls below the threshold.";
  const coinless = [view.own, view.shadow].find((judged) => judged && judged.decisions.some((one) => one.coinless));
  const none = coinless ? ` ${coinless.info.head} throws none: p must be above a bar.` : "";
  const hint = `${coin}${none}${sharedNote(view)}`;
  return card(
    "hp-decisions",
    "The tests, in the order taken",
    hint,
    h("div", { class: `hp-duel is-under-${shorter}` }, panel(view, view.own, true, actions), second, expected(view)),
  );
}

/** Why one token has several tests. */
function sharedNote(view) {
  const repeats = (judged) => judged && [...judged.at.values()].some((tests) => tests.length > 1);
  const several = repeats(view.own) || repeats(view.shadow);
  return several ? " A token that several drafts drew stands in the tree once and may be tested for each." : "";
}

const sameNote = () =>
  h(
    "p",
    { class: "hp-note is-shadow" },
    "The rule to compare with is the run's own, so there is no second verdict. ",
    "Run it beside another rule to see where they part.",
  );

const DIRECTIONS = {
  "recursive-tokenwise": "one draft after another, each from its next token on, until one fails",
  "top-down": "from the root: the tokens drafted at a place are tried in turn, until one passes",
  "one-hot": "from the root: the tokens chosen at a place are tried in turn, until one passes",
  "traversal": "from the leaves: a path is kept, or its leaf is deleted and the rest is tested",
};

function direction({ rule, info }) {
  if (DIRECTIONS[rule]) return DIRECTIONS[rule];
  if (info.drafts) return "one draft after another, each from its whole length back, until one passes";
  return info.forward ? "from the first token on, until one fails" : "from the whole draft back, until one passes";
}

function panel(view, judged, own, actions) {
  const drafts = view.isTrie ? "drafts" : "draft";
  return h(
    "div",
    { "class": `hp-panel ${own ? "is-own" : "is-shadow"}`, "data-rule": judged.rule },
    h("h4", { class: "hp-subtitle" }, own ? judged.info.title : `${judged.info.title}: same ${drafts}, same coins`),
    h("p", { class: "hp-hint" }, judged.decisions.length ? direction(judged) : "no tests"),
    h("ol", { class: "hp-tests" }, entries(view, judged, actions)),
    h("p", { class: "hp-outcome" }, outcome(view, judged, own)),
  );
}

/** Tests and the changes between them. In a long list those in the middle are made when they are asked for. */
function entries(view, judged, actions) {
  const changes = all(view, judged);
  const make = (decision, i) => [
    test(view, judged, decision, i, actions),
    ...changes.filter((change) => change.after === i + 1).map((change) => note(view, judged, change)),
  ];
  const { decisions } = judged;
  if (decisions.length <= MOST) return decisions.flatMap(make);
  const [from, to] = [MOST / 2, decisions.length - MOST / 2];
  const middle = decisions.slice(from, to);
  const failed = middle.every((decision) => !decision.accepted) ? ", all failed" : "";
  const more = h(
    "li",
    { class: "hp-moretests" },
    h(
      "button",
      {
        type: "button",
        class: "hp-more",
        onclick: () => more.replaceWith(...middle.flatMap((decision, i) => make(decision, from + i))),
      },
      `tests ${from + 1}–${to}${failed}: show them`,
    ),
  );
  const ends = (decision, i) => (i < from || i >= to ? make(decision, i) : i === from ? [more] : []);
  return decisions.flatMap(ends);
}

function test(view, judged, decision, i, { select, coin }) {
  const position = view.depth.get(decision.node);
  const grounds = groundsOf(view, decision);
  const named = view.isTrie || decision.test === "token";
  return h(
    "li",
    {
      "class": `hp-test ${decision.accepted ? "is-pass" : "is-fail"}`,
      "style": `--hp-turn:${Math.min(i, 12)}`,
      "data-node": decision.node,
      "onclick": () => select(decision.node),
    },
    h(
      "div",
      { class: "hp-test-head" },
      h("span", { class: "hp-order" }, i + 1),
      h("span", { class: "hp-what" }, testTitle(view, decision, judged.info)),
      named ? token(view.nodes.get(decision.node).piece, { cells: 14 }) : null,
      h("span", { class: "hp-grow" }),
      h("span", { class: "hp-says" }, says(judged, decision)),
    ),
    coinLine(decision),
    formula(position, grounds, decision.threshold),
    exactVerdict(grounds, decision),
    view.isTrie || !coin || decision.coinless ? null : supposing(decision, coin),
  );
}

/** A slider for the coin; letting go of it judges the draft again. */
function supposing({ node, coin }, suppose) {
  const input = slider("what if the coin had been", { max: 0.99, onchange: () => suppose(node, Number(input.value)) });
  setSlider(input, coin, number(coin));
  return h("label.hp-hint.hp-suppose", "what if the coin had been ", input);
}

/** Of a token that passes because D ≤ T: what the exact test says of it. */
function exactVerdict({ form, exact }, { coin }) {
  if (form !== "near") return null;
  const [coinText, exactText] = pair(coin, exact);
  const said =
    coin < exact ? `${coinText} < ${exactText}, passed` : `${coinText} ≥ ${exactText}, rejected: kept all the same`;
  const css = `hp-hint hp-exact${coin < exact ? "" : " is-overruled"}`;
  return h("p", { class: css }, `exact test, coin against min(1, p/q): ${said}`);
}

const ENDINGS = {
  "recursive-tokenwise": ["passes", "fails: this draft ends here"],
  "top-down": ["passes: go on from it", "fails: rejected"],
  "one-hot": ["passes: go on from it", "fails: struck out"],
  "traversal": ["passes: keep the path to it", "fails: deleted"],
};

function says({ rule, info }, { accepted }) {
  const usual = info.forward ? ["passes", "fails: stop here"] : ["passes: keep these", "fails: step back"];
  const [passes, fails] = ENDINGS[rule] || usual;
  return accepted ? `✓ ${passes}` : `✕ ${fails}`;
}

/** A 0–1 line: the part below the threshold passes, and the coin lies on it. */
function coinLine({ sides, coinless, accepted }) {
  const [coin, threshold] = sides;
  const [coinText, thresholdText] = pair(coin, threshold);
  const low = `${coinless ? "bar" : "coin"} ${coinText}`;
  const high = `${coinless ? "p" : "threshold"} ${thresholdText}`;
  const at = (x) => `--hp-at:${(100 * Math.min(x, 1)).toFixed(2)}%`;
  return h(
    "div",
    { "class": "hp-coinline", "role": "img", "aria-label": `${low}, ${high}: ${accepted ? "passes" : "fails"}` },
    h("div", { class: "hp-coinlabel", style: at(coin) }, h("span", {}, low)),
    h(
      "div",
      { class: "hp-line" },
      h("div", { class: "hp-passzone", style: at(threshold) }),
      h("div", { class: "hp-tick", style: at(threshold) }),
      h("div", { class: "hp-coin", style: at(coin) }),
    ),
    h("div", { class: "hp-thresholdlabel", style: at(threshold) }, h("span", {}, high)),
  );
}

function outcome(view, judged, own) {
  const next = own ? view.drawn : judged.next;
  const gains = [{ strong: `keeps ${judged.kept}` }];
  if (next) gains.push(", then ", { piece: next.piece, origin: next.origin, cells: 16 }, ` (${next.origin})`);
  const unread = view.step.drafted - judged.at.size;
  if (judged.info.forward && unread > 0) gains.push(`; ${plural(unread, "token")} never looked at`);
  if (!own && judged.rule === "naive-hsd" && next && next.origin === "correction")
    gains.push("; what it would draw after that, at one target call each, is not worked out here");
  return prose(["→ ", ...gains]);
}

/** E[kept] of this very draft, averaged over all coins: luck taken out. */
function expected(view) {
  const entries = Object.entries(view.step.expected_kept);
  if (!entries.length) return null;
  const most = Math.max(view.deepest, 1);
  const judged = [view.own, view.shadow].filter(Boolean).map(({ rule }) => rule);
  const [both, others] = [true, false].map((of) => entries.filter(([rule]) => judged.includes(rule) === of));
  const bar = ([rule, kept]) =>
    h(
      "div",
      { class: `hp-expect${rule === view.rule ? " is-own" : ""}` },
      h("span", {}, ruleInfo(rule).short, ruleInfo(rule).lossless ? "" : " (not lossless)"),
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
    h("p", { class: "hp-hint" }, expectedWords(view)),
    both.map(bar),
    others.length ? h("details.hp-more-rules", h("summary", "more rules"), others.map(bar)) : null,
  );
}

function expectedWords({ isTrie, deepest, step }) {
  const average = "each rule keeps on average over all coins.";
  if (isTrie) return `how many tokens of these drafts (${deepest} at most) ${average}`;
  return `how many of these ${step.drafted} tokens ${average} A single draft can favour either; over all drafts HSD keeps at least as many as vanilla.`;
}

export { decisions };
