// The tests, one by one: each in the order in which it was made, coin against threshold, with its
// formula, and what each rejection changed; beside it what the other rule does with the same drafts
// and coins.
import { h, prose, token } from "../kit/dom.js";
import { number, pair } from "../kit/format.js";
import { card, setSlider, slider } from "../kit/controls.js";
import { numbersOf, origin } from "./rejudge.js";
import { gauge, leaves, level } from "./cells.js";
import { note } from "./changes.js";
import { plain, say } from "./sentences.js";
import { formula } from "./formula.js";
import { changesOf, ruleInfo } from "./model.js";
import { testFacts, verdictFacts } from "./explain.js";

const MOST = 24; // tests of one rule that are shown at once

/**
 * The card of the tests: both rules' columns, and the averages over all coins.
 * @type {(view: View, actions: TestActions) => HTMLElement}
 */
function decisions(view, actions) {
  const { own, shadow } = view;
  const both = shadow && !view.sameRule ? [own, shadow] : [own];
  const coinless = both.find((judged) => judged.decisions.some((test) => test.coinless));
  const sign = coinless?.decisions.find((test) => test.coinless)?.sign;
  const groups = both.flatMap((judged) => [...judged.at.values()]);
  const shared = groups.some((tests) => tests.length > 1);
  const shorter =
    both.length === 2 && own.decisions.length <= both[1].decisions.length ? "own" : "other";
  const panels = both.map((judged) => panel(view, judged, actions));
  const hint = plain(
    say("tests_hint", { coinless: coinless?.info.capitalised_name, sign, shared }),
  );
  const duel = h("div", { class: `hp-duel is-under-${shorter}` }, panels, expected(view));
  return card("hp-decisions", "The tests, in the order taken", hint, duel);
}

/**
 * The column of a rule: its name, its tests in order, and what they keep.
 * @type {(view: View, judged: Judged, actions: TestActions) => HTMLElement}
 */
function panel(view, judged, actions) {
  const own = judged === view.own;
  const same = own ? "" : `: same ${view.isTrie ? "drafts" : "draft"}, same coins`;
  const next = own ? view.drawn : judged.next;
  const then = next && {
    next: { piece: next.piece, origin: next.origin, cells: 16 },
    origin: next.origin,
  };
  const told = judged.decisions.length || judged.info.own;
  const order = told ? say("order", verdictFacts(view, judged)) : ["no tests"];
  const shown = [
    h("h4.hp-subtitle", `${judged.info.title}${same}`),
    h("p.hp-hint", prose(order)),
    h("ol.hp-tests", entries(view, judged, actions)),
    h("p.hp-outcome", prose(say("tests_keep", { kept: judged.kept, ...then }))),
  ];
  return h(`div.hp-panel.is-${own ? "own" : "shadow"}`, { "data-rule": judged.rule }, shown);
}

/**
 * Tests and the changes between them. In a long list those in the middle are made when they are
 * asked for.
 * @type {(view: View, judged: Judged, actions: TestActions) => HTMLElement[]}
 */
function entries(view, judged, actions) {
  const changes = changesOf(judged);
  const kind = verdictFacts(view, judged);
  const make = (/** @type {ReadTest} */ decision, /** @type {number} */ i) => [
    test(view, judged, decision, { i, kind, ...actions }),
    ...changes
      .filter((change) => change.after === i + 1)
      .map((change) => note(view, judged, change)),
  ];
  const { decisions } = judged;
  const made = (from = 0, to = Infinity) =>
    decisions.slice(from, to).flatMap((decision, i) => make(decision, from + i));
  if (decisions.length <= MOST) return made();
  const from = MOST / 2;
  const to = decisions.length - MOST / 2;
  const passed = decisions.slice(from, to).some((decision) => decision.accepted);
  const words = `tests ${from + 1}–${to}${passed ? "" : ", all failed"}: show them`;
  const show = () => void more.replaceWith(...made(from, to));
  const button = h("button.hp-more", { type: "button", onclick: show }, words);
  const more = h("li.hp-moretests", button);
  return [...made(0, from), more, ...made(to)];
}

