"""Both rules over a whole run, and each with its own text, in a browser."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

import hsd
from hsd.paths import TRACES

TREE = {
    "prompt": "Once upon a time, there was a little girl",
    "rule": "traversal",
    "drafts": 4,
    "gamma": 4,
    "temperature": 0.9,
    "seed": 5,
    "max_new_tokens": 40,
}
LONG = {
    "prompt": "Once upon a time",
    "gamma": 1,
    "max_new_tokens": 160,
    "temperature": 1,
    "seed": 3,
}
HOSTILE = [
    "<img src=x onerror='window.hacked=1'>",
    "${window.hacked=1}",
    "{{value}}",
    "</script><script>window.hacked=1</script>",
]


def preset(name: str) -> dict:
    return json.loads((TRACES / f"{name}.json").read_text())


def link(**query: object) -> str:
    return "?" + urlencode(query)


def state(visitor) -> dict:
    return visitor.page.evaluate("window.__hsdBeside")


def shown(visitor) -> None:
    """Wait until a whole run is shown."""
    visitor.until("window.__hsd.steps > 0 && !window.__hsd.live")


def ended(visitor, how: str = "done") -> None:
    """Wait for the second run."""
    visitor.until(f"window.__hsdBeside?.second && window.__hsdBeside.second.state === '{how}'")


def each(visitor):
    return visitor.page.get_by_role("switch", name="Each with its own text")


def sums(visitor) -> dict[str, list[str]]:
    """The numbers, by the place of their row: kept, kept over all coins, steps with more, tokens
    per call.
    """
    rows = visitor.page.locator(".hf-sums tbody tr").all()
    return {row.get_attribute("data-place"): row.locator("td").all_inner_texts() for row in rows}


def tokens(steps: list[dict]) -> int:
    return sum(len(step["committed"]) for step in steps)


@pytest.mark.core
@pytest.mark.parametrize("name", ["story", "long-draft", "four-drafts"])
@pytest.mark.recorded
def test_the_sums_of_both_rules_are_those_of_the_trace(visitors, name) -> None:
    steps = preset(name)["steps"]
    visitor = visitors().open(link(preset=name))
    shadows = [step["shadow"] for step in steps]
    drafted = sum(s["drafted"] for s in steps)
    count = len(steps)
    run = sums(visitor)["this run"]
    other = sums(visitor)["on the same drafts"]
    assert run[0] == f"{sum(s['kept'] for s in steps)} of {drafted}"
    assert other[0] == f"{sum(s['kept'] for s in shadows)} of {drafted}"
    for row, judged in ((run, "verdict"), (other, "shadow")):
        law = sum(s["expected_kept"][s[judged]["rule"]] for s in steps if s["drafted"])
        assert float(row[1]) == pytest.approx(law, rel=5e-3)
    more = [
        sum(a > b for a, b in pairs)
        for pairs in zip(
            *(((s["kept"], s["shadow"]["kept"]), (s["shadow"]["kept"], s["kept"])) for s in steps),
            strict=True,
        )
    ]
    assert [row[2].split()[0] for row in (run, other)] == [str(n) for n in more]
    gained = [tokens(steps), sum(s["kept"] + bool(s["next"]) for s in shadows)]
    for row, n in zip((run, other), gained, strict=True):
        mean, _, told = row[3].partition(" ")
        assert float(mean) == pytest.approx(n / count, rel=5e-3)
        assert told == f"{n} in {count}"


@pytest.mark.recorded
def test_a_rule_that_is_not_lossless_is_marked_in_the_sums(visitors) -> None:
    visitor = visitors().open(link(preset="released"))
    heads = visitor.page.locator(".hf-sums tbody th").all_inner_texts()
    assert ["not lossless" in head for head in heads] == [True, False]


@pytest.mark.recorded
def test_where_there_is_nothing_to_compare_nothing_is_compared(visitors) -> None:
    visitor = visitors().open(link(preset="plain"))
    assert not visitor.page.is_visible(".hf-beside")
    visitor.choose("preset", "Story: HSD")
    visitor.page.locator(".hf-beside").wait_for()


def test_a_run_compared_with_its_own_rule_has_no_second_text(visitors) -> None:
    visitor = visitors().open(
        link(prompt="Once upon a time", rule="tokenwise", max_new_tokens=12, mode="free")
    )
    shown(visitor)
    assert not visitor.page.is_visible(".hf-beside")
    assert not (visitor.page.evaluate("window.__hsdBeside") or {}).get("second")


def test_several_drafts_are_compared_with_the_rule_that_takes_them_one_after_another(
    visitors,
) -> None:
    options = {name: value for name, value in TREE.items() if name != "prompt"}
    run = hsd.run(hsd.load_pair("tiny"), TREE["prompt"], **options)
    visitor = visitors().open(link(**TREE))
    shown(visitor)
    visitor.until("document.querySelectorAll('.hf-sums tbody tr').length === 2")
    found = sums(visitor)
    assert found["this run"][0].split()[0] == str(sum(step.kept for step in run.steps))
    assert found["on the same drafts"][0].split()[0] == str(
        sum(step.shadow.kept for step in run.steps)
    )


@pytest.mark.core
def test_a_live_run_streams_into_the_sums(visitors) -> None:
    visitor = visitors().open(link(preset="story"))
    visitor.set("prompt", "Once upon a time, there was a fox")
    visitor.set("max-new-tokens", "200")
    visitor.run()
    visitor.until("window.__hsd.live && window.__hsd.steps >= 2")
    visitor.until("document.querySelector('.hf-beside').innerText.includes('So far')")
    shown(visitor)
    visitor.until("!document.querySelector('.hf-beside').innerText.includes('So far')")
    assert sums(visitor)["this run"][3].endswith(f"in {visitor.state['steps']}")


# ---- each with its own text


@pytest.mark.core
def test_the_other_rule_writes_its_own_text_from_the_same_seed(visitors) -> None:
    trace = preset("story")
    options = trace["setup"]["options"]
    given = {**options["sampling"], "gamma": options["draft"]["gamma"]}
    given |= {name: options[name] for name in ("seed", "max_new_tokens")}
    other = hsd.run(hsd.load_pair("tiny"), trace["prompt"]["text"], rule="tokenwise", **given)
    visitor = visitors().open(link(preset="story"))
    each(visitor).click()
    ended(visitor)
    told = state(visitor)
    assert told["second"]["tokens"] == other.tokens
    own = [[c["token"] for c in step["committed"]] for step in trace["steps"]]
    theirs = [step.tokens for step in other.steps]
    parted = next(i for i in range(len(own)) if own[:i] != theirs[:i])
    assert told["parted"] == parted
    words = f"The rules part in step {parted + 1}: up to it they have the same text"
    assert words in visitor.page.inner_text(".hf-own")
    assert sums(visitor)["with its own text"][3].endswith(f" {len(other.tokens)} in {len(theirs)}")
    assert visitor.page.locator(".hf-texts .hp-group.is-parting").count() == 2
    texts = visitor.page.locator(".hf-texts .hp-flow").all_inner_texts()
    assert texts[0] != texts[1]


def test_a_token_of_the_other_text_shows_its_step_and_the_run_comes_back(visitors) -> None:
    visitor = visitors().open(link(preset="story", mode="free"))
    ended(visitor)
    parted = state(visitor)["parted"]

    def click(text: int, step: int) -> None:
        side = visitor.page.locator(".hf-texts .hp-text").nth(text)
        side.locator(f'.hp-group[data-step="{step}"] .hp-token').first.click()

    click(1, parted - 1)
    visitor.until(f"window.__hsd.step === {parted - 1} && !window.__hsdBeside.swapped")
    click(1, parted)
    visitor.until(f"window.__hsd.step === {parted} && window.__hsdBeside.swapped")
    assert "Vanilla" in visitor.page.inner_text(".hp-setup")
    visitor.until("location.search.includes('swap=1')")
    click(0, parted)
    visitor.until("!window.__hsdBeside.swapped")
    assert "HSD" in visitor.page.inner_text(".hp-setup")
    assert state(visitor)["second"]["state"] == "done"


def test_the_second_run_can_be_cancelled_and_what_there_is_of_it_stays(visitors) -> None:
    visitor = visitors().open(link(**LONG))
    shown(visitor)
    each(visitor).click()
    visitor.until("window.__hsdBeside.second?.tokens.length > 2")
    cancel = visitor.page.locator(".hf-beside").get_by_role("button", name="Cancel")
    cancel.click()
    ended(visitor, "cancelled")
    assert "was cancelled" in visitor.page.inner_text(".hf-beside")
    assert 0 < len(state(visitor)["second"]["tokens"]) < 160
    assert not cancel.is_visible()


def test_a_new_run_ends_the_second_run_and_gets_the_model(visitors) -> None:
    visitor = visitors().open(link(**LONG))
    shown(visitor)
    each(visitor).click()
    visitor.until("window.__hsdBeside.second?.tokens.length > 0")
    visitor.set("prompt", "Once upon a time, there was a fox")
    visitor.set("max-new-tokens", "12")
    visitor.run()
    visitor.until("document.querySelector('.hp-flow').innerText.includes('fox')")
    shown(visitor)
    ended(visitor)
    assert len(state(visitor)["second"]["tokens"]) <= 12


def test_a_trace_whose_pair_is_not_offered_here_says_why_it_has_no_second_run(
    visitors, tmp_path: Path
) -> None:
    trace = preset("story")
    trace["setup"]["pair"] = "qwen2.5-7b"
    file = tmp_path / "gpu.json"
    file.write_text(json.dumps(trace))
    visitor = visitors().open(link(preset="sum"))
    visitor.page.set_input_files(".hf-file", file)
    visitor.until(f"window.__hsd.steps === {len(trace['steps'])}")
    each(visitor).click()
    ended(visitor, "failed")
    line = visitor.page.locator(".hf-beside", has_text="There is no second run:")
    line.wait_for()
    each(visitor).click()
    visitor.until("!window.__hsdBeside.second")
    assert "There is no second run" not in visitor.page.inner_text(".hf-beside")
    assert set(sums(visitor)) == {"this run", "on the same drafts"}


@pytest.mark.recorded
def test_a_page_that_decodes_offers_a_second_run(visitors) -> None:
    visitor = visitors().open(link(tab="compare", preset="story"))
    assert each(visitor).is_visible()


@pytest.mark.parametrize("earlier", [{"tab": "compare", "length": 24}, {"max_new_tokens": 24}])
def test_the_link_of_both_texts_makes_both_runs_again(visitors, earlier) -> None:
    asked = {
        "prompt": "Once upon a time, there was a mole & a <b>hat</b>",
        "seed": "12345678901234567890",
    }
    visitor = visitors().open(link(**asked, **earlier, mode="free"))
    ended(visitor)
    visitor.page.locator(".hf-player").focus()
    visitor.page.keyboard.press("Home")
    visitor.page.keyboard.press("Shift+ArrowRight")
    visitor.until("location.search.includes('at_step=2&')")
    given = {name: values[0] for name, values in parse_qs(urlsplit(visitor.page.url).query).items()}
    assert (given["mode"], given["prompt"], given["seed"]) == ("free", *asked.values())
    assert "tab" not in given
    other = visitors().open("?" + urlsplit(visitor.page.url).query)
    ended(other)
    other.until("window.__hsd.step === 1")
    assert state(other) == state(visitor)


def test_hostile_tokens_are_only_text_in_both_texts(visitors, tmp_path: Path) -> None:
    trace = preset("story")
    parts = [
        c
        for step in trace["steps"]
        for c in [*step["committed"], *step["nodes"], step["shadow"]["next"]]
        if c
    ]
    for i, part in enumerate(parts):
        part["piece"] = HOSTILE[i % len(HOSTILE)]
    trace["setup"]["pair"] = trace["setup"]["options"]["rule"] = HOSTILE[0]
    for step in trace["steps"]:
        step["verdict"]["rule"] = HOSTILE[0]
    file = tmp_path / "hostile.json"
    file.write_text(json.dumps(trace))
    visitor = visitors().open(link(preset="sum"))
    visitor.page.set_input_files(".hf-file", file)
    visitor.until(f"window.__hsd.steps === {len(trace['steps'])}")
    each(visitor).click()
    ended(visitor, "failed")
    assert "onerror" in visitor.page.inner_text(".hf-texts")
    assert "onerror" in visitor.page.inner_text(".hf-sums")
    assert visitor.page.evaluate("window.hacked") is None
    assert visitor.page.locator(".hf-beside :is(img, script)").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_both_texts_without_sideways_scrolling(visitors, scheme) -> None:
    visitor = visitors(width=390, color_scheme=scheme).open(link(preset="sum", mode="free"))
    ended(visitor)
    for part in (".hf-beside", ".hf-texts"):
        box = visitor.page.locator(part).bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
    assert visitor.page.evaluate("document.documentElement.scrollWidth") <= 390
