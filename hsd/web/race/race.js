// The Race screen put together. start(element, props, server, watch, submit) is called once, when Gradio has
// made it. It shows a recorded race until the visitor starts one. For tests, window.__hsdRace mirrors what is shown.
import { h } from "../kit/dom.js";
import { copy } from "../kit/files.js";
import * as page from "../kit/page.js";
import { button } from "../kit/parts.js";
import * as frame from "../watch/watch.js";
import * as about from "./about.js";
import { ending, INTRODUCTION, legend, progress } from "./about.js";
import * as files from "./files.js";
import { Lanes } from "./lanes.js";
import { read, write } from "./link.js";
import { Live, NO_ANSWER } from "./live.js";
import { Replay } from "./replay.js";
import * as results from "./results.js";
import { seconds, Track } from "./tracks.js";

const calm = window.matchMedia("(prefers-reduced-motion: reduce)");

class Screen {
  constructor(root, props, server, submit) {
    Object.assign(this, { root, props, server, submit, asked: null, live: null, shown: null, tracks: [] });
    const linked = read(window.location.href, props);
    this.lanes = new Lanes(props, linked, {
      race: () => this.begin(null),
      cancel: () => this.live && this.live.cancel(),
      changed: () => this.remember(),
    });
    this.replay = new Replay((time) => this.drawAt(time));
    this.results = results.create();
    this.build();
    page.listen((what) => what === "tab" && this.tabOpened());
    this.open(linked.race);
  }

  build() {
    this.notice = h("p", { class: "rc-notice", role: "status", hidden: true });
    this.source = h("p", { class: "rc-source" });
    this.list = h("ol", { class: "rc-tracks" });
    this.said = h("span", { class: "rc-hint rc-said", role: "status" });
    this.results.files.append(
      button("Save as CSV", "the table", () => files.save("csv", this.shown), { class: "hp-button rc-csv" }),
      button(
        "Save as JSON",
        "the whole race: every run's times, and the numbers",
        () => files.save("json", this.shown),
        { class: "hp-button rc-json" },
      ),
      button("Copy link", "a link that runs this race again", () => this.copyLink(), { class: "hp-button rc-link" }),
      this.said,
    );
    const tracks = h(
      "section",
      { "class": "rc-card", "aria-label": "The race" },
      h("div", { class: "rc-head" }, h("h3", { class: "rc-title" }, "The race"), this.source),
      this.replay.element,
      this.list,
      legend(),
    );
    this.root.classList.add("hsd-kit", "hsd-player");
    this.root.replaceChildren(
      h("p", { class: "rc-hint" }, INTRODUCTION),
      this.lanes.element,
      this.notice,
      tracks,
      this.results.element,
    );
  }

  // ---- a race to show

  async open(linked) {
    let reply;
    try {
      reply = await this.server.read_recorded(null);
    } catch {
      reply = { error: NO_ANSWER };
    }
    if (reply.error) this.say(reply.error);
    else if (!this.live) this.show({ ...reply, recorded: true });
    this.ready = true;
    if (linked) this.begin(linked);
    this.tell();
  }

  /** A whole race, recorded or ended: each lane's run of median length. */
  show(shown) {
    this.shown = shown;
    this.makeTracks(shown.header);
    const rows = (shown.report && shown.report.rows) || [];
    this.tracks.forEach((track, lane) => {
      const row = rows.find((one) => one.case === shown.header.lanes[lane].name);
      this.fill(track, lane, row ? row.replay : null);
      track.timed = Boolean(row);
      track.total = row ? row.seconds : 0;
    });
    this.sayCounts();
    this.results.show(
      shown.report,
      shown.header.lanes.map((lane) => lane.name),
      "Nothing was timed.",
    );
    this.replay.load(Math.max(...this.tracks.map((track) => track.total)));
    this.replay.element.hidden = !this.replay.length;
    this.describe();
  }

  /** The steps of one repetition; without one, of the last that the lane got to. */
  fill(track, lane, repetition) {
    const own = this.shown.events.filter((event) => event.lane === lane);
    const wanted =
      repetition ?? Math.max(-1, ...own.filter((event) => event.steps.length).map((event) => event.repetition));
    track.extend(own.filter((event) => event.repetition === wanted).flatMap((event) => event.steps));
  }

  makeTracks({ lanes, notes = [] }) {
    this.tracks = lanes.map((lane, i) => new Track(i, lane, notes[i]));
    this.list.replaceChildren(...this.tracks.map((track) => track.element));
  }

  /** One scale for all bars. */
  sayCounts() {
    const longest = Math.max(...this.tracks.map((track) => track.tokens));
    for (const track of this.tracks) track.scale(longest);
  }

  drawAt(time) {
    for (const track of this.tracks.filter((one) => one.timed)) {
      const over = time >= track.total;
      track.at(over ? Infinity : time);
      track.state(over ? `✓ ${seconds(track.total)}` : seconds(time), over ? "over" : "");
    }
    for (const track of this.tracks.filter((one) => !one.timed)) track.state("not timed");
    this.tell();
  }

