"""What the head is trained by is what rules keep: the estimate along the target's own text, by
exact enumeration.
"""

from __future__ import annotations

import itertools
import sys
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

from hsd.audit import output_law
from hsd.conform.judge import rows_models
from hsd.paths import ROOT
from hsd.rules import RULES

# The scripts there import each other, as they do when one is started.
sys.path.append(str(ROOT / "examples" / "reproduce" / "smollm2"))

import train_on_gpu as gpu

P = [[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.1, 0.8], [1.0, 0.0, 0.0]]
Q = [[0.3, 0.5, 0.2], [0.5, 0.25, 0.25], [0.3, 0.4, 0.3]]
GAMMA = 3
VOCAB = 3


class Rows(torch.nn.Module):
    """A head whose rows depend on the depth alone."""

    def unroll(self, embedded: Tensor, before: Tensor, steps: int) -> list[Tensor]:
        return [
            torch.tensor(Q[depth]).log().expand(*embedded.shape[:2], VOCAB)
            for depth in range(steps)
        ]

    def logits(self, rows: Tensor) -> Tensor:
        return rows


def path(tokens: tuple[int, ...], heat: float = 1.0) -> tuple[Any, gpu.Texts, Tensor]:
    """What the target knows of one text, whose first token is its prompt; drafts begin after that
    alone.
    """
    whole = torch.tensor([[0, *tokens]])
    texts = gpu.Texts(
        whole, torch.tensor([1]), torch.tensor([GAMMA + 1]), torch.tensor([heat]), torch.tensor([0])
    )
    known = SimpleNamespace(
        embedded=torch.zeros(1, GAMMA + 1, 1),
        before=torch.zeros(1, GAMMA + 1, 1, 1),
        place=torch.tensor([[0, 1, 2, 2]]),
        chosen=torch.tensor([[*tokens, -1]]),
        p=torch.tensor(P[:GAMMA]),
        likeliest=torch.tensor(P[:GAMMA]).argmax(1),
    )
    starts = torch.tensor([[True] + [False] * GAMMA])
    return known, texts, starts


@pytest.mark.parametrize("rule", ["blockwise", "hsd"])
def test_the_loss_is_what_block_verification_keeps_of_a_draft(rule: str) -> None:
    _, kept = output_law(rows_models(P, Q), RULES[rule].law, RULES[rule].resamples)
    mean = 0.0
    for tokens in itertools.product(range(VOCAB), repeat=GAMMA):
        chance = 1.0
        for depth, token in enumerate(tokens):
            chance *= P[depth][token]
        mean -= chance * float(gpu.loss_of(Rows(), *path(tokens), GAMMA, "kept alone"))  # type: ignore[arg-type]
    assert mean == pytest.approx(kept, abs=1e-6)


def test_the_overlap_is_summed_over_places_that_the_target_wrote() -> None:
    known, texts, starts = path((0, 1, 2))
    cross = gpu.LOSSES["overlap"]["cross"]
    overlap = gpu.LOSSES["overlap"]["overlap"]
    expected = 0.0
    for depth, (p, q) in enumerate(zip(P, Q, strict=False)):
        p = torch.tensor(p)
        q = torch.tensor(q)
        expected -= 0.8**depth * float(
            cross * (p * q.log()).sum() + overlap * torch.minimum(p, q).sum()
        )
    head = Rows()
    rows = head.unroll
    head.unroll = lambda *given: [row.clone().requires_grad_() for row in rows(*given)]  # type: ignore[method-assign]
    loss = gpu.loss_of(head, known, texts, starts, GAMMA, "overlap")  # type: ignore[arg-type]
    assert loss.item() == pytest.approx(expected, rel=1e-5)
    texts.ends[:] = 2  # the text ends after one token: nothing else counts
    first = (
        0.1 * (torch.tensor(P[0]) * torch.tensor(Q[0]).log()).sum()
        + torch.minimum(torch.tensor(P[0]), torch.tensor(Q[0])).sum()
    )
    loss = gpu.loss_of(head, known, texts, starts, GAMMA, "overlap")  # type: ignore[arg-type]
    assert loss.item() == pytest.approx(-float(first), rel=1e-5)


def test_a_token_that_the_head_does_not_know_is_never_kept_nor_anything_after_it() -> None:
    known, texts, starts = path((0, 1, 2))
    known.chosen[0, 0] = -1
    depths = list(gpu.depths(Rows(), known, texts, starts, GAMMA))  # type: ignore[arg-type]
    assert depths[0].ratio.tolist() == [0.0]
    alone = float(torch.minimum(torch.tensor(P[0]), torch.tensor(Q[0])).sum())
    loss = gpu.loss_of(Rows(), known, texts, starts, GAMMA, "kept alone")  # type: ignore[arg-type]
    assert float(loss) == pytest.approx(-alone)


def test_a_text_ends_after_its_mark_and_a_chat_that_the_target_began_after_two() -> None:
    torch.manual_seed(0)
    end = 9
    length = 8
    target = Repeating([5, 9, 5, 9, 5, 5, 5, 5])
    begun = {
        "tokens": torch.tensor([[1, 2], [1, 2]]),
        "prompts": torch.tensor([2, 2]),
        "heats": torch.ones(2),
        "domains": torch.tensor([0, gpu.DOMAINS.index("chat")]),
    }
    texts = gpu.write(target, begun, length, end, torch.device("cpu"))  # type: ignore[arg-type]
    assert texts.tokens[0].tolist() == [1, 2, 9, 5, 9, 5, 5, 5]
    assert texts.ends.tolist() == [3, 5]
    assert texts.judged()[0].nonzero()[:, 0].tolist() == [1]


class Repeating:
    """A target that writes given tokens, whatever it reads."""

    layers = (None,)
    groups = 1
    width = 1

    def __init__(self, tokens: list[int]) -> None:
        self._tokens = tokens

    def read(self, tokens: Tensor, cache: Tensor, start: int) -> tuple[None, Tensor]:
        return None, torch.full((len(tokens), 1, 1), float(self._tokens[start]))

    def logits(self, last: Tensor) -> Tensor:
        return torch.nn.functional.one_hot(last[:, 0].long(), 10) * 1e4
