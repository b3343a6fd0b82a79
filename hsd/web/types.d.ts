// Types of traces and facts, made by `make types` from hsd/trace and facts.json: do not edit.

type Real = number | "Infinity" | "-Infinity";
type Expression = number | string | Expression[];

interface PageData {
  Trace: Trace;
  Facts: Facts;
  Said: Said;
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
  scores?: Scores | null;
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
  own?: OwnRecord | null;
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
interface OwnRecord {
  lossless: boolean | null;
  words: string;
  coins: boolean;
  example: TooOften | null;
}
interface TooOften {
  p: number[][];
  q: number[][];
  after: number[];
  token: number;
  probability: number;
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
  paths: PathRecord[];
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
interface PathRecord {
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
  changes: ChangeRecord[];
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
  grounds: GroundsRecord;
}
interface GroundsRecord {
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
interface ChangeRecord {
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
interface Scores {
  p: number[];
  q: number[];
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
    [k: string]: {
      [k: string]: string;
    };
  };
  options: OptionsSchema;
}
interface RuleFacts {
  order: number;
  name: string;
  title: string;
  mark: string;
  short: string;
  capitalised_name: string;
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
interface Said {
  changes: ShownChange;
  path_rate: ShownChange;
  beside_it: ShownChange;
  test_title: TestFacts;
  says: ShownTest;
  through: ThroughFacts;
  order: VerdictFacts;
  beat_level: EventFacts;
  explained: StepFacts;
  lead: StepFacts;
  brief: StepFacts;
  detail: StepFacts;
  why: StepFacts;
  warning: StepFacts;
  level_name: LevelFacts;
  beat_draft: DraftBeatFacts;
  beat_target: TargetBeatFacts;
  beat_ratio: RatioBeatFacts;
  beat_masses: MassesBeatFacts;
  beat_ask: AskBeatFacts;
  beat_own: OwnBeatFacts;
  beat_test: TestBeatFacts;
  beat_know: GrowthFacts;
  beat_propose: GrowthFacts;
  beat_expand: GrowthFacts;
  beat_rerank: GrowthFacts;
  tree_worth: TreeFacts;
  tree_cost: TreeFacts;
  tree_again: TreeFacts;
  tests_hint: HintFacts;
  lane_keeps: KeepsFacts;
  tests_keep: KeepsFacts;
  divergence_test: NeedleFacts;
  drift_so_far: DriftFacts;
  overruled_so_far: DriftFacts;
  ledger_masses: BranchFacts;
  ledger_shown: BranchFacts;
  counts: CountFacts;
  beat_counts: CountFacts;
  ledger_residual: ResidualFacts;
  ledger_drawn: ResidualFacts;
  ledger_elsewhere: ElsewhereFacts;
  left_out: LeftOutFacts;
  level_test: LevelTestFacts;
  level_life: LifeFacts;
  run_cost: CostFacts;
  step_cell: CellFacts;
  gained_so_far: RunFacts;
  steps_differing: RunFacts;
  equal: EqualFacts;
  source_chip: SourceFacts;
  pair_chip: PairFacts;
  pair_words: PairFacts;
  setup_line: SetupFacts;
  race_verdict: RaceVerdictFacts;
  race_rules: RaceRulesFacts;
  race_calls: RaceCallsFacts;
  race_basis: RaceBasisFacts;
  race_lane: RaceLaneFacts;
  calculator: CalculatorFacts;
  mask_hint: NoFacts;
  divergence_hint: NoFacts;
  costs_hint: NoFacts;
  no_details: NoFacts;
  ledger_end: NoFacts;
}
interface ShownChange {
  cause: Special | null;
  draft: number;
  after_piece: Special | null;
  strikes: boolean;
  weight: string;
  mass: string;
  p: string;
  q: string;
  rate: string | null;
  gone: string | null;
}
interface TestFacts {
  test: "token" | "draft" | "prefix";
  accepted: boolean;
  coinless: boolean;
  whose: string;
  always: boolean;
  never: boolean;
  place: number;
  piece: Special;
  draft: number;
  several: boolean;
  low: string;
  high: string;
  coin: string;
  threshold: string;
  form: string;
  p: string;
  q: string;
  nothing: boolean;
  form_words: string | null;
  changes: ChangeFacts[];
}
interface ChangeFacts {
  cause: Special | null;
  draft: number;
  after_piece: Special | null;
  strikes: boolean;
  weight: string;
  mass: string;
  p: string;
  q: string;
}
interface ShownTest {
  test: "token" | "draft" | "prefix";
  accepted: boolean;
  coinless: boolean;
  whose: string;
  always: boolean;
  never: boolean;
  place: number;
  piece: Special;
  draft: number;
  several: boolean;
  low: string;
  high: string;
  coin: string;
  threshold: string;
  form: string;
  p: string;
  q: string;
  nothing: boolean;
  form_words: string | null;
  changes: ChangeFacts[];
  kind: "forward" | "backward" | "root" | "leaves" | "drafts";
  forward: boolean;
}
interface ThroughFacts {
  listed: number;
  drafts_through: number;
  through_every: boolean;
  their_numbers: string;
}
interface VerdictFacts {
  listed: number;
  drafts_through: number;
  through_every: boolean;
  their_numbers: string;
  name: string;
  name_at_start: string;
  link: Filled;
  sign: string;
  value: string;
  exact: boolean;
  loses: string | null;
  lossless: boolean;
  opaque: boolean;
  unjudged: boolean;
  forward: boolean;
  kind: "forward" | "backward" | "root" | "leaves" | "drafts";
  coupled: boolean;
  resamples: boolean;
  kept: number;
  after: number;
  all: boolean;
  ended: boolean;
  unseen: number;
  made: number;
  tests: TestFacts[];
  first: TestFacts | null;
  end: TestFacts | null;
  back: number;
  tries: number;
  tried: number;
  failures: number;
  spared: string;
  overrules: number;
  mean: string | null;
  odds: string | null;
  certain: boolean;
  next: Special | null;
  bonus: boolean;
  weight: string | null;
  chance: string | null;
  replaced: Special | null;
  repeated: boolean;
  follows: string;
  times?: string | null;
  best?: string | null;
  capped?: boolean;
  peak?: number;
}
interface EventFacts {
  kind: "draft" | "verify";
  asked: number;
  kept: number;
  who_at_start: string;
  above_at_start: string;
  below: string | null;
  level_tokens: PieceFacts[];
  made: number;
  drafted: number;
  all: boolean;
  added: Special | null;
  replaced: Special | null;
  settled: number;
  missing: number;
  up: boolean;
}
interface PieceFacts {
  piece: Special;
}
interface StepFacts {
  step: number;
  steps: number;
  drafted: number;
  depth: number;
  kept: number;
  target_calls: number;
  extra: number;
  details: boolean;
  tree: boolean;
  leaves: number;
  listed: number;
  copies: boolean;
  levels: boolean;
  cold: boolean;
  head: boolean;
  candidates: number;
  own: VerdictFacts;
  other: VerdictFacts | null;
  drafted_tokens: DraftedFacts[];
  listed_drafts: DraftFacts[];
  events: EventFacts[];
  remarks: NoteFacts[];
  same?: boolean;
  alike?: boolean;
  difference?: "kept" | "path" | "next" | "";
  level?: boolean;
  against?: boolean;
  lower?: boolean;
  fewer?: boolean;
  by?: number;
  supposed?: boolean;
  moved?: string;
  original?: OriginalFacts | null;
}
interface DraftedFacts {
  piece: Special;
  q: string;
  p: string;
}
interface DraftFacts {
  number: number;
  words: string;
}
interface NoteFacts {
  note: string;
}
interface OriginalFacts {
  name: string;
  kept: number;
}
interface LevelFacts {
  levels: number;
  exits: boolean;
  level: number;
  top: boolean;
}
interface DraftBeatFacts {
  drafted: number;
  head: boolean;
  copies: boolean;
  number: number;
  piece: Special;
  q: string;
}
interface TargetBeatFacts {
  drafted: number;
  tree: boolean;
}
interface RatioBeatFacts {
  tree: boolean;
  below: string;
  single: boolean;
}
interface MassesBeatFacts {
  too_much: string | null;
}
interface AskBeatFacts {
  drafted: number;
  rule: string;
}
interface OwnBeatFacts {
  name_at_start: string;
  kept: number;
}
interface TestBeatFacts {
  test: "token" | "draft" | "prefix";
  accepted: boolean;
  coinless: boolean;
  whose: string;
  always: boolean;
  never: boolean;
  place: number;
  piece: Special;
  draft: number;
  several: boolean;
  low: string;
  high: string;
  coin: string;
  threshold: string;
  form: string;
  p: string;
  q: string;
  nothing: boolean;
  form_words: string | null;
  changes: ChangeFacts[];
  tree: boolean;
  each: boolean;
  effects: ChangeFacts[];
  name_at_start: string;
  kept: number;
  forward: boolean;
  last: boolean;
}
interface GrowthFacts {
  level: number;
  levels: number;
  made: number;
  parents: number;
  read: number;
  all: boolean;
  candidates: number;
  drafted: number;
  dropped: number;
  before: Special;
  fresh: number;
  taps: string;
  head: boolean;
  copies: boolean;
  chosen: boolean;
  mixed: boolean;
  proposed: GrownFacts[];
  others: number;
}
interface GrownFacts {
  piece: Special;
  start: boolean;
}
interface TreeFacts {
  level: number;
  levels: number;
  made: number;
  parents: number;
  read: number;
  all: boolean;
  candidates: number;
  drafted: number;
  dropped: number;
  before: Special;
  fresh: number;
  taps: string;
  head: boolean;
  copies: boolean;
  chosen: boolean;
  mixed: boolean;
  proposed: GrownFacts[];
  others: number;
  older: boolean;
  sum: string;
  reached: boolean;
  rows: number;
  lost: number;
  written: number;
  passes: number;
  drafting: string;
  reading: string | null;
}
interface HintFacts {
  shared: boolean;
  coinless?: string | null;
  sign?: string | null;
}
interface KeepsFacts {
  kept: number;
  next?: Special | null;
  origin?: string | null;
  first?: boolean;
  perhaps?: Special | null;
  free?: boolean;
}
interface NeedleFacts {
  reached: boolean;
  alone: boolean;
  tree: boolean;
  near: boolean;
  rejects: boolean;
  D: string;
  T: string;
  coin: string;
  limit: string;
}
interface DriftFacts {
  drift: string;
  bound: string;
  bounded: boolean;
  T: string;
  unit: string;
  divergence: string;
  raw: boolean;
  none: boolean;
  alone: boolean;
  kept: number;
  overruled: number;
  impossible: number;
}
interface BranchFacts {
  tree: boolean;
  c: string | null;
  struck: string;
  whole: boolean;
  shown: number;
  all: string;
  p: string;
  q: string;
  reached?: string | null;
  more?: string | null;
  less?: string | null;
}
interface CountFacts {
  scene: number;
  start: boolean;
  begin: Special | null;
  none: boolean;
  due: string;
  on: string;
  back: string;
  stay: string;
  leave: string;
  share: string;
  equation: string;
  often: PieceFacts[];
  rarely: PieceFacts[];
}
interface ResidualFacts {
  opaque: boolean;
  tree: boolean;
  forward: boolean;
  bonus: boolean;
  weight: number;
  naive: string | null;
  draw: string | null;
  drawn: Special;
  last?: number | null;
  words?: string | null;
  likeliest?: string | null;
  chance?: string | null;
}
interface ElsewhereFacts {
  supposed: boolean;
  ended: boolean;
  kept: number;
}
interface LeftOutFacts {
  hidden: number;
  drawn: string;
  all: string;
  tested: number;
  mass: string;
  after: Special | null;
  more: number;
  size: string;
  listed: string;
  p: string;
  q: string | null;
  fewer?: boolean;
  surest?: string;
  dropped?: string;
}
interface LevelTestFacts {
  untested: boolean;
  accepted: boolean | null;
  kept: boolean;
}
interface LifeFacts {
  who: string;
  origin: string;
  instead: Special | null;
  place: number;
  end: string;
}
interface CostFacts {
  work: string;
  passes: string;
  faster: boolean;
  head: string;
  dear: boolean;
}
interface CellFacts {
  step: number;
  gained: number;
  kept: number;
  drafted: number;
  several: boolean;
  other?: string | null;
  other_kept?: number | null;
}
interface RunFacts {
  tokens: number;
  calls: number;
  rate: string;
  differing: number;
  steps: number;
}
interface EqualFacts {
  cold: boolean;
  own: MeanFacts;
  other?: MeanFacts | null;
}
interface MeanFacts {
  name: string;
  mean: string | null;
}
interface SourceFacts {
  kind: string;
  live: boolean;
  over: boolean;
  day: string;
  finish?: string | null;
}
interface PairFacts {
  pair: string;
  target: ModelFacts;
  draft: ModelFacts | null;
  drafted: string | null;
  vocabulary: string;
  copies: boolean;
}
interface ModelFacts {
  name: string;
  size: string;
  all: string;
}
interface SetupFacts {
  system: string;
  title: string;
  draft: DraftOptions;
  sampling: SamplingOptions;
  fuzzy: FuzzyOptions;
  copies: boolean;
  models: number;
  thresholds: string;
  exits: string;
  layout: string;
  formula: string;
  settings: SettingFacts[];
  seed: number;
  pair: string;
  device: string;
  live: boolean;
  notes: NoteFacts[];
  target?: string | null;
  first?: string | null;
  finish?: string | null;
}
interface DraftOptions {
  proposer: string;
  gamma: number | "auto";
  drafts: number;
}
interface SamplingOptions {
  temperature: number;
  top_p: number;
  top_k: number;
}
interface FuzzyOptions {
  tolerance: number;
  mode: string;
  on: string;
}
interface SettingFacts {
  by_divergence: boolean;
  sign?: string | null;
  value?: number | null;
}
interface RaceVerdictFacts {
  alone?: boolean;
  winners?: number;
  slower?: boolean;
  lanes?: number;
  names?: string;
  speeds?: string;
  prompts?: number;
  runs?: number;
  slowest?: string;
  quickest?: string;
}
interface RaceRulesFacts {
  alike?: boolean;
  more?: string;
  low?: string;
  high?: string;
  level?: boolean;
  ratio?: string;
  slow?: string;
  fast?: string;
  seconds?: string;
}
interface RaceCallsFacts {
  alone?: boolean;
  saved?: boolean;
  lanes?: number;
  names?: string;
  fewer?: string;
  prompts?: number;
}
interface RaceBasisFacts {
  prompts: number;
  runs: number;
  tokens: string;
}
interface RaceLaneFacts {
  ms?: string;
  plain?: boolean;
  limit?: string;
  cost?: string;
  gain?: string;
  rate?: string;
  check?: string;
  below?: string;
  draft?: string;
  calls?: string;
  more?: boolean;
  share?: string;
}
interface CalculatorFacts {
  pays: boolean;
  costs: string;
  share: string | null;
  vanilla: BestFacts;
  usual: BestFacts;
  none: boolean;
  all: boolean;
  level: string;
  gamma?: number | null;
  ratio?: string | null;
  low?: string | null;
  high?: string | null;
}
interface BestFacts {
  speed: string;
  gamma: number;
}
interface NoFacts {}
