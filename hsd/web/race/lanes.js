// The lanes to come: plain decoding first, then what the visitor chooses; and how often each is timed.
import { h } from "../kit/dom.js";
import { button, card, menu } from "../kit/parts.js";
import { draftedBy, drafter, usual } from "./lane.js";

const levelled = (lane) => ["stack", "hispec"].includes(lane.system);
const served = (lane) => lane.system === "server";
const fuzzy = (lane) => lane.rule === "fuzzy";
const NO_LIST = /[^\d\s,;_+-]/g; // what is no list of numbers is taken out; the server checks the rest

// name: what stands before it, and what it is called: "draft length of lane 2"
const FIELDS = {
  drafter: ["by", "drafter"],
  rule: ["rule", "rule"],
  gamma: ["γ", "draft length"],
  drafts: ["drafts", "drafts"],
  tree: ["tree", "tree"],
  exits: ["exits", "exits"],
  thresholds: ["T", "thresholds"],
  divergence: ["divergence", "divergence"],
  tolerance: ["tolerance", "tolerance"],
  url: ["URL", "URL"],
  model: ["model", "model"],
};
const TITLES = {
  exits: "after how many layers to draft, and to check",
  tolerance: "the largest divergence at which a token passes; below 0 the rule is exact",
  hispec:
    "how many tokens the first exit drafts per check, and how many checked tokens make a target pass; empty: 2, 4, or 1 where a single exit drafts",
  url: "base URL of an OpenAI-compatible server: vLLM, llama.cpp, LM Studio; it stays out of links",
  model: "its model, where it has several",
  stack: "how many tokens each model below the target hands up at least, smallest model first",
};

/** The fields that a lane shows, in order. */
function fieldsOf(lane) {
  if (served(lane)) return ["drafter", "url", "model"];
  const levels = lane.system === "hispec" ? ["exits", "thresholds"] : ["thresholds"];
  const several = lane.drafts > 1 ? ["drafts", "tree"] : ["drafts"];
  const drafting = ["gamma", ...(drafter(lane) === "ngram" ? [] : several)];
  const nearness = fuzzy(lane) ? ["divergence", "tolerance"] : [];
  return ["drafter", "rule", ...(levelled(lane) ? levels : drafting), ...nearness];
}

class Lanes {
  /**
   * facts: drafters, rules, trees, divergences, most, rounds, limits, defaults. lanes: null for the usual ones, which
   * have the pair's γ. actions: race, cancel, changed.
   */
  constructor(facts, { lanes, rounds }, gamma, actions) {
    Object.assign(this, { facts, lanes: lanes || usual(gamma), chosen: Boolean(lanes), rounds, gamma, actions });
    this.list = h("ol.rc-lanes", { "aria-label": "lanes" });
    this.add = button("Add a lane", `up to ${facts.most} lanes`, () => this.append(), { class: "rc-add" });
    const times = facts.rounds.map((n) => [n, n === 1 ? "once" : `${n} times`]);
    const timed = menu("how often each lane is timed", times, rounds, (n) => this.setRounds(Number(n)));
    this.go = button("Race", "run all lanes, one after another", actions.race, { class: "rc-go" });
    const ends = "end the race; what there is of it stays";
    this.cancel = button("Cancel", ends, actions.cancel, { class: "rc-cancel", hidden: true });
    const label = h("label.rc-field", "timed ", timed);
    const tools = h("div.rc-tools", this.add, label, h("span.hp-grow"), this.cancel, this.go);
    const hint = "Prompt, temperature, seed, length and pair come from the options.";
    this.element = card("", "Lanes", hint, this.list, tools);
    this.draw();
  }

  running(on) {
    this.go.disabled = on;
    this.cancel.hidden = !on;
  }

  /** The pair has another γ of its own: lanes that nobody has chosen follow. */
  follow(gamma) {
    this.gamma = gamma;
    if (!this.chosen) this.lanes = usual(gamma);
    this.draw();
  }

  changed() {
    this.chosen = true;
    this.actions.changed();
  }

  append() {
    const last = this.lanes.at(-1);
    this.lanes = [...this.lanes, { ...last, gamma: Math.min(2 * last.gamma, this.facts.limits.gamma) }];
    this.draw();
    this.list.lastElementChild.querySelector("select").focus();
    this.changed();
  }

  remove(i) {
    this.lanes = this.lanes.filter((_, j) => j !== i);
    this.draw();
    (this.list.querySelectorAll(".rc-remove")[Math.min(i, this.lanes.length - 1)] || this.add).focus();
    this.changed();
  }

  setRounds(n) {
    this.rounds = n;
    this.actions.changed();
  }

  /** The rules that can judge the drafts of a lane. */
  rulesOf(lane) {
    const several = lane.drafts > 1 && !levelled(lane);
    return this.facts.rules.filter((rule) => (several ? rule.trees.includes(lane.tree) : rule.single));
  }

