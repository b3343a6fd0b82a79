"""Chips beside the prompt, the switch between answering and continuing, and the pair that they belong to."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hsd import HsdError, facts, space
from hsd.models.loading import fetch
from hsd.ui.controls import NAMES
from hsd.ui.jobs import Jobs
from hsd.ui.presets import definitions
from hsd.ui.request import read
from hsd.ui.starters import LABEL, listed, starters
from hsd.ui.watch import Watch

SPACE = space.load()
PRESETS = {name: definitions()[name] for name in SPACE.presets}
TOY = next(name for name, preset in PRESETS.items() if preset.pair == "tiny")


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "find", lambda name: Path("there"))


def page() -> Watch:
    return Watch(SPACE, PRESETS, Jobs(SPACE.limits))


def shown(updates: Any) -> dict[str, Any]:
    """What the page is told about each control, and about the chips."""
    return dict(zip([*NAMES, "chips"], updates, strict=True))


def test_every_prompt_that_is_offered_can_be_run(fetched):
    for pair in ("smollm2", "tiny"):
        found = starters(pair, PRESETS.values())
        assert 5 <= len(found) <= 10
        for one in found:
            asked = read(SPACE, {"pair": pair, "prompt": one.prompt, "prompt_as": one.prompt_as})
            assert asked.options.prompt_as == one.prompt_as
            assert len({starter.label for starter in found}) == len(found), "chips can be told apart"
    assert {one.prompt_as for one in listed()["smollm2"]} == {name for _, name in facts.menu(facts.PROMPT_NAMES)}
    assert all(len(one.label) <= LABEL + 4 for one in starters("tiny", PRESETS.values()))


def test_another_pair_brings_its_prompts_and_the_switch_where_it_takes_questions(fetched):
    _, *updates = page().open_pair("smollm2")
    real = shown(updates)
    assert (real["prompt_as"]["visible"], real["prompt_as"]["value"]) == (True, "chat")
    assert real["chips"]["samples"] == [[one.prompt] for one in listed()["smollm2"]]
    _, *updates = page().open_pair("tiny")
    toy = shown(updates)
    assert (toy["prompt_as"]["visible"], toy["prompt_as"]["value"]) == ("hidden", None)
    assert len(toy["chips"]["samples"]) > 4
    assert "value" not in toy["prompt"], "what was typed stays"


def test_a_chip_fills_the_prompt_and_the_switch(fetched):
    number = [one.prompt_as for one in listed()["smollm2"]].index("text")
    assert page().open_starter(number, "smollm2") == (listed()["smollm2"][number].prompt, "text")
    assert page().open_starter(0, "tiny") == (PRESETS[TOY].prompt, None)


def test_a_preset_brings_the_pair_that_made_it(fetched):
    for name, visible, how in ((TOY, "hidden", None), (SPACE.presets[0], True, "chat")):
        _, *updates = page().open_preset(name)
        found = shown(updates)
        assert found["pair"]["value"] == PRESETS[name].pair
        assert found["prompt"] == PRESETS[name].prompt
        assert (found["prompt_as"]["visible"], found["prompt_as"]["value"]) == (visible, how)


def test_a_link_says_whether_its_prompt_is_answered(fetched):
    asked = read(SPACE, {"pair": "smollm2", "prompt": "The capital is", "prompt_as": "text"})
    assert asked.query()["prompt_as"] == "text"
    assert read(SPACE, asked.query()) == asked
    assert asked.option_dict()["prompt_as"] == "text"
    assert "prompt_as" not in read(SPACE, {"prompt": "The capital is"}).query()


def test_a_link_to_a_pair_that_is_not_here_says_so_and_leaves_one_that_is():
    link = SimpleNamespace(query_params={"pair": "smollm2", "prompt": "The capital is", "prompt_as": "text"})
    opened = page().open_link(link)
    found, (_, message, *_) = shown(opened[: len(NAMES) + 1]), opened[len(NAMES) + 1 :]
    assert message["alert"] == "smollm2 is not on this machine: run python -m hsd fetch smollm2"
    assert (found["pair"]["value"], found["prompt"]) == ("tiny", "The capital is")


@pytest.mark.parametrize("text", ["a: [sing: b]", "a: [b]", "[", "a: 3"])
def test_a_file_that_is_wrong_is_one_line(tmp_path, text):
    file = tmp_path / "starters.yaml"
    file.write_text(text)
    with pytest.raises(HsdError) as caught:
        listed(file)
    assert "\n" not in str(caught.value)
    assert "starters.yaml" in str(caught.value)
