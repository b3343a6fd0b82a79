"""The Compare screen in a browser: two rules on the same drafts and coins, and two runs side by side."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

import hsd
from hsd.paths import EXAMPLES

READY = "window.__hsdCompare && window.__hsdCompare.ready"
TREE = {"prompt": "Once upon a time, there was a little girl", "rule": "traversal", "drafts": 4, "gamma": 4,
        "temperature": 0.9, "seed": 5, "length": 40}  # fmt: skip
LONG = {"prompt": "Once upon a time", "gamma": "1", "length": "256", "temperature": "1", "seed": "3"}
SUPERSCRIPTS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")


def preset(name: str) -> dict:
    return json.loads((EXAMPLES / "traces" / f"{name}.json").read_text())


def compare(visitor, query: dict):
    """Open the Compare tab by a link and wait until something is drawn there."""
    visitor.open("?" + urlencode({"tab": "compare", **query}))
    visitor.until(f"{READY} && window.__hsdCompare.steps[0] > 0")
    return visitor


def state(visitor) -> dict:
    return visitor.page.evaluate("window.__hsdCompare")


def at(visitor, step: int) -> None:
    visitor.until(f"window.__hsdCompare.step === {step}")


def ended(visitor) -> None:
    """Wait for the second run."""
    visitor.until("window.__hsdCompare.second && window.__hsdCompare.second.state === 'done'")


def number(text: str) -> float:
    """A number as the page shows it."""
    mantissa, _, exponent = text.partition("·10")
    return float(mantissa) * 10.0 ** int(exponent.translate(SUPERSCRIPTS) or 0)


def shows(text: str, value: float) -> bool:
    """Whether two digits or more of `value` are what the text says."""
    return number(text) == pytest.approx(value, rel=0.051)


def kept_more(trace: dict) -> list[int]:
    return [i for i, step in enumerate(trace["steps"]) if step["kept"] > step["shadow"]["kept"]]


def next_token(step: dict) -> int | None:
    return step["committed"][step["kept"]]["token"] if step["kept"] < len(step["committed"]) else None


def different(step: dict) -> bool:
    """Whether the two rules leave a single draft's step with different tokens."""
    after = (step["shadow"]["next"] or {}).get("token")
    return step["kept"] != step["shadow"]["kept"] or next_token(step) != after


def table(visitor) -> dict[str, list[str]]:
    """The totals, by line: what is said of A and of B."""
    rows = visitor.page.locator(".cp-table tbody tr").all()
    return {row.get_attribute("data-line"): row.locator("td").all_inner_texts() for row in rows}


# ---- paired


@pytest.mark.core
@pytest.mark.parametrize("name", ["story", "sum", "long-draft"])
@pytest.mark.recorded
def test_steps_where_hsd_keeps_more_each_have_their_sentence_with_the_numbers_of_the_trace(visitors, name):
    trace = preset(name)
    visitor = compare(visitors(), {"preset": name})
    assert kept_more(trace)
    for i in kept_more(trace):
        visitor.page.click(f'.cp-cell[data-step="{i}"]')
        at(visitor, i)
        step, sentence = trace["steps"][i], state(visitor)["sentence"]
        failed = next(d for d in step["shadow"]["decisions"] if not d["accepted"])
        told = re.match(r"Vanilla stops at token (\d+) .*?coin (\S+) is not below (\S+), and keeps (\w+);", sentence)
        assert int(told[1]) == failed["node"]
        assert shows(told[2], failed["coin"])
        assert shows(told[3], failed["threshold"])
        assert told[4] == (str(step["shadow"]["kept"]) if step["shadow"]["kept"] else "none")
        first, last = step["verdict"]["decisions"][0], step["verdict"]["decisions"][-1]
        coin = re.search(r"the coin (\S+) is (?:not )?below that", sentence)
        assert coin is None or shows(coin[1], first["coin"])
        assert coin or first["threshold"] >= 1
        amount = "all" if step["kept"] == step["drafted"] else str(step["kept"])
        assert f"keeps {amount}" in sentence.split(";", 1)[1]
        where = re.search(r"where the coin (\S+) is below ([^\s.]+\.\d+)", sentence)
        assert where is None or (shows(where[1], last["coin"]) and shows(where[2], last["threshold"]))
        assert sentence.count(".\x20") == 0  # one sentence