  describe() {
    const { title, nodes } = about.source(this.shown);
    this.source.title = title;
    this.source.replaceChildren(...nodes);
  }

  // ---- a live race

  /** values: what a link says instead of the sidebar. */
  begin(values) {
    this.asked = { lanes: this.lanes.lanes, rounds: this.lanes.rounds, ...(values ? { link: values } : {}) };
    this.waiting = true;
    this.lanes.running(true);
    this.submit();
    this.tell();
  }

  /** The server's word: a race waits for the model, or has news, or cannot be. */
  heard(value) {
    if (!value || !value.serial) return;
    if (value.alert) this.refused(value);
    else if (value.key && this.waiting && (!this.live || value.key !== this.live.key)) this.follow(value.key);
    else if (this.live && value.key === this.live.key) this.live.pull();
  }

  refused({ alert, key }) {
    if (key && (!this.live || key !== this.live.key)) return;
    this.waiting = false;
    this.lanes.running(Boolean(this.live && !this.live.ended));
    page.alert(alert);
    this.tell();
  }

  follow(key) {
    if (this.live) this.live.leave();
    this.waiting = false;
    page.alert("");
    this.started = false;
    this.live = new Live(
      this.server,
      key,
      (events) => this.grew(events),
      (words) => page.alert(words),
    );
  }

  grew(events) {
    const { live } = this;
    if (live.events.length && !this.started) this.start(); // until then what is on screen stays
    if (this.started) for (const event of events) this.stream(event);
    if (live.ended) this.finish();
    else this.say(progress(live));
    this.tell();
  }

  /** The race has the model: its lanes take the place of what was shown. */
  start() {
    const { live } = this;
    this.started = true;
    this.replay.pause();
    this.shown = { header: live.header, events: live.events, report: null, recorded: false };
    this.makeTracks(live.header);
    for (const track of this.tracks) track.state("waits for its turn");
    this.replay.element.hidden = true;
    this.results.show(null, [], "The numbers come when all lanes have ended.");
    this.describe();
  }

  /** The warm-up is shown as it comes. The timed runs write the same text again, so only their times are. */
  stream({ lane, repetition, steps, record }) {
    const track = this.tracks[lane];
    if (repetition === 0) track.extend(steps);
    track.bar.style.setProperty("--rc-share", String(track.tokens / this.shown.header.sampling.length));
    if (!record) track.state(repetition ? `timed run ${repetition} …` : "warming up …");
    else track.state(repetition ? `run ${repetition}: ${seconds(record.seconds)}` : "warmed up");
  }

  finish() {
    const { live } = this;
    this.lanes.running(false);
    if (this.started) {
      this.show({ header: live.header, events: live.events, report: live.report, recorded: false });
      this.remember();
    }
    if (live.state === "failed") {
      this.say("");
      page.alert(live.message);
    } else this.say(ending(live, this.started));
    if (live.state === "done" && !calm.matches) this.replay.restart();
  }

  say(words) {
    this.notice.textContent = words;
    this.notice.hidden = !words;
  }

  // ---- links

  address() {
    const source = frame.source();
    const own = this.shown && !this.shown.recorded;
    const shared = own ? this.shown.header.link : source && source.kind === "preset" ? source.link : {};
    return write(window.location.href, shared, this.lanes.lanes, this.lanes.rounds, this.props);
  }

  async copyLink() {
    const link = this.address();
    this.said.textContent = (await copy(link)) ? "link copied" : link;
    setTimeout(() => {
      this.said.textContent = "";
    }, 4000);
  }

  tabOpened() {
    if (page.tab() !== "race") this.replay.pause();
    this.remember();
  }

  /** While the tab is open the address bar says what is shown. Not at every change: browsers count them. */
  remember() {
    clearTimeout(this.rememberTimer);
    this.rememberTimer = setTimeout(() => {
      const idle = !this.waiting && (!this.live || this.live.ended);
      if (page.tab() === "race" && idle) window.history.replaceState(window.history.state, "", this.address());
    }, 300);
    this.tell();
  }

  // ---- for tests

  tell() {
    const { shown, live, replay } = this;
    window.__hsdRace = {
      ready: Boolean(this.ready),
      state: live ? live.state : this.waiting ? "asked" : "none",
      running: Boolean(this.waiting || (live && !live.ended)),
      recorded: Boolean(shown && shown.recorded),
      lanes: this.lanes.lanes,
      rounds: this.lanes.rounds,
      header: shown && shown.header,
      events: shown ? shown.events : [],
      report: shown && shown.report,
      playing: replay.playing,
      time: replay.time,
      length: replay.length,
      tracks: this.tracks.map((track) => ({ shown: track.shown, steps: track.steps.length, tokens: track.ids })),
    };
  }
}

let screen = null;

function start(element, props, server, watch, submit) {
  screen = new Screen(element.querySelector(".hsd-race"), props, server, submit);
  watch("value", () => screen.heard(props.value));
}

export const plan = () => (screen ? screen.asked : null);

export { start };
