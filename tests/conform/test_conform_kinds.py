"""Verifiers that are given something else: a list of candidates in place of q, or the numbers of
the draft.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from loops import some
from torch import Tensor
from verifiers import verifier

from hsd import HsdError
from hsd.conform import Adapter, conform, load_adapter
from hsd.paths import ROOT

pytestmark = pytest.mark.long
Pair = tuple[Tensor, Tensor]


def listed(spread: Callable[[Pair, int], Tensor]) -> Adapter:
    """Token-wise verification that makes q from a list of candidates first."""

    def verify(p: Tensor, q: Pair, tokens: Tensor, uniforms: Tensor, noise: Tensor) -> list[int]:
        return verifier()(p, spread(q, p.shape[-1]), tokens, uniforms, noise)

    return Adapter("listed.py", verify, candidates=2)


def as_it_is(q: Pair, vocab: int) -> Tensor:
    ids, weights = q
    return torch.zeros(len(ids), vocab, dtype=weights.dtype).scatter(1, ids, weights)


def with_a_floor(q: Pair, vocab: int) -> Tensor:
    """What is not listed is taken for as likely as the last that is."""
    ids, weights = q
    return weights[:, -1:].repeat(1, vocab).scatter(1, ids, weights)


def by_rank(q: Pair, vocab: int) -> Tensor:
    """The weights are taken for those of the first tokens."""
    return torch.nn.functional.pad(q[1], (0, vocab - q[1].shape[1]))


def test_a_draft_with_a_list_of_candidates_is_judged_by_that_list():
    found = conform(listed(as_it_is), quick=True)
    assert (found["lossless"], found["rule"]) == (True, "tokenwise")
    assert conform(listed(with_a_floor), quick=True)["lossless"] is False
    assert conform(listed(by_rank), quick=True)["lossless"] is False


def test_a_number_of_candidates_is_a_number():
    with pytest.raises(HsdError, match="CANDIDATES 'many': give a number of tokens"):
        Adapter("many.py", verifier(), candidates="many")


def inverted(row: Tensor, number: Tensor) -> int:
    return int(torch.searchsorted(row.cumsum(0), number * row.sum(), right=True))


def earliest(row: Tensor, numbers: Tensor) -> int:
    return int((row / numbers).argmax())


def compares(
    pick: Callable[[Tensor, Tensor], int],
    other: Callable[[Tensor, Tensor], Tensor] = lambda p, q: p,
    bonus: int = 0,
) -> Callable[..., list[int]]:
    """Sample and compare; `other` is the row that follows where the draft is left, `bonus` the
    place of its number.
    """

    def verify(p: Tensor, q: Tensor, tokens: Tensor, noise: Tensor) -> list[int]:
        for t, token in enumerate(tokens.tolist()):
            if pick(p[t], noise[t]) != token:
                return [*tokens[:t].tolist(), pick(other(p[t], q[t]), noise[t])]
        return [*tokens.tolist(), pick(p[-1], noise[bonus - 1])]

    return verify


KINDS = {"inverse-cdf": inverted, "exponential-race": earliest}


@pytest.mark.parametrize("noise", KINDS)
def test_sample_and_compare_on_the_numbers_of_the_draft_says_what_plain_decoding_says(noise: str):
    found = conform(
        Adapter("compares.py", compares(KINDS[noise]), noise=noise, shared=True), quick=True
    )
    assert (found["lossless"], found["total_variation"]) == (True, None)
    assert found["notes"][0] == "a text follows from its numbers alone, whatever was drafted"
    exponential = noise == "exponential-race"
    assert found["equals"] == (["coupled"] if exponential else [])
    assert ("keep its numbers with the places of the text" in found["notes"][-1]) is exponential


def test_a_verifier_on_the_numbers_of_the_draft_is_not_judged_by_sampling():
    shared = Adapter("compares.py", compares(inverted), shared=True)
    with pytest.raises(HsdError, match="SHARED is judged on its own numbers: leave --sampled out"):
        conform(shared, calls=100)


def test_the_example_with_equal_numbers_is_the_rule_coupled():
    found = conform(load_adapter(ROOT / "examples" / "conform" / "coupled.py"), quick=True)
    assert (found["lossless"], found["equals"]) == (True, ["coupled"])


@pytest.mark.parametrize("noise", some(KINDS, 2))
@pytest.mark.parametrize(
    "wrong",
    [
        {"other": lambda p, q: (p - q).clamp_min(1e-12)},  # the correction of another rule
        {"bonus": -1},  # the bonus from the last coin's number
        {"other": lambda p, q: q},
    ],
    ids=["residual", "bonus", "draft"],
)
def test_what_leaves_plain_decoding_on_shared_numbers_is_found(noise: str, wrong: dict):
    found = conform(
        Adapter("wrong.py", compares(KINDS[noise], **wrong), noise=noise, shared=True), quick=True
    )
    assert found["lossless"] is False
    assert "not what plain decoding says on the same numbers" in found["cause"]
    assert "whose numbers make the target say" in found["counterexample"]["words"]


def test_a_coin_that_is_the_number_of_the_draft_is_found():
    """Token-wise verification judges a token by the number that drew it."""

    def verify(p: Tensor, q: Tensor, tokens: Tensor, noise: Tensor) -> list[int]:
        return verifier()(p, q, tokens, noise[:-1], noise[-1])

    assert conform(Adapter("judges.py", verify, shared=True), quick=True)["lossless"] is False
