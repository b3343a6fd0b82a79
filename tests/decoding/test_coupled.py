"""Coupled decoding: with a seed the text is that of plain decoding, whatever drafts and however
much of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest
import seeded
import torch
from loops import for_each
from table_models import table_pair
from torch import Tensor

import hsd
from hsd import HsdError, RunOptions, Trace
from hsd.bench.prompts import shipped
from hsd.decoding.loop import Decoding, rerun
from hsd.decoding.system import make_system
from hsd.models.loading import fetch
from hsd.rng import Streams
from hsd.rules.coupled import number_for, race_winners
from hsd.sampling import draw

FILE = fetch.fetched_file("smollm2")  # every test has an empty home of its own
PAIR = seeded.pair()
PROMPTS = ("a", "ab", "gfedcba", "abcabcabc", "hhhhhh")
DRAFTS: list[dict[str, Any]] = [
    *({"gamma": gamma} for gamma in (1, 3, 9)),
    {"gamma": "auto"},
    {"gamma": 4, "proposer": "ngram"},
    {"gamma": 4, "trace": True},
]


def tokens(prompt: str, **options: Any) -> list[int]:
    how = {"rule": "coupled", "max_new_tokens": 24, "trace": False, **options}
    return hsd.run(PAIR, prompt, **how).tokens


@for_each(
    "sampling",
    seeded.SAMPLINGS.values(),
    ids=[name or "plain" for name in seeded.SAMPLINGS],
    every=2,
)
@for_each("prompt", PROMPTS)
def test_a_seed_fixes_the_text_whatever_is_drafted(prompt: str, sampling: dict[str, Any]):
    wanted = tokens(prompt, system="plain", seed=1, **sampling)
    for how in DRAFTS:
        assert tokens(prompt, seed=1, **sampling, **how) == wanted, how


def test_another_draft_model_changes_nothing_but_the_speed():
    pair = seeded.pair()
    other = hsd.Pair("other", pair.target, pair.smaller[0], pair.codec)
    ours, theirs = (
        hsd.run(one, "ab", rule="coupled", gamma=4, max_new_tokens=60, seed=3)
        for one in (pair, other)
    )
    assert ours.text == theirs.text
    assert len(ours.steps) != len(theirs.steps)


def test_seeds_differ_and_other_rules_do_not_have_the_property():
    assert len({tuple(tokens("ab", seed=seed)) for seed in range(4)}) == 4
    for rule in ("tokenwise", "hsd", "agreement"):
        assert len({tuple(tokens("ab", rule=rule, gamma=gamma)) for gamma in (1, 2, 3, 7)}) > 1


@pytest.fixture(scope="module")
def traces() -> list[Trace]:
    how = {"rule": "coupled", "gamma": 5, "max_new_tokens": 60}
    pairs = (seeded.pair(end=False), table_pair(vocab=26, order=1, seed=2))
    return [hsd.run(pair, "abab", seed=seed, **how) for pair in pairs for seed in range(10)]


def test_a_trace_has_coins_and_draws_of_coupled_picks(traces: list[Trace]):
    pairs = (seeded.pair(end=False), table_pair(vocab=26, order=1, seed=2))
    for i, trace in enumerate(traces[::5]):
        assert Trace.from_json(trace.to_json()) == trace
        assert trace.replay() == trace.tokens
        # by cumulative sums and coins alone
        assert rerun(pairs[i // 2], trace).tokens == trace.tokens


def test_the_numbers_of_a_trace_are_uniform(traces: list[Trace]):
    nodes = [node for trace in traces for step in trace.steps for node in step.nodes]
    assert uniform([node.draw for node in nodes])
    assert uniform([node.coin for node in nodes if node.p < node.q])
    assert uniform(
        [step.verdict.residual.draw for trace in traces for step in trace.steps if step.verdict]
    )


def test_every_coin_agrees_with_the_picks(traces: list[Trace]):
    """A draft is kept as far as it is what the target picks itself, which is what the text says."""
    for trace in traces:
        for step in trace.steps:
            text = [
                *step.tokens,
                *(t for later in trace.steps[step.index + 1 :] for t in later.tokens),
            ]
            for decision in step.verdict.decisions:
                place = decision.node - 1
                assert decision.accepted == (step.nodes[place].token == text[place])


def uniform(numbers: list[float]) -> bool:
    """Kolmogorov and Smirnov at a level of 10⁻⁶."""
    ordered = torch.tensor(numbers, dtype=torch.float64).sort().values
    n = len(numbers)
    assert n > 200
    gap = (ordered - (torch.arange(n) + 0.5) / n).abs().max() + 0.5 / n
    return float(gap) * math.sqrt(n) < 2.7


def test_a_place_in_a_row_draws_its_token():
    generator = torch.Generator().manual_seed(0)
    for _ in range(200):
        row = (
            torch.rand(9, generator=generator) ** 6 * (torch.rand(9, generator=generator) > 0.3)
            + 1e-12
        )
        row = row / row.sum()
        for token in range(9):
            share = torch.rand(1, generator=generator, dtype=torch.float64)
            assert int(draw(row, number_for(row, torch.tensor(token), share))) == token


def test_a_token_without_weight_never_wins():
    times = torch.tensor([[0.0, 1.0, 2.0]], dtype=torch.float64)
    assert race_winners(torch.tensor([[0.0, 0.5, 0.5]]), times).tolist() == [1]
    assert race_winners(torch.tensor([[0.3, 0.5, 0.2]]), times).tolist() == [0]


# ---- numbers that belong to a place


def test_a_place_has_its_numbers_whoever_asks_and_in_which_order():
    first = Streams(5)
    second = Streams(5)
    wanted = first.times(10, 6, 4)
    assert torch.equal(second.times(13, 2, 4), wanted[3:5])
    assert torch.equal(second.times(10, 6, 4), wanted)
    assert torch.equal(second.times(12, 1, 4), wanted[2:3])
    assert not torch.equal(Streams(6).times(10, 6, 4), wanted)
    assert uniform((-Streams(1).times(0, 20, 200)).exp().flatten().tolist())


class OfTheStep(Streams):
    """Numbers that belong to a step: every step draws times anew, as exactly, and the text follows
    the draft.
    """

    steps = 0

    def times(self, begin: int, count: int, vocab: int) -> Tensor:
        self.steps += 1
        return Streams(1_000 * self.steps + self._seed).times(begin, count, vocab)


class OneLate(Streams):
    """The numbers of the place before."""

    def times(self, begin: int, count: int, vocab: int) -> Tensor:
        return super().times(max(begin - count, 0), count, vocab)


@pytest.mark.parametrize("numbers", [OfTheStep, OneLate])
def test_numbers_that_do_not_belong_to_places_are_noticed(numbers: type[Streams]):
    pair = seeded.pair(end=False)

    def text(gamma: int) -> list[int]:
        options = RunOptions(rule="coupled", gamma=gamma, max_new_tokens=40)
        run = Decoding(make_system(pair, options), "ab", numbers(0))
        return [token for step in run for token in step.tokens]

    assert len({tuple(text(gamma)) for gamma in (1, 2, 3, 7)}) > 1


def test_a_draft_picked_with_other_numbers_is_only_sampled_and_compared(
    monkeypatch: pytest.MonkeyPatch,
):
    """The text stays, and Σ p·q of a position is kept in place of what coupled picks keep."""
    pair = table_pair(vocab=26, order=1, seed=2)
    how = {"rule": "coupled", "gamma": 4, "max_new_tokens": 150, "seed": 1, "trace": False}
    right = hsd.run(pair, "ab", **how)
    monkeypatch.setattr(
        "hsd.draft.model.race_winners", lambda row, times: race_winners(row, times.roll(7))
    )
    wrong = hsd.run(pair, "ab", **how)
    assert right.tokens == wrong.tokens
    assert len(wrong.steps) > 1.3 * len(right.steps)


# ---- what it does not go together with


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"system": "stack"}, "between which system stack has levels"),
        ({"system": "hispec"}, "between which system hispec has levels"),
        ({"drafts": 2}, "rule coupled does not fit several drafts"),
        ({"engine": "captured", "trace": False}, "without further calls or coupled picks"),
        (
            {"system": "stack", "rule": "hsd", "level_rules": ("coupled",)},
            "rule coupled cannot verify below the target",
        ),
    ],
)
def test_what_cannot_be_coupled_is_refused_in_one_line(options: dict[str, Any], line: str):
    with pytest.raises(HsdError, match=line):
        RunOptions(**{"rule": "coupled", **options})


def test_another_rule_may_be_compared_with_it_and_it_with_another():
    pair = seeded.pair()
    for rules in ({"rule": "coupled", "shadow": "hsd"}, {"rule": "hsd", "shadow": "coupled"}):
        trace = hsd.run(pair, "ab", gamma=4, max_new_tokens=40, **rules)
        assert {step.shadow.rule for step in trace.steps} == {rules["shadow"]}
        assert trace.replay() == trace.tokens
    stacked = hsd.run(
        pair,
        "ab",
        system="stack",
        rule="hsd",
        shadow="coupled",
        thresholds=(2, 3),
        max_new_tokens=20,
    )
    assert stacked.replay() == stacked.tokens


# ---- the real model

REAL = [prompt for prompts in shipped().values() for prompt in prompts] + [
    f"Count to {n}." for n in range(10, 24)
]


@pytest.fixture(scope="module")
def smollm2() -> Iterator[hsd.Pair]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fetch, "fetched_file", lambda name: FILE)
        yield hsd.load_pair("smollm2")


@pytest.mark.slow
@pytest.mark.skipif(FILE is None, reason="run python -m hsd fetch smollm2")
@pytest.mark.parametrize("temperature", [0.7, 1])
def test_a_seed_fixes_the_real_models_text(smollm2: hsd.Pair, temperature: float):
    for seed, prompt in enumerate(REAL):
        how = {
            "rule": "coupled",
            "engine": "portable",
            "temperature": temperature,
            "seed": seed,
            "max_new_tokens": 24,
        }
        wanted = hsd.run(smollm2, prompt, system="plain", trace=False, **how).tokens
        for drafted in (
            {"gamma": 1},
            {"gamma": 2},
            {"gamma": 5},
            {"gamma": 4, "proposer": "ngram"},
        ):
            assert hsd.run(smollm2, prompt, trace=False, **how, **drafted).tokens == wanted, (
                seed,
                drafted,
            )
