// What a visitor asks for: the strip with a recorded run, a prompt, Run and Cancel, and the options
// behind it.
import { why } from "../answers/answers.js";
import { button } from "../kit/controls.js";
import { find, h } from "../kit/dom.js";
import { facts } from "../kit/facts.js";
import { form } from "../kit/form.js";
import { control } from "./lists.js";
import { fit, levelled, lists, UNKNOWN } from "./matching.js";

const part = (/** @type {string} */ name) => find(`#hsd-${name}`);

/**
 * The schema of an option that names models.
 * @type {(title: string, description: string, group: string) => Property}
 */
const model = (title, description, group) => ({
  type: "string",
  title,
  description,
  group,
  default: "",
  scope: "",
});

/** The options that say which models run, beside those of facts. */
const MODELS = {
  pair: { ...model("Pair", "Two models that share a vocabulary.", "models"), menu: true },
  target: model("Own target", "Folder or Hub id, instead of the pair.", "more"),
  draft: model("Own draft", "Needs the target's tokenizer.", "more"),
};

// groups of options that any pair has
const STAYING = ["main", "rule", "drafts", "sampling", "more"];
/**
 * The form's schema: the models, and the options within the limits of this place.
 * @type {(limits: Record<string, number>) => {properties: Record<string, Property>}}
 */
function schemaOf(limits) {
  /** @type {Record<string, Property>} */
  const properties = { ...MODELS, ...facts.options.properties };
  for (const [name, maximum] of Object.entries(limits))
    if (name in properties) properties[name] = { ...properties[name], maximum };
  properties.stack = { ...properties.stack, menu: true };
  return { properties };
}

class Setup {
  pairs = /** @type {Named[]} */ ([]); // that are here
  shown = /** @type {Values} */ ({}); // what made the run that is shown
  chosen = ""; // the name of the preset or request that is shown
  busy = false; // a run goes on
  levels = UNKNOWN; // of the chosen pair
  live = !why("run");
  prompt = /** @type {HTMLTextAreaElement} */ (find("#hsd-prompt textarea"));
  preset = /** @type {HTMLSelectElement} */ (part("preset"));
  // of a watched server
  requests = h("optgroup", { label: "Requests of the server" });
  fetchable = h("div.hf-starters", { hidden: true });
  starters = h("div.hf-starters", { "role": "group", "aria-label": "Prompts to start from" });

