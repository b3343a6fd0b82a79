// What a race here would be: its prompt, what all lanes share, and the lanes, each with the options of its own. Which
// those are stands in the schema of options. The server says what the lanes are called, and in one line what is wrong.
import { ask, Refusal } from "../answers/answers.js";
import { find, h } from "../kit/dom.js";
import { facts } from "../kit/facts.js";
import { form } from "../kit/form.js";
import { button, menu } from "../kit/parts.js";

const BURST = 200; // milliseconds without a change
const SERVER = { url: "", model: "" };
const SERVERS =
  "Counts and seconds only, as the server reports them; another model may run there. Its address stays out of links.";

const scoped = (/** @type {string} */ wanted) =>
  Object.entries(facts.options.properties).flatMap(([name, { scope }]) => (scope === wanted ? [name] : []));
const field = (/** @type {string} */ words, /** @type {HTMLElement} */ control) =>
  h("label.hf-labelled-field", words, " ", control);

class Setup {
  lanes = /** @type {SetupLane[]} */ ([]);
  shares = [...scoped("shared"), "gamma"];
  asking = 0; // how often the server was asked
  timer = 0;
  list = h("ol.hf-lanes");
  problem = h("p.hp-problem", { role: "alert", hidden: true });

  /** about: what the page is made with. @param {Values} about */
  constructor({ pairs, race }) {
    const later = () => this.later();
    this.race = race;
    const times = race.rounds.map((/** @type {number} */ n) => [n, n === 1 ? "once" : `${n} times`]);
    const titles = pairs.map((/** @type {Named} */ { name, title }) => [name, title]);
    this.prompt = h("textarea.hp-box.hf-prompt", { "rows": 1, "aria-label": "prompt of the race", "oninput": later });
    this.pair = menu("pair", titles, "", later);
    this.rounds = menu("how often each lane is timed", times, "", later);
    /** @type {FormOptions["changed"]} */
    const changed = (name, value) => (name === "gamma" ? this.draftAlike(value) : later());
    this.shared = form(facts.options, { only: this.shares, prefix: "hsd-race", changed });
    const last = () => this.lanes.findLast((lane) => !lane.served)?.values() ?? {};
    this.add = button("Add a lane", "another lane, as the last one", () => this.append(last()));
    this.addServer = button("Add a server", SERVERS, () => this.append(SERVER), { hidden: !race.server });
    const fields = [field("Prompt", this.prompt), field("Pair", this.pair), field("timed", this.rounds)];
    this.element = h(
      "div.hf-setup",
      h("div.hp-row", fields),
      this.shared.element,
      h("p.hp-hint", "Plain decoding is the first lane. A lane may have a draft length of its own."),
      this.list,
      h("div.hp-row", this.add, this.addServer),
      this.problem,
    );
  }

  /** As `stream("race", …)` and `ask("race_plan", …)` take it. */
  values() {
    const own = { prompt: this.prompt.value, pair: this.pair.value, rounds: this.rounds.value };
    return { ...own, ...this.shared.values(), lanes: this.lanes.map((lane) => lane.values()) };
  }

  /** Take over what a race has. @param {RaceHeader} header */
  set({ link, lanes, rounds }) {
    const given = lanes.filter(({ served }) => !served).slice(1);
    const gamma = given.find(({ own }) => own.gamma)?.own.gamma;
    /** @type {Values} length: max_new_tokens, as it was called */
    const values = { gamma, ...(link.length && { max_new_tokens: link.length }), ...link };
    this.prompt.value = link.prompt;
    this.pair.value = link.pair ?? "";
    this.rounds.value = String(link.rounds ?? rounds);
    const usual = (/** @type {string} */ name) => facts.options.properties[name].default;
    this.shared.set(Object.fromEntries(this.shares.map((name) => [name, values[name] ?? usual(name)])));
    this.draw(given.map(({ own }) => own));
    this.name(lanes);
  }

  // ---- lanes

  draw(/** @type {Values[]} */ all) {
    this.lanes = all.map((values, i) => this.lane(values, i + 2));
    this.list.replaceChildren(...this.lanes.map(({ element }) => element));
    this.add.disabled = this.addServer.disabled = all.length + 1 >= this.race.lanes;
  }

  /** lanes: of a plan. @param {RaceLane[]} lanes */
  name(lanes) {
    for (const [i, { title, served }] of this.lanes.entries()) {
      const { name, lossless } = lanes[i + 1];
      title.textContent = name + (lossless || served ? "" : " ✕ not lossless");
    }
  }

  change(/** @type {Values[]} */ all) {
    this.draw(all);
    this.later();
  }

  append(/** @type {Values} */ values) {
    this.change([...this.lanes.map((lane) => lane.values()), values]);
    find("details", this.lanes[this.lanes.length - 1].element).setAttribute("open", "");
  }

  remove(/** @type {number} */ number) {
    this.change(this.lanes.map((lane) => lane.values()).toSpliced(number - 2, 1));
    this.add.focus();
  }

  /** One draft length for all lanes. @param {unknown} gamma */
  draftAlike(gamma) {
    this.change(this.lanes.map((lane) => ({ ...lane.values(), ...(lane.served ? {} : { gamma }) })));
  }

  /** @type {(given: Values, number: number) => SetupLane} */
  lane(given, number) {
    const served = "url" in given;
    const { element, values } = served ? this.server(given, number) : this.options(given, number);
    const title = h("span.hf-name", served ? "Server" : "…");
    const remove = button("✕", `remove lane ${number}`, () => this.remove(number));
    const item = h("li", { "data-lane": number }, h("details", h("summary", title), element), remove);
    return { element: item, title, served, values };
  }

  options(/** @type {Values} */ given, /** @type {number} */ number) {
    const only = [...new Set(["system", ...scoped("lane")])];
    const made = form(facts.options, { only, prefix: `hsd-lane-${number}`, changed: () => this.later() });
    made.set(given);
    return made;
  }

  server(/** @type {Values} */ given, /** @type {number} */ number) {
    /** @type {(name: string, words: string, placeholder: string) => HTMLInputElement} */
    const box = (name, words, placeholder) => {
      const names = { "data-field": name, "aria-label": `${words} of lane ${number}`, placeholder, "maxlength": 200 };
      return h("input.hp-field", { value: given[name], oninput: () => this.later(), ...names });
    };
    const [url, model] = [box("url", "URL", "http://localhost:8000"), box("model", "model", "the only one")];
    const values = () => ({ url: url.value.trim(), model: model.value.trim() });
    return { element: h("div.hp-row", field("URL", url), field("model", model), h("p.hp-hint", SERVERS)), values };
  }

  // ---- what the server says

  later() {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.ask(), BURST);
  }

  async ask() {
    const serial = (this.asking += 1);
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
    this.pair.value = plan.link.pair ?? ""; // another one where that of a recorded race is not here
    this.name(plan.lanes);
  }
}

export { Setup };
