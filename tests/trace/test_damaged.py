"""A trace in which something was deleted, doubled, shuffled or miscounted is refused in one line,
or it works.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from loops import for_each

from hsd import HsdError, Trace
from hsd.cli.run import _report
from hsd.facts import facts
from hsd.paths import TRACES
from hsd.trace import step_in_words

FILES = sorted(TRACES.glob("*.json"))
KNOWN = facts()
SHORT = 3  # steps that are kept of a trace


def shortened(file: Path) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    del data["steps"][SHORT:]
    return data


def used(trace: Trace) -> None:
    """All that reads a trace here. What contradicts itself may be refused in one line."""
    trace.stats()
    _report(trace)
    Trace.from_json(trace.to_json())
    for use in (
        trace.replay,
        *(lambda i=i: step_in_words(trace, i, KNOWN) for i in range(min(len(trace.steps), SHORT))),
    ):
        with suppress(HsdError):
            use()


def refused_or_used(data: dict[str, Any]) -> bool:
    """Whether it was refused."""
    try:
        trace = Trace.from_json(json.dumps(data))
    except HsdError:
        return True
    used(trace)
    return False


@for_each("file", FILES, ids=lambda file: file.stem, every=3)
def test_every_recorded_trace_is_read_and_used(file: Path):
    trace = Trace.from_file(file)
    used(trace)
    assert all(step.nodes for step in trace.steps if step.drafted)
    assert trace.replay() == trace.tokens


def places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all values, of a list those of its first and last entry."""
    if isinstance(data, dict):
        entries = list(data.items())
    elif isinstance(data, list):
        entries = list(enumerate(data))
    else:
        entries = []
    for key, value in entries:
        if isinstance(data, dict) or key in (0, len(data) - 1):
            yield (*path, key)
            yield from places(value, (*path, key))


def changes(value: Any) -> Iterator[Any]:
    """Other values that may pass for this one."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, (int, float)):
        yield from (0, value + 1, max(value - 1, 0), value / 2)
    elif isinstance(value, str):
        yield from ("", "x")
    elif isinstance(value, list):
        yield from ([], value[1:], value[:-1], value[::-1], [*value, *value[-1:]])
    elif isinstance(value, dict):
        yield from ({}, dict(list(value.items())[1:]))
    if value is not None:
        yield None


def changed(data: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    found = copy.deepcopy(data)
    inner: Any = found
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return found


def of(data: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        data = data[key]
    return data


@for_each("file", FILES, ids=lambda file: file.stem, every=6)
def test_one_changed_field_is_refused_or_harmless(file: Path):
    data = shortened(file)
    every = [(path, value) for path in places(data) for value in changes(of(data, path))]
    tried = random.Random(file.stem).sample(every, min(12, len(every)))
    refused = [refused_or_used(changed(data, path, value)) for path, value in tried]
    assert any(refused)
    assert not refused_or_used(data)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le"])
def test_a_file_that_an_editor_has_saved_in_another_encoding_opens(encoding: str, tmp_path: Path):
    file = tmp_path / "trace.json"
    file.write_text(FILES[0].read_text("utf-8"), encoding)
    assert Trace.from_file(file) == Trace.from_file(FILES[0])


def turn_first_test(verdict: dict[str, Any]) -> None:
    """Give the first test of a recorded verdict the other outcome."""
    test = verdict["decisions"][0]
    test["accepted"] = not test["accepted"]


STEPS: dict[str, Any] = {
    "one level is missing in one step": lambda steps: steps[1]["below"].pop(),
    "no levels in one step": lambda steps: steps[1].update(below=[]),
    "a level more everywhere": lambda steps: [
        step["below"].append(step["below"][0]) for step in steps
    ],
    "the first step is missing": lambda steps: steps.pop(0),
    "a step in the middle is missing": lambda steps: steps.pop(1),
    "steps in another order": lambda steps: steps.reverse(),
    "a step twice": lambda steps: steps.insert(1, steps[0]),
    "another context": lambda steps: steps[1].update(context_length=7_000),
    "it began before": lambda steps: steps[2].update(start=0.0),
    "an event of a level above": lambda steps: steps[0]["events"][0].update(level=7),
    "a token that is in no vocabulary": lambda steps: steps[1]["committed"][-1].update(
        token=2**31 - 1
    ),
    "a drafted token that is in no vocabulary": lambda steps: steps[0]["nodes"][0].update(
        token=2**31 - 1
    ),
    "a token committed twice": lambda steps: steps[0]["committed"].append(
        steps[0]["committed"][-1]
    ),
    "a node too few": lambda steps: steps[0].update(drafted=steps[0]["drafted"] + 1),
    "no paths": lambda steps: steps[0].update(paths=[]),
    "a law of too few numbers": lambda steps: steps[0].update(kept_law={"hsd": [1.0]}),
    "an event keeps a token too many": lambda steps: steps[0]["events"][0].update(
        kept=len(steps[0]["events"][0]["committed"]) + 1
    ),
    "a verifying event keeps more than it was handed": lambda steps: next(
        one for one in steps[0]["events"] if one["kind"] == "verify"
    )["tested"].clear(),
    "a test of the rule to compare with has another outcome": lambda steps: turn_first_test(
        steps[0]["shadow"]
    ),
    "another number is kept": lambda steps: steps[0]["verdict"].update(kept=steps[0]["kept"] + 1),
    "branches without nodes": lambda steps: steps[0].update(
        nodes=[], paths=[], verdict=None, shadow=None
    ),
}


@for_each("name", STEPS)
def test_steps_that_do_not_fit_together_are_refused(name: str):
    data = shortened(TRACES / "stack-three.json")
    assert not refused_or_used(data)
    STEPS[name](data["steps"])
    with pytest.raises(HsdError, match=r"^not a valid trace: [^\n]+$"):
        Trace.from_json(json.dumps(data))


@pytest.mark.parametrize("change", ["ids", "pieces"])
def test_a_prompt_with_a_token_or_a_piece_too_few_is_refused(change: str):
    data = shortened(TRACES / "paris.json")
    data["prompt"][change].pop()
    with pytest.raises(HsdError, match=r"the prompt has .* tokens and .* pieces"):
        Trace.from_json(json.dumps(data))
