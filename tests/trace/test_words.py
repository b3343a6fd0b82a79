"""A step in words: every recorded step can be told, its numbers are the record's, and no coin is taken for a law."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from example_script import EXAMPLES

from hsd import RULES, Pair, run
from hsd.cli import main
from hsd.errors import HsdError
from hsd.facts import facts
from hsd.trace import Step, Trace, step_in_words
from hsd.trace.words import SAME

RECORDED = sorted((EXAMPLES / "traces").glob("*.json"))
KNOWN = facts()
SHORT = {rule["name"]: rule["short"] for rule in KNOWN["rules"]}
NUMBER = r"[−0-9.·⁻⁰¹²³⁴⁵⁶⁷⁸⁹]*[0-9⁰¹²³⁴⁵⁶⁷⁸⁹]"
TEST = re.compile(rf"(passed|failed): (?:p|coin|no coin can (?:pass|fail)) ?({NUMBER})?, (?:bar|threshold) ({NUMBER})")
SURE = re.compile(r"Whatever the coins, .+ keeps the whole of this draft; .+ keeps (\S+) of it on average\.")
LAW = re.compile(
    rf"^Over all coins (\S.*?) keeps? ({NUMBER}) of th[a-z]+ drafts? on average(?: and (.+?) ({NUMBER}))?[:.]"
)


def value(text: str) -> float:
    """A number as a sentence has it: 0.12, or 1.2·10⁻⁵."""
    return float(text.replace("·10", "e").translate(str.maketrans("−⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "--0123456789")))


def near(text: str, number: float) -> bool:
    return value(text) == pytest.approx(number, rel=0.06, abs=1e-300)


@pytest.mark.parametrize("file", RECORDED, ids=lambda file: file.stem)
def test_every_recorded_step_is_told_with_the_numbers_of_its_record(file: Path):
    trace = Trace.from_file(file)
    for step in trace.steps:
        text = step_in_words(trace, step.index, KNOWN)
        assert text.startswith(f"Step {step.index} (the steps are 0 to {len(trace.steps) - 1}).\n")
        if step.verdict is None or not step.drafted:
            assert len(text.splitlines()) < 5
            continue
        lines = [line for line in text.splitlines() if line.startswith("- ")]
        made = list(step.verdict.decisions)
        if step.shadow and step.shadow.rule != step.verdict.rule:
            made += step.shadow.decisions
        assert len(lines) == len(made)
        for line, decision in zip(lines, made, strict=True):
            outcome, coin, threshold = TEST.search(line).groups()  # type: ignore[union-attr]
            assert outcome == ("passed" if decision.accepted else "failed")
            assert near(threshold, decision.threshold)
            assert coin is None or near(coin, decision.coin)
            assert coin is None or (value(coin) < value(threshold)) is decision.accepted
            assert (coin is None) is (decision.threshold in (0, 1))
        assert f"\nKept {step.kept} of " in text
        assert text.count("the target becomes") >= sum(change.mass > 0 for change in step.verdict.changes) * (
            step.verdict.rule != "one-hot"
        )
        assert_law(step, text, trace.setup.options.sampling.temperature == 0)


def assert_law(step: Step, text: str, greedy: bool) -> None:
    """What holds over all coins is told as recorded; of a difference between two coins nothing is made."""
    own, shadow = step.verdict, step.shadow
    assert own
    if greedy:
        assert "At temperature 0 nothing is left to chance." in text
        assert not re.search(r"coin (was|is) ", text)
        return
    sure = next(filter(None, map(SURE.match, text.splitlines())), None)
    if sure:
        assert shadow
        assert near(sure[1], step.expected_kept[shadow.rule])
        assert step.kept == step.drafted == pytest.approx(step.expected_kept[own.rule])
        return
    found = next(filter(None, map(LAW.match, text.splitlines())), None)
    assert found, text
    assert near(found[2], step.expected_kept[own.rule])
    if shadow is None or shadow.rule == own.rule:
        assert found[3] is None
        return
    assert f"{SHORT[shadow.rule]} would have kept " in text
    gap = step.expected_kept[own.rule] - step.expected_kept[shadow.rule]
    if abs(gap) < SAME:
        assert found[1] == "both"
        assert ("is luck" in text) is (own.kept != shadow.kept)
    else:
        assert near(found[4], step.expected_kept[shadow.rule])
        assert ("is luck" in text) is ((own.kept - shadow.kept) * gap < 0)


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_has_words_for_where_its_thresholds_come_from(rule: str, byte_pair: Pair):
    trace = run(byte_pair, "Once upon a time", rule=rule, gamma=4, seed=5, max_new_tokens=12, shadow="hsd")
    for step in trace.steps:
        assert "by the test" not in step_in_words(trace, step.index, KNOWN)


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_that_is_not_lossless_is_said_to_be_so_in_every_step(rule: str, byte_pair: Pair):
    trace = run(byte_pair, "Once upon a time", rule=rule, gamma=4, seed=5, max_new_tokens=12)
    for step in trace.steps[:-1]:
        text = step_in_words(trace, step.index, KNOWN)
        assert ("\nNot lossless: " in text) is not RULES[rule].lossless
        assert (", which is not lossless, tests " in text) is not RULES[rule].lossless


def changed(name: str, change: Any, step: int = 0) -> str:
    """The words about a step of a recorded trace whose record is changed first."""
    data = json.loads((EXAMPLES / "traces" / f"{name}.json").read_bytes())
    change(data["steps"][step])
    return step_in_words(Trace.from_json(json.dumps(data)), step, KNOWN)


def test_more_kept_by_the_rule_with_the_smaller_average_is_called_luck():
    def swap(step: dict[str, Any]) -> None:
        law = step["expected_kept"]
        law["hsd"], law["tokenwise"] = law["tokenwise"], law["hsd"]

    assert ": this time the coins made it 9 more." in changed("long-draft", lambda step: None)
    assert ": that it fell out the other way this time is luck." in changed("long-draft", swap)


def test_without_an_average_nothing_is_said_of_luck_or_law():
    text = changed("long-draft", lambda step: step.update(expected_kept={}, kept_law={}))
    assert "one step does not tell luck from law" in text
    assert "Over all coins" not in text


def test_a_test_of_a_form_that_is_not_known_is_told_by_its_numbers():
    def newer(step):
        for decision in step["verdict"]["decisions"]:
            decision["grounds"]["form"] = "newer"

    text = changed("vanilla", newer)
    assert re.search(r"token 1, “[^”]+”, (passed|failed): .+, by the test newer with p = ", text)


def test_hostile_text_stays_on_its_line_and_short():
    data = json.loads((EXAMPLES / "traces" / "paris.json").read_bytes())
    hostile = "\n- Kept: 9 of 9.\r"
    data["steps"][0]["nodes"][0]["piece"] = hostile * 20
    data["steps"][0]["shadow"]["rule"] = data["steps"][0]["verdict"]["rule"] + hostile
    data["setup"]["notes"] = [hostile]
    text = step_in_words(Trace.from_json(json.dumps(data)), 0, KNOWN)
    assert "9 of 9" in text
    assert not re.search(r"^\W*Kept: 9", text, re.MULTILINE)
    assert max(map(len, text.splitlines())) < 900


@pytest.mark.parametrize("index", [-1, 10_000])
def test_a_step_that_is_not_there_is_said_in_one_line(index: int):
    trace = Trace.from_file(RECORDED[0])
    with pytest.raises(HsdError, match=rf"no step {index}: its steps are 0 to {len(trace.steps) - 1}"):
        step_in_words(trace, index)


def test_the_command_explains_a_saved_step(capsys: pytest.CaptureFixture[str]):
    file = EXAMPLES / "traces" / "paris.json"
    assert main(["explain", str(file), "--step", "2"]) == 0
    assert capsys.readouterr().out == step_in_words(Trace.from_file(file), 2, KNOWN) + "\n"
    assert main(["explain", str(file), "--step", "9999"]) == 2
    assert main(["explain", "no-such-file.json"]) == 2
    assert "cannot read 'no-such-file.json': No such file" in capsys.readouterr().err
