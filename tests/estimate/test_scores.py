"""A run that has the probabilities of its tokens, from which a page shades its text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from table_models import table_pair

import hsd
from hsd import HsdError, Trace
from hsd.bench.score import with_scores
from hsd.cli import main
from hsd.estimate import kept_chances, pass_begins

PAIR = table_pair(vocab=5, order=2, seed=4)


def run(**options: Any) -> Trace:
    shared = {"gamma": 3, "max_new_tokens": 30, "temperature": 0.8, "seed": 3}
    return with_scores(PAIR, hsd.run(PAIR, "abc", **(shared | options)))


@pytest.mark.parametrize("options", [{"rule": "hsd"}, {"rule": "tokenwise"}, {"system": "plain"}])
def test_scores_are_the_rows_that_were_decoded_with(options: dict[str, Any]):
    trace = run(**options)
    assert trace.scores
    assert Trace.from_json(trace.to_json()) == trace
    place = 0
    for step in trace.steps:
        for k, node in enumerate(step.nodes[: step.kept], start=place):
            assert trace.scores.p[k] == pytest.approx(node.p, abs=1e-6)
            assert trace.scores.q[k] == pytest.approx(node.q, abs=1e-6)
        place += len(step.committed)
    assert place == len(trace.scores.p)


def test_a_plain_run_says_what_drafting_would_have_done():
    trace = run(system="plain", max_new_tokens=80)
    assert trace.scores
    logp, logq = np.log(trace.scores.p), np.log(trace.scores.q)
    vanilla, usual = (
        pass_begins(kept_chances(name, logp, logq, 3)).sum(0)[-1] for name in ("tokenwise", "hsd")
    )
    assert 80 / 4 < usual <= vanilla < 80


@pytest.mark.parametrize(
    "options",
    [
        {"rule": "fuzzy", "tolerance": 0.3},
        {"rule": "hsd-released"},
        {"drafts": 3, "tree": "paths", "rule": "traversal"},
        {"proposer": "ngram"},
    ],
    ids=str,
)
def test_other_runs_have_none(options: dict[str, Any]):
    trace = run(**options)
    assert trace.scores is None
    assert "scores" not in trace.to_json()


def test_scores_of_another_text_are_refused():
    trace = run()
    data = trace.model_dump(mode="json")
    data["scores"]["p"].pop()
    with pytest.raises(HsdError, match="the scores are of fewer than 30 tokens"):
        Trace.from_json(json.dumps(data))


def test_a_run_that_is_saved_has_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = tmp_path / "run.json"
    words = ["run", "Once upon a time", "--pair", "tiny", "--max-new-tokens", "12"]
    assert main([*words, "--trace", str(file)]) == 0
    scores = Trace.from_file(file).scores
    assert scores
    assert len(scores.p) == 12
    assert main([*words, "--rule", "fuzzy", "--trace", str(file)]) == 0
    assert Trace.from_file(file).scores is None
