"""The planner's answers to the page, whose every number is that of `hsd.planner`."""

from __future__ import annotations

import json
from itertools import product

import numpy as np
import pytest
from loops import for_each

from hsd.app.systems import planner
from hsd.app.systems.planner import FILE, alternatives, measured_preset, presets, way_data
from hsd.errors import HsdError
from hsd.planner import LONGEST, Models, best_of, latency, plan

PRESETS = {preset["name"]: preset for preset in presets()}
WRONG = {"costs": ["1", "4", "60"], "acceptance": [["0.9", "0.3"], ["0.9"]], "per_token": []}


def models_of(name: str) -> Models:
    return planner.PlannerQuestion(**question(PRESETS[name])).models()


def question(preset: dict) -> dict:
    return {
        "costs": preset["costs"],
        "acceptance": preset["acceptance"],
        "per_token": preset.get("per_token", []),
    }


def random_models(seed: int, count: int, further: bool = False) -> Models:
    """Models that ignore the context: their acceptances can all be true."""
    draw = np.random.default_rng(seed)
    laws = draw.dirichlet(np.ones(6), size=count) * 0.3 + draw.dirichlet(np.ones(6)) * 0.7
    rows = tuple(
        tuple(float(np.minimum(laws[i], laws[j]).sum()) for j in range(i + 1, count))
        for i in range(count - 1)
    )
    costs = tuple(float(x) for x in np.sort(draw.uniform(0.1, 60, count)))
    return Models(costs, rows, tuple(x / 20 for x in costs) if further else ())


RANDOM = [random_models(seed, 2 + seed % 4, further=seed % 3 == 0) for seed in range(12)]


@for_each("models", [*map(models_of, PRESETS), *RANDOM])
def test_the_best_of_the_ways_compared_is_the_planners(models: Models):
    told = planner.plan_data(models)
    found = plan(models)
    best = told["alternatives"][told["best"]]
    assert (tuple(best["models"]), tuple(best["thresholds"])) == (
        found.best.models,
        found.best.thresholds,
    )
    assert best["latency"] == pytest.approx(found.best.latency, rel=1e-12)
    singles = [way["latency"] for way in told["alternatives"] if len(way["models"]) == 2]
    assert min(singles) == told["single"] == pytest.approx(found.single.latency, rel=1e-12)
    assert told["plain"] == told["alternatives"][0]["latency"] == models.costs[-1]
    assert told["speedup"] == pytest.approx(models.costs[-1] / found.best.latency)


def test_a_stacks_thresholds_are_the_best_of_all():
    models = models_of("skip")
    longest = 7
    for stack in [(0, 3), (0, 2, 3), (0, 1, 2, 3)]:
        all_ways = product(range(1, longest + 1), repeat=len(stack) - 1)
        brute = min(latency(models, stack, thresholds) for thresholds in all_ways)
        found = best_of(models, stack, longest)
        assert found.latency == pytest.approx(brute, rel=1e-12)
        assert latency(models, stack, found.thresholds) == pytest.approx(brute, rel=1e-12)


@pytest.mark.parametrize("models", RANDOM)
def test_the_levels_of_a_way_add_up_to_its_latency(models: Models):
    for way in alternatives(models):
        told = way_data(models, way)
        levels = told["levels"]
        assert sum(level["share"] for level in levels) == pytest.approx(1)
        for below, level in zip([None, *levels], levels, strict=False):
            assert level["cost"] == pytest.approx(
                level["passes"] * (level["pass"] + level["below"])
            )
            assert level["below"] == (below["cost"] if below else 0)
        assert levels[-1]["cost"] / levels[-1]["tokens"] == pytest.approx(way.latency)


def test_a_curve_is_the_exact_latency_at_every_threshold():
    models = models_of("skip")
    told = planner.plan_data(models, (0, 2, 3), (7, 30))
    assert told["way"]["latency"] == latency(models, (0, 2, 3), (7, 30))
    assert told["trial"]["curves"][0] == [
        latency(models, (0, 2, 3), (t, 30)) for t in range(1, LONGEST + 1)
    ]
    assert told["trial"]["curves"][1] == [
        latency(models, (0, 2, 3), (7, t)) for t in range(1, LONGEST + 1)
    ]
    least = plan(models).best.latency
    assert f"{100 * (told['way']['latency'] / least - 1):.2g} % more" in told["trial"]["sentence"]