@pytest.mark.recorded
def test_the_badge_of_a_step_says_who_keeps_more_and_how_many(visitors):
    trace = preset("long-draft")
    visitor = compare(visitors(), {"preset": "long-draft"})
    badges = visitor.page.locator(".cp-cell .cp-badge").all_inner_texts()
    for step, badge in zip(trace["steps"], badges, strict=True):
        more = step["kept"] - step["shadow"]["kept"]
        same = "≠" if different(step) else ""
        assert badge == (f"A +{more}" if more > 0 else f"B +{-more}" if more else same)


@pytest.mark.recorded
def test_next_and_previous_difference_by_key_and_by_button(visitors):
    trace = preset("sum")
    places = [i for i, step in enumerate(trace["steps"]) if different(step)]
    visitor = compare(visitors(), {"preset": "sum", "step": 0})
    visitor.page.locator(".hsd-compare").focus()
    visitor.page.keyboard.press("End")
    at(visitor, len(trace["steps"]) - 1)
    for i in reversed([p for p in places if p < len(trace["steps"]) - 1]):
        visitor.page.keyboard.press("p")
        at(visitor, i)
    visitor.page.keyboard.press("Home")
    at(visitor, 0)
    visitor.page.get_by_role("button", name="next difference").click()
    at(visitor, next(p for p in places if p > 0))


@pytest.mark.recorded
def test_the_totals_are_those_of_the_trace(visitors):
    trace = preset("long-draft")
    steps = trace["steps"]
    table_ = table(compare(visitors(), {"preset": "long-draft"}))
    shadows = [step["shadow"] for step in steps]
    tokens = [sum(len(s["committed"]) for s in steps), sum(s["kept"] + bool(s["next"]) for s in shadows)]
    more = sum(s["kept"] > s["shadow"]["kept"] for s in steps), sum(s["kept"] < s["shadow"]["kept"] for s in steps)
    assert table_["drafted tokens kept"] == [str(sum(s["kept"] for s in steps)), str(sum(s["kept"] for s in shadows))]
    law = [sum(s["expected_kept"][rule] for s in steps if s["drafted"]) for rule in ("hsd", "tokenwise")]
    assert [float(x) for x in table_["over all coins, of the same drafts"]] == pytest.approx(law, rel=5e-3)
    assert table_[f"of {len(steps)} steps: keeps more in"] == [str(n) for n in more]
    assert table_["as many in"] == [str(len(steps) - sum(more))] * 2
    assert table_["tokens gained"] == [str(n) for n in tokens]
    assert [float(x) for x in table_["tokens per target call"]] == pytest.approx(
        [n / len(steps) for n in tokens], rel=5e-3
    )


def telling(trace: dict) -> int:
    """The first step of which A keeps more of five drafted tokens than B."""
    steps = enumerate(trace["steps"])
    return next(i for i, step in steps if step["drafted"] == 5 and step["kept"] > step["shadow"]["kept"])


@pytest.mark.recorded
def test_each_row_says_what_its_rule_keeps_of_the_draft_over_all_coins(visitors):
    trace = preset("story")
    at_step = telling(trace)
    step = trace["steps"][at_step]
    visitor = compare(visitors(), {"preset": "story", "step": at_step})
    at(visitor, at_step)
    said = visitor.page.locator(".cp-outcome .cp-average").all_inner_texts()
    for text, judged in zip(said, ("verdict", "shadow"), strict=True):
        assert text.endswith("on average over all coins")
        assert shows(text.split()[1], step["expected_kept"][step[judged]["rule"]])


