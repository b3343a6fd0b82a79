// Types of traces and facts, made by `make types` from a trace's JSON Schema and facts.json: do not edit.

export type Real = number | "Infinity" | "-Infinity";
export type Expression = number | string | Expression[];

export interface PageData {
  Trace: Trace;
  Facts: Facts;
  Expression: Expression;
  Real: Real;
}
/**
 * A whole run. Pass it on with `to_json`, read it back with `from_json`.
 */
export interface Trace {
  trace_version: 2;
  app_version: string;
  created: string;
  setup: Setup;
  prompt: Prompt;
  steps: Step[];
  result: Result;
}
/**
 * What made the run: enough to run it again.
 *
 * models: all that took part, smallest first and the target last. notes: what a reader of this run has to know, such
 * as that its rule is not lossless.
 */
export interface Setup {
  options: SetupOptions;
  pair: string;
  models: ModelInfo[];
  device: string;
  vocab_size: number;
  versions: {
    [k: string]: string;
  };
  notes: string[];
}
/**
 * The options of a run, in groups.
 */
export interface SetupOptions {
  /**
   * Answer a question, or go on writing; left out, as suits the pair.
   */
  prompt_as: string;
  /**
   * Who decides what is kept of a draft.
   */
  rule: string;
  /**
   * New tokens, at most.
   */
  max_new_tokens: number;
  /**
   * Same seed, same run; any whole number.
   */
  seed: number;
  /**
   * Speculative: a draft model; plain: none; stack: models that draft for each other; hispec: early exits.
   */
  system: string;
  /**
   * The rule that judges the same drafts and coins; left out, vanilla.
   */
  shadow: string;
  /**
   * eager; captured: steps of fixed shape as CUDA graphs, for one draft without a trace; portable: the fetched pair in integers, the same bits on every machine.
   */
  engine: string;
  draft: Draft;
  sampling: Sampling;
  fuzzy: Fuzzy;
  typical: Typical;
  levels: Levels;
  /**
   * Numbers of rules that have one.
   */
  knobs: {
    [k: string]: number;
  };
}
/**
 * Who proposes, how many tokens, and how several drafts are arranged. Where nothing is drafted, proposer is none and gamma 0; gamma is 0 too where levels with thresholds of their own draft.
 */
export interface Draft {
  /**
   * Tokens drafted per step; auto: as long as the draft is sure enough.
   */
  gamma: number | "auto";
  /**
   * A draft model, or the text itself: what followed its last words.
   */
  proposer: string;
  /**
   * With γ auto: draft on while the next token is kept with this chance, as the draft sees it; 0: as suits the pair.
   */
  confidence: number;
  /**
   * Drafts per step; from 2 on they form a tree.
   */
  drafts: number;
  /**
   * How several drafts are arranged.
   */
  tree: string;
  /**
   * Size of a grown tree, the text's last token counted; 0: drafts · γ + 1.
   */
  nodes: number;
}
/**
 * How logits became probabilities.
 */
export interface Sampling {
  /**
   * 0: always the likeliest token; 1: as the target is.
   */
  temperature: number;
  /**
   * Sample from the likeliest tokens up to this mass; 1: all.
   */
  top_p: number;
  /**
   * Sample from so many of the likeliest tokens; 0: all.
   */
  top_k: number;
}
/**
 * The settings of rule fuzzy; they matter where it takes part.
 */
export interface Fuzzy {
  /**
   * How far apart the two rows are.
   */
  divergence: string;
  /**
   * Up to this divergence a token passes; below 0: exact.
   */
  tolerance: number;
  /**
   * What decides above the tolerance.
   */
  mode: string;
  /**
   * Which rows are compared.
   */
  on: string;
}
/**
 * The settings of rule typical, without its number; they matter where it takes part.
 */
export interface Typical {
  /**
   * The next token: drawn from the target, or its likeliest, as Medusa's code has it.
   */
  after_kept: string;
}
/**
 * The levels of a system that has more than draft and target, smallest first, as they came out.
 */
