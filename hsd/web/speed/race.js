// The race: recorded ones, a domain each, until the visitor starts one here. One bar and one number
// a lane, one sentence.
import { ask, Refusal, stream, why } from "../answers/answers.js";
import { h } from "../kit/dom.js";
import { calm, toggleFullScreen } from "../kit/features.js";
import { save } from "../kit/files.js";
import { day, plural } from "../kit/format.js";
import { addressBar } from "../kit/link.js";
import * as page from "../kit/page.js";
import { button, say, segments } from "../kit/controls.js";
import { Lane } from "./lanes.js";
import { asCsv, numbers } from "./numbers.js";
import { heatOf, reportOf, withAll } from "./recorded.js";
import { Replay } from "./replay.js";
import { Setup } from "./setup.js";

const LEGEND = {
  draft: "● kept from the draft",
  correction: "▲ correction",
  bonus: "◆ bonus, or the target alone",
};

const RUN = "run all lanes on this machine, one after another";

class Race {
  lanes = /** @type {Lane[]} */ ([]);
  shown = /** @type {RecordedRace} */ (/** @type {unknown} */ (null)); // from `open` on
  stop = /** @type {AbortController | null} */ (null);
  kept = false; // the address stays as it is
  phase = "none";
  longest = 1; // tokens a second that fill a row
  began = 0; // when the race on this machine began, by performance.now()
  bar = addressBar("speed", () => this.link());
  replay = new Replay((time) => this.drawAt(time));
  numbers = numbers();
  verdict = h("p.hf-verdict", { role: "status" });
  same = h("p.hf-same");
  source = h("p.hp-hint.hf-machine");
  list = h("ol.hf-race");
  choice = segments("Prompts", (/** @type {string} */ domain) => this.choose(domain));
  pairs = segments("Models", (/** @type {string} */ pair) =>
    this.choose(this.shown.domain, heatOf(this.shown), pair),
  );
  heats = segments("Temperature", (/** @type {string} */ heat) =>
    this.choose(this.shown.domain, heat),
  );
  rules = h("p.hf-rules");
  go = button("Race here", RUN, () => this.begin(), { class: "is-main hf-go" });
  cancel = button("Cancel", "end the race; what there is of it stays", () => this.stop?.abort(), {
    hidden: true,
  });

  /**
   * @param {RecordedRaces} recorded
   * @param {Values} about - the answer to ask("page")
   * @param {(race: RecordedRace) => void} onRace - gets a race that was run here
   */
  constructor(recorded, about, onRace) {
    this.onRace = onRace;
    this.races = withAll(recorded.races);
    const titles = about.pairs.map((/** @type {Named} */ { name, title }) => [name, title]);
    this.titles = /** @type {Record<string, string>} */ (Object.fromEntries(titles));
    this.setup = new Setup(about);
    this.element = h("div.hf-part", this.build());
  }

  build() {
    /** @type {(name: string, title: string, text: (race: RecordedRace) => string) => Child} */
    const file = (name, title, text) =>
      button(name, title, () => save(`race.${name.toLowerCase()}`, text(this.shown)));
    const csv = file("CSV", "the table", ({ report }) => (report ? asCsv(report) : ""));
    const json = file("JSON", "every run's times, and the numbers", whole);
    this.numbers.element.append(h("div.hp-row", csv, json));
    const keys = Object.entries(LEGEND).map(([kind, words]) =>
      h("span", h(`span.hp-swatch.is-${kind}`), ` ${words}`),
    );
    const reason = why("race");
    const setup = reason
      ? h("p.hp-hint", `To race another prompt, or other lanes: ${reason}.`)
      : h("details.hf-other", h("summary", "Another prompt, other lanes"), this.setup.element);
    setup.addEventListener("toggle", () => this.setup.ask(), { once: true });
    this.go.hidden = Boolean(reason);
    const large = button("Full screen", "the race alone, large enough for a room", () =>
      toggleFullScreen(race),
    );
    const choices = [this.pairs.element, this.choice.element, this.heats.element];
    const buttons = [large, this.cancel, this.go];
    const race = h(
      "section.hp-card",
      { "aria-label": "The race" },
      h("div.hp-row", choices, h("span.hp-grow"), buttons),
      this.verdict,
      this.rules,
      this.same,
      this.list,
      this.replay.element,
      h("p.hp-hint.hp-keyline", keys),
      this.source,
      setup,
    );
    return [race, this.numbers.element];
  }

