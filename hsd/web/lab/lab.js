// The lab put together: one state, what follows from it, and the cards that show it. start(root)
// fills the lab's container and returns the lab. For tests, window.__hsdLab = {ready, ms, state,
// model, exact, step, message} mirrors the lab that changed last; ms is what the last
// change took.
import { h } from "../kit/dom.js";
import { addressBar, asked } from "../kit/link.js";
import * as page from "../kit/page.js";
import { button, said, say } from "../kit/controls.js";
import { draft } from "./draft.js";
import { enumerate } from "../rules/audit.js";
import { inputs } from "./inputs.js";
import { law } from "./law.js";
import { decode, encode, LinkError } from "./link.js";
import { results } from "./results.js";
import { pick } from "../rules/law.js";
import { drag, model, normalise, parse, preset, problems, reshape, tooLarge } from "./state.js";
import { tuning } from "./tuning.js";
import { capital } from "./words.js";

const INTRODUCTION =
  "Two or more tokens, no model: change what target and draft believe, and see by exact " +
  "arithmetic what every rule does with it.";

/** One line about the rows that are wrong: the first by name. @param {LabProblem[]} wrong */
function complaint(wrong) {
  const [first, ...others] = wrong;
  if (!first) return "";
  const words = capital(first.message);
  if (!others.length) return words;
  const are = others.length === 1 ? "row is" : "rows are";
  return `${words}, and ${others.length} more ${are} wrong`;
}

class Lab {
  state = preset("toy");
  valid = this.state; // the last one without a mistake
  model = model(this.state); // its numbers
  // the law of every rule; of the paper's one draft there is none
  /** @type {LabExact | null} */
  exact = null;
  /** @type {string | null} */
  presetName = null;
  message = ""; // what is wrong with the state
  exactKey = ""; // what the numbers were worked out for
  alert = h("p.hp-problem.hf-bad-link", { role: "alert" });

  constructor(/** @type {HTMLElement} */ root) {
    this.bar = addressBar("lab", () => ({ lab: encode(this.valid) }));
    const actions = this.actions();
    this.inputs = inputs(actions);
    this.results = results(actions);
    this.tuning = tuning(actions);
    this.law = law();
    this.draft = draft(actions);
    const shown = [this.results, this.tuning, this.law, this.draft]; // what follows from the state
    this.cards = shown.map(({ element }) => element);
    const copied = said("hf-copied");
    const copy = button("Copy link", "a link to all of this", async () =>
      copied.say(await this.bar.copyLink()),
    );
    const head = h(
      "header.hp-row.hf-lab-top",
      h("p.hp-hint", INTRODUCTION),
      h("div.hp-row", copied.element, copy),
    );
    root.replaceChildren(head, this.alert, this.inputs.element, ...this.cards);
    this.open(asked("lab").get("lab"));
    page.listen((what) => what === "tab" && this.bar.remember());
  }

  // ---- where a state comes from

  /** Show the state of a link; without one, the first preset. @param {string | null} link */
  open(link) {
    this.use(preset("toy"), "toy");
    if (!link) return;
    try {
      this.use(decode(link), null);
    } catch (error) {
      if (!(error instanceof LinkError)) throw error;
      say(
        this.alert,
        `This link cannot be read (${error.message}): the two-token toy is shown instead`,
      );
    }
  }

  use(/** @type {LabState} */ state, /** @type {string | null} */ presetName) {
    say(this.alert, "");
    this.presetName = presetName;
    this.state = state;
    this.refresh();
  }

  /** @returns {LabActions} */
  actions() {
    const look = (/** @type {Partial<LabState>} */ change) =>
      this.use({ ...this.state, ...change }, this.presetName);
    /** @type {(side: LabSide, t: number, row: string[]) => void} */
    const withRow = (side, t, row) => {
      const rows = this.state[side].with(t, row);
      this.use({ ...this.state, [side]: rows }, null);
    };
    return {
      preset: (name) => this.use(preset(name, this.state), name),
      reshape: (change) => {
        const name = change.gamma ? this.presetName : null;
        this.use(reshape(this.state, change), name);
      },
      cell: (side, t, i, text) => {
        const row = this.state[side][t];
        withRow(side, t, row.with(i, text));
      },
      drag: (side, t, i, value, before) => {
        const now = this.state[side][t];
        const start = before || now.map((text) => Math.max(parse(text) || 0, 0));
        withRow(side, t, drag(start, i, value));
        return start;
      },
      normalise: () => this.normalise(),
      rule: (rule) => look({ rule }),
      settings: (change) => look({ settings: { ...this.state.settings, ...change } }),
      token: (t, x) => look({ draft: this.state.draft.with(t, x) }),
      coin: (t, value) => look({ coins: this.state.coins.with(t, value) }),
      throwCoins: () => {
        const coins = this.state.coins.map(() => Math.floor(Math.random() * 100) / 100);
        look({ coins });
      },
      drawDraft: () => {
        const tokens = this.model.q.map((row) => pick(row, Math.random()));
        look({ draft: tokens });
      },
    };
  }

  normalise() {
    const { p, q } = this.state;
    const state = { ...this.state, p: [...p], q: [...q] };
    for (const { side, t } of problems(state)) state[side][t] = normalise(state[side][t]);
    this.use(state, null);
  }

  // ---- what follows from it

  refresh() {
    const begun = performance.now();
    const { state, presetName } = this;
    const large = tooLarge(state);
    const wrong = large ? [] : problems(state);
    const message = large || complaint(wrong);
    this.inputs.update({ state, problems: wrong, message, presetName });
    this.message = message;
    if (!message) {
      this.valid = state;
      this.compute();
      this.draw();
    }
    // while the input is wrong the last results stay, greyed and out of reach
    for (const element of this.cards) {
      element.classList.toggle("is-stale", Boolean(message));
      element.inert = Boolean(message);
    }
    this.bar.remember();
    this.mirror(performance.now() - begun);
  }

  /**
   * The exact numbers, worked out anew only when a probability, V, γ or a setting of a rule
   * changed.
   */
  compute() {
    const { kind, vocab, gamma, p, q, settings } = this.valid;
    const key = JSON.stringify([kind, vocab, gamma, p, q, settings]);
    if (key !== this.exactKey) {
      this.model = model(this.valid);
      this.exact = kind === "step" ? null : enumerate(this.model);
    }
    this.exactKey = key;
  }

  draw() {
    const { valid, model: numbers, exact } = this;
    this.results.element.hidden = !exact;
    this.law.element.hidden = !exact;
    if (exact) {
      const view = { valid, model: numbers, exact };
      this.results.update(view);
      this.law.update(view);
    }
    this.tuning.update({ valid, model: numbers });
    this.draft.update({ valid, model: numbers });
  }

  // ---- for tests

  /** @param {number} ms - what the last change took */
  mirror(ms) {
    const { valid, model: numbers, exact, message } = this;
    window.__hsdLab = {
      ready: true,
      ms,
      state: valid,
      model: numbers,
      exact,
      step: this.draft.step(),
      message,
    };
  }
}

const start = (/** @type {HTMLElement} */ root) => new Lab(root);

export { start };
