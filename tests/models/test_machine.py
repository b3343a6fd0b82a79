"""How many threads a pair computes with, fewer on a busy machine, and the caller's again
afterwards.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from threading import Thread
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch
from loops import some
from table_models import table_pair

import hsd
from hsd import HsdError, Pair
from hsd.bench.race import facts
from hsd.models import machine as threads
from hsd.models.machine import LONGEST, PATIENCE, OtherWork, computing, machine, threads_of

PROMPT = "abc"


@pytest.fixture(autouse=True)
def as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(threads, "OTHERS", OtherWork())
    count = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(count)


@pytest.fixture
def pair(monkeypatch: pytest.MonkeyPatch) -> Pair:
    """A pair that counts as large enough for several threads."""
    monkeypatch.setattr(threads, "PER_THREAD", 1)
    return table_pair(vocab=4, order=1, seed=3)


def at_work(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """torch's number of threads at every start of the target, which comes to a list that grows."""
    found: list[int] = []
    start = type(pair.target).start

    def watched(model: Any) -> Any:
        session = start(model)
        forward = session.forward
        session.forward = lambda *given: found.append(torch.get_num_threads()) or forward(*given)
        return session

    monkeypatch.setattr(type(pair.target), "start", watched)
    return found


def test_large_models_take_all_threads(pair: Pair):
    assert (
        machine(pair)["threads"]
        == facts(pair, [])["machine"]["threads"]
        == threads_of(pair.target)
        == 2
    )
    with computing(pair):
        assert torch.get_num_threads() == 2


def test_small_models_take_one_thread():
    pair = table_pair(vocab=4, order=1, seed=3)
    assert machine(pair)["threads"] == threads_of(pair.target) == 1
    with computing(pair):
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == 2


@pytest.mark.parametrize(("millions", "count"), [(4, 1), (134, 2), (494, 9), (7_000, 16)])
def test_a_model_takes_as_many_threads_as_it_keeps_busy(
    monkeypatch: pytest.MonkeyPatch, millions: int, count: int
):
    monkeypatch.setattr(torch, "get_num_threads", lambda: 16)
    target = SimpleNamespace(device=torch.device("cpu"), parameters=millions * 1_000_000)
    assert threads_of(cast(Any, target)) == count


@pytest.mark.parametrize("count", [1, 3])
def test_as_many_threads_are_taken_as_the_caller_has(pair: Pair, count: int):
    torch.set_num_threads(count)
    with computing(pair):
        assert torch.get_num_threads() == count


def test_an_engine_with_threads_of_its_own_is_told_and_torch_takes_one(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
):
    told: list[int] = []
    monkeypatch.setattr(
        type(pair.target), "use_threads", lambda _, count: told.append(count), raising=False
    )
    with computing(pair):
        assert told == [2, 2]  # target and draft
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == 2


# A machine that becomes busy


def test_a_busy_step_leaves_one_thread_until_steps_were_quiet_for_a_while():
    others = OtherWork()
    others.learn(0.95)
    assert not others.waiting
    others.learn(0.4)
    assert others.waiting
    for _ in range(100):
        others.learn(0.66)  # it is busy still
        assert others.waiting
    for _ in range(PATIENCE):
        assert others.waiting
        others.learn(0.99)
    assert not others.waiting


def test_trials_that_fail_become_rare_and_are_forgotten_in_time():
    others = OtherWork()
    steps = 20_000
    tried = 0
    for _ in range(steps):
        tried += not others.waiting
        others.learn(0.99 if others.waiting else 0.4)  # a machine with room for one thread
    assert tried < 10 + steps / LONGEST
    assert others.patience == LONGEST
    others.waiting = 0
    for _ in range(LONGEST):
        others.learn(0.95)
    assert others.patience == PATIENCE


