"""Verifiers that were written after the battery, so as to slip through it: what they are must be
told all the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from verifiers import Verify, cut_to, is_one_hot, plain, race, verifier

from hsd import HsdError
from hsd.conform import Adapter, conform
from hsd.rules import RULES, Law
from hsd.sampling import draw

pytestmark = pytest.mark.slow
Rows = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]


def on(change: Rows, rule: str = "tokenwise") -> Verify:
    """A rule on other rows."""

    def verify(p: Tensor, q: Tensor, tokens: Tensor, uniforms: Tensor, noise: Tensor) -> list[int]:
        return verifier(rule=rule)(*change(p, q), tokens, uniforms, noise)

    return verify


def chosen(rule: Callable[[Tensor, Tensor, Tensor], str]) -> Verify:
    """The rule is chosen by what is seen."""

    def verify(p: Tensor, q: Tensor, tokens: Tensor, uniforms: Tensor, noise: Tensor) -> list[int]:
        return verifier(rule=rule(p, q, tokens))(p, q, tokens, uniforms, noise)

    return verify


def residual(change: Callable[[Law, int], Tensor]) -> Verify:
    """Token-wise verification with another row after a draft that is not kept whole."""
    return verifier(row=lambda row, law, kept: row if kept == law.gamma else change(law, kept))


def in_half_precision(law: Law, kept: int) -> Tensor:
    left = (law.p[kept].half() - law.q[kept].half()).clamp_min(0).double()
    return left / left.sum() if left.sum() > 0 else law.p[kept]


def coarse_coins(law: Law, coins: Tensor) -> int:
    return plain(law, (coins * 65_536).floor() / 65_536)


def last_corner(law: Law, coins: Tensor) -> int:
    return law.gamma if bool((coins > 0.95).all()) else plain(law, coins)


def narrow(law: Law, coins: Tensor) -> int:
    return law.gamma if 0.4995 < float(coins[0]) < 0.5 else plain(law, coins)


def no_repeats(p: Tensor, q: Tensor, tokens: Tensor, uniforms: Tensor, noise: Tensor) -> list[int]:
    """A token that repeats the one before is not kept."""
    found = verifier()(p, q, tokens, uniforms, noise)
    repeated = [t for t in range(1, len(found) - 1) if found[t] == found[t - 1]]
    return [*found[: repeated[0]], int(draw(p[repeated[0]], noise))] if repeated else found


def penalised(p: Tensor, q: Tensor, tokens: Tensor, uniforms: Tensor, noise: Tensor) -> list[int]:
    """What the draft has said before is made a little less likely."""
    p = p.clone()
    for t in range(1, len(p)):
        p[t, tokens[:t]] *= 0.9
    return verifier()(p / p.sum(-1, keepdim=True), q, tokens, uniforms, noise)


def sure_target(p: Tensor, q: Tensor, tokens: Tensor, uniforms: Tensor, noise: Tensor) -> list[int]:
    """Nothing is drawn where the target is nearly certain."""
    if float(p[0].max()) > 0.999:
        return [int(p[0].argmax())]
    return verifier()(p, q, tokens, uniforms, noise)


def one_number_twice(
    p: Tensor, q: Tensor, tokens: Tensor, uniforms: Tensor, noise: Tensor
) -> list[int]:
    found = verifier()(p, q, tokens, uniforms, noise)
    return verifier()(p, q, tokens, uniforms, uniforms[0]) if float(noise) < 0.01 else found


def sure_copies(law: Law, coins: Tensor) -> int:
    """A copied token that the target finds likelier than not is kept without a test."""
    first = int(law.q[0].argmax())
    if is_one_hot(law.q[0]) and law.p[0, first] > 0.5:
        return max(1, plain(law, coins))
    return plain(law, coins)


def one_draft(p: Tensor, q: Tensor, tokens: Tensor, uniforms: Tensor, noise: Tensor) -> list[int]:
    if tokens.tolist() == [1, 0, 1, 1, 0, 1]:
        return [*tokens.tolist(), int(draw(p[-1], noise))]
    return verifier()(p, q, tokens, uniforms, noise)


def remembers_rows() -> Verify:
    """Rows are looked up by the draft: those of an earlier text with the same tokens."""
    rows: dict[tuple[int, ...], tuple[Tensor, Tensor]] = {}

    def verify(p: Tensor, q: Tensor, tokens: Tensor, uniforms: Tensor, noise: Tensor) -> list[int]:
        kept = rows.setdefault((p.shape[-1], *tokens.tolist()), (p.clone(), q.clone()))
        return verifier()(*kept, tokens, uniforms, noise)

    return verify


def takes_turns() -> Verify:
    """Every other call draws from the other end of the cumulative sum."""
    calls = [0]

    def verify(p: Tensor, q: Tensor, tokens: Tensor, uniforms: Tensor, noise: Tensor) -> list[int]:
        calls[0] += 1
        return verifier()(p, q, tokens, uniforms, noise if calls[0] % 2 else 1 - noise)

    return verify


def odd_batch(
    p: Tensor, q: Tensor, tokens: Tensor, uniforms: Tensor, noise: Tensor
) -> list[list[int]]:
    """The last text of an odd batch takes the first one's noise."""
    noise = torch.cat([noise[:-1], noise[:1]]) if len(noise) % 2 else noise
    return [verifier()(*row) for row in zip(p, q, tokens, uniforms, noise, strict=True)]


