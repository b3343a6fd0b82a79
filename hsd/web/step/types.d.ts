// Types of a read step, known in all modules. model.js makes them.

/** own: of a rule of one's own, how it was judged; nothing else is known of it. */
type RuleInfo = ReturnType<typeof import("../kit/facts.js").rule> & { own?: OwnRecord };
type TokenVerdict = "kept" | "rejected" | "over" | "unreached";
/** Two numbers that a test compares, as `comparison` of rules/tests.js has them. */
type Compared = { sides: (number | null)[]; coinless: boolean; sign: string };
/**
 * A test that was made. order: its number, from 1 on; it passes if the first of its sides is below
 * the second.
 */
type ReadTest = Decision & {
  order: number;
  sides: [number, number];
  coinless: boolean;
  sign: string;
};
/** A test that was made, or one that could have been: see rejudge.js. */
type PossibleTest = {
  node: number;
  threshold: number | null;
  grounds: GroundsRecord | (Numbers & { form: string }) | null;
};
/**
 * A threshold as a name, a product, or a quotient of names and their sums; see `origin` of
 * rejudge.js. letter: the name of a number in facts.letters; "" for the ratio p/q of the token.
 */
type ThresholdOrigin = {
  tree: Expression;
  value: number;
  numbers: Numbers;
  letter: (name: string) => string;
};
/**
 * The numbers of a test, by the names of its form; value: the threshold that they give; changed: in
 * a tree, which of them are no longer the step's first ones.
 */
type FormNumbers = {
  form: string;
  numbers: Numbers;
  value: number | null;
  changed: Record<string, boolean> | null;
};
/** What a rejection made of the target. earlier: the changes at its place that it builds on. */
type ReadChange = ChangeRecord & { earlier: ChangeRecord[] };
/** A verdict of a trace, or of a draft that was judged again, which has drawn nothing. */
type GivenVerdict = Omit<Verdict, "extra_draws">;
/**
 * A verdict with what can be asked of it. at: its tests by node, a list each and in order, for
 * drafts may share a token; last, path: the nodes that it keeps; verdict(id): what became of a
 * token.
 */
type Judged = Omit<GivenVerdict, "decisions"> & {
  info: RuleInfo;
  decisions: ReadTest[];
  at: Map<number, ReadTest[]>;
  last: number;
  path: Set<number>;
  verdict: (id: number) => TokenVerdict;
};
/** By node; only nodes of the step are looked up. */
type ByNode<V> = Omit<Map<number, V>, "get"> & { get: (id: number) => V };
/** The options of a run that a step is read by; a lesson's step has no run. */
type StepOptions = {
  draft: Pick<Draft, "drafts" | "tree"> & Partial<Draft>;
  fuzzy: Partial<Fuzzy>;
} & Partial<Pick<SetupOptions, "rule" | "typical" | "sampling" | "knobs" | "own">>;
/**
 * The token after the kept ones. outcome: its row of the residual; extra: tokens that were drawn
 * after it.
 */
type DrawnToken = Committed & { outcome: Outcome | null; extra: Committed[] };
/**
 * A step without its run, as `readAlone` gives it: its parts by node, both verdicts, and what was
 * drawn.
 */
