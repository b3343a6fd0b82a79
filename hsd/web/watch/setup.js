// What a visitor asks for: the strip with a recorded run, a prompt, Run and Cancel, and the options
// behind it.
import { why } from "../answers/answers.js";
import { find, h } from "../kit/dom.js";
import { facts } from "../kit/facts.js";
import { form } from "../kit/form.js";
import { control } from "./lists.js";
import { fit, levelled, lists, UNKNOWN } from "./matching.js";

const part = (/** @type {string} */ name) => find(`#hsd-${name}`);

/** @type {(title: string, description: string, group: string) => Property} */
const model = (title, description, group) => ({
  type: "string",
  title,
  description,
  group,
  default: "",
  scope: "",
});

/** Which models run, asked for beside the options. */
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
  const properties = /** @type {Record<string, Property>} */ ({
    ...MODELS,
    ...facts.options.properties,
  });
  for (const [name, maximum] of Object.entries(limits))
    if (name in properties) properties[name] = { ...properties[name], maximum };
  return { properties: { ...properties, stack: { ...properties.stack, menu: true } } };
}

class Setup {
  pairs = /** @type {Named[]} */ ([]); // that are here
  shown = /** @type {Values} */ ({}); // what made the run that is shown
  busy = false; // a run goes on
  levels = UNKNOWN; // of the chosen pair
  live = !why("run");
  prompt = /** @type {HTMLTextAreaElement} */ (find("#hsd-prompt textarea"));
  preset = /** @type {HTMLSelectElement} */ (part("preset"));
  starters = h("div.hf-starters", { "role": "group", "aria-label": "Prompts to start from" });