@pytest.mark.recorded
def test_swapping_changes_the_rows_their_numbers_and_the_badges(visitors):
    trace = preset("story")
    at_step = telling(trace)
    step = trace["steps"][at_step]
    more = step["kept"] - step["shadow"]["kept"]
    visitor = compare(visitors(), {"preset": "story", "step": at_step})
    visitor.until(f"window.__hsdCompare.step === {at_step}")
    before = table(visitor)["drafted tokens kept"], visitor.page.locator(".cp-row .cp-title").all_inner_texts()
    assert f"A +{more}" in visitor.page.locator(".cp-badge").all_inner_texts()
    sentence = state(visitor)["sentence"]
    visitor.page.get_by_role("button", name="Swap").click()
    visitor.until("window.__hsdCompare.swapped")
    after = table(visitor)["drafted tokens kept"], visitor.page.locator(".cp-row .cp-title").all_inner_texts()
    assert after == (before[0][::-1], before[1][::-1])
    badge = visitor.page.locator(f'.cp-cell[data-step="{at_step}"] .cp-badge')
    assert badge.inner_text() == f"B +{more}"
    outcome = visitor.page.locator('[data-row="A"] .cp-outcome').inner_text()
    assert outcome.startswith(f"keeps {step['shadow']['kept']} of 5")
    assert state(visitor)["sentence"] == sentence
    assert state(visitor)["step"] == at_step


@pytest.mark.recorded
def test_the_same_token_stands_at_the_same_place_and_is_selected_in_both_rows(visitors):
    visitor = compare(visitors(), {"preset": "story", "step": telling(preset("story"))})
    left = """letter => [...document.querySelectorAll(`[data-row="${letter}"] .hp-node.is-draft`)]
        .map(node => Math.round(node.getBoundingClientRect().left))"""
    assert len(visitor.page.evaluate(left, "A")) == 5
    assert visitor.page.evaluate(left, "A") == visitor.page.evaluate(left, "B")
    visitor.page.locator('[data-row="A"] .hp-node[data-node="2"]').click()
    visitor.until("window.__hsdCompare.nodes.join() === '2,2'")
    visitor.page.locator('[data-row="B"] .hp-node[data-node="3"]').click()
    visitor.until("window.__hsdCompare.nodes.join() === '3,3'")
    assert visitor.page.locator('[data-row="A"] .hp-node.is-active').get_attribute("data-node") == "3"


@pytest.mark.recorded
def test_a_branch_that_is_pinned_in_one_row_stays_selected_in_both(visitors):
    visitor = compare(visitors(), {"preset": "story", "step": 0})
    visitor.page.locator('[data-row="B"] .hp-node[data-node="2"]').click()
    visitor.page.keyboard.press("Enter")
    visitor.page.keyboard.press("ArrowRight")
    visitor.until("window.__hsdCompare.step === 1 && window.__hsdCompare.nodes.join() === '2,2'")


@pytest.mark.recorded
def test_the_step_can_be_opened_in_watch(visitors):
    trace = preset("story")
    at_step, *further = [i for i, step in enumerate(trace["steps"]) if different(step)]
    visitor = compare(visitors(), {"preset": "story", "step": at_step})
    visitor.page.locator(".hsd-compare").focus()
    visitor.page.keyboard.press("n")
    at(visitor, further[0])
    visitor.page.locator('[data-row="B"] .hp-node[data-node="1"]').click()
    visitor.page.get_by_role("button", name="Open this step in Watch").click()
    place = f"step {further[0] + 1}/{len(trace['steps'])}"
    visitor.page.locator("#hsd-stage .hp-place", has_text=place).wait_for(state="visible")
    assert visitor.page.evaluate("hsdPage.call('watch', 'place').node") == 1


def test_two_rules_of_the_same_law_never_differ_and_the_page_says_why(visitors):
    link = {"prompt": "Once upon a time", "rule": "hsd", "shadow": "blockwise", "length": "32", "seed": "4"}
    visitor = compare(visitors(), link)
    visitor.until("!window.__hsdCompare.live")
    assert "the same law" in state(visitor)["sentence"]
    assert set(visitor.page.locator(".cp-badge").all_inner_texts()) == {""}
    assert visitor.page.get_by_role("button", name="next difference").is_disabled()


