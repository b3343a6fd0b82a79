// The second run of the free mode: asked for from the first one's own setup, run on the server, fetched piece by piece.
import { fullName } from "../player/model.js";

const ENDED = ["done", "cancelled", "failed"];
const PENDING = { text: "", finish: "cancelled", seconds: 0 };
const NO_ANSWER = "the server does not answer: check the connection, or reload the page";

/** The values of the run that is asked for, named as in a link: the same in everything but the rule. */
function values(trace, rule, link) {
  const { setup, prompt } = trace;
  const own = link && link.target ? { target: link.target, draft: link.draft } : { pair: setup.pair };
  const { system, gamma, drafts = 1, tree = "paths", temperature, top_p, top_k, seed, max_new_tokens } = setup;
  return {
    ...own,
    prompt: prompt.text,
    system,
    rule,
    shadow: fullName(setup.rule, setup),
    gamma,
    drafts,
    tree,
    temperature,
    top_p,
    top_k,
    seed: (link && link.seed) || String(seed),
    length: max_new_tokens,
  };
}

class SecondRun {
  /**
   * server: begin, read_run, cancel. queue(): start the run `key` on the server. changed(steps, fresh): there is more,
   * and whether it is the first of it.
   */
  constructor(server, queue, changed) {
    Object.assign(this, {
      server,
      queue,
      changed,
      key: null,
      trace: null,
      state: "new",
      message: "",
      place: 0,
      busy: false,
      again: false,
    });
  }

  get ended() {
    return ENDED.includes(this.state);
  }

  async begin(asked) {
    this.state = "asked";
    const reply = await this.ask("begin_run", asked);
    if (this.state !== "asked") {
      // cancelled meanwhile
      if (reply && reply.key) this.ask("cancel_run", reply.key);
      return;
    }
    if (!reply.key) return this.fail(reply.error);
    this.key = reply.key;
    this.state = "waiting";
    this.timer = setInterval(() => this.pull(), 1000);
    this.queue();
    this.pull();
  }

  async ask(name, argument) {
    try {
      return await this.server[name](argument);
    } catch {
      return { error: NO_ANSWER };
    }
  }

  fail(words) {
    this.stop();
    this.state = "failed";
    this.message = words || NO_ANSWER;
    this.changed([], false);
  }

  stop() {
    clearInterval(this.timer);
  }

  /** Leave it: nothing more is shown of it, and the server ends it. */
  leave() {
    this.changed = () => {};
    this.cancel();
    this.stop();
  }

  cancel() {
    if (this.state === "asked") this.fail("cancelled before it started");
    else if (this.key && !this.ended) this.ask("cancel_run", this.key);
    this.pull();
  }

  /** Fetch what is new; calls that come while one is under way are made up for afterwards. */
  async pull() {
    this.again = this.busy;
    if (this.busy || !this.key || this.ended) return;
    this.busy = true;
    do {
      this.again = false;
      const reply = await this.ask("read_run", { key: this.key, start: this.trace ? this.trace.steps.length : 0 });
      if (reply.error) {
        this.fail(reply.error);
        break;
      }
      this.take(reply);
    } while (this.again && !this.ended);
    this.busy = false;
  }

  take({ header, steps, result, state, place, message }) {
    const fresh = Boolean(header) && !this.trace;
    Object.assign(this, { state, place, message });
    if (fresh) this.trace = { ...header, steps: [], result: PENDING };
    if (!this.trace) steps = [];
    else this.trace.steps.push(...steps);
    if (this.trace && result) this.trace = { ...this.trace, result };
    if (this.ended) this.stop();
    this.changed(steps, fresh);
  }
}

export { SecondRun, values as secondValues };
