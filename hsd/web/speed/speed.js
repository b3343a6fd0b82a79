// Speed: a race at a glance, where its time went, whether to switch it on, and a benchmark. For
// tests, window.__hsdSpeed mirrors what is shown.
import { ask } from "../answers/answers.js";
import { asked } from "../kit/link.js";
import * as page from "../kit/page.js";
import * as speeds from "../kit/speeds.js";
import { Benchmark } from "./benchmark.js";
import { Calculator } from "./calculator.js";
import { Race } from "./race.js";
import { passesIn, sharesOf, speedsIn } from "./recorded.js";

let bar = /** @type {Race["bar"] | null} */ (null);

async function start(/** @type {HTMLElement} */ root) {
  const query = asked("speed");
  const [recorded, lengths, about] = await Promise.all([ask("races"), ask("lengths"), ask("page")]);
  const place = document.documentElement.dataset.answers === "browser" ? "browser" : "here";
  const calculator = new Calculator(lengths, sharesOf(recorded.races), place);
  const benchmark = new Benchmark(about);
  const race = new Race(recorded, about, (own) => {
    const { pair } = own.header;
    const measured = speedsIn(own);
    calculator.take(pair, passesIn(own));
    if (measured) speeds.take(pair, measured);
  });
  bar = race.bar;
  root.replaceChildren(race.element, calculator.element, benchmark.element);
  race.open(query);
  page.listen((what) => what === "tab" && page.tab() !== "speed" && race.replay.pause());
  const get = () => ({
    ...race.mirror(),
    ready: Boolean(benchmark.view),
    benchmark: benchmark.view,
    calculator: calculator.shown,
  });
  Object.defineProperty(window, "__hsdSpeed", { get, configurable: true });
  await benchmark.choose(); // so that nothing moves when it comes
}

function opened() {
  bar?.remember();
}

export { opened, start };
