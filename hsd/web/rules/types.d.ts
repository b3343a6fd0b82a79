// Types of rules and their laws, known in all modules.

/** Probabilities by token: an array of any kind. */
type Row = {
  length: number;
  [token: number]: number;
  slice: (from?: number, to?: number) => Row;
  fill: (x: number) => Row;
  map: (change: (x: number, token: number) => number) => Row;
  reduce: (add: (total: number, x: number, token: number) => number, start: number) => number;
  engine?: RowEngine; // of a row in its memory
};
/**
 * What makes sums and draws of the rows in its memory, each as the function of this name in law.js
 * and divergence.js does. residual: the row max(a p − b q, 0), not divided by its sum; largest: the
 * places of so many numbers, the largest first.
 */
type RowEngine = {
  sum: (row: any) => number;
  entropy: (row: any) => number;
  leftOver: (a: number, b: number, p: any, q: any) => number;
  residual: (p: any, q: any, a: number, b: number) => Row | null; // null: no room for one more
  largest: (row: any, count: number) => number[];
  pick: (row: any, u: number) => number;
  oneHot: (row: any, x: number) => Row;
};
/** By name: of an object's own parts those that are numbers, or null. */
type Numbers = Record<string, any>;

/** A rule for one draft. */
type Chain = RuleFacts & { recipe: Recipe };
/** What rules may be set to; of every rule that has a number, it stands under its option. */
type Settings = {
  divergence: string;
  mode: string;
  after_kept: string;
  temperature?: number;
  [option: string]: any;
};
/** What of a recipe decides about the kept tokens. */
type Tests = Pick<Recipe, "each" | "whole" | "a" | "b" | "inner">;
type Test = {
  coin: number;
  threshold: number;
  grounds?: Partial<GroundsRecord> & { form: string };
};

/** Rows of the target after 0 … γ tokens, rows that drafted, and the tokens. */
type DraftedRows = { p: Row[]; q: Row[]; tokens: number[] };
/** Rows at temperature 1, nothing cut off. */
type RawRows = { p: Row[]; q: Row[] };
/**
 * A draft over the whole vocabulary, and the same with the tokens that it could not propose in one.
 */
type MergedDraft = DraftedRows & { small: DraftedRows; raw?: RawRows };

/**
 * The law of a rule for one draft. threshold: the chance that the test at t = 1 … γ succeeds;
 * forward: from 1 up, and the first failure stops, else from γ down, and the first success decides;
 * a, b: of the residual max(a p − b q, 0) after t = 0 … γ-1 kept tokens, with the q that is given
 * here: the certain one of a rule that counts the draft as certain. The residual of a coupled rule
 * depends on the token that was rejected, see `next`.
 */
type Law = DraftedRows & {
  name: string;
  recipe: Recipe;
  along: import("./law.js").Along;
  forward: boolean;
  threshold: number[];
  a: number[];
  b: number[];
};

/** Rows that depend on the position only. */
type AuditModel = {
  vocab: number;
  gamma: number;
  p: number[][];
  q: number[][];
  settings?: Partial<Settings>;
};
type Audit = ReturnType<typeof import("./audit.js").audit>;
