"""The captured engine: the tokens of the eager one, step by step, with one fixed shape per draft
length.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from joint_law import diagonal
from loops import some
from small_models import letters_tokenizer, save_pair
from table_models import table_pair

import hsd
from hsd import RULES, HsdError, Pair, load_pair
from hsd.models.causal import FixedSession

pytestmark = pytest.mark.long

CAPTURABLE = [
    name for name, rule in RULES.items() if not rule.resamples and not rule.recipe.coupled
]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    """Random models whose texts end often: the end is one of 58 tokens, and padded rows differ."""
    target, draft = save_pair(tmp_path_factory.mktemp("captured"), letters_tokenizer(), (64, 60))
    return load_pair(target=target, draft=draft, device="cpu")


SAMPLINGS = [
    {},
    {"temperature": 0.7, "top_p": 0.8},
    {"temperature": 0.0},
    {"top_k": 5, "temperature": 1.5},
]


def fits(rule: str, sampling: dict[str, float]) -> bool:
    """Whether its steps have a fixed shape: a rule that judges the raw rows at temperature 0 has
    not.
    """
    return not (RULES[rule].cold and sampling.get("temperature") == 0)


@pytest.mark.parametrize(
    ("rule", "sampling"),
    some([one for one in diagonal(CAPTURABLE, SAMPLINGS) if fits(*one.values)], 3),
    ids=str,
)
def test_steps_are_those_of_the_eager_engine(pair: Pair, rule: str, sampling: dict[str, float]):
    ended = 0
    for seed in range(16):
        gamma = 6 if seed else 1
        options: dict[str, Any] = {
            "rule": rule,
            "gamma": gamma,
            "seed": seed,
            "max_new_tokens": 24,
            **sampling,
        }
        eager = hsd.run(pair, "Abc d", trace=False, **options)
        captured = hsd.run(pair, "Abc d", trace=False, engine="captured", **options)
        assert captured.tokens == eager.tokens
        assert [(s.drafted, s.kept, s.committed) for s in captured.steps] == [
            (s.drafted, s.kept, s.committed) for s in eager.steps
        ]
        ended += eager.result.finish == "end"
        # random models end where they like
        if seed > 1 and (ended or not sampling.get("temperature", 1.0)):
            break
    assert ended or not sampling.get("temperature", 1.0)


def test_buffers_are_no_longer_than_the_context(pair: Pair):
    decoding = hsd.decode(
        pair, "Abc d", trace=False, engine="captured", max_new_tokens=pair.context
    )
    assert len(decoding._rounds._target._columns) == pair.context  # type: ignore[attr-defined]
    decoding.close()


def test_a_rule_that_can_be_captured_reads_no_number_on_the_host():
    p, q, coins = (torch.empty(shape, device="meta") for shape in ((4, 7), (3, 7), 3))
    tokens = torch.empty(3, dtype=torch.int64, device="meta")
    for rule in RULES.values():
        if not rule.resamples and not rule.recipe.coupled:
            law = rule.unchecked_law(p, q, tokens)
            assert law.next_at(law.kept(coins)).shape == (7,)


def test_every_rule_gives_the_row_after_a_count_that_the_host_does_not_know():
    generator = torch.Generator().manual_seed(0)
    p, q = (torch.rand(n, 6, generator=generator, dtype=torch.float64) for n in (5, 4))
    p = p / p.sum(-1, keepdim=True)
    q = q / q.sum(-1, keepdim=True)
    for rule in RULES.values():
        law = rule.law(p, q, torch.tensor([1, 0, 5, 2]))
        for t in range(5):
            assert torch.equal(law.next_at(torch.tensor(t)), law.next(t))


def test_a_fixed_session_gives_the_logits_of_a_growing_one(pair: Pair):
    ids = torch.tensor(pair.encode("Abc def"))
    growing = pair.target.start()
    fixed = FixedSession(pair.target, 64)
    with torch.inference_mode():
        assert torch.allclose(fixed.read(ids[:4], 4), growing.forward(ids[:4], 4), atol=1e-5)
        assert torch.allclose(fixed.read(ids[4:], 2), growing.forward(ids[4:], 2), atol=1e-5)
        growing.crop(3)
        fixed.length.fill_(3)
        assert torch.allclose(fixed.read(ids[3:5], 2), growing.forward(ids[3:5], 2), atol=1e-5)


@pytest.mark.parametrize(
    "options",
    [
        {"trace": True},
        {"trace": False, "drafts": 2},
        {"trace": False, "rule": "naive-hsd"},
        {"trace": False, "system": "plain"},
    ],
)
def test_what_cannot_be_captured_is_refused(pair: Pair, options: dict[str, Any]):
    with pytest.raises(HsdError, match="engine 'captured' is for one draft"):
        hsd.decode(pair, "Abc", engine="captured", **options)


def test_unknown_engines_and_other_models_are_refused(pair: Pair):
    with pytest.raises(HsdError, match="unknown engine 'fast': choose one of eager, captured"):
        hsd.decode(pair, "Abc", engine="fast")
    with pytest.raises(HsdError, match="needs models of transformers"):
        hsd.decode(table_pair(), "abc", engine="captured", trace=False)
