// Watch: the player, and around it chips, messages, links, files, and live runs that come in step
// by step. It also has the page's head and strip. It shows a recorded run, a live one, or a trace
// from outside.
import { ask, why } from "../answers/answers.js";
import { Run } from "../answers/run.js";
import { h } from "../kit/dom.js";
import { renamePlace, unpacks } from "../kit/features.js";
import { addressBar, asked, pack, unpacked } from "../kit/link.js";
import * as page from "../kit/page.js";
import * as speeds from "../kit/speeds.js";
import { differs, mostApart } from "../step/model.js";
import { create } from "../step/player.js";
import { alike } from "../step/sums.js";
import * as outcome from "./outcome.js";
import { Beside } from "./beside.js";
import { sourceWords, tracePair } from "../step/frame.js";
import { follow } from "./downloads.js";
import { chip, files, first, folding, keys, part, status, turn } from "./head.js";
import * as links from "./links.js";
import { poll } from "./requests.js";
import { Setup } from "./setup.js";

const PATIENCE = 800; // milliseconds until "Starting …" is said
const DAMAGED = unpacks()
  ? "the trace in this link is damaged or cut off: copy the whole link again"
  : "this browser cannot unpack the trace in this link: open it in a newer browser";
const NO_LINK = "this trace came from a file and is too long for a link to carry: pass the file on";
const LIVE = { title: "Your run", reason: "Decoded now, step by step; “Copy link” keeps it." };
const REQUEST = {
  title: "A request of the server",
  reason: "As the server records it, step by step; “Copy link” opens it again.",
};
const FORCED = {
  title: "What if",
  reason: "A token was forced (✎); what follows was decoded from there.",
};

class Watch {
  source = /** @type {Source | null} */ (null); // what is shown
  // all that were shown, by key, to go back to
  sources = /** @type {Map<unknown, Source>} */ (new Map());
  run = /** @type {Run | null} */ (null); // the live run that is followed
  wanted = /** @type {Place} */ ({}); // of a link, until it can be shown
  placed = false; // a link has said where to look
  announced = ""; // the name of the request that was announced last
  pair = ""; // the name of the pair whose facts are awaited
  awaiting = false; // an answer: until it comes the address stays as it is
  step = 0; // that is shown, or is about to be
  jump = 0; // the one that led here, to go back before it; 0: none
  jumps = 0; // all that there were
  turn = 0; // how often something else was asked for: an answer that comes late is not shown

  constructor(/** @type {HTMLElement} */ root, /** @type {PageContents} */ contents) {
    this.contents = contents;
    this.bar = addressBar("watch", () => this.address(), {
      packed: () => this.source?.packed,
      shown: () => this.source && `${this.source.key} ${this.jump}`,
      stays: () => Boolean(this.source?.wished),
    });
    this.caption = h("p.hf-caption", { hidden: true });
    this.place = h("div.hf-player", { hidden: true });
    this.outcome = outcome.create();
    root.prepend(this.outcome.element, this.caption, this.place);
    const { answers } = document.documentElement.dataset;
    const { tree } = contents;
    const brief = { first, turn: () => this.look(!first()) };
    /** @type {(view: View, node: number, token: number) => void} */
    const force = (...place) => this.begin(links.after(this.source?.link, ...place));
    this.player = create(this.place, {
      onSelect: (/** @type {{step: number}} */ { step }) => this.moved(step),
      link: why("link") ? null : () => this.link(),
      address: () => this.home(),
      hidden: () => page.tab() !== "watch",
      force: why("run") ? undefined : force,
      brief: answers === "file" ? undefined : brief,
      present: document.documentElement.classList.contains("hsd-present"),
      tree: tree ? () => this.openPreset(tree) : undefined,
    });
    this.beside = new Beside({
      options: () => {
        if (!this.source) return {};
        const { trace, link, kind } = this.source;
        return this.optionsOf(trace, link, kind);
      },
      player: this.player,
      changed: () => this.bar.remember(),
    });
    this.place.append(this.beside.element);
    this.setup = new Setup(contents, {
      run: () => this.begin(this.setup.toRun()),
      cancel: () => this.run?.cancel(),
      preset: (name) => {
        page.alert("");
        this.openPreset(name);
      },
      request: (name) => this.openRequest(name),
      pair: (name) => {
        chip("arrival", ""); // where a model is still on its way, the next look says so again
        this.deviceChip(name, true);
      },
      judge: (rule) => this.player.judgeBy(rule),
      judging: () => this.source && this.player.state().supposed?.rule,
    });
    this.back = h("a", { target: "_blank", rel: "noopener" }, "Open it where it was saved");
    const { about, from, credits } = contents;
    if (about) part("sentence").replaceChildren(about, " ", links.back(from) ? this.back : "");
    this.fold = folding();
    keys(this.place);
    files((file) => this.openFile(file));
    part("credits").textContent = credits.join(". ");
  }