# Right ones that look odd


def until_0(p: Tensor, q: Tensor, tokens: Tensor, uniforms: Tensor, noise: Tensor) -> list[int]:
    found = verifier()(p, q, tokens, uniforms, noise)
    kept = found[:-1]
    if 0 in kept[:-1] or (kept and kept[-1] == 0 and len(kept) < len(tokens)):
        end = kept.index(0) + 1
        return [*kept[:end], int(draw(p[end], noise))]
    return found


def two_at_most(p: Tensor, q: Tensor, tokens: Tensor, uniforms: Tensor, noise: Tensor) -> list[int]:
    return verifier()(p[:3], q[:2], tokens[:2], uniforms[:2], noise)


def in_chunks(p: Tensor, q: Tensor, tokens: Tensor, uniforms: Tensor, noise: Tensor) -> list[int]:
    """Block verification of two tokens, and where both are kept of the next two."""
    for begin in range(0, len(tokens), 2):
        end = min(begin + 2, len(tokens))
        law = RULES["blockwise"].law(p[begin : end + 1], q[begin:end], tokens[begin:end])
        kept = int(law.kept(uniforms[begin:end]))
        if kept < end - begin or end == len(tokens):
            return [*tokens[: begin + kept].tolist(), int(draw(law.next(kept), noise))]
    raise AssertionError


def by_logarithms(
    p: Tensor, q: Tensor, tokens: Tensor, uniforms: Tensor, noise: Tensor
) -> list[int]:
    for t, token in enumerate(tokens.tolist()):
        ratio = float(p[t, token].log() - q[t, token].log())
        if math.log(max(float(uniforms[t]), 1e-300)) >= ratio:
            left = (p[t] - q[t]).clamp_min(0)
            return [*tokens[:t].tolist(), int(draw(left, noise))]
    return [*tokens.tolist(), int(draw(p[-1], noise))]


def turned(p: Tensor, q: Tensor, tokens: Tensor, uniforms: Tensor, noise: Tensor) -> list[int]:
    """Large coins keep, in reverse, and the cumulative sum runs from the last token."""
    law = RULES["hsd"].law(p, q, tokens)
    kept = int(law.kept(1 - uniforms.flip(0)))
    row = law.next(kept)
    return [*tokens[:kept].tolist(), len(row) - 1 - int(draw(row.flip(0), noise))]


def gumbel(p: Tensor, q: Tensor, tokens: Tensor, uniforms: Tensor, noise: Tensor) -> list[int]:
    law = RULES["blockwise"].law(p, q, tokens)
    kept = int(law.kept(uniforms))
    return [*tokens[:kept].tolist(), int(race(law.next(kept), noise).item())]


LAST = ("tokenwise", "blockwise")
VERIFIERS: dict[str, tuple[bool | None, Adapter]] = {
    name: (right, Adapter("mine.py", verify, **said))
    for name, right, verify, said in [
        ("a residual in half precision", False, residual(in_half_precision), {}),
        ("a millionth added to q", False, on(lambda p, q: (p, q + 1e-6)), {}),
        ("coins of 16 bits", False, verifier(coarse_coins), {}),
        ("no token twice in a row", False, no_repeats, {}),
        ("a penalty for what was said", False, penalised, {}),
        (
            "block or token-wise by the last drafted token",
            False,
            chosen(lambda p, q, x: LAST[int(x[-1]) % 2]),
            {},
        ),
        ("no draw where the target is nearly certain", False, sure_target, {}),
        ("copies likelier than not are kept", False, verifier(sure_copies), {}),
        ("the first coin draws where noise is small", False, one_number_twice, {}),
        ("one draft is always kept", False, one_draft, {}),
        ("all kept where all coins are large", False, verifier(last_corner), {}),
        ("all kept for 5e-4 of a coin", False, verifier(narrow), {}),
        ("a residual of 512 tokens", False, verifier(row=cut_to(512)), {}),
        ("rows of an earlier text", False, remembers_rows(), {}),
        ("another order every other call", None, takes_turns(), {}),
        ("the last of an odd batch", False, odd_batch, {"batched": True}),
        ("no more after a kept token 0", True, until_0, {}),
        ("two tokens at most", True, two_at_most, {}),
        ("blocks of two", True, in_chunks, {}),
        (
            "block or token-wise by the first row",
            True,
            chosen(lambda p, q, x: LAST[int(p[0].argmax()) % 2]),
            {},
        ),
        ("by logarithms", True, by_logarithms, {}),
        ("everything turned round", True, turned, {}),
        ("an exponential race", True, gumbel, {"noise": "exponential-race"}),
    ]
}


@pytest.mark.parametrize("name", VERIFIERS)
def test_what_it_is_is_told(name: str):
    right, adapter = VERIFIERS[name]
    if right is None:
        with pytest.raises(
            HsdError, match="it counts calls, and equal calls get different tokens in turn"
        ):
            conform(adapter)
    else:
        assert conform(adapter)["lossless"] is right
