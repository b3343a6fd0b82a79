// The lanes of a race as a link's `lanes` parameter, and back: rule~γ, or rule~γ~drafts~tree, commas between lanes.
// What comes in is hostile: if one part is not understood, the usual lanes are taken; the server checks again.
(function (race) {
  "use strict";

  const SHARED = ["pair", "target", "draft", "prompt", "temperature", "top_p", "top_k", "seed", "length"];
  const usual = () => ["tokenwise", "hsd"].map((rule) => ({ rule, gamma: 5, drafts: 1, tree: "paths" }));

  function encode(lanes) {
    const one = ({ rule, gamma, drafts, tree }) => [rule, gamma, ...(drafts > 1 ? [drafts, tree] : [])].join("~");
    return lanes.map(one).join(",");
  }

  function decode(text, { rules, trees, most, limits }) {
    const parts = String(text || "").split(",");
    const lanes = parts.map((part) => {
      const [rule, gamma, drafts = "1", tree = "paths"] = part.split("~");
      return { rule, gamma: Number(gamma), drafts: Number(drafts), tree };
    });
    const whole = (n, high) => Number.isInteger(n) && n >= 1 && n <= high;
    const known = (list, name) => list.some((item) => item.name === name);
    const fits = ({ rule, gamma, drafts, tree }) =>
      known(rules, rule) && known(trees, tree) && whole(gamma, limits.gamma) && whole(drafts, limits.drafts);
    return lanes.length < most && lanes.every(fits) ? lanes : null;
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

  /** The address of a race: shared is what its lanes have in common, or what the frame shows. */
  function write(address, shared, lanes, rounds) {
    const url = new URL(address);
    const theme = url.searchParams.get("__theme");
    url.search = "";
    url.hash = "";
    const values = { ...(theme ? { __theme: theme } : {}), ...shared, tab: "race", lanes: encode(lanes), rounds };
    for (const [name, value] of Object.entries(values)) url.searchParams.set(name, value);
    return url.href;
  }

  race.link = { encode, decode, read, write };
})((window.hsdRace = window.hsdRace || {}));
