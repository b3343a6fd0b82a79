"""The laws of all rules: against worked cases, against the literal reference, and against what the
theorems promise.
"""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import pytest
import reference
import torch
from hypothesis import given
from hypothesis import strategies as st
from loops import for_each
from make_cases import cases
from reference import Problem
from torch import Tensor

from hsd import RULES, HsdError
from hsd.audit import audit, random_models
from hsd.rules import Fuzzy, Grounds, Law, PrefixRatios, branch_masses, fuzzy_rule
from hsd.rules.chain import hsd_law
from hsd.rules.law import both_masses, leftover, run_with_cache, shortened

HERE = Path(__file__).parent
OWN_CASES = json.loads((HERE / "cases.json").read_text())
OUTSIDE_FILE = HERE.parents[2] / "shared" / "cases" / "chain.json"
OUTSIDE_CASES = json.loads(OUTSIDE_FILE.read_text()) if OUTSIDE_FILE.is_file() else []
TOLERANCE = 1e-9


def tensors(
    p: Any, q: Any, tokens: Any, dtype: torch.dtype = torch.float64
) -> tuple[Tensor, Tensor, Tensor]:
    vocab = len(p[0])
    return (
        torch.tensor(p, dtype=dtype),
        torch.tensor(q, dtype=dtype).reshape(len(tokens), vocab),
        torch.tensor(tokens, dtype=torch.int64),
    )


def close(actual: Tensor, expected: Any, tolerance: float = TOLERANCE) -> bool:
    wanted = torch.tensor(expected, dtype=torch.float64)
    if actual.shape != wanted.shape:
        return False
    return bool((actual.double() - wanted).abs().max() <= tolerance)


def name_of(case: dict[str, Any]) -> str:
    return f"{case['kind']}-V{len(case['p'][0])}-γ{len(case['tokens'])}"


# Worked cases


def test_the_case_file_is_what_the_reference_gives():
    assert {*RULES} == {*reference.RULES}, (
        "give each rule its literal form in RULES of tests/rules/reference.py"
    )
    assert {*RULES} == {*OWN_CASES[0]["rules"]}, "run tests/rules/make_cases.py"
    for stored, fresh in zip(OWN_CASES, json.loads(json.dumps(cases())), strict=True):
        assert stored["tokens"] == fresh["tokens"]
        assert close(torch.tensor(stored["p"], dtype=torch.float64), fresh["p"], 1e-12)
        for name in RULES:
            assert stored["rules"][name]["stop"] == pytest.approx(
                fresh["rules"][name]["stop"], abs=1e-12
            )


@for_each("case", OWN_CASES, ids=name_of)
@pytest.mark.parametrize("rule", RULES)
def test_law_agrees_with_the_worked_case(rule: str, case: dict[str, Any]):
    law = RULES[rule].law(*tensors(case["p"], case["q"], case["tokens"]))
    wanted = case["rules"][rule]
    assert close(law.stop, wanted["stop"])
    assert float(law.expected_kept) == pytest.approx(wanted["expected_kept"], abs=TOLERANCE)
    for t, row in enumerate(wanted["next"]):
        assert close(law.next(t), row), f"after {t} kept tokens"


@for_each("case", OWN_CASES, ids=name_of)
def test_laws_that_share_their_sums_are_those_that_do_not(case: dict[str, Any]):
    rows = tensors(case["p"], case["q"], case["tokens"])

    def laws() -> list[Tensor]:
        made = [rule.law(*rows) for rule in RULES.values()]
        return [
            *(law.stop for law in made),
            *(law.next(t) for law in made for t in range(law.gamma + 1)),
        ]

    assert all(map(torch.equal, run_with_cache(laws), laws()))


def test_laws_that_share_sums_tell_a_row_from_a_column_at_the_same_place():
    p, q = (
        torch.tensor(rows, dtype=torch.float64)
        for rows in ([[0.9, 0.1], [0.3, 0.7]], [[0.5, 0.5], [0.2, 0.8]])
    )
    one = torch.ones(2, dtype=torch.float64)

    def masses() -> tuple[Tensor, Tensor]:
        return both_masses(p, q, one, one)[0], both_masses(p, q.T, one, one)[0]

    assert all(map(torch.equal, run_with_cache(masses), masses()))
    assert not torch.equal(*masses())


