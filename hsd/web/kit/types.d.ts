// Types of the kit, known in all modules.

/** A node, its text, nothing, or a list of them. */
type Child = Node | string | number | boolean | null | undefined | readonly Child[];
type Handlers = {
  [K in keyof GlobalEventHandlersEventMap as `on${K}`]?:
    | ((event: GlobalEventHandlersEventMap[K]) => unknown)
    | false
    | null;
};
/** Listeners, by "on" and their event, and attributes. */
type Attributes = Handlers & { [name: string]: unknown };
/** The element's name in "div.hp-card". */
type NameOf<T extends string> = T extends `${infer N}.${string}` ? N : T;
type Html<N extends string> = N extends keyof HTMLElementTagNameMap
  ? HTMLElementTagNameMap[N]
  : HTMLElement;
type Svg<N extends string> = N extends keyof SVGElementTagNameMap
  ? SVGElementTagNameMap[N]
  : SVGElement;

/** Where a token of the text came from. */
type Origin = "draft" | "correction" | "bonus";
type Special = {
  term?: string;
  words?: string;
  piece?: string;
  origin?: Origin | null;
  cells?: number;
  strong?: string;
};
/** A part of a sentence, see `prose`. */
type Part = string | number | Node | null | undefined | false | Special;

/** A token as a trace has it: of its bytes only those that make no character. */
type Token = { piece?: string; bytes?: string | null };
/** What a token adds to its text; bytes: it makes no character. */
type Span = { text: string; bytes: boolean };

/** A number where it is known. */
type Maybe = number | null | undefined;

/** The parameters of an address, by name. */
type AddressValues = Record<string, string | number | boolean | null | undefined>;
type AddressOptions = {
  /** The trace that travels in the link. */
  packed?: () => string | null | undefined;
  /** A key of what is shown: another one begins a place to come back to. */
  shown?: () => unknown;
  /** Whether the address says another thing, and stays. */
  stays?: () => boolean;
};

/** By how many places a key moves; at Home and End, to which. */
type Moves = Record<string, number>;

type Value = string | number | boolean;
/** A value, and its words in a menu. */
type Choice = [Value, string];
/** menu: its choices come by `offer`. */
type Property = OptionSchema & { menu?: boolean };
/**
 * isGroup: it is more than one element that a label could stand for; isEmpty: there is nothing to
 * set.
 */
type Control = {
  parts: Node[];
  get: () => Value | (string | number)[];
  set: (value: unknown) => void;
  offer?: (choices: any) => void;
  isGroup?: boolean;
  isEmpty?: () => boolean;
};
/** Attributes that name a control. */
type Names = { id: string; "aria-labelledby": string; "aria-describedby": string | null };
type Field = Control & {
  element: HTMLElement;
  when: Record<string, unknown[]>;
  group?: string;
  off: boolean;
};
type FormOptions = {
  /** The groups of options to show, in this order; one with a title is folded. */
  groups?: { name: string; title?: string }[];
  /** The options to show, instead of groups. */
  only?: string[];
  /** Of ids. */
  prefix?: string;
  changed?: (name: string, value: ReturnType<Control["get"]>) => void;
  /** What makes the control of an option, where that is not `kind`. */
  control?: (schema: Property) => (schema: Property, names: Names, hear: () => void) => Control;
};

/**
 * How fast a pair was in races; rule: null of plain decoding; times: its speed. Those of recorded
 * races: see `speeds` in hsd/app/race.py. cores and load: of those alone.
 */
type RaceSpeeds = {
  temperature: number;
  prompts: number;
  processor: string;
  cores?: number;
  load?: number;
  lanes: {
    rule: string | null;
    gamma: number | "auto" | null;
    tokens_per_second: number;
    times: number;
  }[];
};

type PageScreen = { start: (root: HTMLElement) => unknown; opened?: () => void };

interface Window {
  /** What is on screen, for tests. */
  [mirror: `__hsd${string}`]: unknown;
}
