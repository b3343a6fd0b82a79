"""The line for the model: one at a time, each visitor's first before anybody's second, nobody forgotten or held up."""

from __future__ import annotations

import logging
import random
import threading
import time

import pytest

import hsd
from hsd import HsdError, space
from hsd.ui import jobs, pairs
from hsd.ui.jobs import Jobs
from hsd.ui.line import ABANDONED, USUAL, Line
from hsd.ui.request import read
from hsd.ui.runs import Run

SPACE = space.load()


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def waits(line: Line, key: str, visitor: str, order: list[str]) -> threading.Thread:
    """A thread in which `key` waits for its turn, is noted when it has come, and leaves."""

    def wait() -> None:
        if line.turn(key, visitor):
            order.append(key)
            line.leave(key)

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    return thread


def served(line: Line, *asked: tuple[str, str]) -> list[str]:
    """The order in which these (key, visitor) get their turn that all wait while another one runs."""
    order: list[str] = []
    line.join("first")
    assert line.turn("first", "somebody")
    for key, _ in asked:
        line.join(key, lasting=True)
    threads = [waits(line, key, visitor, order) for key, visitor in asked]
    settled(line, len(asked))
    line.leave("first")
    for thread in threads:
        thread.join(10)
    return order


def settled(line: Line, count: int) -> None:
    """Wait until so many have told whose they are."""
    while sum(key != one.visitor for key, one in line._waiting.items()) < count:
        time.sleep(0.01)


def test_one_that_is_alone_runs_at_once_and_others_are_told_their_place(clock: Clock):
    line = Line(3, clock)
    line.join("a")
    assert line.place("a") == 0, "nobody runs: no waiting"
    assert line.turn("a")
    line.join("b")
    line.join("c")
    assert [line.place(key) for key in "abc"] == [0, 1, 2]
    line.leave("b")
    assert line.place("c") == 1
    line.leave("a")
    assert line.place("c") == 0


def test_a_busy_visitor_does_not_hold_up_another():
    asked = [("a1", "a"), ("a2", "a"), ("a3", "a"), ("b1", "b"), ("c1", "c"), ("b2", "b")]
    assert served(Line(9), *asked) == ["a1", "b1", "c1", "a2", "b2", "a3"]


def test_who_runs_already_counts_as_served():
    assert served(Line(9), ("x", "somebody"), ("y", "another")) == ["y", "x"]


def test_everybodys_turn_comes_however_many_arrive():
    """Visitors who never came before go first, and still the second run of a busy one is served in the end."""
    line, order = Line(50), []
    line.join("now")
    assert line.turn("now", "somebody")
    line.join("busy-1", lasting=True)
    line.join("busy-2", lasting=True)
    threads = [waits(line, key, "busy", order) for key in ("busy-1", "busy-2")]
    settled(line, 2)
    running = "now"
    for arrival in range(6):
        name = f"new-{arrival}"
        line.join(name, lasting=True)
        line.leave(running)
        assert line.turn(name, name)
        running = name
        if len(order) == 2:
            break
    line.leave(running)
    for thread in threads:
        thread.join(10)
    assert order == ["busy-1", "busy-2"]


def test_a_full_line_says_when_to_try_again(clock: Clock):
    line = Line(1, clock)
    line.join("a")
    with pytest.raises(HsdError, match=f"1 runs are waiting already: try again in about {USUAL:.0f} seconds"):
        line.join("b")


def test_how_long_it_takes_is_learnt_from_the_runs_that_end(clock: Clock):
    line = Line(4, clock)
    assert line.seconds(2) == 2 * USUAL
    for turn in range(20):
        line.join(str(turn))
        assert line.turn(str(turn))
        clock.now += 3
        line.leave(str(turn))
    assert line.seconds(1) in (3, 4)
    assert line.seconds(0) == 0


def test_a_page_that_was_closed_does_not_hold_up_the_line(clock: Clock):
    line = Line(3, clock)
    line.join("a")
    assert line.turn("a")
    for key in "bc":
        line.join(key)
    line.join("d", lasting=True)
    clock.now = ABANDONED - 1
    assert line.place("c") == 2
    clock.now = ABANDONED + 1
    assert line.place("c") == 1, "b was not heard of for too long"
    clock.now = 3 * ABANDONED
    assert line.place("d") == 1, "a program's run waits, whoever asks"
    assert line.turn("b") is False


def test_one_that_leaves_while_it_waits_is_let_go():
    line, order = Line(3), []
    line.join("a")
    assert line.turn("a")
    line.join("b")
    thread = waits(line, "b", "", order)
    line.leave("b")
    thread.join(10)
    assert (thread.is_alive(), order) == (False, [])


@pytest.mark.parametrize("seed", range(3))
def test_one_runs_at_a_time_and_all_are_served_in_any_disorder(seed: int):
    line, order, running, most = Line(200), [], [], []
    dice = random.Random(seed)

    def one(key: str, visitor: str) -> None:
        line.join(key, lasting=True)
        if dice.random() < 0.2:
            line.leave(key)
        if line.turn(key, visitor):
            running.append(key)
            most.append(len(running))
            time.sleep(0.001)
            running.remove(key)
            order.append(key)
            line.leave(key)

    threads = [threading.Thread(target=one, args=(f"{i}", f"v{i % 7}")) for i in range(60)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert set(most) == {1}
    assert len(order) > 30
    assert (line._waiting, line._running, line._served) == ({}, {}, {})


@pytest.fixture
def letters(monkeypatch: pytest.MonkeyPatch) -> None:
    """The model of every request becomes a small table."""
    monkeypatch.setattr(pairs, "load", lambda choice: hsd.table_pair(vocab=6, seed=1))


def run(seed: int = 0) -> Run:
    return Run(read(SPACE, {"prompt": "abc", "length": 20, "seed": seed, "pair": "tiny"}))


@pytest.mark.usefixtures("letters")
def test_equal_seeds_give_equal_texts_whoever_else_asks(monkeypatch: pytest.MonkeyPatch):
    kept, found = Jobs(SPACE.limits), {}
    names = threading.local()
    monkeypatch.setattr(jobs, "visitor", lambda: names.value)

    def ask(i: int) -> None:
        names.value = f"visitor {i % 3}"
        found[i] = kept.finish(run(seed=i % 2))

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    texts = [{found[i].result["text"] for i in found if i % 2 == parity} for parity in (0, 1)]
    assert [len(each) for each in texts] == [1, 1]
    assert texts[0] != texts[1]


def test_what_nobody_expected_is_told_with_a_name_that_the_log_has_and_without_the_prompt(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    def broken(choice: object) -> None:
        raise RuntimeError("a secret of the prompt")

    monkeypatch.setattr(pairs, "load", broken)
    kept = Jobs(SPACE.limits)
    with caplog.at_level(logging.ERROR), pytest.raises(HsdError) as told:
        kept.finish(run())
    name = str(told.value).partition("error ")[2].partition(")")[0]
    assert len(name) == 6
    assert f"error {name}: RuntimeError at" in caplog.text
    assert "broken" in caplog.text, "where it happened"
    assert "secret" not in caplog.text + str(told.value)
