// A worker beside the page's own: passes and rows of the pair that the page decodes with. See browser.py.
import { sharing, TargetText } from "./engine.js";
import { whole } from "./files.js";
import { makePair } from "./pair.js";

const CHUNK = 8; // tokens of a pass where a text is read for its rows
const copied = (row) => row.slice();
const median = (times) => times.sort((a, b) => a - b)[times.length >> 1];
const range = (begin, count) => Array.from({ length: count }, (_, i) => begin + i);

/** Median milliseconds by number of tokens, after `before` others; widths in turn. */
function passes(target, { widths, before, repetitions }) {
  const [text, ids] = [new TargetText(target), range(1000, before + Math.max(...widths))];
  text.read(ids.slice(0, before), 1, copied);
  const times = widths.map(() => []);
  for (let i = 0; i <= repetitions; i += 1) {
    widths.forEach((width, at) => {
      const begin = performance.now();
      text.read(ids.slice(before, before + width), width, copied);
      if (i) times[at].push(performance.now() - begin);
      text.crop(before);
    });
  }
  text.close();
  return Object.fromEntries(widths.map((width, at) => [width, median(times[at])]));
}

/** The likeliest token after each, and a sha256 of the sha256 of all rows. */
async function rows(target, ids) {
  const [text, likeliest, sums] = [new TargetText(target), [], []];
  for (let begin = 0; begin < ids.length; begin += CHUNK) {
    const part = ids.slice(begin, begin + CHUNK);
    for (const row of text.read(part, part.length, copied)) {
      likeliest.push(row.reduce((best, x, i) => (x > row[best] ? i : best), 0));
      sums.push(new Uint8Array(await crypto.subtle.digest("SHA-256", row)));
    }
  }
  const whole = await new Blob(sums).arrayBuffer();
  const hashed = new Uint8Array(await crypto.subtle.digest("SHA-256", whole));
  return { likeliest, bits: [...hashed].map((byte) => byte.toString(16).padStart(2, "0")).join("") };
}

self.onmessage = async ({ data: { told, files, job } }) => {
  const [head, weights] = await Promise.all([files.head, files.weights].map((file) => whole(file, null, () => {})));
  const shared = sharing();
  const engine = await fetch(new URL(shared.memory ? files.threaded : files.engine, self.name));
  const module = await WebAssembly.compile(await engine.arrayBuffer());
  const { target } = await makePair(told, { module, shared, weights, head });
  await target.engine.there;
  self.postMessage({ passes: passes(target, job), ...(job.rows ? await rows(target, job.rows) : {}) });
};
self.postMessage(null); // what is said before this is not heard, as modules are awaited above