def test_the_cap_is_why_hsd_as_released_keeps_more(visitors):
    recorded = preset("released")
    options = {
        "rule": "hsd-released",
        "shadow": "hsd",
        "gamma": 5,
        "temperature": 0.7,
        "seed": recorded["setup"]["options"]["seed"],
    }
    prompt = recorded["prompt"]["text"]
    run = hsd.run(hsd.load_pair("tiny"), prompt, max_new_tokens=64, **options)
    found = [i for i, step in enumerate(run.steps) if step.kept > step.shadow.kept]
    visitor = compare(visitors(), {"prompt": prompt, "length": 64, **options})
    visitor.until("!window.__hsdCompare.live")
    assert found
    for i in found:
        visitor.page.click(f'.cp-cell[data-step="{i}"]')
        at(visitor, i)
        step, sentence = run.steps[i], state(visitor)["sentence"]
        told = re.search(
            r"counted from its best point, .* only ([\d.·⁻⁰-⁹]+) times, and the coin (\S+) is not below that", sentence
        )
        assert shows(told[1], step.shadow.decisions[0].threshold)
        assert shows(told[2], step.verdict.decisions[0].coin)
    assert visitor.page.locator('[data-row="A"] .cp-lossless').inner_text() == "✕ not lossless"
    assert visitor.page.locator('[data-row="B"] .cp-lossless').inner_text() == "✓ lossless"


def test_equal_counts_with_another_next_token_are_explained_by_the_residuals(visitors):
    link = {"prompt": TREE["prompt"], "rule": "hsd", "gamma": 5, "temperature": 0.9, "seed": 3, "length": 120}
    options = {
        "max_new_tokens" if name == "length" else name: value for name, value in link.items() if name != "prompt"
    }
    run = hsd.run(hsd.load_pair("tiny"), link["prompt"], **options)
    steps = json.loads(run.to_json())["steps"]
    i = next(i for i, s in enumerate(steps) if s["kept"] == s["shadow"]["kept"] and different(s))
    visitor = compare(visitors(), link)
    visitor.until("!window.__hsdCompare.live")
    visitor.page.click(f'.cp-cell[data-step="{i}"]')
    at(visitor, i)
    told = state(visitor)
    assert told["kind"] == "next"
    assert f"Both keep {steps[i]['kept'] or 'none'}" in told["sentence"]
    weight = re.search(r"max\((\S+?)·p − q, 0\)", told["sentence"])
    assert shows(weight[1], steps[i]["verdict"]["residual"]["weight"])
    assert "max(p − q, 0)" in told["sentence"]


def test_several_drafts_by_traversal_beside_draft_after_draft(visitors):
    options = {
        "max_new_tokens" if name == "length" else name: value for name, value in TREE.items() if name != "prompt"
    }
    run = hsd.run(hsd.load_pair("tiny"), TREE["prompt"], **options)
    differing = [i for i, step in enumerate(run.steps) if step.kept != step.shadow.kept]
    visitor = compare(visitors(), TREE)
    visitor.until("!window.__hsdCompare.live")
    assert visitor.page.locator(".cp-row .cp-title").all_inner_texts() == [
        "Traversal, leaf to root", "Draft after draft: Vanilla, token-wise"]  # fmt: skip
    assert differing
    for i in differing:
        visitor.page.click(f'.cp-cell[data-step="{i}"]')
        at(visitor, i)
        sentence = state(visitor)["sentence"]
        step = run.steps[i]
        for way, kept in (("from the leaves to the root", step.kept), ("drafts one after another", step.shadow.kept)):
            told = sentence[sentence.index(way) :]
            assert re.search(r"keeps (\d+|none)", told)[1] == (str(kept) if kept else "none")
        asked = re.search(r"has only the threshold (\S+), and the coin (\S+) is not below it", sentence)
        failed = [(d.threshold, d.coin) for d in step.verdict.decisions if not d.accepted]
        assert asked is None or any(shows(asked[1], t) and shows(asked[2], c) for t, c in failed)
        for letter, kept in (("A", step.kept), ("B", step.shadow.kept)):
            assert visitor.page.locator(f'[data-row="{letter}"] .cp-outcome').inner_text().startswith(f"keeps {kept}")
            assert visitor.page.locator(f'[data-row="{letter}"] .hp-node.is-draft.is-kept').count() == kept


