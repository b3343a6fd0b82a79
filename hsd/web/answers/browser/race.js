// A race in the visitor's browser: its lanes, checked and named as hsd/app/race.py does it, run in
// turn.
import { divergence, facts, rule as ruleOf, system } from "../../kit/facts.js";
import { CHAINS, chain, exactWith, SETTINGS } from "../../rules/law.js";
import { Refusal } from "../refusal.js";
import { link, readRequest, recorded } from "./options.js";

const KNOWN = facts.options.properties;
const scoped = (/** @type {string} */ wanted) =>
  Object.keys(KNOWN).filter((name) => KNOWN[name].scope === wanted);
const SHARED = scoped("shared");
const LANE = scoped("lane").filter((name) => name !== "engine");
// seconds between two messages: while lanes warm up, and while times count
const NEWS = [0.05, 0.5];
const ALWAYS = ["rule", "gamma", "drafts"];
// elsewhere in a lane's name, or not in it
const SAID = { proposer: "", tree: "", divergence: "", rule: "", drafts: "" };
/**
 * Whether an option has another value than it has by default.
 * @type {(options: Values, name: string) => boolean}
 */
const changed = (options, name) => String(options[name]) !== String(KNOWN[name].default);
/** The options of these names. @type {(options: Values, names: string[]) => Values} */
function some(options, names) {
  const entries = names.map((name) => [name, options[name]]);
  return Object.fromEntries(entries);
}

/**
 * The names of the options that say how a lane drafts and checks: rule, γ, and those that have not
 * their default.
 * @type {(options: Values) => string[]}
 */
function ownOf(options) {
  if (options.system === "plain") return [];
  const tolerant = CHAINS.get(options.rule)?.knob?.option === "tolerance";
  const names = new Set(ALWAYS);
  if (tolerant) names.add("tolerance").add("divergence");
  for (const name of LANE) {
    if (name !== "system" && changed(options, name)) names.add(name);
  }
  return [...names];
}

/** Return the name of a lane. @param {Values} options */
function titleOf(options) {
  if (options.system === "plain") return system("plain").title;
  const copier = facts.proposers.find(({ name, copies }) => copies && name === options.proposer);
  const words = /** @type {Record<string, string>} */ ({
    ...SAID,
    gamma: options.gamma === "auto" ? "γ auto" : `γ = ${options.gamma}`,
    tolerance: `${divergence(options.divergence).formula.split("(")[0]} ≤ ${options.tolerance}`,
  });
  const own = ownOf(options).map(
    (name) => words[name] ?? `${name.replaceAll("_", " ")} ${options[name]}`,
  );
  return [copier?.title.split(" of ")[0], ruleOf(options.rule).capitalised_name, ...own]
    .filter(Boolean)
    .join(", ");
}

/**
 * A lane as a race's header has it. count: of the lanes so far with this title.
 * @type {(options: Values, count: number) => Lane}
 */
function described(options, count) {
  const shared = SHARED.filter(
    (name) => name !== "seed" && (name !== "prompt_as" || options[name]),
  );
  const all = ["system", ...shared, ...ownOf(options)];
  const own = all.filter((name) => {
    if (!LANE.includes(name)) return false;
    return name === "rule" || name === "gamma" || changed(options, name);
  });
  const sure = options.system === "plain" || chain(options.rule).lossless;
  return {
    name: titleOf(options) + (count > 1 ? ` (${count})` : ""),
    options: { ...some(options, all), trace: false },
    own: some(options, own),
    // its text follows the target
    lossless: sure || exactWith(options.rule, { ...SETTINGS, ...options }),
  };
}

/**
 * The lanes of a link: option:value~option:value, one after another.
 * @type {(text: string) => Values[]}
 */
const fromLink = (text) =>
  text.split(",").map((lane) => {
    const options = lane.split("~").map((option) => option.split(":"));
    return Object.fromEntries(options);
  });

/** A lane as a link has it, see `fromLink`. @type {(lane: Lane) => string} */
const toLink = ({ own }) =>
  Object.entries(own)
    .map((option) => option.join(":"))
    .join("~");

/** @type {(shared: Values, lane: Values, number: number, page: Values) => RunRequest} */
function laneOf(shared, lane, number, page) {
  try {
    const unknown = Object.keys(lane).find((name) => !scoped("lane").includes(name));
    if (unknown)
      throw new Refusal(`unknown option '${unknown.slice(0, 40)}': choose from ${LANE.join(", ")}`);
    const request = readRequest({ ...shared, ...lane }, page);
    if (request.options.system !== "plain") return request;
    throw new Refusal("plain decoding is the first lane of every race: choose another system");
  } catch (refusal) {
    if (refusal instanceof Refusal) throw new Refusal(`lane ${number}: ${refusal.message}`);
    throw refusal;
  }
}

