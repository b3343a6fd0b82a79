"""The Learn tab in a browser: lessons by link, guesses, the keyboard, before a room, on a phone."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import parse_qs

import lessons as learn
import pytest
from engine import Engine

FORGET = "localStorage.removeItem('hsd-learn')"


def at(lesson: int, **more: object) -> str:
    """A condition: this is shown."""
    told = " && ".join(
        f"window.__hsdLearn.{name} === {str(value).lower()}" for name, value in more.items()
    )
    return (
        f"window.__hsdLearn && window.__hsdLearn.lesson === {lesson}{f' && {told}' if told else ''}"
    )


def opened(visitors, query: str, lesson: int, **options: object):
    visitor = visitors(**options)
    visitor.page.goto(visitor.app.url)
    visitor.page.evaluate(FORGET)
    visitor.page.goto(visitor.app.url + query)
    visitor.until(at(lesson))
    return visitor


@pytest.mark.core
@pytest.mark.recorded(core=True)
def test_a_link_to_a_lesson_opens_it_and_a_guess_brings_the_answer(visitors) -> None:
    visitor = opened(visitors, "?lesson=5", 5)
    page = visitor.page
    assert page.get_attribute("#hsd-tabs button[data-tab-id=learn]", "aria-selected") == "true"
    assert page.inner_text(".hf-page h2") == "5. Why it is exact"
    assert page.locator(".hf-answer").count() == 0
    page.get_by_role("button", name="less often than p").click()
    visitor.until(at(5, answered=True))
    assert "lossless" in page.inner_text(".hf-answer")
    assert (
        page.locator(".hf-guess.is-wrong").count()
        == page.locator(".hf-guess.is-right").count()
        == 1
    )
    page.reload()
    visitor.until(at(5, answered=True))
    assert page.evaluate("window.__hsdLearn.score") == [0, 1]
    assert "0 of 1 guesses right" in page.inner_text(".hf-learn-top")
    page.get_by_role("button", name="Start over").click()
    visitor.until(at(1, answered=False))


@pytest.mark.recorded
def test_lessons_are_turned_guessed_and_explained_by_keyboard(visitors) -> None:
    visitor = opened(visitors, "?tab=learn&lesson=4", 4)
    page = visitor.page
    page.locator(".hf-guess").nth(1).focus()
    page.keyboard.press("Enter")
    visitor.until(at(4, answered=True))
    assert page.evaluate("document.activeElement.matches('.hf-answer')")
    page.keyboard.press("ArrowRight")
    visitor.until(at(5))
    page.wait_for_url("**lesson=5**")
    page.keyboard.press("End")
    visitor.until(at(10))
    assert page.get_by_role("button", name="Next").is_disabled()
    page.keyboard.press("Home")
    visitor.until(at(1))
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.matches('.hp-term:focus-visible')")
    assert "draft model:" in page.inner_text("#hp-tip")
    page.keyboard.press("Escape")
    slider = page.locator(".hf-slide input")
    slider.focus()
    guess = learn.lessons()[0]["guess"]
    middle = (guess["low"] + guess["high"]) / 2  # where it begins
    for _ in range(round((middle - guess["right"]) / guess["by"])):
        page.keyboard.press("ArrowLeft")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    visitor.until(at(1, answered=True))
    assert page.evaluate("window.__hsdLearn.score") == [2, 2]


@pytest.mark.recorded
def test_presented_a_lesson_fills_the_window_without_controls_and_arrows_turn_it(visitors) -> None:
    visitor = opened(visitors, "?lesson=5&present=1", 5)
    page = visitor.page
    visitor.until(at(5, present=True))
    box = page.locator("dialog.hf-present").bounding_box()
    assert (box["x"], box["y"], box["width"], box["height"]) == (0, 0, 1280, 800)
    assert page.locator("dialog.hf-present :is(button, input, select, a, summary)").count() == 0
    corners = [(10, 10), (1270, 10), (10, 790), (640, 400), (100, 60)]
    inside = "([x, y]) => document.elementFromPoint(x, y).closest('dialog.hf-present') !== null"
    assert all(page.evaluate(inside, corner) for corner in corners)
    assert page.locator("dialog .hf-answer").count() == 0
    page.keyboard.press("ArrowRight")
    visitor.until(at(5, answered=True))
    page.keyboard.press("ArrowRight")
    visitor.until(at(6, answered=False))
    page.wait_for_url("**lesson=6&present=1**")
    page.keyboard.press("ArrowLeft")
    visitor.until(at(5, answered=False))
    page.keyboard.press("Escape")
    visitor.until(at(5, present=False))
    assert page.locator(".hf-guess").count() == 3


@pytest.mark.recorded
def test_no_lesson_is_wider_than_a_phone(visitors) -> None:
    visitor = opened(visitors, "?tab=learn&lesson=1", 1, width=390, height=844)
    page = visitor.page
    for number in range(1, 11):
        page.locator(".hf-list-of-lessons button").nth(number - 1).click()
        visitor.until(at(number))
        page.locator(".hf-guess, .hf-slide button").first.click()
        visitor.until(at(number, answered=True))
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, number
        wide = (
            "list => list.filter((e) => e.scrollWidth > e.clientWidth + 1).map((e) => e.className)"
        )
        assert page.eval_on_selector_all(".hf-page, .hf-words, .hf-scene, .hf-row", wide) == [], (
            number
        )


@pytest.mark.recorded
def test_all_lessons_stand_in_one_line_on_a_phone(visitors) -> None:
    visitor = opened(visitors, "?lesson=10", 10, width=390, height=844)
    places = visitor.page.locator(".hf-list-of-lessons button").evaluate_all(
        "(all) => all.map((one) => [one.getBoundingClientRect().top, one.scrollWidth <= "
        "one.clientWidth])"
    )
    assert len({top for top, _ in places}) == 1
    assert all(fits for _, fits in places)


@pytest.mark.recorded
def test_a_lesson_that_there_is_not_is_told(visitors) -> None:
    visitor = opened(visitors, "?lesson=12", 1)
    assert visitor.alert() == "There is no lesson “12”: choose 1 to 10"


@pytest.mark.recorded
def test_hidden_rows_come_with_the_answer_and_take_no_other_place(visitors) -> None:
    visitor = opened(visitors, "?tab=learn&lesson=9", 9)
    page = visitor.page
    row = page.locator(".hf-row[data-row=kept-hsd]")
    before = row.bounding_box()
    assert not row.is_visible()
    page.locator(".hf-slide button").click()
    visitor.until(at(9, answered=True))
    assert row.is_visible()
    assert f"mean {learn.number(learn.numbers()['hsd_mean'])}" in " ".join(row.inner_text().split())
    assert row.bounding_box() == before


@pytest.fixture(scope="module")
def lab() -> Iterator[Engine]:
    engine = Engine({"link": "lab/link.js"})
    yield engine
    engine.stop()


def test_the_lab_reads_every_preset_of_what_is_easily_believed(lab: Engine) -> None:
    queries = [
        entry["see"]["query"]
        for entry in learn.entries("beliefs")
        if "lab" in entry["see"]["query"]
    ]
    presets = [parse_qs(query)["lab"][0] for query in queries if "lab=" in query]
    assert len(presets) == 5
    for text, entry in zip(
        presets, [e["lab"] for e in learn.source()["beliefs"] if "lab" in e], strict=True
    ):
        state = lab.call("(text) => link.decode(text)", text)
        assert state["gamma"] == entry["gamma"]
        assert state["p"] == [[str(x) for x in entry["p"]]]
        assert state["coins"] == entry["coins"]
