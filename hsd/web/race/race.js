// The Race screen put together. start(element, props, server, watch, submit) is called once, when Gradio has made it.
// It shows the recorded races, one domain at a time, until the visitor starts one. For tests, window.__hsdRace mirrors
// what is shown.
import { h } from "../kit/dom.js";
import * as files from "../kit/files.js";
import { addressBar } from "../kit/link.js";
import { ask, Live } from "../kit/live.js";
import * as page from "../kit/page.js";
import { button, said, segments } from "../kit/parts.js";
import { elsewhere, live, NO_MODEL } from "../kit/source.js";
import * as frame from "../watch/watch.js";
import * as domains from "./domains.js";
import { ending, INTRODUCTION, legend, progress, source } from "./about.js";
import { Lanes } from "./lanes.js";
import * as link from "./link.js";
import { Replay } from "./replay.js";
import * as results from "./results.js";
import { seconds, Track } from "./tracks.js";

const calm = window.matchMedia("(prefers-reduced-motion: reduce)");

class Screen {
  constructor(root, props, server, submit) {
    Object.assign(this, { root, props, server, submit, asked: null, live: null, shown: null, tracks: [], races: [] });
    const linked = link.read(props, this.pairsGamma());
    const actions = { race: () => this.begin(null), cancel: () => this.cancel(), changed: () => this.remember() };
    this.lanes = new Lanes(props, linked, this.pairsGamma(), actions);
    this.bar = addressBar("race", () => this.address());
    this.replay = new Replay((time) => this.drawAt(time));
    this.build(root);
    page.listen((what) => this.hear(what));
    this.open(linked.race);
  }

  build(root) {
    this.notice = h("p.hp-notice", { role: "status", hidden: true });
    this.source = h("p.rc-source");
    this.list = h("ol.rc-tracks");
    this.said = said("rc-said");
    const save = (name, title, kind, text) =>
      button(name, title, () => files.save(`race.${kind}`, text(this.shown)), { class: `rc-${kind}` });
    const all = "the whole race: every run's times, and the numbers";
    const again = "a link that runs this race again";
    this.results = results.create(
      h(
        "div.rc-tools",
        save("Save as CSV", "the table", "csv", ({ result }) => files.csv(results.table(result))),
        save("Save as JSON", all, "json", results.file),
        button("Copy link", again, async () => this.said.say(await this.bar.copyLink())),
        this.said.element,
      ),
    );
    this.choice = segments("Domain", (domain) => this.choose(domain));
    this.choice.element.classList.add("rc-choice");
    this.domains = domains.create();
    const head = h("div.hp-head", h("h3.hp-title", "The race"), this.source);
    const parts = [head, this.choice.element, this.results.lead, this.replay.element, this.list, legend()];
    const race = h("section.hp-card", { "aria-label": "The race" }, parts);
    root.classList.add("hsd-kit", "hf-wait");
    const shown = [this.notice, race, this.domains.element, this.results.element];
    const lanes = live ? this.lanes.element : elsewhere("To race other lanes, or another prompt, takes");
    root.replaceChildren(h("p.hp-hint", INTRODUCTION), lanes, ...shown);
  }

  // ---- a race to show

  async open(linked) {
    const reply = await ask(this.server, "read_recorded", null);
    this.root.classList.remove("hf-wait");
    if (reply.error) this.say(reply.error);
    else if (!this.live) this.offer(reply);
    this.ready = true;
    if (linked && live) this.begin(linked);
    else if (linked) page.alert(NO_MODEL);
    this.tell();
  }

  /** The recorded races: one for each domain, and what they say together. */
  offer({ races, all }) {
    this.races = races;
    this.domains.show(races, all);
    this.choose(races[0].domain);
  }

  choose(domain) {
    this.show(
      this.races.find((race) => race.domain === domain),
      true,
    );
    this.tell();
  }

  /** A whole race, recorded or ended: each lane's run of median length. */
  show({ domain, header, items, result }, recorded = false) {
    this.shown = { domain, header, items, result, recorded };
    this.makeTracks();
    const rows = result ? [...result.rows, ...result.served] : [];
    this.tracks.forEach((track, lane) => {
      const row = rows.find((one) => one.case === header.lanes[lane].name);
      Object.assign(track, { timed: Boolean(row), total: row ? row.seconds : 0 });
      track.extend(this.steps(lane, row ? row.replay : null));
      if (row && header.lanes[lane].served) track.tell(row);
    });
    const longest = Math.max(...this.tracks.map((track) => track.ids.length)); // one scale for all bars
    for (const track of this.tracks) track.scale(longest);
    this.results.show(result, header.lanes, "Nothing was timed.", domain);
    this.replay.load(Math.max(...this.tracks.map((track) => track.total)));
    this.replay.element.hidden = !this.replay.length;
  }

  /** The steps of one repetition of a lane; without one, of the last that the lane got to. */
  steps(lane, repetition) {
    const own = this.shown.items.filter((event) => event.lane === lane && event.steps.length);
    const wanted = repetition ?? Math.max(...own.map((event) => event.repetition));
    return own.filter((event) => event.repetition === wanted).flatMap((event) => event.steps);
  }

  makeTracks() {
    const { lanes, notes = [] } = this.shown.header;
    const { title, nodes } = source(this.shown);
    this.tracks = lanes.map((lane, i) => new Track(i, lane, notes[i]));
    this.list.replaceChildren(...this.tracks.map((track) => track.element));
    this.offerOthers();
    this.source.title = title;
    this.source.replaceChildren(...nodes);
  }

