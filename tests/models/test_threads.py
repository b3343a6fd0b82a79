"""How many threads a pair computes with: the faster count, measured once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

import hsd
from hsd.models import threads
from hsd.models.threads import settle_threads


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    count = torch.get_num_threads()
    yield
    torch.set_num_threads(count)


@pytest.mark.parametrize(("faster", "slower"), [(1, 2), (2, 1)])
def test_the_faster_count_is_taken_and_remembered(monkeypatch: pytest.MonkeyPatch, faster: int, slower: int):
    costs, asked = {faster: 0.02, slower: 0.03}, []

    def seconds(_: object, tokens: int) -> float:
        asked.append(tokens)
        return costs[torch.get_num_threads()] * (1 + tokens / 10)

    monkeypatch.setattr(threads, "SMALL", 0)
    monkeypatch.setattr(threads, "AVAILABLE", 2)
    monkeypatch.setattr(threads, "_seconds", seconds)
    pair = hsd.table_pair(vocab=4, order=1, seed=3)
    chosen = settle_threads(pair)
    assert chosen.count == faster == torch.get_num_threads()
    assert str(chosen).startswith(f"{faster} thread")
    assert f"{slower}: 33 ms a token" in str(chosen)
    before = len(asked)
    assert settle_threads(pair) == chosen
    assert len(asked) == before > 0


def test_small_models_take_one_thread_without_a_measurement(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(threads, "_seconds", pytest.fail)
    assert settle_threads(hsd.table_pair(vocab=4, order=1, seed=3)).count == 1
    assert torch.get_num_threads() == 1


def test_an_engine_with_threads_of_its_own_is_told_and_torch_takes_one(monkeypatch: pytest.MonkeyPatch):
    told: list[int] = []
    monkeypatch.setattr(threads, "SMALL", 0)
    monkeypatch.setattr(threads, "AVAILABLE", 2)
    monkeypatch.setattr(threads, "_seconds", lambda *_: 1 / told[-1])
    pair = hsd.table_pair(vocab=4, order=1, seed=3)
    monkeypatch.setattr(type(pair.target), "use_threads", lambda _, count: told.append(count), raising=False)
    assert settle_threads(pair).count == 2 == told[-1]
    assert set(told) == {1, 2}
    assert torch.get_num_threads() == 1
