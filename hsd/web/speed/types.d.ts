// Types of races and benchmarks, known in all modules; hsd/app/race.py and hsd/bench/view.py make
// them.

type RaceStep = {
  tokens: number[];
  pieces: string[];
  bytes?: (string | null)[];
  last: Origin;
  end: number;
};
type RaceEvent = { lane: number; repetition: number; steps: RaceStep[]; record?: LaneRecord };
/** What of a record is summed over runs. */
type LaneCount = "new_tokens" | "target_calls" | "steps" | "drafted" | "kept" | "seconds";
/** How many tokens a lane keeps of its drafts on a prompt, on average over all coins. */
type RaceCoins = { case: string; prompt: number; kept: number; drafts: number };
/** The numbers of a lane. */
type RaceRow = Values & {
  case: string;
  lossless: boolean;
  tokens_per_second: number;
  ms_per_token: number;
  speedups: number[];
  shares: Record<string, number>;
};
type RaceReport = { rows: RaceRow[]; verdict: string; calls: string; basis: string; rules: string };
type RaceLane = { name: string; options: Values; own: Values; lossless: boolean };
type RaceHeader = Values & {
  lanes: RaceLane[];
  rounds: number;
  prompt: string;
  link: Values;
  notes?: string[][];
};
type RecordedRace = {
  domain: string;
  header: RaceHeader;
  events: RaceEvent[];
  /** Of what was timed so far, once it is shown. */
  report?: RaceReport | null;
  coins?: RaceCoins[];
  ending?: string;
};
/** What a race says of a pair's passes, see `passesIn` in recorded.js. */
type RacePasses = { times: Record<string, number>; share: number };
/** The share that a pair reached in its recorded races, and on which processor. */
type RaceShare = { share: number; processor: string };
type RecordedRaces = { races: RecordedRace[] };
/** A lane of the setup. */
type SetupLane = { element: HTMLElement; title: HTMLElement; values: () => Values };

/** Columns: their names, and what they mean. */
type Columns = [name: string, meaning: string][];
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
};

// ---- the calculator: rows of assets/results/lengths.json, see examples/reproduce/record_race.py

/** What one rule gave at one draft length on one text. */
type Sample = {
  gamma: number;
  rule: string;
  text: string | number;
  tokens: number;
  passes: number;
};
type Lengths = {
  pair: string;
  title: string;
  samples: (Sample & { kind: string })[];
  passes: Record<string, Record<string, number>>;
  machine: Values;
} & Values;
/** Tokens that a text got, and the target's passes for them. */
type Given = [tokens: number, passes: number];
type LengthRow = { gamma: number; given: Record<string, Given[]> };
/** In passes over one token: of a pass over so many, and of a drafted token. */
type Costs = { pass: (width: number) => number; drafted: number };
type Interval = [value: number, low: number, high: number];
type CalculatorPoint = { gamma: number; speeds: number[]; ratio: Interval };
