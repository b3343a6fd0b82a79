// What a visitor asks for: the strip with a recorded run, a prompt, Run and Cancel, and the options behind it.
import { why } from "../answers/answers.js";
import { h } from "../kit/dom.js";
import { facts } from "../kit/facts.js";
import { form } from "../kit/form.js";
import { fit } from "./matching.js";

const part = (name) => document.getElementById(`hsd-${name}`);

/** Which models run, asked for beside the options. */
const MODELS = {
  pair: {
    type: "string",
    title: "Pair",
    description: "Two models that share a vocabulary.",
    menu: true,
    group: "models",
    default: "",
  },
  target: {
    type: "string",
    title: "Own target",
    description: "Folder or Hub id, instead of the pair.",
    group: "more",
    default: "",
  },
  draft: {
    type: "string",
    title: "Own draft",
    description: "Needs the target's tokenizer.",
    group: "more",
    default: "",
  },
};

/** The form's schema: the models, and the options within the limits of this place. */
function schemaOf(limits) {
  const within = ([name, one]) => [name, name in limits ? { ...one, maximum: limits[name] } : one];
  const properties = { ...MODELS, ...Object.fromEntries(Object.entries(facts.options.properties).map(within)) };
  return { ...facts.options, properties };
}

class Setup {
  /**
   * told: of the page, see hsd/app/site.py. run(), cancel(), preset(name), pair(name): what a visitor wants; judge(rule):
   * judge what is shown by this rule, and return whether that was possible.
   */
  constructor(told, { run, cancel, preset, pair, judge }) {
    Object.assign(this, { told, pair, judge });
    Object.assign(this, { pairs: null, repeated: null }); // those that are here; what made the recorded run that is shown
    this.prompt = part("prompt").querySelector("textarea");
    this.preset = part("preset");
    this.preset.addEventListener("change", () => preset(this.preset.value));
    this.live = !why("run");
    for (const name of ["prompt", "run", "cancel"]) part(name).hidden = !this.live;
    if (!this.live) return;
    this.starters = h("div.hf-starters", { "role": "group", "aria-label": "Prompts to start from" });
    this.schema = schemaOf(told.limits);
    const groups = [{ name: MODELS.pair.group }, ...facts.options.groups];
    this.form = form(this.schema, { groups, changed: (name, value) => this.changed(name, value) });
    for (const name of ["target", "draft"]) this.form.show(name, told.own);
    part("side").append(this.starters, this.form.element);
    part("strip").addEventListener("submit", (event) => {
      event.preventDefault();
      run();
    });
    part("cancel").addEventListener("click", cancel);
    this.prompt.addEventListener("input", () => this.typed());
    this.prompt.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey) return;
      event.preventDefault();
      run();
    });
  }

  /** All that is asked for, named as in a link. */
  get values() {
    return { prompt: this.prompt.value, ...this.form.values() };
  }

  /** Show what a link asks for. */
  set(values) {
    if (!this.live) return;
    if (values.pair) this.choosePair(values.pair, values);
    if (values.prompt !== undefined) this.prompt.value = values.prompt;
    this.form.set(values);
    this.mark(false);
  }

  /** Show what made a recorded run; if its pair is not here, what another is good at. */
  repeat(values) {
    Object.assign(this, { repeated: values, untouched: true });
    if (!this.live || !this.pairs) return; // until the pairs that are here are known
    const { name } = this.pairs.find((pair) => pair.name === values.pair) ?? this.pairs[0] ?? {};
    const [starter] = name === values.pair ? [] : (this.told.starters[name] ?? []);
    this.set({ ...this.usual, ...(starter ?? values), pair: name ?? values.pair });
  }

  /** Keep what was set and change what does not fit it. Another rule judges what is shown, without a new run. */
  changed(name, value) {
    if (name === "pair") {
      this.choosePair(value);
      this.pair(value);
    }
    this.untouched = false;
    this.form.set(fit({ ...this.usual, ...this.form.values() }, name));
    if (name !== "rule" || !this.judge(value)) this.mark(true);
  }

  /** The visitor's first prompt after a recorded run: a page that decodes in the browser begins with what it does fast and well. */
  typed() {
    if (this.untouched && this.told.browser) this.form.set(this.told.browser.begin);
    this.untouched = false;
    this.mark(true);
  }

  get usual() {
    return Object.fromEntries(Object.entries(this.schema.properties).map(([name, one]) => [name, one.default]));
  }

  /** What else goes with another pair: its draft length, whether it answers questions, prompts to start from. */
  choosePair(name, values = {}) {
    const { gamma, chats } = this.told.pairs.find((pair) => pair.name === name) ?? {};
    this.form.show("prompt_as", Boolean(chats));
    this.form.set({ pair: name, prompt_as: chats ? "chat" : "", ...(gamma && { gamma }), ...values });
    this.showStarters(this.told.starters?.[name] ?? []);
  }

  /** Pairs that can be chosen now: [{name, title}]. */
  offer(pairs) {
    const first = !this.pairs;
    this.pairs = pairs;
    this.form.offer(
      "pair",
      pairs.map(({ name, title }) => [name, title]),
    );
    if (first && this.repeated) this.repeat(this.repeated);
  }

  showStarters(list) {
    const chip = ({ label, ...values }) =>
      h("button.hf-starter", { type: "button", title: values.prompt, onclick: () => this.start(values) }, label);
    this.starters.hidden = !list.length;
    this.starters.replaceChildren(h("p.hp-name", "Prompts to start from"), ...list.map(chip));
  }

  start({ prompt, prompt_as }) {
    this.prompt.value = prompt;
    if (prompt_as) this.form.set({ prompt_as });
    this.mark(true);
  }

  /** Whether something was changed that needs a run. */
  mark(on) {
    part("strip").toggleAttribute("data-changed", on);
  }

  running(on) {
    part("run").disabled = on;
    part("cancel").disabled = !on;
  }
}

export { Setup };
