// Types of traces and facts, made by `make types` from a trace's JSON Schema and facts.json: do not edit.

type Real = number | "Infinity" | "-Infinity";
type Expression = number | string | Expression[];

interface PageData {
  Trace: Trace;
  Facts: Facts;
  Expression: Expression;
  Real: Real;
}
interface Trace {
  trace_version: 2;
  app_version: string;
  created: string;
  setup: Setup;
  prompt: Prompt;
  steps: Step[];
  result: Result;
}
interface Setup {
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
interface SetupOptions {
  prompt_as: string;
  system: string;
  rule: string;
  max_new_tokens: number;
  seed: number;
  shadow: string;
  engine: string;
  draft: Draft;
  sampling: Sampling;
  fuzzy: Fuzzy;
  typical: Typical;
  levels: Levels;
  knobs: {
    [k: string]: number;
  };
}
interface Draft {
  gamma: number | "auto";
  proposer: string;
  confidence: number;
  drafts: number;
  tree: string;
  nodes: number;
}
interface Sampling {
  temperature: number;
  top_p: number;
  top_k: number;
}
interface Fuzzy {
  divergence: string;
  tolerance: number;
  mode: string;
  on: string;
}
interface Typical {
  after_kept: string;
}
interface Levels {
  stack: number[];
  exits: number[];
  thresholds: number[];
  rules: string[];
}
interface ModelInfo {
  name: string;
  revision: string | null;
  parameters: number;
  dtype: string;
  drafted: number | null;
  layers: number | null;
  head_cost: number | null;
  taps: number[];
}
interface Prompt {
  text: string;
  ids: number[];
  pieces: string[];
  bytes?: {
    [k: string]: string;
  };
  forced?: number;
}
interface Step {
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
interface Work {
  calls: number;
  layers: number;
  computed: number;
  heads: number;
}
interface Committed {
  token: number;
  piece: string;
  bytes?: string | null;
  origin: "draft" | "correction" | "bonus";
}
interface Times {
  draft: number;
  target: number;
  verify: number;
  rest: number;
}
interface TreeNode {
  token: number;
  piece: string;
  bytes?: string | null;
  id: number;
  parent: number;
  p: number;
  q: number;
  order: number;
  draw: number | null;
  coin: number;
}
interface Path {
  nodes: number[];
  fork: number;
}
interface Branch {
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
interface Candidate {
  token: number;
  piece: string;
  bytes?: string | null;
  p: number;
  q: number;
}
interface Verdict {
  rule: string;
  kept: number;
  decisions: Decision[];
  changes: Change[];
  residual: Residual | null;
  next: Committed | null;
  extra_draws: number[];
}
interface Decision {
  node: number;
  test: "token" | "draft" | "prefix";
  threshold: number;
  coin: number;
  accepted: boolean;
  draft: number;
  grounds: Grounds;
}
interface Grounds {
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
interface Change {
  after: number;
  node: number;
  weight: number;
  mass: number;
  rate: number | null;
  top: Outcome[];
  rest: number;
}
interface Outcome {
  token: number;
  piece: string;
  bytes?: string | null;
  probability: number;
  p: number;
  q: number | null;
}
interface Residual {
  node: number;
  origin: "correction" | "bonus";
  top: Outcome[];
  rest: number;
  weight: Real | null;
  mass: Real | null;
  draw: number | null;
}
interface Grown {
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
interface LevelEvent {
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
interface Tested {
  token: number;
  piece: string;
  bytes?: string | null;
  p: number;
  q: number;
  threshold: number;
  coin: number;
  accepted: boolean | null;
}
interface Result {
  text: string;
  finish: "length" | "end" | "context" | "cancelled";
  seconds: number;
}
interface Facts {
  rules: RuleFacts[];
  usual: string;
  vanilla: string;
  layouts: LayoutFacts[];
  divergences: DivergenceFacts[];
  modes: {
    name: string;
    title: string;
  }[];
  systems: SystemFacts[];
  proposers: {
    name: string;
    title: string;
    copies: boolean;
    longest: number;
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
interface RuleFacts {
  order: number;
  name: string;
  title: string;
  mark: string;
  short: string;
  head: string;
  lossless: boolean;
  greedy: boolean;
  forward: boolean;
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
}
interface Knob {
  option: string;
  sign: string;
  title: string;
  words: string;
  default: number;
  low: number;
  high: number;
  exact: null | number;
}
interface Recipe {
  each: string[];
  whole: null | string;
  certain: boolean;
  coupled: boolean;
  clipped: boolean;
  residual: string;
  follow: string;
  a: Expression;
  b: Expression;
  inner: Expression | null;
}
interface LayoutFacts {
  name: string;
  title: string;
  words: string;
  siblings: string;
}
interface DivergenceFacts {
  name: string;
  formula: string;
  title: string;
  unit: string;
  most: null | number;
}
interface SystemFacts {
  name: string;
  title: string;
  short: string;
  words: string;
  levels: boolean;
}
interface Form {
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
  coupled: boolean;
}
interface Letter {
  sign: string;
  words: string;
  index: null | number;
  of: string;
}
interface GlossaryEntry {
  label: string;
  words: string;
  sign?: string;
  line?: string;
  full?: string;
}
interface OptionsSchema {
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
interface OptionSchema {
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