/**
 * Plan a race: the header that a page needs, and the request of each lane. page: what the page is
 * made with. Throws Refusal.
 * @type {(given: Values, page: Values) => RacePlan}
 */
function plan({ lanes, rounds = 3, ...given }, page) {
  const most = page.race.lanes;
  const usual = [{ rule: facts.vanilla }, { rule: facts.usual }];
  const wanted = /** @type {Values[]} */ (
    typeof lanes === "string" ? fromLink(lanes) : (lanes ?? usual)
  );
  if (wanted.length >= most)
    throw new Refusal(
      `${wanted.length + 1} lanes: a race has 2 to ${most}, plain decoding among them`,
    );
  if (!page.race.rounds.includes(Number(rounds)))
    throw new Refusal(
      `${rounds} timed runs per lane: choose one of ${page.race.rounds.join(", ")}`,
    );
  const names = ["prompt", "pair", ...SHARED, "gamma"];
  const filled = names.filter((name) => (given[name] ?? "") !== "");
  const shared = some(given, filled);
  const plain = readRequest({ ...shared, gamma: undefined, system: "plain" }, page);
  const others = wanted.map((lane, i) => laneOf(shared, lane, i + 2, page));
  const titles = /** @type {string[]} */ ([]);
  const headers = [plain, ...others].map(({ options: all }, i) => {
    // the visitor's own, not the usual one
    const options = { ...all, confidence: Number(wanted[i - 1]?.confidence ?? 0) };
    titles.push(titleOf(options));
    return described(options, titles.filter((title) => title === titles[i]).length);
  });
  const { max_new_tokens: length, seed } = plain.options;
  const parameters = Object.entries(link(plain.prompt, plain.options, page.browser));
  const query = parameters.filter(([name]) => KNOWN[name]?.scope !== "lane");
  const header = {
    prompt: plain.prompt,
    sampling: { ...recorded(plain.options).sampling, length },
    seed: String(seed),
    rounds: Number(rounds),
    lanes: headers,
    link: {
      ...Object.fromEntries(query),
      lanes: headers.slice(1).map(toLink).join(),
      rounds: String(rounds),
    },
  };
  return { header, lanes: [plain, ...others] };
}

/** The part of a header about the machine. @type {(browser: Values, threads: number) => Values} */
function ranOn({ chip, pair }, threads) {
  const device = `this browser, ${threads > 1 ? `${threads} threads` : "one thread"}`;
  const machine = { device, load: null, dtype: pair.target.dtype };
  const { name, target, draft } = chip;
  return {
    created: new Date().toISOString(),
    version: pair.version,
    pair: name,
    target,
    draft,
    machine,
  };
}

/**
 * The messages of a race, as hsd/app has them. call: of the worker.
 * @param {RacePlan} plan
 * @param {Values} page
 * @param {number} threads
 * @param {Call} call
 * @param {AbortSignal} [signal]
 * @returns {AsyncGenerator<Values>}
 */
async function* raced({ header, lanes }, page, threads, call, signal) {
  const notes = lanes.map(() => []);
  yield { header: { ...header, ...ranOn(page.browser, threads), notes } };
  // new tokens: all that count are as long as the shortest text of the warm-up
  let longest = Infinity;
  const lengths = /** @type {number[]} */ ([]);
  for (let repetition = 0; repetition <= header.rounds; repetition += 1) {
    for (const [lane, { options, ...rest }] of lanes.entries()) {
      const limited = { ...options, max_new_tokens: Math.min(options.max_new_tokens, longest) };
      await call("begin", { request: { ...rest, options: limited }, timed: true });
      for (let over = false; !over; ) {
        if (signal?.aborted) {
          await call("end");
          return;
        }
        const message = await call("next", { seconds: NEWS[Math.sign(repetition)] });
        const { result, steps, record: timed } = message;
        over = Boolean(result);
        const record = { case: header.lanes[lane].name, prompt: 0, repetition, ...timed };
        const ended = over && { text: result.text, finish: result.finish, record };
        yield { events: [{ lane, repetition, steps, ...ended }] };
        if (over) lengths.push(record.new_tokens);
      }
    }
    longest = Math.max(Math.min(longest, ...lengths), 1);
  }
}

export { plan, raced };