def test_sums_are_shared_for_equal_factors_only_and_only_while_asked():
    p = torch.rand(2, 5)
    q = torch.rand(2, 5)
    half = torch.full((2,), 0.5, dtype=torch.float64)
    one = torch.ones(2, dtype=torch.float64)
    first, again, other = run_with_cache(
        lambda: [both_masses(p, q, a) for a in (half, half.clone(), one)]
    )
    assert again is first
    assert not torch.equal(other[0], first[0])
    p += 1
    assert both_masses(p, q, half)[0][0] > first[0][0]


@for_each("case", OWN_CASES, ids=name_of)
def test_explanation_quantities_agree_with_the_worked_case(case: dict[str, Any]):
    given_problem = Problem(case["p"], case["q"], case["tokens"])
    masses = branch_masses(*tensors(case["p"], case["q"], case["tokens"]))
    joint_q = [given_problem.joint_q(t) for t in range(given_problem.gamma)]
    assert close(masses["ratio"], case["ratio"], TOLERANCE * max(case["ratio"]))
    assert close(masses["capped"], case["capped"])
    for mine, wanted in zip(masses["pivot"].tolist(), case["pivot"], strict=True):
        # a tie: either will do
        assert mine == wanted or case["ratio"][mine] == pytest.approx(case["ratio"][wanted])
    assert close(masses["joint_q"], joint_q)
    assert close(masses["deficient"] * masses["joint_q"], case["deficient"])
    assert close(masses["excess"] * masses["joint_q"], case["excess"])
    assert close(masses["asymmetry"], [given_problem.joint_p(t) - q for t, q in enumerate(joint_q)])


@for_each("case", OUTSIDE_CASES, ids=name_of)
def test_law_agrees_with_the_outside_case(case: dict[str, Any]):
    given_tensors = tensors(case["p"], case["q"], case["tokens"])
    for name, wanted in case["rules"].items():
        law = RULES[name].law(*given_tensors)
        assert close(law.stop, wanted["stop"]), name
        assert float(law.expected_kept) == pytest.approx(wanted["expected_accepted"], abs=TOLERANCE)
        for t, row in enumerate(wanted["next"]):
            assert close(law.next(t), row), f"{name} after {t} kept tokens"
    masses = branch_masses(*given_tensors)
    assert close(masses["ratio"], case["ratio"], TOLERANCE * max(case["ratio"]))
    assert close(masses["capped"], case["capped_ratio"])
    assert close(masses["deficient"] * masses["joint_q"], case["deficient"])
    assert close(masses["excess"] * masses["joint_q"], case["excess"])
    assert close(RULES["hsd"].law(*given_tensors).threshold, case["h"][1:])


def test_the_worked_step_of_the_paper():
    """Section 5.4 of 2601.05724: the tokens `she work ed 45 - 40 = 5 hours of`, each against all
    others.
    """
    p_token = [0.7156, 1, 1, 1, 0, 0, 0, 1, 0, 0.4968]
    q_token = [0.8771, 0.7900, 0.6514, 0.2592, 0.6773, 0.1490, 0.5775, 1, 0.4611, 0.3630]
    p, q = ([[x, 1 - x] for x in column] for column in ([*p_token, 1.0], q_token))
    masses = branch_masses(*tensors(p, q, [0] * 10))
    assert masses["pivot"][1:].tolist() == [0, 0, 2, 3, 4, 4, 4, 4, 4, 4]
    assert close(masses["ratio"][1:5], [0.8159, 1.0327, 1.5854, 6.117], 1e-3)
    assert masses["ratio"][5:].tolist() == [0.0] * 6
    assert close(masses["capped"][1:6], [0.8159, 1.0, 1.0, 1.0, 0.0], 1e-4)
    laws = {name: rule.law(*tensors(p, q, [0] * 10)) for name, rule in RULES.items()}
    assert close(laws["hsd"].stop[4:], [1.0, 0, 0, 0, 0, 0, 0])
    assert float(laws["tokenwise"].stop[0]) == pytest.approx(1 - 0.7156 / 0.8771)


# Random problems


@st.composite
def distributions(draw: st.DrawFn, vocab: int) -> list[float]:
    """A row that may have zeros, be one-hot, or be badly scaled."""
    weights = draw(
        st.lists(st.sampled_from([0.0, 1e-6, 0.05, 0.3, 1.0, 7.0]), min_size=vocab, max_size=vocab)
    )
    if sum(weights) == 0:
        weights[draw(st.integers(0, vocab - 1))] = 1.0
    tilt = draw(st.lists(st.floats(0.7, 1.4), min_size=vocab, max_size=vocab))
    weights = [w * x for w, x in zip(weights, tilt, strict=True)]
    return [w / sum(weights) for w in weights]


