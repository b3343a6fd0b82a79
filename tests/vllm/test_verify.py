"""Verification by HSD in place of vLLM's: every draft of a batch is judged as the rule judges it
alone.
"""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from hsd.rules import RULES
from hsd.sampling import draw
from hsd.vllm.serving import Settings
from hsd.vllm.watcher import Watcher

VOCAB = 7
BONUS = 6
RULE = RULES["hsd"]


def rows(count: int, generator: torch.Generator, cut: int = 0) -> torch.Tensor:
    logits = torch.randn(count, VOCAB, generator=generator) * 2
    if cut:
        logits = logits.masked_fill(logits < logits.topk(cut).values[:, -1:], -torch.inf)
    return logits.softmax(-1)


def drafts(seed: int, count: int, cut: int = 0):
    generator = torch.Generator().manual_seed(seed)
    p = rows(count, generator, cut)
    q = rows(count, generator, cut)
    return p, q, torch.multinomial(q, 1, generator=generator)[:, 0], generator


def alone(p: torch.Tensor, q: torch.Tensor, tokens: torch.Tensor):
    # the last row has no part in tests
    return RULE.law(torch.cat([p, torch.full((1, VOCAB), 1 / VOCAB)]), q, tokens)


def batch(sizes: list[int], temperatures: list[float] | None = None, **given: object) -> dict:
    """The arguments of vLLM's function for requests that drafted so many tokens."""
    temperature = torch.tensor(temperatures or [1.0] * len(sizes))
    greedy = temperature == 0
    generators = {0: torch.Generator().manual_seed(1)}
    metadata = {
        "all_greedy": bool(greedy.all()),
        "all_random": not greedy.any(),
        "temperature": temperature,
    }
    return {
        "num_draft_tokens": sizes,
        "max_spec_len": max(sizes),
        "draft_probs": None,
        "synthetic_mode": False,
        "bonus_token_ids": torch.full((len(sizes), 1), BONUS, dtype=torch.int32),
        "sampling_metadata": SimpleNamespace(**metadata, generators=generators),
        **given,
    }


def verified(coins: torch.Tensor, given: dict) -> tuple[list[list[int]], torch.Tensor]:
    """What each request commits, and the numbers that drew what follows its kept tokens."""
    sizes = given["num_draft_tokens"]
    calls = []

    def uniform(count: int, counts: list[int], generators: dict, _: torch.device) -> torch.Tensor:
        calls.append((count, counts, generators))
        return coins if len(calls) == 1 else torch.rand(count, dtype=torch.float64)

    watcher = Watcher(Settings(rule="hsd"), None, uniform)
    committed = watcher.verify(given, lambda: pytest.fail("vLLM's own verification was called"))
    generators = given["sampling_metadata"].generators  # a request with a seed draws with it
    assert calls == [(len(coins), sizes, generators), (len(sizes), [1] * len(sizes), generators)]
    assert committed.dtype == torch.int32
    assert committed.shape == (len(sizes), given["max_spec_len"] + 1)
    texts = [[token for token in row if token >= 0] for row in committed.tolist()]
    assert all(row[len(text) :].eq(-1).all() for row, text in zip(committed, texts, strict=True))
    return texts, watcher._numbers


@pytest.mark.parametrize("certain", [False, True])
@pytest.mark.parametrize("cut", [0, 3])
def test_every_draft_is_judged_as_alone_on_equal_coins(cut: int, certain: bool):
    sizes = [3, 0, 2, 5, 1]
    ends = (3, 3, 5, 10, 11)
    for seed in range(40):
        p, q, tokens, generator = drafts(seed, sum(sizes), cut)
        coins = torch.rand(len(tokens), generator=generator, dtype=torch.float64)
        q = torch.nn.functional.one_hot(tokens, VOCAB).float() if certain else q
        parts = [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]
        laws = [alone(p[part], q[part], tokens[part]) for part in parts]
        thresholds = torch.cat([law.threshold for law in laws])
        given = batch(sizes, draft_token_ids=tokens.int(), target_logits=p.log())
        given["draft_probs"] = None if certain else q
        for thrown in (coins, (thresholds - 2e-6).clamp_min(0), thresholds + 2e-6):
            texts, numbers = verified(thrown, given)
            for at, (law, part, size) in enumerate(zip(laws, parts, sizes, strict=True)):
                kept = int(law.kept(thrown[part]))
                after = BONUS if kept == size else int(draw(law.next(kept), numbers[at : at + 1]))
                assert texts[at] == [*tokens[part][:kept].tolist(), after]


def test_a_greedy_request_keeps_the_likeliest_tokens_and_names_the_next():
    p, _, _, _ = drafts(6, 6)
    best = p.argmax(-1)
    tokens = best.clone()
    tokens[2] = (best[2] + 1) % VOCAB
    coins = torch.full((6,), 0.999, dtype=torch.float64)
    given = batch(
        [3, 2, 1], [0.0, 0.0, 1.0], draft_token_ids=tokens, target_logits=p.log(), draft_probs=p
    )
    assert verified(coins, given)[0][:2] == [best[:3].tolist(), [*best[3:5].tolist(), BONUS]]


def test_a_draft_ends_before_a_token_of_minus_one():
    p, q, tokens, _ = drafts(3, 4)
    tokens[2] = -1
    threshold = alone(p[:2], q[:2], tokens[:2]).threshold.tolist()
    for coins, kept in (
        ([1, threshold[1] - 2e-6], 2),
        ([threshold[0] - 2e-6, 1], 1),
        ([threshold[0] + 2e-6, 1], 0),
    ):
        thrown = torch.tensor([*coins, 0, 0], dtype=torch.float64)
        texts, numbers = verified(
            thrown, batch([4], draft_token_ids=tokens, target_logits=p.log(), draft_probs=q)
        )
        assert texts[0][:-1] == tokens[:kept].tolist()
        if kept == 2:
            # the target's own row, as nothing was drafted
            assert texts[0][-1] == int(draw(p[2], numbers))


def test_a_batch_in_which_nobody_drafted_gets_its_bonus_tokens():
    none = torch.empty(0, VOCAB)
    given = batch(
        [0, 0],
        draft_token_ids=torch.empty(0, dtype=torch.int32),
        target_logits=none,
        draft_probs=none,
    )
    assert verified(torch.empty(0, dtype=torch.float64), given)[0] == [[BONUS], [BONUS]]


def test_what_is_greedy_throughout_or_synthetic_is_left_to_vllm():
    p, q, tokens, _ = drafts(5, 2)
    watcher = Watcher(Settings(rule="hsd"), None)
    for given in (
        batch([2], [0.0]),
        batch([2], synthetic_mode=True),
        batch([2], fly_window_size=3),
    ):
        given |= {"draft_token_ids": tokens, "target_logits": p.log(), "draft_probs": q}
        assert watcher.verify(given, lambda: "vLLM's") == "vLLM's"
