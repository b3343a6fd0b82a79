// What links to Watch ask for, those of earlier versions too, and the options that made a trace,
// named as in a link.
import { facts } from "../kit/facts.js";
import { pathTo } from "../step/model.js";

const EARLIER = facts.options.old ?? {}; // name in links of earlier versions → today's
const NAMES = ["prompt", "pair", "target", "draft", ...Object.keys(facts.options.properties)];

/** Parameters without those that say nothing. @type {(values: Values) => Values} */
function short(values) {
  const given = Object.entries(values).filter(([, value]) => value !== "" && value !== null);
  return Object.fromEntries(given);
}

/** A whole number of a link; null for anything else. @param {string | null} text */
const number = (text) => (/^\d{1,6}$/.test(text ?? "") ? Number(text) : null);

/**
 * The step that a link asks for, from 0: `at_step` counts from 1, `step` of earlier links from 0.
 * @param {URLSearchParams} query
 */
function stepOf(query) {
  const step = number(query.get("at_step"));
  return step === null ? number(query.get("step")) : step - 1;
}

const COINS = /(\d{1,4}):(0?\.\d{1,6}|0|1)(?:,|$)/gy;

/**
 * The what-if that a link asks for, or null. Its coins are read up to the first that is none.
 * @type {(query: URLSearchParams) => Supposition | null}
 */
function supposed(query) {
  const rule = query.get("judge");
  const coins = /** @type {Supposition["coins"]} */ ([]);
  for (const [, node, coin] of (query.get("coins") ?? "").matchAll(COINS))
    coins.push([Number(node), Number(coin)]);
  return rule || coins.length ? { rule, coins } : null;
}

/**
 * The parameters of a link to what a player shows: null for those that say nothing, and for `step`,
 * which only earlier links have.
 * @type {(place: {step: number, node: number, supposed: Supposition}) => AddressValues}
 */
function placeOf({ step, node, supposed: { rule, coins } }) {
  if (step < 0) return {};
  const pairs = coins.map((pair) => pair.join(":")).join();
  return {
    step: null,
    at_step: step + 1,
    node,
    judge: rule,
    coins: pairs || null,
  };
}

/**
 * The address of the page that a file was saved from; "" if no server had it. shown: the place at
 * which to open the run.
 * @type {(from?: string, shown?: Parameters<typeof placeOf>[0] | null) => string}
 */
function back(from = "", shown = null) {
  if (!/^https?:/.test(from) || !URL.canParse(from)) return "";
  const url = new URL(from);
  const hasRun = url.search || url.hash;
  const place = shown && hasRun ? placeOf(shown) : {};
  for (const [name, value] of Object.entries(place))
    if (value === null) url.searchParams.delete(name);
    else url.searchParams.set(name, String(value));
  return url.href;
}

/**
 * All that a link asks for. file: the name of a file that was opened; own: each rule is shown with
 * its own text; swapped: the second of these texts is on the stage; options: of a run to start,
 * null where the link asks for none.
 * @param {URLSearchParams} query
 */
function read(query) {
  const options = /** @type {Values} */ ({});
  for (const [key, value] of query) {
    const name = EARLIER[key] ?? key;
    if (NAMES.includes(name)) options[name] = value;
  }
  const node = number(query.get("node"));
  const where = /** @type {Place} */ (
    short({ step: stepOf(query), node, supposed: supposed(query) })
  );
  return {
    preset: query.get("preset"),
    request: query.get("request"),
    file: query.get("file"),
    where,
    own: query.get("mode") === "free",
    swapped: query.get("swap") === "1",
    options: query.has("prompt") ? options : null,
  };
}

/**
 * The options that made a trace, as a link names them. link: the parameters of the run's link,
 * which know own models and all digits of a seed.
 * @type {(run: Pick<Trace, "setup" | "prompt">, link?: Values) => Values}
 */
function optionsOf({ setup, prompt }, link) {
  const { seed, target, draft } = link ?? {};
  const options = /** @type {Values} */ ({ prompt: prompt.text });
  for (const [name, { at }] of Object.entries(facts.options.properties)) {
    const path = at?.split(".");
    const value = path?.reduce((/** @type {any} */ group, part) => group?.[part], setup.options);
    if (value !== undefined) options[name] = value;
  }
  if (setup.options.system === "plain") {
    delete options.gamma;
    delete options.proposer;
  }
  if (setup.options.own) delete options.rule; // a file that no page runs
  Object.assign(options, target ? { target, draft } : { pair: setup.pair });
  options.forced = prompt.forced ? prompt.ids.slice(-prompt.forced) : undefined;
  if (seed) options.seed = seed;
  return options;
}

/**
 * The options of a run that goes on with this token after a node of a step. link: the parameters of
 * the link to the step's run.
 * @type {(link: Values | undefined, view: View, node: number, token: number) => Values}
 */
function after(link, view, node, token) {
  const before = view.trace.steps.slice(0, view.index).flatMap(({ committed }) => committed);
  const path = pathTo(view, node).map((id) => view.nodes.get(id));
  const tokens = [...before, ...path].map((entry) => entry.token);
  const { forced = [], ...options } = optionsOf(view.trace, link);
  return { ...options, forced: [...forced, ...tokens, token].join("_") };
}

export { after, back, optionsOf, placeOf, read, short };
