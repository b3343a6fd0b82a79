// The lanes of a race as a link's `lanes` parameter, and back, commas between lanes: rule~γ, or rule~γ~drafts~tree;
// stack~rule~thresholds and hispec~rule~exits~thresholds, as in 3_5; a fuzzy rule's tolerance~divergence at the end.
// What comes in is hostile: if one part is not understood, the usual lanes are taken; the server checks again.
import { asked } from "../kit/link.js";

const SHARED = ["pair", "target", "draft", "prompt", "prompt_as", "temperature", "top_p", "top_k", "seed", "length"];
const DRAFTING = { gamma: 5, drafts: 1, tree: "paths" };
const USUAL = ["tokenwise", "hsd"].map((rule) => ({ rule, ...DRAFTING }));
const OWN = { stack: ["thresholds"], hispec: ["exits", "thresholds"] }; // beside the rule, in this order

function encode(lanes, { defaults, divergences }) {
  const list = (text) => (String(text ?? "").match(/-?\d+/g) || []).join("_");
  const one = (lane) => {
    const { system, rule, gamma, drafts, tree, tolerance = defaults.tolerance } = lane;
    const levels = () => [system, rule, ...OWN[system].map((field) => list(lane[field]))];
    const own = OWN[system] ? levels() : [rule, gamma, ...(drafts > 1 ? [drafts, tree] : [])];
    return [...own, ...(rule === "fuzzy" ? [tolerance, lane.divergence || divergences[0].name] : [])].join("~");
  };
  return lanes.map(one).join(",");
}

/** Null where a part is not understood. */
function decode(text, facts) {
  const lanes = text.split(",").map((part) => lane(part.split("~")));
  return lanes.length < facts.most && lanes.every((one) => fits(one, facts)) ? lanes : null;
}

/** One lane from its parts, not checked yet. */
function lane(parts) {
  const system = OWN[parts[0]] ? parts.shift() : null;
  const rule = parts.shift();
  const [tolerance, divergence] = rule === "fuzzy" ? parts.splice(system ? OWN[system].length : 1) : [];
  const near = tolerance ? { tolerance: Number(tolerance), divergence } : {};
  if (system) {
    const own = OWN[system].map((field, i) => [field, (parts[i] ?? "").replaceAll("_", ", ")]);
    return { system, ...Object.fromEntries(own), rule, ...DRAFTING, ...near };
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

/** What the address asks of this screen: lanes, rounds, and the values of a race to start, or null. */
function read(props) {
  const query = asked("race");
  const rounds = Number(query.get("rounds"));
  const shared = SHARED.filter((name) => query.has(name)).map((name) => [name, query.get(name)]);
  return {
    lanes: decode(query.get("lanes") || "", props) || USUAL,
    rounds: props.rounds.includes(rounds) ? rounds : props.rounds[0],
    race: query.has("prompt") ? Object.fromEntries(shared) : null,
  };
}

export { encode, read };
