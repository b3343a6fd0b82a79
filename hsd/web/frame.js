// The frame around the player: chips, messages, links, files, and live runs that come in piece by piece.
// head(element) and start(element, props, server, watch) are called once, when Gradio has made the head and the stage.
//
// The stage's value is a small message from the server: {serial, alert} shows a line and changes nothing else;
// {serial, preset} opens a recorded run; {serial, key, count, state} tells of a live run; {serial, pair} names the
// pair that is chosen now. Text reaches the page through textContent only.
import { create } from "./player/player.js";

const PHONE = "(max-width: 860px)";
const PATIENCE = 800; // milliseconds
const ENDED = ["done", "cancelled", "failed"];

class Frame {
  constructor(head, element, props, server) {
    this.props = props;
    this.server = server;
    this.serial = 0;
    this.source = null; // what is shown: {kind: "preset" | "run" | "file", link}
    this.run = null; // the live run that is followed: {key, count, busy, again, timer}
    this.placed = false; // a link has said where to look
    this.wanted = null; // {step, node} of a link, until it can be shown
    const part = (name) => head.querySelector(`.hf-${name}`) || element.querySelector(`.hf-${name}`);
    this.parts = Object.fromEntries(
      [
        "title",
        "options",
        "open",
        "ask",
        "file",
        "source",
        "device",
        "pair",
        "alert",
        "alert-words",
        "close",
        "status",
        "caption",
        "caption-title",
        "caption-why",
        "player",
        "about",
      ].map((name) => [name, part(name)]),
    );
    this.parts.title.textContent = props.title;
    this.controller = null;
    this.listen();
  }

  // ---- what the visitor does in the frame

  listen() {
    const { options, open, ask, file, close, about } = this.parts;
    const layout = document.getElementById("hsd-layout");
    const phone = window.matchMedia(PHONE);
    const unfold = (on) => {
      layout.classList.toggle("is-folded", !on);
      options.setAttribute("aria-expanded", String(on));
      options.textContent = on && phone.matches ? "✕ Close" : "☰ Options";
    };
    this.foldOnPhones = () => phone.matches && unfold(false);
    unfold(!phone.matches);
    phone.addEventListener("change", () => unfold(!phone.matches));
    about.open = !phone.matches;
    options.addEventListener("click", () => unfold(layout.classList.contains("is-folded")));
    open.addEventListener("click", () => file.click());
    file.addEventListener("change", () => this.openFile(file.files[0]));
    close.addEventListener("click", () => this.alert(""));
    ask.addEventListener("click", () => {
      showTab("watch");
      about.open = true;
      about.scrollIntoView({ block: "start" });
      about.querySelector("summary").focus({ preventScroll: true });
    });
  }

  async openFile(file) {
    this.parts.file.value = "";
    if (!file) return;
    if (file.size > this.props.bytes) {
      this.alert(
        `the file has ${Math.round(file.size / 1e6)} MB, a trace at most ${Math.round(this.props.bytes / 1e6)} MB: choose a trace saved by hsd`,
      );
      return;
    }
    const reply = await this.ask("check_trace", await file.text());
    if (reply) this.show({ kind: "file", link: null }, reply.trace, reply);
  }

  // ---- messages

  alert(words) {
    this.parts["alert-words"].textContent = words;
    this.parts.alert.hidden = !words;
  }

  status(words) {
    this.parts.status.textContent = words;
    this.parts.status.hidden = !words;
  }

  /** Call a function of the server. An error becomes the alert line, and the answer is null. */
  async ask(name, argument) {
    let reply;
    try {
      reply = await this.server[name](argument);
    } catch {
      reply = { error: "the server does not answer: check the connection, or reload the page" };
    }
    if (reply && reply.error) {
      this.alert(reply.error);
      return null;
    }
    return reply;
  }

  // ---- what the server says

  message(value) {
    if (!value || !value.serial || value.serial < this.serial) return;
    const fresh = value.serial > this.serial;
    this.serial = value.serial;
    if (value.alert) {
      this.alert(value.alert);
      if (!this.source) this.openPreset(this.props.first, {});
    } else if (value.key) {
      if (fresh) this.followRun(value.key);
      this.pull();
    } else if (value.preset && fresh) {
      this.alert("");
      this.openPreset(value.preset, {});
    } else if (value.pair && fresh) {
      this.pairChip(value.pair);
    }
  }

  // ---- recorded runs

  async start() {
    const query = new URLSearchParams(window.location.search);
    const number = (name) => (/^\d{1,6}$/.test(query.get(name) || "") ? Number(query.get(name)) : undefined);
    const where = { step: number("step"), node: number("node") };
    this.pairChip(query.get("pair"));
    if (query.has("prompt")) {
      this.wanted = where;
      this.status("Starting the run that this link asks for …");
    } else if (this.props.opened && !query.has("preset")) {
      const reply = await this.ask("read_opened", null);
      if (reply) this.show({ kind: "file", link: null }, reply.trace, { ...reply, ...defined(where) });
    } else {
      await this.openPreset(query.get("preset") || this.props.first, where);
      if (!this.source) await this.openPreset(this.props.first, {});
    }
  }