export interface Levels {
  /**
   * Models of a stack by place from 0, smallest first, the target last; none: all.
   */
  stack: number[];
  /**
   * After how many layers HiSpec drafts, and checks; none: the trained ones.
   */
  exits: number[];
  /**
   * How many tokens each level hands up at least; none: γ at each of a stack, 2 and 4 for HiSpec.
   */
  thresholds: number[];
  /**
   * How the levels between the ends verify; none: by the rule if it is lossless, else token by token.
   */
  rules: string[];
}
/**
 * A model that took part: `parameters` counts numbers, shared ones once.
 *
 * drafted: how many tokens of the vocabulary it can propose, None for all of them; the others have q = 0. layers: how
 * many it has, where it tells. taps: after how many of the target's layers a head reads the hidden states.
 */
export interface ModelInfo {
  name: string;
  revision: string | null;
  parameters: number;
  dtype: string;
  drafted: number | null;
  layers: number | null;
  taps: number[];
}
/**
 * The text given, as the target's tokens. bytes: by place, of those that are not whole characters.
 */
export interface Prompt {
  text: string;
  ids: number[];
  pieces: string[];
  bytes?: {
    [k: string]: string;
  };
}
/**
 * One round: draft, score, verify, commit.
 *
 * The first block of fields is always there. The second is filled when tracing is on and describes the draft
 * tree, its drafts in order, every branch that could be extended, what the run's rule decided, and what the rule to
 * compare with decides. `drafted` counts all drafted tokens; no more than `depth` of them can be kept.
 * `target_calls` is above 1 where a rule resampled the rest of the block.
 * `expected_kept` is how many tokens of this very draft rules keep on average over all coins, and `kept_law`, of the
 * run's rule and the one to compare with, the probability of keeping 0, 1, … of them; both only where that can be
 * worked out.
 * `work` is what the target's own pass computed; `below` what each level under it did in this step, smallest first,
 * and `events` how. `divergences` has one number per drafted token, for a rule that judges by them. `growth` is all
 * that a grown tree was cut from.
 */
export interface Step {
  index: number;
  context_length: number;
  drafted: number;
  depth: number;
  kept: number;
  target_calls: number;
  work: Work;
  below: Work[];
  committed: Committed[];
  times: Times;
  start: number;
  nodes: TreeNode[];
  paths: Path[];
  branches: Branch[];
  verdict: Verdict | null;
  shadow: Verdict | null;
  divergences: Real[];
  growth: Grown[];
  events: LevelEvent[];
  expected_kept: {
    [k: string]: number;
  };
  kept_law: {
    [k: string]: number[];
  };
}
/**
 * What a level computed: forward calls; and for the exits of one model also layer passes, the tokens that went
 * through each of them in all, and how many rows the output head computed.
 */
export interface Work {
  calls: number;
  layers: number;
  computed: number;
  heads: number;
}
/**
 * A token of the output and where it came from.
 */
export interface Committed {
  token: number;
  piece: string;
  bytes?: string | null;
  origin: "draft" | "correction" | "bonus";
}
/**
 * Where a step's seconds went; `rest` is all that is not named.
 */
export interface Times {
  draft: number;
  target: number;
  verify: number;
  rest: number;
}
/**
 * A drafted token. `p` and `q` are what target and draft gave it.
 *
 * `draw` is the random number that drew it from the draft; `coin` is the one that belongs to its position in
 * every rule's tests, whether or not a rule came to use it.
 */
export interface TreeNode {
  token: number;
  piece: string;
  bytes?: string | null;
  id: number;
  parent: number;
  p: number;
  q: number;
  order: number;
  draw: number;
  coin: number;
}
/**
 * One draft: its nodes from depth 1 on, of which the first `fork` belong to the first draft. May share all.
 */
export interface Path {
  nodes: number[];
  fork: number;
}
/**
 * The next-token distributions under one node, and the masses that decide about it.
 *
 * Masses are relative to the draft's joint probability of the path, `joint_q`, and are computed over the
 * whole vocabulary before `top` is cut. With the capped ratio c of the path: deficient = Σ max(c·p − q, 0),
 * excess = Σ max(q − c·p, 0). `ratio` is p/q of the whole path, `pivot` the number of tokens
 * after which that ratio was largest so far (0: it never exceeded 1), `distance` the total variation of p
 * and q here, `asymmetry` the uncapped joint p − q of the path, `entropy` that of the target's row in nats, None in
 * older traces. Source: 2601.05724, Definitions 4–5, Eqs. 17–18. `lead` is by how much other tokens are ahead of the
 * drafted one x in a race, Σ max(q_x·p − p_x·q, 0); None in trees, and in older traces.
 */
