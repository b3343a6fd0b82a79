"""The law for a batch of drafts gives every request what the rule gives it alone."""

from __future__ import annotations

import pytest
import torch

from hsd.rules import RULES
from hsd.sampling import draw
from hsd.vllm.law import hsd_of_batch

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
def test_every_draft_is_judged_as_alone_on_equal_coins(cut: int, certain: bool):
    for seed in range(40):
        count, size = 8, 1 + seed % 5
        p, q, tokens, generator = drafts(seed, count * size, cut)
        q = torch.nn.functional.one_hot(tokens, VOCAB).float() if certain else q
        coins, numbers = (torch.rand(count, n, generator=generator, dtype=torch.float64) for n in (size, 1))
        p, q, tokens = (rows.unflatten(0, (count, size)) for rows in (p, q, tokens))
        laws = [alone(*draft) for draft in zip(p, q, tokens, strict=True)]
        thresholds = torch.stack([law.threshold for law in laws])
        for given in (coins, thresholds - 2e-6, thresholds + 2e-6):
            kept, rows = hsd_of_batch(p, None if certain else q, tokens, given)
            following = draw(rows, numbers)
            for i, law in enumerate(laws):
                after = law.next(int(kept[i]))
                assert int(kept[i]) == int(law.kept(given[i]))
                if kept[i] < size:
                    assert (rows[i] / rows[i].sum()).tolist() == pytest.approx(after.tolist(), abs=2e-6)
                    assert int(following[i]) == int(draw(after, numbers[i]))


def test_a_greedy_request_keeps_the_likeliest_tokens_and_names_the_next():
    rows, coins = torch.eye(VOCAB)[None, [1, 2, 3]], torch.full((1, 3), 0.999, dtype=torch.float64)
    kept, following = hsd_of_batch(rows, None, torch.tensor([[1, 2, 5]]), coins)
    assert kept.tolist() == [2]
    assert draw(following, torch.tensor([[0.5]])).tolist() == [3]


def test_a_draft_ends_before_a_token_of_minus_one():
    p, q, tokens, _ = drafts(3, 4)
    tokens[2] = -1
    threshold = alone(p[:2], q[:2], tokens[:2]).threshold.tolist()
    for coins, kept in (([1, threshold[1] - 2e-6], 2), ([threshold[0] - 2e-6, 1], 1), ([threshold[0] + 2e-6, 1], 0)):
        given = torch.tensor([[*coins, 0, 0]], dtype=torch.float64)
        count, following = hsd_of_batch(p[None], q[None], tokens[None], given)
        assert count.tolist() == [kept]
        if kept == 2:
            assert torch.equal(following[0], p[2])  # the target's own row, as nothing was drafted
