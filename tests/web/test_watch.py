"""The app in a real browser: what is there before any click, live runs, links, files, several
visitors.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

import numpy as np
import pytest
from loops import some
from running_app import PATIENT, Server, free_port
from web_page import Guest

from hsd.estimate import kept_chances, pass_begins
from hsd.paths import RESULTS, ROOT, TRACES
from hsd.trace import Trace

LONG = {
    "prompt": "Once upon a time",
    "gamma": "1",
    "max_new_tokens": "256",
    "temperature": "1",
    "seed": PATIENT,
}


@pytest.mark.core
def test_a_tree_is_drawn_before_any_click_at_a_step_where_the_rules_differ(visitor):
    assert visitor.state["kept"] > visitor.state["shadowKept"]
    assert visitor.page.locator(".hp-guess").count() > 3
    assert visitor.page.inner_text(".hf-source").startswith("recorded on ")
    # of the run that is shown, though it is not here
    visitor.page.locator(".hf-pair", has_text="qwen-coder").wait_for()
    assert "of 151,680 tokens" in visitor.page.inner_text(".hf-pair")
    visitor.page.locator(".hf-device:not([hidden])").wait_for()


@pytest.mark.core
@pytest.mark.parametrize(("width", "height"), [(1280, 800), (850, 450), (390, 844)])
@pytest.mark.parametrize("query", some(["", "?preset=story"], 2))
@pytest.mark.recorded
def test_the_draft_the_masses_and_both_verdicts_are_in_the_first_window(
    visitors, width, height, query
):
    visitor = visitors(width=width, height=height).open(query, options=False)
    box = visitor.page.locator("#hsd-strip").bounding_box()
    # on phones the strip lies over the end of the window
    bottom = box["y"] if box["y"] > height / 2 else height
    parts = [
        ".hf-title",
        ".hp-sweep",
        ".is-ratios.is-start",
        ".is-masses .hp-segment",
        ".is-own .hp-trial",
    ]
    parts += [".is-shadow .hp-trial", ".hp-lane-keeps", ".hp-lane-odds", ".hp-guess[data-node='1']"]
    parts += [".hp-flow", ".hp-lead"] if width == 1280 else []
    for part in parts:
        for i, found in enumerate(visitor.page.locator(part).all()):
            inside = found.bounding_box() if found.is_visible() else None
            assert inside is None or (
                inside["y"] >= 0 and inside["y"] + inside["height"] <= bottom
            ), (part, i, inside)
    assert visitor.page.evaluate("scrollY") == 0
    assert (
        visitor.page.locator(".is-lane .hp-trial").count()
        == 2 * visitor.page.locator(".hp-cell-of.is-guesses[data-node]").count()
    )


@pytest.mark.core
def test_another_rule_in_the_options_judges_what_is_shown_and_another_prompt_asks_for_a_run(
    visitor,
):
    visitor.choose("rule", "Vanilla")
    visitor.page.locator(".hp-lead", has_text="What if").wait_for()
    assert visitor.page.locator("#hsd-strip[data-changed]").count() == 0
    visitor.page.locator("#hsd-prompt textarea").click()
    visitor.page.keyboard.type(" and a dog")
    visitor.page.locator("#hsd-strip[data-changed]").wait_for()


@pytest.mark.recorded
def test_keys_move_through_the_steps(visitor):
    steps = visitor.state["steps"]
    visitor.page.locator(".hf-player").focus()
    for key, step in (
        ("Home", 0),
        ("Shift+ArrowRight", 1),
        ("End", steps - 1),
        ("Shift+ArrowLeft", steps - 2),
    ):
        visitor.page.keyboard.press(key)
        visitor.until(f"window.__hsd.step === {step}")
        assert visitor.page.get_attribute(".hp-cells", "aria-valuenow") == str(step + 1)


def test_keys_mean_nothing_to_the_player_while_someone_types(visitor):
    before = visitor.state["step"]
    visitor.page.locator("#hsd-prompt textarea").focus()
    visitor.page.keyboard.press("Home")
    visitor.page.keyboard.type("n p ")
    assert visitor.state["step"] == before


@pytest.mark.recorded
def test_a_click_on_a_token_goes_to_its_step(visitor):
    step = visitor.state["step"] + 1
    group = f'.hp-group[data-step="{step}"]'
    visitor.page.locator(f"{group} .hp-token").first.click()
    visitor.until(f"window.__hsd.step === {step}")
    assert "is-now" in visitor.page.get_attribute(group, "class").split()
    assert visitor.page.locator(".hp-group.is-now").count() == 1


def test_every_control_says_in_one_line_what_it_does(visitor):
    controls = visitor.page.locator("#hsd-side .hp-control")
    assert controls.count() >= 11
    helps = visitor.page.locator("#hsd-side .hp-control > .hp-help").all_text_contents()
    assert len(helps) == controls.count()
    assert all(8 < len(text) < 120 for text in helps), helps


def test_a_rule_that_is_not_lossless_says_so_in_the_menu(visitor):
    options = visitor.page.locator("#hsd-rule option").all_inner_texts()
    assert len(options) >= 5
    assert [o for o in options if "released" in o and "not lossless" in o]


def test_a_preset_opens_at_once_and_sets_the_controls(visitor):
    for name, title in (("long-draft", "Long draft"), ("plain", "Plain")):
        trace = json.loads((TRACES / f"{name}.json").read_text())
        visitor.choose("preset", title)
        visitor.page.locator(".hf-caption", has_text=title).wait_for()
        assert visitor.state["steps"] == len(trace["steps"])
        assert visitor.page.input_value("#hsd-prompt textarea") == trace["prompt"]["text"]
        gamma = visitor.page.locator("#hsd-gamma-input")
        if name == "plain":
            assert not gamma.is_visible()
        else:
            assert gamma.input_value() == "10"


@pytest.mark.core
def test_n_grams_draft_without_a_draft_model_and_the_page_says_so(visitor):
    visitor.set("drafts", "3")
    visitor.set("max-new-tokens", "24")
    visitor.set("prompt", "Once upon a time, a fox saw a fox and a fox saw")
    visitor.choose("proposer", "N-grams of the text")
    visitor.page.locator("#hsd-drafts").wait_for(state="hidden")
    visitor.run()
    visitor.page.get_by_text("● live", exact=True).wait_for()
    assert visitor.page.inner_text(".hf-pair").endswith(" · drafts from the text")
    assert "No draft model." in visitor.page.get_attribute(".hf-pair", "title")
    assert "copied from the text" in visitor.page.inner_text(".hp-setup")
    visitor.until("location.search.includes('proposer=ngram')")
    again = visitor.app.url + "?" + urlsplit(visitor.page.url).query
    visitor.page.goto(again)
    visitor.options()
    visitor.page.get_by_text("● live", exact=True).wait_for()
    assert "copied from the text" in visitor.page.inner_text(".hp-setup")
    assert visitor.page.input_value("#hsd-proposer-input") == "ngram"
    visitor.choose("rule", "Traversal")  # a rule for trees takes the draft model
    visitor.until("document.querySelector('#hsd-drafts-input').value === '4'")
    assert visitor.page.input_value("#hsd-proposer-input") == "model"


@pytest.mark.core
def test_a_token_that_is_clicked_is_forced_and_decoding_goes_on_from_it(visitor):
    page = visitor.page
    visitor.set("max-new-tokens", "8")
    visitor.set("prompt", "Once upon a time, there was a fox")
    visitor.run()
    page.get_by_text("● live", exact=True).wait_for()
    page.locator(".hp-fold summary", has_text="A branch in full").click()
    other = page.locator(".hp-candidates button").nth(2)
    words = other.inner_text()
    other.click()
    page.locator(".hf-caption", has_text="What if").wait_for()
    page.get_by_text("● live", exact=True).wait_for()
    assert page.locator(".hp-out.is-forced").inner_text().strip() == words.strip("␣ ")
    assert "Forced tokens" in page.inner_text(".hp-setup")
    assert "after the forced token" in page.inner_text(".hf-outcome")
    visitor.until("location.search.includes('forced=')")
    text = page.inner_text(".hp-flow")
    page.goto(visitor.app.url + "?" + urlsplit(page.url).query)
    visitor.options()
    page.get_by_text("● live", exact=True).wait_for()
    visitor.until("!window.__hsd.live")
    assert page.inner_text(".hp-flow") == text


@pytest.mark.core
def test_a_live_run_streams_step_by_step_and_then_plays(visitor):
    visitor.set("prompt", "Once upon a time, there was a fox")
    visitor.set("max-new-tokens", "200")
    visitor.page.evaluate("window.seen = new Set()")
    visitor.page.evaluate(
        "void setInterval(() => window.__hsd.live && window.seen.add(window.__hsd.steps), 5)"
    )
    visitor.run()
    visitor.page.get_by_text("● live", exact=True).wait_for()
    assert len(set(visitor.page.evaluate("[...window.seen]")) - {0}) >= 2, (
        "its steps came in more than one message"
    )
    assert not visitor.state["live"]
    visitor.page.locator(".hf-player").focus()
    visitor.page.keyboard.press("Home")
    visitor.page.keyboard.press("Space")
    visitor.page.locator(".hp-phase.is-now[data-phase=draft]").wait_for()
    visitor.page.locator(".hp-phase.is-now[data-phase=target]").wait_for()
    assert visitor.page.is_enabled("#hsd-run")


def test_a_cancelled_run_keeps_what_it_had(visitors):
    visitor = visitors().open("?" + urlencode(LONG))
    visitor.until("window.__hsd.live && window.__hsd.steps >= 3")
    visitor.page.click("#hsd-cancel")
    visitor.until_source("live · cancelled")
    steps = visitor.state["steps"]
    assert 3 <= steps < 128
    visitor.page.locator(".hf-player").focus()
    visitor.page.keyboard.press("Home")
    visitor.until("window.__hsd.step === 0")
    assert visitor.page.locator(".hf-player .hp-group").count() == steps
    visitor.page.locator("#hsd-run:enabled").wait_for()


@pytest.mark.core
def test_bad_input_is_one_clear_line_and_nothing_is_lost(visitor):
    before = visitor.shown()
    for control, value, words in (
        ("prompt", "", "the prompt is empty"),
        ("prompt", "   \n\t ", "the prompt is empty"),
        ("prompt", "word " * 20_000, "the prompt has 100,000 characters"),
        ("prompt", "a1" * 1_900, "context"),
        ("seed", "", "seed is empty"),
    ):
        visitor.set("prompt", "Once")
        visitor.set(control, value)
        visitor.run()
        line = visitor.alert()
        assert words in line
        assert "\n" not in line
        assert visitor.shown() == before
        visitor.page.get_by_role("button", name="dismiss").click()
        visitor.page.locator(".hf-alert").wait_for(state="hidden")


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"gamma": "abc"}, "draft length γ abc: choose a whole number"),
        ({"top_p": "2"}, "choose a number from 0 to 1"),
        ({"target": "/no/such/folder", "draft": "/no/such/folder"}, "no folder"),
    ],
)
def test_a_link_with_a_bad_value_says_so_and_shows_the_first_preset(visitors, query, words):
    visitor = visitors().open("?" + urlencode({"prompt": "Once", **query}))
    assert words in visitor.alert()
    visitor.until_source("recorded on")


@pytest.mark.parametrize(
    "prompt",
    [
        "\x01\x02\x1b[31m",
        "🦊🌳👩‍👩‍👧",
        "שלום עולם",
        "${1+1} {{value}} <img src=x onerror=alert(1)>",
    ],
)
def test_strange_prompts_are_only_text(visitor, prompt):
    visitor.set("prompt", prompt)
    visitor.set("max-new-tokens", "8")
    visitor.run()
    visitor.page.get_by_text("● live", exact=True).wait_for()
    assert visitor.page.locator(".hp-flow img").count() == 0


@pytest.mark.core
@pytest.mark.recorded(core=True)
def test_hostile_tokens_of_an_opened_trace_are_only_text(visitor, tmp_path: Path):
    trace = json.loads((TRACES / "story.json").read_text())
    hostile = [
        "<img src=x onerror='window.hacked=1'>",
        "${window.hacked=1}",
        "{{value}}",
        "</script><script>window.hacked=1</script>",
    ]
    for i, committed in enumerate(c for step in trace["steps"] for c in step["committed"]):
        committed["piece"] = hostile[i % len(hostile)]
    for i, node in enumerate(n for step in trace["steps"] for n in step["nodes"]):
        node["piece"] = hostile[i % len(hostile)]
    trace["prompt"]["pieces"] = [
        hostile[i % len(hostile)] for i in range(len(trace["prompt"]["ids"]))
    ]
    trace["setup"]["pair"] = trace["setup"]["models"][-1]["name"] = hostile[0]
    file = tmp_path / "hostile.json"
    file.write_text(json.dumps(trace))
    visitor.page.set_input_files(".hf-file", file)
    visitor.until_source("trace file")
    assert "onerror" in visitor.page.locator(".hp-flow").first.inner_text()
    visitor.page.locator(".hf-player").focus()
    for _ in range(5):
        visitor.page.keyboard.press("Shift+ArrowRight")
    assert visitor.page.evaluate("window.hacked") is None
    assert visitor.page.locator(".hf img, .hf .hp-flow script").count() == 0


def many_nodes() -> str:
    trace = json.loads((TRACES / "story.json").read_text())
    node = trace["steps"][0]["nodes"][0]
    trace["steps"][0]["nodes"] = [
        {**node, "id": 1, "piece": "", "p": 0, "q": 0, "draw": 0, "coin": 0}
    ] * 250_000
    return json.dumps(trace, separators=(",", ":"))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (lambda: "this is no JSON", "not JSON"),
        (lambda: "[" * 100_000, "not JSON"),
        (lambda: '{"a": 1}', "not a trace"),
        (lambda: '{"trace_version": 3}', "trace version 3 cannot be read"),
        (lambda: '{"trace_version": 1}', "trace version 1 cannot be read"),
        (many_nodes, "not a valid trace"),
        (lambda: " " * 33_000_000, "33 MB"),
    ],
    ids=["no JSON", "deep", "other JSON", "other version", "empty", "too many nodes", "too large"],
)
@pytest.mark.recorded
def test_a_bad_trace_file_is_one_clear_line_and_what_was_shown_stays(
    visitor, tmp_path: Path, content, words
):
    before = visitor.shown()
    file = tmp_path / "bad.json"
    file.write_text(content())
    visitor.page.set_input_files(".hf-file", file)
    line = visitor.alert()
    assert words in line
    assert "\n" not in line
    assert visitor.shown() == before


@pytest.mark.recorded
def test_a_saved_trace_can_be_opened_again(visitor, tmp_path: Path):
    with visitor.page.expect_download() as download:
        visitor.page.get_by_role("button", name="JSON", exact=True).click()
    file = tmp_path / "saved.json"
    download.value.save_as(file)
    text = visitor.page.inner_text(".hp-flow")
    visitor.page.set_input_files(".hf-file", file)
    visitor.until_source("trace file")
    assert visitor.page.inner_text(".hp-flow") == text


@pytest.mark.recorded
def test_the_link_of_a_preset_opens_the_same_view(visitors):
    visitor = visitors().open("?preset=sum&step=3&node=1")
    visitor.until("window.__hsd.step === 3 && window.__hsd.node === 1")
    visitor.page.locator(".hf-player").focus()
    visitor.page.keyboard.press("Shift+ArrowRight")
    visitor.until("location.search.includes('at_step=5')")
    query = urlsplit(visitor.page.url).query
    other = visitors().open(query and "?" + query)
    other.until(f"window.__hsd.step === 4 && window.__hsd.node === {visitor.state['node']}")
    assert other.shown() == visitor.shown()
    other.until("document.querySelector('#hsd-preset').value === 'sum'")


def test_the_link_of_a_live_run_makes_it_again(visitors):
    visitor = visitors().open()
    visitor.set("prompt", "Once upon a time, there was a mole & a <b>hat</b>")
    visitor.set("seed", "12345678901")
    visitor.set("max-new-tokens", "24")
    visitor.run()
    visitor.page.get_by_text("● live", exact=True).wait_for()
    visitor.page.locator(".hf-player").focus()
    visitor.page.keyboard.press("Home")
    visitor.page.keyboard.press("Shift+ArrowRight")
    visitor.until("location.search.includes('prompt=') && location.search.includes('at_step=2&')")
    query = urlsplit(visitor.page.url).query
    asked = {name: values[0] for name, values in parse_qs(query).items()}
    assert asked["seed"] == "12345678901"
    named = {
        "pair",
        "prompt",
        "rule",
        "gamma",
        "temperature",
        "seed",
        "max_new_tokens",
        "at_step",
        "node",
    }
    assert set(asked) >= named
    other = visitors().open("?" + query)
    other.page.get_by_text("● live", exact=True).wait_for()
    other.until("window.__hsd.step === 1")
    assert other.shown() == visitor.shown()
    other.until(
        f"document.querySelector('#hsd-prompt textarea').value === {json.dumps(asked['prompt'])}"
    )


@pytest.mark.recorded
def test_an_unknown_preset_in_a_link_says_so(visitors):
    visitor = visitors().open("?preset=nonsense")
    assert visitor.alert() == "unknown preset 'nonsense': choose one of the menu, or of /presets"


def test_two_visitors_at_once_both_get_their_run_and_the_second_is_told_why_it_waits(visitors):
    second = visitors().open()
    second.set("prompt", "Once upon a time, there was a second fox")
    first = visitors().open("?" + urlencode(LONG))
    first.until("window.__hsd.live && window.__hsd.steps >= 2")
    second.run()
    second.page.locator(
        ".hf-status", has_text="Another run is using the model; this one is number 1 in line"
    ).wait_for()
    assert second.state["steps"] > 0
    first.page.click("#hsd-cancel")
    first.until_source("live · cancelled")
    second.page.get_by_text("● live", exact=True).wait_for()
    assert "second" in second.page.inner_text(".hp-flow")
    assert "second" not in first.page.inner_text(".hp-flow")


def test_a_visitor_who_waits_can_cancel(visitors):
    second = visitors().open()
    before = second.shown()
    first = visitors().open("?" + urlencode(LONG))
    first.until("window.__hsd.live && window.__hsd.steps >= 2")
    second.run()
    second.page.locator(".hf-status", has_text="number 1 in line").wait_for()
    second.page.click("#hsd-cancel")
    second.page.locator(".hf-status").wait_for(state="hidden")
    first.page.close()
    second.page.locator("#hsd-run:enabled").wait_for()
    assert second.shown() == before


def test_a_visitor_who_leaves_frees_the_model(visitors):
    second = visitors().open()
    second.set("max-new-tokens", "8")
    first = visitors().open("?" + urlencode(LONG))
    first.until("window.__hsd.live && window.__hsd.steps >= 2")
    first.page.close()
    second.run()
    # the first run would have lasted longer than this waits
    second.page.get_by_text("● live", exact=True).wait_for()
    assert second.page.get_attribute(".hp-flow .hp-out >> nth=0", "title").startswith("step 1: ")
    assert second.page.locator(".hp-flow .hp-out").count() == 8


@pytest.mark.core
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_needs_no_sideways_scrolling_and_hides_the_options(visitors, scheme):
    visitor = visitors(width=390, color_scheme=scheme).open()
    assert visitor.page.evaluate("document.documentElement.scrollWidth") <= 390
    assert not visitor.page.is_visible("#hsd-gamma")
    assert not visitor.page.evaluate("document.querySelector('.hf-about').open")
    visitor.page.get_by_role("button", name="Options").click()
    visitor.page.locator("#hsd-gamma").wait_for(state="visible")
    assert visitor.page.evaluate("document.documentElement.scrollWidth") <= 390
    assert visitor.page.is_visible("#hsd-preset"), "recorded runs can be opened on a phone as well"
    visitor.set("max-new-tokens", "8")
    visitor.run()
    visitor.page.get_by_text("● live", exact=True).wait_for()
    assert not visitor.page.is_visible("#hsd-gamma")


@pytest.mark.recorded
def test_another_page_can_show_the_view_in_a_frame(visitors):
    """What "Embed" copies shows the same step: the board, its sentence, how to move, and nothing
    else.
    """
    visitor = visitors(permissions=["clipboard-read", "clipboard-write"]).open(
        "?preset=story&step=3", options=False
    )
    visitor.until("window.__hsd.step === 3")
    visitor.page.get_by_role("button", name="Embed").click()
    code = visitor.page.evaluate("navigator.clipboard.readText()")
    address = code.split('src="')[1].split('"')[0]
    query = urlsplit(address).query
    frame = visitors(width=850, height=450).open(query and "?" + query, options=False)
    frame.until("window.__hsd.step === 3")
    assert frame.page.is_visible(".hp-board")
    assert frame.page.is_visible(".hp-lead")
    assert frame.page.is_visible(".hp-play")
    for part in (
        "#hsd-strip",
        ".hf-title",
        ".hp-treecard",
        ".hp-tools",
        "#hsd-tabs [role=tab]",
        "footer",
    ):
        assert not frame.page.locator(part).first.is_visible(), part


# ---- what else can happen to a run


def test_a_server_that_goes_away_leaves_the_steps_and_an_offer_to_run_again(
    chromium, nothing_fetched
):
    port = free_port()
    app = Server([sys.executable, str(ROOT / "tests" / "running_app.py"), str(port)], port)
    guest = Guest(chromium, app.url, bypass_csp=True)
    page = guest.page
    try:
        page.goto(f"{app.url}?{urlencode(LONG)}")
        page.wait_for_function("window.__hsd?.live && window.__hsd.steps >= 3")
        app.stop()
        page.locator(".hf-alert-words", has_text="gone away").wait_for()
        assert "\n" not in page.inner_text(".hf-alert-words")
        steps = page.evaluate("window.__hsd.steps")
        assert steps >= 3
        assert page.locator(".hf-player .hp-group").count() == steps
        page.get_by_role("button", name="Run again").click()
        page.locator(".hf-alert-words", has_text="the server").wait_for()
        assert page.evaluate("window.__hsd.steps") == steps
    finally:
        guest.problems.clear()  # of the browser, which tells of the lost connection as well
        guest.close()
        app.stop()


def test_a_link_of_earlier_versions_makes_its_run(visitors):
    visitor = visitors().open(
        "?" + urlencode({"prompt": "Once upon a time", "length": "12", "several": "2"})
    )
    visitor.page.get_by_text("● live", exact=True).wait_for()
    assert "2 drafts" in visitor.page.inner_text(".hp-setup")
    visitor.until(
        "location.search.includes('max_new_tokens=12') && location.search.includes('drafts=2')"
    )


@pytest.mark.recorded
def test_a_trace_can_be_let_go_over_the_page(visitor):
    text = (TRACES / "sum.json").read_text()
    visitor.page.evaluate(
        """(text) => {
          const dataTransfer = new DataTransfer();
          dataTransfer.items.add(new File([text], "run.json", {type: "application/json"}));
          const options = {dataTransfer, bubbles: true, cancelable: true};
          document.body.dispatchEvent(new DragEvent("drop", options));
        }""",
        text,
    )
    visitor.until_source("trace file")
    assert visitor.state["steps"] == len(json.loads(text)["steps"])


@pytest.mark.recorded
def test_everything_folded_takes_two_windows_at_most(visitors):
    visitor = visitors().open("?preset=story", options=False)
    assert visitor.page.evaluate("document.documentElement.scrollHeight") <= 1600


@pytest.mark.core
@pytest.mark.recorded
def test_the_first_window_says_where_thresholds_come_from_what_hsd_is_how_fast_and_whether_lossless(
    visitors,
):
    """Untouched, and without scrolling."""
    visitor = visitors(height=800).open(options=False)
    inside = (
        "list => list.map((e) => [e.innerText, e.getBoundingClientRect().bottom <= innerHeight])"
    )

    def seen(selector: str) -> list[str]:
        found = visitor.page.eval_on_selector_all(selector, inside)
        assert all(within for _, within in found), found
        return [words for words, _ in found]

    origins = seen(".hp-origin")
    assert (
        len(origins)
        == visitor.page.locator(".is-lane .hp-trial:is(.is-pass, .is-fail)").count()
        > 1
    )
    assert all(" = " in words for words in origins)
    assert seen(".hp-lane-full") == ["hierarchical speculative decoding"]
    (told,) = seen(".hf-outcome")
    assert "× plain decoding" in told
    assert "lossless in law" in told


@pytest.mark.core
@pytest.mark.recorded
def test_what_came_of_a_run_is_told_by_its_own_numbers_and_by_those_it_was_timed_with(visitors):
    trace = json.loads((TRACES / "story.json").read_text(encoding="utf-8"))
    timed = json.loads((RESULTS / "presets.json").read_text(encoding="utf-8"))["story"]
    steps = trace["steps"]
    told = visitors().open("?preset=story").page.inner_text(".hf-outcome")
    tokens = sum(len(step["committed"]) for step in steps) / sum(
        step["target_calls"] for step in steps
    )
    assert f"{tokens:.3g} tokens per target call" in told
    assert f"{timed['times']:.2f} × plain decoding" in told
    means = [
        1 + sum(s["expected_kept"][rule] for s in steps) / len(steps)
        for rule in ("hsd", "tokenwise")
    ]
    assert f"HSD {means[0]:.2f}, vanilla {means[1]:.2f} ({means[0] - means[1]:+.2f} ± " in told
    lossy = visitors().open("?preset=released").page.inner_text(".hf-outcome")
    assert "✕ not lossless" in lossy
    assert "word for word" in visitors().open("?preset=paris").page.inner_text(".hf-outcome")


def test_a_plain_text_is_shaded_by_what_drafting_would_have_done(visitors):
    trace = Trace.from_file(TRACES / "plain.json")
    assert trace.scores
    gamma = trace.setup.options.draft.gamma or 4
    logp, logq = np.log(trace.scores.p), np.log(trace.scores.q)
    visitor = visitors().open("?preset=plain&board=full")
    text = visitor.page.locator(".hp-text").first
    for name, words in (("hsd", "free by HSD"), ("tokenwise", "free by vanilla")):
        begins = pass_begins(kept_chances(name, logp, logq, gamma))[:, -1]
        text.get_by_role("radio", name=words).check()
        assert f"{begins.sum():.1f} target calls on average" in text.inner_text()
        shaded = text.locator(".hp-out.is-shaded").all()
        assert len(shaded) == len(begins)
        assert shaded[1].get_attribute("title").endswith(f"chance {1 - begins[1]:.2f}")
    text.get_by_role("radio", name="where from").check()
    assert text.locator(".hp-out.is-shaded").count() == 0


def test_a_recorded_run_has_no_speed_and_offers_to_race(visitor):
    visitor.set("prompt", "Once upon a time")
    visitor.set("max-new-tokens", "24")
    visitor.run()
    visitor.page.get_by_text("● live", exact=True).wait_for()
    told = visitor.page.locator(".hf-outcome", has_text="race it").inner_text()
    assert "speed: not timed" in told
    assert "tokens/s" not in told
    visitor.page.click(".hf-outcome .hf-link")
    visitor.page.locator("#hsd-tab-speed:not([hidden])").wait_for()
    assert visitor.page.get_attribute("#hsd-tab-speed-button", "aria-selected") == "true"
