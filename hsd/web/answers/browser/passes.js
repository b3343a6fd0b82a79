// What passes cost on this machine, in passes over one token. Both are timed in turn, as other work
// comes and goes; clocks of browsers are coarse, so that a time is that of several passes.
import { median } from "../../kit/statistics.js";
import { HeadText, TargetText } from "./engine.js";
import { LEAST } from "./stopping.js";

const TURNS = 9;
const FEWEST = 5; // turns that say something
const LONGEST = 400; // milliseconds of all turns
const TOGETHER = 2; // passes between two looks at the clock
const BEFORE = 8; // tokens of the text that is timed
const STEADY = 1.5; // how far the upper quarter may be above the lower one
const CHECKED = 3; // rows of the check that says what one row more costs
const STEP = 20; // a chance is a multiple of 1/20, as the form has it

/**
 * The median of the costs of some turns, between which quarters it lies, and how many there were;
 * null of too few, or where they are too far apart to say something.
 * @param {number[]} costs
 * @returns {PassCost | null}
 */
function costOf(costs) {
  if (costs.length < FEWEST || !costs.every(Number.isFinite)) return null;
  const sorted = costs.toSorted((a, b) => a - b);
  const [low, high] = [1, 3].map((part) => sorted[Math.round((part * (costs.length - 1)) / 4)]);
  return low > 0 && high <= STEADY * low
    ? { middle: median(costs), low, high, turns: costs.length }
    : null;
}

/** A cost and its quarters, as a reader sees them. @param {PassCost} cost @param {number} digits */
function words({ middle, low, high, turns }, digits) {
  const [least, most] = [low, high].map((x) => x.toFixed(digits));
  return `${middle.toFixed(digits)} passes (${least} to ${most} in ${turns} tries)`;
}

/**
 * Return a run for this machine. Where the visitor left it to the page how sure a draft of γ auto
 * must be, it is as sure as a token more in a draft costs here, and this is said.
 * @type {(request: RunRequest, cost: () => PassCost | null) => RunRequest}
 */
function fitted(request, cost) {
  const found = request.free ? cost() : null;
  if (!found || found.middle <= LEAST) return request;
  const confidence = Math.min(Math.ceil(found.middle * STEP) / STEP, 1);
  const pays =
    confidence < 1
      ? `so γ auto drafts what is kept with a chance of ${confidence.toFixed(2)} or more`
      : "which it cannot save: γ auto drafts one token at most";
  const said = `here a token more in a draft costs ${words(found, 2)}, ${pays}`;
  return { ...request, options: { ...request.options, confidence }, said: [said] };
}

/** The passes of a pair. A cost that was found stays. */
class Passes {
  checks = /** @type {Map<number, PassCost | null>} */ (new Map());
  further = /** @type {PassCost | null} */ (null);

  /**
   * @param {Model} target
   * @param {Head} head
   */
  constructor(target, head) {
    this.target = target;
    this.head = head;
  }

  /** What a check of so many rows costs; null where that is not steady. @param {number} rows */
  check(rows) {
    const known = this.checks.get(rows);
    if (known) return known;
    const cost = this.measured(({ target }) => {
      const one = target(1);
      return target(rows) / one;
    });
    this.checks.set(rows, cost);
    return cost;
  }

  /** What one token more in a draft costs: a pass of the head and a row of the check. */
  draft() {
    this.further ??= this.measured(({ target, head }) => {
      const one = target(1);
      const row = (target(CHECKED) - one) / (CHECKED - 1);
      return (row + head()) / one;
    });
    return this.further;
  }

  /**
   * Return the cost that `turn` gives by functions that time passes of the target, over so many rows,
   * and of the head. The first turn warms up.
   * @param {(time: {target: (rows: number) => number, head: () => number}) => number} turn
   */
  measured(turn) {
    const text = new TargetText(this.target);
    const drafts = new HeadText(this.head, text);
    const tokens = Array.from({ length: BEFORE }, (_, i) => i);
    /** @type {(read: TargetText, ids: number[]) => number} */
    const timed = (read, ids) => {
      const { length } = read;
      const begin = performance.now();
      for (let i = 0; i < TOGETHER; i += 1) {
        read.read(ids, ids.length, () => null);
        read.crop(length);
      }
      return performance.now() - begin;
    };
    try {
      text.read(tokens, 0, () => null);
      drafts.read(tokens, 0, () => null);
      const time = {
        target: (/** @type {number} */ rows) => timed(text, Array(rows).fill(1)),
        head: () => timed(drafts, [1]),
      };
      turn(time);
      const costs = [];
      for (const begin = performance.now(); costs.length < TURNS; ) {
        if (performance.now() - begin > LONGEST) break;
        costs.push(turn(time));
      }
      return costOf(costs);
    } finally {
      drafts.close();
      text.close();
    }
  }
}

export { costOf, fitted, Passes, words };
