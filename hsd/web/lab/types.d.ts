// Types of the Lab, known in all modules.

type LabKind = "same" | "own" | "step";
/** What a visitor has set: rows of texts as they are typed, "1/3", and the settings of the rules that have some. */
type LabState = {
  kind: LabKind;
  vocab: number;
  gamma: number;
  p: string[][];
  q: string[][];
  draft: number[];
  coins: number[];
  rule: string;
  seed: number;
  settings: Settings;
};
type LabShape = Pick<LabState, "kind" | "vocab" | "gamma">;
/** A preset; it says nothing of the rule, the seed and the settings. */
type LabPreset = Omit<LabState, "rule" | "seed" | "settings"> & { title: string };
type LabProblem = { side: "p" | "q"; t: number; message: string };
/** All that is shown: the last state without a mistake, its numbers, and the exact law of every rule. */
type LabModel = AuditModel & { settings: Settings };
type LabView = { valid: LabState; model: LabModel; exact: ReturnType<typeof import("../rules/audit.js").enumerate> };
type LabActions = {
  rule: (name: string) => void;
  settings: (change: Partial<Settings>) => void;
  token: (place: number, token: number) => void;
  reshape: (shape: Partial<LabShape>) => void;
};
