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
type LabSide = "p" | "q";
type LabProblem = { side: LabSide; t: number; message: string };
type LabModel = AuditModel & { settings: Settings };
type LabExact = ReturnType<typeof import("../rules/audit.js").enumerate>;
/**
 * All that is shown: the last state without a mistake, its numbers, and the exact law of every
 * rule.
 */
type LabView = { valid: LabState; model: LabModel; exact: LabExact };
/** Of the paper's draft there is nothing to enumerate. */
type LabDraftView = Pick<LabView, "valid" | "model">;
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