def test_steps_on_one_thread_say_nothing_of_several(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(threads.OTHERS, "learn", pytest.fail)
    hsd.run(table_pair(vocab=4, order=1, seed=3), PROMPT, max_new_tokens=3)


def test_a_run_goes_on_with_one_thread_when_the_machine_becomes_busy(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
):
    clock = {"wall": 0.0, "own": 0.0, "share": 1.0}

    def computed() -> float:
        clock["wall"] += 1
        clock["own"] += clock["share"]
        return clock["own"]

    monkeypatch.setattr(
        threads, "time", SimpleNamespace(perf_counter=lambda: clock["wall"], thread_time=computed)
    )
    found = at_work(pair, monkeypatch)
    with_two = hsd.decode(pair, PROMPT, system="plain", max_new_tokens=60, trace=False)
    found.clear()
    for _ in range(3):
        next(with_two)
    assert set(found) == {2}
    clock["share"] = 0.3
    next(with_two)
    found.clear()
    for _ in range(5):
        next(with_two)
    assert set(found) == {1}
    clock["share"] = 1.0
    for _ in range(20):
        next(with_two)
    assert found[-1] == 2
    with_two.close()


# The caller's own setting


@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_callers_number_of_threads_is_the_same_after_and_between_steps(
    count: int, monkeypatch: pytest.MonkeyPatch
):
    pair = table_pair(vocab=4, order=1, seed=3)
    found = at_work(pair, monkeypatch)
    torch.set_num_threads(count)
    hsd.run(pair, PROMPT, max_new_tokens=6)
    assert torch.get_num_threads() == count
    assert set(found) == {1}
    decoding = hsd.decode(pair, PROMPT, max_new_tokens=40)
    other = hsd.decode(pair, PROMPT, max_new_tokens=40, seed=1)
    for _ in range(3):
        next(decoding)
        assert torch.get_num_threads() == count
        next(other)
        assert torch.get_num_threads() == count
        hsd.run(pair, PROMPT, max_new_tokens=3)  # one within another
    decoding.close()
    assert torch.get_num_threads() == count
    for _ in other:
        pass
    assert torch.get_num_threads() == count
    with suppress(StopIteration):
        next(other)
    del decoding, other
    assert torch.get_num_threads() == count


@pytest.mark.parametrize("error", [RuntimeError, torch.OutOfMemoryError, KeyboardInterrupt])
def test_it_is_the_same_after_a_run_that_fails(
    error: type[BaseException], monkeypatch: pytest.MonkeyPatch
):
    pair = table_pair(vocab=4, order=1, seed=3)

    def fail(*_: object) -> None:
        raise error("no")

    decoding = hsd.decode(pair, PROMPT, max_new_tokens=40)
    next(decoding)
    monkeypatch.setattr(decoding._rounds, "score", fail)
    with pytest.raises((error, HsdError)):
        next(decoding)
    assert torch.get_num_threads() == 2
    with pytest.raises(HsdError):
        hsd.decode(pair, PROMPT, gamma=-1)
    with pytest.raises(HsdError):
        hsd.run(pair, "")
    assert torch.get_num_threads() == 2


def test_a_run_that_goes_from_thread_to_thread_leaves_each_as_it_was():
    pair = table_pair(vocab=4, order=1, seed=3)
    seen = []
    decoding = hsd.decode(pair, PROMPT, max_new_tokens=40)

    def step(count: int) -> None:
        torch.set_num_threads(count)
        next(decoding)
        seen.append(torch.get_num_threads() == count)

    for count in (1, 2, 3):
        thread = Thread(target=step, args=(count,))
        thread.start()
        thread.join()
    assert seen == [True] * 3


IMPORTED = """
import os, sys
{first}
before = {before}
kept = dict(os.environ)
import hsd, torch
import hsd.decoding.loop
threads = torch.get_num_threads()
print(threads == (before or threads), kept == dict(os.environ), threads)
"""


@pytest.mark.parametrize("torch_first", some([False, True], 2))
def test_an_import_changes_neither_threads_nor_environment(torch_first: bool):
    first = "import torch; torch.set_num_threads(3)" if torch_first else ""
    code = IMPORTED.format(first=first, before="torch.get_num_threads()" if torch_first else "None")
    told = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    plain = [sys.executable, "-c", "import torch; print(torch.get_num_threads())"]
    count = (
        "3"
        if torch_first
        else subprocess.run(plain, capture_output=True, text=True, check=True).stdout.strip()
    )
    assert told == ["True", "True", count]
