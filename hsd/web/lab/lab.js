// The lab put together: one state, what follows from it, and the cards that show it.
// start(root) fills the lab's container and returns the lab. For tests, window.__hsdLab = {ready, ms, state, model,
// exact, step, message, simulated} mirrors the lab that changed last; ms is what the last change took.
import { h } from "../kit/dom.js";
import { addressBar, asked } from "../kit/link.js";
import * as page from "../kit/page.js";
import { button, said, say } from "../kit/parts.js";
import { draft } from "./draft.js";
import { enumerate } from "../rules/audit.js";
import { inputs } from "./inputs.js";
import { law } from "./law.js";
import { decode, encode, LinkError } from "./link.js";
import { results } from "./results.js";
import { pick } from "../rules/law.js";
import { meanKept, simulation } from "../rules/sample.js";
import { drag, model, normalise, parse, preset, problems, reshape, tooLarge } from "./state.js";
import { tuning } from "./tuning.js";
import { capital } from "./words.js";

const STEPS = 10000;
const CHUNK = 100;
const INTRODUCTION =
  "Two or more tokens, no model: change what target and draft believe, and see by exact arithmetic what every rule does with it.";

/** One line about the rows that are wrong: the first by name. */
function complaint(wrong) {
  if (!wrong.length) return "";
  const more =
    wrong.length > 1 ? `, and ${wrong.length - 1} more ${wrong.length === 2 ? "row is" : "rows are"} wrong` : "";
  return capital(wrong[0].message) + more;
}

class Lab {
  constructor(root) {
    this.exactKey = "";
    this.run = null; // the simulation: {state, history, run, running}
    this.bar = addressBar("lab", () => ({ lab: encode(this.valid) }));
    this.build(root);
    this.open(asked("lab").get("lab"));
    page.listen((what) => what === "tab" && this.bar.remember());
  }

  build(root) {
    const actions = this.actions();
    this.cards = {
      inputs: inputs(actions),
      results: results(actions),
      tuning: tuning(actions),
      law: law(actions),
      draft: draft(actions),
    };
    this.alert = h("p.hp-problem.hl-alert", { role: "alert" });
    const copied = said("hl-copied");
    const copy = button("Copy link", "a link to all of this", async () => copied.say(await this.bar.copyLink()));
    const head = h("header.hl-top", h("p.hp-hint", INTRODUCTION), h("div.hl-tools", copied.element, copy));
    root.replaceChildren(head, this.alert, ...Object.values(this.cards).map((one) => one.element));
  }

  // ---- where a state comes from

  open(link) {
    this.use(preset("toy"), "toy");
    if (!link) return;
    try {
      this.use(decode(link), null);
    } catch (error) {
      if (!(error instanceof LinkError)) throw error;
      say(this.alert, `This link cannot be read (${error.message}): the two-token toy is shown instead`);
    }
  }

  use(state, presetName) {
    say(this.alert, "");
    this.presetName = presetName;
    this.state = state;
    this.refresh();
  }

  actions() {
    const edit = (state) => this.use(state, null);
    const look = (change) => this.use({ ...this.state, ...change }, this.presetName);
    const replaced = (list, i, item) => list.map((old, j) => (j === i ? item : old));
    const withRow = (side, t, row) => edit({ ...this.state, [side]: replaced(this.state[side], t, row) });
    return {
      preset: (name) => this.use(preset(name, this.state), name),
      reshape: (change) => this.use(reshape(this.state, change), change.gamma ? this.presetName : null),
      cell: (side, t, i, text) => withRow(side, t, replaced(this.state[side][t], i, text)),
      drag: (side, t, i, value, before) => {
        const start = before || this.state[side][t].map((text) => Math.max(parse(text) || 0, 0));
        withRow(side, t, drag(start, i, value));
        return start;
      },
      normalise: () => this.normalise(),
      rule: (rule) => look({ rule }),
      settings: (change) => look({ settings: { ...this.state.settings, ...change } }),
      seed: (text) => look({ seed: Math.min(Math.max(Math.floor(Number(text)) || 0, 0), 4294967295) }),
      token: (t, x) => look({ draft: replaced(this.state.draft, t, x) }),
      coin: (t, value) => look({ coins: replaced(this.state.coins, t, value) }),
      throwCoins: () => look({ coins: this.state.coins.map(() => Math.floor(Math.random() * 100) / 100) }),
      drawDraft: () => look({ draft: this.model.q.map((row) => pick(row, Math.random())) }),
      simulate: () => this.simulate(),
    };
  }

