// Watch: the player, and around it chips, messages, links, files, and live runs that come in piece by piece.
// head(element) and start(element, props, server, watch, trigger) are called once, when Gradio has made the head and the stage.
//
// The stage's value is a small message from the server: {serial, alert} shows a line and changes nothing else;
// {serial, preset} opens a recorded run; {serial, key, count, state} tells of a live run; {serial, pair}, also together
// with preset, names the pair that is chosen now. Text reaches the page through textContent only.
import { parting } from "../kit/again.js";
import { addressBar, pack, unpacked } from "../kit/link.js";
import { ask, inLine, Live } from "../kit/live.js";
import * as page from "../kit/page.js";
import { live, NO_MODEL } from "../kit/source.js";
import { create } from "../step/player.js";
import { watchArrivals } from "./arrivals.js";
import { pairWords, sourceWords, tracePair } from "./chips.js";

const PHONE = "(max-width: 860px)";
const PATIENCE = 800; // milliseconds until "Starting …" is said

class Watch {
  constructor(head, element, props, server, trigger) {
    this.props = props;
    this.server = server;
    this.serial = 0;
    this.recorded = null; // the recorded run that was shown last
    this.pair = null; // the name of the one that is chosen
    this.source = null; // what is shown: {kind: "preset" | "run" | "file", link}
    this.live = null; // the live run that is followed
    this.shown = false; // it is on the stage
    this.placed = false; // a link has said where to look
    this.wanted = null; // {step, node} of a link, until it can be shown
    this.controller = null;
    this.part = (name) => head.querySelector(`.hf-${name}`) || element.querySelector(`.hf-${name}`);
    this.bar = addressBar(
      "watch",
      () => this.values(),
      () => this.source && this.source.packed,
    );
    this.part("sentence").textContent = props.title;
    page.alertBy((words) => this.line("alert", words, this.part("alert-words")));
    this.listen();
    if (live) watchArrivals(server, { say: (words, coming) => this.arrivalChip(words, coming), came: trigger });
  }

  // ---- what the visitor does around the player

  listen() {
    const [options, open, ask, file, close, about] = ["options", "open", "ask", "file", "close", "about"].map(
      this.part,
    );
    if (!live) options.remove();
    const layout = document.getElementById("hsd-layout");
    const phone = window.matchMedia(PHONE);
    const unfold = (on) => {
      layout.classList.toggle("is-folded", !on);
      options.setAttribute("aria-expanded", String(on));
      options.textContent = on && phone.matches ? "✕ Close" : "☰ Options";
    };
    this.foldOnPhones = () => phone.matches && unfold(false);
    options.addEventListener("click", () => {
      unfold(layout.classList.contains("is-folded"));
      const side = document.getElementById("hsd-side");
      side.tabIndex = -1;
      if (!layout.classList.contains("is-folded")) side.focus({ preventScroll: true });
    });
    open.addEventListener("click", () => file.click());
    file.addEventListener("change", () => this.openFile(file.files[0]));
    close.addEventListener("click", () => page.alert(""));
    ask.addEventListener("click", () => {
      page.showTab("watch");
      about.open = true;
      about.scrollIntoView({ block: "start" });
      about.querySelector("summary").focus({ preventScroll: true });
    });
    page.listen((what) => what === "tab" && this.looked());
  }

  looked() {
    this.bar.remember();
    if (this.controller) this.controller.refresh();
  }

  async openFile(file) {
    this.part("file").value = "";
    if (!file) return;
    const most = this.props.bytes;
    if (file.size > most) {
      const [found, allowed] = [file.size, most].map((bytes) => `${Math.round(bytes / 1e6)} MB`);
      page.alert(`the file has ${found}, a trace at most ${allowed}: choose a trace saved by hsd`);
      return;
    }
    const reply = await this.ask("check_trace", await file.text());
    if (reply) await this.showFile(reply);
  }

  /** Text in a part that is hidden where there is none. */
  line(name, words, box = this.part(name)) {
    box.textContent = words;
    this.part(name).hidden = !words;
  }

  /** Call a function of the server. An error becomes the page's line, and the answer is null. */
  async ask(name, argument) {
    const reply = await ask(this.server, name, argument);
    if (reply.error) page.alert(reply.error);
    return reply.error ? null : reply;
  }

  /** A control was changed: another rule judges the shown draft at once; all else needs a run, and the button says so. */
  changed(name, value) {
    if (name === "rule" && this.controller && this.controller.judgeBy(value)) return;
    document.getElementById("hsd-strip").dataset.changed = "yes";
  }

