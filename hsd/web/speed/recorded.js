// The races to show: those that were recorded, and of each pair at each temperature all of them
// together. Pure.
import { facts } from "../kit/facts.js";
import { median } from "../kit/statistics.js";
import { report } from "./report.js";

/** The temperature of a race, as text. @param {RecordedRace} race */
const heatOf = ({ header }) => String(header.sampling.temperature);

/** The numbers of a race so far, see `report`. @param {RecordedRace} race */
function reportOf({ header, events, coins }) {
  const records = events.flatMap(({ record }) => record ?? []);
  return report(header.lanes, records, coins);
}

/**
 * The races, those of a pair at a temperature side by side; after several of them one more, "All",
 * with the prompts of all.
 * @param {RecordedRace[]} races
 */
function withAll(races) {
  const groups = Map.groupBy(races, (race) => `${race.header.pair} ${heatOf(race)}`);
  return [...groups.values()].flatMap((alike) =>
    alike.length > 1 ? [...alike, together(alike)] : alike,
  );
}

/**
 * Races of the same lanes as one, without texts to replay; no two of them share a prompt's number.
 * @param {RecordedRace[]} races
 * @returns {RecordedRace}
 */
function together(races) {
  const events = races.flatMap((race, i) =>
    race.events.flatMap(({ record, ...event }) => {
      if (!record) return [];
      return { ...event, steps: [], record: { ...record, prompt: 1000 * i + record.prompt } };
    }),
  );
  const coins = races.flatMap((race, i) =>
    (race.coins ?? []).map((own) => ({ ...own, prompt: 1000 * i + own.prompt })),
  );
  const header = { ...races[0].header, prompt: "" };
  return { domain: "All", header, events, coins };
}

/**
 * The lanes of plain decoding, and of vanilla and HSD with single drafts by a model, each with its
 * row.
 * @param {RecordedRace} race
 */
function chainsOf(race) {
  race.report ??= reportOf(race);
  const rows = race.report?.rows ?? [];
  return race.header.lanes.flatMap(({ name, options, own }, place) => {
    const isRule = [facts.vanilla, facts.usual].includes(options.rule);
    const isChain = isRule && !("proposer" in own) && !("drafts" in own);
    const row = rows.find((one) => one.case === name);
    return row && (place === 0 || isChain) ? [{ options, row }] : [];
  });
}

/**
 * How fast plain decoding, vanilla and HSD were in a race of one prompt; null where one of them was
 * not timed.
 * @param {RecordedRace} race
 * @returns {RaceSpeeds | null}
 */
function speedsIn(race) {
  const [plain, ...others] = chainsOf(race);
  const [vanilla, hsd] = [facts.vanilla, facts.usual].map((rule) =>
    others.find(({ options }) => options.rule === rule),
  );
  if (!vanilla || !hsd) return null;
  const { sampling, machine } = race.header;
  const lanes = [plain, vanilla, hsd].map(({ options, row }) => ({
    rule: row === plain.row ? null : options.rule,
    gamma: row === plain.row ? null : options.gamma,
    tokens_per_second: row.tokens_per_second,
    times: row.speedup,
  }));
  const processor = machine.processor ?? machine.device;
  return { temperature: sampling.temperature, prompts: 1, processor, lanes };
}

/**
 * What a race says of a pair's passes: their milliseconds by width, and of a drafted token
 * ("draft"); and which share of the speed-up that they alone allow vanilla and HSD reached, at most
 * 1. Null where no lane of either rule was timed.
 * @type {(race: RecordedRace) => RacePasses | null}
 */
function passesIn(race) {
  const [plain, ...others] = chainsOf(race);
  const drafting = others.filter(({ row }) => row.efficiency > 0);
  if (!drafting.length || !plain.row.target_call_ms) return null;
  const times = /** @type {Record<string, number>} */ ({ 1: plain.row.target_call_ms });
  for (const { options, row } of drafting) times[Number(options.gamma) + 1] = row.target_call_ms;
  times.draft = drafting[0].row.draft_call_ms;
  const share = Math.min(median(drafting.map(({ row }) => row.efficiency)), 1);
  return { times, share };
}

/**
 * By pair the share of `passesIn` in its recorded races above temperature 0, all kinds together, and
 * the processor that they ran on.
 * @param {RecordedRace[]} races
 */
function sharesOf(races) {
  const shares = /** @type {Record<string, RaceShare>} */ ({});
  for (const race of withAll(races)) {
    const { pair, machine } = race.header;
    const passes = Number(heatOf(race)) > 0 ? passesIn(race) : null;
    // the last one of a pair is that of all kinds
    if (passes) shares[pair] = { share: passes.share, processor: machine.processor };
  }
  return shares;
}

export { heatOf, passesIn, reportOf, sharesOf, speedsIn, withAll };