def test_a_live_run_streams_into_both_rows(visitors):
    visitor = compare(visitors(), {"preset": "story"})
    visitor.set("prompt", "Once upon a time, there was a fox")
    visitor.run()
    visitor.until("window.__hsdCompare.live && window.__hsdCompare.steps[0] >= 2")
    early = state(visitor)["steps"]
    assert early[0] == early[1]
    visitor.until("!window.__hsdCompare.live")
    assert state(visitor)["steps"][0] > early[0]
    assert state(visitor)["steps"][0] == state(visitor)["steps"][1]
    assert "fox" in visitor.page.evaluate("hsdPage.call('watch', 'trace').prompt.text")


# ---- free


def test_free_lets_the_other_rule_write_its_own_text_from_the_same_seed(visitors):
    trace = preset("story")
    options = trace["setup"]["options"]
    names = ("seed", "max_new_tokens")
    given = {**options["sampling"], "gamma": options["draft"]["gamma"], **{name: options[name] for name in names}}
    other = hsd.run(hsd.load_pair("tiny"), trace["prompt"]["text"], rule="tokenwise", **given)
    visitor = compare(visitors(), {"preset": "story"})
    visitor.page.get_by_role("button", name="Free").click()
    ended(visitor)
    told = state(visitor)
    assert told["second"]["tokens"] == other.tokens
    own = [[c["token"] for c in step["committed"]] for step in trace["steps"]]
    theirs = [step.tokens for step in other.steps]
    parted = next(i for i in range(len(own)) if own[:i] != theirs[:i])
    assert told["parted"] == parted
    assert f"The rules part in step {parted}: up to it they have the same text" in visitor.page.inner_text(".cp-note")
    totals = table(visitor)
    assert totals["tokens"] == [str(sum(map(len, own))), str(len(other.tokens))]
    assert totals["target calls"] == [str(len(own)), str(len(theirs))]
    assert visitor.page.locator(".cp-texts .hp-group.is-parting").count() == 2
    texts = visitor.page.locator(".cp-texts .hp-flow").all_inner_texts()
    assert texts[0] != texts[1]


def test_free_shows_the_longer_text_to_its_end(visitors):
    visitor = compare(visitors(), {"preset": "sum", "mode": "free"})
    ended(visitor)
    lengths = state(visitor)["steps"]
    assert lengths[0] != lengths[1]
    visitor.page.locator(".hsd-compare").focus()
    visitor.page.keyboard.press("End")
    at(visitor, max(lengths) - 1)
    shorter = "AB"[lengths.index(min(lengths))]
    assert f"ended at step {min(lengths)}" in visitor.page.inner_text(f'[data-row="{shorter}"] .cp-role')


def test_the_second_run_can_be_cancelled_and_what_there_is_of_it_stays(visitors):
    visitor = compare(visitors(), LONG | {"length": "160"})
    visitor.until("!window.__hsdCompare.live")
    visitor.page.get_by_role("button", name="Free").click()
    visitor.until("window.__hsdCompare.second && window.__hsdCompare.second.tokens.length > 2")
    visitor.page.click(".cp-cancel")
    visitor.until("window.__hsdCompare.second.state === 'cancelled'")
    assert "was cancelled" in visitor.page.inner_text(".hsd-compare .hp-notice")
    assert 0 < len(state(visitor)["second"]["tokens"]) < 160
    assert not visitor.page.is_visible(".cp-cancel")