@st.composite
def rows_of_both(draw: st.DrawFn, vocab: int) -> tuple[list[float], list[float]]:
    """Rows of p and q: unrelated, equal, near to each other, or without a common token."""
    p = draw(distributions(vocab))
    kind = draw(st.sampled_from(["free", "free", "equal", "near", "disjoint"]))
    if kind == "equal":
        return p, p
    if kind == "near":
        q = [x * (1 + 1e-3 * draw(st.floats(-1, 1))) for x in p]
        return p, [x / sum(q) for x in q]
    q = draw(distributions(vocab))
    if kind == "disjoint":
        masked = [0.0 if a > 0 else b for a, b in zip(p, q, strict=True)]
        if sum(masked) > 0:
            return p, [x / sum(masked) for x in masked]
    return p, q


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    vocab = draw(st.integers(1, 5))
    gamma = draw(st.integers(1, 8))
    both = [draw(rows_of_both(vocab)) for _ in range(gamma + 1)]
    p = [a for a, _ in both]
    q = [b for _, b in both[:-1]]
    return Problem(
        p, q, [draw(st.sampled_from([x for x in range(vocab) if row[x] > 0])) for row in q]
    )


@pytest.mark.parametrize("rule", RULES)
@given(problem=problems())
def test_law_agrees_with_the_reference(rule: str, problem: Problem):
    law = RULES[rule].law(*tensors(problem.p, problem.q, problem.tokens))
    wanted = reference.RULES[rule](problem)
    assert close(law.stop, wanted.stop)
    for t, (row, mass) in enumerate(zip(wanted.next, wanted.mass, strict=True)):
        if mass > 1e-6:
            assert close(law.next(t), row)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("rule", RULES)
@given(problem=problems())
def test_law_is_a_probability_law_whatever_the_draft(
    rule: str, dtype: torch.dtype, problem: Problem
):
    law = RULES[rule].law(*tensors(problem.p, problem.q, problem.tokens, dtype))
    tolerance = 1e-9 if dtype == torch.float64 else 1e-5
    assert law.stop.shape == (problem.gamma + 1,)
    assert bool(law.stop.isfinite().all())
    assert bool((law.stop >= 0).all())
    assert float(law.stop.sum()) == pytest.approx(1, abs=tolerance)
    assert bool(((law.threshold >= 0) & (law.threshold <= 1)).all())
    for t in range(problem.gamma + 1):
        row = law.next(t)
        assert row.shape == (len(problem.p[0]),)
        assert bool(row.isfinite().all())
        assert bool((row >= 0).all())
        assert float(row.double().sum()) == pytest.approx(1, abs=tolerance)


FORMS = {
    "tokenwise": ("token", "token"),
    "blockwise": ("share", "capped"),
    "hsd": ("share", "capped"),
    "hsd-released": ("share", "ratio"),
    "naive-hsd": ("naive", "ratio"),
    "agreement": ("chosen", "chosen"),
    "coupled": ("coupled", "coupled"),
}


@pytest.mark.parametrize("rule", FORMS)
@given(problem=problems())
def test_thresholds_follow_from_their_grounds(rule: str, problem: Problem):
    given_tensors = tensors(problem.p, problem.q, problem.tokens)
    law = RULES[rule].law(*given_tensors)
    grounds = law.grounds(given_tensors[2])
    assert [ground.form.name for ground in grounds] == [
        *[FORMS[rule][0]] * (problem.gamma - 1),
        FORMS[rule][1],
    ]
    for threshold, ground in zip(law.threshold.tolist(), grounds, strict=True):
        slack = of_rounding(ground, torch.float64)
        assert threshold == pytest.approx(ground.threshold, abs=slack)
        assert again(ground) == pytest.approx(ground.threshold, abs=slack)


def of_rounding(ground: Grounds, dtype: torch.dtype) -> float:
    """How far a threshold may be from its grounds: sums are off by many ulps, and a share divides
    by such a sum.
    """
    ulps = 1000 * torch.finfo(dtype).eps
    divided_by = whole(ground)
    return ulps if divided_by is None else ulps / max(divided_by, ulps)