  // ---- what a link asks for

  async start() {
    const here = (/** @type {Named[]} */ pairs) => this.setup.offer(pairs);
    /** @type {Arrivals["say"]} */
    const say = (words, coming, fetchable) => {
      arriving(words, coming);
      this.setup.offerToFetch(fetchable);
    };
    if (!why("run")) follow({ say, here });
    if (!why("request")) poll((requests) => this.listRequests(requests));
    window.addEventListener("popstate", ({ state }) => {
      if (page.tab() === "watch") this.read(state?.shown);
    });
    await this.read();
    const { classList, dataset } = document.documentElement;
    if (dataset.earlyPrompt !== undefined) return this.runEarly(dataset.earlyPrompt);
    const linked = classList.contains("hsd-other");
    if (classList.contains("hsd-present")) return this.player.retell();
    if (first() && !linked && page.tab() === "watch") this.player.playAlone();
  }

  /** Run was pressed before the page could hear of it. @param {string} prompt - typed until then */
  runEarly(prompt) {
    delete document.documentElement.dataset.earlyPrompt;
    this.setup.ask(prompt);
    if (!why("run")) this.begin(this.setup.toRun());
  }

  /**
   * Show what the address asks for. shown: of what was shown at this place of the browser's history
   * its key, and the jump that led there.
   * @param {string} [shown]
   */
  async read(shown = "") {
    const query = asked("watch");
    const [key, jump] = shown.split(" ");
    const source = this.sources.get(key);
    this.jump = Number(jump) || 0;
    if (source && source === this.source) return this.go(links.read(query).where);
    if (page.tab() === "watch") page.alert(""); // else the line is another screen's
    this.leave();
    const { preset, request, file, where, options, ...beside } = links.read(query);
    this.beside.want({ ...beside, step: where.step });
    if (source && !request) return this.display(source, where);
    renamePlace(window.location.href);
    const { turn } = this;
    const carried = await unpacked();
    if (turn !== this.turn) return;
    const trace = carried ? await this.openTrace(carried, where) : null;
    if (trace !== null) return;
    if (carried === "") page.alert(DAMAGED);
    if (options && !why("run")) {
      this.setup.set(options);
      return this.begin(options, where);
    }
    if (request && !why("request")) return this.openRequest(request, where);
    const opened = preset || this.contents.opened === false ? null : await this.answer("opened");
    if (opened) await this.showFile(opened, where);
    else if (opened === null) {
      const reply = await this.openPreset(preset ?? this.contents.first, where);
      if (reply === null && !this.source) await this.openPreset(this.contents.first);
    }
    if (options) page.alert(why("run"));
    if (request) page.alert(why("request"));
    if (file)
      page.alert(`a page cannot open the file ${file} of this link by itself: open it again`);
  }

  /**
   * The answer to a question; null if it is refused (the page says so), undefined if something else
   * was asked for meanwhile.
   * @type {(name: string, argument?: Values) => Promise<any>}
   */
  async answer(name, argument) {
    this.turn += 1;
    const { turn } = this;
    this.awaiting = true;
    try {
      const reply = await ask(name, argument);
      return turn === this.turn ? reply : undefined;
    } catch (refusal) {
      if (turn !== this.turn) return undefined;
      page.alert(/** @type {Error} */ (refusal).message);
      return null;
    } finally {
      this.awaiting = false;
    }
  }

  // ---- whole traces

  /**
   * Show a recorded run. wished: options that a link asks for and that could not be run; the form
   * keeps them. Returns as `answer`.
   * @type {(name: string, where?: Place, wished?: Values | null) => Promise<any>}
   */
  async openPreset(name, where, wished = null) {
    const reply = await this.answer("preset", { name });
    const link = { preset: name };
    if (reply) this.show({ kind: "preset", link, timed: reply.timed, wished }, reply, where);
    else if (reply === null) this.choose();
    return reply;
  }

