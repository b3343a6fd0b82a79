// The lanes to come: plain decoding first, then what the visitor chooses; and how often each is timed.
(function (race) {
  "use strict";

  const { h, button } = window.hsdPlayer.dom;

  class Lanes {
    /** facts: rules, trees, most, rounds, limits. actions: race, cancel, changed. */
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

    /** Change one lane; what was set stays, and the rest follows where it must. */
    set(i, change) {
      const lane = { ...this.lanes[i], ...change };
      const fits = (rule) => (lane.drafts > 1 ? rule.trees.includes(lane.tree) : rule.single);
      const own = this.facts.rules.find((rule) => rule.name === lane.rule);
      if (!fits(own))
        lane.rule = (
          this.facts.rules.find((rule) => rule.name === "hsd" && fits(rule)) || this.facts.rules.find(fits)
        ).name;
      this.lanes = this.lanes.map((old, j) => (j === i ? lane : old));
      this.draw(i, Object.keys(change)[0]);
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
      const rules = this.facts.rules.filter((rule) => (lane.drafts > 1 ? rule.trees.includes(lane.tree) : rule.single));
      const chosen = rules.find((rule) => rule.name === lane.rule);
      return h(
        "li",
        { "class": "rc-lane", "data-lane": i + 1 },
        h("span", { class: "rc-number" }, String(i + 2)),
        h(
          "div",
          { class: "rc-fields" },
          this.menu(
            i,
            "rule",
            "rule",
            `rule of ${name}`,
            rules.map((rule) => [rule.name, rule.lossless ? rule.title : `${rule.title} (not lossless)`]),
          ),
          this.number(i, "gamma", "γ", `draft length of ${name}`, this.facts.limits.gamma),
          this.number(i, "drafts", "drafts", `drafts of ${name}`, this.facts.limits.drafts),
          lane.drafts > 1
            ? this.menu(
                i,
                "tree",
                "tree",
                `tree of ${name}`,
                this.facts.trees.map((tree) => [tree.name, tree.title]),
              )
            : null,
          chosen && !chosen.lossless ? h("span", { class: "rc-warning" }, "✕ not lossless") : null,
        ),
        this.lanes.length > 1
          ? button("✕", `remove ${name}`, () => this.remove(i), { class: "hp-button rc-remove" })
          : null,
      );
    }

    menu(i, field, words, label, options) {
      const select = h(
        "select",
        {
          "class": "hp-speed",
          "data-field": field,
          "aria-label": label,
          "onchange": (event) => this.set(i, { [field]: event.target.value }),
        },
        options.map(([value, title]) => h("option", { value }, title)),
      );
      select.value = this.lanes[i][field];
      return h("label", { class: "rc-field" }, words, " ", select);
    }

    number(i, field, words, label, high) {
      const input = h("input", {
        "type": "number",
        "class": "rc-number-box",
        "data-field": field,
        "aria-label": label,
        "min": 1,
        "max": high,
        "step": 1,
        "value": this.lanes[i][field],
      });
      const take = () => {
        const value = Math.min(Math.max(Math.round(Number(input.value)) || 1, 1), high);
        this.set(i, { [field]: value });
      };
      input.addEventListener("change", take);
      return h("label", { class: "rc-field" }, words, " ", input);
    }
  }

  race.Lanes = Lanes;
})(window.hsdRace);