  /** Whether a lane's text follows the target exactly: a tolerance below 0 lets nothing pass. */
  lossless(lane) {
    const rule = this.facts.rules.find((one) => one.name === lane.rule);
    return !rule || rule.lossless || (fuzzy(lane) && this.value(lane, "tolerance") < 0);
  }

  /** What a field holds; those that a lane does not name hold the default. */
  value(lane, field) {
    const { defaults, divergences } = this.facts;
    const found = { drafter: drafter(lane), tolerance: defaults.tolerance, divergence: divergences[0].name };
    return lane[field] ?? found[field] ?? "";
  }

  /** Change one lane; what was set stays, and the rest follows where it must. */
  set(i, field, value) {
    const lane = { ...this.lanes[i], ...(field === "drafter" ? draftedBy(value) : { [field]: value }) };
    const rules = this.rulesOf(lane).map((rule) => rule.name);
    if (!rules.includes(lane.rule)) lane.rule = rules.includes("hsd") ? "hsd" : rules[0];
    // a row is drawn anew only when its fields change, so that no click is lost
    const shape = (one) => [drafter(one), one.rule, one.drafts > 1, one.tree, this.lossless(one)].join();
    const drawn = shape(this.lanes[i]);
    this.lanes = this.lanes.with(i, lane);
    if (shape(lane) !== drawn) {
      this.draw();
      this.list.children[i + 1].querySelector(`[data-field="${field}"]`).focus();
    }
    this.changed();
  }

  draw() {
    const plain = h("span", "Plain decoding: the target alone, one token per call");
    const rows = this.lanes.map((lane, i) => this.row(lane, i));
    this.list.replaceChildren(h("li.rc-lane", h("span.rc-number", "1"), plain), ...rows);
    this.add.disabled = this.lanes.length >= this.facts.most - 1;
  }

  row(lane, i) {
    const remove = () => button("✕", `remove lane ${i + 2}`, () => this.remove(i), { class: "rc-remove" });
    return h(
      "li.rc-lane",
      { "data-lane": i + 1 },
      h("span.rc-number", String(i + 2)),
      h(
        "div.rc-fields",
        fieldsOf(lane).map((field) => this.field(lane, i, field)),
        served(lane) ? h("span.hp-hint", "counts and seconds only") : null,
        served(lane) || this.lossless(lane) ? null : h("span.rc-warning", "✕ not lossless"),
      ),
      this.lanes.length > 1 ? remove() : null,
    );
  }

  field(lane, i, field) {
    const [words, what] = FIELDS[field];
    const label = `${what} of lane ${i + 2}`;
    const value = this.value(lane, field);
    const changed = (found) => this.set(i, field, found);
    const options = this.options(lane)[field];
    const named = { "data-field": field };
    const control = options
      ? menu(label, options, value, changed, named)
      : box(label, this.typed(lane, field), { ...named, value }, changed);
    return h("label.rc-field", words, " ", control);
  }

  /** What the menus offer. */
  options(lane) {
    const { drafters, trees, divergences } = this.facts;
    const named = (list) => list.map((one) => [one.name, one.title]);
    const rules = this.rulesOf(lane).map((one) => [one.name, one.title + (one.lossless ? "" : " (not lossless)")]);
    return { drafter: named(drafters), rule: rules, tree: named(trees), divergence: named(divergences) };
  }

  /** How a box looks, and what becomes of what is typed into it. An empty list stands for its placeholder. */
  typed({ system }, field) {
    const { limits, defaults } = this.facts;
    const list = (text) => text.replace(NO_LIST, "").trim();
    const some = { class: "rc-list-box", type: "text", maxlength: 40, autocomplete: "off" };
    const empty = system === "hispec" ? "usual" : `${this.gamma} each`;
    const words = (text) => text.trim();
    const long = { class: "rc-url-box", type: "text", maxlength: 200, autocomplete: "off", spellcheck: false };
    const base = { inputmode: "url", placeholder: defaults.url, title: TITLES.url };
    if (field === "url") return { ...long, ...base, settled: words };
    if (field === "model") return { ...long, placeholder: "the only one", title: TITLES.model, settled: words };
    if (field === "exits") return { ...some, placeholder: "trained", title: TITLES.exits, settled: list };
    if (field === "thresholds") return { ...some, placeholder: empty, title: TITLES[system], settled: list };
    const number = (text) => (text.trim() && Number.isFinite(Number(text)) ? Number(text) : defaults.tolerance);
    if (field === "tolerance") return { type: "number", step: 0.1, title: TITLES.tolerance, settled: number };
    const whole = (text) => Math.min(Math.max(Math.round(Number(text)) || 1, 1), limits[field]);
    return { type: "number", min: 1, max: limits[field], step: 1, settled: whole };
  }
}

/** settled: makes a value that can be one of what was typed. */
function box(label, { settled, ...kind }, attributes, changed) {
  const input = h("input.hp-field.rc-number-box", { "aria-label": label, ...kind, ...attributes });
  input.addEventListener("change", () => {
    const found = settled(input.value);
    input.value = String(found);
    changed(found);
  });
  return input;
}

export { Lanes };