  async openPreset(name, where) {
    this.leaveRun();
    this.wanted = null;
    const reply = await this.ask("read_preset", name);
    if (reply) this.show({ kind: "preset", link: { preset: name } }, reply.trace, { ...reply, ...defined(where) });
  }

  /** Put a whole trace on the stage. */
  show(source, trace, { step = 0, node = null, title = "", why = "" }) {
    this.leaveRun();
    if (source.kind === "file") this.alert("");
    this.caption(title, why);
    this.display(source, trace, { step, node, live: false });
  }

  display(source, trace, where) {
    if (!this.controller) {
      this.parts.player.replaceChildren();
      this.controller = create(this.parts.player, { onSelect: () => this.moved(), link: () => this.link() });
    }
    this.source = source;
    this.sourceChip(trace, where.live);
    if (source.kind !== "preset") this.traceChip(trace.setup);
    this.controller.load(trace, where);
    this.remember();
    tell("trace");
  }

  caption(title, why) {
    this.parts.caption.hidden = !title;
    this.parts["caption-title"].textContent = title;
    this.parts["caption-why"].textContent = why;
  }

  // ---- live runs

  followRun(key) {
    this.leaveRun();
    this.alert("");
    this.placed = false;
    this.run = { key, begun: Date.now(), count: 0, shown: false, busy: false, again: false };
    this.run.timer = setInterval(() => this.pull(), 1000);
    this.foldOnPhones();
    tell("run");
  }

  leaveRun() {
    if (this.run) clearInterval(this.run.timer);
    this.run = null;
    this.status("");
  }

  /** Fetch what is new of the run; calls that come while one is under way are made up for afterwards. */
  async pull() {
    const run = this.run;
    if (!run) return;
    run.again = run.busy;
    if (run.busy) return;
    run.busy = true;
    do {
      run.again = false;
      const reply = await this.ask("read_run", { key: run.key, start: run.count });
      if (this.run !== run) return;
      if (!reply) this.leaveRun();
      else this.take(run, reply);
    } while (run.again && this.run === run);
    run.busy = false;
  }

  take(run, reply) {
    const { header, steps, result, state } = reply;
    if (header && !run.shown) {
      run.shown = true;
      this.caption("", "");
      this.display(
        { kind: "run", link: reply.link, key: run.key },
        { ...header, steps, result: result || PENDING },
        { step: steps.length - 1, node: null, live: !ENDED.includes(state) },
      );
    } else if (run.shown && (steps.length || result)) {
      this.controller.extend(steps, result);
      tell("trace");
    }
    run.count += steps.length;
    const ended = ENDED.includes(state);
    this.showWanted(ended ? run.count : run.count - 1); // at the newest step the player would move on
    this.status(progress(reply, run));
    if (!ended) return;
    this.wanted = null;
    if (reply.message) this.alert(reply.message);
    if (run.shown) this.endRun(reply.telling);
    this.leaveRun();
    if (!this.source) this.openPreset(this.props.first, {});
  }

  /** A run that was watched to its end goes to the step that tells most; one that is being looked at stays there. */
  endRun(telling) {
    const { step, steps, playing } = this.controller.state();
    this.sourceChip(this.controller.trace(), false);
    if (!this.placed && step === steps - 1 && !playing) this.controller.select({ step: telling });
  }

  showWanted(count) {
    const { step, node } = this.wanted || {};
    if (step === undefined || count <= step) return;
    this.wanted = null;
    this.placed = true;
    this.controller.select({ step, node: node === undefined ? null : node });
  }

  // ---- chips

  chip(name, words, title = "") {
    const chip = this.parts[name];
    chip.textContent = words;
    chip.title = title;
    chip.hidden = !words;
  }

  sourceChip(trace, live) {
    const { kind } = this.source;
    const ended = trace.result && trace.result.finish === "cancelled" ? "live · cancelled" : "live";
    const words =
      kind === "run"
        ? live
          ? "● live · running"
          : `● ${ended}`
        : `${kind === "file" ? "trace file, " : ""}recorded on ${day(trace.created)}`;
    this.chip("source", words, `made ${trace.created} with version ${trace.app_version} on ${trace.setup.device}`);
    this.parts.source.classList.toggle("is-live", kind === "run");
  }

  async pairChip(name) {
    let facts;
    try {
      facts = await this.server.pair_facts(name || "");
    } catch {
      return;
    }
    if (!facts || facts.error) return;
    this.chip("device", facts.device, "what a live run uses");
    if (facts.problem) this.chip("pair", `✕ ${facts.title}: ${facts.problem}`);
    else if (facts.target)
      this.chip(
        "pair",
        sizes(facts.name, facts.target, facts.draft),
        `${sizesInWords(facts.target, facts.draft, facts.vocabulary)}. ${facts.note}`,
      );
    else this.chip("pair", facts.title, facts.note);
  }

