"""Drafts that choose their length: which ways to choose leave a lossless rule lossless, by exact
enumeration.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import pytest
import torch
from loops import for_each
from torch import Tensor

from hsd import RULES
from hsd.audit import TableModels, output_law, random_models, target_law, total_variation
from hsd.draft import stopping
from hsd.draft.stopping import Stopping, StoppingState
from hsd.rules import Law

BY_RATIOS = ("tokenwise", "blockwise", "hsd")
EVERY = (*BY_RATIOS, "agreement")  # which writes the target's own sample, whatever was drafted
GAMMA = 3
PAIRS = [random_models(vocab=3, gamma=GAMMA, seed=seed) for seed in range(3)]
Draft = tuple[int, ...]
Cut = Callable[[TableModels, Draft], int]


def first(holds: Callable[[Draft], bool], draft: Draft) -> int:
    """The length of the shortest prefix of which something holds, else of the whole draft."""
    return next((n for n in range(len(draft)) if holds(draft[:n])), len(draft))


# ---- stopping times: what is cut off says nothing about where


def after_an_unlikely_token(models: TableModels, draft: Draft) -> int:
    """The token that the draft finds unlikely is the last one."""
    return first(lambda x: bool(x) and float(models.draft[x[:-1]][x[-1]]) < 0.4, draft)


def before_a_flat_row(models: TableModels, draft: Draft) -> int:
    """The next token is not drawn where its row is flat, not even the first one."""
    return first(lambda x: float(models.draft[x].max()) < 0.6, draft)


def by_the_target(models: TableModels, draft: Draft) -> int:
    """Where the target would soon disagree, by its rows up to the one after the prefix: of no use,
    and exact.
    """
    return first(lambda x: float((models.target[x] - models.draft[x]).abs().sum()) > 0.5, draft)


def fresh(least: float = 0.25, kept: float = 0.0, expected: float = 0.0) -> StoppingState:
    """A state of `Stopping` with what earlier steps have shown."""
    return StoppingState(Stopping(least, temperature=0.0), kept, expected)


def by_state(chain: StoppingState, models: TableModels, draft: Draft) -> int:
    """As decoding does it in this state of a run."""
    chain.begin()
    for n, token in enumerate(draft):
        row = models.draft[draft[:n]]
        if not (chain.may_pay and chain.pays(float(row.max()))):
            return n
        chain.add(float(row[token]))
    return len(draft)


def as_decoding_does(models: TableModels, draft: Draft, **record: float) -> int:
    """By `Stopping`, with a fixed record of earlier steps."""
    return by_state(fresh(**record), models, draft)


def by_chance(models: TableModels, draft: Draft, seed: int = 0) -> int:
    """Any function of the prefix: here a random one."""

    def ends(prefix: Draft) -> bool:
        if not prefix:
            return False
        generator = torch.Generator().manual_seed(hash((seed, prefix)) % 2**31)
        return float(torch.rand(1, generator=generator)) < 0.4

    return first(ends, draft)


STOPPING_TIMES: dict[str, Cut] = {
    "after an unlikely token": after_an_unlikely_token,
    "before a flat row": before_a_flat_row,
    "by the target": by_the_target,
    "as decoding does": as_decoding_does,
    "as decoding does, later": partial(as_decoding_does, least=0.15),
    "as decoding does, when little was kept": partial(as_decoding_does, kept=1, expected=2),
    "as decoding does, when all was kept": partial(as_decoding_does, kept=6, expected=4),
    **{f"by chance {seed}": partial(by_chance, seed=seed) for seed in range(4)},
}


# ---- others: a token is drawn, looked at and thrown away


def without_an_unlikely_token(models: TableModels, draft: Draft) -> int:
    """The token that the draft finds unlikely is left out, as if it had not been drawn."""
    return next(
        (n for n, x in enumerate(draft) if float(models.draft[draft[:n]][x]) < 0.4), len(draft)
    )


def without_a_token_that_the_target_likes_less(models: TableModels, draft: Draft) -> int:
    """A token with p < q is left out: only what is certain to be kept is handed over."""
    less = (
        n for n, x in enumerate(draft) if models.target[draft[:n]][x] < models.draft[draft[:n]][x]
    )
    return next(less, len(draft))


WRONG: dict[str, Cut] = {
    "without an unlikely token": without_an_unlikely_token,
    "without a token that the target likes less": without_a_token_that_the_target_likes_less,
}


def distance(rule: str, models: TableModels, cut: Cut) -> float:
    output, _ = output_law(models, RULES[rule].law, cut=partial(cut, models))
    return total_variation(output, target_law(models))


@for_each("rule", EVERY, every=4)
@pytest.mark.parametrize("cut", STOPPING_TIMES.values(), ids=STOPPING_TIMES)
def test_rules_stay_lossless_where_the_length_is_a_stopping_time(rule: str, cut: Cut):
    lengths = {cut(models, draft) for models in PAIRS for draft in models.drafts()}
    assert len(lengths) > 1, "this way to choose always chooses the same"
    for models in PAIRS:
        assert distance(rule, models, cut) < 1e-12


@pytest.mark.parametrize("rule", BY_RATIOS)
@pytest.mark.parametrize("cut", WRONG.values(), ids=WRONG)
def test_a_length_that_depends_on_a_token_thrown_away_is_found_out(rule: str, cut: Cut):
    assert max(distance(rule, models, cut) for models in PAIRS) > 1e-3


@pytest.mark.parametrize("rule", EVERY)
def test_a_length_that_depends_on_a_coin_is_found_out(rule: str):
    """The last token is left out where its coin is at least ½: where it is not, it is kept too
    often.
    """

    def conditioned(p: Tensor, q: Tensor, tokens: Tensor, low: bool) -> Law:
        """The law of a last coin that is below ½, or is not."""
        law = RULES[rule].law(p, q, tokens)
        last = law.threshold[-1:]
        own = 2 * last.clamp_max(0.5) if low else 2 * (last - 0.5).clamp_min(0)
        return replace(law, threshold=torch.cat([law.threshold[:-1], own]))

    found = []
    for models in PAIRS:
        low, high = (output_law(models, partial(conditioned, low=low))[0] for low in (True, False))
        # both halves of the coin's values
        assert total_variation((low + high) / 2, target_law(models)) < 1e-12
        shorter, _ = output_law(models, RULES[rule].law, cut=lambda draft: GAMMA - 1)
        found.append(total_variation((low + shorter) / 2, target_law(models)))
    assert max(found) > 1e-3


# ---- step after step


def below(models: TableModels, path: Draft) -> TableModels:
    """The pair after these tokens."""
    n = len(path)
    target, draft = (
        {x[n:]: row for x, row in t.items() if x[:n] == path} for t in (models.target, models.draft)
    )
    return TableModels(target, draft, models.vocab, models.gamma - n)


Step = Callable[[StoppingState, TableModels, Draft], int]


def thrown_away(chain: StoppingState, models: TableModels, draft: Draft) -> int:
    """As decoding does, and an unlikely token is left out."""
    return min(by_state(chain, models, draft), without_an_unlikely_token(models, draft))


def after_one_step(
    models: TableModels, rule: str, step: Step, record: dict[str, float]
) -> Iterator[tuple[float, Draft, StoppingState]]:
    """What a step commits, with which probability, and the state that the run is in then."""
    for drawn in models.drafts():
        chain = fresh(**record)
        draft = drawn[: step(chain, models, drawn)]
        law = None
        if draft:
            p = models.rows(models.target, draft, len(draft) + 1)
            law = RULES[rule].law(
                p, models.rows(models.draft, draft, len(draft)), torch.tensor(draft)
            )
        for kept, stop in enumerate(law.stop.tolist() if law else [1.0]):
            after = replace(chain)
            after.learn(kept)
            row = law.next(kept) if law else models.target[()]
            weight = models.joint(models.draft, drawn) * stop
            for token, share in enumerate(row.tolist()):
                yield weight * share, (*draft[:kept], token), after


def text_law(models: TableModels, rule: str, step: Step) -> tuple[Tensor, int]:
    """The law of a text's first tokens over all of its steps, and in how many ways the draft after
    equal tokens depends on the steps that made them.
    """
    output = torch.zeros((models.vocab,) * (GAMMA + 1), dtype=torch.float64)
    lengths: dict[Draft, set[tuple[int, ...]]] = defaultdict(set)
    reached = {((), 0.0, 0.0): 1.0}
    while reached:
        following: dict[tuple[Draft, float, float], float] = defaultdict(float)
        for (path, kept, expected), weight in reached.items():
            rest = below(models, path)
            record = {"kept": kept, "expected": expected}
            lengths[path].add(tuple(step(fresh(**record), rest, x) for x in rest.drafts()))
            for share, committed, chain in after_one_step(rest, rule, step, record):
                text = (*path, *committed)
                if len(text) > GAMMA:
                    output[text] += weight * share
                else:
                    following[text, chain.kept, chain.expected] += weight * share
        reached = following
    return output, max(map(len, lengths.values()))


@pytest.mark.parametrize("rule", BY_RATIOS)
@pytest.mark.parametrize(("step", "lossless"), [(by_state, True), (thrown_away, False)])
def test_whole_texts(rule: str, step: Step, lossless: bool, monkeypatch: pytest.MonkeyPatch):
    """Each step chooses its length by its own drafted tokens, and by what the steps before drafted
    and kept; which is believed at once here, as texts are short.
    """
    monkeypatch.setattr(stopping, "TRUST", 0.3)
    found = [text_law(models, rule, step) for models in PAIRS]
    assert max(ways for _, ways in found) > 1, "earlier steps change nothing"
    worst = max(
        total_variation(output, target_law(models))
        for (output, _), models in zip(found, PAIRS, strict=True)
    )
    assert (worst < 1e-12) if lossless else (worst > 1e-3)