def test_a_new_run_ends_the_second_run_and_gets_the_model(visitors):
    visitor = compare(visitors(), LONG | {"length": "160"})
    visitor.until("!window.__hsdCompare.live")
    visitor.page.get_by_role("button", name="Free").click()
    visitor.until("window.__hsdCompare.second && window.__hsdCompare.second.tokens.length > 0")
    visitor.set("prompt", "Once upon a time, there was a fox")
    visitor.set("length", "12")
    visitor.run()
    visitor.until("!window.__hsdCompare.live && hsdPage.call('watch', 'trace').prompt.text.includes('fox')")
    ended(visitor)
    assert len(state(visitor)["second"]["tokens"]) <= 12


def test_a_trace_whose_pair_is_not_offered_here_is_paired_and_says_why_it_cannot_be_free(visitors, tmp_path: Path):
    trace = preset("story")
    trace["setup"]["pair"] = "qwen2.5-7b"
    file = tmp_path / "gpu.json"
    file.write_text(json.dumps(trace))
    visitor = compare(visitors(), {"preset": "sum"})
    visitor.page.set_input_files(".hf-file", file)
    visitor.until(f"window.__hsdCompare.steps[0] === {len(trace['steps'])}")
    assert table(visitor)["target calls"] == [str(len(trace["steps"]))] * 2
    visitor.page.get_by_role("button", name="Free").click()
    visitor.until("window.__hsdCompare.second && window.__hsdCompare.second.state === 'failed'")
    words = visitor.page.inner_text(".hsd-compare .hp-notice")
    assert "Free needs a second run, which cannot be made here" in words
    assert "\n" not in words
    visitor.page.get_by_role("button", name="Paired").click()
    visitor.until("window.__hsdCompare.mode === 'paired'")
    assert not visitor.page.is_visible(".hsd-compare .hp-notice")


# ---- links, empty states, strangers


@pytest.mark.recorded
def test_the_link_of_a_paired_view_opens_it_again(visitors):
    found = next(i for i, step in enumerate(preset("sum")["steps"]) if i and different(step))
    visitor = compare(visitors(), {"preset": "sum", "step": found - 1})
    visitor.page.locator(".hsd-compare").focus()
    visitor.page.keyboard.press("n")
    at(visitor, found)
    visitor.page.locator('[data-row="A"] .hp-node[data-node="1"]').click()
    visitor.page.get_by_role("button", name="Swap").click()
    visitor.until(f"location.search.includes('step={found}&node=1') && location.search.includes('swap=1')")
    asked = parse_qs(urlsplit(visitor.page.url).query)
    assert (asked["tab"], asked["mode"], asked["preset"]) == (["compare"], ["paired"], ["sum"])
    other = visitors().open("?" + urlsplit(visitor.page.url).query)
    other.until(f"{READY} && window.__hsdCompare.step === {found} && window.__hsdCompare.nodes.join() === '1,1'")
    assert state(other) == state(visitor)


def test_the_link_of_a_free_view_makes_both_runs_again(visitors):
    link = {
        "prompt": "Once upon a time, there was a mole & a <b>hat</b>",
        "seed": "12345678901234567890",
        "length": "24",
    }
    visitor = compare(visitors(), link | {"mode": "free"})
    ended(visitor)
    visitor.page.locator(".hsd-compare").focus()
    visitor.page.keyboard.press("End")
    last = max(state(visitor)["steps"]) - 1
    at(visitor, last)
    visitor.until(f"location.search.includes('step={last}&')")
    asked = {name: values[0] for name, values in parse_qs(urlsplit(visitor.page.url).query).items()}
    assert (asked["mode"], asked["prompt"], asked["seed"]) == ("free", link["prompt"], link["seed"])
    other = visitors().open("?" + urlsplit(visitor.page.url).query)
    ended(other)
    at(other, last)
    assert state(other) == state(visitor)


