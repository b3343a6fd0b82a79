"""The rules in JavaScript, made from their records, compute what the Python rules and the Python
audit compute.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
import torch
from engine import Engine
from loops import for_each

from hsd.audit import (
    TableModels,
    audit_rules,
    context_free_models,
    ideal_kept,
    output_law,
    target_law,
)
from hsd.decoding.options import RunOptions
from hsd.rules import DIVERGENCES, RULES, Fuzzy, branch_masses, fuzzy_rule
from hsd.rules.fuzzy import MODES

EXACT = 1e-12
LOSSLESS = [name for name, rule in RULES.items() if rule.lossless]


@pytest.fixture(scope="module")
def lab() -> Iterator[Engine]:
    """The modules of the rules; they have no page."""
    files = ("law", "tests", "divergence", "audit")
    engine = Engine({name: f"rules/{name}.js" for name in files})
    yield engine
    engine.stop()


# ---- models, in both languages


def rows_of(count: int, vocab: int, seed: int, zeros: bool = False) -> list[list[float]]:
    """Random distributions; with `zeros` each row has one entry that is exactly 0, at a place of
    its own.
    """
    generator = torch.Generator().manual_seed(seed)
    rows = torch.rand(count, vocab, generator=generator, dtype=torch.float64) + 0.02
    if zeros:
        place = torch.randint(vocab, (count, 1), generator=generator)
        rows = rows.scatter(1, place, 0.0)
    return (rows / rows.sum(-1, keepdim=True)).tolist()


def same_rows(p: list[float], q: list[float], gamma: int) -> dict:
    return {"vocab": len(p), "gamma": gamma, "p": [p] * (gamma + 1), "q": [q] * gamma}


def random_model(vocab: int, gamma: int, seed: int, zeros: bool = False) -> dict:
    """Own rows at every position."""
    p = rows_of(gamma + 1, vocab, seed, zeros)
    q = rows_of(gamma, vocab, seed + 1000, zeros)
    return {"vocab": vocab, "gamma": gamma, "p": p, "q": q}


def tables(model: dict) -> TableModels:
    """The same model for the audit."""
    vocab = model["vocab"]
    gamma = model["gamma"]
    paths = [x for n in range(gamma + 1) for x in itertools.product(range(vocab), repeat=n)]
    row = {side: [torch.tensor(r, dtype=torch.float64) for r in model[side]] for side in "pq"}
    draft = {x: row["q"][len(x)] for x in paths if len(x) < gamma}
    return TableModels({x: row["p"][len(x)] for x in paths}, draft, vocab, gamma)


MODELS = {
    "equal": same_rows([0.5, 0.3, 0.2], [0.5, 0.3, 0.2], 3),
    "disjoint": same_rows([0.6, 0.4, 0.0, 0.0], [0.0, 0.0, 0.7, 0.3], 3),
    "near": same_rows([0.5, 0.3, 0.2], [0.6, 0.25, 0.15], 4),
    "one-hot target": same_rows([0.0, 1.0, 0.0], [0.2, 0.5, 0.3], 3),
    "one-hot draft": same_rows([0.2, 0.5, 0.3], [0.0, 1.0, 0.0], 3),
    **{f"toy {gamma}": same_rows([1 / 3, 2 / 3], [2 / 3, 1 / 3], gamma) for gamma in (1, 2, 3, 4)},
    **{
        f"own {v}^{g} seed {i}": random_model(v, g, i)
        for i, (v, g) in enumerate([(2, 4), (3, 3), (4, 2), (5, 2)])
    },
    **{
        f"zeros {v}^{g}": random_model(v, g, 50 + v, zeros=True)
        for v, g in [(2, 3), (3, 4), (4, 3), (5, 2)]
    },
    **{
        f"same {v}^{g}": same_rows(rows_of(1, v, v)[0], rows_of(1, v, 9 * v)[0], g)
        for v, g in [(2, 4), (3, 3), (5, 1)]
    },
}


def close(first: object, second: object) -> bool:
    """Equal to 1e-12, entry by entry."""
    a, b = (torch.as_tensor(x, dtype=torch.float64) for x in (first, second))
    return a.shape == b.shape and bool(((a - b).abs() <= EXACT).all())


# ---- the mathematics


@for_each("name", MODELS, every=8)
def test_enumeration_equals_the_audit(lab: Engine, name: str) -> None:
    model = MODELS[name]
    audited = tables(model)
    found = lab.call("(m) => audit.enumerate(m)", model)
    assert close(found["target"], target_law(audited).flatten())
    assert close(found["ideal"], ideal_kept(audited))
    expected = audit_rules(audited)
    for rule in RULES.values():
        output, kept = output_law(audited, rule.law, rule.resamples)
        one = found["rules"][rule.name]
        assert close(one["output"], output.flatten()), rule.name
        assert close(one["kept"], kept)
        assert close(one["distance"], expected[rule.name]["total_variation"])
        assert one["exact"] == expected[rule.name]["lossless"]


def test_position_tables_and_context_free_models_agree() -> None:
    model = MODELS["near"]
    free = context_free_models(model["p"][0], model["q"][0], model["gamma"])
    assert torch.equal(target_law(free), target_law(tables(model)))


@pytest.mark.parametrize(
    "name", ["near", "equal", "toy 4", "own 3^3 seed 1", "zeros 3^4", "zeros 5^2"]
)
def test_every_draft_has_pythons_thresholds_and_residuals(lab: Engine, name: str) -> None:
    model = MODELS[name]
    p, q = (torch.tensor(model[side], dtype=torch.float64) for side in "pq")
    paths = itertools.product(range(model["vocab"]), repeat=model["gamma"])
    drafts = [x for x in paths if all(q[t, token] > 0 for t, token in enumerate(x))]
    found = lab.call(
        """(rule, p, q, drafts) => drafts.map((x) => {
          const one = law.lawOf(rule, p, q, x);
          const stop = law.stops(one.threshold, one.forward);
          return {
            threshold: one.threshold,
            stop,
            order: law.order(one),
            kept: law.mean(stop),
            next: p.map((_, t) => [...law.next(one, t)]),
          };
        })""".replace(
            "(rule, p, q, drafts) => ", "(p, q, drafts) => [...law.CHAINS.keys()].map((rule) => "
        )
        + ")",
        model["p"],
        model["q"],
        drafts,
    )
    for (rule_name, rule), laws in zip(RULES.items(), found, strict=True):
        for x, one in zip(drafts, laws, strict=True):
            law = rule.law(p, q, torch.tensor(x))
            assert close(one["threshold"], law.threshold), (rule_name, x)
            assert close(one["stop"], law.stop)
            assert close(one["kept"], law.expected_kept)
            assert close(one["next"], torch.stack([law.next(t) for t in range(len(x) + 1)]))
            assert one["order"] == list(law.order())


@pytest.mark.parametrize("name", ["near", "own 2^4 seed 0", "zeros 3^4"])
def test_what_explains_a_draft_equals_branch_masses(lab: Engine, name: str) -> None:
    model = MODELS[name]
    p, q = (torch.tensor(model[side], dtype=torch.float64) for side in "pq")
    for x in itertools.product(range(model["vocab"]), repeat=model["gamma"]):
        if any(q[t, token] == 0 for t, token in enumerate(x)):
            continue
        facts = lab.call("(p, q, x) => law.explain(p, q, x)", model["p"], model["q"], x)
        masses = branch_masses(p, q, torch.tensor(x))
        assert close([one["ratio"] for one in facts], masses["ratio"][:-1]), x
        assert close([one["capped"] for one in facts], masses["capped"][:-1])
        # where two ratios are equally large, either is right
        pivots = [one["pivot"] for one in facts]
        assert close(masses["ratio"][pivots], masses["ratio"][masses["pivot"]][:-1])
        assert close([one["deficient"] for one in facts], masses["deficient"])
        assert close([one["excess"] for one in facts], masses["excess"])


def test_coins_decide_as_in_python(lab: Engine) -> None:
    model = MODELS["near"]
    p, q = (torch.tensor(model[side], dtype=torch.float64) for side in "pq")
    coins = torch.rand(40, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    drafts = torch.randint(3, (40, 4), generator=torch.Generator().manual_seed(2))
    for name, rule in RULES.items():
        expected = [int(rule.law(p, q, x).kept(c)) for x, c in zip(drafts, coins, strict=True)]
        found = lab.call(
            "(rule, p, q, xs, cs) => xs.map((x, i) => law.kept(law.lawOf(rule, p, q, x), cs[i]))",
            name,
            model["p"],
            model["q"],
            drafts.tolist(),
            coins.tolist(),
        )
        assert found == expected


@pytest.mark.parametrize("zeros", [False, True])
def test_the_largest_case_is_lossless_where_it_must_be(lab: Engine, zeros: bool) -> None:
    model = random_model(5, 4, 7, zeros)
    found = lab.call("(m) => audit.enumerate(m)", model)
    for name, one in found["rules"].items():
        assert one["exact"] == (name in LOSSLESS), name
        assert abs(sum(one["output"]) - 1) < EXACT
        assert len(one["output"]) == 3125
        assert name not in LOSSLESS or one["kept"] <= found["ideal"] + EXACT
    assert close(found["rules"]["blockwise"]["output"], found["rules"]["hsd"]["output"])


def test_a_coin_of_zero_accepts_nothing_that_the_target_never_says(lab: Engine) -> None:
    """But for a mixture, in which the draft has a share."""
    model = MODELS["disjoint"]
    kept = """(p, q) => {
      const kept = (name) => law.kept(law.lawOf(name, p, q, [2, 3, 2]), [0, 0, 0]);
      return [...law.CHAINS.keys()].map(kept);
    }"""
    assert lab.call(kept, model["p"], model["q"]) == [
        3 if name == "ensemble" else 0 for name in RULES
    ]


# ---- the mathematics of the fuzzy rule

SETTINGS = [
    Fuzzy(name, tolerance, mode)
    for name in DIVERGENCES
    for tolerance in (0.15, 0.6)
    for mode in MODES
]


def as_settings(config: Fuzzy) -> dict:
    return {"divergence": config.divergence, "tolerance": config.tolerance, "mode": config.mode}


def test_the_settings_are_those_of_python(lab: Engine) -> None:
    numbers = {rule.knob.option: rule.knob.default for rule in RULES.values() if rule.knob}
    assert lab.call("() => law.SETTINGS") == as_settings(Fuzzy()) | numbers | {
        "after_kept": RunOptions.default("after_kept")
    }
    assert lab.call("() => Object.keys(divergence.DIVERGENCES)") == list(DIVERGENCES)


@pytest.mark.parametrize("name", DIVERGENCES)
def test_divergences_equal_pythons(lab: Engine, name: str) -> None:
    p, q = (
        [row for i in range(12) for row in rows_of(20, 4, seed + i, i % 2 == 1)]
        for seed in (100, 300)
    )
    p, q = (
        [*p, p[0], [1, 0, 0, 0], [1, 0, 0, 0], [0.5, 0.5, 0, 0]],
        [*q, p[0], [0, 1, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]],
    )
    found = lab.call(
        "(name, p, q) => p.map((row, t) => String(divergence.DIVERGENCES[name](row, q[t])))",
        name,
        p,
        q,
    )
    values = torch.tensor([float(x.replace("Infinity", "inf")) for x in found], dtype=torch.float64)
    expected = DIVERGENCES[name](
        torch.tensor(p, dtype=torch.float64), torch.tensor(q, dtype=torch.float64)
    )
    assert torch.equal(values.isinf(), expected.isinf())
    assert close(values.nan_to_num(posinf=0), expected.nan_to_num(posinf=0))


@pytest.mark.parametrize(
    "name", ["near", "disjoint", "one-hot draft", "own 3^3 seed 1", "zeros 2^3", "zeros 3^4"]
)
def test_every_setting_gives_pythons_law_and_enumeration(lab: Engine, name: str) -> None:
    model = MODELS[name]
    p, q = (torch.tensor(model[side], dtype=torch.float64) for side in "pq")
    paths = itertools.product(range(model["vocab"]), repeat=model["gamma"])
    drafts = [x for x in paths if all(q[t, token] > 0 for t, token in enumerate(x))]
    audited = tables(model)
    settings = [as_settings(config) for config in SETTINGS]
    found = lab.call(
        """(model, all, drafts) => all.map((settings) => ({
          exact: audit.enumerate({...model, settings}).rules.fuzzy,
          laws: drafts.map((x) => {
            const one = law.lawOf("fuzzy", model.p, model.q, x, settings);
            const near = x.map((_, t) => law.groundsAt(one, t + 1).form === "near");
            const next = model.p.map((_, t) => [...law.next(one, t)]);
            return {threshold: one.threshold, near, next};
          }),
        }))""",
        model,
        settings,
        drafts,
    )
    for config, one in zip(SETTINGS, found, strict=True):
        rule = fuzzy_rule(config)
        output, kept = output_law(audited, rule.law)
        assert close(one["exact"]["output"], output.flatten()), config
        assert close(one["exact"]["kept"], kept)
        for x, made in zip(drafts, one["laws"], strict=True):
            law = rule.law(p, q, torch.tensor(x))
            assert close(made["threshold"], law.threshold), (config, x)
            assert close(made["next"], torch.stack([law.next(t) for t in range(len(x) + 1)]))
            assert made["near"] == (law.divergence <= config.tolerance).tolist()


def test_the_divergence_of_the_output_is_the_drift_that_was_spent(lab: Engine) -> None:
    """The lab's KL(output‖target) against Python's expected drift, which it equals where no exact
    test is asked.
    """
    model = MODELS["near"]
    config = Fuzzy(mode="divergence-only")
    p, q = (torch.tensor(model[side], dtype=torch.float64) for side in "pq")
    found = lab.call(
        "(m, settings) => audit.enumerate({...m, settings}).rules.fuzzy", model, as_settings(config)
    )
    # rows are the same after every draft
    law = fuzzy_rule(config).law(p, q, torch.tensor([0, 0, 0, 0]))
    assert found["kept"] == pytest.approx(4, abs=EXACT)
    spent = law.divergence[:4]
    assert close(found["divergence"], float(spent[spent <= config.tolerance].sum()))


# ---- the rules with one number

KNOBS = [RULES[name].knob for name in ("ensemble", "typical")]


@for_each("rule", ["ensemble", "typical", "clipped", "clipped-hsd"], every=2)
@for_each("name", ["near", "one-hot draft", "own 3^3 seed 1", "zeros 2^3", "zeros 3^4"])
def test_every_number_gives_pythons_law_and_enumeration(lab: Engine, name: str, rule: str) -> None:
    model = MODELS[name]
    option = RULES[rule].knob.option
    p, q = (torch.tensor(model[side], dtype=torch.float64) for side in "pq")
    draft = q.argmax(-1).tolist()
    for number in (0.0, 0.2, 1.0):
        found = lab.call(
            """(model, rule, settings, x) => {
              const one = law.lawOf(rule, model.p, model.q, x, settings);
              const next = model.p.map((_, t) => [...law.next(one, t)]);
              const exact = audit.enumerate({...model, settings}).rules[rule];
              return {threshold: one.threshold, next, exact};
            }""",
            model,
            rule,
            as_settings(Fuzzy()) | {option: number},
            draft,
        )
        tuned = RULES[rule].tuned(number)
        output, kept = output_law(tables(model), tuned.law)
        assert close(found["exact"]["output"], output.flatten())
        assert close(found["exact"]["kept"], kept)
        law = tuned.law(p, q, torch.tensor(draft))
        assert close(found["threshold"], law.threshold)
        assert close(found["next"], torch.stack([law.next(t) for t in range(len(draft) + 1)]))
