// What a screen asked the model for: put into the line, fetched piece by piece, ended when it is not wanted. The
// server's side, and what its replies hold, is hsd/ui/jobs.py.

const ENDED = ["done", "cancelled", "failed"];
const BEAT = 1000; // milliseconds; news come by themselves, this is for the place in the line and for lost news
const PENDING = { text: "", finish: "cancelled", seconds: 0 }; // the result of a run that goes on
const NO_ANSWER = "the server does not answer: check the connection, or reload the page";

/** What a function of the server answers; {error: one line} where it fails. */
async function ask(server, name, argument) {
  try {
    return (await server[name](argument)) || {};
  } catch {
    return { error: NO_ANSWER };
  }
}

/**
 * A job of the server: a run, a race, a batch.
 *
 * state: "asked" until the server has it, then "waiting", "running", "done", "cancelled" or "failed"; place: number
 * in the line while it waits; message: why it ended early; header, items, result: what there is of it; reply: the
 * server's last word, with what only one kind of job has (link, telling, progress).
 */
class Live {
  /** changed(live, fresh): there is news; fresh: the items that are new. queue(key): have Gradio's queue do it. */
  constructor(server, { changed, queue }) {
    Object.assign(this, { server, changed, queue, key: null, state: "asked", place: 0, message: "", reply: {} });
    Object.assign(this, { header: null, items: [], result: null, begun: Date.now(), busy: false, again: false });
  }

  get ended() {
    return ENDED.includes(this.state);
  }

  /** A run so far as a trace; null before its first piece. */
  get trace() {
    return this.header && { ...this.header, steps: this.items, result: this.result || PENDING };
  }

  /** Ask for it. What `asked` holds is up to the screen's own check on the server. */
  async begin(asked) {
    const reply = await ask(this.server, "begin_job", asked);
    if (this.ended) {
      if (reply.key) ask(this.server, "cancel_job", reply.key); // cancelled, or left, before there was a key
    } else if (!reply.key) this.fail(reply.error || NO_ANSWER);
    else {
      this.follow(reply.key);
      this.queue(reply.key);
    }
    return this;
  }

  /** Fetch the job of this key, which is in the line already. */
  follow(key) {
    Object.assign(this, { key, state: "waiting" });
    this.timer = setInterval(() => this.pull(), BEAT);
    this.pull();
    return this;
  }

  /** A message of the component about a job, {key, alert}: there is more to fetch, or it failed. */
  hear(message) {
    if (!this.key || message.key !== this.key) return;
    if (message.alert) this.fail(message.alert);
    else this.pull();
  }

  /** End it after its current item; what there is stays. */
  async cancel() {
    if (this.state === "asked") this.fail("cancelled before it started");
    if (this.ended) return;
    const reply = await ask(this.server, "cancel_job", this.key);
    if (reply.error) this.fail(reply.error);
    else this.pull();
  }

  /** Nobody looks at it any more; the server goes on. */
  forget() {
    this.changed = () => {};
    clearInterval(this.timer);
  }

  /** Nobody looks at it any more, and nobody wants it. */
  leave() {
    this.forget();
    this.cancel();
  }

  /** Fetch what is new; calls that come while one is under way are made up for afterwards. */
  async pull() {
    this.again = this.busy;
    if (this.busy || this.ended) return;
    this.busy = true;
    do {
      this.again = false;
      const reply = await ask(this.server, "read_job", { key: this.key, start: this.items.length });
      if (this.ended) break;
      if (reply.error) this.fail(reply.error);
      else this.take(reply);
    } while (this.again && !this.ended);
    this.busy = false;
  }

  take(reply) {
    const { header, items, result, state, place, message } = reply;
    Object.assign(this, { reply, state, place, message });
    this.header = header || this.header;
    this.result = result || this.result;
    this.items.push(...items);
    if (this.ended) clearInterval(this.timer);
    this.changed(this, items);
  }

  /** Nothing more will come; what there is stays. */
  fail(words) {
    clearInterval(this.timer);
    Object.assign(this, { state: "failed", message: words });
    this.changed(this, []);
  }
}

/** Where in the line a job is that waits. */
const inLine = ({ place, reply }) => `number ${place} in line, which takes about ${reply.wait} s`;

export { Live, ask, inLine, NO_ANSWER };
