// Watch: the player, and around it chips, messages, links, files, and live runs that come in step by step. It also has the
// page's head and strip. What is shown is a recorded run, a live one, or a trace from outside.
import { ask, why } from "../answers/answers.js";
import { Run } from "../answers/run.js";
import { facts } from "../kit/facts.js";
import { parting } from "../kit/again.js";
import { h } from "../kit/dom.js";
import { addressBar, asked, pack, unpacked } from "../kit/link.js";
import * as page from "../kit/page.js";
import { create } from "../step/player.js";
import * as outcome from "./outcome.js";
import { Beside } from "./beside.js";
import { pairWords, sourceWords, tracePair } from "./chips.js";
import { follow } from "./downloads.js";
import { asking, chip, explaining, files, folding, part, status } from "./head.js";
import * as links from "./links.js";
import { Setup } from "./setup.js";
import * as tour from "./tour.js";

const PATIENCE = 800; // milliseconds until "Starting …" is said
const NO_LINK = "this trace came from a file and is too long for a link to carry: pass the file on";

class Watch {
  /** told: what the page is made with, see hsd/app/site.py. */
  constructor(root, told) {
    this.told = told;
    this.source = null; // what is shown: {kind: "preset" | "run" | "file", trace, link, packed, run}
    this.recorded = null; // the recorded run that was shown last
    this.run = null; // the live run that is followed
    this.wanted = null; // {step, node, supposed} of a link, until it can be shown
    this.placed = false; // a link has said where to look
    this.asking = null; // the name of the pair whose facts are awaited
    this.turn = 0; // how often something else was asked for: an answer that comes late is not shown
    this.bar = addressBar(
      "watch",
      () => this.address(),
      () => this.source?.packed,
    );
    this.caption = h("p.hf-caption", { hidden: true });
    this.place = h("div.hf-player", { hidden: true });
    this.outcome = outcome.create();
    root.prepend(this.outcome.element, this.caption, this.place);
    this.player = create(this.place, {
      onSelect: ({ step }) => this.moved(step),
      link: why("link") ? null : () => this.link(),
      address: () => this.home(),
      hidden: () => page.tab() !== "watch",
    });
    this.beside = new Beside({
      options: () => links.optionsOf(this.source.trace, this.source.link),
      player: this.player,
      changed: () => this.bar.remember(),
    });
    this.place.append(this.beside.element);
    this.setup = new Setup(told, {
      run: () => this.begin(this.setup.values),
      cancel: () => this.run?.cancel(),
      preset: (name) => {
        page.alert("");
        this.openPreset(name);
      },
      pair: (name) => {
        chip("arrival", ""); // where a model is still on its way, the next look says so again
        this.pairChips(name);
      },
      judge: (rule) => this.player.judgeBy(rule),
    });
    this.back = h("a", { target: "_blank", rel: "noopener" }, "Open it where it was saved");
    if (told.about) part("sentence").replaceChildren(told.about, " ", links.back(told.from) ? this.back : "");
    this.fold = folding();
    files((file) => this.openFile(file));
    this.tour = tour.create(this.player, this.place, explaining(told.credits));
    asking(() => this.explain());
  }

  // ---- what a link asks for

  async start() {
    const { preset, where, options, ...beside } = links.read(asked("watch"));
    this.beside.want({ ...beside, step: where.step });
    if (!why("run")) follow({ say: arriving, here: (pairs) => this.setup.offer(pairs) });
    const carried = await unpacked();
    if (carried !== null && (await this.openTrace(carried, where))) return;
    if (options && !why("run")) {
      this.setup.set(options);
      return this.begin(options, where);
    }
    const opened = preset || this.told.opened === false ? null : await this.answer("opened");
    if (opened) return this.showFile(opened, where);
    await this.openPreset(preset ?? this.told.first, where);
    if (!this.source) await this.openPreset(this.told.first);
    if (options) page.alert(why("run"));
  }

  /** An answer; null if it is refused (the page says so) or if something else was asked for meanwhile. */
  async answer(name, argument) {
    this.turn += 1;
    const { turn } = this;
    try {
      const reply = await ask(name, argument);
      return turn === this.turn ? reply : null;
    } catch (refusal) {
      page.alert(refusal.message);
      return null;
    }
  }