type StepView = {
  step: Step;
  options: StepOptions;
  /** Whether it was recorded token by token. */
  detail: boolean;
  nodes: ByNode<TreeNode>;
  branches: Map<number, Branch>;
  /** The drafted tokens after a node; none: no entry. */
  children: Map<number, number[]>;
  depth: ByNode<number>;
  deepest: number;
  /** Several drafts. */
  isTrie: boolean;
  own: Judged;
  rule: string;
  shadow: Judged | null;
  sameRule: boolean;
  /** The path that the picture puts on top. */
  spine: number[];
  drawn: DrawnToken | null;
  /** The node whose branch decided: where the next token was drawn. */
  decided: number;
  /** The step as it was recorded, where this is what might have been: see `again`. */
  original?: StepView;
};
/** A step of a run, as `readStep` gives it. */
type View = Omit<StepView, "original"> & {
  trace: Trace;
  index: number;
  rootPiece: string;
  original?: View;
};
/** A run whose text is shown; one that is awaited has no options yet. */
type ShownText = {
  prompt: Pick<Prompt, "pieces"> & Partial<Prompt>;
  steps: Step[];
  setup?: Pick<Setup, "options">;
  scores?: Scores | null;
};
/** A sentence that tells a beat of a step. */
type BeatName = keyof Said & `beat_${string}`;
/** It with its facts, but for those that `telling` of phases.js adds. */
type BeatSentence = {
  [Name in BeatName]: [Name, Omit<Said[Name], "drafted" | "tree" | "head" | "copies">];
}[BeatName];
/** The settings of the fuzzy rule, and what it did in a step. */
type FuzzyStep = Pick<Fuzzy, "mode" | "on" | "divergence"> & {
  T: number;
  name: string;
  unit: string;
  /** The divergence at a drafted token; null if not recorded. */
  D: (id: number) => number | null;
  /** Whether it is at most T. */
  near: (id: number) => boolean;
  /** The threshold of the exact test. */
  exact: (node: Pick<TreeNode, "id" | "p" | "q">) => number;
  /** The kept tokens that the exact test would have rejected. */
  overruled: number[];
  /** Σ D over the kept tokens with D ≤ T, and its bound T × kept. */
  drift: number;
  bound: number;
};
/** What a visitor supposes: the run's rule, and coins by node. */
type Supposed = { rule: string | null; coins: Map<number, number> };

/**
 * A phase of a step; `phases.js` has the usual ones. drafts: of one in the place of "draft", at
 * which of its beats the i-th drafted token stands.
 */
type Move = [name: string, title: string, beats: number, drafts?: (i: number) => number];
/** from: its first beat. */
type Phase = {
  name: string;
  title: string;
  beats: number;
  from: number;
  drafts?: (i: number) => number;
};
/** A verdict, and the phase in which its tests are made. */
type RuleLane = { phase: "own" | "shadow"; judged: Judged };
/**
 * The phases of a step, the sum of their beats, and both verdicts in the order in which they are
 * drawn.
 */
type Plan = { phases: Phase[]; total: number; lanes: RuleLane[] };
/** The i-th beat of a phase. */
type Beat = { phase: Phase; i: number };

/** A box of the draft tree, alone at its row and column. */
type TreeBox = {
  key: string;
  kind: "root" | "draft" | "drawn" | "candidate" | "dropped";
  row: number;
  column: number;
  /** The key of the box that it follows. */
  from?: string;
  /** The node whose branch it selects. */
  branch: number;
  /** Of what was drafted: its node. */
  id?: number;
  piece: string;
  token?: number;
  p: number | null;
  q: number | null;
  /**
   * What became of it, see `VERDICTS`; words: by which of them it is called, where that is another
   * one.
   */
  verdict: string;
  words?: string;
  /** Which drafts end in its row, above the first token of it. */
  label?: string;
  /** Of a tree that was cut: see growth.js. */
  level?: number;
  joint?: number;
  read?: boolean;
};
/** How many tokens after a node are not drawn, and the probabilities of all of them. */
type TreeRest = { row: number; column: number; hidden: number; p: number; q: number | null };
/**
 * cut: how many candidates the re-ranking dropped, how many of them are drawn, and how many levels
 * there were.
 */
type TreeLayout = {
  view: View;
  selected: number;
  boxes: TreeBox[];
  /** The nodes that are drawn. */
  shown: Set<number>;
  /** Of each column the first row that is free. */
  free: Map<number, number>;
  rest: TreeRest | null;
  cut: { dropped: number; drawn: number; levels: number } | null;
};
/** What selects a branch, or in it a token that was not drafted. */
type TreeChoice = { kind: string; branch: number; key: string | null };

/**
 * What is selected in a step, and how far it has come. item: the key of a token that was not
 * drafted.
 */
