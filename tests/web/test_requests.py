"""Requests of a server that is watched: in the menu by themselves, played while they grow, and each
with an address of its own.
"""

from __future__ import annotations

from typing import Any

import pytest
from recording_server import Entry, RecordingServer, entries

from hsd import Trace, space
from hsd.paths import TRACES

NAMES = ["cmpl-leaves", "chatcmpl-paris"]
BEGUN = 5  # steps that are there at first


@pytest.fixture
def left(recording: RecordingServer) -> dict[str, list[Entry]]:
    """Of two requests that grow at once what has not been recorded yet, by their names."""
    left = {}
    for name in NAMES:
        trace = Trace.from_file(TRACES / f"{name.partition('-')[2]}.json")
        begun, rest = (part := entries(trace, name))[: BEGUN + 1], part[BEGUN + 1 :]
        recording.entries += begun
        left[name] = rest
    return left


def listed(guest: Any, name: str, words: str) -> None:
    """Wait until the menu has a request, in these words."""
    option = guest.page.locator(f"#hsd-preset option[value='{name}']", has_text=words)
    option.wait_for(state="attached")


def steps_are(guest: Any, steps: int) -> None:
    guest.until(f"window.__hsd.steps === {steps}")


@pytest.mark.core
def test_two_requests_grow_in_the_menu_play_to_their_ends_and_open_by_their_addresses(
    watchers, recording, left
):
    first = watchers().open()
    for name in NAMES:
        listed(first, name, "● ")
    first.page.select_option("#hsd-preset", NAMES[0])
    first.until_source("● live · running")
    steps_are(first, BEGUN)
    second = watchers().open(f"?request={NAMES[1]}")
    steps_are(second, BEGUN)
    assert second.page.input_value("#hsd-preset") == NAMES[1]
    for name, guest in zip(NAMES, (first, second), strict=True):
        recording.entries.append(left[name].pop(0))
        steps_are(guest, BEGUN + 1)
    address = first.page.url
    assert f"request={NAMES[0]}" in address
    third = watchers().open(address.removeprefix(first.app.url))
    steps_are(third, BEGUN + 1)
    counts = {name: BEGUN + len(left[name]) for name in NAMES}
    for rest in left.values():
        recording.entries += rest
    for name, guest in zip((*NAMES, NAMES[0]), (first, second, third), strict=True):
        steps_are(guest, counts[name])
        guest.until_source("recorded on")
        option = guest.page.locator(f"#hsd-preset option[value='{name}']")
        guest.until(f"!document.querySelector('option[value={name}]').text.startsWith('●')")
        assert "●" not in option.inner_text()
    again = watchers().open(f"?request={NAMES[1]}&at_step=3")
    steps_are(again, counts[NAMES[1]])
    again.until("window.__hsd.step === 2")


def test_an_address_of_an_unknown_request_is_one_line_and_the_first_preset_is_shown(watchers):
    guest = watchers().open("?request=cmpl-none")
    assert "has recorded no request 'cmpl-none', or dropped it since" in guest.alert()
    assert guest.page.input_value("#hsd-preset") == space.load().presets[0]


@pytest.mark.recorded
def test_a_page_that_watches_nothing_says_so(visitors):
    visitor = visitors().open("?request=cmpl-1")
    assert visitor.alert().startswith(
        "this page is made of files" if visitor.files else "this app watches no server"
    )
    assert not visitor.page.locator("#hsd-preset optgroup[label^=Requests]").count()
