"""γ "auto" as it is asked for: of the endpoints, in links, in lanes of a race, within the
manifest's limits.
"""

from __future__ import annotations

import pytest

from hsd import HsdError
from hsd.app.race import read_plan
from hsd.app.runs import query, read
from hsd.facts import facts
from hsd.space import load

SPACE = load()
ASKED = {"prompt": "Once", "pair": "tiny", "gamma": "auto"}


def test_a_link_says_it_and_is_read_again():
    link = query(read(SPACE, ASKED))
    assert link["gamma"] == "auto"
    assert read(SPACE, link).options.gamma == "auto"
    assert query(read(SPACE, {**ASKED, "confidence": "0.4"}))["confidence"] == "0.4"


def test_a_manifest_that_allows_fewer_tokens_refuses_it_in_a_line():
    limits = SPACE.limits.model_copy(update={"gamma": 4})
    with pytest.raises(
        HsdError, match=r"^draft length γ 'auto': choose a whole number from 1 to 4$"
    ):
        read(SPACE.model_copy(update={"limits": limits}), ASKED)


def test_it_is_a_lane_of_a_race():
    plan = read_plan(
        SPACE, {"prompt": "Once", "pair": "tiny", "lanes": "rule:hsd~gamma:4,rule:hsd~gamma:auto"}
    )
    assert [case.name for case in plan.cases[1:]] == ["HSD, γ = 4", "HSD, γ auto"]
    assert plan.cases[2].options["gamma"] == "auto"
    assert "gamma:auto" in plan.link()["lanes"]


def test_the_form_is_told_of_the_word_and_of_what_belongs_to_it():
    properties = facts()["options"]["properties"]
    number, word = properties["gamma"]["anyOf"]
    assert (number["type"], number["minimum"], number["maximum"]) == ("integer", 1, 32)
    assert word == {"const": "auto", "maximum": 8}
    assert properties["confidence"]["when"] == {"system": ["speculative"], "gamma": ["auto"]}