  /** Beside a recorded race those of other domains; a live one is on one prompt. */
  offerOthers() {
    const { recorded, domain } = this.shown;
    const several = recorded && this.races.length > 1;
    this.choice.element.hidden = !several;
    if (!recorded) this.domains.show([], null);
    if (several)
      this.choice.set(
        domain,
        this.races.map((race) => [race.domain, race.domain]),
      );
  }

  drawAt(time) {
    for (const track of this.tracks) {
      const over = time >= track.total;
      if (track.timed) track.at(over ? Infinity : time);
      if (!track.timed) track.state("not timed");
      else track.state(over ? `✓ ${seconds(track.total)}` : seconds(time), over ? "over" : "");
    }
    this.tell();
  }

  // ---- a live race

  /** values: what a link says instead of the sidebar. */
  begin(values) {
    this.asked = { lanes: this.lanes.lanes, rounds: this.lanes.rounds, ...(values ? { link: values } : {}) };
    Object.assign(this, { waiting: true, unwanted: false });
    this.lanes.running(true);
    this.submit();
    this.tell();
  }

  /** End the race, also where the server has not answered yet. */
  cancel() {
    this.unwanted = this.waiting;
    if (this.live) this.live.cancel();
  }

  get running() {
    return Boolean(this.waiting || (this.live && !this.live.ended));
  }

  /** The server's word: a race waits for the model, or has news, or cannot be. */
  heard(value) {
    if (!value || !value.serial) return;
    const known = this.live && value.key === this.live.key;
    if (value.alert && (known || !value.key)) this.refused(value.alert);
    else if (known && !value.alert) this.live.pull();
    else if (value.key && this.waiting && !value.alert) this.follow(value.key);
  }

  refused(words) {
    this.waiting = false;
    this.lanes.running(this.running);
    page.alert(words);
    this.tell();
  }

  follow(key) {
    if (this.live) this.live.leave();
    this.waiting = false;
    this.started = false;
    page.alert("");
    this.live = new Live(this.server, { changed: (_, events) => this.grew(events) }).follow(key);
    if (this.unwanted) this.live.cancel();
  }

  grew(events) {
    const { live } = this;
    if (live.items.length && !this.started) this.start(); // until then what is on screen stays
    if (this.started) for (const event of events) this.stream(event);
    if (live.ended) this.finish();
    else this.say(progress(live));
    this.tell();
  }

  /** The race has the model: its lanes take the place of what was shown. */
  start() {
    const { header, items } = this.live;
    this.started = true;
    this.replay.pause();
    this.replay.element.hidden = true;
    this.shown = { header, items, result: null, recorded: false };
    this.makeTracks();
    for (const track of this.tracks) track.state("waits for its turn");
    this.results.show(null, [], "The numbers come when all lanes have ended.");
  }

  /** The warm-up is shown as it comes. The timed runs write the same text again, so only their times are. */
  stream({ lane, repetition, steps, record }) {
    const track = this.tracks[lane];
    if (repetition === 0) track.extend(steps);
    track.scale(this.shown.header.sampling.length);
    if (!record) track.state(repetition ? `timed run ${repetition} …` : "warming up …");
    else track.state(repetition ? `run ${repetition}: ${seconds(record.seconds)}` : "warmed up");
  }

  finish() {
    const { live } = this;
    const failed = live.state === "failed";
    this.lanes.running(false);
    if (this.started) this.show(live);
    if (this.started) this.remember();
    this.say(failed ? "" : ending(live, this.started));
    if (failed) page.alert(live.message);
    if (live.state === "done" && !calm.matches) this.replay.restart();
  }

  say(words) {
    this.notice.textContent = words;
    this.notice.hidden = !words;
  }

  // ---- links

  /** The parameters of what is shown: of a live race what its lanes share, else of the preset that Watch shows. */
  address() {
    const watched = frame.source();
    const own = this.shown && !this.shown.recorded;
    const shared = own ? this.shown.header.link : watched && watched.kind === "preset" ? watched.link : {};
    return { ...shared, lanes: link.encode(this.lanes.lanes, this.props), rounds: this.lanes.rounds };
  }

  hear(what) {
    if (what === "tab" && page.tab() !== "race") this.replay.pause();
    if (what === "pair") this.lanes.follow(this.pairsGamma());
    if (["tab", "pair"].includes(what)) this.remember();
  }

  /** γ where none is chosen: that of the pair in the sidebar. */
  pairsGamma() {
    const { gammas, pair } = this.props;
    return gammas[frame.pair()] ?? gammas[pair];
  }

  remember() {
    if (!this.running) this.bar.remember();
    this.tell();
  }

  // ---- for tests

  tell() {
    const { shown, live, replay, lanes } = this;
    window.__hsdRace = {
      ready: Boolean(this.ready),
      state: live ? live.state : this.waiting ? "asked" : "none",
      running: this.running,
      lanes: lanes.lanes,
      rounds: lanes.rounds,
      ...(shown || { header: null, items: [], result: null, recorded: false }),
      playing: replay.playing,
      time: replay.time,
      length: replay.length,
      tracks: this.tracks.map((track) => ({ shown: track.shown, steps: track.ends.length, tokens: track.ids })),
    };
  }
}

let screen = null;

function start(element, props, server, watch, submit) {
  screen = new Screen(element.querySelector(".hsd-race"), props, server, submit);
  watch("value", () => screen.heard(props.value));
}

const plan = () => (screen ? screen.asked : null);

export { start, plan };
