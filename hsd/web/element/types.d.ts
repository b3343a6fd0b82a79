// Types of a step in a frame of another page, known in all modules.

/**
 * A run in a frame, and how to show it. problem: why there is none; step: from 1, null for the
 * first at which the rules differ; board, controls, lanes: as in an address of the page; theme:
 * "light", "dark", "" for the system's.
 */
type FrameRun = {
  trace: unknown;
  problem: string;
  step: number | null;
  theme: string;
  board?: string | null;
  controls?: string | null;
  lanes?: string | null;
};