def whole(ground: Grounds) -> float | None:
    """What the mass is a share of; None for a threshold that is no share."""
    mass = ground.mass
    rest = ground.mass + 1 - ground.before
    return {"share": rest, "naive": max(mass, rest)}.get(ground.form.name)


def again(ground: Grounds) -> float:
    """The threshold once more, as the record explains it."""
    before = ground.before
    rho = ground.p / ground.q if ground.q else 0.0
    divided_by = whole(ground)
    if divided_by is not None:
        return ground.mass / divided_by if divided_by else 1.0
    both = ground.p / (ground.p + ground.mass) if ground.p else 0.0
    plain = {"token": min(1.0, rho), "chosen": ground.p, "coupled": both}
    return plain.get(ground.form.name) or (min(1.0, before * rho) if rho else 0.0)


@pytest.mark.parametrize(("mode", "other"), [("exact-first", "beyond"), ("divergence-only", "far")])
@given(problem=problems())
def test_thresholds_of_the_fuzzy_rule_follow_from_their_grounds(
    mode: str, other: str, problem: Problem
):
    p, q, tokens = tensors(problem.p, problem.q, problem.tokens)
    law = fuzzy_rule(Fuzzy(mode=mode)).law(p, q, tokens)
    for threshold, ground in zip(law.threshold.tolist(), law.grounds(tokens), strict=True):
        assert ground.divergence is not None
        assert ground.form.name == ("near" if ground.divergence <= Fuzzy.tolerance else other)
        assert threshold == pytest.approx(ground.threshold, abs=1e-12)
        assert threshold == pytest.approx(
            {"near": 1, "far": 0}.get(ground.form.name, min(1, ground.p / ground.q))
        )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@given(problem=problems())
def test_branch_masses_are_finite_and_in_range(dtype: torch.dtype, problem: Problem):
    masses = branch_masses(*tensors(problem.p, problem.q, problem.tokens, dtype))
    for name in ("capped", "deficient", "excess", "distance", "joint_q"):
        values = masses[name]
        assert bool(((values >= -1e-6) & (values <= 1 + 1e-5)).all()), name
    assert bool(masses["ratio"].isfinite().all())
    assert bool(masses["asymmetry"].isfinite().all())


