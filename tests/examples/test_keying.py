"""The exact law of texts whose random numbers are keyed: by hand, by theorem and by simulation."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest
import torch
from joint_law import chi_square_p
from keying import COUPLED, EMPTY, KEYINGS, WARY, Keying, Steps, coupling, exact_law, target_alone

from hsd.audit import total_variation
from hsd.rules import RULES
from hsd.sampling import draw

P = [0.1, 0.5, 0.4]
Q = [0.5, 0.4, 0.1]
LOSSLESS = ["tokenwise", "blockwise", "hsd", "agreement"]
BY_POSITION = ["position", "position, coins", "position, drafts"]


def distance(rule: str, keying: Keying, gamma: int = 3, tokens: int = 5, steps: int = 5) -> float:
    truth = target_alone(torch.tensor(P, dtype=torch.float64), tokens)
    return total_variation(Steps(rule, keying, P, Q, gamma).law(tokens, steps), truth)


@pytest.mark.parametrize("rule", LOSSLESS)
def test_a_lossless_rule_is_exact_with_numbers_that_are_read_once(rule: str):
    assert distance(rule, KEYINGS["fresh"]) < 1e-12
    for name in ("step", *BY_POSITION):
        assert distance(rule, KEYINGS[name], steps=1) < 1e-12, f"{name}: its first step"
    for name in ("position, unsalted", "step, unsalted"):
        assert (distance(rule, KEYINGS[name], steps=1) > 0.1) == (rule != "agreement"), name


@pytest.mark.parametrize("name", BY_POSITION)
def test_numbers_keyed_by_position_suit_rules_that_read_no_further_than_they_keep(name: str):
    for rule in ("tokenwise", "agreement"):
        assert distance(rule, KEYINGS[name]) < 1e-12, rule
    assert distance("hsd", KEYINGS[name], steps=2) > 1e-4
    assert distance("hsd", KEYINGS[name]) == pytest.approx(
        distance("blockwise", KEYINGS[name]), abs=1e-12
    )


def test_a_length_that_a_thrown_away_token_decides_makes_even_tokenwise_wrong():
    """By hand: the first token is thrown away in .4 of the steps. Half of the drafts then end with
    token 0, after which the target draws; the others are drafted again, given that they are not
    token 0, and always kept.
    """
    again = torch.tensor([0, 0.4, 0.1], dtype=torch.float64) / 0.5
    target = torch.tensor(P, dtype=torch.float64)
    by_hand = 0.4 * total_variation((target + again) / 2, target)
    assert distance("tokenwise", WARY, gamma=2, tokens=2, steps=2) == pytest.approx(
        by_hand, abs=1e-12
    )
    assert by_hand == pytest.approx(0.06)
    assert distance("tokenwise", WARY, gamma=2, tokens=2, steps=1) < 1e-12
    # a length alone does no harm
    fresh = Keying("fresh numbers", returns=frozenset({EMPTY}), wary=True)
    assert (
        total_variation(Steps("tokenwise", fresh, P, Q, 2).law(4, 4), target_alone(target, 4))
        < 1e-12
    )


def test_numbers_of_the_page():
    """γ = 4, six tokens: draft noise that comes again costs most, and a tenth of the speed."""
    laws = {
        name: exact_law("hsd", KEYINGS[name], P, Q, 4, 6)
        for name in ("fresh", "position", "position, drafts")
    }
    assert {name: law["text"] for name, law in laws.items()} == pytest.approx(
        {"fresh": 0, "position": 0.0287466, "position, drafts": 0.0313003}, abs=1e-7
    )
    first, settled = Steps("hsd", KEYINGS["position"], P, Q, 4).tokens_per_step()
    assert first == pytest.approx([2.5025, 2.2969, 2.2727], abs=5e-5)
    assert settled == pytest.approx(2.2690, abs=5e-5)
    assert laws["position"]["long_run"] == settled
    assert laws["fresh"]["long_run"] == pytest.approx(2.5025, abs=5e-5)


def simulated(
    rule: str, keying: Keying, gamma: int, tokens: int, texts: int
) -> Counter[tuple[int, ...]]:
    """Texts that are decoded with numbers under these keys, counted. Written without intervals."""
    p, q = (torch.tensor(row, dtype=torch.float64) for row in (P, Q))
    rows = (p.expand(gamma + 1, -1), q.expand(gamma, -1))
    cache = {}
    generator = torch.Generator().manual_seed(5)
    found = Counter()
    for _ in range(texts):
        text: list[int] = []
        made: dict[tuple, torch.Tensor] = {}
        step = 0
        while len(text) < tokens:

            def number(
                stream: str, place: int, step: int = step, begin: int = len(text), made: dict = made
            ):
                key = (stream, begin + place) if stream in keying.returns else (stream, step, place)
                if key not in made:
                    made[key] = torch.rand((), generator=generator, dtype=torch.float64)
                return made[key]

            draft = [int(draw(q, number(keying.draft, t))) for t in range(gamma)]
            law = cache.setdefault(tuple(draft), RULES[rule].law(*rows, torch.tensor(draft)))
            kept = int(law.kept(torch.stack([number(keying.coin, t) for t in range(gamma)])))
            text += [*draft[:kept], int(draw(law.next(kept), number(keying.after, kept)))]
            step += 1
        found[tuple(text[:tokens])] += 1
    return found


@pytest.mark.long
@pytest.mark.parametrize(
    ("rule", "keying", "texts"),
    [
        pytest.param("hsd", "position, drafts", 6_000, marks=pytest.mark.slow),
        ("hsd", "position, unsalted", 3_000),
    ],
)
def test_texts_that_are_really_decoded_follow_the_enumerated_law(
    rule: str, keying: str, texts: int
):
    counts = simulated(rule, KEYINGS[keying], gamma=3, tokens=4, texts=texts)
    law = Steps(rule, KEYINGS[keying], P, Q, 3).law(4, 4)
    target = target_alone(torch.tensor(P, dtype=torch.float64), 4)
    by_text = [
        {x: float(one[x]) for x in itertools.product(range(3), repeat=4)} for one in (law, target)
    ]
    assert float(law.sum()) == pytest.approx(1, abs=1e-12)
    assert chi_square_p(counts, by_text[0]) > 1e-3
    assert chi_square_p(counts, by_text[1]) < 1e-3


# An exponential race that draft and correction share


def test_two_races_on_equal_numbers_have_both_laws_and_agree_as_often_as_is_known():
    p, q = (torch.tensor(row, dtype=torch.float64) for row in ([0.2, 0.5, 0.3], [0.1, 0.7, 0.2]))
    joint = coupling(q, p)
    assert float((joint.sum(1) - q).abs().max()) < 1e-15
    assert float((joint.sum(0) - p).abs().max()) < 1e-15
    assert float(joint.trace()) == pytest.approx(0.7935, abs=5e-5)
    assert torch.equal(coupling(p, p), torch.diag(p))


@pytest.mark.parametrize("rule", ["tokenwise", "hsd"])
def test_a_race_that_draft_and_correction_share_is_wrong_in_the_first_step(rule: str):
    assert distance(rule, COUPLED, steps=1) > 0.01


def test_a_shared_race_is_what_happens_where_numbers_are_drawn():
    """Token-wise, γ = 1: drafted, judged, and corrected on the numbers that the draft was picked
    with.
    """
    generator = torch.Generator().manual_seed(3)
    p, q = (torch.tensor(row, dtype=torch.float64) for row in (P, Q))
    count = 40_000
    numbers = -torch.rand(count, 3, generator=generator, dtype=torch.float64).log()
    drafted = (q / numbers).argmax(1)
    kept = torch.rand(count, generator=generator, dtype=torch.float64) < (p / q)[drafted]
    left = (p - q).clamp_min(0)
    said = torch.where(kept, drafted, (left / numbers).argmax(1)).bincount(minlength=3)
    law = Steps("tokenwise", COUPLED, P, Q, 1).law(1, 1)
    assert (
        chi_square_p(Counter(dict(enumerate(said.tolist()))), dict(enumerate(law.tolist()))) > 1e-3
    )
    assert chi_square_p(Counter(dict(enumerate(said.tolist()))), dict(enumerate(P))) < 1e-6