/**
 * A test as an item of the list: what it was, its coin against its threshold, and its formula.
 * @param {View} view
 * @param {Judged} judged
 * @param {ReadTest} decision
 * @param {{i: number, kind: VerdictFacts} & TestActions} how
 * @returns {HTMLElement}
 */
function test(view, judged, decision, { i, kind, select, coin }) {
  const facts = { ...kind, ...testFacts(view, judged, decision) };
  const { node, accepted } = decision;
  const { tree = "" } = origin(view, judged, node) ?? {};
  const from = view.isTrie ? null : leaves(tree).join(" ");
  const named = view.isTrie || decision.test === "token";
  const head = [
    h("i.hp-marker", i + 1),
    h("span.hp-what", plain(say("test_title", facts))),
    named && token(view.nodes.get(node).piece, { cells: 14 }),
    h("span.hp-grow"),
    h("span.hp-says", plain(say("says", facts))),
  ];
  return h(
    `li.hp-test.is-${accepted ? "pass" : "fail"}`,
    {
      "style": `--hp-turn:${Math.min(i, 12)}`,
      "data-node": node,
      "data-from": from,
      "onclick": () => select(node),
    },
    h("div.hp-test-head", head),
    coinLine(decision),
    formula(facts.place, numbersOf(view, decision), decision.threshold),
    view.isTrie || !coin || decision.coinless || view.own.info.own
      ? null
      : supposing(decision, coin),
  );
}

/**
 * A slider for the coin; letting go of it judges the draft again.
 * @type {(test: ReadTest, suppose: NonNullable<TestActions["coin"]>) => HTMLElement}
 */
function supposing({ node, coin }, suppose) {
  const input = slider("what if the coin had been", {
    max: 0.99,
    onchange: () => suppose(node, Number(input.value)),
  });
  setSlider(input, coin, number(coin));
  return h("label.hp-hint.hp-suppose", "what if the coin had been ", input);
}

/** The line with the coin, and both numbers. @type {(test: ReadTest) => HTMLElement[]} */
function coinLine({ sides, coinless, sign, accepted }) {
  const [low, high] = pair(...sides);
  const coin = coinless ? "bar" : "coin";
  const threshold = coinless ? sign : "threshold";
  const title = `${coin} ${sides[0]}, ${threshold} ${sides[1]}`;
  const words = `${coin} ${low} ${accepted ? "<" : "≥"} ${threshold} ${high}`;
  return [gauge(...sides), h("span.hp-sides", { title }, words)];
}

/**
 * E[kept] of this very draft for every rule, averaged over all coins: luck taken out.
 * @type {(view: View) => HTMLElement | null}
 */
function expected(view) {
  const entries = Object.entries(view.step.expected_kept);
  if (!entries.length) return null;
  const most = Math.max(view.deepest, 1);
  const own = (/** @type {[string, number]} */ [rule]) =>
    [view.own.rule, view.shadow?.rule].includes(rule);
  const others = entries.filter((entry) => !own(entry));
  const bar = (/** @type {[string, number]} */ [rule, kept]) => {
    const { short, lossless } = ruleInfo(rule);
    const name = h("span", short, lossless ? "" : " (not lossless)");
    const css = `hp-expect${rule === view.rule ? " is-own" : ""}`;
    return h("div", { class: css }, name, level("", kept / most, { words: number(kept) }));
  };
  const drafted = view.isTrie
    ? `of these drafts (${view.deepest} at most)`
    : `of these ${view.step.drafted} tokens`;
  const hint = h("p.hp-hint", `how many ${drafted} each rule keeps on average over all coins`);
  const more =
    others.length > 0 && h("details.hp-more-rules", h("summary", "more rules"), others.map(bar));
  return h(
    "div.hp-expected",
    h("h4.hp-subtitle", "Luck taken out"),
    hint,
    entries.filter(own).map(bar),
    more,
  );
}

export { decisions };