  normalise() {
    const bad = problems(this.state);
    const rows = (side) =>
      this.state[side].map((cells, t) =>
        bad.some((one) => one.side === side && one.t === t) ? normalise(cells) : cells,
      );
    this.use({ ...this.state, p: rows("p"), q: rows("q") }, null);
  }

  // ---- what follows from it

  refresh() {
    const begun = performance.now();
    const wrong = tooLarge(this.state) ? [] : problems(this.state);
    const message = tooLarge(this.state) || complaint(wrong);
    this.cards.inputs.update({ state: this.state, problems: wrong, message, presetName: this.presetName });
    this.message = message;
    if (!message) {
      this.valid = this.state;
      this.compute();
      this.draw();
    }
    this.grey(Boolean(message));
    this.bar.remember();
    this.mirror(performance.now() - begun);
  }

  /** The exact numbers, worked out anew only when a probability, V, γ or a setting of a rule changed. */
  compute() {
    const { kind, vocab, gamma, p, q, rule, seed, settings } = this.valid;
    const key = JSON.stringify([kind, vocab, gamma, p, q, settings]);
    if (key !== this.exactKey) {
      this.model = model(this.valid);
      this.exact = kind === "step" ? null : enumerate(this.model);
    }
    const runKey = key + rule + seed;
    if (runKey !== this.runKey) this.run = null;
    this.exactKey = key;
    this.runKey = runKey;
  }

  draw() {
    const { valid, model: numbers, exact, run } = this;
    const view = { valid, model: numbers, exact, simulation: run, running: run && run.running };
    this.cards.results.element.hidden = this.cards.law.element.hidden = !exact;
    if (exact) {
      this.cards.results.update(view);
      this.cards.law.update(view);
    }
    this.cards.tuning.update(view);
    this.cards.draft.update(view);
  }

  /** While the input is wrong the last results stay, greyed and out of reach. */
  grey(stale) {
    const { inputs: own, ...others } = this.cards;
    for (const { element } of Object.values(others)) {
      element.classList.toggle("is-stale", stale);
      element.inert = stale;
    }
  }

  // ---- simulation, in pieces between two frames, so that the page stays alive

  simulate() {
    const { rule, seed } = this.valid;
    const run = { ...simulation(this.model, rule, seed), history: [], running: true };
    this.run = run;
    const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    const more = () => {
      if (this.run !== run) return; // the inputs changed meanwhile
      run.run(still ? 10 * CHUNK : CHUNK);
      run.history.push({ trials: run.state.trials, ...meanKept(run.state) });
      run.running = run.state.trials < STEPS;
      if (!run.running || !still)
        this.cards.law.update({ valid: this.valid, exact: this.exact, simulation: run, running: run.running });
      if (run.running) requestAnimationFrame(more);
      else this.mirror(window.__hsdLab.ms);
    };
    this.cards.law.update({ valid: this.valid, exact: this.exact, simulation: null, running: true });
    requestAnimationFrame(more);
  }

  // ---- for tests

  mirror(ms) {
    const { run, valid, model: numbers, exact, message } = this;
    const done = run && !run.running && run.state.trials === STEPS;
    window.__hsdLab = {
      ready: true,
      ms,
      state: valid,
      model: numbers,
      exact,
      step: this.cards.draft.step(),
      message,
      simulated: done ? run.state : null,
    };
  }
}

const start = (root) => new Lab(root);

export { start, Lab, STEPS };