  traceChip(setup) {
    const draft = setup.draft && setup.draft.parameters;
    this.chip(
      "pair",
      sizes(setup.pair, setup.target.parameters, draft),
      `${setup.draft ? `${setup.target.name} with ${setup.draft.name}` : setup.target.name}: ${sizesInWords(setup.target.parameters, draft, setup.vocab_size)}`,
    );
  }

  // ---- links

  /** The address of this view; what a run needs to be made again is all in it. */
  link() {
    if (this.source && this.source.kind === "file")
      this.alert("this trace came from a file, which a link cannot carry: pass the file on");
    return this.address();
  }

  address() {
    const url = new URL(window.location.href);
    const theme = url.searchParams.get("__theme");
    url.search = "";
    url.hash = "";
    if (theme) url.searchParams.set("__theme", theme);
    if (!this.source || !this.source.link) return url.href;
    const { step, node } = this.controller.state();
    const values = { ...this.source.link, ...(step >= 0 ? { step, node } : {}) };
    for (const [name, value] of Object.entries(values)) url.searchParams.set(name, value);
    return url.href;
  }

  moved() {
    this.remember();
    tell("place");
  }

  /** Keep the address bar on this view. Not at every move: browsers count such changes. */
  remember() {
    clearTimeout(this.rememberTimer);
    this.rememberTimer = setTimeout(() => {
      if (this.controller && !this.wanted && open === "watch")
        window.history.replaceState(window.history.state, "", this.address());
    }, 300);
  }
}

const PENDING = { text: "", finish: "cancelled", seconds: 0 };

const defined = (values) => Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));

/** What to say about a run that has nothing to show yet; nothing at all when that passes in a moment. */
function progress({ state, place }, { count, begun }) {
  if (state === "waiting" && place > 0)
    return `Another visitor's run is using the model; you are number ${place} in line.`;
  return !ENDED.includes(state) && !count && Date.now() - begun > PATIENCE ? "Starting …" : "";
}

function sizes(name, target, draft) {
  const million = (n) => `${(n / 1e6).toPrecision(n < 1e7 ? 2 : 3)} M`;
  const models = draft ? `${million(target)} + ${million(draft)}` : million(target);
  return `${name}: ${models}${draft ? " · ✓ same vocabulary" : ""}`;
}

/** The same in words, for the chip's tooltip. */
function sizesInWords(target, draft, vocabulary) {
  const models = draft
    ? `target ${target.toLocaleString("en")} parameters, draft ${draft.toLocaleString("en")}`
    : `target ${target.toLocaleString("en")} parameters`;
  return `${models}; ${vocabulary.toLocaleString("en")} tokens${draft ? ", and both models give each the same meaning" : ""}`;
}

function day(created) {
  const date = new Date(created);
  return Number.isNaN(date.getTime())
    ? String(created).slice(0, 20)
    : date.toLocaleDateString("en-GB", { day: "numeric", month: "short", year: "numeric", timeZone: "UTC" });
}

// ---- the page: its head, its tabs, and whoever else shows what the frame shows

const listeners = [];
let frame = null;
let headElement = null;
let begin = null; // starts the frame once head and stage are both there
let open = new URLSearchParams(window.location.search).get("tab") || "watch";

function head(element) {
  headElement = element.querySelector(".hf-top");
  if (begin) begin();
}

function start(element, props, server, watch) {
  begin = () => {
    frame = new Frame(headElement, element.querySelector(".hf-watch"), props, server);
    watch("value", () => frame.message(props.value));
    document.getElementById("hsd-layout").dataset.tab = open;
    frame.start();
    frame.message(props.value);
    begin = null;
  };
  if (headElement) begin();
}

/** Gradio tells which tab was opened. Each screen keeps the address bar itself while it is open. */
function opened(name) {
  open = name;
  document.getElementById("hsd-layout").dataset.tab = name;
  if (frame) frame.remember();
  tell("tab");
}

function showTab(name) {
  const button = document.querySelector(`#hsd-tabs button[data-tab-id="${name}"]`);
  if (button && button.getAttribute("aria-selected") !== "true") button.click();
}

/** listener(what): "trace" — another trace is shown, or it grew; "tab" — another tab is open;
 *  "place" — another step or node is looked at; "run" — a run was asked for, and will soon need the model. */
function listen(listener) {
  listeners.push(listener);
  if (frame && frame.controller) listener("trace");
}

function tell(what) {
  for (const listener of listeners) listener(what);
}

/** The tab that is open. */
const tab = () => open;

/** What is shown: {kind: "preset" | "run" | "file", link, key}, and the trace itself; null before the first. */
const source = () => frame && frame.source;
const trace = () => (frame && frame.controller ? frame.controller.trace() : null);
const place = () => (frame && frame.controller ? frame.controller.state() : null);
const select = (where) => frame.controller.select(where);
const alert = (words) => frame && frame.alert(words);

export { head, start, opened, showTab, listen, tab, source, trace, place, select, alert };
