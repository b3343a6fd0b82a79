// A race on the server: asked for through Gradio's queue, fetched piece by piece.
const ENDED = ["done", "cancelled", "failed"];
const NO_ANSWER = "the server does not answer: check the connection, or reload the page";
const BEAT = 4000; // milliseconds; news come by themselves, this is for the place in the line and for lost news

class Live {
  /** changed(events): there is news. failed(words). */
  constructor(server, key, changed, failed) {
    Object.assign(this, {
      server,
      key,
      changed,
      failed,
      header: null,
      events: [],
      report: null,
      state: "waiting",
      place: 0,
      message: "",
      busy: false,
      again: false,
    });
    this.timer = setInterval(() => this.pull(), BEAT);
    this.pull();
  }

  get ended() {
    return ENDED.includes(this.state);
  }

  async ask(name, argument) {
    try {
      return await this.server[name](argument);
    } catch {
      return { error: NO_ANSWER };
    }
  }

  leave() {
    clearInterval(this.timer);
    this.changed = () => {};
    this.failed = () => {};
  }

  cancel() {
    this.ask("cancel", this.key).then((reply) => (reply.error ? this.failed(reply.error) : this.pull()));
  }

  /** Fetch what is new; calls that come while one is under way are made up for afterwards. */
  async pull() {
    this.again = this.busy;
    if (this.busy || this.ended) return;
    this.busy = true;
    do {
      this.again = false;
      const reply = await this.ask("read_race", { key: this.key, start: this.events.length });
      if (reply.error) this.fail(reply.error);
      else this.take(reply);
    } while (this.again && !this.ended);
    this.busy = false;
  }

  take({ header, events, report, state, place, message }) {
    Object.assign(this, { header: header || this.header, report: report || this.report, state, place, message });
    this.events.push(...events);
    if (this.ended) clearInterval(this.timer);
    this.changed(events);
  }

  /** Nothing more will come; what there is stays. */
  fail(words) {
    clearInterval(this.timer);
    Object.assign(this, { state: "failed", message: words });
    this.changed([]);
  }
}

export { Live, NO_ANSWER };
