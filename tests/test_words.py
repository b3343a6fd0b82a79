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
from hsd.facts import short
from hsd.trace import Step, Trace, step_in_words, why
from hsd.trace import words as told

RECORDED = sorted((EXAMPLES / "traces").glob("*.json"))
TEST = re.compile(r"(passed|failed): coin ([^,]+), threshold ([0-9.e+-]*[0-9])")
LAW = re.compile(r"on average over all coins: (.+?) ([0-9.e+-]+)(?:, (.+?) ([0-9.e+-]+))?\. ")


def near(text: str, number: float) -> bool:
    return float(text) == pytest.approx(number, rel=0.006, abs=1e-300)


@pytest.mark.parametrize("file", RECORDED, ids=lambda file: file.stem)
def test_every_recorded_step_is_told_with_the_numbers_of_its_record(file: Path):
    trace = Trace.from_file(file)
    for step in trace.steps:
        text = step_in_words(trace, step.index, short)
        assert text.startswith(f"Step {step.index} (the steps are 0 to {len(trace.steps) - 1}).\n")
        if step.verdict is None or not step.drafted:
            assert len(text.splitlines()) < 4
            continue
        lines = [line for line in text.splitlines() if line.startswith("- ") and "further test" not in line]
        made = step.verdict.decisions
        assert len(lines) == len(made) if len(made) <= told.SHOWN else len(lines) == told.SHOWN
        half = len(lines) - 3
        kept_ones = made if len(made) == len(lines) else [*made[:half], *made[-3:]]
        for line, decision in zip(lines, kept_ones, strict=True):
            outcome, coin, threshold = TEST.search(line).groups()  # type: ignore[union-attr]
            assert outcome == ("passed" if decision.accepted else "failed")
            assert near(coin, decision.coin)
            assert near(threshold, decision.threshold)
            assert (float(coin) < float(threshold)) is decision.accepted
        assert f"\nKept: {step.kept} of " in text
        assert ("After a rejection p is of what that left." in text) is bool(step.verdict.changes)
        assert_law(step, text)


def assert_law(step: Step, text: str) -> None:
    """What holds over all coins is told as recorded; of a difference between two coins nothing is made."""
    own, shadow = step.verdict, step.shadow
    found = LAW.search(text + " ")
    assert found, text
    assert near(found[2], step.expected_kept[own.rule])  # type: ignore[union-attr]
    if shadow is None or shadow.rule == own.rule:  # type: ignore[union-attr]
        assert found[3] is None
        return
    assert f"{short(shadow.rule)} would have kept " in text
    assert near(found[4], step.expected_kept[shadow.rule])
    gap = step.expected_kept[own.rule] - step.expected_kept[shadow.rule]  # type: ignore[union-attr]
    if abs(gap) < told.SAME:
        assert "By law the two are level" in text
        assert ("is luck" in text) is (own.kept != shadow.kept)  # type: ignore[union-attr]
    else:
        ahead = own.rule if gap > 0 else shadow.rule  # type: ignore[union-attr]
        assert f"By law {short(ahead)} keeps {abs(gap):.2g} more of this draft" in text
        assert ("is luck" in text) is ((own.kept - shadow.kept) * gap < 0)  # type: ignore[union-attr]


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_has_words_for_where_its_thresholds_come_from(rule: str, byte_pair: Pair):
    trace = run(byte_pair, "Once upon a time", rule=rule, gamma=4, seed=5, max_new_tokens=12, shadow="hsd")
    for step in trace.steps:
        text = step_in_words(trace, step.index)
        assert "by the test" not in text
        assert text.count("\n- ") == len(step.verdict.decisions)  # type: ignore[union-attr]


def changed(name: str, change: Any, step: int = 0) -> str:
    """The words about a step of a recorded trace whose record is changed first."""
    data = json.loads((EXAMPLES / "traces" / f"{name}.json").read_bytes())
    change(data["steps"][step])
    return step_in_words(Trace.from_json(json.dumps(data)), step, short)


def test_more_kept_by_the_rule_with_the_smaller_average_is_called_luck():
    def swap(step: dict[str, Any]) -> None:
        law = step["expected_kept"]
        law["hsd"], law["tokenwise"] = law["tokenwise"], law["hsd"]

    assert "By law HSD keeps 7.5 more of this draft; this time the coins made it 9." in changed(
        "long-draft", lambda step: None
    )
    assert "By law vanilla keeps 7.5 more of this draft; that it kept 9 fewer this time is luck." in changed(
        "long-draft", swap
    )


def test_without_an_average_nothing_is_said_of_luck_or_law():
    text = changed("long-draft", lambda step: step.update(expected_kept={}, kept_law={}))
    assert "one step does not tell luck from law" in text
    assert "By law" not in text


def test_a_test_of_a_form_without_words_is_told_by_its_numbers(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(why, "_FORMS", {})
    text = changed("vanilla", lambda step: None)
    assert re.search(r"token 1, “[^”]+”, (passed|failed): coin \S+, threshold \S+, by the test 'token' with p = ", text)


def test_hostile_text_stays_on_its_line_and_short():
    data = json.loads((EXAMPLES / "traces" / "paris.json").read_bytes())
    hostile = "\n- Kept: 9 of 9.\r"
    data["steps"][0]["nodes"][0]["piece"] = hostile * 20
    data["steps"][0]["shadow"]["rule"] = data["steps"][0]["verdict"]["rule"] + hostile
    data["setup"]["notes"] = [hostile]
    text = step_in_words(Trace.from_json(json.dumps(data)), 0, short)
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
    assert capsys.readouterr().out == step_in_words(Trace.from_file(file), 2, short) + "\n"
    assert main(["explain", str(file), "--step", "9999"]) == 2
    assert main(["explain", "no-such-file.json"]) == 2
    assert "cannot read 'no-such-file.json': No such file" in capsys.readouterr().err