type PlayerState = {
  node: number;
  item: string | null;
  pinned: boolean;
  mass: "relative" | "joint";
  beat: number;
};
/** What a link supposes. */
type Supposing = { rule?: string | null; coins?: Iterable<[number, number]> };
/** Where a player is: of a step, its phase, and of the run. */
type PlayerReport = Omit<PlayerState, "item"> & {
  step: number;
  phase: string | null;
  steps: number;
  live: boolean;
  playing: boolean;
  supposed: { rule: string | null; coins: [number, number][] };
};
/** See README.md. */
type PlayerOptions = {
  onSelect?: (report: PlayerReport) => void;
  link?: (() => string | null) | null;
  address?: () => string;
  hidden?: () => boolean;
  /** Decodes on with a token that a visitor chose, after a node of the step that is shown. */
  force?: (view: View, node: number, token: number) => void;
  /** first: whether only a first look is drawn; turn: show all, or less. */
  brief?: { first: () => boolean; turn: () => void };
  /** For a room: it waits for a key after each move. */
  present?: boolean;
  /** Opens a run whose drafts form a tree. */
  tree?: () => unknown;
};

// ---- what is drawn of it

/** What the board's buttons and drags do. open: a token was chosen, to see its branch. */
type BoardActions = {
  open: (choice: TreeChoice) => void;
  test: (judged: Judged, node: number) => void;
  judgeBy: (rule: string) => void;
  coin: (node: number, value: number) => void;
};
/**
 * What the parts of a step do: select marks a node and opens nothing; mass turns the masses of the
 * tree.
 */
type PartActions = BoardActions & { select: (node: number) => void; mass: () => void };
/**
 * A cell of a row of the board, for a drafted token; at: the beat at which it appears; rule: of a
 * lane.
 */
type BoardCell = { at: number; content: Child; rule?: string };
/** A column of the table of numbers; from: the numbers of which its own are made. */
type NumberColumn = [
  heading: string,
  meaning: string,
  value: (node: TreeNode, branch?: Branch) => Maybe,
  from?: string,
];
/** A part of a bar of a branch's masses. */
/**
 * A token of a branch: its q, what of it is due (c·p), and by how much q is more than that.
 */
type TokenGap = { piece: string; q: number; due: number; gap: number };
type MassKind = "overlap" | "excess" | "deficient" | "remainder";
/**
 * What a rule came to over the steps of a run. mean: kept over all coins, where the steps tell;
 * more: steps in which it keeps more than the other one.
 */
type RuleSums = {
  rule: string;
  drafted: number;
  kept: number;
  mean: number | null;
  more?: number;
  tokens: number;
  calls: number;
};
/**
 * names: of both rules; step: the one that is shown, of text `shown`; parted: the first after
 * different texts, or null.
 */
type TextsState = {
  names: string[];
  shown: number;
  step: number;
  parted: number | null;
  words: string;
};
/** A part of a filled sentence. */
type Filled = string | Special;

// ---- parts that only some runs have, see parts.js

/** The elements of a part, and how they are drawn. */
type PartCard = {
  /** The main drawing of a step: it stands above the transport, the board then below it. */
  drawing?: HTMLElement;
  /** What of the drawing is exported, where that is not all. */
  picture?: HTMLElement;
  /** A card under the board or the tree. */
  below?: HTMLElement;
  /** Draw a step, whole. */
  draw: (view: View, how: { plan: Plan; selected: number; first?: boolean }) => void;
  /**
   * How far the step has come: its beat, whether it is over, and where that is, see `at` of
   * phases.js.
   */
  beat?: (now: number, last: boolean, place: Beat) => void;
  /** A drafted token is selected. */
  select?: (node: number, state: PlayerState) => void;
};
type StepPart = {
  /** Whether a step has what this part draws. */
  shows: (view: View) => boolean;
  /** The phases of such a step, made from the usual ones. */
  moves?: (view: View, usual: Move[]) => Move[];
  /**
   * Of each phase of its own: the sentence of hsd/trace/sentences.yaml that tells its i-th beat,
   * and the facts put in; || parts headline and detail.
   */
  beats?: Record<string, (view: View, i: number) => BeatSentence>;
  /** Make its cards, once per player. */
  create: (actions: PartActions) => PartCard;
};

// ---- levels and exits