  // ---- whole traces

  async openPreset(name, where) {
    const reply = await this.answer("preset", { name });
    if (!reply) return;
    this.recorded = reply.trace;
    this.setup.repeat(links.optionsOf(reply.trace));
    this.show({ kind: "preset", link: { preset: name }, timed: reply.timed }, reply, where);
    this.pairChips(reply.trace.setup.pair);
  }

  async openFile(file) {
    const most = this.told.bytes;
    page.alert("");
    if (file.size <= most) return this.openTrace(await file.text());
    const [found, allowed] = [file.size, most].map((bytes) => `${Math.round(bytes / 1e6)} MB`);
    return page.alert(`the file has ${found}, a trace at most ${allowed}: choose a trace saved by hsd`);
  }

  /** Whether the text is a trace. */
  async openTrace(text, where) {
    const reply = await this.answer("check", { text });
    if (reply) await this.showFile(reply, where);
    return Boolean(reply);
  }

  /** A trace from outside: its link carries it where it is short. */
  async showFile(reply, where) {
    this.show({ kind: "file", packed: why("link") ? null : await pack(reply.trace) }, reply, where);
  }

  show(source, { trace, step, node = null, supposed = null, title = "", why: reason = "" }, where = {}) {
    this.leave();
    this.tour.stop();
    const { title: pair } = this.told.pairs?.find(({ name }) => name === trace.setup.pair) ?? {};
    this.entitle(title, reason, pair);
    const place = { step: where.step ?? step, node: where.node ?? node, supposed: where.supposed ?? supposed };
    this.display({ ...source, trace }, { ...place, live: false });
  }

  /** The line over the player: what this is, and why one may look at it. */
  entitle(title, reason, pair) {
    const parts = [h("b", title), " ", h("span.hf-caption-why", reason), pair && h("span.hf-caption-pair", ` ${pair}`)];
    this.caption.replaceChildren(...parts.filter(Boolean));
    this.caption.hidden = !title;
  }

  display(source, where) {
    const { trace } = source;
    this.source = source;
    this.place.hidden = false;
    document.querySelector(".hf-first")?.remove(); // its picture, until there was a player
    this.sourceChip(where.live);
    this.asking = null;
    chip("pair", ...tracePair(trace.setup));
    this.setup.preset.value = source.link?.preset ?? "";
    this.setup.mark(false);
    this.player.load(trace, where);
    this.outcome.fill(trace, source.timed ?? null);
    this.beside.take(trace, where.live);
  }

  // ---- live runs

  begin(options, where = {}) {
    this.leave();
    this.turn += 1;
    page.alert("");
    this.fold();
    this.setup.running(true);
    const run = new Run(options, (_, steps) => this.grew(run, steps));
    Object.assign(this, { run, wanted: where, placed: false });
    setTimeout(() => this.run === run && this.progress(), PATIENCE);
  }

  /** Follow the live run no longer. */
  leave() {
    if (this.run) this.run.leave();
    Object.assign(this, { run: null, wanted: null });
    this.setup.running(false);
    this.beside.leave();
    status("");
  }

  grew(run, steps) {
    const { trace, ended } = run;
    if (this.source?.run === run) {
      this.source.trace = trace;
      this.player.extend(steps, ended ? trace.result : null);
      this.beside.grow(steps, !ended);
      this.outcome.fill(trace, null, run.cost);
    } else if (steps.length) {
      this.entitle("Your run", "Decoded now, step by step; “Copy link” keeps it.");
      const where = { step: steps.length - 1, node: null, live: !ended };
      this.display({ kind: "run", link: links.short(run.options), trace, run }, where);
    }
    this.showWanted(run.steps.length - (ended ? 0 : 1)); // at the newest step the player would move on
    if (ended) this.ended(run);
    else this.progress();
  }

