// What a race here would be: its prompt, what all lanes share, and the lanes, each with the options
// of its own. Which those are stands in the schema of options. The server says what the lanes are
// called, and in one line what is wrong.
import { ask, Refusal } from "../answers/answers.js";
import { find, h } from "../kit/dom.js";
import { facts } from "../kit/facts.js";
import { form } from "../kit/form.js";
import { button, menu } from "../kit/controls.js";

const BURST = 200; // milliseconds without a change
const PROPERTIES = facts.options.properties;

const scoped = (/** @type {string} */ wanted) =>
  Object.keys(PROPERTIES).filter((name) => PROPERTIES[name].scope === wanted);
const field = (/** @type {string} */ words, /** @type {HTMLElement} */ control) =>
  h("label.hf-labelled-field", words, " ", control);

class Setup {
  lanes = /** @type {SetupLane[]} */ ([]);
  shares = [...scoped("shared"), "gamma"];
  asking = 0; // how often the server was asked
  timer = 0;
  list = h("ol.hf-lanes");
  problem = h("p.hp-problem", { role: "alert", hidden: true });

  /** @param {Values} about - the answer to ask("page") */
  constructor({ pairs, race }) {
    const later = () => this.later();
    this.race = race;
    const times = race.rounds.map((/** @type {number} */ n) => {
      const words = n === 1 ? "once" : `${n} times`;
      return [n, words];
    });
    const titles = pairs.map((/** @type {Named} */ { name, title }) => [name, title]);
    this.prompt = h("textarea.hp-box.hf-prompt", {
      "rows": 1,
      "aria-label": "prompt of the race",
      "oninput": later,
    });
    this.pair = menu("pair", titles, "", later);
    this.rounds = menu("how often each lane is timed", times, "", later);
    /** @type {FormOptions["changed"]} */
    const changed = (name, value) => (name === "gamma" ? this.draftAlike(value) : later());
    this.shared = form(facts.options, { only: this.shares, prefix: "hsd-race", changed });
    const another = () => this.append(this.lanes.at(-1)?.values() ?? {});
    this.add = button("Add a lane", "another lane, as the last one", another);
    const fields = h(
      "div.hp-row",
      field("Prompt", this.prompt),
      field("Pair", this.pair),
      field("timed", this.rounds),
    );
    const hint = "Plain decoding is the first lane. A lane may have a draft length of its own.";
    const lanes = [h("p.hp-hint", hint), this.list, h("div.hp-row", this.add)];
    this.element = h("div.hf-setup", fields, this.shared.element, lanes, this.problem);
  }

  /** The values of every lane. */
  get own() {
    return this.lanes.map((lane) => lane.values());
  }

  /** All that is set up, as `stream("race", …)` and `ask("race_plan", …)` take it. */
  values() {
    return {
      prompt: this.prompt.value,
      pair: this.pair.value,
      rounds: this.rounds.value,
      ...this.shared.values(),
      lanes: this.own,
    };
  }

  /** Set up what a race has. @param {RaceHeader} header */
  set({ link, lanes, rounds }) {
    const given = lanes.slice(1);
    const gamma = given.find(({ own }) => own.gamma)?.own.gamma;
    // older races call max_new_tokens `length`
    const older = link.length ? { max_new_tokens: link.length } : {};
    /** @type {Values} */
    const values = { gamma, ...older, ...link };
    this.prompt.value = link.prompt;
    this.pair.value = link.pair ?? "";
    this.rounds.value = String(link.rounds ?? rounds);
    const shared = this.shares.map((name) => [name, values[name] ?? PROPERTIES[name].default]);
    this.shared.set(Object.fromEntries(shared));
    this.draw(given.map(({ own }) => own));
    this.name(lanes);
  }

  // ---- lanes

  draw(/** @type {Values[]} */ all) {
    this.lanes = all.map((values, i) => this.lane(values, i + 2));
    this.list.replaceChildren(...this.lanes.map(({ element }) => element));
    this.add.disabled = all.length + 1 >= this.race.lanes;
  }

  /** Show what the lanes of a plan are called. @param {RaceLane[]} lanes */
  name(lanes) {
    for (const [i, { title }] of this.lanes.entries()) {
      const { name, lossless } = lanes[i + 1];
      title.textContent = lossless ? name : `${name} ✕ not lossless`;
    }
  }

  change(/** @type {Values[]} */ all) {
    this.draw(all);
    this.later();
  }

  append(/** @type {Values} */ values) {
    this.change([...this.own, values]);
    const lane = this.lanes[this.lanes.length - 1];
    find("details", lane.element).setAttribute("open", "");
  }

  remove(/** @type {number} */ number) {
    this.change(this.own.toSpliced(number - 2, 1));
    this.add.focus();
  }

  /** Give all lanes one draft length. @param {unknown} gamma */
  draftAlike(gamma) {
    this.change(this.own.map((values) => ({ ...values, gamma })));
  }

  /** @type {(given: Values, number: number) => SetupLane} */
  lane(given, number) {
    const only = [...new Set(["system", ...scoped("lane")])];
    const changed = () => this.later();
    const options = form(facts.options, { only, prefix: `hsd-lane-${number}`, changed });
    options.set(given);
    const title = h("span.hf-name", "…");
    const remove = button("✕", `remove lane ${number}`, () => this.remove(number));
    const fold = h("details", h("summary", title), options.element);
    const element = h("li", { "data-lane": number }, fold, remove);
    return { element, title, values: options.values };
  }

  // ---- what the server says

  later() {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.ask(), BURST);
  }

  async ask() {
    this.asking += 1;
    const serial = this.asking;
    let plan = null;
    let problem = "";
    try {
      plan = await ask("race_plan", this.values());
    } catch (refusal) {
      if (!(refusal instanceof Refusal)) throw refusal;
      problem = refusal.message;
    }
    if (serial !== this.asking) return; // changed meanwhile
    this.problem.textContent = problem;
    this.problem.hidden = !problem;
    if (!plan) return;
    this.pair.value = plan.link.pair ?? ""; // the pair of a recorded race may not be here
    this.name(plan.lanes);
  }
}

export { Setup };
