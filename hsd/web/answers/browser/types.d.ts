// Types of the decoder in the browser, known in all modules.

type Bytes = Uint8Array<ArrayBuffer>;
/** A part of a file that is fetched by itself; path: "" where the visitor has to pick the file. */
type Piece = { path: string; bytes: number; sha256: string };
type PiecedFile = { name: string; bytes: number; pieces: Piece[] };
/**
 * How many threads compute; memory: what they share, null for one thread with a memory of its own.
 */
type Sharing = { threads: number; memory: WebAssembly.Memory | null };

/** Gives the next so many bytes. */
type Take = (count: number) => Promise<Bytes>;
/**
 * A tensor of a file, whose bytes come by `take`; kind: as GGUF numbers it, or the "I64" of
 * safetensors.
 */
type Tensor = { kind: number | string; rows: number; columns: number; bytes: number; take: Take };
/** What a file says of itself, and its tensors by name. */
type ModelFile = { fields: Record<string, any>; tensors: Record<string, Tensor> };
/**
 * Models in the engine: where they lie, and their sizes; vocab of a head: the tokens that it can
 * draft.
 */
type Model = Awaited<ReturnType<typeof import("./engine.js").loadModel>>;
type Head = Awaited<ReturnType<typeof import("./engine.js").loadHead>>;

/** The number of tokens of a pass, and its seconds. */
type PassTime = [tokens: number, seconds: number];

/** Asks the worker. */
type Call = (name: string, argument?: Values, heard?: (progress: Values) => void) => Promise<any>;

/** A pair, with what a reader calls it. */
type Named = { name: string; title: string };
type Codec = import("./text.js").Codec;
type Pair = {
  about: Values; // what the page knows of it, see hsd/app/browser.py
  target: Model;
  head: Head;
  codec: Codec;
  passes: import("./passes.js").Passes;
};
/** A median, the quarters below and above it, and of how many turns. */
type PassCost = { middle: number; low: number; high: number; turns: number };
/** The options of a run by their names in a link. */
type FlatOptions = Sampling & { max_new_tokens: number; [name: string]: any };
/**
 * A run that is asked for. free: the visitor left it to the page how sure a draft must be; said:
 * what the page says of it; bare: without the details of its steps.
 */
type RunRequest = {
  prompt: string;
  options: FlatOptions;
  settings: Settings;
  free?: boolean;
  said?: string[];
  bare?: boolean;
};

/**
 * Begins a run: with its first message, the message of each step, and what comes with the last of
 * them.
 */
type MakeRun = (
  pair: Pair,
  request: RunRequest,
) => {
  decoding: import("./decoding.js").Decoding;
  first: Values;
  message: (step: Step) => Values;
  last: () => Values;
};

/** Rows over a vocabulary. */
type WideRow = Float32Array | Float64Array;
/**
 * A row that is sampled from, and the one at temperature 1, with nothing cut off, where a rule
 * wants it.
 */
type Sampled = { row: WideRow; raw: WideRow };
/**
 * The random numbers of a round: of the drafted tokens, of the tests, and of the token after the
 * kept ones.
 */
type RoundNumbers = { draws: number[]; coins: number[]; number: number };
/** One round: the draft, what the rule decided, and the tokens that follow. */
type Round = MergedDraft &
  RoundNumbers & {
    law: Law;
    row: Row;
    token: number | null;
    kept: number;
    extra: number[];
    extraDraws: number[];
    bonus: boolean;
    committed: number[];
  };

/** The record of one timed run; see hsd/bench. */
type PassSummary = {
  first: number;
  widths: Record<string, [count: number, seconds: number, median: number]>;
};
type RunRecord = {
  new_tokens: number;
  target_calls: number;
  steps: number;
  drafted: number;
  kept: number;
  seconds: number;
  time: Record<string, number>;
  kept_histogram: Record<string, number>;
  calls: Record<string, PassSummary>;
};
type LaneRecord = RunRecord & { case: string; prompt: number; repetition: number };
/** The race that is asked for: what a page must know of it, and what each lane asks for. */
type RacePlan = { header: Values & { rounds: number; lanes: Lane[] }; lanes: RunRequest[] };
/** A lane of a race, as its header has it. */
type Lane = { name: string; options: Values; own: Values; lossless: boolean };
