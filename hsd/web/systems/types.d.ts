// What the Systems page gets, see hsd/app/site.py, and what its planner asks and gets, see hsd/app/systems/planner.py.

/** A recorded run that the page lists. */
export type Run = { name: string; title: string; why: string; tokens_per_call: number };
/** figure: the title of its charts. */
export type System = { name: string; title: string; words: string; source: string; figure: string; shown: Run[] };
type Layout = { height: number; [key: string]: unknown };
export type Chart = { name: string; title: string; words: string; data: { type: string }[]; layout: Layout };

/** Inputs to start from. */
export type Preset = Named & { note: string; costs: string[]; acceptance: string[][]; per_token?: string[] };
/** What to start from, how many models there may be, and the highest threshold. */
export type Known = { presets: Preset[]; most: number; longest: number };
/**
 * What models cost and how often they agree, as the texts in the page's fields. preset: the worked or measured inputs that
 * these are, null for edited ones; acceptance: row i of model i by the larger ones, the last of which is the target; picked:
 * the models of the way that is looked at, null for the best one; tried: its thresholds, null for the best ones.
 */
export type Inputs = {
  preset: string | null;
  costs: string[];
  acceptance: string[][];
  perToken: string[];
  picked: number[] | null;
  tried: number[] | null;
};

type EdgeNumber = "threshold" | "acceptance" | "yield" | "pass" | "cost" | "gain" | "price" | "value";
/** to: null for the sink; an edge to it has no threshold and what follows from one. */
export type Edge = Record<EdgeNumber, number> & { from: number; to: number | null; widens: boolean };
export type Level = Record<"model" | "passes" | "pass" | "below" | "cost" | "tokens" | "share", number>;
/** A way to decode. */
export type Way = {
  models: number[];
  thresholds: number[];
  latency: number;
  speedup: number;
  levels: Level[];
  edges: Edge[];
};
export type Plan = {
  alternatives: Way[];
  best: number;
  chosen: number;
  way: Way;
  trial: { curves: number[][]; sentence: string } | null;
  graph: { distance: number[]; edges: Edge[] };
  verdict: string;
  bound_sentence: string;
  warnings: string[];
};

/** What the parts of the planner show. edge: the one that is looked at, null for a whole way; count: of models. */
export type Shown = { plan: Plan; edge: Edge | null; count: number };
export type Part = { element: HTMLElement; update: (shown: Shown) => void };
/** What is computed, and how. */
export type Line = [string, ...(string | Element)[]];
/** preset(name), cost(i, text), further(i, text), acceptance(i, j, text), add(), remove(i), copy(). */
export type Actions = Record<string, (...given: any[]) => void>;
/** What shows each number. */
export type Shows = ((inputs: Inputs) => void)[];