  async openFile(/** @type {File} */ file) {
    const most = this.contents.bytes;
    page.alert("");
    if (file.size <= most) return this.openTrace(await file.text(), {}, file.name);
    const megabytes = (/** @type {number} */ bytes) => `${Math.round(bytes / 1e6)} MB`;
    const sizes = `the file has ${megabytes(file.size)}, a trace at most ${megabytes(most)}`;
    return page.alert(`${sizes}: choose a trace saved by hsd`);
  }

  /**
   * Show the trace in a text. Returns as `answer`. file: the name of the file that it came from.
   * @type {(text: string, where: Place, file?: string) => Promise<any>}
   */
  async openTrace(text, where, file) {
    const reply = await this.answer("check", { text });
    if (reply) await this.showFile(reply, where, file);
    return reply;
  }

  /**
   * Show a trace from outside: its link carries it where it is short.
   * @type {(reply: ShownTrace, where: Place, file?: string) => Promise<void>}
   */
  async showFile(reply, where, file) {
    const packed = why("link") ? null : await pack(reply.trace);
    this.show({ kind: "file", packed, file: packed ? null : file }, reply, where);
  }

  /**
   * Show the trace of an answer.
   * @param {Pick<Source, "kind"> & Partial<Source>} source
   * @param {ShownTrace} reply
   * @param {Place} where
   */
  show(source, { trace, title = "", why: reason = "", ...opened }, where = {}) {
    this.leave();
    const options = links.optionsOf(trace);
    this.display({ ...source, trace, title, reason, options }, { ...opened, ...where });
  }

  /**
   * Show a source, and around it all that follows from it.
   * @type {(source: Source, opening: Opening) => void}
   */
  display(source, { step = 0, node = null, supposed = null, live = false, fresh = false }) {
    const { trace, kind } = source;
    this.source = source;
    this.step = step;
    source.key ??= String(Math.random());
    this.sources.set(source.key, source);
    this.place.hidden = false;
    document.querySelector(".hf-first")?.remove(); // its picture, until there was a player
    const pair = this.contents.pairs.find(({ name }) => name === trace.setup.pair);
    const reason = h("span.hf-caption-why", source.reason);
    const by = h("span.hf-caption-pair", pair ? ` ${pair.title}` : "");
    this.caption.replaceChildren(h("b", source.title), " ", reason, by);
    this.caption.hidden = !source.title;
    speeds.show(trace.setup.pair, this.contents.speeds?.[trace.setup.pair]);
    this.sourceChip(live);
    chip("pair", .../** @type {[string, string]} */ (tracePair(trace.setup)));
    this.player.load(trace, { step, node, supposed, live });
    this.choose();
    const { set } = source;
    if (fresh && set && this.setup.differs(set)) this.setup.shown = set;
    else this.setup.repeat(source.options);
    if (source.wished) this.setup.set(source.wished);
    if (kind !== "run") this.deviceChip(trace.setup.pair);
    this.outcome.fill(trace, source.timed ?? null);
    this.beside.take(trace, live);
    this.bar.write(); // at once: what is shown next begins a place of its own
  }

  // ---- live runs

  /**
   * Begin a live run.
   * @param {Values} options
   * @param {Place} where - to show, once the run has come so far
   * @param {Values} set - all that was set in the form when the run was asked for
   */
  begin(options, where = {}, set = this.setup.values) {
    this.leave();
    this.attend(new Run(options, (own, steps) => this.grew(own, steps, set)), where);
    this.setup.running(true);
  }

  /**
   * Follow a request of the watched server, from its beginning to its end.
   * @param {string} name
   * @param {Place} where - see `begin`
   */
  openRequest(name, where = {}) {
    this.leave();
    const heard = (/** @type {Run} */ run, /** @type {Step[]} */ steps) => this.grew(run, steps);
    this.attend(new Run({ request: name }, heard, "request"), where);
  }

  /** List the requests of the watched server, and announce one that has begun. */
  listRequests(/** @type {ListedRequest[]} */ requests) {
    this.setup.list(requests);
    const [newest] = requests;
    if (!newest || newest.finished || newest.name === this.announced || this.run) return;
    this.announced = newest.name;
    status(`New request: ${newest.title}`, ["Watch it", () => this.openRequest(newest.name)]);
  }

