"""The door by which screens get data: answers, streams, refusals, and a server that goes away."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from engine import Engine
from running_app import PATIENT, Server, free_port
from web_page import Browser, Guest

import hsd

APP = Path(__file__).parents[1] / "running_app.py"
RUN = {
    "pair": "tiny",
    "prompt": "Once upon a time",
    "max_new_tokens": 24,
    "temperature": 0.8,
    "seed": 5,
    "gamma": 3,
}
LONG = {**RUN, "max_new_tokens": 256, "gamma": 1, "seed": PATIENT}  # at least 128 steps
OPEN = """async () => {
  const page = document.querySelector("script[type=module]").src;
  window.door = await import(new URL("answers/answers.js", page));
  window.told = async (name, argument) => {
    try {
      return { answer: await door.ask(name, argument) };
    } catch (error) {
      return { refused: error instanceof door.Refusal, line: error.message };
    }
  };
  window.run = async (options, { most = Infinity, abort = Infinity } = {}) => {
    const stop = new AbortController();
    const seen = { messages: [], places: [], line: null };
    try {
      const told = { signal: stop.signal, status: (place) => seen.places.push(place) };
      for await (const message of door.stream("run", options, told)) {
        window.arrived = seen.messages.push(message);
        if (seen.messages.length === abort) stop.abort();
        if (seen.messages.length === most) break;
      }
    } catch (error) {
      if (!(error instanceof door.Refusal)) throw error;
      seen.line = error.message;
    }
    return seen;
  };
}"""


@pytest.fixture
def page(visitors):
    """A page with the door in `door`, and `told` and `run`, which catch refusals."""
    page = visitors().open(options=False).page
    page.evaluate(OPEN)
    return page


def steps(seen: dict) -> list[dict]:
    return [step for message in seen["messages"] for step in message.get("steps", [])]


@pytest.mark.core
def test_a_run_comes_as_messages_each_of_them_once(page):
    seen = page.evaluate("run", RUN)
    first, *_, last = seen["messages"]
    assert first["header"]["trace_version"] == 2
    assert first["link"]["pair"] == "tiny"
    assert {"key", "telling", "finish"} <= set(last)
    keywords = {name: value for name, value in RUN.items() if name not in ("pair", "prompt")}
    wanted = hsd.run(hsd.load_pair("tiny"), RUN["prompt"], **keywords)
    assert [c["token"] for step in steps(seen) for c in step["committed"]] == wanted.tokens
    assert seen["line"] is None


@pytest.mark.recorded
def test_what_cannot_be_answered_is_refused_in_one_line(page):
    for name, argument, words in (
        ("preset", {"name": "none"}, "unknown preset 'none': choose"),
        ("check", {"text": "{"}, "not JSON"),
        ("check", {"text": "{}"}, "not a trace"),
    ):
        told = page.evaluate("([name, argument]) => told(name, argument)", [name, argument])
        assert told["refused"], told
        assert words in told["line"]
        assert "\n" not in told["line"]


@pytest.mark.recorded
def test_a_recorded_answer_is_the_same_wherever_the_page_lies(page):
    told = page.evaluate("told('preset', { name: 'story' })")["answer"]
    assert hsd.Trace.from_json(json.dumps(told["trace"])).text
    assert page.evaluate("door.why('preset')") == ""


def test_options_that_are_refused_end_the_stream_with_their_line(page):
    for wrong, words in (
        ({"gamma": 99}, "99: choose a whole number"),
        ({"prompt": " "}, "the prompt is empty"),
    ):
        seen = page.evaluate("run", {**RUN, **wrong})
        assert words in seen["line"]
        assert seen["messages"] == []


@pytest.mark.core
@pytest.mark.parametrize("ending", ["abort", "most"])
def test_a_run_that_is_left_ends_on_the_server_too(page, ending: str):
    seen = page.evaluate("([options, ending]) => run(options, { [ending]: 3 })", [LONG, ending])
    assert len(seen["messages"]) == 3
    assert seen["line"] is None
    page.evaluate(
        "(options) => { window.next = null; run(options).then((seen) => (window.next = seen)); }",
        RUN,
    )
    page.wait_for_function("window.next")  # the long run would have lasted longer than this waits
    assert page.evaluate("window.next")["messages"][-1]["finish"]


def test_a_run_that_is_ended_leaves_others_of_the_page_alone(page):
    both = "([long, short]) => Promise.all([run(long, { abort: 3 }), run(short)])"
    first, second = page.evaluate(both, [LONG, RUN])
    assert first["line"] is second["line"] is None
    assert second["messages"][-1]["finish"]
    assert [place for place in second["places"] if place["place"] > 0], "it was told that it waits"


def test_a_page_of_files_says_what_takes_a_model(chromium: Browser, served):
    guest = Guest(chromium, served.url, bypass_csp=True)
    guest.page.goto(served.url)
    guest.page.evaluate(OPEN)
    assert guest.page.evaluate("door.why('run')") == ""
    assert guest.page.evaluate("run", RUN)["line"].startswith(
        "this page has the pair smollm2 alone: for tiny run the app"
    )
    assert "has no model" in guest.page.evaluate(
        "import(new URL('answers/files.js', document.querySelector("
        "'script[type=module]').src)).then((files) => files.why('run'))"
    )
    guest.close()


def test_a_run_that_the_server_stopped_says_why_and_keeps_its_steps():
    engine = Engine({"run": "answers/run.js"})
    take = """(message) => {
      const it = Object.create(run.Run.prototype);
      Object.assign(it, { steps: [], unheard: null, heard() {} });
      it.take(message);
      return it;
    }"""
    why = "stopped after 120 s, the longest time here: ask for less"
    run = engine.call(take, {"steps": [1, 2], "message": why, "finish": "cancelled"})
    engine.stop()
    assert run.pop("started") > 0
    assert run.pop("unheard") is None
    assert run == {"steps": [1, 2], "problem": why, "finish": "cancelled"}


@pytest.mark.core
def test_a_run_works_under_the_pages_own_policy_and_asks_nobody_else(
    chromium: Browser, app: Server
):
    guest = Guest(chromium, app.url, serious=("error",))
    guest.page.goto(app.url + "?preset=story")
    guest.page.locator(".hp-guess >> visible=true").first.wait_for()
    guest.page.fill("#hsd-prompt textarea", "Once upon a time")
    guest.page.click("#hsd-run")
    guest.page.get_by_text("● live", exact=True).wait_for()
    assert guest.problems == []
    guest.close()


@pytest.mark.long
def test_a_server_that_goes_away_is_told_and_the_steps_so_far_stay(
    chromium: Browser, nothing_fetched: None
):
    port = free_port()
    server = Server([sys.executable, str(APP), str(port)], port)
    guest = Guest(chromium, server.url, serious=(), bypass_csp=True)
    try:
        guest.page.goto(server.url + "?preset=story")
        guest.page.evaluate(OPEN)
        guest.page.evaluate(
            "(options) => { window.going = run(options).then((seen) => (window.seen = seen)); }",
            LONG,
        )
        guest.page.fill("#hsd-prompt textarea", "Once upon a time")
        guest.page.locator(".hp-guess >> visible=true").first.wait_for()
        guest.page.wait_for_function("window.arrived > 3")
        server.process.kill()
        guest.page.wait_for_function("window.seen")
        seen = guest.page.evaluate("window.seen")
        assert "gone away" in seen["line"]
        assert steps(seen)
        guest.page.click("#hsd-run")
        guest.page.locator(".hf-alert:not([hidden])", has_text="does not answer").wait_for()
        assert guest.page.locator(".hp-guess").count() > 3, "what was shown stays"
    finally:
        server.process.kill()
    guest.problems.clear()
    guest.close()
