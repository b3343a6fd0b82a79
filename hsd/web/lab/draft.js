// The fifth card: one draft under two rules with the same coins, drawn as a step of a run is.
import { h, prose } from "../kit/dom.js";
import { button, folded, menu, say, segments, setSlider, slider } from "../kit/controls.js";
import { CHAINS, lawOf, range, stops, USUAL, VANILLA } from "../rules/law.js";
import * as board from "../step/board.js";
import { decisions } from "../step/cards.js";
import { fold } from "../step/frame.js";
import { ledger } from "../step/ledger.js";
import { plan } from "../step/phases.js";
import { story } from "../step/explain.js";
import { table } from "../step/table.js";
import { names } from "./state.js";
import { viewOf } from "./step.js";
import { PAPER_TEXT, paperSentence } from "./words.js";

/** @type {[string, string][]} */
const TITLES = [...CHAINS.values()].map(({ name, title }) => [name, title]);
const HINT =
  "A test succeeds when its coin falls below its threshold. Drag a coin, open a test, or " +
  "choose a token to see its branch.";

const FOLDS = /** @type {const} */ ([
  ["tests", "The tests, one by one", decisions],
  ["branch", "A branch in full: what could come next", ledger],
  ["numbers", "The numbers, token by token", table],
]);

/** The card. @param {LabActions} actions */
function draft(actions) {
  const rule = menu("Rule beside vanilla", TITLES, USUAL, actions.rule);
  const drawing = button(
    "Draw a draft from q",
    "draw the tokens as the draft model does",
    actions.drawDraft,
  );
  const throwing = button("Throw the coins", "new random coins", actions.throwCoins);
  const tools = h(
    "div.hp-row",
    h("label.hf-label", "Rule beside vanilla", rule),
    drawing,
    throwing,
  );
  const problem = h("p.hp-problem", { role: "status" });
  const spoken = h("div.hp-callout.hf-verdicts", { "aria-live": "polite" });
  const about = h("div.hf-paper");
  const list = h("ol.hf-positions");
  const coin = (/** @type {number} */ node, /** @type {number} */ value) =>
    actions.coin(node - 1, Math.round(100 * value) / 100);
  const test = () => open("tests");
  const grid = board.create({
    open: ({ branch }) => select(branch),
    test,
    coin,
    judgeBy: actions.rule,
  });
  const entries = FOLDS.map(([name, title, draw]) => {
    const folding = fold(title, () => fill(name));
    return [name, { ...folding, draw }];
  });
  const folds = Object.fromEntries(entries);
  const parts = Object.values(folds).map((part) => part.element);
  const step = h("div.hsd-player", grid.drawing, parts);
  const element = folded(
    "hf-draft",
    "One draft, coin by coin",
    HINT,
    about,
    tools,
    problem,
    spoken,
    list,
    step,
  );
  let drawn = "";
  let node = 0;
  /** @type {ReturnType<typeof position>[]} */
  let lines = [];
  /** @type {ReturnType<typeof viewOf> | null} */
  let view = null;

  function update(/** @type {LabDraftView} */ { valid, model }) {
    const wanted = [valid.kind, valid.vocab, valid.gamma].join();
    if (wanted !== drawn) {
      lines = range(valid.gamma).map((i) => position(i + 1, actions));
      list.replaceChildren(...lines.map((line) => line.element));
    }
    drawn = wanted;
    const sentences = valid.kind === "step" ? paper(valid, model) : [];
    about.replaceChildren(...sentences.map((text) => h("p", text)));
    rule.value = valid.rule;
    drawing.hidden = valid.kind === "step";
    for (const line of lines) line.update(valid, model);
    const never = impossible(valid, model);
    say(problem, never || "");
    step.hidden = Boolean(never);
    spoken.hidden = Boolean(never);
    view = null;
    if (never) return;
    view = viewOf(valid, model);
    node = Math.min(node, valid.gamma);
    const { lead, detail, why, warning } = story(view);
    const paragraphs = [lead, detail, why, warning].filter((words) => words.length);
    spoken.replaceChildren(...paragraphs.map((words) => h("p", prose(words))));
    const phases = plan(view);
    grid.draw(view, { plan: phases, selected: node });
    grid.beat(phases.total, true);
    Object.keys(folds).forEach(fill);
  }

  function select(/** @type {number} */ chosen) {
    node = chosen;
    grid.select(node);
    open("branch");
  }

  function open(/** @type {string} */ name) {
    folds[name].element.open = true;
    fill(name);
  }

  /** Draw the body of a fold, if it is open; each change draws it again. */
  function fill(/** @type {string} */ name) {
    const { element: unfolded, body, draw } = folds[name];
    body.replaceChildren(view && unfolded.open ? draw(view, { node, select, coin }) : "");
  }

  return { element, update, step: () => view && view.step };
}

/**
 * The line of a position: its drafted token, to be chosen from those at hand, and its coin.
 * @param {number} t - the position, from 1
 * @param {LabActions} actions
 */
function position(t, actions) {
  const tokens = segments(`token ${t}`, (/** @type {number} */ x) => actions.token(t - 1, x));
  const coin = slider(`coin of position ${t}`, { css: "is-coin", max: 0.99 });
  coin.addEventListener("input", () => actions.coin(t - 1, Number(coin.value)));
  const value = h("output");
  const element = h(
    "li.hf-pos",
    { "data-position": t },
    h("span.hf-place", t),
    tokens.element,
    coin,
    value,
  );

  /**
   * @param {LabState} now
   * @param {LabModel} model
   */
  function update(now, { q }) {
    const offers = names(now, t - 1);
    if (now.kind === "step") offers.splice(1); // the paper lists only the drafted token
    tokens.set(now.draft[t - 1], [...offers.entries()]);
    const inputs = [...tokens.element.querySelectorAll("input")];
    for (const [i, input] of inputs.entries()) {
      input.disabled = q[t - 1][i] === 0;
      input.parentElement?.setAttribute("title", input.disabled ? "q is 0: never drafted" : "");
    }
    const number = now.coins[t - 1];
    say(value, String(number));
    setSlider(coin, number, value.textContent);
  }

  return { element, update };
}

/**
 * The sentences about the paper's step.
 * @param {LabState} state
 * @param {LabModel} model
 */
function paper({ draft: tokens }, { p, q }) {
  const chances = (/** @type {string} */ name) => {
    const { threshold, forward } = lawOf(name, p, q, tokens);
    return stops(threshold, forward);
  };
  return [...PAPER_TEXT, paperSentence(chances(USUAL), chances(VANILLA))].filter(Boolean);
}

/**
 * The sentence that says why this draft cannot be judged; null where it can.
 * @type {(state: LabState, model: LabModel) => string | null}
 */
function impossible(valid, { q }) {
  const t = valid.draft.findIndex((x, i) => q[i][x] === 0);
  if (t < 0) return null;
  const token = names(valid, t)[valid.draft[t]];
  const never = `The draft never proposes “${token}” at position ${t + 1}`;
  return `${never}, because q is 0 there: pick another token.`;
}

export { draft };