@given(problem=problems())
def test_hsd_equals_block_verification_draft_by_draft(problem: Problem):
    # Two sums that nearly cancel, over a branch of almost equal rows, differ by what the rows' sums
    # are off from 1.
    mine = reference.hsd(problem)
    wanted = reference.blockwise(problem)
    assert mine.stop == pytest.approx(wanted.stop, abs=1e-8)
    hsd, block = (
        RULES[name].law(*tensors(problem.p, problem.q, problem.tokens))
        for name in ("hsd", "blockwise")
    )
    assert close(hsd.stop, block.stop.tolist(), 1e-8)
    for t in range(problem.gamma + 1):
        assert close(hsd.next(t), block.next(t).tolist(), 1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_hsd_equals_block_verification_on_rows_of_many_tokens(dtype: torch.dtype):
    assert RULES["hsd"].build is not RULES["blockwise"].build
    generator = torch.Generator().manual_seed(0)
    for noise in (1.0, 0.1, 1e-3, 0.0):
        logits = 3 * torch.randn(9, 500, generator=generator)
        p = logits.to(dtype).softmax(-1)
        q = (logits + noise * torch.randn(9, 500, generator=generator)).to(dtype).softmax(-1)[:-1]
        tokens = torch.multinomial(q, 1, generator=generator).squeeze(-1)
        hsd, block = (RULES[name].law(p, q, tokens) for name in ("hsd", "blockwise"))
        assert close(hsd.stop, block.stop.tolist(), 1e-5 if dtype == torch.float32 else 1e-11)


@given(problem=problems())
def test_capping_as_a_recurrence_equals_definition_5(problem: Problem):
    capped = PrefixRatios.of(*tensors(problem.p, problem.q, problem.tokens)).log_capped.exp()
    assert close(
        capped, [reference.capped_ratio(problem, t) for t in range(problem.gamma + 1)], 1e-12
    )


def test_long_drafts_neither_overflow_nor_underflow():
    """Joint ratios of 10^±300 and beyond, in float32 too."""
    for factor in (1e-12, 1.0):
        p = [[factor, 1 - factor]] * 33
        q = [[1e-12, 1 - 1e-12]] * 32
        for rule in RULES.values():
            law = rule.law(*tensors(p, q, [0] * 32, torch.float32))
            assert float(law.stop.sum()) == pytest.approx(1, abs=1e-6)
        masses = branch_masses(*tensors(p, q, [0] * 32, torch.float32))
        assert bool(masses["ratio"].isfinite().all())


# Named edge cases


@for_each("rule", [name for name in RULES if name != "agreement"])
@for_each("gamma", [1, 2, 5])
def test_equal_models_keep_everything(rule: str, gamma: int):
    row = [0.5, 0.25, 0.25]
    law = RULES[rule].law(*tensors([row] * (gamma + 1), [row] * gamma, [1] * gamma))
    assert law.stop.tolist() == [0.0] * gamma + [1.0]
    assert all(law.next(t).tolist() == row for t in range(gamma + 1))


def test_agreement_keeps_what_the_target_happens_to_draw_itself():
    """It does not look at q: equal models keep a token as often as the target draws it, and p
    without it follows.
    """
    row = [0.5, 0.25, 0.25]
    law = RULES["agreement"].law(*tensors([row] * 3, [row] * 2, [1, 0]))
    assert law.stop.tolist() == [0.75, 0.125, 0.125]
    assert [law.next(t).tolist() for t in range(3)] == [[2 / 3, 0.0, 1 / 3], [0.0, 0.5, 0.5], row]


# a mixture gives the draft's tokens what p does not
ASKING_P = [name for name in RULES if name != "ensemble"]


@pytest.mark.parametrize("rule", ASKING_P)
def test_nothing_is_kept_from_a_token_the_target_excludes_on(rule: str):
    p = [[0.5, 0.5], [0.0, 1.0], [0.5, 0.5], [0.5, 0.5]]
    q = [[0.5, 0.5]] * 3
    law = RULES[rule].law(*tensors(p, q, [0, 0, 0]))
    assert law.stop[2:].tolist() == [0.0, 0.0]
    assert float(law.next(1)[1]) == 1.0


@pytest.mark.parametrize("rule", ASKING_P)
def test_greedy_rows_keep_the_common_prefix(rule: str):
    p = [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]
    q = [[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]
    law = RULES[rule].law(*tensors(p, q, [0, 1, 1]))
    assert law.stop.tolist() == [0.0, 0.0, 1.0, 0.0]
    assert law.next(2).tolist() == [1.0, 0.0]


@pytest.mark.parametrize("rule", RULES)
def test_a_vocabulary_of_one_token_is_kept_whole(rule: str):
    law = RULES[rule].law(*tensors([[1.0]] * 4, [[1.0]] * 3, [0, 0, 0]))
    assert law.stop.tolist() == [0.0, 0.0, 0.0, 1.0]


@pytest.mark.parametrize("rule", RULES)
def test_wrong_shapes_are_refused(rule: str):
    p = torch.full((3, 2), 0.5)
    q = torch.full((2, 2), 0.5)
    tokens = torch.tensor([0, 1])
    for wrong in [
        (p[:2], q, tokens),
        (p, q[:1], tokens),
        (p, q, tokens[:1]),
        (p, q[:, :1], tokens),
    ]:
        with pytest.raises(HsdError, match="do not fit"):
            RULES[rule].law(*wrong)
    for t in (-1, 3):
        with pytest.raises(HsdError, match="choose t from 0 to 2"):
            RULES[rule].law(p, q, tokens).next(t)


# Theorems


def drafts(vocab: int, gamma: int) -> list[tuple[int, ...]]:
    return list(itertools.product(range(vocab), repeat=gamma))


@pytest.mark.parametrize("seed", range(8))
def test_hsd_keeps_at_least_as_much_as_tokenwise_on_average(seed: int):
    models = random_models(vocab=3, gamma=1 + seed % 4, seed=seed)
    mean = dict.fromkeys(RULES, 0.0)
    for draft in drafts(3, models.gamma):
        weight = models.joint(models.draft, draft)
        p = models.rows(models.target, draft, models.gamma + 1)
        q = models.rows(models.draft, draft, models.gamma)
        for name, rule in RULES.items():
            mean[name] += weight * float(rule.law(p, q, torch.tensor(draft)).expected_kept)
    assert mean["hsd"] >= mean["tokenwise"] - 1e-12
    assert mean["naive-hsd"] >= mean["hsd"] - 1e-12
    if models.gamma > 1:
        assert mean["hsd"] > mean["tokenwise"]


@given(problem=problems())
def test_asymmetry_of_a_branch_is_the_difference_of_its_divergences(problem: Problem):
    """Theorem 2: D(p,q|X) - D(q,p|X) = p(X) - q(X)."""
    masses = branch_masses(*tensors(problem.p, problem.q, problem.tokens))
    for t in range(problem.gamma):
        deficient = reference.deficient_uncapped(problem, t)
        excess = reference.excess_uncapped(problem, t)
        assert float(masses["asymmetry"][t]) == pytest.approx(deficient - excess, abs=1e-12)


@given(problem=problems())
def test_positive_asymmetries_of_the_children_add_up_to_the_parents_missing_mass(problem: Problem):
    """Theorem 4: Σ_x max(Δ(X, x), 0) = D(p,q|X), with every Δ from `branch_masses` of the longer
    draft.
    """
    for t in range(problem.gamma - 1):
        total = 0.0
        for x in range(len(problem.p[0])):
            if problem.q[t][x] == 0:  # cannot be drafted: all of p(X, x) is missing
                total += problem.joint_p(t) * problem.p[t][x]
                continue
            tokens = [*problem.tokens[:t], x, problem.tokens[t + 1]]
            longer = branch_masses(*tensors(problem.p[: t + 3], problem.q[: t + 2], tokens))
            total += max(float(longer["asymmetry"][t + 1]), 0.0)
        assert total == pytest.approx(reference.deficient_uncapped(problem, t), abs=1e-12)


def test_asymmetry_of_a_prefix_that_the_draft_excludes():
    masses = branch_masses(*tensors([[1.0, 0.0]] * 3, [[0.0, 1.0], [1.0, 0.0]], [0, 0]))
    assert masses["asymmetry"].tolist() == [0.0, 1.0]


@given(problem=problems())
def test_pivot_is_where_the_ratio_peaked(problem: Problem):
    masses = branch_masses(*tensors(problem.p, problem.q, problem.tokens))
    for t, pivot in enumerate(masses["pivot"].tolist()):
        earlier = [problem.ratio(i) for i in range(1, t)]
        if pivot:
            assert pivot < t
            assert problem.ratio(pivot) == pytest.approx(max(earlier))
        else:
            assert all(r <= 1 + 1e-12 for r in earlier)


# Decisions with given coins


def law_of_kept(law: Law) -> list[float]:
    """How often each number is kept when the coins are uniform: exact, because `kept` changes at
    thresholds only.
    """
    found = [0.0] * (law.gamma + 1)
    thresholds = law.threshold.tolist()
    for passes in itertools.product([True, False], repeat=law.gamma):
        weight = math.prod(h if ok else 1 - h for ok, h in zip(passes, thresholds, strict=True))
        if weight > 0:
            coins = [h / 2 if ok else (1 + h) / 2 for ok, h in zip(passes, thresholds, strict=True)]
            found[int(law.kept(torch.tensor(coins, dtype=torch.float64)))] += weight
    return found


@pytest.mark.parametrize("rule", RULES)
@given(problem=problems())
def test_decisions_with_uniform_coins_follow_the_stop_law(rule: str, problem: Problem):
    law = RULES[rule].law(*tensors(problem.p, problem.q, problem.tokens))
    assert close(law.stop, law_of_kept(law), 1e-12)


@pytest.mark.parametrize("rule", RULES)
def test_decisions_over_a_grid_of_coins_integrate_to_the_stop_law(rule: str):
    p = [[0.2, 0.5, 0.3], [0.6, 0.1, 0.3], [0.3, 0.3, 0.4]]
    q = [[0.5, 0.2, 0.3], [0.3, 0.4, 0.3]]
    law = RULES[rule].law(*tensors(p, q, [0, 1]))
    grid = [(i + 0.5) / 60 for i in range(60)]
    counts = torch.zeros(3)
    for coins in itertools.product(grid, repeat=2):
        counts[int(law.kept(torch.tensor(coins, dtype=torch.float64)))] += 1
    assert close(law.stop, (counts / len(grid) ** 2).tolist(), 1 / 60)


@pytest.mark.parametrize("rule", RULES)
def test_the_rules_own_order_leads_to_what_it_keeps(rule: str):
    """Walking through `order()` until one test decides gives the same number as `kept`."""
    generator = torch.Generator().manual_seed(1)
    for case in OWN_CASES:
        law = RULES[rule].law(*tensors(case["p"], case["q"], case["tokens"]))
        for coins in torch.rand(5, law.gamma, generator=generator, dtype=torch.float64):
            success = (coins < law.threshold).tolist()
            assert sorted(law.order()) == list(range(1, law.gamma + 1))
            if law.forward:
                walked = next((t - 1 for t in law.order() if not success[t - 1]), law.gamma)
            else:
                walked = next((t for t in law.order() if success[t - 1]), 0)
            assert int(law.kept(coins)) == walked


@pytest.mark.parametrize("rule", [name for name in RULES if name != "typical"])  # it has no coin
def test_a_coin_equal_to_its_threshold_fails(rule: str):
    problem = Problem([[0.25, 0.75, 0.0], [0.5, 0.5, 0.0]], [[0.5, 0.25, 0.25]], [0])
    law = RULES[rule].law(*tensors(problem.p, problem.q, problem.tokens))
    assert law.threshold.tolist() == pytest.approx(
        [reference.RULES[rule](problem).stop[1]], abs=1e-15
    )
    threshold = law.threshold
    assert int(law.kept(threshold)) == 0
    assert int(law.kept(threshold - 1e-12)) == 1


def test_only_the_rules_that_are_lossless_say_so():
    found = audit(vocab=3, gamma=3, seed=0)["rules"]
    for name, rule in RULES.items():
        exact = found[name]["total_variation"] < TOLERANCE
        assert rule.lossless == exact, f"{name}: by the audit its record must say lossless={exact}"
        assert not (rule.lossless and rule.knob), (
            f"{name}: a number that changes a lossless rule's law"
        )
    assert all(rule.citation and rule.title and rule.name == name for name, rule in RULES.items())


def test_what_is_left_is_divided_without_moving_the_borders_between_tokens():
    """Rounded to single precision, the borders moved by 1e-9: recorded and unrecorded runs then
    picked other tokens.
    """
    p, q = torch.rand(2, 1, 5000, generator=torch.Generator().manual_seed(0)).softmax(-1)
    law = RULES["hsd"].law(torch.cat([p, p]), q, torch.tensor([7]))
    left = (p[0] * law.a[0].float() - q[0]).clamp_min(0).double().cumsum(0)
    torch.testing.assert_close(law.leftover(0)[0].cumsum(0), left / left[-1], atol=1e-13, rtol=0)


@pytest.mark.parametrize("name", sorted(RULES))
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_what_follows_has_the_numbers_of_the_target(name: str, dtype: torch.dtype):
    p, q = (
        torch.rand(n, 5, generator=torch.Generator().manual_seed(n)).to(dtype).softmax(-1)
        for n in (3, 2)
    )
    law = RULES[name].law(p, q, torch.tensor([1, 4]))
    assert {law.next(t).dtype for t in range(3)} == {dtype}


# short rows, and long ones, whose sums are a library's
@pytest.mark.parametrize("vocab", [5, 4096])
def test_drafts_of_many_lengths_are_judged_together_as_each_is_alone(vocab: int):
    generator = torch.Generator().manual_seed(vocab)
    lengths = torch.tensor([4, 1, 3, 0, 2])
    for _ in range(20):
        p, q = (torch.randn(5, 4, vocab, generator=generator).mul(2).softmax(-1) for _ in range(2))
        tokens = torch.multinomial(q.flatten(0, 1), 1, generator=generator).view(5, 4)
        coins = torch.rand(5, 4, generator=generator, dtype=torch.float64)
        padded, judged, thrown = shortened(p, q, tokens, coins, lengths)
        law = hsd_law(p, padded, judged)
        for at, length in enumerate(lengths.tolist()):
            rows = q[at, :length]
            own = tokens[at, :length]
            alone = RULES["hsd"].law(p[at, [*range(length), 0]], rows, own)
            inner = slice(max(length - 1, 0))
            assert law.threshold[at, inner].tolist() == pytest.approx(
                alone.threshold[inner].tolist(), abs=1e-12
            )
            kept = min(int(law.kept(thrown)[at]), length)
            assert kept == int(alone.kept(coins[at, :length]))
            if kept < length:
                residual, mass = leftover(p[at, kept], padded[at, kept], law.a[at, kept])
                assert torch.allclose(residual, alone.leftover(kept)[0], atol=1e-12)
                assert float(mass) == pytest.approx(float(alone.leftover(kept)[1]), abs=1e-12)
