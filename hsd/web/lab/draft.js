// The fifth card: one draft under two rules with the same coins, position by position.
import { h, SIGNS } from "../kit/dom.js";
import { subscript } from "../kit/format.js";
import { button, folded, menu, say } from "../kit/parts.js";
import { position, value } from "./position.js";
import { CHAINS, expectedKept, explain, lawOf, next, range, stops, USUAL, VANILLA } from "../rules/law.js";
import { names } from "./state.js";
import {
  averageWords,
  capital,
  named,
  nextWords,
  PAPER_TEXT,
  paperSentence,
  short,
  tests,
  verdictSentence,
} from "./words.js";

const RULES = [...CHAINS.values()];
const FORWARD = capital(named(RULES.filter(({ forward }) => forward).map(({ short: words }) => words)));

/** actions: token(t, x), coin(t, value), rule(name), throwCoins(), drawDraft(). */
function draft(actions) {
  const beside = "Rule beside vanilla";
  const titles = RULES.map(({ name, title }) => [name, title]);
  const rule = menu(beside, titles, null, actions.rule);
  const drawing = button("Draw a draft from q", "draw the tokens as the draft model does", actions.drawDraft);
  const throwing = button("Throw the coins", "new random coins", actions.throwCoins);
  const tools = h("div.hl-tools", h("label.hl-label", beside, rule), drawing, throwing);
  const spoken = h("div.hl-say.hl-verdicts", { "aria-live": "polite" });
  const problem = h("p.hp-problem", { role: "status" });
  const about = h("div.hl-about");
  const root = h("p.hl-root");
  const list = h("ol.hl-positions");
  const ends = h("div.hl-ends");
  const element = folded(
    "hl-draft",
    "One draft, coin by coin",
    `A test succeeds when its coin falls below its threshold h. ${FORWARD} ask from the first token on; the other rules from the whole draft back.`,
    about,
    tools,
    problem,
    spoken,
    list,
    root,
    ends,
  );
  let drawn = "";
  let lines = [];

  function update({ valid, model }) {
    const wanted = [valid.kind, valid.vocab, valid.gamma].join();
    if (wanted !== drawn) {
      lines = range(valid.gamma).map((i) => position(valid, i + 1, actions));
      list.replaceChildren(...lines.map((one) => one.element));
    }
    drawn = wanted;
    about.replaceChildren(...(valid.kind === "step" ? paper(valid, model) : []).map((text) => h("p", text)));
    rule.value = valid.rule;
    drawing.hidden = valid.kind === "step";
    const view = judge(valid, model);
    const never = impossible(view);
    say(problem, never || "");
    for (const one of lines) one.update(view);
    for (const part of [spoken, root, ends]) part.hidden = Boolean(never);
    if (never) return;
    speak(spoken, view);
    say(root, rootWords(view));
    ends.replaceChildren(...view.judged.map((one) => ending(view, one)));
  }

  return { element, update };
}

/** What is said about the paper's step. */
function paper({ draft: tokens }, { p, q }) {
  const of = (name) => chances(lawOf(name, p, q, tokens));
  return [...PAPER_TEXT, paperSentence(of(USUAL), of(VANILLA))].filter(Boolean);
}

/** Everything that the card shows about the draft. judged: vanilla, and the chosen rule if it is another. */
function judge(valid, model) {
  const { p, q } = model;
  const judged = [...new Set([VANILLA, valid.rule])].map((name) => {
    const law = lawOf(name, p, q, valid.draft, model.settings);
    return {
      name,
      law,
      ...tests(law, valid.coins, model.settings),
      facts: explain(law),
      average: expectedKept(law),
      stop: chances(law),
    };
  });
  return { valid, model, judged, facts: judged[judged.length - 1].facts };
}

const chances = ({ threshold, forward }) => stops(threshold, forward);

function impossible({ valid, model }) {
  const t = valid.draft.findIndex((x, i) => model.q[i][x] === 0);
  return t < 0
    ? null
    : `The draft never proposes “${names(valid, t)[valid.draft[t]]}” at position ${t + 1}, because q is 0 there: pick another token.`;
}

function speak(element, { valid, judged }) {
  const sentences = judged.map((one) => verdictSentence(one, valid.coins)).reverse();
  sentences.push(averageWords(judged));
  while (element.children.length < sentences.length) element.append(h("p"));
  while (element.children.length > sentences.length) element.lastChild.remove();
  sentences.forEach((text, i) => say(element.children[i], text));
}

function rootWords({ judged, facts }) {
  const { name, law } = judged[judged.length - 1];
  if (law.forward) return "";
  return `If no test passes, nothing is kept: at the root S = ${value(facts[0].deficient)} and E = ${value(facts[0].excess)} under ${short(name)}.`;
}

// ---- what follows

function ending({ valid, model }, { name, law, kept, facts }) {
  const { gamma } = valid;
  const bonus = kept === gamma;
  const origin = bonus ? "bonus" : "correction";
  const step = valid.kind === "step";
  const row = next(law, kept);
  const chips = valid.draft.map((x, i) =>
    i < kept
      ? h("span.hl-chip.is-kept", `✓ ${names(valid, i)[x]}`)
      : h("span.hl-chip.is-cut", `✕ ${names(valid, i)[x]}`),
  );
  chips.push(h(`span.hl-chip.is-${origin}`, `${SIGNS[origin]} ${origin}`));
  return h(
    "section.hl-end",
    { "data-rule": name },
    h("h4.hp-title", `${capital(short(name))} keeps ${kept} of ${gamma}`),
    h("p.hl-chips", chips),
    h("p.hp-hint", nextWords(name, kept, gamma, bonus ? { follow: law.recipe.follow } : residualOf(law, facts[kept]))),
    bonus && step
      ? h("p", `The paper does not list p${subscript(gamma)}, so its bars are not drawn.`)
      : h(
          `ul.hl-next${step ? ".is-long" : ""}`,
          row.map((mass, i) => nextBar(names(valid, kept)[i], mass, origin)),
        ),
  );
}

/** What the correction is drawn from: whole is set where q plays no part in it. */
const residualOf = ({ recipe }, { weight, deficient }) => ({
  weight: value(weight),
  mass: deficient,
  whole: recipe.b === 0,
  certain: recipe.certain,
  race: recipe.race,
  follow: recipe.follow,
});

function nextBar(token, mass, origin) {
  const bar = h(`span.hp-swatch.is-${origin}`, { style: `width:${100 * mass}%` });
  return h(
    "li",
    h("span.hl-token", token),
    h("span.hl-nextbar", { "aria-hidden": "true" }, bar),
    h("span.hl-figure", value(mass)),
  );
}

export { draft };
