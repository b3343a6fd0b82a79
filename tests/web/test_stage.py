"""What a visitor sees around the stage is of the run on it: prompt, options, chips, address; what
differs is marked.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from running_app import Files
from web_page import Browser, Guest

from hsd import space
from hsd.app import race
from hsd.app.presets import definitions
from hsd.paths import ASSETS, TRACES

WAITING = {
    "prompt": "Once upon a time, there was",
    "pair": "tiny",
    "max_new_tokens": "8",
    "seed": "3",
}
STAGE = """() => {
  const text = (css) => document.querySelector(css)?.textContent ?? "";
  const value = (css) => document.querySelector(css)?.value ?? "";
  const names = ["rule", "gamma", "temperature", "seed", "max-new-tokens", "drafts", "proposer"];
  const option = (name) => [name.replaceAll("-", "_"), value(`#hsd-${name}-input`)];
  return {
    prompt: value("#hsd-prompt textarea"),
    pair: value("#hsd-pair-input"),
    chip: text(".hf-pair").split(":")[0],
    source: text(".hf-source"),
    preset: value("#hsd-preset"),
    changed: document.querySelector("#hsd-strip[data-changed]") !== null,
    options: Object.fromEntries(names.map(option)),
    query: Object.fromEntries(new URLSearchParams(location.search)),
    steps: window.__hsd.steps,
  };
}"""


def recorded(name: str) -> dict:
    return json.loads((TRACES / f"{name}.json").read_text())


def seen(visitor) -> dict:
    return visitor.page.evaluate(STAGE)


def options_of(trace: dict) -> dict[str, str]:
    options = trace["setup"]["options"]
    flat = {**options["draft"], **options["sampling"], **options}
    return {
        name: format(flat[name], "")
        for name in ("rule", "gamma", "seed", "max_new_tokens", "drafts", "proposer")
    }


def check(visitor, trace: dict, preset: str = "") -> None:
    """Everything around the stage is of this trace, and nothing is marked as changed."""
    visitor.until(f"window.__hsd?.steps === {len(trace['steps'])}")
    visitor.until(
        "document.querySelector('#hsd-prompt textarea').value === "
        f"{json.dumps(trace['prompt']['text'])}"
    )
    around = seen(visitor)
    assert (around["pair"], around["chip"]) == (trace["setup"]["pair"],) * 2
    assert {name: around["options"][name] for name in options_of(trace)} == options_of(trace)
    assert (
        float(around["options"]["temperature"])
        == trace["setup"]["options"]["sampling"]["temperature"]
    )
    assert not around["changed"]
    assert around["preset"] == preset


def open_preset(visitor, name: str) -> None:
    visitor.page.select_option("#hsd-preset", name)
    check(visitor, recorded(name), name)
    visitor.until(f"location.search.includes('preset={name}&')")


def open_file(visitor, name: str) -> None:
    visitor.page.set_input_files(".hf-file", TRACES / f"{name}.json")
    visitor.until_source("trace file")
    check(visitor, recorded(name))
    visitor.until(
        f"location.search.startsWith('?file={name}.json&') || location.hash.startsWith('#trace=')"
    )


@pytest.mark.recorded
@pytest.mark.parametrize("name", ["story", "paris", "greedy"])
def test_prompt_options_and_chip_are_of_the_recorded_run_on_the_stage(visitors, name: str):
    visitor = visitors().open(f"?preset={name}")
    check(visitor, recorded(name), name)
    open_preset(visitor, "long-draft")
    open_preset(visitor, name)


@pytest.mark.recorded
def test_a_pair_that_is_not_here_gives_way_to_one_that_is_once_a_prompt_is_typed(visitors):
    visitor = visitors()
    absent, here = ("story", "smollm2") if visitor.files else ("paris", "tiny")
    visitor.open(f"?preset={absent}")
    check(visitor, recorded(absent), absent)
    assert "not here" in visitor.page.locator("#hsd-pair-input option:checked").text_content()
    before = seen(visitor)["options"]
    visitor.page.fill("#hsd-prompt textarea", "Once")
    assert seen(visitor)["pair"] == here
    assert seen(visitor)["changed"]
    assert seen(visitor)["options"] == before, (
        "what says how tokens are drawn is not changed unasked"
    )


@pytest.mark.recorded
def test_a_first_prompt_of_ones_own_has_the_options_of_the_opening_run(visitors):
    visitor = visitors().open()
    first = space.load().presets[0]
    check(visitor, recorded(first), first)
    visitor.page.fill("#hsd-prompt textarea", "Once")
    options = seen(visitor)["options"]
    asked = {
        name: float(options[name]) for name in ("gamma", "temperature", "seed", "max_new_tokens")
    }
    made_by = definitions()[first].options
    assert asked == {name: made_by[name] for name in asked}


@pytest.mark.recorded
def test_an_opened_file_is_shown_with_what_made_it_and_the_address_names_it(visitors):
    visitor = visitors().open("?preset=story")
    open_file(visitor, "lighthouse")
    visitor.page.get_by_role("button", name="Copy link", exact=True).click()
    assert "came from a file" in visitor.alert()
    visitor.page.reload()
    assert "a page cannot open the file lighthouse.json" in visitor.alert()
    first = seen(visitor)["preset"]
    check(visitor, recorded(first), first)


@pytest.mark.recorded
def test_back_and_forward_lead_through_presets_and_files(visitors):
    visitor = visitors().open("?preset=story&step=2")
    open_preset(visitor, "long-draft")
    open_file(visitor, "sum")
    visitor.page.click("#hsd-tab-lab-button")
    visitor.until("location.search.startsWith('?tab=lab')")
    visitor.page.go_back()
    check(visitor, recorded("sum"))
    visitor.page.go_back()
    check(visitor, recorded("long-draft"), "long-draft")
    visitor.page.go_back()
    check(visitor, recorded("story"), "story")
    visitor.until("window.__hsd?.step === 2")
    visitor.page.go_forward()
    visitor.page.go_forward()
    check(visitor, recorded("sum"))
    visitor.page.reload()  # a short one is in the address
    check(visitor, recorded("sum"))
    visitor.page.go_back()
    check(visitor, recorded("long-draft"), "long-draft")
    visitor.page.go_back()
    check(visitor, recorded("story"), "story")
    visitor.until("location.search.startsWith('?preset=story&at_step=3')")


@pytest.mark.recorded
def test_back_undoes_a_jump_to_another_step_and_single_steps_are_no_places_to_come_back_to(
    visitors,
):
    visitor = visitors().open("?preset=story&at_step=2")
    before = visitor.page.evaluate("history.length")
    visitor.page.locator('.hp-group[data-step="7"] .hp-token').first.click()
    visitor.until("location.search.includes('at_step=8')")
    visitor.page.locator(".hf-player").focus()
    for step in (9, 10):
        visitor.page.keyboard.press("Shift+ArrowRight")
        visitor.until(f"location.search.includes('at_step={step}')")
    assert visitor.page.evaluate("history.length") == before + 1
    visitor.page.go_back()
    visitor.until("window.__hsd.step === 1 && location.search.includes('at_step=2')")
    visitor.page.go_forward()
    visitor.until("window.__hsd.step === 9 && location.search.includes('at_step=10')")


def test_back_and_forward_lead_to_runs_that_are_not_made_again(visitors):
    visitor = visitors().open("?preset=story")
    visitor.set("prompt", "Once upon a time, there was a fox")
    visitor.set("max-new-tokens", "12")
    visitor.run()
    visitor.page.get_by_text("● live", exact=True).wait_for()
    named = "location.search.includes('prompt=') && !location.search.includes('system=')"
    # until then the address names what was chosen
    visitor.until(f"!window.__hsd.live && {named}")
    mine = seen(visitor)
    asked: list[str] = []
    visitor.page.on("request", lambda request: asked.append(request.url))
    visitor.page.go_back()
    check(visitor, recorded("story"), "story")
    visitor.page.go_forward()
    visitor.page.get_by_text("● live", exact=True).wait_for()
    visitor.until(f"!window.__hsd.live && {named}")
    again = seen(visitor)
    assert again == mine
    assert not [url for url in asked if "queue/join" in url]


def test_while_a_new_run_starts_the_old_one_is_not_called_live_and_nothing_asks_for_run(visitors):
    visitor = visitors().open("?" + urlencode(WAITING))
    visitor.page.get_by_text("● live", exact=True).wait_for()
    visitor.page.fill("#hsd-prompt textarea", "Another prompt")
    assert seen(visitor)["changed"]
    visitor.page.route("**/queue/join*", lambda route: None)  # an answer that does not come
    visitor.run()
    visitor.page.locator(".hf-status", has_text="Starting").wait_for()
    assert not seen(visitor)["changed"]
    assert seen(visitor)["source"] == "the run before"
    assert not visitor.page.locator(".hf-source.is-live").count()
    visitor.page.click("#hsd-cancel")
    visitor.page.locator("#hsd-run:enabled").wait_for()
    assert seen(visitor)["changed"], "what is set is not what is shown"
    assert seen(visitor)["source"] == "● live"
    visitor.page.fill("#hsd-prompt textarea", WAITING["prompt"])
    assert not seen(visitor)["changed"], "as it was"


def test_the_address_of_a_run_is_its_own_while_it_goes_on(visitors):
    visitor = visitors().open("?preset=story")
    visitor.set("prompt", "Once upon a time, there was a fox")
    visitor.set("max-new-tokens", "160")
    visitor.run()
    visitor.until("window.__hsd.live && location.search.includes('prompt=')")
    visitor.page.fill("#hsd-prompt textarea", "typed meanwhile")
    visitor.page.locator("#hsd-run:enabled").wait_for()
    assert seen(visitor)["prompt"] == "typed meanwhile"
    assert seen(visitor)["changed"]
    assert "fox" in seen(visitor)["query"]["prompt"]


def test_a_link_with_little_in_it_shows_all_options_that_its_run_had(visitors):
    visitor = visitors().open(
        "?" + urlencode({"prompt": "Once upon a time", "max_new_tokens": "12"})
    )
    visitor.page.get_by_text("● live", exact=True).wait_for()
    visitor.until("location.search.includes('gamma=')")
    around = seen(visitor)
    asked = {name: values[0] for name, values in parse_qs(urlsplit(visitor.page.url).query).items()}
    assert {name: around["options"][name] for name in ("gamma", "rule", "seed")} == {
        name: asked[name] for name in ("gamma", "rule", "seed")
    }
    assert not around["changed"]


def test_a_link_that_cannot_be_run_stays_to_be_changed(visitors):
    query = {"prompt": "A prompt of a link", "pair": "tiny", "top_p": "2", "gamma": "3"}
    visitor = visitors().open("?" + urlencode(query))
    assert "from 0 to 1" in visitor.alert()
    visitor.until_source("recorded on")
    around = seen(visitor)
    assert around["prompt"] == query["prompt"]
    assert around["options"]["gamma"] == "3"
    assert around["changed"]
    assert around["query"] == query
    visitor.set("top-p", "1")
    visitor.set("max-new-tokens", "8")
    visitor.run()
    visitor.page.get_by_text("● live", exact=True).wait_for()
    visitor.until("location.search.includes('max_new_tokens=8')")


def test_a_rule_that_only_judges_is_no_change_until_what_happened_is_shown_again(visitors):
    visitor = visitors().open("?preset=story")
    visitor.choose("rule", "Vanilla")
    visitor.page.locator(".hp-lead", has_text="What if").wait_for()
    assert not seen(visitor)["changed"]
    visitor.page.locator(".hp-back").click()
    visitor.page.locator("#hsd-strip[data-changed]").wait_for()


def test_plain_decoding_leaves_options_with_which_a_draft_can_be_made(visitors):
    visitor = visitors().open("?preset=plain")
    visitor.choose("pair", "toy")  # so that options are seen
    visitor.page.evaluate(
        "for (const one of document.querySelectorAll('#hsd-side details')) one.open = true"
    )
    visitor.page.select_option("#hsd-system-input", "speculative")
    visitor.set("max-new-tokens", "8")
    visitor.run()
    visitor.page.get_by_text("● live", exact=True).wait_for()


def test_a_link_for_the_portable_engine_is_answered_by_what_a_visitor_can_do(visitors):
    own = {"target": str(ASSETS / "tiny" / "target"), "draft": str(ASSETS / "tiny" / "middle")}
    visitor = visitors().open("?" + urlencode({"prompt": "Once", **own, "engine": "portable"}))
    line = visitor.alert()
    assert "load_pair" not in line
    assert "ngine portable is for the pairs smollm2 and tiny" in line


@pytest.fixture
def guest(chromium: Browser, served: Files) -> Iterator[Guest]:
    """Someone on the exported page, which asks before it loads a model."""
    guest = Guest(chromium, served.url, serious=("error",))
    yield guest
    guest.close()


def test_a_shared_link_and_not_now_keep_what_was_shared(guest: Guest, served: Files):
    query = {
        "prompt": "A shared prompt",
        "temperature": "0.4",
        "gamma": "2",
        "seed": "7",
        "max_new_tokens": "9",
    }
    page = guest.page
    page.goto(f"{served.url}?{urlencode(query)}")
    page.locator("dialog.hf-consent").get_by_role("button", name="Not now").click()
    page.locator(".hf-alert:not([hidden])", has_text="nothing was loaded").wait_for()
    page.locator(".hf-source", has_text="recorded on").wait_for()
    for _ in range(2):
        around = page.evaluate(STAGE)
        assert around["prompt"] == query["prompt"]
        assert {name: around["options"][name] for name in query if name != "prompt"} == {
            name: value for name, value in query.items() if name != "prompt"
        }
        assert around["changed"]
        assert around["query"] == query
        page.locator(".hf-player").focus()
        page.keyboard.press("Shift+ArrowLeft")
        page.wait_for_timeout(600)  # until the address would have followed
    page.reload()
    page.locator("dialog.hf-consent").wait_for()


def test_a_shared_race_and_not_now_keep_what_was_shared(guest: Guest, served: Files):
    lanes = "rule:hsd~gamma:2,rule:blockwise~gamma:2"
    query = {
        "tab": "speed",
        "prompt": "A shared race",
        "temperature": "0.4",
        "lanes": lanes,
        "rounds": "1",
    }
    page = guest.page
    page.goto(f"{served.url}?{urlencode(query)}")
    page.locator("dialog.hf-consent").get_by_role("button", name="Not now").click()
    page.locator(".hf-alert:not([hidden])", has_text="nothing was loaded").wait_for()
    page.wait_for_timeout(600)
    setup = page.evaluate("window.__hsdSpeed.setup")
    assert (setup["prompt"], setup["temperature"], setup["rounds"]) == ("A shared race", 0.4, "1")
    assert [(lane["rule"], lane["gamma"]) for lane in setup["lanes"]] == [
        ("hsd", 2),
        ("blockwise", 2),
    ]
    assert page.evaluate("Object.fromEntries(new URLSearchParams(location.search))") == query


def test_a_race_here_on_the_exported_page_has_the_options_of_the_race_that_is_shown(
    guest: Guest, served: Files
):
    page = guest.page
    page.goto(f"{served.url}?tab=speed&domain=Sums")
    page.locator(".hf-other > summary").click()
    page.locator("#hsd-race-top-p-input").fill("0.5")
    page.locator(".hf-part").get_by_role(
        "radio", name=race.recordings()["races"][2]["domain"]
    ).check()
    page.wait_for_function("window.__hsdSpeed.setup.top_p === 1")
    given, shown = page.evaluate("[window.__hsdSpeed.setup, window.__hsdSpeed.header]")
    header = page.evaluate(
        """async (given) => {
          const folder = JSON.parse(document.getElementById("hsd-modules").textContent) && document
            .querySelector("script[src$='page.js']").src.replace("page.js", "");
          const { plan } = await import(`${folder}answers/browser/race.js`);
          return plan(given, await (await fetch("data/page.json")).json()).header;
        }""",
        given,
    )
    assert header["sampling"] == shown["sampling"]
    assert header["prompt"] == shown["prompt"]
    assert [lane["name"] for lane in header["lanes"]] == [lane["name"] for lane in shown["lanes"]]
