// The runs of a panel, recorded and live: one is shown at a time, and what is on screen stays until there is another.
//
// Recorded runs are described in assets/presets/systems.yaml and recorded by examples/reproduce/record.py. What they were asked
// for, changed as one likes, is what a live run takes: lists as lists or as texts such as "3, 5".
import { parting } from "../kit/again.js";
import { plural } from "../kit/format.js";

const known = new Map(); // name: promise of a recorded run

/** Those for which fits(asked) is true, in order: [{name, title, why, asked}]. */
const list = (tools, fits) => (tools.content.recorded || []).filter(({ asked }) => fits(asked));

/** A promise of {name, title, why, asked, trace}, or {error: one line}. */
function read(tools, name) {
  const fetched = async () => {
    const reply = await tools.ask("preset", { name });
    if (reply.error) known.delete(name);
    return { ...list(tools, () => true).find((one) => one.name === name), ...reply };
  };
  if (!known.has(name)) known.set(name, fetched());
  return known.get(name);
}

/**
 * presets: the recorded runs of the panel; name: the one that is shown, or null; trace: of what is shown, or null; link:
 * the parameters that ask for a live run again; words: how it stands; problem: one line. on: shown(trace, asked), a run is
 * shown from its beginning, asked: only of a recorded one; grew(trace, from), it has more steps; ended(), a live run has;
 * news(), anything has changed.
 */
class Runs {
  constructor(tools, fits, on) {
    Object.assign(this, { tools, on, name: null, trace: null, live: null, words: "", problem: "", wanted: null });
    this.presets = list(tools, fits);
  }

  get running() {
    return Boolean(this.live) && !this.live.ended;
  }

  get state() {
    return this.live ? this.live.state : "none";
  }

  /** What run is shown, and why a recorded one was made. */
  get about() {
    const shown = this.presets.find(({ name }) => name === this.name);
    if (shown) return `Recorded. ${shown.why}`;
    const apart = this.recorded && this.trace && !this.running ? ` ${parting(this.recorded, this.trace)}` : "";
    return this.trace ? `A run of your own.${apart}` : "";
  }

  /** Show a recorded run, by name or the first. problem: what to say beside it. */
  async open(name = this.presets[0]?.name, problem = "") {
    if (!name) return;
    this.wanted = name;
    const reply = await read(this.tools, name);
    if (this.wanted !== name) return; // another was asked for meanwhile
    if (this.live) this.live.leave();
    Object.assign(this, { live: null, problem: reply.error || problem, words: "" });
    if (!reply.error) {
      Object.assign(this, { name, trace: reply.trace, recorded: reply.trace });
      this.on.shown(reply.trace, reply.asked);
    }
    this.on.news();
  }

  /** A live run. Another one that is begun anywhere on the screen ends it. */
  run(asked) {
    const live = this.tools.run(asked, {
      changed: (...news) => this.heard(...news),
      left: () => this.running && this.live === live && this.left(),
    });
    Object.assign(this, { wanted: null, problem: "", words: "asked for", live });
    this.on.news();
  }

  left() {
    Object.assign(this, { live: null, words: "ended, because another run was begun; what there is stays" });
    this.on.news();
  }

  heard(live, fresh) {
    if (fresh.length) {
      const from = live.steps.length - fresh.length;
      Object.assign(this, { name: null, link: live.options, trace: { ...live.trace, steps: [...live.steps] } });
      if (from) this.on.grew(this.trace, from);
      else this.on.shown(this.trace);
    }
    if (live.ended && live.steps.length) this.on.ended();
    Object.assign(this, { words: progress(live), problem: live.problem });
    if (live.state === "failed" && !this.trace) this.open(undefined, live.problem); // a link to a run that cannot be
    this.on.news();
  }

  cancel() {
    if (this.live) this.live.cancel();
  }
}

function progress({ state, place, steps }) {
  const tokens = plural(
    steps.reduce((sum, step) => sum + step.committed.length, 0),
    "token",
  );
  if (state === "waiting") return place > 1 ? `waiting, number ${place} in line` : "waiting for the model";
  const live = { running: `running: ${tokens}`, done: `live, ${tokens}`, cancelled: "cancelled; what there is stays" };
  return live[state] || "";
}

export { list, read, Runs };
