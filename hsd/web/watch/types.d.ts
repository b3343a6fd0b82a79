// Types of Watch, known in all modules.

/** A prompt to start from. */
type Starter = { label: string; prompt: string; prompt_as?: string };
/**
 * A pair that the page offers; gamma: its usual draft length; chats: whether it answers questions.
 */
/** A large pair that this app may fetch. */
type Offer = Named & { bytes: number };
/** A button's words, and what it begins. */
type Fetchable = { label: string; begin: () => unknown };
/** What shows models on their way: say shows words on them and buttons of those to fetch. */
type Arrivals = {
  say: (words: string, coming: boolean, fetchable: Fetchable[]) => void;
  here: (pairs: Named[]) => void;
};
type OfferedPair = Named & { gamma: number | null; chats: boolean };
/** What the page is made with, see hsd/app/site.py; about, from: of a page that is one run. */
type PageContents = {
  pairs: OfferedPair[];
  first: string;
  tree?: string;
  opened: boolean;
  own: boolean;
  starters: Record<string, Starter[]>;
  limits: Record<string, number>;
  credits: string[];
  bytes: number;
  speeds?: Record<string, RaceSpeeds>;
  about?: string;
  from?: string;
};

/** What a visitor supposes of a step: another rule, other coins by drafted token. */
type Supposition = { rule: string | null; coins: [node: number, coin: number][] };
/** Where a link leads. */
type Place = { step?: number; node?: number; supposed?: Supposition };
/** What to show first of a source; fresh: it is what was asked for, so what is set stays. */
type Opening = Place & { live?: boolean; fresh?: boolean };
type WatchPlayer = ReturnType<typeof import("../step/player.js").create>;

/** How fast a recorded run was beside plain decoding, see assets/results/presets.json. */
type Timing = {
  tokens_per_second: number;
  times: number;
  rounds: number;
  processor: string;
  load: number;
};
/** The answer to a preset, and to a trace that is opened. */
type ShownTrace = {
  trace: Trace;
  step?: number;
  title?: string;
  why?: string;
  timed?: Timing | null;
};
/** A request of a watched server, as a list has it. */
type ListedRequest = Named & { finished: boolean };
/**
 * What is shown. options: that made it, named as in a link; link: the parameters of its link;
 * packed: its trace for a link; file: the name of its file; run: it is live; set: what was set when
 * it began; wished: asked for by a link, and still to be run.
 */
type Source = {
  kind: "preset" | "run" | "request" | "file";
  trace: Trace;
  title: string;
  reason: string;
  options: Values;
  key?: string;
  link?: Values;
  packed?: string | null;
  file?: string | null;
  run?: import("../answers/run.js").Run;
  set?: Values;
  timed?: Timing | null;
  wished?: Values | null;
};

/**
 * What a pair says of its levels: its models, smallest first; the target's layers, 0 where not
 * known; HiSpec's usual exits and thresholds.
 */
type PairLevels = { models: string[]; layers: number; exits: number[]; thresholds: number[] };
/** What makes the control of an option, see kit/form.js. */
type MakeControl = (schema: Property, names: Names, hear: () => void) => Control;
/** An entry of an option that is a list; usual: its value at first. */
type ListEntry = {
  title: string;
  usual: string | number;
  maximum?: number;
  oneOf?: OptionSchema["oneOf"];
};

interface Window {
  /** The player, for slides that move it. */
  hsdRun?: WatchPlayer;
}
/**
 * options(): those of the run that is shown, named as in a link; player: shows it; changed(): a
 * link says another thing.
 */
type BesideActions = { options: () => Values; player: WatchPlayer; changed: () => void };
/**
 * What a visitor wants of the strip and the form. judge(rule): judge what is shown by this rule,
 * and return whether that was possible; judging(): the rule it is judged by, null for the run's
 * own.
 */
type SetupActions = {
  run: () => void;
  cancel: () => void;
  preset: (name: string) => void;
  request: (name: string) => void;
  pair: (name: string) => void;
  judge: (rule: string) => boolean;
  judging: () => string | null | undefined;
};
/** What reads links of earlier versions; few visitors come by one. */