  // ---- what the server says

  message(value) {
    if (!value || !value.serial || value.serial < this.serial) return;
    const fresh = value.serial > this.serial;
    this.serial = value.serial;
    if (value.alert) {
      page.alert(value.alert);
      if (!this.source) this.openPreset(this.props.first, {});
    } else if (value.key) {
      if (fresh) this.follow(value.key);
      else if (this.live) this.live.hear(value);
    } else if (value.preset && fresh) {
      page.alert("");
      this.openPreset(value.preset, {});
    }
    if (value.pair && fresh) {
      this.pairChip(value.pair);
      this.chip("arrival", ""); // where something is still on its way, the next look says so again
    }
  }

  // ---- recorded runs

  async start() {
    const query = new URLSearchParams(window.location.search);
    document.body.classList.toggle("hsd-embedded", query.get("embed") === "1");
    const number = (name) => (/^\d{1,6}$/.test(query.get(name) || "") ? Number(query.get(name)) : undefined);
    const where = { step: number("step"), node: number("node") };
    this.pairChip(query.get("pair"));
    const carried = await unpacked();
    if (carried !== null && (await this.openCarried(carried, where))) return;
    if (query.has("prompt") && live) {
      this.wanted = where;
      this.line("status", "Starting the run that this link asks for …");
    } else if (this.props.opened && !query.has("preset")) {
      const reply = await this.ask("read_opened", null);
      if (reply) await this.showFile(reply, where);
    } else {
      await this.openPreset(query.get("preset") || this.props.first, where);
      if (!this.source) await this.openPreset(this.props.first, {});
      if (query.has("prompt")) page.alert(NO_MODEL);
    }
  }

  /** The trace that the link carries; false where it cannot be read, which is told. */
  async openCarried(text, where) {
    const reply = await this.ask("check_trace", text);
    if (reply) await this.showFile(reply, where);
    return Boolean(reply);
  }

  /** A trace from outside: its link carries it where it is short. */
  async showFile(reply, where = {}) {
    const packed = await pack(reply.trace);
    this.show({ kind: "file", link: null, packed }, reply.trace, { ...reply, ...defined(where) });
  }

  async openPreset(name, where) {
    this.leave();
    this.wanted = null;
    const reply = await this.ask("read_preset", name);
    if (reply) this.show({ kind: "preset", link: { preset: name } }, reply.trace, { ...reply, ...defined(where) });
  }

  /** Put a whole trace on the stage. */
  show(source, trace, { step = 0, node = null, title = "", why = "" }) {
    this.leave();
    if (source.kind === "file") page.alert("");
    if (source.kind === "preset") this.recorded = trace;
    this.caption(title, why);
    this.display(source, trace, { step, node, live: false });
  }

  display(source, trace, where) {
    delete document.getElementById("hsd-strip").dataset.changed;
    if (!this.controller) {
      const player = this.part("player");
      player.replaceChildren();
      const hidden = () => page.tab() !== "watch";
      const address = () => (this.source.kind === "file" ? document.baseURI : this.bar.href());
      this.controller = create(player, { onSelect: () => this.moved(), link: () => this.link(), address, hidden });
    }
    this.source = source;
    this.sourceChip(trace, where.live);
    if (source.kind !== "preset") this.chip("pair", ...tracePair(trace.setup));
    else if (this.pair && this.pair !== trace.setup.pair) this.pairChip(trace.setup.pair);
    this.controller.load(trace, where);
    this.bar.remember();
    page.tell("trace");
  }

  caption(title, why) {
    this.part("caption-why").textContent = why;
    this.line("caption", title, this.part("caption-title"));
  }

  // ---- live runs

  follow(key) {
    this.leave();
    page.alert("");
    this.placed = false;
    this.shown = false;
    this.live = new Live(this.server, { changed: (live, fresh) => this.took(live, fresh) }).follow(key);
    this.foldOnPhones();
    page.tell("run");
  }

  leave() {
    if (this.live) this.live.forget();
    this.live = null;
    this.line("status", "");
  }

  /** There is more of the live run, or it has ended. */
  took(live, fresh) {
    const { trace, ended, key, items } = live;
    if (trace && !this.shown) {
      this.shown = true;
      this.caption("", "");
      const where = { step: items.length - 1, node: null, live: !ended };
      this.display({ kind: "run", link: live.reply.link, key }, trace, where);
    } else if (trace && (fresh.length || live.result)) {
      this.controller.extend(fresh, live.result);
      page.tell("trace");
    }
    this.showWanted(ended ? items.length : items.length - 1); // at the newest step the player would move on
    this.line("status", progress(live));
    if (ended) this.end(live);
  }

