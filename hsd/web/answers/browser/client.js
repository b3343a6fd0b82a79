// The page's side of the worker: it starts it, asks before a model is loaded, tells how far that is, and takes its runs in
// turn. A worker that is stopped or lost is started again by the next run.
import { Refusal } from "../refusal.js";
import { consent } from "./consent.js";
import { asked } from "./options.js";
import { plan, raced } from "./race.js";

const LOST = "the model was lost, as a browser may do with a page in the background: press Run again";
const DECLINED = "nothing was loaded: press Run to be asked again; recorded runs need no model";

let worker = null; // {thread, waiting, loaded}
let last = Promise.resolve(); // the end of the last run

function started() {
  const thread = new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
  const one = { thread, waiting: new Map(), loaded: false, count: 0 };
  thread.onmessage = ({ data: { id, value, refusal, progress } }) => {
    const { resolve, reject, told } = one.waiting.get(id) ?? {};
    if (progress) return told?.(progress);
    one.waiting.delete(id);
    return refusal ? reject?.(new Refusal(refusal)) : resolve?.(value);
  };
  thread.onerror = () => stop(LOST);
  one.there = new Promise((resolve, reject) => one.waiting.set(0, { resolve, reject })); // it says so by itself
  return one;
}

/** End the worker; every request that waits for it fails with this line. */
function stop(line) {
  const { thread, waiting } = worker ?? {};
  worker = null;
  thread?.terminate();
  for (const { reject } of waiting?.values() ?? []) reject(new Refusal(line));
}

function call(name, argument = {}, told = null) {
  worker ??= started();
  const { thread, waiting, there } = worker;
  const id = (worker.count += 1);
  return new Promise((resolve, reject) => {
    waiting.set(id, { resolve, reject, told });
    there.then(() => thread.postMessage({ id, name, argument }), reject); // before, it would not hear it
  });
}

/** The files of the pair, with their addresses. */
function filesOf({ engine, threaded, weights, head }) {
  const at = (piece) => ({ ...piece, url: piece.path && new URL(piece.path, document.baseURI).href });
  const all = ({ pieces, ...file }) => ({ ...file, pieces: pieces.map(at) });
  const [one, several] = [engine, threaded].map((path) => new URL(path, document.baseURI).href);
  return { engine: one, threaded: several, weights: all(weights), head: all(head) };
}

const megabytes = (bytes) => Math.round(bytes / 1e6);

/** Resolves when the model is loaded; asks the visitor first. */
async function ready(told, { signal, status }) {
  if (worker?.loaded) return;
  const files = filesOf(told.files);
  const missing = await call("missing", { files: [files.weights, files.head] });
  let picked = null;
  if (missing.length) {
    picked = await consent({ missing, weights: files.weights, title: told.title, licence: told.licence, signal });
    if (signal?.aborted) return;
    if (picked === null) throw new Refusal(DECLINED);
  }
  const say = ({ loaded, total }) => {
    const coming = `Loading the model: ${megabytes(loaded)} of ${megabytes(total)} MB …`;
    status({ place: 0, seconds: null, words: loaded < total ? coming : "Preparing the model …" });
  };
  const leave = () => stop("");
  signal?.addEventListener("abort", leave, { once: true });
  try {
    await call("load", { told: told.pair, files, picked: picked || null }, say);
    worker.loaded = true;
  } finally {
    signal?.removeEventListener("abort", leave);
  }
}

/** What `work` yields, when its turn has come and the model is there. */
async function* inTurn(browser, { signal, status }, work) {
  const before = last;
  let over = null;
  last = new Promise((done) => (over = done));
  try {
    await before;
    if (!signal?.aborted) await ready(browser, { signal, status });
    if (!signal?.aborted) yield* work();
  } finally {
    over();
  }
}

/** A race, or a run, as messages, as hsd/app has them. page: what the page is made with; given: what is asked for. */
function race(page, given, how) {
  const wanted = plan(given, page);
  return inTurn(page.browser, how, () => raced(wanted, page, { call, signal: how.signal }));
}

function decode(page, given, how) {
  const wanted = asked(given, { limits: page.limits, browser: page.browser });
  return inTurn(page.browser, how, () => run(wanted, how.signal));
}

async function* run(wanted, signal) {
  let message = await call("begin", { asked: wanted });
  try {
    yield { ...message, words: "" };
    while (!message.result && !signal?.aborted) yield (message = await call("next"));
    if (!message.result) yield (message = { steps: [], ...(await call("end")) });
  } finally {
    if (!message.result && worker) call("end").catch(() => {});
  }
}

export { decode, race };
