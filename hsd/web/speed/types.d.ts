// Types of races and benchmarks, known in all modules; hsd/app/race.py and hsd/bench/view.py make them.

type RaceStep = { tokens: number[]; pieces: string[]; bytes?: (string | null)[]; last: Origin; end: number };
type RaceEvent = { lane: number; repetition: number; steps: RaceStep[]; record?: Values };
/** The numbers of a lane. */
type RaceRow = Values & { case: string; tokens_per_second: number; ms_per_token: number; shares: Record<string, number> };
type RaceReport = { rows: RaceRow[]; served: RaceRow[]; verdict: string; calls: string; basis: string };
type RaceLane = { name: string; own: Values; lossless: boolean; served?: boolean };
type RaceHeader = Values & { lanes: RaceLane[]; rounds: number; prompt: string; link: Values; notes?: string[][] };
type RecordedRace = {
  domain: string;
  header: RaceHeader;
  events: RaceEvent[];
  report: RaceReport | null;
  ending?: string;
};
type RecordedRaces = { races: RecordedRace[]; all: RaceReport | null };
/** A program that asks this app. */
type Program = { name: string; python: string; curl: string };
/** A lane of the setup. */
type SetupLane = { element: HTMLElement; title: HTMLElement; served: boolean; values: () => Values };

/** Columns: their names, and what they mean. */
type Columns = [name: string, meaning: string][];
type PublishedLine = Record<string, string> & { setting: string };
type Published = {
  lines: PublishedLine[];
  notes: string[];
  source: string;
  systems: { name: string; source: string; published: string }[];
};
type BenchmarkView = {
  format: string;
  date: string;
  facts: string[];
  columns: Columns;
  rows: unknown[][];
  kinds?: Record<string, unknown[][]>;
  charts: import("../kit/charts.js").Chart[];
  command: string;
  csv: string;
  here: { rules: PublishedLine[]; systems: string[] };
  published?: Published;
};
