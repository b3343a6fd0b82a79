// The player of a run with levels: its moments as lanes, and the life of a token.
import { Moments } from "../moments.js";
import { legend, sign, span } from "../parts.js";
import { board } from "../../step/levels.js";
import * as life from "./life.js";
import { levelCount, moments, readStep, stateAt } from "../../step/lanes.js";
import { told } from "./words.js";

const LEGEND = [
  [sign("draft"), "drafted"],
  [sign("correction"), "correction"],
  [sign("bonus"), "bonus"],
  [span("hp-tier-verdict is-kept", "✓"), "kept by the level above"],
  [span("hp-tier-verdict is-dropped", "✕"), "rejected"],
];

class Player extends Moments {
  /** title, hint, changed: see Moments; under: see lanes; more(): a further legend. */
  constructor({ title, hint, under, more = () => null, changed }) {
    super({ title, hint, css: "sy-levels", changed });
    this.lanes = board({ under, onToken: (id) => this.choose(id) });
    this.life = life.create();
    const key = LEGEND.map(([node, words]) => [node.cloneNode(true), words]);
    this.stage.append(...[this.lanes.element, legend(key), more()].filter(Boolean));
    this.cards = [this.text.element, this.stage, this.life.element];
  }

  momentsOf({ steps }, from) {
    return moments(steps, from);
  }

  told(moment) {
    return told(this.trace, moment);
  }

  /** The token that was looked at stays so, as long as it is there. */
  arrived(before) {
    const state = stateAt(this.trace, this.moment);
    const seen = state.lanes.some(({ chips }) => chips.some(({ token }) => token.id === this.chosen));
    if (!before || before.step !== this.moment.step || !seen) this.chosen = telling(state);
  }

  draw() {
    const { trace, moment, chosen } = this;
    this.lanes.update(trace, moment, chosen);
    this.life.element.hidden = chosen === null;
    const { tokens } = readStep(trace.steps[moment.step], levelCount(trace.setup));
    if (chosen !== null) this.life.update(trace, tokens[chosen], moment.event);
    this.changed();
  }
}

/** The token that shows best what happened: the first that was rejected, else the last that was added. */
function telling({ lanes: drawn, level }) {
  const lost = level > 0 && drawn[level - 1].chips.find((chip) => chip.verdict === "dropped");
  const found = lost || drawn[level].chips.at(-1);
  return found ? found.token.id : null;
}

export { Player };