  /**
   * @param {PageContents} contents
   * @param {SetupActions} actions
   */
  constructor(contents, { run, cancel, preset, request, pair, judge, judging }) {
    this.contents = contents;
    this.pair = pair;
    this.judge = judge;
    this.judging = judging;
    this.preset.addEventListener("change", () => {
      this.chosen = this.preset.value;
      const isRequest = this.requests.contains(this.preset.selectedOptions[0]);
      const open = isRequest ? request : preset;
      open(this.chosen);
    });
    for (const name of ["prompt", "run", "cancel"]) part(name).hidden = !this.live;
    this.sayWhy();
    this.schema = schemaOf(contents.limits);
    const groups = [{ name: "models" }, ...facts.options.groups];
    /** @type {FormOptions["changed"]} */
    const changed = (name, value) => this.changed(name, value);
    this.form = form(this.schema, { control, groups, changed });
    if (!this.live) return;
    for (const name of ["target", "draft"]) this.form.show(name, contents.own);
    part("side").append(this.starters, this.fetchable, this.form.element);
    part("run").addEventListener("click", run);
    part("cancel").addEventListener("click", cancel);
    this.prompt.addEventListener("input", () => this.typed());
    this.prompt.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey) return;
      event.preventDefault();
      run();
    });
  }

  /** Say in the strip and in the foot why a page that decodes cannot do so in this browser. */
  sayWhy() {
    if (this.live || document.documentElement.dataset.answers !== "browser") return;
    const words = why("run");
    const reason = `${words[0].toUpperCase()}${words.slice(1)}.`;
    part("strip").append(h("p.hf-refused", reason));
    find(".hf-decodes").textContent = reason;
  }

  /** All that is set, named as in a link. @returns {Values} */
  get values() {
    return this.live ? { prompt: this.prompt.value, ...this.form.values() } : {};
  }

  /**
   * All that is set, to be run by a pair that is here. Options that say how much is drafted and how
   * tokens are drawn stay as they are shown.
   */
  toRun() {
    const { values, usual } = this;
    if (!values.pair || this.isHere(values.pair)) return values;
    const stays = /** @type {Values} */ ({});
    for (const [name, { group = "" }] of Object.entries(this.schema.properties))
      if (STAYING.includes(group)) stays[name] = values[name];
    this.choosePair(this.first, stays, usual);
    this.form.set(fit(this.complete, "pair", this.levels));
    return this.values;
  }

  /** The name of the pair to take where none is named. */
  get first() {
    return this.pairs[0]?.name ?? "";
  }

  /** @param {string} name - of a pair */
  isHere(name) {
    return this.pairs.some((pair) => pair.name === name);
  }

  /** Show in the menu which run is shown. @param {string} name - of a preset or request, or "" */
  choose(name) {
    this.chosen = name;
    this.preset.value = name;
  }

  /** List the requests of a watched server. @param {ListedRequest[]} requests */
  list(requests) {
    const options = requests.map(({ name, title, finished }) =>
      h("option", { value: name }, finished ? title : `● ${title}`),
    );
    this.requests.replaceChildren(...options);
    this.preset.prepend(this.requests);
    this.choose(this.chosen);
  }

  /** Show what a link asks for. @param {Values} values */
  set(values) {
    if (!this.live) return;
    this.offer(this.pairs, values.pair);
    this.choosePair(values.pair ?? (values.target ? "" : this.first), values, this.usual);
    this.prompt.value = values.prompt;
    this.mark();
  }

  /** Take a prompt that was typed, unless it is empty. @param {string} prompt */
  ask(prompt) {
    if (prompt) this.prompt.value = prompt;
    this.mark();
  }

  /** Show what made the run that is shown. @param {Values} values */
  repeat(values) {
    this.set(values);
    this.shown = this.values;
    this.mark();
  }

  /**
   * Keep the option that was set, and change others that do not fit it. Another rule judges what is
   * shown, without a new run.
   * @type {(name: string, value: any) => void}
   */
  changed(name, value) {
    if (name === "pair") {
      this.choosePair(value, { stack: [], exits: [], thresholds: [] });
      this.pair(value);
    }
    if (name === "system") this.form.set({ thresholds: [], level_rules: [] });
    this.form.set(fit(this.complete, name, this.levels));
    this.fitLevels();
    if (name === "rule") this.judge(value);
    this.mark();
  }

  /**
   * Take the levels of the chosen pair, see matching.js.
   * @param {PairLevels} [levels] - none of a pair that does not say
   */
  know(levels) {
    if (!this.live) return;
    const same = !this.differs(this.shown);
    this.levels = levels ?? UNKNOWN;
    this.fitLevels();
    if (same) this.shown = { ...this.shown, ...this.values };
    this.mark();
  }

  /**
   * Give the lists of levels as many entries as the chosen models have, and a stack that they make.
   */
  fitLevels() {
    // the thresholds of a stack say how much is drafted
    this.form.show("gamma", this.complete.system !== "stack");
    this.form.set(levelled(this.complete, this.levels));
    const entries = lists(this.complete, this.levels);
    for (const [name, offered] of Object.entries(entries)) this.form.offer(name, offered);
  }

  /** Take a prompt that was typed, which is for a pair that is here. */
  typed() {
    this.toRun();
    this.mark();
  }

  /** The value of each option at first. @returns {Values} */
  get usual() {
    const { properties } = this.schema;
    const values = Object.keys(properties).map((name) => [name, properties[name].default]);
    return Object.fromEntries(values);
  }

  /** The values of all options, also of those that the form does not show. @returns {Values} */
  get complete() {
    return { ...this.usual, ...this.form.values() };
  }

  /**
   * Choose another pair, and what goes with it: its draft length, and whether it answers questions.
   * Values in `before` give way to these, those in `values` do not.
   * @type {(name: string, values?: Values, before?: Values) => void}
   */
  choosePair(name, values = {}, before = {}) {
    const { gamma, chats } = this.offered(name);
    this.form.show("prompt_as", Boolean(chats));
    const own = gamma ? { gamma } : {};
    this.form.set({
      ...before,
      prompt_as: chats ? "chat" : "",
      ...own,
      ...values,
      pair: name,
    });
    this.fitLevels();
    this.showStarters();
  }

  /**
   * The pair of this name as the page offers it; {} for any other.
   * @param {string} name
   * @returns {Partial<OfferedPair>}
   */
  offered(name) {
    return this.contents.pairs.find((pair) => pair.name === name) ?? {};
  }

  /**
   * Offer the pairs that can be chosen now. shown: the name of one that need not be here.
   * @type {(pairs: Named[], shown?: string) => void}
   */
  offer(pairs, shown = this.values.pair) {
    this.pairs = pairs;
    const choices = pairs.map(({ name, title }) => /** @type {Choice} */ ([name, title]));
    if (shown && !this.isHere(shown)) {
      const { title = shown } = this.offered(shown);
      choices.push([shown, `${title} – not here`]);
    }
    this.form.offer("pair", choices);
    this.showStarters();
  }

  /** Offer large pairs that this app may fetch. @param {Fetchable[]} fetchable */
  offerToFetch(fetchable) {
    const title = "real models, kept on this machine";
    const buttons = fetchable.map(({ label, begin }) => button(label, title, begin));
    this.fetchable.hidden = !buttons.length;
    this.fetchable.replaceChildren(...buttons);
  }

  showStarters() {
    const { pair } = this.values;
    const list = this.contents.starters[this.isHere(pair) ? pair : this.first] ?? [];
    const chip = (/** @type {Starter} */ { label, ...values }) => {
      const onclick = () => this.start(values);
      return h("button.hf-starter", { type: "button", title: values.prompt, onclick }, label);
    };
    this.starters.hidden = !list.length;
    this.starters.replaceChildren(h("p.hp-name", "Prompts to start from"), ...list.map(chip));
  }

  start(/** @type {Omit<Starter, "label">} */ { prompt, prompt_as }) {
    this.prompt.value = prompt;
    this.typed();
    if (prompt_as) this.form.set({ prompt_as });
  }

  /** Mark the strip where something is set that needs a run; a rule to judge by needs none. */
  mark() {
    const { rule } = this.values;
    const judged = rule === this.judging() ? { rule } : {};
    const changed = !this.busy && this.differs({ ...this.shown, ...judged });
    part("strip").toggleAttribute("data-changed", changed);
  }

  /**
   * Whether something is set otherwise than in these values. A pair that they do not name counts as
   * the same.
   * @param {Values} values
   */
  differs(values) {
    return Object.entries(this.values).some(([name, value]) => {
      if (!(name in values) || (name === "pair" && !values.pair)) return false;
      return String(value) !== String(values[name]);
    });
  }

  running(/** @type {boolean} */ on) {
    this.busy = on;
    part("run").toggleAttribute("disabled", on);
    part("cancel").toggleAttribute("disabled", !on);
    this.mark();
  }
}

export { Setup };
