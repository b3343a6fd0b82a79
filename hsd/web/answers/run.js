// A run as it comes in: asked for, taken in step by step, ended when it is not wanted. What there is of it stays.
import { Refusal, stream } from "./answers.js";

const PENDING = { text: "", finish: "cancelled", seconds: 0 }; // the result of a run that goes on
const ENDED = ["done", "cancelled", "failed"];

/**
 * state: "waiting", "running" or one of ENDED; place: number in the queue while it waits, and seconds: how long that takes, or
 * null; words: what else it waits for; cost: what a check costs here, in words; problem: why it failed or was stopped, one
 * line; steps: those that have come; link: the parameters for making it again, null before its first message; telling: the
 * step to look at, null until it has ended without being stopped.
 */
class Run {
  /** options: named as in a link. heard(run, steps): there is news; steps: those that are new. */
  constructor(options, heard) {
    Object.assign(this, { options, heard, begun: Date.now(), stop: new AbortController() });
    Object.assign(this, { header: null, steps: [], result: PENDING, link: null, telling: null });
    Object.assign(this, { state: "waiting", place: 0, seconds: null, words: "", cost: "", problem: "" });
    this.follow();
  }

  get ended() {
    return ENDED.includes(this.state);
  }

  /** The run so far; null before its first message. */
  get trace() {
    return this.header && { ...this.header, steps: this.steps, result: this.result };
  }

  async follow() {
    const { signal } = this.stop;
    try {
      const messages = stream("run", this.options, { signal, status: (place) => this.take(place) });
      for await (const message of messages) this.take({ ...message, state: "running", place: 0 });
      this.take({ state: signal.aborted ? "cancelled" : "done" });
    } catch (refusal) {
      if (!(refusal instanceof Refusal)) throw refusal;
      this.take(signal.aborted ? { state: "cancelled" } : { state: "failed", problem: refusal.message });
    }
  }

  /** steps: those that are new; message: why the server ended it early. */
  take({ steps = [], message, ...news }) {
    Object.assign(this, message ? { ...news, problem: message } : news);
    this.steps.push(...steps);
    this.heard(this, steps);
  }

  /** End it after its current step. */
  cancel() {
    this.stop.abort();
  }

  /** End it, and hear no more of it. */
  leave() {
    this.heard = () => {};
    this.cancel();
  }
}

export { Run };