  /**
   * Wait for what a run writes.
   * @param {Run} run
   * @param {Place} where - see `begin`
   */
  attend(run, where) {
    page.alert("");
    this.fold();
    this.run = run;
    this.wanted = where;
    this.placed = false;
    this.sourceChip(false);
    setTimeout(() => this.run === run && this.progress(), PATIENCE);
  }

  /** Follow the live run no longer. */
  leave() {
    this.run?.leave();
    this.turn += 1;
    this.run = null;
    this.wanted = {};
    this.setup.running(false);
    this.beside.leave();
    status("");
  }

  /**
   * Show what a run has written.
   * @param {Run} run
   * @param {Step[]} steps - the new ones
   * @param {Values} [set] - see `begin`
   */
  grew(run, steps, set) {
    const { trace, ended } = run;
    if (trace && this.source?.run === run) {
      this.source.trace = trace;
      this.player.extend(steps, ended ? run.result : null, run.scores);
      this.beside.grow(steps, !ended);
      this.outcome.fill(trace, null, run.cost);
      this.sourceChip(!ended);
    } else if (trace && steps.length) {
      const { kind } = run;
      const link = links.short({ ...run.options, ...run.link });
      const own = trace.prompt.forced ? FORCED : LIVE;
      const words = kind === "request" ? REQUEST : own;
      // the prompt is typed for a run of one's own
      const asked = { ...this.optionsOf(trace, link, kind), prompt: "" };
      const options = kind === "request" ? asked : link;
      const opening = { step: steps.length - 1, live: !ended, fresh: true };
      this.display(
        {
          kind,
          ...words,
          link,
          options,
          set,
          trace,
          run,
        },
        opening,
      );
    }
    const count = run.steps.length;
    this.showWanted(ended ? count : count - 1); // at the newest step the player would move on
    if (ended) this.ended(run);
    else this.progress();
  }

  /**
   * Say what goes on while there is nothing to show; nothing at all when that passes in a moment.
   */
  progress() {
    if (!this.run) return;
    const { place, seconds, words, steps, begun } = this.run;
    const shown = steps.length || Date.now() - begun < PATIENCE;
    if (words) status(words);
    else if (shown) status("");
    else if (!place) status("Starting …");
    else {
      const wait = seconds ? `, which takes about ${Math.ceil(seconds)} s` : "";
      status(`Another run is using the model; this one is number ${place} in line${wait}.`);
    }
  }

  /**
   * End a run. One that was watched to its end goes to the step that tells most; one that is being
   * looked at stays there.
   * @param {Run} run
   */
  ended(run) {
    const { problem, trace, options, kind } = run;
    const isRequest = kind === "request";
    const different = trace?.steps.findIndex(differs) ?? -1;
    const telling = (trace && mostApart(trace.steps)) ?? run.telling;
    this.run = null;
    this.wanted = {};
    this.setup.running(false);
    status("");
    if (problem) page.alert(problem);
    this.sourceChip(false);
    if (!this.source) this.openPreset(this.contents.first, {}, isRequest ? null : options);
    this.choose();
    if (this.source?.run !== run) return;
    this.source.link = run.link ?? this.source.link;
    const { step, steps, playing } = this.player.state();
    const [own, ...later] = trace?.steps.slice(step) ?? [];
    const lastDraft = own?.drafted && !later.some(({ drafted }) => drafted);
    const follows = (step === steps - 1 || lastDraft) && !playing;
    if (telling !== null && !this.placed && follows) this.go({ step: telling });
    this.bar.remember();
    const again = () => {
      if (isRequest) this.openRequest(options.request);
      else this.begin(options, {}, this.source?.set);
    };
    const action = isRequest ? "Follow again" : "Run again";
    if (problem) status("What came before stays.", [action, again]);
    else if (trace && different < 0) status(alike(trace));
  }

  /** Go where a link leads, once the run has that many steps. @param {number} count */
  showWanted(count) {
    const { step, ...where } = this.wanted;
    if (step === undefined || count <= step) return;
    this.wanted = {};
    this.placed = true;
    this.go({ step, ...where });
  }

