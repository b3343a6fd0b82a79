// What page_speed.py puts into a page before its own scripts: it hears what the page's worker says, shows runs as a
// visitor would, and has others timed as a race has them.
const OWN = 1e6; // requests from here on are not the page's
window.speed = { worker: null, waiting: new Map(), count: OWN, shown: null };
window.Worker = class extends Worker {
  constructor(script, options) {
    super(script, options);
    if (!String(script).endsWith("/worker.js")) return;
    window.speed.worker = this;
    this.addEventListener("message", ({ data }) => heard(data));
  }
};

function heard({ id, value, refusal }) {
  const { waiting, shown } = window.speed;
  if (refusal) waiting.get(id)?.reject(refusal);
  else waiting.get(id)?.resolve(value);
  if (id > OWN || !shown || !value) return;
  if (value.header) shown.steps = [];
  shown.steps?.push(...(value.steps ?? []));
  if (value.result) shown.ended({ steps: shown.steps, cost: value.cost ?? "" });
}

/** Ask the worker as the page does. */
const asked = (name, argument) =>
  new Promise((resolve, reject) => {
    const { speed } = window;
    speed.count += 1;
    speed.waiting.set(speed.count, { resolve, reject });
    speed.worker.postMessage({ id: speed.count, name, argument });
  });

/** Show a run in the page: its tokens after the first step, their seconds, and milliseconds by part of a step. */
window.show = async ({ folder, given }) => {
  const { follow } = await import(new URL(`${folder}kit/page.js`, document.baseURI));
  const run = new Promise((ended) => {
    window.speed.shown = { steps: null, ended };
  });
  follow(`?${new URLSearchParams(given)}`);
  const { steps: [, ...steps], cost } = await run;
  window.speed.shown = null;
  while (document.querySelector("#hsd-run").disabled) await new Promise(requestAnimationFrame);
  const end = ({ start, times }) => start + Object.values(times).reduce((sum, x) => sum + x, 0);
  const seconds = end(steps[steps.length - 1]) - steps[0].start;
  const parts = Object.keys(steps[0].times).map((name) => [name, sumOf(steps, ({ times }) => times[name])]);
  const known = sumOf(parts, ([, part]) => part);
  const each = [...parts, ["between", seconds - known]].map(([name, part]) => [name, (1000 * part) / steps.length]);
  const tokens = sumOf(steps, ({ committed }) => committed.length);
  return { tokens, seconds, parts: Object.fromEntries(each), cost, text: textOf(steps) };
};

/** Time a run of the same options as a race does. */
window.race = async ({ folder, page, given }) => {
  const { readRequest } = await import(new URL(`${folder}answers/browser/options.js`, document.baseURI));
  await asked("begin", { request: readRequest(given, page), timed: true });
  const steps = [];
  for (;;) {
    const { steps: next, result, record } = await asked("next", { seconds: 0.5 });
    steps.push(...next);
    if (!result) continue;
    const [first, ...rest] = steps;
    const each = Object.entries(record.time).map(([name, part]) => [name, (1000 * part) / record.steps]);
    return {
      tokens: sumOf(rest, ({ tokens }) => tokens.length),
      seconds: rest[rest.length - 1].end - first.end,
      parts: Object.fromEntries(each),
      text: rest.flatMap(({ tokens }) => tokens).join(),
    };
  }
};

/** Show a run with everything open: milliseconds between frames. */
window.frames = async (argument) => {
  for (const fold of document.querySelectorAll("#hsd-player details, .hsd-player details")) fold.open = true;
  const times = [];
  let over = false;
  const look = (time) => {
    times.push(time);
    if (!over) requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
  const { tokens } = await window.show(argument);
  over = true;
  return { tokens, frames: times.slice(1).map((time, i) => time - times[i]) };
};

const sumOf = (list, of) => list.reduce((sum, x) => sum + of(x), 0);
const textOf = (steps) => steps.flatMap(({ committed }) => committed.map(({ token }) => token)).join();
