"""The law for a batch of drafts gives every request what the rule gives it alone."""

from __future__ import annotations

import pytest
import torch

from hsd.rules import RULES
from hsd.sampling import draw
from hsd.vllm.law import BatchLaw, drawn

VOCAB = 7
RULE = RULES["hsd"]


def rows(count: int, generator: torch.Generator, cut: int = 0) -> torch.Tensor:
    logits = torch.randn(count, VOCAB, generator=generator) * 2
    if cut:
        logits = logits.masked_fill(logits < logits.topk(cut).values[:, -1:], -torch.inf)
    return logits.softmax(-1)


def drafts(seed: int, size: int, cut: int = 0):
    generator = torch.Generator().manual_seed(seed)
    p, q = rows(size, generator, cut), rows(size, generator, cut)
    tokens = torch.multinomial(q, 1, generator=generator)[:, 0] if size else torch.empty(0, dtype=torch.int64)
    return p, q, tokens, generator


def alone(p: torch.Tensor, q: torch.Tensor, tokens: torch.Tensor):
    return RULE.law(torch.cat([p, torch.full((1, VOCAB), 1 / VOCAB)]), q, tokens)  # the last row has no part in tests


@pytest.mark.parametrize("certain", [False, True])
@pytest.mark.parametrize("cut", [0, 3])
def test_every_request_is_judged_as_alone_on_equal_coins(cut: int, certain: bool):
    for seed in range(40):
        sizes = torch.randint(0, 6, (8,), generator=torch.Generator().manual_seed(seed)).tolist()
        p, q, tokens, generator = drafts(seed, sum(sizes), cut)
        q = torch.nn.functional.one_hot(tokens, VOCAB).float() if certain else q
        coins = torch.rand(sum(sizes), generator=generator, dtype=torch.float64)
        numbers = torch.rand(len(sizes), generator=generator, dtype=torch.float64)
        law = BatchLaw(p, None if certain else q, tokens, sizes)
        kept = law.kept(coins)
        following = drawn(law.following(kept), numbers)
        for request, (begin, size) in enumerate(zip(law.begins.tolist(), sizes, strict=True)):
            part = slice(begin, begin + size)
            one = alone(p[part], q[part], tokens[part])
            assert law.threshold[request, :size].tolist() == pytest.approx(one.threshold.tolist(), abs=2e-6)
            assert int(kept[request]) == int(one.kept(coins[part]))
            if (count := int(kept[request])) < size:
                assert int(following[request]) == int(draw(one.next(count), numbers[request : request + 1]))


def test_a_greedy_request_keeps_the_likeliest_tokens_and_names_the_next():
    law = BatchLaw(torch.eye(VOCAB)[[1, 2, 3]], None, torch.tensor([1, 2, 5]), [3])
    kept = law.kept(torch.full((3,), 0.999, dtype=torch.float64))
    assert kept.tolist() == [2]
    assert drawn(law.following(kept), torch.tensor([0.5])).tolist() == [3]


def test_a_draft_ends_before_a_token_of_minus_one():
    p, q, tokens, _ = drafts(3, 7)
    tokens[2] = -1
    law, one = BatchLaw(p, q, tokens, [4, 3]), alone(p[:2], q[:2], tokens[:2])
    assert law.threshold[0].tolist() == pytest.approx([*one.threshold.tolist(), 0, 0], abs=2e-6)
    assert torch.equal(law.following(torch.tensor([2, 3]))[0], p[2])  # the target's own row, as nothing was drafted


def test_nobody_drafted():
    law = BatchLaw(torch.empty(0, VOCAB), None, torch.empty(0, dtype=torch.int64), [0, 0, 0])
    assert law.kept(torch.empty(0, dtype=torch.float64)).tolist() == [0, 0, 0]
