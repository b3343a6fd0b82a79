// The race: recorded ones, a domain each, until the visitor starts one here. One bar and one number a lane, one sentence.
import { ask, Refusal, stream, why } from "../answers/answers.js";
import { h } from "../kit/dom.js";
import { save } from "../kit/files.js";
import { day, plural } from "../kit/format.js";
import { addressBar } from "../kit/link.js";
import * as page from "../kit/page.js";
import { button, say, segments } from "../kit/parts.js";
import { Lane } from "./lanes.js";
import { asCsv, numbers } from "./numbers.js";
import { Replay } from "./replay.js";
import { Setup } from "./setup.js";

const LEGEND = { draft: "● kept from the draft", correction: "▲ correction", bonus: "◆ bonus, or the target alone" };
const calm = window.matchMedia("(prefers-reduced-motion: reduce)");

const RUN = "run all lanes on this machine, one after another";

class Race {
  lanes = /** @type {Lane[]} */ ([]);
  shown = /** @type {RecordedRace} */ (/** @type {unknown} */ (null)); // from `open` on
  stop = /** @type {AbortController | null} */ (null);
  kept = false; // the address stays as it is
  phase = "none";
  longest = 1; // tokens a second that fill a row
  began = 0; // the race here, by performance.now()
  bar = addressBar("speed", () => this.link());
  replay = new Replay((time) => this.drawAt(time));
  numbers = numbers();
  verdict = h("p.hf-verdict", { role: "status" });
  same = h("p.hf-same");
  source = h("p.hp-hint.hf-machine");
  list = h("ol.hf-race");
  choice = segments("Prompts", (/** @type {string} */ domain) => this.choose(domain));
  heats = segments("Temperature", (/** @type {string} */ heat) => this.choose(this.shown.domain, heat));
  rules = h("p.hf-rules");
  go = button("Race here", RUN, () => this.follow(this.setup.values()), { class: "is-main hf-go" });
  cancel = button("Cancel", "end the race; what there is of it stays", () => this.stop?.abort(), { hidden: true });

  /** about: what ask("page") gives. @param {RecordedRaces} recorded @param {Values} about */
  constructor(recorded, about) {
    this.recorded = recorded;
    this.setup = new Setup(about);
    this.element = h("div.hf-part", this.build());
  }

  build() {
    /** @type {(name: string, title: string, text: (race: RecordedRace) => string) => HTMLElement} */
    const file = (name, title, text) => button(name, title, () => save(`race.${name.toLowerCase()}`, text(this.shown)));
    const csv = file("CSV", "the table", ({ report }) => (report ? asCsv(report) : ""));
    this.numbers.element.append(h("div.hp-row", csv, file("JSON", "every run's times, and the numbers", whole)));
    const keys = Object.entries(LEGEND).map(([kind, words]) => h("span", h(`span.hp-swatch.is-${kind}`), ` ${words}`));
    const here = why("race")
      ? h("p.hp-hint", `To race another prompt, or other lanes: ${why("race")}.`)
      : h("details.hf-other", h("summary", "Another prompt, other lanes"), this.setup.element);
    here.addEventListener("toggle", () => this.setup.ask(), { once: true });
    this.go.hidden = Boolean(why("race"));
    const large = button("Full screen", "the race alone, large enough for a room", () => race.requestFullscreen());
    const race = h(
      "section.hp-card",
      { "aria-label": "The race" },
      h("div.hp-row", this.choice.element, this.heats.element, h("span.hp-grow"), large, this.cancel, this.go),
      this.verdict,
      this.rules,
      this.same,
      this.list,
      this.replay.element,
      h("p.hp-hint.hp-keyline", keys),
      this.source,
      here,
    );
    return [race, this.numbers.element];
  }

  /** What the address asks for: a recorded domain, which begins by itself, or a race to run. @param {URLSearchParams} query */
  open(query) {
    this.choose(query.get("domain") ?? "", query.get("temperature") ?? "");
    if (query.has("prompt") && !why("race")) this.share(Object.fromEntries(query));
    else if (query.has("prompt")) page.alert(why("race"));
    else if (!calm.matches) this.replay.start(0);
  }

  /** Run the race of a link, whose options stay where it does not begin. @param {Values} link */
  async share(link) {
    this.kept = true; // the address, until something else is shown
    const plan = await ask("race_plan", link).catch(() => null); // the race will say why
    if (plan) this.setup.set(plan);
    return this.follow(link);
  }

  // ---- a race to show

