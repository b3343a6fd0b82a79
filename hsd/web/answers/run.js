// A run as it arrives: requested, added to step by step, and stopped when it is not wanted. The
// steps that came stay.
import { inFrame } from "../kit/features.js";
import { Refusal, stream } from "./answers.js";

/** The result of a run that goes on. @type {Result} */
const PENDING = { text: "", finish: "cancelled", seconds: 0 };
const ENDED = ["done", "cancelled", "failed"];

/** One run: the steps that have come, and its state. */
class Run {
  state = "waiting"; // or "running", or one of ENDED
  place = 0; // in the queue while it waits
  seconds = /** @type {number | null} */ (null); // how long that takes, where it is known
  words = ""; // what else it waits for
  cost = ""; // what a check costs here, in words
  problem = ""; // why it failed or was stopped, one line
  steps = /** @type {Step[]} */ ([]); // those that have come
  result = PENDING;
  scores = /** @type {Scores | undefined} */ (undefined); // once they are known
  header = /** @type {Omit<Trace, "steps" | "result"> | null} */ (null);
  // the parameters for making it again, null before its first message
  link = /** @type {Values | null} */ (null);
  // the step to look at, once it has ended without being stopped
  telling = /** @type {number | null} */ (null);
  unheard = /** @type {Step[] | null} */ (null); // the news that `heard` has not had: new steps
  begun = Date.now();
  started = 0; // when its first steps came
  stop = new AbortController();

  /**
   * @param {Values} options - named as in a link
   * @param {(run: Run, steps: Step[]) => void} heard - there is news; steps: those that are new
   * @param {"run" | "request"} kind - decoded for this page, or followed on a watched server
   */
  constructor(options, heard, kind = "run") {
    this.kind = kind;
    this.options = options;
    this.heard = heard;
    this.follow();
  }

  get ended() {
    return ENDED.includes(this.state);
  }

  /** The run so far; null before its first message. @returns {Trace | null} */
  get trace() {
    const { header, steps, result, scores } = this;
    return header && { ...header, steps, result, ...(scores && { scores }) };
  }

  /**
   * Seconds until it has as many tokens as it may have, at the pace so far; 0 while that is not
   * known, and of a request, which began before it was followed.
   */
  get left() {
    const tokens = this.steps.reduce((sum, { committed }) => sum + committed.length, 0);
    const rest = (this.header?.setup.options.max_new_tokens ?? 0) / tokens - 1;
    const isTimed = this.started && this.kind === "run";
    return isTimed && rest > 0 ? (rest * (Date.now() - this.started)) / 1000 : 0;
  }

  async follow() {
    const { signal } = this.stop;
    try {
      const status = (/** @type {Values} */ place) => this.take(place);
      const messages = stream(this.kind, this.options, { signal, status });
      for await (const message of messages) {
        this.take({ ...message, state: "running", place: 0 });
      }
      this.take({ state: signal.aborted ? "cancelled" : "done" });
    } catch (refusal) {
      if (!(refusal instanceof Refusal)) throw refusal;
      if (signal.aborted) this.take({ state: "cancelled" });
      else this.take({ state: "failed", problem: refusal.message });
    }
  }

  /**
   * Take in news, of which `heard` is told once a frame, and at once at the end. steps: those that
   * are new; message: why the server ended it early.
   * @param {Values} news
   */
  take({ steps = [], message, ...news }) {
    Object.assign(this, message ? { ...news, problem: message } : news);
    this.started ||= steps.length ? Date.now() : 0;
    this.steps.push(...steps);
    const waiting = this.unheard !== null;
    this.unheard = [...(this.unheard ?? []), ...steps];
    if (this.ended) this.tell();
    else if (!waiting) inFrame(() => this.tell());
  }

  /** Tell the news, if there are any. */
  tell() {
    const steps = this.unheard;
    this.unheard = null;
    if (steps) this.heard(this, steps);
  }

  /** Stop the run after its current step. */
  cancel() {
    this.stop.abort();
  }

  /** Stop the run, without further calls of `heard`. */
  leave() {
    this.heard = () => {};
    this.cancel();
  }
}

export { Run };
