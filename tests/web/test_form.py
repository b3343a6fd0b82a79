"""A form made from a JSON Schema: a control for each option, its words, what applies, and what was
entered.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from web_page import Browser, Guest, address, show

SCHEMA = {
    "type": "object",
    "properties": {
        "rule": {
            "type": "string",
            "oneOf": [{"const": "hsd", "title": "HSD"}, {"const": "fuzzy", "title": "Fuzzy"}],
            "title": "Rule",
            "default": "hsd",
            "group": "main",
        },
        "gamma": {
            "type": "integer",
            "title": "Draft length",
            "description": "Tokens per step.",
            "minimum": 1,
            "maximum": 32,
            "default": 5,
            "group": "main",
        },
        "seed": {"type": "integer", "title": "Seed", "default": 0, "group": "main"},
        "thresholds": {
            "type": "array",
            "items": {"type": "integer", "minimum": 1, "maximum": 9},
            "title": "Thresholds",
            "default": [3, 5],
            "group": "more",
        },
        "prompt_as": {
            "type": "string",
            "oneOf": [{"const": "chat", "title": "Answer"}, {"const": "text", "title": "Continue"}],
            "title": "With the prompt",
            "default": "text",
            "group": "main",
        },
        "names": {
            "type": "array",
            "items": {"type": "string"},
            "title": "Names",
            "default": ["a"],
            "group": "more",
        },
        "stack": {
            "type": "array",
            "items": {"type": "integer"},
            "title": "Stack",
            "default": [],
            "menu": True,
            "group": "more",
        },
        "width": {
            "anyOf": [
                {"type": "integer", "minimum": 1, "maximum": 32},
                {"const": "auto", "maximum": 8},
            ],
            "title": "Width",
            "default": 2,
            "group": "more",
        },
        "mark": {"type": "boolean", "title": "Mark", "default": False, "group": "more"},
        "pair": {
            "type": "string",
            "title": "Pair",
            "default": "tiny",
            "menu": True,
            "group": "top",
        },
        "tolerance": {
            "type": "number",
            "title": "Tolerance",
            "default": 0.3,
            "minimum": 0,
            "maximum": 10,
            "shown": [0, 1],
            "step": 0.1,
            "when": {"rule|shadow": ["fuzzy"]},
            "group": "fuzzy",
        },
        "hidden": {"type": "string", "title": "Nowhere", "default": ""},
    },
}
GROUPS = [
    {"name": "top"},
    {"name": "main"},
    {"name": "fuzzy", "title": "Fuzzy settings"},
    {"name": "more", "title": "More"},
]
PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>form</title></head>
<body>
<script type="module">
import { form } from "./kit/form.js";
import { control } from "./watch/lists.js";
window.heard = [];
const changed = (name, value) => window.heard.push([name, value]);
window.made = form(SCHEMA, { control, groups: GROUPS, changed });
made.offer("pair", [["tiny", "Toy"], ["large", "Large"]]);
document.body.append(made.element);
</script></body></html>"""
PAGE = PAGE.replace("SCHEMA", json.dumps(SCHEMA)).replace("GROUPS", json.dumps(GROUPS))


@pytest.fixture
def page(chromium: Browser) -> Iterator[Any]:
    guest = Guest(chromium, address())
    show(guest.page, PAGE)
    guest.page.wait_for_selector("#hsd-gamma")
    yield guest.page
    guest.close()


def values(page: Any) -> dict[str, Any]:
    return dict(page.evaluate("made.values()"))


def test_a_form_begins_with_the_defaults_of_what_applies(page: Any) -> None:
    assert values(page) == {
        "rule": "hsd",
        "gamma": 5,
        "seed": 0,
        "thresholds": [3, 5],
        "prompt_as": "text",
        "names": ["a"],
        "stack": [],
        "width": 2,
        "mark": False,
        "pair": "tiny",
    }
    assert page.locator("#hsd-hidden").count() == 0


def test_every_control_is_reached_by_its_name_and_says_its_help(page: Any) -> None:
    gamma = page.get_by_role("textbox", name="Draft length", exact=True)
    assert page.inner_text(f"#{gamma.get_attribute('aria-describedby')}") == "Tokens per step."
    page.get_by_role("slider", name="Draft length, slider").fill("7")
    page.get_by_role("combobox", name="Pair").select_option("Large")
    page.get_by_role("combobox", name="With the prompt").select_option("Answer")
    page.locator("#hsd-group-more summary").click()
    page.get_by_role("checkbox", name="Mark").check()
    assert (
        values(page).items()
        >= {"gamma": 7, "pair": "large", "prompt_as": "chat", "mark": True}.items()
    )
    assert page.evaluate("heard.map(([name]) => name)") == ["gamma", "pair", "prompt_as", "mark"]


