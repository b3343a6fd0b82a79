// The lanes of a race as a link's `lanes` parameter, and back, commas between lanes: rule~γ, or rule~γ~drafts~tree;
// stack~rule~thresholds and hispec~rule~exits~thresholds, as in 3_5; a fuzzy rule's tolerance~divergence at the end.
// What comes in is hostile: if one part is not understood, the usual lanes are taken; the server checks again.
const SHARED = ["pair", "target", "draft", "prompt", "temperature", "top_p", "top_k", "seed", "length"];
const usual = () => ["tokenwise", "hsd"].map((rule) => ({ rule, gamma: 5, drafts: 1, tree: "paths" }));

const OWN = { stack: ["thresholds"], hispec: ["exits", "thresholds"] }; // beside the rule, in this order
const list = (text) => (String(text ?? "").match(/-?\d+/g) || []).join("_");

function encode(lanes, { defaults, divergences }) {
  const one = (lane) => {
    const { system, rule, gamma, drafts, tree, tolerance = defaults.tolerance } = lane;
    const own = OWN[system]
      ? [system, rule, ...OWN[system].map((field) => list(lane[field]))]
      : [rule, gamma, ...(drafts > 1 ? [drafts, tree] : [])];
    return [...own, ...(rule === "fuzzy" ? [tolerance, lane.divergence || divergences[0].name] : [])].join("~");
  };
  return lanes.map(one).join(",");
}

function decode(text, facts) {
  const lanes = String(text || "")
    .split(",")
    .map((part) => lane(part.split("~")));
  return lanes.length < facts.most && lanes.every((one) => fits(one, facts)) ? lanes : null;
}

/** One lane from its parts, not checked yet. */
function lane(parts) {
  const own = OWN[parts[0]] ? { system: parts.shift() } : {};
  const rule = parts.shift();
  const count = own.system ? OWN[own.system].length : 1;
  const [tolerance, divergence] = rule === "fuzzy" ? parts.splice(count) : [];
  const near = tolerance ? { tolerance: Number(tolerance), divergence } : {};
  if (!own.system) {
    const [gamma, drafts = "1", tree = "paths"] = parts;
    return { rule, gamma: Number(gamma), drafts: Number(drafts), tree, ...near };
  }
  OWN[own.system].forEach((field, i) => {
    own[field] = (parts[i] ?? "").replaceAll("_", ", ");
  });
  return { ...own, rule, gamma: 5, drafts: 1, tree: "paths", ...near };
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
function read(address, props) {
  const query = new URL(address).searchParams;
  const here = query.get("tab") === "race";
  const rounds = Number(query.get("rounds"));
  const shared = Object.fromEntries(SHARED.filter((name) => query.has(name)).map((name) => [name, query.get(name)]));
  return {
    lanes: (here && query.has("lanes") && decode(query.get("lanes"), props)) || usual(),
    rounds: here && props.rounds.includes(rounds) ? rounds : props.rounds[0],
    race: here && query.has("prompt") ? shared : null,
  };
}

/** The address of a race. shared: what its lanes have in common, or what the frame shows. props: as for `read`. */
function write(address, shared, lanes, rounds, props) {
  const url = new URL(address);
  const theme = url.searchParams.get("__theme");
  url.search = "";
  url.hash = "";
  const own = { tab: "race", lanes: encode(lanes, props), rounds };
  const values = { ...(theme ? { __theme: theme } : {}), ...shared, ...own };
  for (const [name, value] of Object.entries(values)) url.searchParams.set(name, value);
  return url.href;
}

export { encode, decode, read, write };
