// Speed: a race at a glance, where its time went, and a benchmark. For tests, window.__hsdSpeed mirrors what is shown.
import { ask } from "../answers/answers.js";
import { asked } from "../kit/link.js";
import * as page from "../kit/page.js";
import { Benchmark } from "./benchmark.js";
import { Race } from "./race.js";

let bar = /** @type {Race["bar"] | null} */ (null);

async function start(/** @type {HTMLElement} */ root) {
  const query = asked("speed");
  const [recorded, about] = await Promise.all([ask("races"), ask("page")]);
  const benchmark = new Benchmark(about);
  const race = new Race(recorded, about, (plan) => benchmark.offer(plan.programs));
  bar = race.bar;
  root.replaceChildren(race.element, benchmark.element);
  race.open(query);
  page.listen((what) => what === "tab" && page.tab() !== "speed" && race.replay.pause());
  const state = () => ({ ready: Boolean(benchmark.view), ...race.mirror(), benchmark: benchmark.view });
  Object.defineProperty(window, "__hsdSpeed", { get: state, configurable: true });
  await benchmark.open(); // so that nothing moves when it comes
  if (query.get("view") === "measure") benchmark.element.scrollIntoView(); // a link of an earlier version
}

function opened() {
  bar?.remember();
}

export { opened, start };
