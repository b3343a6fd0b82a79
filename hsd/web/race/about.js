// What the screen says about a race in words: where it was run, how it gets on, how it ended.
import { inLine } from "../kit/live.js";
import { h } from "../kit/dom.js";
import { count } from "../kit/format.js";
import { live } from "../kit/source.js";

const INTRODUCTION =
  "The same prompt, one lane after another on the same machine, timed with tracing off; " +
  "then all lanes side by side at the pace that was recorded.";

/** What a race was run on and with: nodes, and a longer title. */
function source({ header, recorded }) {
  const { machine, sampling, seed, prompt, created, pair, target, draft } = header;
  const where = place(machine);
  const begin = recorded ? `Recorded on ${day(created)}` : "Run here just now";
  const hint = recorded && live ? " Press Race to run it here." : "";
  const made = `${begin} on ${article(where)} ${where}${load(machine)}.${hint}`;
  const shared = `Pair ${pair}, temperature ${sampling.temperature}, seed ${seed}, up to ${sampling.length} tokens`;
  const sizes = `${pair}: ${count(target)} parameters, drafted for by ${count(draft)}`;
  const versions = `torch ${machine.torch}, Python ${machine.python}, hsd ${header.version}`;
  const shown = h("bdi.rc-prompt", { title: prompt }, `“${clipped(prompt)}”`);
  return { title: `${sizes}; ${machine.dtype}, ${versions}`, nodes: [`${made} ${shared}, prompt `, shown] };
}

function place({ device, processor, threads, cores }) {
  return device === "cpu" ? `${processor} CPU (${threads} of ${cores} cores)` : device;
}

function load({ load: value, cores }) {
  const busy = `; the machine was busy (load ${value}), so take the times with care`;
  return value > cores ? busy : `, load ${value}`;
}

/** How a race that has not ended gets on. */
function progress(live) {
  const { header, items } = live;
  if (live.place > 0) return `Another run is using the model; this race is ${inLine(live)}.`;
  const last = items.at(-1);
  if (!header || !last) return "Starting …";
  if (last.repetition === 0) return "Warming up: every lane runs once, which counts for nothing.";
  return `Timing ${header.lanes.length} lanes: round ${last.repetition} of ${header.rounds}.`;
}

/** What to say about a race that ended before its time; empty for one that came to its end. */
function ending({ state, message, result }, started) {
  if (state !== "cancelled") return "";
  if (!started) return "The race was cancelled before it began.";
  const what = message || "the race was cancelled";
  const kept = result
    ? "The numbers are of what was timed until then."
    : "Nothing was timed yet; the texts are what there is.";
  return `${what[0].toUpperCase()}${what.slice(1)}. ${kept}`;
}

function legend() {
  const item = (origin, words) => h("span", h(`span.hp-swatch.is-${origin}`), ` ${words}`);
  const kinds = [item("draft", "● kept from the draft"), item("correction", "▲ correction")];
  return h(
    "p.hp-hint.hp-keyline.rc-legend",
    kinds,
    item("bonus", "◆ bonus, or the target alone"),
    h("span", "One block is one step."),
  );
}

const clipped = (text) => (text.length > 90 ? `${text.slice(0, 88)}…` : text);
const article = (words) => (/^[aeiou]/i.test(words) ? "an" : "a");

function day(created) {
  const date = new Date(created);
  const wanted = { day: "numeric", month: "short", year: "numeric", timeZone: "UTC" };
  return Number.isNaN(date.getTime()) ? String(created).slice(0, 20) : date.toLocaleDateString("en-GB", wanted);
}

export { INTRODUCTION, source, progress, ending, legend };
