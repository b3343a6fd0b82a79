// What a race here would be: its prompt, what all lanes share, and the lanes, each with the options of its own. Which
// those are stands in the schema of options. The server says what the lanes are called, and in one line what is wrong.
import { ask, Refusal } from "../answers/answers.js";
import { h } from "../kit/dom.js";
import { facts } from "../kit/facts.js";
import { form } from "../kit/form.js";
import { button, menu } from "../kit/parts.js";

const BURST = 200; // milliseconds without a change
const SERVER = { url: "", model: "" };
const SERVERS =
  "Counts and seconds only, as the server reports them; another model may run there. Its address stays out of links.";

const scoped = (wanted) =>
  Object.entries(facts.options.properties).flatMap(([name, { scope }]) => (scope === wanted ? [name] : []));
const field = (words, control) => h("label.sp-field", words, " ", control);

class Setup {
  /** race: {lanes, rounds, server}, what may be asked for. heard(plan): what the server makes of what is set. */
  constructor({ pairs, race }, heard) {
    const later = () => this.later();
    Object.assign(this, { race, heard, lanes: [], timer: null, asking: 0, shares: [...scoped("shared"), "gamma"] });
    const times = race.rounds.map((n) => [n, n === 1 ? "once" : `${n} times`]);
    const titles = pairs.map(({ name, title }) => [name, title]);
    this.prompt = h("textarea.sp-prompt", { "rows": 1, "aria-label": "prompt of the race", "oninput": later });
    this.pair = menu("pair", titles, "", later);
    this.rounds = menu("how often each lane is timed", times, "", later);
    const changed = (name, value) => (name === "gamma" ? this.draftAlike(value) : later());
    this.shared = form(facts.options, { only: this.shares, prefix: "hsd-race", changed });
    this.problem = h("p.hp-problem", { role: "alert", hidden: true });
    this.list = h("ol.sp-lanes");
    const last = () => this.lanes.findLast((lane) => !lane.served)?.values() ?? {};
    this.add = button("Add a lane", "another lane, as the last one", () => this.append(last()));
    this.addServer = button("Add a server", SERVERS, () => this.append(SERVER), { hidden: !race.server });
    const fields = [field("Prompt", this.prompt), field("Pair", this.pair), field("timed", this.rounds)];
    this.element = h(
      "div.sp-setup",
      h("div.sp-fields", fields),
      this.shared.element,
      h("p.hp-hint", "Plain decoding is the first lane. A lane may have a draft length of its own."),
      this.list,
      h("div.sp-tools", this.add, this.addServer),
      this.problem,
    );
  }

  /** As `stream("race", …)` and `ask("race_plan", …)` take it. */
  values() {
    const own = { prompt: this.prompt.value, pair: this.pair.value, rounds: this.rounds.value };
    return { ...own, ...this.shared.values(), lanes: this.lanes.map((lane) => lane.values()) };
  }

  /** Take over what a race has: {link, lanes: [{name, own}], rounds}. */
  set({ link, lanes, rounds }) {
    const given = lanes.filter(({ served }) => !served).slice(1);
    const { length, ...shared } = { gamma: given.find(({ own }) => own.gamma)?.own.gamma, ...link };
    const values = { ...(length ? { max_new_tokens: length } : {}), ...shared }; // as it was called
    this.prompt.value = link.prompt;
    this.pair.value = link.pair ?? "";
    this.rounds.value = String(rounds);
    const usual = (name) => facts.options.properties[name].default;
    this.shared.set(Object.fromEntries(this.shares.map((name) => [name, values[name] ?? usual(name)])));
    this.draw(given.map(({ own }) => own));
    this.name(lanes);
  }

  // ---- lanes

  draw(all) {
    this.lanes = all.map((values, i) => this.lane(values, i + 2));
    this.list.replaceChildren(...this.lanes.map(({ element }) => element));
    this.add.disabled = this.addServer.disabled = all.length + 1 >= this.race.lanes;
  }

  /** lanes: of a plan. */
  name(lanes) {
    for (const [i, { title, served }] of this.lanes.entries()) {
      const { name, lossless } = lanes[i + 1];
      title.textContent = name + (lossless || served ? "" : " ✕ not lossless");
    }
  }

  change(all) {
    this.draw(all);
    this.later();
  }

  append(values) {
    this.change([...this.lanes.map((lane) => lane.values()), values]);
    this.lanes.at(-1).element.querySelector("details").open = true;
  }

  remove(number) {
    this.change(this.lanes.map((lane) => lane.values()).toSpliced(number - 2, 1));
    this.add.focus();
  }

  /** One draft length for all lanes. */
  draftAlike(gamma) {
    this.change(this.lanes.map((lane) => ({ ...lane.values(), ...(lane.served ? {} : { gamma }) })));
  }

  lane(given, number) {
    const served = "url" in given;
    const { element, values } = served ? this.server(given, number) : this.options(given, number);
    const title = h("span.sp-name", served ? "Server" : "…");
    const remove = button("✕", `remove lane ${number}`, () => this.remove(number));
    const item = h("li", { "data-lane": number }, h("details", h("summary", title), element), remove);
    return { element: item, title, served, values };
  }

  options(given, number) {
    const only = [...new Set(["system", ...scoped("lane")])];
    const made = form(facts.options, { only, prefix: `hsd-lane-${number}`, changed: () => this.later() });
    made.set(given);
    return made;
  }

  server(given, number) {
    const box = (name, words, placeholder) => {
      const names = { "data-field": name, "aria-label": `${words} of lane ${number}`, placeholder, "maxlength": 200 };
      return h("input.hp-field", { value: given[name], oninput: () => this.later(), ...names });
    };
    const [url, model] = [box("url", "URL", "http://localhost:8000"), box("model", "model", "the only one")];
    const values = () => ({ url: url.value.trim(), model: model.value.trim() });
    return { element: h("div.sp-fields", field("URL", url), field("model", model), h("p.hp-hint", SERVERS)), values };
  }

  // ---- what the server says

  later() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.ask(), BURST);
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
    this.heard(plan);
  }
}

export { Setup };
