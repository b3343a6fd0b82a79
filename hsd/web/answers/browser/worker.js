// The worker: it holds the model and the run under way, and answers the requests of client.js, one
// after another.
import { compiled, isolated, processors } from "../../kit/features.js";
import { Refusal } from "../refusal.js";
import { sharing } from "./engine.js";
import { fetched, keeps, lacking, whole } from "./files.js";
import { makePair, playedRun } from "./pair.js";
import { fitted } from "./passes.js";
import { timedRun } from "./timed.js";

const UPDATE = 0.1; // seconds between messages: drawing one keeps a processor from decoding

/** @type {Pair} loaded before a run begins */
let pair;
/** @type {ReturnType<MakeRun> | null} */
let run = null;
let alone = /** @type {string[]} */ ([]); // why one thread computes: a line that is said once

/** @type {Record<string, (argument?: any, progress?: any) => any>} */
const DOES = {
  /**
   * Resolve to the files of these that are still to be loaded, with how many bytes of each, and to
   * whether they stay in this browser.
   */
  async missing({ files }) {
    const all = /** @type {PiecedFile[]} */ (files).map(async (file) => ({
      ...file,
      bytes: await lacking(file),
    }));
    const missing = (await Promise.all(all)).filter(({ bytes }) => bytes > 0);
    return { missing, keeps: await keeps() };
  },
  /**
   * Load the pair; resolves to how many threads it decodes with. about: what the page knows of the
   * pair; files: {engine, weights, head}; picked: a File to take the weights from, or null.
   */
  async load({ about, files, picked }, progress) {
    const { weights, head } = /** @type {Record<string, PiecedFile>} */ (files);
    const total = weights.bytes + head.bytes;
    const small = await whole(head, null, (bytes) => progress({ loaded: bytes, total }));
    const large = await whole(weights, picked, (bytes) =>
      progress({ loaded: head.bytes + bytes, total }),
    );
    const shared = sharing();
    const path = shared.memory ? files.threaded : files.engine;
    const engine = await fetched(path, "the engine");
    const module = await compiled(await engine.arrayBuffer());
    if (!module) throw new Refusal(NO_ENGINE);
    pair = await makePair(about, { module, shared, weights: large, head: small });
    await pair.target.engine.there;
    const { threads } = pair.target.engine;
    if (threads === 1 && processors() > 1 && !isolated()) alone = [ALONE];
    return threads;
  },
  /** Begin a run, of which times alone are kept where it is timed; returns its first message. */
  begin({ request, timed }) {
    DOES.end();
    const fit = fitted(request, () => pair.passes.draft());
    if (timed) {
      run = timedRun(pair, fit);
    } else {
      run = playedRun(pair, { ...fit, said: [...alone, ...(fit.said ?? [])] });
      alone = [];
    }
    return run.first;
  },
  /** Return the steps of so many seconds, and with the last of them the result. */
  next({ seconds = UPDATE }) {
    if (!run) throw new Refusal("the run was lost with its model: press Run again");
    const steps = [];
    for (const begin = performance.now(); performance.now() - begin < 1000 * seconds; ) {
      const step = run.decoding.step();
      if (!step) return { steps, ...run.last(), ...DOES.end() };
      steps.push(run.message(step));
    }
    return { steps };
  },
  /** End the run; returns its result so far. */
  end() {
    const ended = run && { result: run.decoding.result() };
    run?.decoding.close();
    run = null;
    return ended ?? {};
  },
};

const ALONE =
  "one thread decodes: the server of this page does not isolate it, so threads cannot share memory";
const NO_ENGINE =
  "this browser does not run the page's engine: open the page in a newer browser, or run the app";
const LITTLE =
  "this browser has too little memory for the model: close other tabs, or use another device";

self.onmessage = async ({ data: { id, name, argument } }) => {
  const progress = (/** @type {Values} */ news) => self.postMessage({ id, progress: news });
  try {
    self.postMessage({ id, value: await DOES[name](argument, progress) });
  } catch (error) {
    let refusal = `decoding failed in this browser (${error}): reload the page, or run the app`;
    if (error instanceof Refusal) refusal = error.message;
    else if (error instanceof RangeError) refusal = LITTLE;
    else console.error(error);
    self.postMessage({ id, refusal });
  }
};

// what is said before this line is not heard, as modules are awaited above
self.postMessage({ id: 0 });
