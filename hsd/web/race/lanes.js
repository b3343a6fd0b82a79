// The lanes to come: plain decoding first, then what the visitor chooses; and how often each is timed.
import { h } from "../kit/dom.js";
import { button } from "../kit/parts.js";
import * as fields from "./fields.js";

const levelled = (lane) => Boolean(lane.system) && lane.system !== "speculative";
const fuzzy = (lane) => lane.rule === "fuzzy";

class Lanes {
  /** facts: systems, rules, trees, divergences, most, rounds, limits, defaults. actions: race, cancel, changed. */
  constructor(facts, { lanes, rounds }, actions) {
    Object.assign(this, { facts, lanes, rounds, actions });
    this.list = h("ol", { "class": "rc-lanes", "aria-label": "lanes" });
    this.add = button("Add a lane", `up to ${facts.most} lanes`, () => this.append(), { class: "hp-button rc-add" });
    this.rule = h(
      "select",
      { class: "hp-speed rc-rounds", onchange: (event) => this.setRounds(Number(event.target.value)) },
      facts.rounds.map((n) => h("option", { value: n }, n === 1 ? "once" : `${n} times`)),
    );
    this.go = button("Race", "run all lanes, one after another", actions.race, { class: "hp-button rc-go" });
    this.cancel = button("Cancel", "end the race; what there is of it stays", actions.cancel, {
      class: "hp-button rc-cancel",
      hidden: true,
    });
    this.element = h(
      "section",
      { "class": "rc-card", "aria-label": "Lanes" },
      h(
        "div",
        { class: "rc-head" },
        h("h3", { class: "rc-title" }, "Lanes"),
        h("p", { class: "rc-hint" }, "Prompt, temperature, seed, length and pair come from the options."),
      ),
      this.list,
      h(
        "div",
        { class: "rc-tools" },
        this.add,
        h("label", { class: "rc-field" }, "timed ", this.rule),
        h("span", { class: "rc-grow" }),
        this.cancel,
        this.go,
      ),
    );
    this.draw();
  }

  running(on) {
    this.go.disabled = on;
    this.cancel.hidden = !on;
  }

  append() {
    const last = this.lanes[this.lanes.length - 1];
    this.lanes = [...this.lanes, { ...last, gamma: Math.min(2 * last.gamma, this.facts.limits.gamma) }];
    this.draw();
    this.list.lastElementChild.querySelector("select").focus();
    this.actions.changed();
  }

  remove(i) {
    this.lanes = this.lanes.filter((_, j) => j !== i);
    this.draw();
    (this.list.querySelectorAll(".rc-remove")[Math.min(i, this.lanes.length - 1)] || this.add).focus();
    this.actions.changed();
  }

  setRounds(n) {
    this.rounds = n;
    this.actions.changed();
  }

  /** Whether a rule can judge the drafts of that lane. */
  fits(rule, lane) {
    return lane.drafts > 1 && !levelled(lane) ? rule.trees.includes(lane.tree) : rule.single;
  }

  /** Whether a lane's text follows the target exactly: a tolerance below 0 lets nothing pass. */
  lossless(lane) {
    const rule = this.facts.rules.find((one) => one.name === lane.rule);
    return !rule || rule.lossless || (fuzzy(lane) && this.value(lane, "tolerance") < 0);
  }

  /** What a field holds; those that a lane does not name hold the default. */
  value(lane, field) {
    const { defaults, divergences } = this.facts;
    const usual = { system: "speculative", tolerance: defaults.tolerance, divergence: divergences[0].name };
    return lane[field] ?? usual[field] ?? "";
  }

  /** What the fields of a row depend on. It is drawn anew only when that changes, so that no click is lost. */
  shape(lane) {
    return [lane.system, lane.rule, lane.drafts > 1, lane.tree, this.lossless(lane)].join();
  }

  /** Change one lane; what was set stays, and the rest follows where it must. */
  set(i, change) {
    const lane = { ...this.lanes[i], ...change };
    const { rules } = this.facts;
    const own = rules.find((rule) => rule.name === lane.rule);
    if (!this.fits(own, lane))
      lane.rule = (
        rules.find((rule) => rule.name === "hsd" && this.fits(rule, lane)) ||
        rules.find((rule) => this.fits(rule, lane))
      ).name;
    const before = this.shape(this.lanes[i]);
    this.lanes = this.lanes.map((old, j) => (j === i ? lane : old));
    if (this.shape(lane) !== before) this.draw(i, Object.keys(change)[0]);
    this.actions.changed();
  }