  /** A run that was watched to its end goes to the step that tells most; one that is being looked at stays there. */
  end({ message, reply }) {
    this.wanted = null;
    if (message) page.alert(message);
    if (this.shown) {
      const { step, steps, playing } = this.controller.state();
      this.sourceChip(this.controller.trace(), false);
      if (!this.placed && step === steps - 1 && !playing) this.controller.select({ step: reply.telling });
    }
    this.leave();
    if (this.shown && this.recorded) this.line("status", parting(this.recorded, this.controller.trace()));
    if (!this.source) this.openPreset(this.props.first, {});
  }

  showWanted(count) {
    const { step, node = null } = this.wanted || {};
    if (step === undefined || count <= step) return;
    this.wanted = null;
    this.placed = true;
    this.controller.select({ step, node });
  }

  // ---- chips

  chip(name, words, title = "") {
    this.part(name).title = title;
    this.line(name, words);
  }

  sourceChip(trace, live) {
    const { kind } = this.source;
    const made = `made ${trace.created} with version ${trace.app_version} on ${trace.setup.device}`;
    this.chip("source", sourceWords(trace, kind, live), made);
    this.part("source").classList.toggle("is-live", kind === "run");
  }

  /** Announced once nothing more comes, and not at every percent. */
  arrivalChip(words, coming) {
    this.part("arrival").setAttribute("aria-live", coming ? "off" : "polite");
    this.chip("arrival", words);
  }

  async pairChip(name) {
    const known = await ask(this.server, "pair_facts", name || "");
    if (known.error && name) return this.pairChip(""); // what can be run instead
    if (!known.title) return;
    this.pair = known.name;
    page.tell("pair");
    this.chip("device", known.device, "what a live run uses");
    if (known.problem) this.chip("pair", `✕ ${known.title}: ${known.problem}`);
    else if (known.target) this.chip("pair", ...pairWords(known, `. ${known.note}`));
    else this.chip("pair", known.title, known.note);
  }

  // ---- links

  /** The address of this view, or null: what a run needs to be made again is in it, or a short trace itself. */
  link() {
    const { kind, packed } = this.source || {};
    if (kind !== "file" || packed) return this.bar.href();
    page.alert("this trace came from a file and is too long for a link to carry: pass the file on");
    return null;
  }

  values() {
    if (!this.controller || this.wanted) return null;
    const { step, node } = this.controller.state();
    const { link, packed } = this.source;
    return link || packed ? { ...link, ...(step >= 0 ? { step, node } : {}) } : {};
  }

  moved() {
    this.bar.remember();
    page.tell("place");
  }
}

const defined = (values) => Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));

/** What to say about a run that has nothing to show yet; nothing at all when that passes in a moment. */
function progress(live) {
  const { state, place, items, begun, ended } = live;
  if (state === "waiting" && place > 0) return `Another run is using the model; this one is ${inLine(live)}.`;
  return !ended && !items.length && Date.now() - begun > PATIENCE ? "Starting …" : "";
}

// ---- called by Gradio, and by the screens that show what Watch shows

let screen = null;
let top = null; // the page's head
let begin = null; // starts the screen once head and stage are both there

function head(element) {
  top = element.querySelector(".hf-top");
  if (begin) begin();
}

function start(element, props, server, watch, trigger) {
  begin = () => {
    screen = new Watch(top, element.querySelector(".hf-watch"), props, server, trigger);
    watch("value", () => screen.message(props.value));
    page.mark();
    screen.start();
    screen.message(props.value);
    begin = null;
  };
  if (top) begin();
}

const changed = (name, value) => screen && screen.changed(name, value);
const controller = () => screen && screen.controller;

/** What is shown: {kind: "preset" | "run" | "file", link, key}; null before the first trace. */
const source = () => screen && screen.source;
/** The name of the pair that is chosen; null before the server has told. */
const pair = () => screen && screen.pair;
const trace = () => (controller() ? controller().trace() : null);
/** Where one looks: {step, node, …}, as the player tells it. */
const place = () => (controller() ? controller().state() : null);
const select = (where) => controller().select(where);

export { alert, opened } from "../kit/page.js";
export { changed, head, start, source, pair, trace, place, select };