  /**
   * Show what the address asks for: a recorded domain, which begins by itself, or a race to run.
   * @param {URLSearchParams} query
   */
  open(query) {
    const [domain, heat, pair] = ["domain", "temperature", "pair"].map((name) => query.get(name));
    this.choose(domain ?? "", heat ?? "", pair ?? "");
    const reason = why("race");
    if (!query.has("prompt")) this.replayUnlessCalm();
    else if (reason) page.alert(reason);
    else this.share(Object.fromEntries(query));
  }

  replayUnlessCalm() {
    if (!calm()) this.replay.start(0);
  }

  /** Run the race that is set up. */
  begin() {
    return this.follow(this.setup.values());
  }

  /** Run the race of a link, whose options stay where it does not begin. @param {Values} link */
  async share(link) {
    this.kept = true; // the address, until something else is shown
    const plan = await ask("race_plan", link).catch(() => null); // the race will say why
    if (plan) this.setup.set(plan);
    return this.follow(link);
  }

  // ---- a race to show

  /**
   * Show the recorded race of a pair on a domain at a temperature. Where there is none at that
   * temperature, show the domain's first; of an unknown domain or pair, show the first of all.
   * @param {string} domain
   * @param {string} heat - the temperature, as text
   * @param {string} pair - by name
   */
  choose(domain, heat = heatOf(this.shown), pair = this.shown.header.pair) {
    this.kept = false;
    const ofPair = this.races.filter((race) => race.header.pair === pair);
    const known = ofPair.length ? ofPair : this.races;
    const own = known.filter((race) => race.domain === domain);
    const race = own.find((race) => heatOf(race) === heat) ?? own[0] ?? known[0];
    this.setup.set(race.header);
    this.show(race);
    this.offer(race);
    this.bar.remember();
  }

  /** Offer the recorded races, and mark the one that is shown. @param {RecordedRace} race */
  offer(race) {
    /** @type {(names: string[], prefix: string) => [string, string][]} */
    const options = (names, prefix) => [...new Set(names)].map((name) => [name, prefix + name]);
    const { pair } = race.header;
    const names = [...new Set(this.races.map(({ header }) => header.pair))];
    const ofPair = this.races.filter(({ header }) => header.pair === pair);
    const own = ofPair.length ? ofPair : this.races;
    this.pairs.element.hidden = names.length < 2;
    this.pairs.set(
      pair,
      names.map((name) => [name, (this.titles[name] ?? name).split(" · ")[0]]),
    );
    const domains = own.map(({ domain }) => domain);
    this.choice.set(race.domain, options(domains, ""));
    const heats = options(own.map(heatOf), "T = ");
    this.heats.set(race.domain ? heatOf(race) : "", heats);
  }

  /**
   * Show a whole race, recorded or ended: of each lane the run of median length.
   * @param {RecordedRace} race
   */
  show(race) {
    this.shown = race;
    this.draw();
    race.report ??= reportOf(race);
    const { report, events } = race;
    const rows = report?.rows ?? [];
    for (const [i, lane] of this.lanes.entries()) {
      const { name } = race.header.lanes[i];
      lane.row = rows.find((row) => row.case === name) ?? null;
      const own = events.filter((event) => event.lane === i && event.steps.length);
      const stepsOf = (/** @type {Maybe} */ round) =>
        own.flatMap(({ repetition, steps }) => (repetition === round ? steps : []));
      const steps = stepsOf(lane.row?.replay);
      lane.extend(steps.length ? steps : stepsOf(own.at(-1)?.repetition));
      lane.text.hidden ||= !lane.parts.length;
    }
    this.say(report?.verdict ?? "");
    say(this.rules, report?.rules ?? "");
    say(this.same, report ? sameness(this.lanes, race.header) : "");
    this.numbers.show(report ?? null);
    this.longest = Math.max(...rows.map((row) => row.tokens_per_second));
    const timed = this.lanes.filter((lane) => lane.row);
    const lengths = timed.map((lane) => lane.ends.at(-1)?.end ?? 0);
    this.replay.load(Math.max(0, ...lengths));
  }