def test_what_was_typed_is_kept_for_whoever_checks_it(page: Any) -> None:
    for typed, value in (
        ("12", 12),
        ("1,5", 1.5),
        ("many", "many"),
        ("", ""),
        ("9" * 30, "9" * 30),
    ):
        page.fill("#hsd-seed input", typed)
        assert values(page)["seed"] == value


def test_a_number_may_be_a_word(page: Any) -> None:
    page.locator("#hsd-group-more summary").click()
    word = page.get_by_role("checkbox", name="auto")
    number = page.get_by_role("textbox", name="Width", exact=True)
    word.check()
    assert (values(page)["width"], number.input_value()) == ("auto", "auto")
    page.get_by_role("slider", name="Width, slider").fill("7")
    assert (values(page)["width"], word.is_checked()) == (7, False)
    number.fill("auto")
    assert word.is_checked()
    word.uncheck()
    assert isinstance(values(page)["width"], int)


def test_an_option_is_there_where_it_applies(page: Any) -> None:
    assert not page.is_visible("#hsd-group-fuzzy")
    page.get_by_role("combobox", name="Rule").select_option("fuzzy")
    assert page.is_visible("#hsd-tolerance"), (
        "what a choice brings is shown, though groups are folded at first"
    )
    assert page.get_attribute("#hsd-tolerance input[type=range]", "max") == "1"
    page.fill("#hsd-tolerance input:not([type=range])", "4")
    assert values(page)["tolerance"] == 4
    page.evaluate("made.set({ rule: 'hsd', gamma: 9 })")
    assert not page.is_visible("#hsd-group-fuzzy")
    assert (values(page)["gamma"], "tolerance" in values(page)) == (9, False)
    page.evaluate("made.show('gamma', false)")
    assert not page.is_visible("#hsd-gamma")


def test_a_menu_that_is_offered_anew_keeps_what_was_chosen(page: Any) -> None:
    page.get_by_role("combobox", name="Pair").select_option("large")
    page.evaluate("made.offer('pair', [['large', 'Large'], ['own', '<b>Own</b>']])")
    assert values(page)["pair"] == "large"
    assert page.inner_text("#hsd-pair option >> nth=1") == "<b>Own</b>"


def test_a_list_has_a_control_for_each_entry_that_is_named(page: Any) -> None:
    page.locator("#hsd-group-more summary").click()
    three = [
        {"title": title, "usual": usual}
        for title, usual in (("Small", 1), ("Middle", 2), ("Large", 7))
    ]
    page.evaluate("(entries) => made.offer('thresholds', entries)", three)
    assert values(page)["thresholds"] == [3, 5, 7], (
        "what was set stays, and what is new is as usual"
    )
    page.get_by_role("textbox", name="Middle", exact=True).fill("4")
    page.get_by_role("slider", name="Large, slider").fill("9")
    assert values(page)["thresholds"] == [3, 4, 9]
    page.evaluate("made.offer('thresholds', [{ title: 'Small', usual: 1 }])")
    assert values(page)["thresholds"] == [3]
    page.evaluate("made.offer('thresholds', [])")
    assert not page.is_visible("#hsd-thresholds")
    page.evaluate("made.offer('thresholds', null)")
    page.get_by_label("Thresholds").get_by_role("textbox").fill("2, 6")
    assert values(page)["thresholds"] == [2, 6]
    page.evaluate("made.set({ thresholds: '4_8' })")
    assert values(page)["thresholds"] == [4, 8]


def test_entries_are_chosen_from_names_all_of_them_or_none(page: Any) -> None:
    page.locator("#hsd-group-more summary").click()
    page.evaluate("made.set({ names: [] })")
    choices = (
        "[{ const: '', title: 'As usual' }, { const: 'a', title: 'A' }, { const: 'b', title: 'B' }]"
    )
    page.evaluate(
        "made.offer('names', ['First', 'Second'].map((title) => "
        f"({{ title, usual: '', oneOf: {choices} }})))"
    )
    assert values(page)["names"] == []
    page.get_by_role("combobox", name="Second").select_option("B")
    assert values(page)["names"] == ["b", "b"]


def test_a_list_may_be_chosen_as_a_whole_and_waits_for_its_menu(page: Any) -> None:
    page.locator("#hsd-group-more summary").click()
    page.evaluate("made.set({ stack: '1_2' })")
    assert values(page)["stack"] == [1, 2]
    page.evaluate("made.offer('stack', [[[0, 1, 2], 'all'], [[1, 2], 'two']])")
    assert values(page)["stack"] == [1, 2]
    page.get_by_role("combobox", name="Stack").select_option("all")
    assert values(page)["stack"] == [0, 1, 2]
