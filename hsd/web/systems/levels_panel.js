// A panel of runs with levels: recorded ones and live ones, their player, links, and what else the panel shows of them.
// For tests, window.__hsdSystems[name + "Run"] = {trace, at, moments, chosen, asked, preset, state, problem}.
import { plural } from "../kit/format.js";
import * as controls from "./levels_controls.js";
import { moments } from "./levels_model.js";
import { Player } from "./levels_player.js";
import { section as addSection } from "./panels.js";
import * as recorded from "./recorded.js";

const BAD_LINK = "The run in this link cannot be read: a recorded one is shown instead";
const LONGEST_LINK = 8000;

class Panel {
  /**
   * spec: name; system, of its runs; title, hint, fields: of the controls; stage: {title, hint, context, under,
   * more}, of the player; extras: cards below it, each {element, update(trace, moment)}; fit(asked): what is asked, so
   * that its parts fit each other; ready: a promise to wait for, or nothing; what it brings is a problem, "" for none.
   */
  constructor(root, tools, spec) {
    Object.assign(this, { tools, spec, preset: null, live: null, linked: null, problem: "", words: "" });
    this.asked = spec.fit({});
    const presets = recorded.list(tools, (asked) => asked.system === spec.system);
    this.presets = presets;
    this.controls = controls.create(
      { ...spec, presets },
      {
        preset: (name) => this.open(name),
        edit: (asked) => this.edit(asked),
        run: () => this.run(this.asked),
        cancel: () => this.live && this.live.cancel(),
        copy: () => tools.copyLink(),
      },
    );
    this.player = new Player({ ...spec.stage, changed: () => this.moved() });
    root.classList.add("lv-root");
    this.below = [...this.player.cards, ...spec.extras.map((one) => one.element)];
    for (const one of this.below) one.hidden = true;
    root.append(this.controls.element, ...this.below);
    this.begin(tools.query);
  }

  async begin(query) {
    this.blocked = this.spec.ready ? await this.spec.ready : "";
    if (this.blocked) {
      this.problem = this.blocked;
      return this.show();
    }
    const asked = query.get("run") ? readLink(query.get("run")) : null;
    const wanted = Number.parseInt(query.get("at"), 10);
    const known = this.presets.some(({ name }) => name === query.get("show"));
    const first = known ? query.get("show") : this.presets.length ? this.presets[0].name : null;
    if (query.get("run") && !asked) this.problem = BAD_LINK;
    if (asked) this.run({ ...asked, system: this.spec.system }, wanted);
    else if (first) await this.open(first, known ? wanted : null, this.problem);
    return this.show();
  }

  // ---- runs

  /** Show a recorded run; at: the moment, or nothing for its most telling one. */
  async open(name, at = null, problem = "") {
    this.wanted = name;
    const reply = await recorded.read(this.tools, name);
    if (this.wanted !== name) return; // another was asked for meanwhile
    if (this.live) this.live.leave();
    Object.assign(this, { live: null, problem: reply.error || problem, words: "" });
    if (!reply.error) {
      Object.assign(this, { preset: name, linked: null, asked: this.spec.fit(reply.asked) });
      this.draw(reply.trace, Number.isInteger(at) ? at : telling(reply.trace));
    }
    this.show();
  }

  edit(asked) {
    this.asked = this.spec.fit(asked);
    this.show();
  }

  /** A live run; what is on screen stays until there is something of it. at: the moment to show at its end. */
  run(asked, at = null) {
    if (this.blocked) return;
    this.wanted = null;
    Object.assign(this, { asked: this.spec.fit(asked), problem: "", words: "asked for", end: at });
    Object.assign(this, { drawn: 0, finished: false });
    this.live = this.tools.run(this.asked, (live) => this.grew(live));
    this.show();
  }

  grew(live) {
    const { trace, steps } = live;
    if (steps.length && !this.drawn) this.draw({ ...trace, steps: [...steps] }, 0);
    else if (steps.length > this.drawn) this.player.extend({ ...trace, steps: [...steps] }, this.drawn);
    if (steps.length) Object.assign(this, { drawn: steps.length, preset: null, linked: live.link });
    if (live.ended && Number.isInteger(this.end) && this.drawn) this.player.go(this.end);
    this.finished = live.ended;
    this.words = progress(live);
    this.problem = live.message;
    if (live.state === "failed" && !this.player.trace && this.presets.length)
      this.open(this.presets[0].name, null, live.message); // a link to a run that cannot be
    this.show();
  }

  draw(trace, at) {
    for (const one of this.below) one.hidden = false;
    this.player.load(trace, at);
  }

  // ---- what is shown

  moved() {
    const { trace, moment } = this.player;
    for (const one of this.spec.extras) one.update(trace, moment);
    this.tools.changed();
    this.tell();
  }

  /** The panel comes into view: a run that was begun elsewhere meanwhile has ended the one here. */
  opened() {
    if (!this.live || this.finished || !this.live.gone) return;
    Object.assign(this, { live: null, words: "ended, because another run was begun; what there is stays" });
    this.show();
  }

  show() {
    const { asked, preset, words, problem, live } = this;
    this.controls.update({ asked, preset, words, problem, running: Boolean(live && !live.ended) });
    this.tools.changed();
    this.tell();
  }

  link() {
    if (!this.player.trace) return {};
    const run = this.linked ? { run: new URLSearchParams(this.linked).toString() } : { show: this.preset };
    return { ...run, at: String(this.player.at) };
  }

  tell() {
    const { player, asked, preset, problem, live } = this;
    const { trace, at, chosen } = player;
    const state = live ? live.state : "none";
    const told = { trace, at, moments: player.moments.length, chosen, asked, preset, problem, state };
    this.tools.tell({ [`${this.spec.name}Run`]: told });
  }
}

/** The first moment at which a check keeps a part of a draft; the first of all where there is none. */
function telling({ steps }) {
  const all = moments(steps);
  const part = ({ step, event }) => {
    const { tested, kept } = event === null ? { tested: [], kept: 0 } : steps[step].events[event];
    return kept > 0 && kept < tested.length;
  };
  return Math.max(0, all.findIndex(part));
}

function progress({ state, place, steps }) {
  const tokens = steps.reduce((sum, step) => sum + step.committed.length, 0);
  if (state === "waiting") return place > 1 ? `waiting, number ${place} in line` : "waiting for the model";
  if (state === "running") return `running: ${plural(tokens, "token")}`;
  return { done: `live, ${plural(tokens, "token")}`, cancelled: "cancelled; what there is stays", failed: "" }[state];
}

/** The values of a request in a link; null when there are none. The server checks them. */
function readLink(text) {
  if (text.length > LONGEST_LINK) return null;
  const values = Object.fromEntries(new URLSearchParams(text));
  return values.prompt ? values : null;
}

/** Lists as lists, however they came. */
function listed(value) {
  return Array.isArray(value)
    ? value
    : String(value ?? "")
        .split(/[\s,_]+/)
        .filter(Boolean);
}

/** Add a panel's section; make(tools) gives its spec. */
function section(name, options, make) {
  addSection(name, {
    ...options,
    draw(root, tools) {
      const panel = new Panel(root, tools, make(tools));
      return { link: () => panel.link(), opened: () => panel.opened(), closed: () => panel.player.pause() };
    },
  });
}

export { section, listed };
