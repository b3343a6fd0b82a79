"""The calibration of γ "auto": it finds the function that kept tokens follow, and shows what comes
of it.
"""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from smollm2 import calibrate_draft as script
from smollm2.calibrate_draft import Cost, Drawn

from hsd.draft.stopping import LEAST, Stopping
from hsd.sampling import Sampling

TRUE = Stopping(0.0, 0.0, (0.2, 0.7, 0.1, -0.3, -0.1), 0.5)


@pytest.fixture(scope="module")
def chains() -> list[Drawn]:
    """Drafts whose tokens are kept as `TRUE` says."""
    random = np.random.default_rng(0)
    found = []
    for number in range(600):
        heat = script.HEATS[number % 3]
        at = Stopping(0.0, heat, TRUE.weights)
        shares = random.uniform(0.05, 0.98, script.SIX).tolist()
        kept = [at.chance(share, depth) for depth, share in enumerate(shares)]
        found.append(Drawn("sums", number % 6, heat, shares, shares, kept, kept))
    return found


def test_the_fit_finds_the_function_that_kept_tokens_follow(chains: list[Drawn]):
    found = script.fitted(chains)
    assert found.weights == pytest.approx(TRUE.weights, abs=1e-3)
    assert features_agree(0.3, 2, 0.7)
    lines = [line.split("|")[3:5] for line in script.judged(found, chains).splitlines()[2:]]
    assert all(float(said) == pytest.approx(float(kept), abs=0.011) for said, kept in lines)


def features_agree(share: float, depth: int, heat: float) -> bool:
    logit = float(np.dot(TRUE.weights, script.features(share, depth, heat)))
    return math.isclose(
        1 / (1 + math.exp(-logit)), Stopping(0.0, heat, TRUE.weights).chance(share, depth)
    )


@pytest.mark.parametrize(("cost", "share"), [(Cost(0.1, 0.05), 1.0), (Cost(0.25, 0.1), 0.95)])
def test_sure_drafts_go_on_whatever_a_token_costs_within_reason(
    chains: list[Drawn], cost: Cost, share: float
):
    own = script.rate(chains, cost, script.auto(TRUE, LEAST))
    fixed = (script.rate(chains, cost, script.fixed(gamma)) for gamma in range(script.SIX))
    assert own > share * max(fixed)


def test_the_shipped_head_was_calibrated():
    told = json.loads(
        (script.ASSETS / "smollm2" / "draft" / "config.json").read_text(encoding="utf-8")
    )["stopping"]
    assert Stopping.of(told, 0.0, Sampling(0.7)).weights == tuple(told["weights"])


def test_the_table_of_speeds_has_each_engine_and_temperature(chains: list[Drawn]):
    costs = dict.fromkeys(script.measured_rows(), Cost(0.1, 0.05))
    lines = script.speeds(TRUE, chains, costs).splitlines()
    assert len(lines) == 2 + len(costs) * len(script.HEATS)
