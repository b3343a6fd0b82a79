"""Chips beside the prompt, the switch between answering and continuing, and the pair that they
belong to.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from hsd import HsdError, facts, space
from hsd.app.presets import LABEL, definitions, prompts_by_pair, starters
from hsd.app.runs import query, read
from hsd.app.site import contents
from hsd.models.loading import fetch

SPACE = space.load()
PRESETS = {name: definitions()[name] for name in SPACE.presets}
TOY = next(name for name, preset in PRESETS.items() if preset.pair == "tiny")


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "fetched_file", lambda name: Path("there"))


def test_every_prompt_that_is_offered_can_be_run(fetched):
    for pair in ("smollm2", "tiny"):
        found = starters(pair, PRESETS.values())
        assert 5 <= len(found) <= 10
        for one in found:
            asked = read(SPACE, {"pair": pair, "prompt": one.prompt, "prompt_as": one.prompt_as})
            assert asked.options.prompt_as == one.prompt_as
            assert len({starter.label for starter in found}) == len(found), (
                "chips can be told apart"
            )
    assert {one.prompt_as for one in prompts_by_pair()["smollm2"]} == set(facts.NAMES["prompts"])
    assert all(len(one.label) <= LABEL + 4 for one in starters("tiny", PRESETS.values()))


def test_the_page_is_told_the_prompts_of_each_pair_and_which_takes_questions(fetched):
    told = contents(SPACE, {}, opened=False)
    chats = {pair["name"]: pair["chats"] for pair in told["pairs"]}
    assert chats == {"qwen-coder": True, "smollm2": True, "tiny": False}
    assert [one["prompt"] for one in told["starters"]["smollm2"]] == [
        one.prompt for one in prompts_by_pair()["smollm2"]
    ]
    assert PRESETS[TOY].prompt in [one["prompt"] for one in told["starters"]["tiny"]]


def test_a_link_says_whether_its_prompt_is_answered(fetched):
    asked = read(SPACE, {"pair": "smollm2", "prompt": "The capital is", "prompt_as": "text"})
    assert query(asked)["prompt_as"] == "text"
    assert read(SPACE, query(asked)) == asked
    assert asked.options.prompt_as == "text"
    assert "prompt_as" not in query(read(SPACE, {"prompt": "The capital is"}))


def test_a_link_to_a_pair_that_is_not_here_says_so():
    with pytest.raises(
        HsdError, match="smollm2 is not on this machine: run python -m hsd fetch smollm2"
    ):
        read(SPACE, {"pair": "smollm2", "prompt": "The capital is", "prompt_as": "text"})


def test_links_of_earlier_versions_still_open():
    found = read(
        SPACE, {"pair": "tiny", "prompt": "Once", "length": "12", "several": "1", "seed": "7"}
    )
    assert (found.options.max_new_tokens, found.options.seed) == (12, 7)
    assert read(SPACE, query(found)) == found


@pytest.mark.parametrize("text", ["a: [sing: b]", "a: [b]", "[", "a: 3"])
def test_a_file_that_is_wrong_is_one_line(tmp_path, text):
    file = tmp_path / "starters.yaml"
    file.write_text(text)
    with pytest.raises(HsdError) as caught:
        prompts_by_pair(file)
    assert "\n" not in str(caught.value)
    assert "starters.yaml" in str(caught.value)