  /** What there is to say while there is nothing to show; nothing at all when that passes in a moment. */
  progress() {
    const { place, seconds, words, steps, begun } = this.run;
    const wait = seconds ? `, which takes about ${Math.ceil(seconds)} s` : "";
    const line = `Another run is using the model; this one is number ${place} in line${wait}.`;
    const soon = steps.length > 0 || Date.now() - begun < PATIENCE;
    status(words || (soon ? "" : place ? line : "Starting …"));
  }

  /** A run that was watched to its end goes to the step that tells most; one that is being looked at stays there. */
  ended(run) {
    const { problem, trace, options, telling } = run;
    const { placed } = this;
    Object.assign(this, { run: null, wanted: null });
    this.setup.running(false);
    status("");
    if (problem) page.alert(problem);
    if (this.source?.run !== run) return this.source || this.openPreset(this.told.first);
    this.source.link = run.link ?? this.source.link;
    this.sourceChip(false);
    const { step, steps, playing } = this.player.state();
    if (telling !== null && !placed && step === steps - 1 && !playing) this.player.select({ step: telling });
    this.bar.remember();
    if (problem) status("What came before stays.", ["Run again", () => this.begin(options)]);
    else if (this.recorded) status(parting(this.recorded, trace));
    return undefined;
  }

  showWanted(count) {
    const { step, ...where } = this.wanted ?? {};
    if (step === undefined || count <= step) return;
    Object.assign(this, { wanted: null, placed: true });
    this.player.select({ step, ...where });
  }

  // ---- chips

  sourceChip(live) {
    const { kind, trace } = this.source;
    const made = `made ${trace.created} with version ${trace.app_version} on ${trace.setup.device}`;
    chip("source", sourceWords(trace, kind, live), made).classList.toggle("is-live", kind === "run");
  }

  /** What a pair is and what it runs on, or the pair that can be run in its place; else what the trace says of its own. */
  async pairChips(name) {
    this.asking = name;
    const told = (one) => ask("pair", { name: one }).catch(() => null);
    const known = why("pair") ? null : ((await told(name)) ?? (await told("")));
    if (this.asking !== name) return; // something else is shown meanwhile
    chip("device", known?.device ?? "", "what a live run uses");
    if (!known) chip("pair", ...tracePair(this.source.trace.setup));
    else if (known.problem) chip("pair", `✕ ${known.title}: ${known.problem}`);
    else chip("pair", ...(known.target ? pairWords(known, `. ${known.note}`) : [known.title, known.note]));
  }

  /** A tour of what is shown, where that is one draft with both rules; else of the first recorded run. */
  async explain() {
    const { options } = this.source?.trace.setup ?? {};
    const fits = this.place.querySelectorAll(".hp-board:not([hidden]) .is-lane.is-start").length === 2;
    if (!fits || options.rule !== facts.usual) await this.openPreset(this.told.first);
    this.tour.start();
  }

  // ---- links

  /** The address of this view, or null: what a run needs to be made again is in it, or a short trace itself. */
  link() {
    const { kind, packed } = this.source ?? {};
    if (kind !== "file" || packed) return this.bar.href();
    page.alert(NO_LINK);
    return null;
  }

  address() {
    if (!this.source || this.wanted) return null;
    const { link, packed } = this.source;
    return link || packed ? { ...link, ...links.placeOf(this.player.state()), ...this.beside.address } : {};
  }

  /** Where this view can be seen: of a page on a disk where that was saved; "" for nowhere. */
  home() {
    const { origin, pathname, protocol } = window.location;
    if (protocol === "file:") return links.back(this.told.from, this.player.state());
    return this.source.link || this.source.packed ? this.bar.href() : origin + pathname;
  }

  moved(step) {
    if (!this.source) return;
    this.beside.moveTo(step);
    this.bar.remember();
    this.back.href = this.home();
  }
}

/** The chip of models that are downloaded. Announced once nothing more comes, and not at every percent. */
const arriving = (words, coming) => chip("arrival", words).setAttribute("aria-live", coming ? "off" : "polite");

let screen = null;

async function start(root) {
  screen = new Watch(root, await ask("page"));
  if (why("link")) window.hsdRun = screen.player; // for slides that want to move it
  await screen.start();
}

function opened() {
  screen.bar.remember();
  screen.player.refresh();
}

export { opened, start };
