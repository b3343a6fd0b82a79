// The fifth card: one draft under two rules with the same coins, drawn as a step of a run is.
import { h, prose } from "../kit/dom.js";
import { button, folded, menu, say, segments, setSlider, slider } from "../kit/parts.js";
import { CHAINS, lawOf, range, stops, USUAL, VANILLA } from "../rules/law.js";
import * as board from "../step/board.js";
import { decisions } from "../step/cards.js";
import { fold } from "../step/frame.js";
import { ledger } from "../step/ledger.js";
import { plan } from "../step/phases.js";
import { story } from "../step/sentences.js";
import { table } from "../step/table.js";
import { names } from "./state.js";
import { viewOf } from "./step.js";
import { PAPER_TEXT, paperSentence } from "./words.js";

const TITLES = /** @type {[string, string][]} */ ([...CHAINS.values()].map(({ name, title }) => [name, title]));
const HINT =
  "A test succeeds when its coin falls below its threshold. Drag a coin, open a test, or choose a token to see its branch.";

const FOLDS = /** @type {const} */ ([
  ["tests", "The tests, one by one", decisions],
  ["branch", "A branch in full: what could come next", ledger],
  ["numbers", "The numbers, token by token", table],
]);

/** The card. @param {LabActions} actions */
function draft(actions) {
  const rule = menu("Rule beside vanilla", TITLES, USUAL, actions.rule);
  const drawing = button("Draw a draft from q", "draw the tokens as the draft model does", actions.drawDraft);
  const throwing = button("Throw the coins", "new random coins", actions.throwCoins);
  const tools = h("div.hp-row", h("label.hf-label", "Rule beside vanilla", rule), drawing, throwing);
  const problem = h("p.hp-problem", { role: "status" });
  const spoken = h("div.hp-callout.hf-verdicts", { "aria-live": "polite" });
  const about = h("div.hf-paper");
  const list = h("ol.hf-positions");
  const coin = (/** @type {number} */ node, /** @type {number} */ value) =>
    actions.coin(node - 1, Math.round(100 * value) / 100);
  const test = () => open("tests");
  const grid = board.create({ open: ({ branch }) => select(branch), test, coin, judgeBy: actions.rule });
  const made = FOLDS.map(([name, title, draw]) => [name, { ...fold(title, () => fill(name)), draw }]);
  const folds = Object.fromEntries(made);
  const parts = Object.values(folds).map((one) => one.element);
  const step = h("div.hsd-player", grid.drawing, parts);
  const element = folded("hf-draft", "One draft, coin by coin", HINT, about, tools, problem, spoken, list, step);
  let [drawn, node] = ["", 0];
  let lines = /** @type {ReturnType<typeof position>[]} */ ([]);
  let view = /** @type {ReturnType<typeof viewOf> | null} */ (null);

  function update(/** @type {LabDraftView} */ { valid, model }) {
    const wanted = [valid.kind, valid.vocab, valid.gamma].join();
    if (wanted !== drawn) {
      lines = range(valid.gamma).map((i) => position(valid, i + 1, actions));
      list.replaceChildren(...lines.map((one) => one.element));
    }
    drawn = wanted;
    about.replaceChildren(...(valid.kind === "step" ? paper(valid, model) : []).map((text) => h("p", text)));
    rule.value = valid.rule;
    drawing.hidden = valid.kind === "step";
    for (const one of lines) one.update(valid, model);
    const never = impossible(valid, model);
    say(problem, never || "");
    step.hidden = spoken.hidden = Boolean(never);
    view = null;
    if (never) return;
    view = viewOf(valid, model);
    node = Math.min(node, valid.gamma);
    const { lead, detail, why, warning } = story(view);
    spoken.replaceChildren(
      ...[lead, detail, why, warning].filter((one) => one.length).map((one) => h("p", prose(one))),
    );
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

/** The token at a position and its coin. @type {(state: LabState, t: number, actions: LabActions) => {element: HTMLElement, update: (state: LabState, model: LabModel) => void}} */
function position(state, t, actions) {
  const tokens = segments(`token ${t}`, (/** @type {number} */ x) => actions.token(t - 1, x));
  const coin = slider(`coin of position ${t}`, { css: "is-coin", max: 0.99 });
  coin.addEventListener("input", () => actions.coin(t - 1, Number(coin.value)));
  const value = h("output");
  const element = h("li.hf-pos", { "data-position": t }, h("span.hf-place", t), tokens.element, coin, value);

  function update(/** @type {LabState} */ { kind, draft: chosen, vocab, coins }, /** @type {LabModel} */ { q }) {
    const offers = names({ ...state, kind, vocab }, t - 1).slice(0, kind === "step" ? 1 : vocab); // the paper lists one
    tokens.set(chosen[t - 1], [...offers.entries()]);
    for (const [i, input] of [...tokens.element.querySelectorAll("input")].entries()) {
      input.disabled = q[t - 1][i] === 0;
      input.parentElement?.setAttribute("title", input.disabled ? "q is 0: never drafted" : "");
    }
    say(value, String(coins[t - 1]));
    setSlider(coin, coins[t - 1], value.textContent);
  }

  return { element, update };
}

/** What is said about the paper's step. @type {(state: LabState, model: LabModel) => (string | null)[]} */
function paper({ draft: tokens }, { p, q }) {
  const of = (/** @type {string} */ name) => {
    const { threshold, forward } = lawOf(name, p, q, tokens);
    return stops(threshold, forward);
  };
  return [...PAPER_TEXT, paperSentence(of(USUAL), of(VANILLA))].filter(Boolean);
}

/** Why this draft cannot be judged; null where it can. @type {(state: LabState, model: LabModel) => string | null} */
function impossible(valid, { q }) {
  const t = valid.draft.findIndex((x, i) => q[i][x] === 0);
  const token = t < 0 ? null : names(valid, t)[valid.draft[t]];
  return token && `The draft never proposes “${token}” at position ${t + 1}, because q is 0 there: pick another token.`;
}

export { draft };
