// What links to Watch ask for, those of earlier versions too, and the options that made a trace, named as in a link.
import { facts } from "../kit/facts.js";
import { pathTo } from "../step/model.js";

const EARLIER = facts.options.old ?? {}; // name in links of earlier versions → today's
const NAMES = ["prompt", "pair", "target", "draft", ...Object.keys(facts.options.properties)];

/** Parameters without those that say nothing. @type {(values: Values) => Values} */
const short = (values) =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== "" && value !== null));

/** A whole number of a link, counted from `first`; null for anything else. @type {(text: string | null, first?: number) => number | null} */
const number = (text, first = 0) => (text && /^\d{1,6}$/.test(text) ? Number(text) - first : null);

/** The step that a link asks for, from 0: `at_step` counts from 1, `step` of earlier links from 0. @param {URLSearchParams} query */
const stepOf = (query) => number(query.get("at_step"), 1) ?? number(query.get("step"));
const COINS = /^(\d{1,4}):(0?\.\d{1,6}|0|1)(?:,|$)/;

/** The what-if that a link asks for, {rule, coins: [[node, coin], …]}, or null. @type {(query: URLSearchParams) => Supposition | null} */
function supposed(query) {
  const [rule, list] = [query.get("judge"), query.get("coins") ?? ""];
  const coins = /** @type {Supposition["coins"]} */ ([]);
  for (let rest = list, match; (match = COINS.exec(rest)); rest = rest.slice(match[0].length))
    coins.push([Number(match[1]), Number(match[2])]);
  return rule || coins.length ? { rule, coins } : null;
}

/** The parameters of a link to what a player shows; null for those that say nothing, and for `step` of earlier links. @type {(place: {step: number, node: number, supposed: Supposition}) => AddressValues} */
function placeOf({ step, node, supposed: { rule, coins } }) {
  if (step < 0) return {};
  return { step: null, at_step: step + 1, node, judge: rule, coins: coins.map((one) => one.join(":")).join() || null };
}

/** The address of the page that a file was saved from, "" if no server had it; shown: the place at which to open the run. @type {(from?: string, shown?: Parameters<typeof placeOf>[0] | null) => string} */
function back(from = "", shown = null) {
  if (!/^https?:/.test(from) || !URL.canParse(from)) return "";
  const url = new URL(from);
  const there = url.search || url.hash; // else that page does not have the run
  for (const [name, value] of Object.entries(shown && there ? placeOf(shown) : {}))
    if (value === null) url.searchParams.delete(name);
    else url.searchParams.set(name, String(value));
  return url.href;
}

/**
 * What a link asks for. file: the name of a file that was opened; own: each rule is shown with its own text; swapped: the
 * second of these texts is on the stage; options: of a run to start, null where the link asks for none. @param {URLSearchParams} query
 */
function read(query) {
  const given = [...query].map(([name, value]) => [EARLIER[name] ?? name, value]);
  const options = Object.fromEntries(given.filter(([name]) => NAMES.includes(name)));
  const node = number(query.get("node"));
  const where = short({ step: stepOf(query), node, supposed: supposed(query) });
  return {
    preset: query.get("preset"),
    file: query.get("file"),
    where: /** @type {Place} */ (where),
    own: query.get("mode") === "free",
    swapped: query.get("swap") === "1",
    options: query.has("prompt") ? options : null,
  };
}

/** The options that made a trace, as a link names them. link: of the run, which knows own models, and all digits of a seed. @type {(run: Pick<Trace, "setup" | "prompt">, link?: Values) => Values} */
function optionsOf({ setup, prompt }, link) {
  const drafts = setup.options.system !== "plain"; // else it has no draft length and no proposer
  const options = Object.entries(facts.options.properties).flatMap(([name, { at }]) => {
    const value = at?.split(".").reduce((/** @type {any} */ group, part) => group?.[part], setup.options);
    return value === undefined || (!drafts && ["gamma", "proposer"].includes(name)) ? [] : [[name, value]];
  });
  const { seed, target, draft } = link ?? {};
  const models = target ? { target, draft } : { pair: setup.pair };
  const forced = prompt.forced ? prompt.ids.slice(-prompt.forced) : undefined;
  return { prompt: prompt.text, ...Object.fromEntries(options), ...models, forced, ...(seed && { seed }) };
}

/** The options of a run that goes on with this token after a node of a step. link: of the step's run. @type {(link: Values | undefined, view: View, node: number, token: number) => Values} */
function after(link, view, node, token) {
  const before = view.trace.steps.slice(0, view.index).flatMap(({ committed }) => committed);
  const all = [...before, ...pathTo(view, node).map((id) => view.nodes.get(id)), { token }];
  const { forced = [], ...options } = optionsOf(view.trace, link);
  return { ...options, forced: [...forced, ...all.map((one) => one.token)].join("_") };
}

export { after, back, optionsOf, placeOf, read, short };
