"""The fuzzy rule: what it is at the ends of its tolerance, its law in between, and how far that may
be off.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

import pytest
import reference
import torch
from hypothesis import given
from hypothesis import strategies as st
from loops import for_each
from reference import Problem
from table_models import table_pair
from test_laws import close, problems, rows_of_both, tensors
from torch import Tensor

from hsd import RULES, HsdError, run
from hsd.audit import TableModels, output_law, random_models, step_law, target_law, total_variation
from hsd.audit.trees import outcomes, shapes
from hsd.rules import (
    DIVERGENCES,
    Fuzzy,
    Law,
    Rule,
    find_rule,
    find_tree_rule,
    fuzzy_rule,
    fuzzy_tree,
)
from hsd.rules.fuzzy import MODES, ROWS

EXACT = 1e-12
SHAPES = [(2, 1), (2, 3), (3, 2), (4, 2), (3, 3)]  # (V, γ)
EVERY = [Fuzzy(name, mode=mode) for name in DIVERGENCES for mode in MODES]
each_config = pytest.mark.parametrize("config", EVERY, ids=lambda c: f"{c.divergence}-{c.mode}")
each_divergence = pytest.mark.parametrize("name", DIVERGENCES)
each_mode = pytest.mark.parametrize("mode", MODES)


def with_zeros(models: TableModels, seed: int) -> TableModels:
    """The same with one entry of about every third row set to 0, in the target as in the draft."""
    generator = torch.Generator().manual_seed(seed)

    def struck(row: Tensor) -> Tensor:
        gone = int(torch.randint(3 * models.vocab, (), generator=generator))
        left = torch.where(torch.arange(models.vocab) == gone, 0.0, row)
        return left / left.sum()

    target, draft = (
        {x: struck(row) for x, row in table.items()} for table in (models.target, models.draft)
    )
    return TableModels(target, draft, models.vocab, models.gamma)


def models_of(seed: int) -> TableModels:
    """A random pair, with zeros for odd seeds; at the first token the draft is nearer to the target
    than elsewhere.
    """
    vocab, gamma = SHAPES[seed % len(SHAPES)]
    models = random_models(vocab, gamma, seed)
    first = models.target[()]
    near = (2 * models.target[()] + models.draft[()]) / 3
    if seed % 2:
        models = with_zeros(models, seed)
    return TableModels(models.target | {(): first}, models.draft | {(): near}, vocab, gamma)


def settled(config: Fuzzy, models: TableModels) -> Fuzzy:
    """The config with a tolerance that the first context passes, others too, and some do not: a D
    that occurs.
    """
    found = divergences(models, config.divergence)
    finite = sorted(value for value in found.values() if value < math.inf)
    return replace(config, tolerance=max(finite[(len(finite) - 1) // 2], found[()]))


def divergences(models: TableModels, name: str) -> dict[tuple[int, ...], float]:
    """D of every context in which something is drafted."""
    contexts = [x for x in models.target if len(x) < models.gamma]
    return {
        x: float(DIVERGENCES[name](models.target[x][None], models.draft[x][None])) for x in contexts
    }


def mixed(models: TableModels, config: Fuzzy) -> TableModels:
    """The target replaced by "q where D ≤ T, else p" wherever a token is drafted."""
    found = divergences(models, config.divergence)
    near = {x for x, value in found.items() if value <= config.tolerance}
    target = {x: models.draft[x] if x in near else row for x, row in models.target.items()}
    return TableModels(target, models.draft, models.vocab, models.gamma)


def decoded_law(models: TableModels, rule: Rule) -> Tensor:
    """The law of γ+1 tokens written step after step, each step drafting all that is left but the
    last token.
    """

    @cache
    def rest(prefix: tuple[int, ...]) -> Tensor:
        left = models.gamma - len(prefix)
        law = torch.zeros((models.vocab,) * (left + 1), dtype=torch.float64)
        if left < 0:
            return torch.ones((), dtype=torch.float64)
        for draft in itertools.product(range(models.vocab), repeat=left):
            contexts = [(*prefix, *draft[:t]) for t in range(left + 1)]
            p = torch.stack([models.target[x] for x in contexts])
            q = p[:0] if not left else torch.stack([models.draft[x] for x in contexts[:-1]])
            weight = math.prod(float(row[x]) for row, x in zip(q, draft, strict=True))
            if weight == 0:
                continue
            step = rule.law(p, q, torch.tensor(draft, dtype=torch.int64))
            for t, stop in enumerate(step.stop.tolist()):
                for x, chance in enumerate(step.next(t).tolist() if stop else []):
                    law[(*draft[:t], x)] += weight * stop * chance * rest((*contexts[t], x))
        return law

    return rest(())


def drift(law: Law, kept: int, tolerance: float) -> float:
    """Σ D over the kept positions of a step with D ≤ tolerance: what a step spends."""
    spent = law.divergence[:kept]
    return float(spent[spent <= tolerance].sum())


def expected_drift(models: TableModels, config: Fuzzy) -> tuple[float, float]:
    """The expected drift of one step, and the expected number of kept tokens."""
    spent = kept = 0.0
    for draft in itertools.product(range(models.vocab), repeat=models.gamma):
        law = law_of(models, config, draft)
        for t, stop in enumerate(law.stop.tolist()):
            weight = models.joint(models.draft, draft) * stop
            if weight > 0:
                spent += weight * drift(law, t, config.tolerance)
                kept += weight * t
    return spent, kept


def law_of(models: TableModels, config: Fuzzy, draft: tuple[int, ...]) -> Law:
    p = models.rows(models.target, draft, models.gamma + 1)
    q = models.rows(models.draft, draft, models.gamma)
    return fuzzy_rule(config).law(p, q, torch.tensor(draft))


def entropy_between(output: Tensor, truth: Tensor) -> float:
    return reference.entropy_from(output.flatten().tolist(), truth.flatten().tolist())


# Divergences


@st.composite
def row_pairs(draw: st.DrawFn) -> tuple[list[float], list[float]]:
    return draw(rows_of_both(draw(st.integers(1, 6))))


@each_divergence
@given(rows=row_pairs())
def test_divergences_are_those_of_the_textbook(name: str, rows: Any):
    p, q = (torch.tensor([row], dtype=torch.float64) for row in rows)
    assert float(DIVERGENCES[name](p, q)) == pytest.approx(
        reference.divergence(name, *rows), abs=EXACT
    )


@each_divergence
@given(rows=row_pairs())
def test_divergences_are_in_range_and_zero_for_equal_rows(name: str, rows: Any):
    highest = {"kl": math.inf, "reverse-kl": math.inf, "js": math.log(2), "tv": 1.0}[name]
    for dtype in (torch.float32, torch.float64):
        p, q = (torch.tensor([row], dtype=dtype) for row in rows)
        found = DIVERGENCES[name](p, q)
        assert found.dtype == dtype
        assert found.shape == (1,)
        assert 0 <= float(found) <= highest + 1e-7
        assert float(DIVERGENCES[name](p, p)) == 0
        if name in ("js", "tv"):
            assert torch.equal(found, DIVERGENCES[name](q, p))


def test_kl_goes_from_the_draft_to_the_target():
    p = torch.tensor([[0.5, 0.5]])
    q = torch.tensor([[1.0, 0.0]])
    # q never says what p does: finite
    assert float(DIVERGENCES["kl"](p, q)) == pytest.approx(math.log(2))
    assert float(DIVERGENCES["reverse-kl"](p, q)) == math.inf
    assert float(DIVERGENCES["kl"](q, p)) == math.inf
    assert float(DIVERGENCES["reverse-kl"](q, p)) == pytest.approx(math.log(2))
    assert float(DIVERGENCES["js"](q, 1 - q)) == pytest.approx(math.log(2))
    assert float(DIVERGENCES["tv"](q, 1 - q)) == 1


@each_divergence
def test_the_smallest_numbers_of_single_precision_do_no_harm(name: str):
    # halved, it would be no more than rounding leaves of it
    least = torch.finfo(torch.float32).tiny * 2**-22
    for p, q in itertools.product(
        [[1.0, 0.0, 0.0], [1.0, least, 0.0], [0.5, 0.5, least]], repeat=2
    ):
        found = float(DIVERGENCES[name](torch.tensor([p]), torch.tensor([q])))
        wanted = reference.divergence(
            name, *(torch.tensor(row).double().tolist() for row in (p, q))
        )
        assert found == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize("name", ["kl", "reverse-kl", "js"])
def test_near_rows_keep_their_divergence_in_single_precision(name: str):
    """A sum of q log(q/p) as it stands would be lost in rounding here: it may even come out
    negative.
    """
    generator = torch.Generator().manual_seed(3)
    p = torch.randn(20, 50, generator=generator, dtype=torch.float64).softmax(-1)
    q = (p.log() + 3e-4 * torch.randn(20, 50, generator=generator, dtype=torch.float64)).softmax(-1)
    p, q = (rows.float() for rows in (p, q))
    found = DIVERGENCES[name](p, q).double()
    wanted = DIVERGENCES[name](p.double(), q.double())
    assert 0 < float(wanted.max()) < 2e-7
    assert float((found - wanted).abs().max()) < 1e-3 * float(wanted.min())


# The ends of the tolerance


@given(problem=problems(), name=st.sampled_from(list(DIVERGENCES)))
def test_below_zero_it_is_the_tokenwise_law_bit_for_bit(problem: Problem, name: str):
    given_tensors = tensors(problem.p, problem.q, problem.tokens)
    mine, exact = (
        rule.law(*given_tensors)
        for rule in (fuzzy_rule(Fuzzy(name, tolerance=-1)), RULES["tokenwise"])
    )
    assert torch.equal(mine.threshold, exact.threshold)
    assert torch.equal(mine.stop, exact.stop)
    assert all(torch.equal(mine.next(t), exact.next(t)) for t in range(problem.gamma + 1))


@each_config
@given(problem=problems())
def test_at_infinity_the_whole_draft_passes(config: Fuzzy, problem: Problem):
    law = fuzzy_rule(replace(config, tolerance=math.inf)).law(
        *tensors(problem.p, problem.q, problem.tokens)
    )
    assert law.stop.tolist() == [0.0] * problem.gamma + [1.0]
    assert torch.equal(law.next(problem.gamma), law.p[-1])


@each_config
@for_each("seed", range(4))
@for_each("tolerance", [-0.5, 0.0])
def test_at_zero_and_below_the_output_is_the_targets(config: Fuzzy, seed: int, tolerance: float):
    models = models_of(seed)
    models.draft[()] = models.target[()]  # there D = 0, which passes at 0
    rule = fuzzy_rule(replace(config, tolerance=tolerance))
    output, kept = output_law(models, rule.law)
    assert total_variation(output, target_law(models)) < EXACT
    assert total_variation(decoded_law(models, rule), target_law(models)) < EXACT
    if config.mode == "divergence-only":
        first = float(models.draft[()].sum()) if tolerance == 0 else 0.0
        assert kept == pytest.approx(first, abs=EXACT)


# In between


@each_config
@given(problem=problems(), tolerance=st.sampled_from([-1.0, 0.0, 0.05, 0.3, 0.7, 2.0]))
def test_law_agrees_with_the_reference(config: Fuzzy, problem: Problem, tolerance: float):
    rule = fuzzy_rule(replace(config, tolerance=tolerance))
    law = rule.law(*tensors(problem.p, problem.q, problem.tokens))
    found = [
        reference.divergence(config.divergence, *rows)
        for rows in zip(problem.p[:-1], problem.q, strict=True)
    ]
    if any(0 < abs(value - tolerance) < 1e-12 for value in found):
        return  # rounding decides
    wanted = reference.fuzzy(problem, config.divergence, tolerance, config.mode)
    assert law.stop.tolist() == pytest.approx(wanted.stop, abs=1e-9)
    assert law.divergence is not None
    assert law.divergence.dtype == torch.float64
    assert law.divergence.tolist() == pytest.approx(found, abs=1e-9)
    for t, (row, mass) in enumerate(zip(wanted.next, wanted.mass, strict=True)):
        if mass > 1e-6:
            assert close(law.next(t), row)


@each_config
@for_each("seed", range(10))
def test_the_output_is_the_draft_where_it_is_near_and_the_target_elsewhere(
    config: Fuzzy, seed: int
):
    """Step after step: "q where D ≤ T, else p" at drafted positions, under both modes."""
    models = models_of(seed)
    config = settled(config, models)
    wanted = target_law(mixed(models, config))
    assert total_variation(decoded_law(models, fuzzy_rule(config)), wanted) < EXACT
    assert total_variation(wanted, target_law(models)) > 1e-3


@each_divergence
@for_each("seed", range(10))
def test_exact_first_keeps_at_least_as_much_on_every_draft(name: str, seed: int):
    models = models_of(seed)
    more = 0.0
    config = settled(Fuzzy(name), models)
    for draft in itertools.product(range(models.vocab), repeat=models.gamma):
        if models.joint(models.draft, draft) > 0:
            first, only = (law_of(models, replace(config, mode=mode), draft) for mode in MODES)
            assert bool((first.threshold >= only.threshold).all())
            more += float(first.expected_kept - only.expected_kept)
    # with zeros there may be nothing in common to keep
    assert more > EXACT or models.gamma == 1 or seed % 2


@each_config
@given(problem=problems())
def test_a_larger_tolerance_never_keeps_less(config: Fuzzy, problem: Problem):
    given_tensors = tensors(problem.p, problem.q, problem.tokens)
    ladder = [-1.0, 0.0, 0.01, 0.1, 0.3, 0.69, 0.7, 1.0, 5.0, math.inf]
    kept = [
        float(fuzzy_rule(replace(config, tolerance=t)).law(*given_tensors).expected_kept)
        for t in ladder
    ]
    assert all(low <= high + EXACT for low, high in itertools.pairwise(kept))
    assert kept[-1] == problem.gamma


# What it costs


@each_mode
@for_each("seed", range(10))
def test_the_drift_bounds_the_distance_of_a_step(mode: str, seed: int):
    """KL(output‖target) ≤ E[drift] ≤ T·E[kept]; without exact tests the first is an equality (chain
    rule).
    """
    models = models_of(seed)
    config = settled(Fuzzy("kl", mode=mode), models)
    output, kept = output_law(models, fuzzy_rule(config).law)
    spent, kept_too = expected_drift(models, config)
    distance = entropy_between(output, target_law(models))
    assert kept == pytest.approx(kept_too, abs=EXACT)
    assert distance <= spent + EXACT
    assert spent <= config.tolerance * kept + EXACT
    assert distance > 1e-3
    if mode == "divergence-only":
        assert distance == pytest.approx(spent, abs=EXACT)


@each_mode
@for_each("seed", range(10))
def test_the_divergence_of_a_text_is_the_drift_that_was_spent_on_it(mode: str, seed: int):
    """The chain rule, step after step: KL(output‖target) = E_output[Σ D where D ≤ T]."""
    models = models_of(seed)
    config = settled(Fuzzy("kl", mode=mode), models)
    output = decoded_law(models, fuzzy_rule(config))
    found = divergences(models, "kl")
    spent = 0.0
    for text in itertools.product(range(models.vocab), repeat=models.gamma):
        prefixes = [text[:t] for t in range(models.gamma)]
        values = [found[x] for x in prefixes if found[x] <= config.tolerance]
        spent += float(output[text].sum()) * sum(values) if float(output[text].sum()) > 0 else 0.0
    assert entropy_between(output, target_law(models)) == pytest.approx(spent, abs=EXACT)


@each_mode
@for_each("seed", range(10))
def test_under_total_variation_the_output_moves_by_at_most_the_drift(mode: str, seed: int):
    models = models_of(seed)
    config = settled(Fuzzy("tv", mode=mode), models)
    output, kept = output_law(models, fuzzy_rule(config).law)
    spent, _ = expected_drift(models, config)
    assert 1e-3 < total_variation(output, target_law(models)) <= spent + EXACT
    assert spent <= config.tolerance * kept + EXACT


def test_the_divergence_of_a_step_is_that_of_each_pair_of_rows():
    p = [[0.5, 0.5], [0.2, 0.8], [0.5, 0.5], [0.5, 0.5]]
    q = [[0.4, 0.6], [0.9, 0.1], [0.45, 0.55]]
    law = fuzzy_rule(Fuzzy("tv", 0.2)).law(*tensors(p, q, [0, 0, 1]))
    assert law.divergence is not None
    assert law.divergence.tolist() == pytest.approx([0.1, 0.7, 0.05])


# Tokens that the target excludes


def test_what_the_target_never_says_passes_under_some_divergences_and_never_under_kl():
    p, q, tokens = tensors(
        [[0.0, 0.9, 0.1], [0.2, 0.8, 0.0], [0.3, 0.3, 0.4]],
        [[0.1, 0.9, 0.0], [0.3, 0.7, 0.0]],
        [0, 1],
    )
    passes = {}
    for name in DIVERGENCES:
        law = fuzzy_rule(Fuzzy(name, 0.2)).law(p, q, tokens)
        passes[name] = law.threshold.tolist() == [1.0, 1.0]  # what passed cuts nothing after it
    assert passes == {"kl": False, "reverse-kl": False, "js": True, "tv": True}
    p, q, tokens = tensors([[0.0, 1.0], [0.5, 0.5]], [[0.1, 0.9]], [0])
    # KL(p‖q) = -log 0.9
    assert float(fuzzy_rule(Fuzzy("reverse-kl", 0.2)).law(p, q, tokens).threshold) == 1
    assert float(fuzzy_rule(Fuzzy("kl", 1e300)).law(p, q, tokens).threshold) == 0


@given(problem=problems())
def test_under_kl_no_token_that_the_target_excludes_is_kept(problem: Problem):
    for mode in MODES:
        law = fuzzy_rule(Fuzzy("kl", 1e9, mode)).law(*tensors(problem.p, problem.q, problem.tokens))
        outside = [t for t, x in enumerate(problem.tokens) if problem.p[t][x] == 0]
        assert all(float(law.threshold[t]) == 0 for t in outside)


# Raw rows


def test_raw_rows_decide_instead_of_greedy_ones():
    """At temperature 0 the rows are one-hot and D is 0 or infinite; the raw rows say how near the
    models really are.
    """
    p, q, tokens = tensors([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]], [[0.0, 1.0], [0.0, 1.0]], [1, 1])
    raw_p, raw_q, _ = tensors(
        [[0.51, 0.49], [0.1, 0.9], [0.8, 0.2]], [[0.49, 0.51], [0.4, 0.6]], [1, 1]
    )
    raw, warped = (
        fuzzy_rule(Fuzzy(tolerance=0.1, mode="divergence-only", on=on)) for on in ("raw", "warped")
    )
    assert (raw.raw, warped.raw) == (True, False)
    for rows in ((raw_p, raw_q), (raw_p[:-1], raw_q)):
        law = raw.law(p, q, tokens, rows)
        assert law.threshold.tolist() == [1.0, 0.0]
        assert law.divergence is not None
        assert torch.equal(law.divergence, DIVERGENCES["kl"](raw_p[:-1], raw_q))
        assert torch.equal(law.next(1), p[1])
    assert warped.law(p, q, tokens, (raw_p, raw_q)).threshold.tolist() == [0.0, 1.0]
    # without raw rows: p and q themselves
    assert raw.law(p, q, tokens).threshold.tolist() == [0.0, 1.0]
    first = fuzzy_rule(Fuzzy(tolerance=0.1, on="raw")).law(p, q, tokens, (raw_p, raw_q))
    # near; then D is too large, but the exact test passes
    assert first.threshold.tolist() == [1.0, 1.0]


def test_raw_rows_that_do_not_fit_are_refused_and_other_rules_ignore_them():
    p = torch.full((3, 2), 0.5)
    q = torch.full((2, 2), 0.5)
    tokens = torch.tensor([0, 1])
    rule = fuzzy_rule(Fuzzy(on="raw"))
    for wrong in [(p[:1], q), (p, q[:1]), (p[:, :1], q), (q, p)]:
        with pytest.raises(HsdError, match=r"raw rows .* do not fit"):
            rule.law(p, q, tokens, wrong)
        for name in RULES:
            assert torch.equal(
                RULES[name].law(p, q, tokens, wrong).stop, RULES[name].law(p, q, tokens).stop
            )


# Settings and registry


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"divergence": "KL"}, "unknown divergence 'KL': choose one of kl, reverse-kl, js, tv"),
        ({"mode": "paper"}, "unknown mode 'paper': choose one of exact-first, divergence-only"),
        ({"on": "logits"}, "unknown on 'logits': choose one of warped, raw"),
        ({"tolerance": math.nan}, "tolerance nan is not a number"),
        ({"tolerance": "0.3"}, "tolerance '0.3' is not a number"),
    ],
)
def test_settings_that_mean_nothing_are_refused_in_one_line(bad: dict[str, Any], message: str):
    with pytest.raises(HsdError) as error:
        Fuzzy(**bad)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


@for_each(
    "config", [Fuzzy(n, 0.1, m, o) for n in DIVERGENCES for m in MODES for o in ROWS], ids=str
)
@for_each("gamma", [0, 1, 3])
def test_every_setting_takes_drafts_of_any_length_and_refuses_wrong_shapes(
    config: Fuzzy, gamma: int
):
    rule = fuzzy_rule(config)
    p = torch.full((gamma + 1, 2), 0.5)
    q = torch.full((gamma, 2), 0.5)
    tokens = torch.zeros(gamma, dtype=torch.int64)
    assert rule.law(p, q, tokens).stop.tolist() == [0.0] * gamma + [1.0]
    for wrong in [
        (p[1:], q, tokens),
        (p, p, tokens),
        (p, q, torch.zeros(gamma + 1, dtype=torch.int64)),
    ]:
        with pytest.raises(HsdError, match="do not fit"):
            rule.law(*wrong)


def test_the_registered_rule_has_the_default_settings():
    rule = find_rule("fuzzy")
    assert (rule.lossless, rule.raw, rule.resamples) == (False, False, False)
    assert rule.knob
    assert rule.knob.default == Fuzzy.tolerance
    p, q, tokens = tensors([[0.5, 0.5]] * 3, [[0.3, 0.7], [0.05, 0.95]], [1, 1])
    assert torch.equal(rule.law(p, q, tokens).stop, fuzzy_rule(Fuzzy()).law(p, q, tokens).stop)
    assert find_tree_rule("fuzzy").knob is rule.knob


# In trees


@each_mode
@for_each("tolerance", [-1.0, 0.1, 0.4, 9.0])
@for_each("layout", ["paths", "distinct-comb", "top", "full, chosen", "full, distinct"])
def test_in_a_tree_the_text_follows_the_law_of_one_draft(mode: str, tolerance: float, layout: str):
    """After every kept prefix: q where D ≤ T, else p; after a whole draft p. Of a chain it is the
    same.
    """
    models = random_models(3, 2, seed=len(layout))
    shape = shapes(2, 2, 3)[layout]
    config = Fuzzy(tolerance=tolerance, mode=mode)
    wanted = {
        path: models.draft[path]
        if float(kl(p, models.draft[path])) <= tolerance and len(path) < 2
        else p
        for path, p in models.target.items()
    }
    in_tree = [
        (w, tree.path(end.node), end.next)
        for w, tree, end in outcomes(fuzzy_tree(config), models, shape)
    ]
    in_chain = step_law(models, fuzzy_rule(config).law)
    truth = target_law(TableModels(wanted, models.draft, 3, 2))
    for ends in (in_tree, in_chain):
        assert total_variation(going_on(ends, wanted), truth) < EXACT


def going_on(
    ends: Iterable[tuple[float, tuple[int, ...], Tensor]], rows: dict[tuple[int, ...], Tensor]
) -> Tensor:
    """The law of three tokens of three, after every end of a step: its probability, what it kept,
    the row that follows.

    What follows a step is the same rule again, so the text goes on by `rows`.
    """
    law = torch.zeros(3, 3, 3, dtype=torch.float64)
    for weight, path, row in ends:
        for text in product(range(3), repeat=3):
            if text[: len(path)] == path:
                later = [float(rows[text[:i]][text[i]]) for i in range(len(path) + 1, 3)]
                law[text] += weight * float(row[text[len(path)]]) * math.prod(later)
    return law


def kl(p: Tensor, q: Tensor) -> Tensor:
    return DIVERGENCES["kl"](p[None], q[None])


@pytest.mark.parametrize(
    ("tree", "exact"), [("grown", "one-hot"), ("top", "one-hot"), ("distinct", "top-down")]
)
def test_a_tolerance_below_0_is_the_exact_tree_token_by_token(tree: str, exact: str):
    pair = table_pair(vocab=5, order=2, seed=4)
    shared = {"tree": tree, "drafts": 3, "gamma": 3, "max_new_tokens": 24, "seed": 3}
    fuzzy = run(pair, "abc", rule="fuzzy", tolerance=-1.0, **shared)
    assert fuzzy.tokens == run(pair, "abc", rule=exact, **shared).tokens
    assert any("exact" in note for note in fuzzy.setup.notes)


@each_mode
def test_a_tree_s_record_has_the_divergence_of_the_rows_that_each_token_was_drafted_in(mode: str):
    pair = table_pair(vocab=5, order=2, seed=4)
    options = {
        "rule": "fuzzy",
        "tolerance": 0.2,
        "fuzzy_mode": mode,
        "tree": "grown",
        "drafts": 2,
        "gamma": 3,
    }
    trace = run(pair, "abc", max_new_tokens=24, **options)
    for step in trace.steps:
        for node in step.nodes:  # siblings share their row
            assert (
                step.divergences[node.id - 1]
                == step.divergences[[n.parent for n in step.nodes].index(node.parent)]
            )
        for decision in step.verdict.decisions:
            assert decision.grounds.divergence == pytest.approx(
                step.divergences[decision.node - 1], rel=1e-5
            )
            near = decision.grounds.form == "nearby"
            assert near == (decision.grounds.divergence <= 0.2)
            assert near or decision.grounds.form == ("beyond" if mode == "exact-first" else "far")
        far = [d for d in step.verdict.decisions if d.grounds.form == "far"]
        assert len(far) <= 1, "the first row that is too far apart ends the draft"
    with pytest.raises(HsdError, match="divergences of raw rows are for one draft"):
        run(pair, "abc", **options, divergence_on="raw")
