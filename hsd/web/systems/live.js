// A run on the server that a panel asked for: put into the line, fetched piece by piece, ended when it is not wanted.
const ENDED = ["done", "cancelled", "failed"];
const BEAT = 4000; // milliseconds; news come by themselves, this is for the place in the line and for lost news

/**
 * state: "waiting", "running", "done", "cancelled" or "failed"; place: number in the line while it waits; message:
 * why it ended early; header, steps, result: what there is of the trace; link: the parameters that ask for it again.
 * changed(live) is called when there is news.
 */
class Live {
  constructor(screen, asked, changed) {
    Object.assign(this, { screen, changed, key: null, header: null, steps: [], result: null, message: "" });
    Object.assign(this, { state: "waiting", place: 0, busy: false, again: false });
    this.begin(asked);
  }

  get ended() {
    return ENDED.includes(this.state);
  }

  /** The trace so far, or null before its first piece. */
  get trace() {
    const pending = { text: "", finish: "cancelled", seconds: 0 };
    return this.header && { ...this.header, steps: this.steps, result: this.result || pending };
  }

  async begin(asked) {
    const reply = await this.screen.ask("begin_run", asked);
    if (reply.error) return this.fail(reply.error);
    this.key = reply.key;
    if (this.gone) return this.cancel();
    this.timer = setInterval(() => this.pull(), BEAT);
    this.screen.follow(this.key);
    return this.pull();
  }

  /** End it after its current step; what was decoded stays. */
  cancel() {
    if (this.key) this.screen.ask("cancel_run", this.key).then(() => this.pull());
  }

  /** Nobody looks at it any more. */
  leave() {
    this.gone = true;
    clearInterval(this.timer);
    this.changed = () => {};
    if (!this.ended) this.cancel();
  }

  /** Fetch what is new; calls that come while one is under way are made up for afterwards. */
  async pull() {
    this.again = this.busy;
    if (this.busy || this.ended) return;
    this.busy = true;
    do {
      this.again = false;
      const reply = await this.screen.ask("read_run", { key: this.key, start: this.steps.length });
      if (reply.error) this.fail(reply.error);
      else this.take(reply);
    } while (this.again && !this.ended);
    this.busy = false;
  }

  take({ header, steps, result, state, place, message, link }) {
    Object.assign(this, { state, place, message: message || "", link: link || this.link });
    this.header = header || this.header;
    this.result = result || this.result;
    this.steps.push(...steps);
    if (this.ended) clearInterval(this.timer);
    this.changed(this);
  }

  /** Nothing more will come; what there is stays. */
  fail(words) {
    clearInterval(this.timer);
    Object.assign(this, { state: "failed", message: words });
    this.changed(this);
  }
}

export { Live };
