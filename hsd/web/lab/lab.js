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

/** One line about the rows that are wrong: the first by name. @param {LabProblem[]} wrong */
function complaint(wrong) {
  if (!wrong.length) return "";
  const more =
    wrong.length > 1 ? `, and ${wrong.length - 1} more ${wrong.length === 2 ? "row is" : "rows are"} wrong` : "";
  return capital(wrong[0].message) + more;
}

class Lab {
  state = preset("toy");
  valid = this.state; // the last one without a mistake
  model = model(this.state); // its numbers
  exact = /** @type {LabExact | null} */ (null); // the law of every rule; of the paper's one draft there is none
  presetName = /** @type {string | null} */ (null);
  message = ""; // what is wrong with the state
  exactKey = ""; // what the numbers were worked out for, and the simulation
  runKey = "";
  run = /** @type {LabRun | null} */ (null); // the simulation
  ms = 0; // what the last change took
  alert = h("p.hp-problem.hf-bad-link", { role: "alert" });

  constructor(/** @type {HTMLElement} */ root) {
    this.bar = addressBar("lab", () => ({ lab: encode(this.valid) }));
    const actions = this.actions();
    this.inputs = inputs(actions);
    this.results = results(actions);
    this.tuning = tuning(actions);
    this.law = law(actions);
    this.draft = draft(actions);
    this.cards = [this.results, this.tuning, this.law, this.draft].map(({ element }) => element); // of results
    const copied = said("hf-copied");
    const copy = button("Copy link", "a link to all of this", async () => copied.say(await this.bar.copyLink()));
    const head = h("header.hp-row.hf-lab-top", h("p.hp-hint", INTRODUCTION), h("div.hp-row", copied.element, copy));
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
      say(this.alert, `This link cannot be read (${error.message}): the two-token toy is shown instead`);
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
    const look = (/** @type {Partial<LabState>} */ change) => this.use({ ...this.state, ...change }, this.presetName);
    /** @type {(side: LabSide, t: number, row: string[]) => void} */
    const withRow = (side, t, row) => this.use({ ...this.state, [side]: this.state[side].with(t, row) }, null);
    return {
      preset: (name) => this.use(preset(name, this.state), name),
      reshape: (change) => this.use(reshape(this.state, change), change.gamma ? this.presetName : null),
      cell: (side, t, i, text) => withRow(side, t, this.state[side][t].with(i, text)),
      drag: (side, t, i, value, before) => {
        const start = before || this.state[side][t].map((text) => Math.max(parse(text) || 0, 0));
        withRow(side, t, drag(start, i, value));
        return start;
      },
      normalise: () => this.normalise(),
      rule: (rule) => look({ rule }),
      settings: (change) => look({ settings: { ...this.state.settings, ...change } }),
      seed: (text) => look({ seed: Math.min(Math.max(Math.floor(Number(text)) || 0, 0), 4294967295) }),
      token: (t, x) => look({ draft: this.state.draft.with(t, x) }),
      coin: (t, value) => look({ coins: this.state.coins.with(t, value) }),
      throwCoins: () => look({ coins: this.state.coins.map(() => Math.floor(Math.random() * 100) / 100) }),
      drawDraft: () => look({ draft: this.model.q.map((row) => pick(row, Math.random())) }),
      simulate: () => this.simulate(),
    };
  }

  normalise() {
    const bad = problems(this.state);
    const rows = (/** @type {LabSide} */ side) =>
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
    this.inputs.update({ state: this.state, problems: wrong, message, presetName: this.presetName });
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
    this.results.element.hidden = this.law.element.hidden = !exact;
    if (exact) {
      const view = { valid, model: numbers, exact, simulation: run, running: Boolean(run?.running) };
      this.results.update(view);
      this.law.update(view);
    }
    this.tuning.update({ valid, model: numbers });
    this.draft.update({ valid, model: numbers });
  }

  /** While the input is wrong the last results stay, greyed and out of reach. @param {boolean} stale */
  grey(stale) {
    for (const element of this.cards) {
      element.classList.toggle("is-stale", stale);
      element.inert = stale;
    }
  }

  // ---- simulation, in pieces between two frames, so that the page stays alive

  simulate() {
    const { valid, model: numbers, exact } = this;
    if (!exact) return;
    /** @type {LabRun} */
    const run = { ...simulation(numbers, valid.rule, valid.seed), history: [], running: true };
    this.run = run;
    const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    const more = () => {
      if (this.run !== run) return; // the inputs changed meanwhile
      run.run(still ? 10 * CHUNK : CHUNK);
      run.history.push({ trials: run.state.trials, ...meanKept(run.state) });
      run.running = run.state.trials < STEPS;
      if (!run.running || !still)
        this.law.update({ valid, model: numbers, exact, simulation: run, running: run.running });
      if (run.running) requestAnimationFrame(more);
      else this.mirror(this.ms);
    };
    this.law.update({ valid, model: numbers, exact, simulation: null, running: true });
    requestAnimationFrame(more);
  }

  // ---- for tests

  /** @param {number} ms - what the last change took */
  mirror(ms) {
    this.ms = ms;
    const { run, valid, model: numbers, exact, message } = this;
    const done = run && !run.running && run.state.trials === STEPS;
    window.__hsdLab = {
      ready: true,
      ms,
      state: valid,
      model: numbers,
      exact,
      step: this.draft.step(),
      message,
      simulated: done ? run.state : null,
    };
  }
}

const start = (/** @type {HTMLElement} */ root) => new Lab(root);

export { start };
