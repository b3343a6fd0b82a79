// What a race here would be: its prompt, what all lanes share, the lanes, each with the options that its system has.
// The server says what the lanes are called, and in one line what is wrong.
import { ask, Refusal } from "../answers/answers.js";
import { h } from "../kit/dom.js";
import { facts } from "../kit/facts.js";
import { form } from "../kit/form.js";
import { button, menu } from "../kit/parts.js";

const SHARED = ["temperature", "max_new_tokens", "seed", "gamma"];
const BURST = 200; // milliseconds without a change
const SERVER = { url: "", model: "" };
const SERVERS =
  "Counts and seconds only, as the server tells them; another model may run there. It stays out of links.";

class Setup {
  /** pairs: [{name, title}]. heard(plan): what the server says of what is set, or null where it refuses. */
  constructor(pairs, heard) {
    Object.assign(this, { heard, lanes: [], extra: {}, limits: null, timer: null, asking: 0 });
    this.prompt = h("textarea.sp-prompt", {
      "rows": 1,
      "aria-label": "prompt of the race",
      "oninput": () => this.later(),
    });
    this.pair = menu(
      "pair",
      pairs.map(({ name, title }) => [name, title]),
      "",
      () => this.later(),
    );
    this.rounds = menu("how often each lane is timed", [], "", () => this.later());
    const changed = (name, value) => (name === "gamma" ? this.draftAlike(value) : this.later());
    this.shared = form(facts.options, { only: SHARED, prefix: "hsd-race", changed });
    this.problem = h("p.hp-problem", { role: "alert", hidden: true });
    this.list = h("ol.sp-lanes");
    this.add = button("Add a lane", "another lane, as the last one", () =>
      this.append({ ...this.lanes.at(-1)?.values() }),
    );
    this.addServer = button("Add a server", SERVERS, () => this.append(SERVER), { hidden: true });
    const label = (words, control) => h("label.sp-field", words, " ", control);
    this.element = h(
      "div.sp-setup",
      h("div.sp-fields", label("Prompt", this.prompt), label("Pair", this.pair), label("timed", this.rounds)),
      this.shared.element,
      h("p.hp-hint", "Plain decoding is the first lane. γ above is that of every lane, unless one says otherwise."),
      this.list,
      h("div.sp-tools", this.add, this.addServer),
      this.problem,
    );
  }

  /** What is set: as `stream("race", …)` and `ask("race_plan", …)` take it. */
  values() {
    const own = { prompt: this.prompt.value, pair: this.pair.value, rounds: this.rounds.value };
    return { ...this.extra, ...own, ...this.shared.values(), lanes: this.lanes.map((lane) => lane.values()) };
  }

  /** Take over what a plan or a recorded race has: {link, lanes: [{name, own}], rounds}. */
  set({ link, lanes, rounds }) {
    const { prompt, pair = "", lanes: _, rounds: __, length, ...rest } = link;
    const given = lanes.filter(({ served }) => !served).slice(1);
    const shared = { max_new_tokens: length, ...rest, gamma: given.find(({ own }) => own.gamma)?.own.gamma };
    this.extra = Object.fromEntries(Object.entries(rest).filter(([name]) => !SHARED.includes(name)));
    this.prompt.value = prompt;
    this.pair.value = pair;
    this.wanted = String(rounds);
    this.shared.set(Object.fromEntries(SHARED.filter((name) => shared[name] !== undefined).map((n) => [n, shared[n]])));
    this.draw(given.map(({ own }) => own));
  }

  /** A plan of the server: what may be set, and what the lanes are called. */
  take({ limits, lanes }) {
    const times = limits.rounds.map((n) => [n, n === 1 ? "once" : `${n} times`]);
    if (!this.limits) {
      this.limits = limits;
      this.rounds.replaceChildren(...times.map(([value, words]) => h("option", { value }, words)));
      this.rounds.value = this.wanted;
      this.draw(this.lanes.map((lane) => lane.given));
    }
    this.addServer.hidden = !limits.server;
    for (const [i, lane] of this.lanes.entries()) lane.say(lanes[i + 1]);
    this.add.disabled = this.addServer.disabled = lanes.length >= limits.lanes;
  }

  // ---- lanes

  draw(all) {
    this.lanes = all.map((values, i) => this.lane(values, i));
    this.list.replaceChildren(...this.lanes.map(({ element }) => element));
  }

  append(values) {
    this.draw([...this.lanes.map((lane) => lane.values()), values]);
    this.lanes.at(-1).element.querySelector("details").open = true;
    this.later();
  }

  remove(i) {
    this.draw(this.lanes.map((lane) => lane.values()).toSpliced(i, 1));
    this.add.focus();
    this.later();
  }

  /** {element, given, values(), say(lane of a plan)}: `given` is what it was made with. */
  lane(given, i) {
    const served = "url" in given;
    const made = served ? this.server(given, i) : this.options(given, i);
    const title = h("span.sp-name", made.title);
    const remove = button("✕", `remove lane ${i + 2}`, () => this.remove(i));
    const body = h("details", h("summary", title), made.element);
    return {
      ...made,
      given,
      element: h("li", { "data-lane": i + 1 }, body, remove),
      say: ({ name, lossless }) => (title.textContent = name + (lossless || served ? "" : " ✕ not lossless")),
    };
  }

  options(given, i) {
    const names = this.limits ? this.limits.options.filter((name) => name in facts.options.properties) : ["rule"];
    const own = form(facts.options, { only: names, prefix: `hsd-lane-${i + 2}`, changed: () => this.later() });
    own.set(given);
    return { title: given.rule ?? "", element: own.element, values: () => (this.limits ? own.values() : given) };
  }

  server(given, i) {
    const box = (name, words, hint) =>
      h(
        "label.sp-field",
        words,
        " ",
        h("input.hp-field", {
          "value": given[name],
          "placeholder": hint,
          "data-field": name,
          "oninput": () => this.later(),
          "aria-label": `${words} of lane ${i + 2}`,
          "maxlength": 200,
        }),
      );
    const boxes = [box("url", "URL", "http://localhost:8000"), box("model", "model", "the only one")];
    const value = (label) => label.querySelector("input").value.trim();
    const values = () => ({ url: value(boxes[0]), model: value(boxes[1]) });
    return { title: "Server", element: h("div.sp-fields", boxes, h("p.hp-hint", SERVERS)), values };
  }

  /** One draft length for all lanes. */
  draftAlike(gamma) {
    this.draw(this.lanes.map((lane) => ("url" in lane.given ? lane.values() : { ...lane.values(), gamma })));
    this.later();
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
    if (plan) this.take(plan);
    this.heard(plan);
  }
}

export { Setup };
