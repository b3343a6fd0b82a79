"""Links of earlier versions open the run that they opened then, on Watch and at the same step."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest

from hsd.app.presets import of_systems, recorded, telling_step

STORY = "Once upon a time, there was a little girl named Lily. She had a red ball. One day,"
STACK = {
    "pair": "tiny",
    "prompt": "Once upon a time",
    "system": "stack",
    "stack": "0_1_2",
    "thresholds": "3_5",
    "seed": "3",
}
FUZZY = "1*{text}*tv*exact-first*warped*0.5*1.0*3*{preset}*{step}"


def moments(name: str, steps: int) -> int:
    """How many moments the first steps of a recorded run with levels have."""
    return sum(len(step.events) + 1 for step in recorded(of_systems()[name]).steps[:steps])


@pytest.mark.recorded
@pytest.mark.parametrize(
    ("asked", "preset", "step"),
    [
        ({"panel": "stack", "show": "stack-three", "at": "0"}, "stack-three", 0),
        ({"panel": "stack", "show": "stack-large", "at": str(moments("stack-large", 2))}, "stack-large", 2),
        (
            {"panel": "hispec", "show": "hispec-trained", "at": str(moments("hispec-trained", 4) - 1)},
            "hispec-trained",
            3,
        ),
        ({"panel": "eagle", "show": "eagle-chosen", "at": "1"}, "eagle-chosen", 0),
        ({"panel": "stack", "show": "stack-two"}, "stack-two", telling_step(recorded(of_systems()["stack-two"]))),
        ({"panel": "fsd", "fsd": FUZZY.format(text="sums", preset="fsd-sum", step=4)}, "fsd-sum", 4),
    ],
)
def test_a_recorded_run_of_a_system_opens_on_watch(visitors, asked: dict, preset: str, step: int):
    visitor = visitors().open("?" + urlencode({"tab": "systems", **asked}), options=False)
    visitor.until(f"location.search.includes('preset={preset}&') && !location.search.includes('panel')")
    assert visitor.state["step"] == step
    assert visitor.page.is_visible("#hsd-tab-watch")


@pytest.mark.parametrize(
    ("asked", "address"),
    [
        ({"panel": "stack", "run": urlencode({**STACK, "max_new_tokens": "12"}), "at": "0"}, "thresholds=3_5"),
        ({"panel": "fsd", "fsd": FUZZY.format(text="stories", preset="", step=1)}, "divergence=tv"),
    ],
)
def test_a_live_run_of_a_system_is_made_again_on_watch(visitors, asked: dict, address: str):
    visitor = visitors().open("?" + urlencode({"tab": "systems", **asked}), options=False)
    visitor.page.get_by_text("● live", exact=True).wait_for()
    visitor.until(f"location.search.includes('{address}')")
    assert visitor.page.is_visible("#hsd-tab-watch")