  /** A recorded race; the first one of its temperature or at all where there is no such one. @param {string} domain @param {string} heat */
  choose(domain, heat = heatOf(this.shown)) {
    this.kept = false;
    const { races } = this.recorded;
    const alike = races.filter((race) => heatOf(race) === heat);
    const one =
      alike.find((race) => race.domain === domain) ?? races.find((race) => race.domain === domain) ?? races[0];
    this.setup.set(one.header);
    this.show(one);
    this.offer(one);
    this.bar.remember();
  }

  /** The choice of recorded races, with that which is shown. @param {RecordedRace} race */
  offer(race) {
    const { races } = this.recorded;
    const options = (/** @type {string[]} */ names, prefix = "") =>
      [...new Set(names)].map((name) => /** @type {[string, string]} */ ([name, prefix + name]));
    this.choice.set(race.domain, options(races.map(({ domain }) => domain)));
    this.heats.set(race.domain ? heatOf(race) : "", options(races.map(heatOf), "T = "));
  }

  /** A whole race, recorded or ended: each lane's run of median length. @param {RecordedRace} race */
  show(race) {
    this.shown = race;
    this.draw();
    const { report, events } = race;
    const rows = [...(report?.rows ?? []), ...(report?.served ?? [])];
    for (const [i, lane] of this.lanes.entries()) {
      lane.row = rows.find((row) => row.case === race.header.lanes[i].name) ?? null;
      const own = events.filter((event) => event.lane === i && event.steps.length);
      const of = (/** @type {Maybe} */ round) => own.flatMap((one) => (one.repetition === round ? one.steps : []));
      const steps = of(lane.row?.replay);
      lane.extend(steps.length ? steps : of(own.at(-1)?.repetition));
      lane.text.hidden ||= !lane.parts.length;
    }
    this.say(report?.verdict ?? "");
    say(this.rules, report?.rules ?? "");
    say(this.same, report ? sameness(this.lanes, race.header) : "");
    this.numbers.show(report);
    this.longest = Math.max(...rows.map((row) => row.tokens_per_second));
    this.replay.load(Math.max(0, ...this.lanes.map((lane) => (lane.row ? (lane.ends.at(-1)?.end ?? 0) : 0))));
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

  // ---- a race here

  /** Run what is asked for: the values of the setup, or of a link. @param {Values} asked */
  async follow(asked) {
    if (this.phase === "running") return;
    this.stop = new AbortController();
    this.turn("running");
    this.say("Starting …");
    const { signal } = this.stop;
    let race = /** @type {RecordedRace | null} */ (null); // once it has begun it takes the place of what was shown
    let problem = "";
    try {
      const status = (/** @type {Waiting} */ { place, seconds, words }) => this.say(words || waiting(place, seconds));
      for await (const message of stream("race", asked, { signal, status })) {
        race ??= this.started(message.header);
        this.take(race, message);
      }
    } catch (refusal) {
      if (!(refusal instanceof Refusal)) throw refusal;
      problem = signal.aborted ? "" : refusal.message;
    }
    if (race) this.show(race);
    const cut = race?.ending ?? (signal.aborted ? "the race was cancelled" : "");
    this.turn(problem ? "failed" : cut ? "cancelled" : "done");
    if (cut) this.say(ended(cut, race));
    else if (!race) this.say(this.shown.report?.verdict ?? "");
    page.alert(problem);
    this.bar.remember();
    if (this.phase === "done" && !calm.matches) this.replay.start(0);
  }

  started(/** @type {RaceHeader} */ header) {
    const race = /** @type {RecordedRace} */ ({ domain: "", header, events: [], report: null });
    this.replay.load(0);
    this.shown = race;
    [this.kept, this.longest, this.began] = [false, 1, performance.now()];
    this.draw();
    this.setup.set(header);
    this.offer(race);
    this.numbers.show(null);
    return race;
  }

  /** The warm-up is shown as it comes. The timed runs write the same text again, so only their times are. @param {RecordedRace} race @param {Values} message */
  take(race, { events = [], report, ending }) {
    race.events.push(...events);
    race.report = report ?? race.report;
    race.ending = ending;
    for (const { lane: i, repetition, steps, record } of events) {
      const lane = this.lanes[i];
      if (repetition === 0) lane.extend(steps);
      if (repetition === 0) lane.soFar();
      lane.say(record ? "" : repetition ? `timed run ${repetition} of ${race.header.rounds}` : "warming up");
      const round = repetition
        ? `Timing, round ${repetition} of ${race.header.rounds}`
        : "Warming up, which counts for nothing";
      this.say(`${round}${this.left(race)}.`);
    }
    const rates = /** @type {RaceRow[]} */ ([...(report?.rows ?? []), ...(report?.served ?? [])]);
    for (const { case: name, tokens_per_second: rate } of rates)
      for (const lane of this.lanes) if (lane.name === name) lane.rate = rate;
    this.longest = Math.max(this.longest, ...this.lanes.map((lane) => lane.rate ?? 0));
    for (const lane of this.lanes) lane.draw(this.longest);
  }

  /** How long the rest of a race takes at its pace so far; "" before the first lane has ended. @param {RecordedRace} race */
  left({ events, header }) {
    const done = events.filter(({ record }) => record).length;
    const rest = (header.lanes.length * (header.rounds + 1)) / done - 1;
    return done ? `, about ${Math.ceil((rest * (performance.now() - this.began)) / 1000)} s left` : "";
  }

  turn(/** @type {string} */ state) {
    this.phase = state;
    this.cancel.hidden = state !== "running";
    this.go.disabled = this.choice.element.disabled = this.heats.element.disabled = state === "running";
  }

  say(/** @type {string} */ words) {
    say(this.verdict, words);
  }

  // ---- links, and for tests

  /** Null while a race runs, or a link's could not: then the address stays as it is. */
  link() {
    if (this.phase === "running" || this.kept || !this.shown) return null;
    const { domain, header } = this.shown;
    return domain ? { domain, temperature: heatOf(this.shown) } : header.link;
  }

  mirror() {
    const { playing, time, length } = this.replay;
    const lanes = this.lanes.map(({ ids, shown, ends, rate }) => ({ tokens: ids, shown, steps: ends.length, rate }));
    return { state: this.phase, ...this.shown, setup: this.setup.values(), tracks: lanes, playing, time, length };
  }
}

/** @param {RecordedRace} race */
const heatOf = ({ header }) => String(header.sampling.temperature);

/** What the exact lanes' texts have in common; "" where there are not two of them. @param {Lane[]} lanes @param {RaceHeader} header */
function sameness(lanes, { sampling }) {
  const [plain, ...others] = lanes.filter(({ lossless, ids }) => lossless && ids.length);
  if (!others.length) return "";
  if (sampling.temperature > 0)
    return "The texts differ by their coins: each lane draws its own from the target's distribution.";
  const other = others.find(({ ids }) => String(ids) !== String(plain.ids));
  if (!other) return `Not a word changed: ${others.length + 1} lanes, the same ${plural(plain.ids.length, "token")}.`;
  const first = other.ids.findIndex((id, i) => id !== plain.ids[i]) + 1;
  return `${other.name} leaves plain decoding's text at token ${first}: a pass over several tokens rounds differently from a pass over one.`;
}

/** What a race was run on and with. @param {RaceHeader} header @param {boolean} recorded */
function source({ machine, sampling, seed, prompt, prompts = 1, rounds, created, pair }, recorded) {
  const { device, processor, threads, cores, load } = machine;
  const heavy = load > cores + 0.5 ? `, busy (load ${load}): take the times with care` : `, load ${load}`;
  const busy = load === null ? "" : heavy; // a browser does not tell
  const where = device === "cpu" ? `${processor} CPU, ${threads} of ${cores} cores` : device;
  const when = recorded ? `Recorded ${day(created)}` : "Run here just now";
  const many =
    prompts > 1 ? `${prompts} prompts of ${prompt ? "this" : "each"} kind, ${plural(rounds, "seed")} each` : "";
  const words = `${when} on ${where}${busy}. ${pair}, temperature ${sampling.temperature}`;
  if (!prompt) return [`${words}, ${many || "one prompt of each kind"}.`];
  return [
    `${words}, ${many ? `${many}; shown: ` : ""}seed ${seed}, prompt `,
    h("bdi.hf-asked", { title: prompt }, `“${prompt.length > 90 ? `${prompt.slice(0, 88)}…` : prompt}”`),
  ];
}

function waiting(/** @type {number} */ place, /** @type {number | null} */ seconds) {
  const about = seconds ? `, in about ${Math.ceil(seconds)} s` : "";
  return place ? `Another run is using the model; this race is number ${place} in line${about}.` : "Starting …";
}

function ended(/** @type {string} */ words, /** @type {RecordedRace | null} */ race) {
  const kept = race?.report ? `What was timed until then: ${race.report.verdict}` : "Nothing was timed yet.";
  return `${words[0].toUpperCase()}${words.slice(1)}. ${kept}`;
}

/** The whole race in the format of the recorded ones, with the numbers beside it. @param {RecordedRace} race */
const whole = ({ ending, ...race }) => JSON.stringify({ format: "hsd-race-2", races: [race] });

export { Race };
