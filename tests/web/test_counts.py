"""HSD in counts: what becomes of 100 drafts that begin alike, in the page's numbers and in law."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator

import pytest
import torch
from engine import Engine

from hsd.paths import TRACES
from hsd.rules import RULES

COUNTED = """(trace, i) => {
  const view = model.readStep(trace, i);
  const judged = counts.counted(view);
  return judged && view.step.branches.map((branch) => counts.countsAt(view, branch));
}"""
STOP = "(trace, i) => counts.stop(model.readStep(trace, i))"


@pytest.fixture(scope="module")
def page() -> Iterator[Engine]:
    engine = Engine({"counts": "step/counts.js", "model": "step/model.js"})
    yield engine
    engine.stop()


def rows(count: int, vocab: int, seed: int) -> torch.Tensor:
    numbers = torch.rand(count, vocab, dtype=torch.float64, generator=torch.manual_seed(seed))
    return (numbers**3) / (numbers**3).sum(1, keepdim=True)


@pytest.mark.parametrize("seed", range(4))
def test_of_all_drafts_that_begin_alike_as_many_stay_as_the_masses_say(seed: int) -> None:
    """Kept further: 1 − excess; kept just so far: deficient; kept less: the rest."""
    gamma, vocab = 3, 4
    p = rows(gamma + 1, vocab, 2 * seed)
    q = rows(gamma, vocab, 2 * seed + 1)
    for length in range(gamma):
        for begin in itertools.product(range(vocab), repeat=length):
            further, here, less = 0.0, 0.0, 0.0
            for rest in itertools.product(range(vocab), repeat=gamma - length):
                tokens = torch.tensor(begin + rest, dtype=torch.int64, device="cpu")
                chance = float(torch.stack([q[t, x] for t, x in enumerate(tokens)])[length:].prod())
                kept = RULES["hsd"].law(p, q, tokens).stop
                further += chance * float(sum(kept[length + 1 :]))
                here += chance * float(kept[length])
                less += chance * float(sum(kept[:length]))
            c = 1.0
            for t, x in enumerate(begin):
                c = min(1.0, c * float(p[t, x] / q[t, x]))
            excess = float((q[length] - c * p[length]).clamp(min=0).sum())
            deficient = float((c * p[length] - q[length]).clamp(min=0).sum())
            assert further == pytest.approx(1 - excess, abs=1e-12)
            assert here == pytest.approx(deficient, abs=1e-12)
            assert less == pytest.approx(excess - deficient, abs=1e-12)


@pytest.mark.parametrize("name", ["harbour", "cat", "story", "long-draft", "vanilla", "pens"])
def test_what_is_counted_adds_up_and_is_the_masses_of_the_branch(page: Engine, name: str) -> None:
    trace = json.loads((TRACES / f"{name}.json").read_text(encoding="utf-8"))
    seen = 0
    for i, step in enumerate(trace["steps"]):
        for branch, told in zip(step["branches"], page.call(COUNTED, trace, i) or [], strict=False):
            on, back, stay, leave = (int(told[name]) for name in ("on", "back", "stay", "leave"))
            assert on + stay + leave == 100
            assert back == stay + leave
            assert abs(on - 100 * (1 - branch["excess"])) < 1
            assert abs(stay - 100 * branch["deficient"]) < 1
            assert told["start"] == (branch["node"] == 0)
            if branch["deficient"] > 0.01 * branch["excess"] > 0.0001:
                above, below, share = (
                    float(part) for part in told["equation"].replace("=", "÷").split("÷")
                )
                assert abs(above / below - share) < 0.006
                assert abs(share - branch["deficient"] / branch["excess"]) < 0.006
            seen += 1
    assert seen > 10


def test_a_tree_and_a_draft_that_is_kept_whole_have_no_branch_to_count(page: Engine) -> None:
    tree = json.loads((TRACES / "four-drafts.json").read_text(encoding="utf-8"))
    assert page.call(STOP, tree, 0) is None
    whole = json.loads((TRACES / "whole-draft.json").read_text(encoding="utf-8"))
    at = next(i for i, one in enumerate(whole["steps"]) if one["kept"] == one["drafted"] > 0)
    assert page.call(STOP, whole, at) is None