export interface Branch {
  node: number;
  top: Candidate[];
  rest_p: number;
  rest_q: number;
  ratio: Real;
  capped: number;
  deficient: number;
  excess: number;
  distance: number;
  asymmetry: number;
  joint_q: number;
  pivot: number;
  entropy: Real | null;
  lead: Real | null;
}
/**
 * One of the likeliest next tokens of a branch.
 */
export interface Candidate {
  token: number;
  piece: string;
  bytes?: string | null;
  p: number;
  q: number;
}
/**
 * What a rule decided about a draft: the run's own, or one to compare with, on the same coins and last number.
 *
 * `decisions` are in the order in which they were taken. `residual` is what `next` was drawn from; both are absent
 * where the kept tokens end the text. `extra_draws` has numbers where the rule resampled the rest of the block.
 */
export interface Verdict {
  rule: string;
  kept: number;
  decisions: Decision[];
  changes: Change[];
  residual: Residual | null;
  next: Committed | null;
  extra_draws: number[];
}
/**
 * One test: accept iff `coin < threshold`. `node` is the last token that would be kept.
 *
 * `token` tests a single token, `draft` a whole draft, `prefix` the path up to `node` after a longer one failed.
 * `draft` counts the drafts from 0, as `Step.paths` has them.
 */
export interface Decision {
  node: number;
  test: "token" | "draft" | "prefix";
  threshold: number;
  coin: number;
  accepted: boolean;
  draft: number;
  grounds: Grounds;
}
/**
 * The numbers that went into a threshold; which of them count depends on the form.
 *
 * The forms are those of the rules' records, `forms` in `hsd.facts.facts()`; a later version may have more.
 * `p` is what the target that was valid by then gave the token.
 */
export interface Grounds {
  form: string;
  p: number;
  q: number;
  before: Real;
  mass: Real;
  divergence: Real | null;
  weight: number;
  entropy: Real | null;
  mixed: number | null;
  rival: number | null;
}
/**
 * What a rejection made of the branch under `node`, in a tree: its target from then on is the residual in `top`.
 *
 * `after` decisions had been taken. The residual is max(weight·p − q, 0), normalised, with the p that was valid until
 * then; `mass` is its sum before that. `rate` is the capped ratio of the node from then on, where the rule has one. An
 * outcome's `p` is the branch's first target, its `probability` the new one.
 */
export interface Change {
  after: number;
  node: number;
  weight: number;
  mass: number;
  rate: number | null;
  top: Outcome[];
  rest: number;
}
/**
 * A token of the distribution that the step's last token was drawn from: its probability there, and p and q.
 */
export interface Outcome {
  token: number;
  piece: string;
  bytes?: string | null;
  probability: number;
  p: number;
  q: number | null;
}
/**
 * The distribution of the token after the kept ones: the residual of `node`'s branch, or the target after it.
 *
 * A residual is max(weight·p − q, 0), and `mass` its sum before it was normalised, with the p that was valid by then.
 * Both are absent when the token is a bonus, drawn from the target, and where a rule names the likeliest of a row and
 * draws nothing; an infinite weight is all of p, without a mass.
 */
export interface Residual {
  node: number;
  origin: "correction" | "bonus";
  top: Outcome[];
  rest: number;
  weight: Real | null;
  mass: Real | null;
  draw: number;
}
/**
 * A token that was considered while a tree grew, whether or not it was drafted.
 *
 * level: how deep it lies, from 1 on. parent: the place of the one that it follows in the list of them all, from 1 on;
 * 0 for the root. q, joint: what the draft gave it and its whole path at temperature 1. read: the draft read it, to
 * find what may follow. node: of the draft, None for one that the re-ranking left out.
 */
export interface Grown {
  token: number;
  piece: string;
  bytes?: string | null;
  level: number;
  parent: number;
  q: number;
  joint: number;
  read: boolean;
  node: number | null;
}
/**
 * Something that happened at a level below the target before it was asked: a draft, or a verification.
 *
 * `level` counts from 0, the smallest model. `position` is the length of the text that the block continues, `asked`
 * how many tokens the level above wanted, `held` how many the level had settled for it before this event. `tested`
 * are the tokens that came from the level below; the first `kept` of them were kept. `committed` is what the level
 * settled thereby: every token of it is distributed as the level's own model. `seconds` include the levels below.
 */
