"""What the module makes of long rows for a page is what torch makes of them."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from loops import for_each
from small_gguf import numbers
from torch import Tensor

from hsd.engine import machine
from hsd.models.small.engine import Engine

NOISE = torch.Generator().manual_seed(5)
WIDTH = 6000


def row(kind: str) -> Tensor:
    """A row of probabilities: of every size, most of it 0, or all on one token."""
    if kind == "certain":
        return torch.eye(WIDTH)[4321].clone()
    logits = 6 * torch.randn(WIDTH, generator=NOISE)
    if kind == "sparse":
        logits[torch.rand(WIDTH, generator=NOISE) < 0.9] = -torch.inf
    return logits.softmax(-1)


KINDS = ("dense", "sparse", "certain")


class Module:
    """The module, with rows in its memory."""

    def __init__(self) -> None:
        self.engine = Engine()
        self.machine: Any = self.engine.machine

    def put(self, row: Tensor) -> int:
        return self.engine.vector(row)

    def room(self, count: int) -> int:
        return self.engine.take(4 * count)

    def call(self, name: str, *arguments: float) -> Any:
        return self.machine._functions[name](self.machine._store, *arguments)


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Module:
    pytest.importorskip("wasmtime")
    monkeypatch.setattr(machine, "usable", list)
    return Module()


@for_each("kind", KINDS)
def test_the_sum_and_the_entropy_of_a_row(module: Module, kind: str) -> None:
    p = row(kind)
    place = module.put(p)
    double = p.double()
    assert module.call("total", place, WIDTH) == pytest.approx(float(double.sum()), rel=1e-14)
    wanted = float(torch.special.entr(double).sum())
    assert module.call("entropy", place, WIDTH) == pytest.approx(wanted, rel=1e-12, abs=1e-15)


@for_each("factors", [(1.0, 1.0), (0.3, 1.0), (1.0, 0.7), (0.0, 1.0)])
def test_a_residual_has_the_bits_of_torchs(module: Module, factors: tuple[float, float]) -> None:
    p, q = row("dense"), row("sparse")
    a, b = (torch.tensor(factor) for factor in factors)
    to = module.room(WIDTH)
    module.call("residual", module.put(p), module.put(q), WIDTH, *factors, to)
    wanted = (p * a - q * b).clamp_min(0)
    assert torch.equal(numbers(module.engine, to, WIDTH), wanted)


@for_each("kind", KINDS)
@for_each("count", [1, 2, 8, 300])
def test_the_largest_come_first_and_of_equals_the_first(
    module: Module, kind: str, count: int
) -> None:
    p = row(kind)
    if kind == "dense":
        p[100:104] = p[5000:5004] = p.max() * 0.9
    to = module.room(count)
    assert module.call("largest", module.put(p), WIDTH, count, to) == count
    places = numbers(module.engine, to, count).view(torch.int32).tolist()
    assert places == sorted(range(WIDTH), key=lambda i: (-p[i].item(), i))[:count]


def test_tokens_that_cannot_come_are_not_among_the_largest(module: Module) -> None:
    logits = torch.full((WIDTH,), -torch.inf)
    logits[[7, 70]] = torch.tensor([-3.0, -2.0])
    to = module.room(8)
    assert module.call("largest", module.put(logits), WIDTH, 8, to) == 2
    assert numbers(module.engine, to, 2).view(torch.int32).tolist() == [70, 7]
