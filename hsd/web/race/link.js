// The lanes of a race as a link's `lanes` parameter, and back, commas between lanes: rule~γ, or rule~γ~drafts~tree;
// ngram~rule~γ; stack~rule~thresholds and hispec~rule~exits~thresholds, as in 3_5; a fuzzy rule's tolerance~divergence
// at the end. A server's lane stays out of links: its URL is nobody else's business.
// What comes in is hostile: if one part is not understood, all are left to the page; the server checks again.
import { asked } from "../kit/link.js";
import { draftedBy, drafter, drafting } from "./lane.js";

const SHARED = ["pair", "target", "draft", "prompt", "prompt_as", "temperature", "top_p", "top_k", "seed", "length"];
const OWN = { ngram: ["gamma"], stack: ["thresholds"], hispec: ["exits", "thresholds"] }; // after the rule, in order

function encode(lanes, { defaults, divergences }) {
  const list = (text) => (String(text ?? "").match(/-?\d+/g) || []).join("_");
  const one = (lane) => {
    const { rule, gamma, drafts, tree, tolerance = defaults.tolerance } = lane;
    const by = drafter(lane);
    const named = () => [by, rule, ...OWN[by].map((field) => list(lane[field]))];
    const own = OWN[by] ? named() : [rule, gamma, ...(drafts > 1 ? [drafts, tree] : [])];
    return [...own, ...(rule === "fuzzy" ? [tolerance, lane.divergence || divergences[0].name] : [])].join("~");
  };
  return lanes
    .filter((lane) => drafter(lane) !== "server")
    .map(one)
    .join(",");
}

/** Null where a part is not understood. usual: γ of lanes that say none. */
function decode(text, facts, usual) {
  const lanes = text.split(",").map((part) => lane(part.split("~"), usual));
  return lanes.length < facts.most && lanes.every((one) => fits(one, facts)) ? lanes : null;
}

/** One lane from its parts, not checked yet. */
function lane(parts, usual) {
  const by = OWN[parts[0]] ? parts.shift() : null;
  const rule = parts.shift();
  const [tolerance, divergence] = rule === "fuzzy" ? parts.splice(by ? OWN[by].length : 1) : [];
  const near = tolerance ? { tolerance: Number(tolerance), divergence } : {};
  if (by === "ngram") return { ...draftedBy(by), rule, ...drafting(Number(parts[0])), ...near };
  if (by) {
    const own = OWN[by].map((field, i) => [field, (parts[i] ?? "").replaceAll("_", ", ")]);
    return { ...draftedBy(by), ...Object.fromEntries(own), rule, ...drafting(usual), ...near };
  }
  const [gamma, drafts = "1", tree = "paths"] = parts;
  return { rule, gamma: Number(gamma), drafts: Number(drafts), tree, ...near };
}

function fits(lane, { rules, trees, limits, divergences }) {
  const { rule, gamma, drafts, tree, tolerance, divergence, exits = "", thresholds = "" } = lane;
  const whole = (n, high) => Number.isInteger(n) && n >= 1 && n <= high;
  const known = (names, name) => names.some((item) => item.name === name);
  const near = tolerance === undefined || (Number.isFinite(tolerance) && known(divergences, divergence));
  const lists = [exits, thresholds].every((text) => /^[-\d, ]{0,40}$/.test(text));
  const numbers = whole(gamma, limits.gamma) && whole(drafts, limits.drafts);
  return known(rules, rule) && known(trees, tree) && numbers && near && lists;
}

/** What the address asks of this screen: lanes or null, rounds, and the values of a race to start, or null. */
function read(props, usual) {
  const query = asked("race");
  const rounds = Number(query.get("rounds"));
  const shared = SHARED.filter((name) => query.has(name)).map((name) => [name, query.get(name)]);
  return {
    lanes: decode(query.get("lanes") || "", props, usual),
    rounds: props.rounds.includes(rounds) ? rounds : props.defaults.rounds,
    race: query.has("prompt") ? Object.fromEntries(shared) : null,
  };
}

export { encode, read };