@pytest.mark.recorded
def test_plain_decoding_says_that_there_is_nothing_to_compare(visitors):
    visitor = visitors().open("?tab=compare&preset=plain")
    visitor.page.locator(".hsd-compare .hp-notice", has_text="nothing to compare").wait_for()
    assert not visitor.page.is_visible(".cp-body")
    visitor.page.locator(".hsd-compare").focus()
    for key in ("n", "End", "Space", "ArrowLeft"):  # which have nothing to move through
        visitor.page.keyboard.press(key)
    visitor.choose("preset", "Story: HSD")
    visitor.page.locator(".cp-why").wait_for()
    assert not visitor.page.is_visible(".hsd-compare .hp-notice")


def test_a_run_compared_with_its_own_rule_says_what_to_do(visitors):
    visitor = compare(visitors(), {"prompt": "Once upon a time", "rule": "tokenwise", "length": "12"})
    visitor.until("!window.__hsdCompare.live")
    assert "choose another rule at “Compared with”" in state(visitor)["sentence"]
    visitor.page.get_by_role("button", name="Free").click()
    visitor.page.locator(".hsd-compare .hp-notice", has_text="Both rows would be vanilla").wait_for()
    assert state(visitor)["second"] is None


@pytest.mark.core
@pytest.mark.recorded
def test_hostile_tokens_are_only_text(visitors, tmp_path: Path):
    trace = preset("story")
    hostile = [
        "<img src=x onerror='window.hacked=1'>",
        "${window.hacked=1}",
        "{{value}}",
        "</script><script>window.hacked=1</script>",
    ]
    parts = [c for step in trace["steps"] for c in [*step["committed"], *step["nodes"], step["shadow"]["next"]] if c]
    for i, part in enumerate(parts):
        part["piece"] = hostile[i % len(hostile)]
    trace["setup"]["pair"] = trace["setup"]["options"]["rule"] = hostile[0]
    for step in trace["steps"]:
        step["verdict"]["rule"] = hostile[0]
    file = tmp_path / "hostile.json"
    file.write_text(json.dumps(trace))
    visitor = compare(visitors(), {"preset": "sum"})
    visitor.page.set_input_files(".hf-file", file)
    visitor.until(f"window.__hsdCompare.steps[0] === {len(trace['steps'])}")
    visitor.page.locator(".hsd-compare").focus()
    for _ in range(8):
        visitor.page.keyboard.press("ArrowRight")
    assert "onerror" in visitor.page.inner_text(".hsd-compare")
    if not visitor.files:
        visitor.page.get_by_role("button", name="Free").click()
        visitor.until("window.__hsdCompare.second && window.__hsdCompare.second.state === 'failed'")
    assert visitor.page.evaluate("window.hacked") is None
    assert visitor.page.locator(".hsd-compare img, .hsd-compare script").count() == 0


def test_keys_mean_nothing_while_someone_types(visitors):
    visitor = compare(visitors(), {"preset": "story", "step": 5})
    visitor.page.locator("#hsd-prompt textarea").focus()
    visitor.page.keyboard.press("Home")
    visitor.page.keyboard.type("n p ")
    assert state(visitor)["step"] == 5


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_everything_without_sideways_scrolling(visitors, scheme):
    visitor = compare(visitors(width=390, color_scheme=scheme), {"preset": "sum", "mode": "free"})
    ended(visitor)
    for part in (
        ".cp-tools .hp-segments",
        ".cp-cells",
        ".cp-why",
        '[data-row="A"]',
        '[data-row="B"]',
        ".cp-texts",
        ".cp-table",
        ".cp-watch",
    ):
        box = visitor.page.locator(part).first.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
    assert visitor.page.evaluate("document.documentElement.scrollWidth") <= 390
    visitor.page.get_by_role("button", name="Paired").click()
    visitor.until("window.__hsdCompare.mode === 'paired'")
    assert visitor.page.evaluate("document.documentElement.scrollWidth") <= 390
