"""A message that says what to choose from lists something."""

from __future__ import annotations

import re

import pytest
from loops import for_each

from hsd import HsdError
from hsd.decoding.options import RunOptions

NOTHING = re.compile(r"(?:choose|one of|from)\s*(?:,|:|$)|, ,|,\s*$")
"""A list of choices that is empty, or has an empty entry."""
MENUS = [name for name, option in RunOptions.options().items() if RunOptions.names(option)]


@for_each("name", MENUS)
def test_an_unknown_name_is_refused_with_those_that_there_are(name: str):
    with pytest.raises(HsdError, match="choose") as refusal:
        RunOptions.read({name: "nothing"})
    assert not NOTHING.search(str(refusal.value))


def test_names_that_can_be_read_only_once_are_listed_all_the_same():
    rule = RunOptions.options()["rule"]
    with pytest.raises(HsdError, match=r"choose one of tokenwise, hsd$"):
        rule.check("nothing", iter(["tokenwise", "hsd"]))
    levels = RunOptions.options()["level_rules"]
    assert levels.check(["hsd", "hsd"], iter(["tokenwise", "hsd"])) == ("hsd", "hsd")
