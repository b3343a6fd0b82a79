// A panel of runs that have moments: recorded ones and live ones, their player, links, and what else it shows of them.
// For tests, window.__hsdSystems[name + "Run"] = {trace, at, moments, chosen, asked, preset, state, problem}.
import * as controls from "./controls.js";
import * as recorded from "./runs.js";
import { Runs } from "./runs.js";

const BAD_LINK = "the run in this link cannot be read: a recorded one is shown instead";
const LONGEST_LINK = 8000;

class Panel {
  /**
   * spec: name: of the panel; fits(asked): which recorded runs are its own; title, hint, fields, above: of the controls;
   * player(changed): its player, see moments.js; telling(trace): the moment to open a run at; extras: cards
   * below the player, each {element, update(trace, moment)}; fit(asked): what is asked, so that its parts fit each other;
   * ready: a promise to wait for, or nothing; it brings a problem, "" for none.
   */
  constructor(root, tools, spec) {
    Object.assign(this, { tools, spec, asked: spec.fit({}), at: null, end: null });
    this.runs = new Runs(tools, spec.fits, {
      shown: (trace, asked) => this.shown(trace, asked),
      grew: (trace, from) => this.player.extend(trace, from),
      ended: () => this.ended(),
      news: () => this.show(),
    });
    this.controls = controls.create(
      { ...spec, presets: this.runs.presets },
      {
        preset: (name) => this.open(name),
        edit: (asked) => this.edit(asked),
        run: () => this.run(this.asked),
        cancel: () => this.runs.cancel(),
        copy: () => tools.copyLink(),
      },
    );
    this.player = spec.player(() => this.moved());
    this.below = [...this.player.cards, ...spec.extras.map((one) => one.element)];
    for (const one of this.below) one.hidden = true;
    root.append(this.controls.element, ...this.below);
    this.drawn = this.begin(tools.query);
  }

  async begin(query) {
    const asked = query.get("run") ? readLink(query.get("run")) : null;
    const at = Number.parseInt(query.get("at"), 10);
    const known = this.runs.presets.find(({ name }) => name === query.get("show"));
    const first = (known || this.runs.presets[0])?.name;
    if (first && !asked) recorded.read(this.tools, first); // while the panel is being made ready
    this.blocked = (await this.spec.ready) || "";
    if (this.blocked) this.runs.problem = this.blocked;
    else if (asked) this.run(asked, at);
    else await this.open(first, known ? at : null, query.get("run") ? BAD_LINK : "");
    this.show();
  }

  /** Show a recorded run; at: the moment, or nothing for its most telling one. */
  open(name, at = null, problem = "") {
    this.at = at;
    return this.runs.open(name, problem);
  }

  edit(asked) {
    this.asked = this.spec.fit(asked);
    this.show();
  }

  /** A live run; at: the moment to show at its end. */
  run(asked, at = null) {
    if (this.blocked) return;
    Object.assign(this, { at: null, end: at, asked: this.spec.fit(asked) });
    this.runs.run(this.asked);
  }

  shown(trace, asked) {
    for (const one of this.below) one.hidden = false;
    if (asked) this.asked = this.spec.fit(asked);
    if (asked) this.player.load(trace, Number.isInteger(this.at) ? this.at : this.spec.telling(trace));
    else this.player.load(trace);
  }

  /** At the end of a live run the moment that the link names is shown; the most telling one if nobody has moved. */
  ended() {
    const { trace, at } = this.player;
    if (Number.isInteger(this.end)) this.player.go(this.end);
    else if (at === 0) this.player.go(this.spec.telling(trace));
  }

  moved() {
    const { trace, moment } = this.player;
    for (const one of this.spec.extras) one.update(trace, moment);
    this.told();
  }

  show() {
    this.controls.update(this.asked, this.runs);
    this.told();
  }

  link() {
    const { name, link } = this.runs;
    if (!this.player.trace) return {};
    return { ...(name ? { show: name } : { run: new URLSearchParams(link).toString() }), at: String(this.player.at) };
  }

  told() {
    const { trace, at, chosen, moments: all } = this.player;
    const { name: preset, problem, state } = this.runs;
    const told = { trace, at, moments: all.length, chosen, asked: this.asked, preset, problem, state };
    this.tools.changed();
    this.tools.tell({ [`${this.spec.name}Run`]: told });
  }
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

/** A list as long as `otherwise`, which supplies what is not given. */
function padded(value, otherwise) {
  const given = listed(value).map(String);
  return otherwise.map((one, i) => given[i] ?? one);
}

function draw(root, tools, spec) {
  const panel = new Panel(root, tools, spec);
  return { drawn: panel.drawn, link: () => panel.link(), closed: () => panel.player.bar.pause() };
}

export { draw, listed, padded };
