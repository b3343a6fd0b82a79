// The page's side of the worker: it starts it, asks before a model is loaded, tells how far that is, and takes its runs in
// turn. A worker that is stopped or lost is started again by the next run.
import { Refusal } from "../refusal.js";
import { consent, megabytes } from "./consent.js";
import { readRequest } from "./options.js";
import { plan, raced } from "./race.js";

const LOST = "the model was lost, as a browser may do with a page in the background: press Run again";
const DECLINED = "nothing was loaded: press Run to be asked again; recorded runs need no model";

let worker = /** @type {ReturnType<typeof started> | null} */ (null);
let last = Promise.resolve(); // the end of the last run

function started() {
  // its name is the address by which it finds the files
  const thread = new Worker(new URL("./worker.js", import.meta.url), { type: "module", name: document.baseURI });
  const waiting = /** @type {Map<number, WaitingCall>} */ (new Map());
  const there = new Promise((resolve, reject) => waiting.set(0, { resolve, reject })); // it says so by itself
  thread.onmessage = ({ data: { id, value, refusal, progress } }) => {
    const one = waiting.get(id);
    if (progress) return one?.heard?.(progress);
    waiting.delete(id);
    return refusal ? one?.reject(new Refusal(refusal)) : one?.resolve(value);
  };
  thread.onerror = () => stop(LOST);
  return { thread, waiting, there, threads: 0, count: 0 }; // threads that compute, once the model is loaded
}

/** End the worker; every request that waits for it fails with this line. @param {string} line */
function stop(line) {
  const { thread, waiting } = worker ?? {};
  worker = null;
  thread?.terminate();
  for (const { reject } of waiting?.values() ?? []) reject(new Refusal(line));
}

/** Ask the worker. heard: hears how far it is. @type {Call} */
function call(name, argument = {}, heard = undefined) {
  worker ??= started();
  const { thread, waiting, there } = worker;
  const id = (worker.count += 1);
  return new Promise((resolve, reject) => {
    waiting.set(id, { resolve, reject, heard });
    there.then(() => thread.postMessage({ id, name, argument }), reject); // before, it would not hear it
  });
}

/** Resolves when the model is loaded; asks the visitor first. @type {(browser: Values, ways: StreamOptions) => Promise<void>} */
async function ready({ files, title, licence, pair }, { signal, status }) {
  if (worker?.threads) return;
  const missing = await call("missing", { files: [files.weights, files.head] });
  let picked = null;
  if (missing.length) {
    picked = await consent({ missing, weights: files.weights, title, licence, signal });
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

/** The messages of a run or a race, as hsd/app has them, when its turn has come and the model is there. page: what it is made with. @type {(name: string, page: Values, given: Values, ways: StreamOptions) => AsyncGenerator<Values>} */
async function* stream(name, page, given, { signal, status }) {
  /** @type {[RacePlan, null] | [null, RunRequest]} what cannot be done is refused before anything is loaded */
  const [race, request] = name === "race" ? [plan(given, page), null] : [null, readRequest(given, page)];
  const before = last;
  const { promise, resolve: over } = /** @type {PromiseWithResolvers<void>} */ (Promise.withResolvers());
  last = promise;
  try {
    await before;
    if (!signal?.aborted) await ready(page.browser, { signal, status });
    if (signal?.aborted) return;
    yield* race ? raced(race, page, worker?.threads ?? 1, call, signal) : run(request, signal);
  } finally {
    over();
  }
}

/** @param {RunRequest} wanted @param {AbortSignal} [signal] @returns {AsyncGenerator<Values>} */
async function* run(wanted, signal) {
  let message = await call("begin", { request: wanted });
  try {
    yield { ...message, words: "" };
    while (!message.result && !signal?.aborted) yield (message = await call("next"));
    if (!message.result) yield (message = { steps: [], ...(await call("end")) });
  } finally {
    if (!message.result && worker) call("end").catch(() => {});
  }
}

export { stream };