  draw() {
    const { header, domain } = this.shown;
    this.lanes = header.lanes.map((lane, i) => new Lane(i, lane, header.notes?.[i]));
    say(this.same, "");
    this.list.replaceChildren(...this.lanes.map((lane) => lane.element));
    this.source.replaceChildren(...source(header, Boolean(domain)));
  }

  drawAt(/** @type {number} */ time) {
    for (const lane of this.lanes) {
      if (lane.row) lane.at(time, lane.row.tokens_per_second);
      lane.draw(this.longest);
    }
  }

  // ---- a race on this machine

  /** Run a race, and show it as it comes. @param {Values} values - of the setup, or of a link */
  async follow(values) {
    if (this.phase === "running") return;
    this.stop = new AbortController();
    this.turn("running");
    this.say("Starting …");
    const { signal } = this.stop;
    // from its first message on it takes the place of what was shown
    let race = /** @type {RecordedRace | null} */ (null);
    let problem = "";
    try {
      const status = (/** @type {Waiting} */ { place, seconds, words }) =>
        this.say(words || waiting(place, seconds));
      for await (const message of stream("race", values, { signal, status })) {
        race ??= this.started(message.header);
        this.take(race, message);
      }
    } catch (refusal) {
      if (!(refusal instanceof Refusal)) throw refusal;
      problem = signal.aborted ? "" : refusal.message;
    }
    if (race) this.show(race);
    if (race?.report) this.onRace(race);
    const cut = race?.ending ?? (signal.aborted ? "the race was cancelled" : "");
    if (problem) this.turn("failed");
    else this.turn(cut ? "cancelled" : "done");
    if (cut) this.say(ended(cut, race));
    else if (!race) this.say(this.shown.report?.verdict ?? "");
    page.alert(problem);
    this.bar.remember();
    if (this.phase === "done") this.replayUnlessCalm();
  }

  started(/** @type {RaceHeader} */ header) {
    const race = /** @type {RecordedRace} */ ({ domain: "", header, events: [] });
    this.replay.load(0);
    this.shown = race;
    this.kept = false;
    this.longest = 1;
    this.began = performance.now();
    this.draw();
    this.setup.set(header);
    this.offer(race);
    this.numbers.show(null);
    return race;
  }

  /**
   * Add a message to a race that runs, and show it: of the warm-up the text, of the timed runs,
   * which write the same text again, only the times.
   * @param {RecordedRace} race
   * @param {{events?: RaceEvent[], ending?: string}} message
   */
  take(race, { events = [], ending }) {
    race.events.push(...events);
    race.ending = ending;
    for (const { lane: i, repetition, steps, record } of events) {
      const lane = this.lanes[i];
      const round = `${repetition} of ${race.header.rounds}`;
      let words = `timed run ${round}`;
      let phase = `Timing, round ${round}`;
      if (repetition === 0) {
        lane.extend(steps);
        lane.soFar();
        words = "warming up";
        phase = "Warming up, which counts for nothing";
      }
      lane.say(record ? "" : words);
      this.say(`${phase}${this.left(race)}.`);
    }
    const timed = events.some(({ repetition, record }) => repetition && record);
    if (timed) race.report = reportOf(race);
    for (const lane of this.lanes) {
      const row = timed && race.report?.rows.find((row) => row.case === lane.name);
      if (row) lane.rate = row.tokens_per_second;
      this.longest = Math.max(this.longest, lane.rate ?? 0);
    }
    for (const lane of this.lanes) lane.draw(this.longest);
  }

  /**
   * Words on how long the rest of a race takes at its pace so far; "" before the first lane has
   * ended.
   * @param {RecordedRace} race
   */
  left({ events, header }) {
    const done = events.filter(({ record }) => record).length;
    if (!done) return "";
    const rest = (header.lanes.length * (header.rounds + 1)) / done - 1;
    const seconds = (performance.now() - this.began) / 1000;
    return `, about ${Math.ceil(rest * seconds)} s left`;
  }

  turn(/** @type {string} */ state) {
    this.phase = state;
    const runs = state === "running";
    this.cancel.hidden = !runs;
    this.go.disabled = runs;
    this.choice.element.disabled = runs;
    this.heats.element.disabled = runs;
    this.pairs.element.disabled = runs;
  }

