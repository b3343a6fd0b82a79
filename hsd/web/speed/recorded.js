// The races to show: those that were recorded, and at each temperature all of them together. Pure.
import { report } from "./report.js";

/** The temperature of a race, as text. @param {RecordedRace} race */
const heatOf = ({ header }) => String(header.sampling.temperature);

/** The numbers of a race so far, see `report`. @param {RecordedRace} race */
function reportOf({ header, events, coins }) {
  const records = events.flatMap(({ record }) => record ?? []);
  return report(header.lanes, records, coins);
}

/**
 * The races, those of a temperature side by side; after several of them one more, "All", with the
 * prompts of all.
 * @param {RecordedRace[]} races
 */
function withAll(races) {
  const heats = Map.groupBy(races, heatOf);
  return [...heats.values()].flatMap((alike) =>
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

export { heatOf, reportOf, withAll };
