"""A race: lanes take turns, and its events have the raw timings of every run."""

from __future__ import annotations

import pytest

import hsd
from hsd.bench import Case
from hsd.bench import race as timing
from hsd.errors import HsdError

PROMPT = "Once upon a time, there was a fox"
SHARED = {"max_new_tokens": 24, "temperature": 0.8, "trace": False}
PLAIN = Case("Plain decoding", {"system": "plain", **SHARED})


def case(name: str, **options: object) -> Case:
    return Case(name, {**SHARED, **options})


def written(events: list[dict], lane: int, repetition: int) -> list[int]:
    """The tokens of one run."""
    mine = [event for event in events if (event["lane"], event["repetition"]) == (lane, repetition)]
    return [token for event in mine for step in event["steps"] for token in step["tokens"]]


def records(events: list[dict]) -> list[dict]:
    return [event["record"] for event in events if "record" in event]


def raced_here(cases: list[Case], rounds: int = 1, prompt: str = PROMPT) -> list[dict]:
    pair = hsd.load_pair("tiny")
    return [event for news in timing.rounds(pair, prompt, cases, 7, rounds) for event in news]


@pytest.fixture(scope="module")
def raced() -> tuple[list[Case], list[dict]]:
    """A race of three lanes in three timed rounds."""
    cases = [PLAIN, case("Vanilla", rule="tokenwise", gamma=4), case("HSD", rule="hsd", gamma=4)]
    return cases, raced_here(cases, 3)


def test_lanes_take_turns_and_each_runs_once_more_than_it_is_timed(raced):
    _, events = raced
    ends = [(event["repetition"], event["lane"]) for event in events if "record" in event]
    assert ends == [(repetition, lane) for repetition in range(4) for lane in range(3)]


def test_a_lane_writes_what_hsd_run_writes_in_every_round(raced):
    cases, events = raced
    for lane, one in enumerate(cases):
        run = hsd.run(hsd.load_pair("tiny"), PROMPT, seed=7, **one.options)
        for repetition in range(4):
            assert written(events, lane, repetition) == run.tokens
            mine = [e for e in events if (e["lane"], e["repetition"]) == (lane, repetition)]
            assert mine[-1]["text"] == run.text
            assert sum(s["calls"] for e in mine for s in e["steps"]) == run.stats()["target_calls"]


def test_no_lane_is_timed_on_a_longer_text_than_another():
    # as if its text ended there
    short = [PLAIN, case("HSD", rule="hsd", gamma=4, max_new_tokens=9)]
    events = raced_here(short)
    lengths = {
        (e["repetition"], e["lane"]): e["record"]["new_tokens"] for e in events if "record" in e
    }
    assert lengths == {(0, 0): 24, (0, 1): 9, (1, 0): 9, (1, 1): 9}


def test_steps_end_in_order_and_the_last_one_with_its_run(raced):
    _, events = raced
    for end in (event for event in events if "record" in event):
        same = [
            e for e in events if (e["lane"], e["repetition"]) == (end["lane"], end["repetition"])
        ]
        times = [step["end"] for event in same for step in event["steps"]]
        assert times == sorted(times)
        assert times[0] > 0
        # no step ends after its run; how long before says only how busy the machine is
        assert times[-1] <= end["record"]["seconds"] + 1e-6
        assert same[-1] is end


# ---- stacks, exits, copies

SYSTEMS = [
    PLAIN,
    case("stack", system="stack", rule="hsd", thresholds=[3, 4]),
    case("exits", system="hispec", rule="tokenwise", exits=[2, 4]),
    case("fuzzy", rule="fuzzy", gamma=4, tolerance=0.3, divergence="js"),
    case("copies", rule="tokenwise", gamma=5, proposer="ngram"),
]


@pytest.fixture(scope="module")
def systems() -> list[dict]:
    return raced_here(SYSTEMS, prompt="A cat sat. A cat sat. A cat sat.")


def test_all_models_of_a_lane_are_timed(systems):
    for name in ("stack", "exits"):
        (record,) = [r for r in records(systems) if r["case"] == name and r["repetition"]]
        assert set(record["calls"]) == {"target", "draft", "level 0"}
        for calls in record["calls"].values():
            passes = sum(count for count, _, _ in calls["widths"].values())
            spent = calls["first"] + sum(total for _, total, _ in calls["widths"].values())
            assert passes > 0
            assert 0 < spent < record["seconds"]


def test_what_a_reader_must_know_of_a_lane_is_told_or_refused_before_anything_runs():
    pair = hsd.load_pair("tiny")
    notes = timing.facts(pair, [PLAIN, case("exits", system="hispec", exits=[1, 3])])["notes"]
    assert notes[0] == []
    assert "does not say that it was trained to predict after layer 1 and 3" in notes[1][0]
    with pytest.raises(
        HsdError,
        match="lane 2: 3 thresholds for 3 models: give one for each model below the target",
    ):
        timing.facts(pair, [PLAIN, case("stack", system="stack", rule="hsd", thresholds=[3, 4, 5])])
