// How fast plain decoding, vanilla and HSD are with the pair that is shown: three bars in the head of
// the page, from a race of that pair here, or else from the recorded ones.
import { find, h } from "./dom.js";
import { rule as ruleInfo } from "./facts.js";
import { address } from "./link.js";

const LONGEST = 44; // pixels of a bar

/** By pair what a race here measured. */
const own = /** @type {Map<string, RaceSpeeds>} */ (new Map());
let current = /** @type {{pair: string, recorded?: RaceSpeeds}} */ ({ pair: "" });

/**
 * Show the speeds of a pair, or nothing where none was measured.
 * @param {string} pair
 * @param {RaceSpeeds} [recorded]
 */
function show(pair, recorded) {
  current = { pair, recorded };
  const speeds = own.get(pair) ?? recorded;
  find(".hf-speeds").replaceChildren(...(speeds ? drawn(speeds) : []));
}

/** Take what a race here measured of a pair. @param {string} pair @param {RaceSpeeds} speeds */
function take(pair, speeds) {
  own.set(pair, speeds);
  show(current.pair, current.recorded);
}

/** @param {RaceSpeeds} speeds */
function drawn(speeds) {
  const { lanes, load } = speeds;
  const most = Math.max(...lanes.map(({ times }) => times));
  const bars = lanes.map(({ rule, times, tokens_per_second: rate }) => {
    const width = `width:${((LONGEST * times) / most).toFixed(1)}px`;
    return h(
      "span.hf-speed",
      { title: `${rate.toFixed(1)} tokens/s`, class: rule ? "" : "is-plain" },
      h("span", rule ? ruleInfo(rule).short : "plain"),
      h("i", { style: width }),
      h("b", `${times.toFixed(2)} ×`),
    );
  });
  const title =
    load === undefined
      ? "by the race that you ran on Speed"
      : `four kinds of prompts, reading them included, lanes in turn; load ${load}`;
  const why = h("a", { href: address({ tab: "speed" }) }, "Why not more?");
  return [...bars, h("small", { title }, `measured on ${setting(speeds)}. `, why)];
}

/** What was measured, and where. @param {RaceSpeeds} speeds */
function setting({ lanes, temperature, processor, cores, prompts }) {
  const lengths = [...new Set(lanes.flatMap(({ gamma }) => gamma ?? []))].join(" and ");
  const machine = processor.replace(/\(R\)| Processor| CPU/g, "");
  const texts = prompts === 1 ? "one prompt with its luck" : `${prompts} prompts`;
  const place = cores ? `${machine}, ${cores} cores` : machine;
  return `${texts}, drafts of ${lengths}, T ${temperature}, ${place}`;
}

export { show, take };
