// Speed: a race at a glance, where its time went, and a benchmark. For tests, window.__hsdSpeed mirrors what is shown.
import { ask } from "../answers/answers.js";
import { addressBar, asked } from "../kit/link.js";
import * as page from "../kit/page.js";
import { Benchmark } from "./benchmark.js";
import { Race } from "./race.js";

let screen = null;

async function start(root) {
  const query = asked("speed");
  const [recorded, benchmarks] = await Promise.all([ask("races"), ask("page")]);
  const benchmark = new Benchmark(benchmarks);
  const bar = addressBar("speed", () => race.link());
  const race = new Race(recorded, benchmarks, { bar, told: tell, planned: (plan) => benchmark.programs(plan) });
  root.replaceChildren(race.element, benchmark.element);
  screen = { race, benchmark, bar };
  race.open(query);
  page.listen((what) => what === "tab" && page.tab() !== "speed" && race.replay.pause());
  benchmark.open().then(() => {
    if (query.get("view") === "measure") benchmark.element.scrollIntoView(); // a link of an earlier version
    tell();
  });
}

function opened() {
  screen?.bar.remember();
}

function tell() {
  if (screen)
    window.__hsdSpeed = {
      ready: Boolean(screen.benchmark.view),
      ...screen.race.state(),
      benchmark: screen.benchmark.view,
    };
}

export { opened, start };