  /** kept: the lane and field that keep the focus. */
  draw(kept = null, field = null) {
    this.rule.value = String(this.rounds);
    this.list.replaceChildren(
      h(
        "li",
        { class: "rc-lane" },
        h("span", { class: "rc-number" }, "1"),
        h("span", { class: "rc-fixed" }, "Plain decoding: the target alone, one token per call"),
      ),
      ...this.lanes.map((lane, i) => this.row(lane, i)),
    );
    this.add.disabled = this.lanes.length >= this.facts.most - 1;
    if (field) this.list.children[kept + 1].querySelector(`[data-field="${field}"]`).focus();
  }

  row(lane, i) {
    const name = `lane ${i + 2}`;
    const named = (list) => list.map((one) => [one.name, one.title]);
    const rules = this.facts.rules
      .filter((rule) => this.fits(rule, lane))
      .map((rule) => [rule.name, rule.lossless ? rule.title : `${rule.title} (not lossless)`]);
    return h(
      "li",
      { "class": "rc-lane", "data-lane": i + 1 },
      h("span", { class: "rc-number" }, String(i + 2)),
      h(
        "div",
        { class: "rc-fields" },
        this.field("menu", i, "system", "by", `system of ${name}`, { options: named(this.facts.systems) }),
        this.field("menu", i, "rule", "rule", `rule of ${name}`, { options: rules }),
        levelled(lane) ? this.levels(lane, i, name) : this.drafting(lane, i, name, named(this.facts.trees)),
        fuzzy(lane) ? this.nearness(i, name, named(this.facts.divergences)) : null,
        this.lossless(lane) ? null : h("span", { class: "rc-warning" }, "✕ not lossless"),
      ),
      this.lanes.length > 1
        ? button("✕", `remove ${name}`, () => this.remove(i), { class: "hp-button rc-remove" })
        : null,
    );
  }

  /** The fields of one draft model. */
  drafting(lane, i, name, trees) {
    const { gamma, drafts } = this.facts.limits;
    return [
      this.field("whole", i, "gamma", "γ", `draft length of ${name}`, { high: gamma }),
      this.field("whole", i, "drafts", "drafts", `drafts of ${name}`, { high: drafts }),
      lane.drafts > 1 ? this.field("menu", i, "tree", "tree", `tree of ${name}`, { options: trees }) : null,
    ];
  }

  /** The fields of the fuzzy rule. */
  nearness(i, name, divergences) {
    const title = "the largest divergence at which a token passes; below 0 the rule is exact";
    const usual = this.facts.defaults.tolerance;
    return [
      this.field("menu", i, "divergence", "divergence", `divergence of ${name}`, { options: divergences }),
      this.field("number", i, "tolerance", "tolerance", `tolerance of ${name}`, { title, usual }),
    ];
  }

  /** The fields of a stack of models, or of early exits. An empty one stands for what its placeholder says. */
  levels(lane, i, name) {
    const { gamma, hispec } = this.facts.defaults;
    const exits = lane.system === "hispec";
    const usual = exits ? hispec.join(", ") : `${gamma} each`;
    const depths = { placeholder: "trained", title: "after how many layers to draft, and to check" };
    const title = exits
      ? "how many tokens the first exit drafts per check, and how many checked tokens make a target pass"
      : "how many tokens each model below the target hands up at least, smallest model first";
    return [
      exits ? this.field("list", i, "exits", "exits", `exits of ${name}`, depths) : null,
      this.field("list", i, "thresholds", "T", `thresholds of ${name}`, { placeholder: usual, title }),
    ];
  }

  /** One field of lane i: kind is a function of `race.fields`; what it needs beside its name is `more`. */
  field(kind, i, field, words, label, more) {
    const value = this.value(this.lanes[i], field);
    return fields[kind]({ field, words, label, value, ...more }, (found) => this.set(i, { [field]: found }));
  }
}

export { Lanes };
