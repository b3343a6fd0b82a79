// The page's side of the worker: it starts the worker, asks before a model is loaded, shows the
// progress, and takes runs in turn. A worker that is stopped or lost is started again by the next
// run.
import { startWorker } from "../../kit/features.js";
import { Refusal } from "../refusal.js";
import { consent, megabytes } from "./consent.js";
import { readRequest } from "./options.js";
import { plan, raced } from "./race.js";

const LOST =
  "the model was lost, as a browser may do with a page in the background: press Run again";
const NO_WORKER =
  "this browser starts no model here: open the page in a tab of its own, or in a newer browser";
const AHEAD = 2; // messages that are asked for: the worker makes one while the page draws another
const DECLINED = "nothing was loaded: press Run to be asked again; recorded runs need no model";

/**
 * @typedef {object} WaitingCall
 * @property {(value: any) => void} resolve
 * @property {(error: Error) => void} reject
 * @property {(progress: Values) => void} [heard]
 */

/** @type {ReturnType<typeof started> | null} */
let worker = null;
let last = Promise.resolve(); // the end of the last run

function started() {
  // its name is the address by which it finds the files
  const thread = startWorker(new URL("./worker.js", import.meta.url), {
    type: "module",
    name: document.baseURI,
  });
  if (!thread) throw new Refusal(NO_WORKER);
  /** @type {Map<number, WaitingCall>} */
  const waiting = new Map();
  // once it runs, it answers a request that nobody made
  const there = new Promise((resolve, reject) => waiting.set(0, { resolve, reject }));
  thread.onmessage = ({ data: { id, value, refusal, progress } }) => {
    thread.onerror = () => stop(LOST);
    const request = waiting.get(id);
    if (progress) {
      request?.heard?.(progress);
      return;
    }
    waiting.delete(id);
    if (refusal) request?.reject(new Refusal(refusal));
    else request?.resolve(value);
  };
  thread.onerror = () => stop(NO_WORKER); // before its first message
  // threads: those that compute, once the model is loaded
  return { thread, waiting, there, threads: 0, count: 0 };
}

/** End the worker; every request that waits for it fails with this line. @param {string} line */
function stop(line) {
  const { thread, waiting } = worker ?? {};
  worker = null;
  thread?.terminate();
  for (const { reject } of waiting?.values() ?? []) reject(new Refusal(line));
}

/** Send the worker a request. heard(progress): called while it works. @type {Call} */
function call(name, argument = {}, heard) {
  worker ??= started();
  const { thread, waiting, there } = worker;
  worker.count += 1;
  const id = worker.count;
  return new Promise((resolve, reject) => {
    waiting.set(id, { resolve, reject, heard });
    // a message before would be lost
    there.then(() => thread.postMessage({ id, name, argument }), reject);
  });
}

/**
 * Resolve when the model is loaded; the visitor is asked first.
 * @type {(browser: Values, ways: StreamOptions) => Promise<void>}
 */
async function ready({ files, title, licence, pair }, { signal, status }) {
  if (worker?.threads) return;
  const { missing, keeps } = await call("missing", { files: [files.weights, files.head] });
  let picked = null;
  if (missing.length) {
    const { weights } = files;
    picked = await consent({ missing, keeps, weights, title, licence, signal });
    if (signal?.aborted) return;
    if (picked === null) throw new Refusal(DECLINED);
  }
  const begun = performance.now();
  const say = (/** @type {Values} */ { loaded, total }) => {
    const left = ((performance.now() - begun) * (total / loaded - 1)) / 1000; // seconds
    const words = loaded > total / 50 && left > 2 ? `, about ${Math.ceil(left)} s left` : " …";
    const coming = `Loading the model: ${megabytes(loaded)} of ${megabytes(total)}${words}`;
    status({ place: 0, seconds: null, words: loaded < total ? coming : "Preparing the model …" });
  };
  const leave = () => stop("");
  signal?.addEventListener("abort", leave, { once: true });
  try {
    const threads = await call("load", { about: pair, files, picked: picked || null }, say);
    if (worker) worker.threads = threads;
  } finally {
    signal?.removeEventListener("abort", leave);
  }
}

/**
 * The messages of a run or a race, as hsd/app has them, when its turn has come and the model is
 * there.
 * @param {string} name
 * @param {Values} page - what the page is made with
 * @param {Values} given - the options of the run
 * @param {StreamOptions} ways
 * @returns {AsyncGenerator<Values>}
 */
async function* stream(name, page, given, { signal, status }) {
  // what cannot be done is refused before anything is loaded
  const race = name === "race" ? plan(given, page) : null;
  const request = race ? null : readRequest(given, page);
  const before = last;
  let over = () => {};
  last = new Promise((resolve) => {
    over = resolve;
  });
  try {
    await before;
    if (!signal?.aborted) await ready(page.browser, { signal, status });
    if (signal?.aborted) return;
    if (race) yield* raced(race, page, worker?.threads ?? 1, call, signal);
    else if (request) yield* run(request, signal);
  } finally {
    over();
  }
}

/**
 * The messages of a run, up to the one with its result.
 * @param {RunRequest} request
 * @param {AbortSignal} [signal]
 * @returns {AsyncGenerator<Values>}
 */
async function* run(request, signal) {
  let message = await call("begin", { request });
  const coming = /** @type {Promise<Values>[]} */ ([]);
  try {
    yield { ...message, words: "" };
    while (!message.result) {
      while (coming.length < AHEAD && !signal?.aborted) coming.push(asked("next"));
      message = (await coming.shift()) ?? { steps: [], ...(await call("end")) };
      yield message;
    }
  } finally {
    if (!message.result && worker) asked("end");
  }
}

/** Send a request whose answer may be left unheard. @param {string} name */
function asked(name) {
  const answer = call(name);
  answer.catch(() => {});
  return answer;
}

export { stream };
