// Types of the Lab, known in all modules.

type LabKind = "same" | "own" | "step";
/**
 * What a visitor has set: rows of texts as they are typed, "1/3", and the settings of the rules
 * that have some.
 */
type LabState = {
  kind: LabKind;
  vocab: number;
  gamma: number;
  p: string[][];
  q: string[][];
  draft: number[];
  coins: number[];
  rule: string;
  settings: Settings;
};
type LabShape = Pick<LabState, "kind" | "vocab" | "gamma">;
/** A preset; it says nothing of the rule and the settings. */
type LabPreset = Omit<LabState, "rule" | "settings"> & { title: string };
type LabSide = "p" | "q";
type LabProblem = { side: LabSide; t: number; message: string };
type LabModel = AuditModel & { settings: Settings };
type LabAudits = Record<string, Audit>;
type LabExact = ReturnType<typeof import("../rules/audit.js").enumerate>;
/**
 * All that is shown: the last state without a mistake, its numbers, and the exact law of every
 * rule.
 */
type LabView = { valid: LabState; model: LabModel; exact: LabExact };
/** What the card of the inputs shows; presetName: of the preset that the state is. */
type LabInputsView = {
  state: LabState;
  problems: LabProblem[];
  message: string;
  presetName: string | null;
};
/** Of the paper's draft there is nothing to enumerate. */
type LabDraftView = Pick<LabView, "valid" | "model">;
/**
 * Something in the card of the inputs that follows the state; bad: the rows that are wrong, by side
 * and position.
 */
type LabCell = { update: (state: LabState, bad: Set<string>) => void };
/** The place of a probability on a bar, as a CSS length. */
type LabScale = (x: number) => string;
type LabNote = { title: string; text: string };
/**
 * The laws of the first tokens as the bars show them: how many tokens, and the laws of target and
 * rule.
 */
type LabBars = { shown: number; target: number[]; output: number[] };
type LabActions = {
  preset: (name: string) => void;
  reshape: (shape: Partial<LabShape>) => void;
  cell: (side: LabSide, t: number, i: number, text: string) => void;
  /** before: the row when the drag began, null at its first move; it is returned. */
  drag: (side: LabSide, t: number, i: number, value: number, before: number[] | null) => number[];
  normalise: () => void;
  rule: (name: string) => void;
  settings: (change: Partial<Settings>) => void;
  token: (t: number, token: number) => void;
  coin: (t: number, value: number) => void;
  throwCoins: () => void;
  drawDraft: () => void;
};
type LabPlace = { side: LabSide; t: number; i: number };