  /** @param {PageContents} contents @param {SetupActions} actions */
  constructor(contents, { run, cancel, preset, pair, judge, judging }) {
    this.contents = contents;
    this.pair = pair;
    this.judge = judge;
    this.judging = judging;
    this.preset.addEventListener("change", () => preset(this.preset.value));
    for (const name of ["prompt", "run", "cancel"]) part(name).hidden = !this.live;
    this.schema = schemaOf(contents.limits);
    const groups = [{ name: "models" }, ...facts.options.groups];
    this.form = form(this.schema, {
      control,
      groups,
      changed: (name, value) => this.changed(name, value),
    });
    if (!this.live) return;
    for (const name of ["target", "draft"]) this.form.show(name, contents.own);
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

  /** All that is set, named as in a link. @returns {Values} */
  get values() {
    return this.live ? { prompt: this.prompt.value, ...this.form.values() } : {};
  }

  /**
   * The same to be run: by a pair that is here. What says how much is drafted and how tokens are
   * drawn stays as it is shown.
   */
  toRun() {
    const { values, usual } = this;
    if (!values.pair || this.isHere(values.pair)) return values;
    const stays = Object.entries(this.schema.properties).filter(([, { group = "" }]) =>
      STAYING.includes(group),
    );
    this.choosePair(
      this.first,
      Object.fromEntries(stays.map(([name]) => [name, values[name]])),
      usual,
    );
    this.form.set(fit({ ...usual, ...this.form.values() }, "pair", this.levels));
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

  /** Show what a link asks for. @param {Values} values */
  set(values) {
    if (!this.live) return;
    this.offer(this.pairs, values.pair);
    this.choosePair(values.pair ?? (values.target ? "" : this.first), values, this.usual);
    this.prompt.value = values.prompt;
    this.mark();
  }

  /** Show what made the run that is shown. @param {Values} values */
  repeat(values) {
    this.set(values);
    this.shown = this.values;
    this.mark();
  }

  /**
   * Keep what was set and change what does not fit it. Another rule judges what is shown, without a
   * new run.
   * @type {(name: string, value: any) => void}
   */
  changed(name, value) {
    if (name === "pair") {
      this.choosePair(value, { stack: [], exits: [], thresholds: [] });
      this.pair(value);
    }
    if (name === "system") this.form.set({ thresholds: [], level_rules: [] });
    this.form.set(fit({ ...this.usual, ...this.form.values() }, name, this.levels));
    this.fitLevels();
    if (name === "rule") this.judge(value);
    this.mark();
  }

  /**
   * What the chosen pair's levels are, see matching.js; not called for a pair that does not say.
   * @param {PairLevels} [levels]
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
   * As many entries in the lists of levels as the chosen models have, and a stack that they make.
   */
  fitLevels() {
    const values = () => ({ ...this.usual, ...this.form.values() });
    this.form.show("gamma", values().system !== "stack"); // its thresholds say how much is drafted
    this.form.set(levelled(values(), this.levels));
    for (const [name, entries] of Object.entries(lists(values(), this.levels)))
      this.form.offer(name, entries);
  }

  /**
   * A prompt of one's own is for a pair that is here, and else for all that made the run that is
   * shown.
   */
  typed() {
    this.toRun();
    this.mark();
  }

  /** Of each option its value at first. @returns {Values} */
  get usual() {
    return Object.fromEntries(
      Object.entries(this.schema.properties).map(([name, one]) => [name, one.default]),
    );
  }

  /**
   * Another pair, and what goes with it: its draft length, whether it answers questions. values,
   * before: count more, less.
   * @type {(name: string, values?: Values, before?: Values) => void}
   */
  choosePair(name, values = {}, before = {}) {
    const { gamma, chats } = this.offered(name);
    this.form.show("prompt_as", Boolean(chats));
    this.form.set({
      ...before,
      prompt_as: chats ? "chat" : "",
      ...(gamma && { gamma }),
      ...values,
      pair: name,
    });
    this.fitLevels();
    this.showStarters();
  }

  /** What the page knows of a pair. @param {string} name @returns {Partial<OfferedPair>} */
  offered(name) {
    return this.contents.pairs.find((pair) => pair.name === name) ?? {};
  }

  /**
   * Pairs that can be chosen now; shown: the name of one that need not be here.
   * @type {(pairs: Named[], shown?: string) => void}
   */
  offer(pairs, shown = this.values.pair) {
    this.pairs = pairs;
    const here = pairs.map(({ name, title }) => /** @type {Choice} */ ([name, title]));
    if (shown && !this.isHere(shown))
      here.push([shown, `${this.offered(shown).title ?? shown} – not here`]);
    this.form.offer("pair", here);
    this.showStarters();
  }

  showStarters() {
    const { pair } = this.values;
    const list = this.contents.starters[this.isHere(pair) ? pair : this.first] ?? [];
    const chip = (/** @type {Starter} */ { label, ...values }) =>
      h(
        "button.hf-starter",
        { type: "button", title: values.prompt, onclick: () => this.start(values) },
        label,
      );
    this.starters.hidden = !list.length;
    this.starters.replaceChildren(h("p.hp-name", "Prompts to start from"), ...list.map(chip));
  }

  start(/** @type {Omit<Starter, "label">} */ { prompt, prompt_as }) {
    this.prompt.value = prompt;
    this.typed();
    if (prompt_as) this.form.set({ prompt_as });
  }

  /** Whether something is set that needs a run; what the visitor judges by needs none. */
  mark() {
    const { rule } = this.values;
    const judged = rule === this.judging() ? { rule } : {};
    part("strip").toggleAttribute(
      "data-changed",
      !this.busy && this.differs({ ...this.shown, ...judged }),
    );
  }

  /**
   * Whether something is set otherwise than in these values; a pair that they do not name is the
   * first.
   * @param {Values} values
   */
  differs(values) {
    const now = Object.entries(this.values).filter(
      ([name]) => name in values && (name !== "pair" || values.pair),
    );
    return now.some(([name, value]) => String(value) !== String(values[name]));
  }

  running(/** @type {boolean} */ on) {
    this.busy = on;
    part("run").toggleAttribute("disabled", on);
    part("cancel").toggleAttribute("disabled", !on);
    this.mark();
  }
}

export { Setup };
