"""The page's side of decoding in the browser: what it asks of the worker and when, what it says of
passes, and how often it draws.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from engine import Engine
from loops import for_each

from hsd.app import browser
from hsd.space import load

# A worker that answers when it is told to. `answer` has the answers of the requests by name.
WORKER = """
  const posted = [];
  const answer = { missing: { missing: [], keeps: true }, load: 2, begin: { header: {} } };
  globalThis.Worker = class {
    constructor() { globalThis.worker = this; setTimeout(() => this.say(0, null)); }
    say(id, value) { this.onmessage({ data: { id, value } }); }
    postMessage({ id, name }) {
      posted.push([id, name]);
      if (name in answer) setTimeout(() => this.say(id, answer[name]));
    }
    terminate() {}
  };
  const nexts = () => posted.filter(([, name]) => name === "next").map(([id]) => id);
  const begun = Date.now();
  const asked = async (count) => {
    while (nexts().length < count) {
      if (Date.now() - begun > 60_000) throw new Error(`asked ${nexts().length} times`);
      await new Promise((over) => setTimeout(over, 1));
    }
    return nexts();
  };
"""


@pytest.fixture
def node() -> Iterator[Engine]:
    names = ("client", "passes", "pair", "options")
    files = {name: f"answers/browser/{name}.js" for name in names}
    engine = Engine({**files, "run": "answers/run.js"})
    yield engine
    engine.stop()


def page() -> dict[str, Any]:
    told = browser.about(load(), "", weights=False)
    return {"limits": {"prompt_characters": 4000}, "browser": told}


def test_the_worker_has_the_next_request_before_the_page_has_drawn_the_last_answer(node: Engine):
    call = f"""async (page) => {{ {WORKER}
      const stream = client.stream("run", page, {{ prompt: "a" }}, {{ status() {{}} }});
      await stream.next();
      const first = stream.next();
      const [one, two] = await asked(2);
      worker.say(one, {{ steps: [1] }});
      await first; // and it is being drawn
      const second = stream.next();
      await asked(3);
      worker.say(two, {{ steps: [2], result: {{}} }});
      const last = await second;
      const over = await stream.next();
      return [last.value.steps, over.done, posted.some(([, name]) => name === "end")];
    }}"""
    assert node.call(call, page()) == [[2], True, False]


def test_a_run_that_is_stopped_has_all_the_steps_of_its_text(node: Engine):
    call = f"""async (page) => {{ {WORKER}
      const stop = new AbortController();
      const ways = {{ status() {{}}, signal: stop.signal }};
      const seen = [];
      const read = (async () => {{
        for await (const {{ steps = [], result }} of
          client.stream("run", page, {{ prompt: "a" }}, ways)) seen.push([steps, result ?? null]);
      }})();
      const both = await asked(2);
      stop.abort();
      answer.end = {{ result: {{ text: "abc" }} }};
      both.forEach((id, i) => worker.say(id, {{ steps: [i] }}));
      await read;
      return [seen.slice(1), nexts().length - both.length];
    }}"""
    seen, further = node.call(call, page())
    assert seen == [[[0], None], [[1], None], [[], {"text": "abc"}]]
    assert further == 0


def test_news_of_a_run_are_drawn_once_a_frame_and_its_end_at_once(node: Engine):
    call = """() => {
      const frames = [];
      globalThis.requestAnimationFrame = (act) => frames.push(act);
      const drawn = [];
      const it = Object.assign(Object.create(run.Run.prototype), {
        steps: [], state: "running", unheard: null,
        heard: (run, steps) => drawn.push(steps),
      });
      for (const step of [1, 2, 3]) it.take({ steps: [step] });
      const before = drawn.length;
      frames.shift()();
      it.take({ steps: [4] });
      it.take({ steps: [5], state: "done" });
      const asked = frames.length;
      frames.shift()(); // after the end there is nothing to draw
      return [before, drawn, asked];
    }"""
    assert node.call(call) == [0, [[1, 2, 3], [4, 5]], 1]


def test_costs_are_said_with_their_quarters_or_not_at_all(node: Engine):
    call = """(costs) => {
      const cost = passes.costOf(costs);
      return cost && [cost.middle, cost.low, cost.high, cost.turns, passes.words(cost, 1)];
    }"""
    steady = [3.1, 3.0, 9.0, 3.2, 3.3, 2.9, 3.4, 3.1, 3.0]
    found = node.call(call, steady)
    assert found == [3.1, 3.0, 3.3, 9, "3.1 passes (3.0 to 3.3 in 9 tries)"]
    assert node.call(call, steady[:4]) is None, "too few"
    assert node.call(call, [3.6, 10.4, 4.0, 8.0, 5.0]) is None, "too far apart"
    assert node.call(call, [-1, 1, 1, 1, 1]) is not None
    assert node.call(call, [-1, -1, 1, 1, 1]) is None, "noise"
    assert node.call(call, [1, 1, 1, 1, 1, None]) is None, "a clock that stood still"


FIT = """(given, page, middle) => {
  const cost = () => middle && { middle, low: middle, high: middle, turns: 9 };
  const { options: all, said = [] } = passes.fitted(options.readRequest(given, page), cost);
  return [all.confidence, said.join()];
}"""


@for_each(
    "case",
    [
        (0.1, 0.25, ""),  # less than the usual chance: nothing changes
        (None, 0.25, ""),  # not steady enough to say something
        (0.41, 0.45, "so γ auto drafts what is kept with a chance of 0.45 or more"),
        (1.3, 1, "which it cannot save: γ auto drafts one token at most"),
    ],
)
def test_auto_drafts_what_pays_on_this_machine_and_says_so(
    node: Engine, case: tuple[float | None, float, str]
):
    middle, confidence, words = case
    found = node.call(FIT, {"prompt": "a", "gamma": "auto"}, page(), middle)
    assert found[0] == confidence
    assert words in found[1]
    assert bool(words) == ("here a token more in a draft costs" in found[1])


@for_each("given", [{"gamma": 2}, {"gamma": "auto", "confidence": 0.3}, {"system": "plain"}])
def test_what_the_visitor_has_set_is_never_changed(node: Engine, given: dict[str, Any]):
    wanted = given.get("confidence", 0)
    assert node.call(FIT, {"prompt": "a", **given}, page(), 0.9) == [wanted, ""]