/** The number of an event of a step; null for the target's pass. */
type EventPlace = number | null;
/** Where a token was first drafted or drawn. */
type Birth = { level: number; origin: Origin; event: EventPlace };
type LaneTest = Pick<Tested, "p" | "q" | "coin" | "accepted"> & {
  threshold: number | null;
  level: number;
  event: EventPlace;
  kept: boolean;
};
/**
 * A token, followed from where it was born to where it ended. position: its place in the text, from
 * 0; instead: the piece that it replaced.
 */
type LaneToken = {
  id: number;
  piece: string;
  position: number;
  born: Birth;
  instead?: string;
  tests: LaneTest[];
  end: { kind: "text" | "dropped" | "cut"; event: EventPlace } | null;
};
/**
 * What an event, or the target's pass, appends to a lane; tested: what the level below had handed
 * up.
 */
type AddedTokens = Omit<Birth, "origin"> & {
  position: number;
  kept: number;
  tested: { piece: string }[];
  committed: Pick<Committed, "piece" | "origin">[];
};
/** A token in a lane. */
type LaneChip = { token: LaneToken; verdict: "kept" | "dropped" | null; fresh: boolean };
/**
 * The lane of a level at a moment: its tokens; asked, how many the level was asked for; settled,
 * how many it has; lent, how many it has just handed up and the level above has judged.
 */
type LevelLane = { chips: LaneChip[]; asked: number | null; settled: number; lent: number | null };
/** The lanes after an event, the smallest level first, and the level at which it happened. */
type LaneState = { level: number; lanes: LevelLane[] };
/** end: the length that the longest lane reaches. */
type Lanes = { tokens: LaneToken[]; states: LaneState[]; end: number };
/**
 * What a level did. handed: tokens that it handed up and the level above judged; kept: how many of
 * these were kept.
 */
type LevelTotals = Work & { handed: number; kept: number };
/** chosen: the token of a lane that is pressed. */
type LaneChoice = { chosen: number | undefined; onToken: (id: number) => void };
/** TextSpan of the text, the last one not included. */
type TextSpan = [from: number, to: number];
/** What was computed in one event, see `workOf` of exits.js. */
type GroupWork = { level: number; read: TextSpan[]; heads: TextSpan; after: number[] };
/** In layers on one token. */
type LayerCost = { parts: { level: number; layers: number; heads: number }[]; sum: number };

// ---- trees

/** A token that a level of the tree proposed. */
type GrownToken = {
  /** Its place among all of them, from 1 on. */
  id: number;
  /** The one that it follows; 0 for the last token of the text. */
  parent: number;
  /** From 1 on. */
  level: number;
  token: number;
  piece: string;
  /** What the draft gave it. */
  q: number;
  /** The draft's confidence: its probability of the whole path to it. */
  joint: number;
  /** Whether the draft read it, to find what may follow. */
  read: boolean;
  /** Of the drafted tree; null for one that the re-ranking dropped. */
  node: number | null;
};
/** "know", "propose" or "expand": what happens in a beat while a tree grows. */
type GrowthMoment = { kind: "know" | "propose" | "expand"; level: number };
/** A token of a tree in the target's pass. */
type MaskRow = {
  /** Of the node; 0 for the last token of the text. */
  id: number;
  piece: string;
  /** Its place in the text. */
  position: number;
  /** The nodes that it sees, itself last. */
  sees: number[];
  /** The draft's probability of its whole path; null for node 0, which was not drafted. */
  joint: number | null;
  /** The target's. */
  reach: number;
  /** Whether it stays in the cache. */
  kept: boolean;
};

// ---- the player

type Player = import("./player.js").Player;
/** read: the step as it was recorded; view: as it is judged here, see rejudge.js. */
type ShownStep = { read: View; view: View; plan: Plan };
/** Where to go. */
type Where = { step?: number; node?: number | null; supposed?: Supposing | null };
/** Sentences above and below a picture. */
type Around = { above: string[]; below: string[] };
/** What a saved file opens on; from: the address that it was saved at. */
type SavedView = Pick<PlayerReport, "step" | "node" | "supposed"> & { from: string };
/** coin: what if the coin of a node had been another? */
type TestActions = { select: (node: number) => void; coin?: (node: number, value: number) => void };
type TreeActions = { select: (choice: TreeChoice) => void; hover: (box: TreeBox | null) => void };