export interface LevelEvent {
  level: number;
  kind: "draft" | "verify";
  position: number;
  asked: number;
  held: number;
  tested: Tested[];
  kept: number;
  committed: Committed[];
  work: Work;
  seconds: number;
}
/**
 * A token that a level below the target was handed, and what that level made of it.
 *
 * `p` and `q` are what the level and the one below gave it. `threshold` and `coin` are those of its own test, and
 * `accepted` is None where that test was not made.
 */
export interface Tested {
  token: number;
  piece: string;
  bytes?: string | null;
  p: number;
  q: number;
  threshold: number;
  coin: number;
  accepted: boolean | null;
}
/**
 * How the run ended: `length` budget used up, `end` end of text, `context` no room left, `cancelled`.
 */
export interface Result {
  text: string;
  finish: "length" | "end" | "context" | "cancelled";
  seconds: number;
}
export interface Facts {
  rules: RuleFacts[];
  usual: string;
  vanilla: string;
  compared: string[];
  layouts: LayoutFacts[];
  divergences: DivergenceFacts[];
  modes: {
    name: string;
    title: string;
  }[];
  grounds: {
    name: string;
    title: string;
  }[];
  systems: SystemFacts[];
  proposers: {
    name: string;
    title: string;
    copies: boolean;
  }[];
  forms: {
    [k: string]: Form;
  };
  letters: {
    [k: string]: Letter;
  };
  glossary: {
    [k: string]: GlossaryEntry;
  };
  sentences: {
    [k: string]: Expression;
  };
  options: OptionsSchema;
}
export interface RuleFacts {
  order: number;
  name: string;
  title: string;
  label: string;
  mark: string;
  short: string;
  head: string;
  lossless: boolean;
  greedy: boolean;
  forward: boolean;
  vanilla: boolean;
  kind: string;
  asked: string;
  recursive: null | string;
  single: boolean;
  trees: string[];
  levels: boolean;
  below: boolean;
  resamples: boolean;
  law: string;
  loses: string;
  term: null | string;
  knob: null | Knob;
  recipe: null | Recipe;
  modes: {
    [k: string]: Recipe;
  };
  cold: null | {
    recipe: Recipe;
    loses: string;
  };
  by_divergence: boolean;
  look: Look;
}
export interface Knob {
  option: string;
  sign: string;
  title: string;
  words: string;
  default: number;
  low: number;
  high: number;
  exact: null | number;
  open: boolean;
}
export interface Recipe {
  each: string[];
  whole: null | string;
  certain: boolean;
  race: boolean;
  residual: string;
  follow: string;
  a: Expression;
  b: Expression;
  inner: Expression | null;
}
export interface Look {
  colour: string;
  symbol: string;
  hatch: string;
}
export interface LayoutFacts {
  name: string;
  title: string;
  words: string;
  about: string;
  siblings: string;
  vanilla: string;
}
export interface DivergenceFacts {
  name: string;
  formula: string;
  title: string;
  unit: string;
  most: null | number;
}
export interface SystemFacts {
  name: string;
  title: string;
  short: string;
  words: string;
  levels: boolean;
}
export interface Form {
  name: string;
  sign: string;
  threshold: Expression;
  along: {
    [k: string]: Expression;
  };
  words: string;
  when: Expression | null;
  coin: boolean;
  also: Expression[];
  certain: boolean;
  whose: string;
  race: boolean;
}
export interface Letter {
  sign: string;
  words: string;
  index: null | number;
  of: string;
}
export interface GlossaryEntry {
  label: string;
  words: string;
  sign?: string;
  full?: string;
}
export interface OptionsSchema {
  additionalProperties: boolean;
  description: string;
  properties: {
    [k: string]: OptionSchema;
  };
  title: string;
  type: string;
  groups: {
    name: string;
    title: string;
  }[];
  old: {
    [k: string]: string;
  };
}
export interface OptionSchema {
  type?: string;
  oneOf?: {
    const: string;
    title: string;
  }[];
  title: string;
  description: string;
  default: unknown[] | boolean | number | string;
  scope: string;
  group?: string;
  at?: string;
  when?: {
    [k: string]: string[];
  };
  always?: boolean;
  anyOf?: {
    type?: string;
    minimum?: number;
    maximum: number;
    const?: string;
  }[];
  step?: number;
  minimum?: number;
  maximum?: number;
  shown?: number[];
  items?: {
    type: string;
    minimum?: number;
    maximum?: number;
  };
}
