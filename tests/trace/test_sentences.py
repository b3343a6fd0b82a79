"""A template that names what does not exist is refused when the sentences are read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from hsd.trace import sentences
from hsd.trace.facts import SAID_OF, Item
from hsd.trace.sentences import SENTENCES, check, filled


@dataclass(frozen=True)
class LaneFacts:
    place: int
    moves: bool


@dataclass(frozen=True)
class RaceFacts:
    winner: LaneFacts
    lanes: list[LaneFacts]
    weather: Literal["fair", "foul"]
    name: str | None = None


RACE = {
    "race": {
        "winner.moves, weather = fair, not name": "{winner.podium} of {lanes}",
        "else": "{name}",
    },
    "podium": {"place > 1": "{place|place}", "else": "{place}{name}"},
    "lanes": {"last, moves": "{place}"},
}


def refused(changed: dict[str, dict[str, str]], words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        check(RACE | changed, {"race": RaceFacts})


def test_every_sentence_is_returned_with_the_facts_around_it():
    assert check(RACE, {"race": RaceFacts}) == [
        ("race", (RaceFacts,)),
        ("podium", (RaceFacts, LaneFacts)),
        ("lanes", (RaceFacts, Item, LaneFacts)),
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{nmae}", "sentence 'race', 'else': 'nmae' is no fact and no sentence"),
        ("{winner.nmae}", "'winner.nmae' is no fact and no sentence"),
        ("{wniner.podium}", "'wniner' is no record of facts"),
        ("{place|place}", "'place' is no fact and no sentence"),
        ("{podium|place}", "'podium' is no fact and no sentence"),
        ("{winner.moves}", "'winner.moves' is no text"),
        ("{the name}", "has a slot that cannot be read"),
        ("{winner.podium}{podium}", "sentence 'podium', 'place > 1': 'place' is no fact"),
    ],
)
def test_a_slot_is_of_a_fact_or_of_a_sentence(text: str, words: str):
    refused({"race": {"else": f"{text} of {{lanes}}"}}, words)


@pytest.mark.parametrize(
    ("conditions", "words"),
    [
        ("nmae", "sentence 'race', 'nmae': 'nmae' is no fact"),
        ("not winner.nmae", "'winner.nmae' is no fact"),
        ("race", "'race' is no fact"),
        ("weather = rainy", "'weather' is never 'rainy'"),
        ("weather fair", "'weather fair' is no condition"),
    ],
)
def test_a_condition_is_of_a_fact(conditions: str, words: str):
    refused({"race": {conditions: "{winner.podium} of {lanes}"}}, words)


def test_a_name_is_a_fact_or_a_sentence():
    refused({"place": {"else": "here"}}, "'place' is a fact and a sentence")


def test_every_sentence_is_said_somewhere():
    refused({"track": {"else": "round"}}, "nothing says the sentence 'track'")
    with pytest.raises(ValueError, match="no sentence is called 'rcae'"):
        check(RACE, {"rcae": RaceFacts})


@pytest.mark.parametrize("name", SENTENCES)
def test_a_misspelt_slot_of_any_sentence_is_refused(name: str):
    conditions = next(iter(SENTENCES[name]))
    ways = {**SENTENCES[name], conditions: SENTENCES[name][conditions] + "{mispselt}"}
    with pytest.raises(ValueError, match=f"sentence '{name}', .*: 'mispselt' is no fact"):
        check({**SENTENCES, name: ways}, SAID_OF)


def test_what_is_strong_or_explained_is_plain_here():
    assert filled("**{n}** of [all](term)", {"n": 3}) == "3 of all"


def test_no_name_and_no_conditions_stand_twice():
    """Of two that are the same, YAML would read the last."""
    text = Path(sentences.__file__).with_suffix(".yaml").read_text(encoding="utf-8")
    assert len(re.findall(r"(?m)^\w+:", text)) == len(SENTENCES)
    assert len(re.findall(r'(?m): ".*"$', text)) == sum(map(len, SENTENCES.values()))