  /**
   * Go to a place of the run that is shown, which is no new place of the browser's history.
   * @param {Place} place
   */
  go(place) {
    this.step = place.step ?? this.step;
    this.player.select(place);
  }

  // ---- chips

  sourceChip(/** @type {boolean} */ live) {
    if (!this.source) return;
    const { kind, trace, run } = this.source;
    const over = Boolean(this.run) && this.run !== run;
    const { created, app_version: version, setup } = trace;
    const origin = `made ${created} with version ${version} on ${setup.device}`;
    const seconds = Math.ceil(run?.left ?? 0);
    const left = live && seconds > 2 ? `, about ${seconds} s left` : "";
    const element = chip("source", sourceWords(trace, kind, live, over) + left, origin);
    element.classList.toggle("is-live", live || (kind === "run" && !over));
  }

  /**
   * Show what a run by this pair, or by the one that can be run in its place, would use.
   * @param {string} name
   * @param {boolean} chosen - by the visitor
   */
  async deviceChip(name, chosen = false) {
    this.pair = name;
    const describe = (/** @type {string} */ key) => ask("pair", { name: key }).catch(() => null);
    const known = why("pair") ? null : ((await describe(name)) ?? (await describe("")));
    if (this.pair !== name) return; // something else is shown meanwhile
    chip("device", known?.device ?? "", "what a live run uses");
    this.setup.know(known?.levels);
    if (chosen) page.alert(known?.problem ? `${known.title}: ${known.problem}` : "");
  }

  /** Draw all of the board, or a first look only, which plays. @param {boolean} brief */
  look(brief) {
    turn(brief);
    this.player.redraw();
    if (brief) this.player.playOnce();
  }

  /** Keep the menu of recorded runs on the one that is shown. */
  choose() {
    const { preset, request } = this.source?.link ?? {};
    this.setup.choose(preset ?? request ?? "");
  }

  // ---- links

  /**
   * The options that made a trace, as a link names them; a request's are for the server's own pair.
   * @type {(trace: Trace, link: Values | undefined, kind: Source["kind"]) => Values}
   */
  optionsOf(trace, link, kind) {
    const options = links.optionsOf(trace, link);
    return kind === "request" ? { ...options, pair: this.setup.first } : options;
  }

  /**
   * The address of this view, with all that a run needs to be made again, or with a short trace;
   * null for a trace that is too long, and the page says so.
   */
  link() {
    if (this.source?.kind !== "file" || this.source.packed) return this.bar.href();
    page.alert(NO_LINK);
    return null;
  }

  /**
   * The parameters of the address; null while it stays as it is.
   * @returns {AddressValues | null}
   */
  address() {
    if (!this.source || this.awaiting || "step" in this.wanted) return null;
    const { link, packed, file } = this.source;
    if (!link && !packed && !file) return {};
    const name = file ? { file } : {};
    return { ...link, ...name, ...links.placeOf(this.player.state()), ...this.beside.address };
  }

  /**
   * The address at which this view can be seen; "" where there is none. Of a page on a disk it is
   * the one that it was saved from.
   */
  home() {
    const { origin, pathname, protocol } = window.location;
    if (protocol === "file:") return links.back(this.contents.from, this.player.state());
    return this.source?.link || this.source?.packed ? this.bar.href() : origin + pathname;
  }

  moved(/** @type {number} */ step) {
    if (!this.source) return;
    if (Math.abs(step - this.step) > 1 && !this.run) {
      this.jumps += 1;
      this.jump = this.jumps;
    }
    this.step = step;
    this.beside.moveTo(step);
    this.setup.mark();
    this.bar.remember();
    this.back.href = this.home();
  }
}

/**
 * The chip of models that are downloaded. Announced once nothing more comes, and not at every
 * percent.
 * @type {(words: string, coming: boolean) => void}
 */
const arriving = (words, coming) =>
  chip("arrival", words).setAttribute("aria-live", coming ? "off" : "polite");

let screen = /** @type {Watch | null} */ (null);

async function start(/** @type {HTMLElement} */ root) {
  screen = new Watch(root, await ask("page"));
  if (why("link")) window.hsdRun = screen.player; // for slides that want to move it
  await screen.start();
}

function opened() {
  screen?.bar.remember();
  screen?.player.refresh();
}

export { opened, start };