  say(/** @type {string} */ words) {
    say(this.verdict, words);
  }

  // ---- links, and for tests

  /**
   * The values of a link to what is shown; null while a race runs, and after a link whose race
   * could not run: then the address stays as it is.
   */
  link() {
    if (this.phase === "running" || this.kept || !this.shown) return null;
    const { domain, header } = this.shown;
    return domain ? { domain, temperature: heatOf(this.shown), pair: header.pair } : header.link;
  }

  mirror() {
    const { playing, time, length } = this.replay;
    const tracks = this.lanes.map(({ ids, shown, ends, rate }) => {
      return { tokens: ids, shown, steps: ends.length, rate };
    });
    const setup = this.setup.values();
    return {
      state: this.phase,
      ...this.shown,
      setup,
      tracks,
      playing,
      time,
      length,
    };
  }
}

/**
 * The sentence about what the texts of the lossless lanes have in common; "" where there are not
 * two of them.
 * @param {Lane[]} lanes
 * @param {RaceHeader} header
 */
function sameness(lanes, { sampling }) {
  const [plain, ...others] = lanes.filter(({ lossless, ids }) => lossless && ids.length);
  if (!others.length) return "";
  if (sampling.temperature > 0)
    return (
      "The texts differ by their coins: " +
      "each lane draws its own from the target's distribution."
    );
  const changed = others.find(({ ids }) => String(ids) !== String(plain.ids));
  if (!changed) {
    const tokens = plural(plain.ids.length, "token");
    return `Not a word changed: ${others.length + 1} lanes, the same ${tokens}.`;
  }
  const first = changed.ids.findIndex((id, i) => id !== plain.ids[i]) + 1;
  const leaves = `${changed.name} leaves plain decoding's text at token ${first}`;
  return `${leaves}: a pass over several tokens rounds differently from a pass over one.`;
}

/**
 * The words on what a race was run on and with.
 * @param {RaceHeader} header
 * @param {boolean} recorded
 */
function source(header, recorded) {
  const { machine, sampling, seed, prompt, prompts = 1, rounds, created, pair } = header;
  const when = recorded ? `Recorded ${day(created)}` : "Run here just now";
  const words = `${when} on ${nameAndLoad(machine)}. ${pair}, temperature ${sampling.temperature}`;
  const kind = prompt ? "this" : "each";
  const seeds = plural(rounds, "seed");
  const many = prompts > 1 ? `${prompts} prompts of ${kind} kind, ${seeds} each` : "";
  if (!prompt) return [`${words}, ${many || "one prompt of each kind"}.`];
  const shown = many ? `${many}; shown: ` : "";
  const text = prompt.length > 90 ? `${prompt.slice(0, 88)}…` : prompt;
  return [
    `${words}, ${shown}seed ${seed}, prompt `,
    h("bdi.hf-asked", { title: prompt }, `“${text}”`),
  ];
}

/** A machine's name and its load, which a browser does not tell. @param {Values} machine */
function nameAndLoad({ device, processor, threads, cores, load }) {
  const name = device === "cpu" ? `${processor} CPU, ${threads} of ${cores} cores` : device;
  if (load === null) return name;
  const heavy = load > cores + 0.5;
  return heavy ? `${name}, busy (load ${load}): take the times with care` : `${name}, load ${load}`;
}

function waiting(/** @type {number} */ place, /** @type {number | null} */ seconds) {
  if (!place) return "Starting …";
  const about = seconds ? `, in about ${Math.ceil(seconds)} s` : "";
  return `Another run is using the model; this race is number ${place} in line${about}.`;
}

function ended(/** @type {string} */ words, /** @type {RecordedRace | null} */ race) {
  const verdict = race?.report?.verdict;
  const kept = race?.report ? `What was timed until then: ${verdict}` : "Nothing was timed yet.";
  return `${words[0].toUpperCase()}${words.slice(1)}. ${kept}`;
}

/**
 * The whole race in the format of the recorded ones, with the numbers beside it.
 * @param {RecordedRace} race
 */
const whole = ({ ending, ...race }) => JSON.stringify({ format: "hsd-race-2", races: [race] });

export { Race };
