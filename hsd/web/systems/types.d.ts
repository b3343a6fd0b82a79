// What the planner asks and gets, see hsd/app/systems/planner.py, and what its parts share.

/** Inputs to start from. */
interface PlannerPreset {
  name: string;
  title: string;
  note: string;
  costs: string[];
  acceptance: string[][];
  per_token?: string[];
}

/** What models cost and how often they agree, as the texts in the page's fields. */
interface PlannerInputs {
  /** The name of the worked or measured inputs that these are, null for edited ones. */
  preset: string | null;
  costs: string[];
  /** Row i: of model i by the larger ones, the last of which is the target. */
  acceptance: string[][];
  perToken: string[];
  /** The models of the way that is looked at, null for the best one. */
  picked: number[] | null;
  /** Its thresholds, null for the best ones. */
  tried: number[] | null;
}

interface PlannerLevel {
  model: number;
  passes: number;
  pass: number;
  below: number;
  cost: number;
  tokens: number;
  share: number;
}

/** A way to decode. */
interface PlannerWay {
  models: number[];
  thresholds: number[];
  latency: number;
  speedup: number;
  levels: PlannerLevel[];
}

interface PlannerPlan {
  alternatives: PlannerWay[];
  best: number;
  chosen: number;
  way: PlannerWay;
  trial: { curves: number[][]; sentence: string } | null;
  verdict: string;
  bound_sentence: string;
  warnings: string[];
}

/** What the parts of the planner show. count: of models. */
interface PlannerView {
  plan: PlannerPlan;
  count: number;
}

interface PlannerPart {
  element: HTMLElement;
  update: (shown: PlannerView) => void;
}