def test_a_way_that_is_not_compared_gives_the_best_one():
    told = planner.plan_stack({**question(PRESETS["skip"]), "stack": [3, 0], "thresholds": [4]})
    assert told["chosen"] == told["best"]
    assert told["way"] == told["alternatives"][told["best"]]
    plain = planner.plan_stack({**question(PRESETS["skip"]), "stack": [3]})
    assert (plain["chosen"], plain["trial"]) == (0, None)


def test_the_verdict_says_when_stacking_does_not_pay():
    def said(models: Models) -> str:
        return planner.plan_data(models)["verdict"]

    assert said(models_of("skip")).startswith(
        "Best: M₀ (T = 5) → M₂ (T = 9) → target: 16.91 per token"
    )
    assert "24.23" in said(models_of("skip"))
    assert said(models_of("single")).startswith(
        "Stacking does not pay here: a single draft is the fastest, M₀ (T = 11)"
    )
    assert said(models_of("all")).startswith("Best: M₀ (T = 3) → M₁ (T = 6) → M₂ (T = 12) → target")
    poor = Models((40.0, 50.0, 60.0), ((0.3, 0.3), (0.3,)))
    assert said(poor).startswith(
        "Stacking does not pay here: plain decoding, without any draft, is the fastest, 60 per"
    )
    assert said(Models((1.0, 60.0), ((0.8,),))).startswith(
        "With one draft there is nothing to stack"
    )


def test_the_bound_is_never_above_the_plan():
    for models in RANDOM:
        told = planner.plan_data(models)
        assert told["bound"] <= told["alternatives"][told["best"]]["latency"] * (1 + 1e-12)
        assert ("reaches that" in told["bound_sentence"]) or ("% above" in told["bound_sentence"])


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (
            WRONG,
            r"models 0, 1, 2: acceptances 0.9 \(0, 1\), 0.9 \(1, 2\) and 0.3 \(0, 2\) "
            "cannot all be true",
        ),
        ({**WRONG, "costs": ["1", "", "60"]}, "a field is empty"),
        ({**WRONG, "costs": ["1", "much", "60"]}, "'much' is not a number"),
        ({**WRONG, "costs": ["1", "nan", "60"]}, "cost nan of model 1"),
        ({**WRONG, "costs": ["1", "-4", "60"]}, "cost -4 of model 1"),
        ({**WRONG, "acceptance": [["0.9", "1.3"], ["0.9"]]}, "acceptance 1.3 of models 0 and 2"),
        (
            {"costs": ["1", "1e300"], "acceptance": [["0.9"]], "per_token": []},
            r"cost 1e\+300 of model 1: choose at most",
        ),
        (
            {"costs": ["1"] * 6, "acceptance": [["0.9"]], "per_token": []},
            "6 models: the page plans for at most 5",
        ),
        ({"costs": ["1"] * 9999, "acceptance": [], "per_token": []}, "not understood: reload"),
        ({"costs": [1, 2], "acceptance": [["0.9"]], "per_token": []}, "not understood: reload"),
        ({"costs": ["1", "2"], "acceptance": "0.9"}, "not understood: reload"),
        (["1"], "not understood: reload"),
        (None, "not understood: reload"),
    ],
)
def test_bad_inputs_get_one_line(asked: object, words: str):
    with pytest.raises(HsdError, match=words) as told:
        planner.plan_stack(asked)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("way", "words"),
    [
        ({"stack": [0, 2, 3], "thresholds": [0, 3]}, "threshold 0: choose 1"),
        ({"stack": [0, 3], "thresholds": [41]}, "threshold 41: choose 1 to 32"),
        ({"stack": [0, 3], "thresholds": ["4"]}, "not understood: reload"),
        ({"stack": [0, 3], "thresholds": [True]}, "not understood: reload"),
        ({"stack": None}, "not understood: reload"),
    ],
)
def test_bad_thresholds_get_one_line(way: dict, words: str):
    with pytest.raises(HsdError) as refused:
        planner.plan_stack({**question(PRESETS["skip"]), **way})
    assert words in str(refused.value)


def test_the_measured_preset_is_the_recorded_measurement():
    facts = json.loads(FILE.read_text())["measured"]
    shown = measured_preset()
    for texts, numbers in [
        (shown["costs"], facts["costs"]),
        (shown["per_token"], facts["per_token"]),
        *zip(shown["acceptance"], facts["acceptance"], strict=True),
    ]:
        assert [float(text) for text in texts] == pytest.approx(numbers, rel=5e-3)
    assert facts["machine"]["processor"] in shown["note"]
    assert f"load {facts['machine']['load']:g}" in shown["note"]
