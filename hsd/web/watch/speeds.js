// How fast plain decoding, vanilla and HSD are with the pair that is shown: three bars, from the
// recorded races, which Speed shows in full.
import { find, h } from "../kit/dom.js";
import { rule as ruleInfo } from "../kit/facts.js";
import { address } from "../kit/link.js";

const LONGEST = 44; // pixels of a bar

/**
 * Show the speeds of a pair in the head of the page, or nothing where none was measured.
 * @type {(speeds: RecordedSpeeds | undefined) => void}
 */
function show(speeds) {
  const element = find(".hf-speeds");
  if (!speeds) return element.replaceChildren();
  const { lanes, temperature, processor, cores, prompts, load } = speeds;
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
  const lengths = [...new Set(lanes.flatMap(({ gamma }) => gamma ?? []))].join(" and ");
  const machine = processor.replace(/\(R\)| Processor| CPU/g, "");
  const setting = `${prompts} prompts, drafts of ${lengths}, T ${temperature}`;
  const words = `measured on ${setting}, ${machine}, ${cores} cores. `;
  const title = `four kinds of prompts, reading them included, lanes in turn; load ${load}`;
  const why = h("a", { href: address({ tab: "speed" }) }, "Why not more?");
  element.replaceChildren(...bars, h("small", { title }, words, why));
}

export { show };
