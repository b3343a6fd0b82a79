"""A run that nobody records commits the tokens of one that is recorded, whatever the sampling and
the rule.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from small_gguf import TAPS, VOCAB, save_small

import hsd
from hsd import Pair
from hsd.decoding.loop import Decoding
from hsd.decoding.options import RunOptions
from hsd.decoding.system import make_system
from hsd.decoding.unrecorded import UnrecordedRounds
from hsd.engine.machine import usable
from hsd.models.loading.portable import load_small, load_small_head
from hsd.models.small.gguf import read_gguf
from hsd.rules.quick import QUICK
from hsd.sampling import Sampling

pytestmark = pytest.mark.skipif(not usable(), reason="no library for this processor")
PROMPT = [5, 9, 2, 40, 17, 3]


class Codec:
    """Tokens as numbers; the last one ends a text."""

    vocab_size = VOCAB
    end_ids = frozenset([VOCAB - 1])

    def encode(self, text: str) -> list[int]:
        return PROMPT

    def decode(self, ids: list[int]) -> str:
        return "".join(f" {token}" for token in ids)

    def piece(self, token: int) -> str:
        return f" {token}"


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    folder: Path = save_small(tmp_path_factory.mktemp("quick"))
    model = load_small(read_gguf(folder / "model.gguf"), "small", None, TAPS)
    return Pair("small", model, load_small_head(folder, model, "head", None), Codec())


def steps_of(pair: Pair, options: dict[str, Any]) -> list[Any]:
    steps = hsd.run(pair, "go", max_new_tokens=12, seed=4, **options).steps
    return [
        (s.drafted, s.kept, s.tokens, s.work.calls, [c.origin for c in s.committed]) for s in steps
    ]


CUT: list[dict[str, Any]] = [{"temperature": 0}, {"top_k": 9}, {"top_p": 0.8}]


def test_every_setting_of_sampling_is_among_those_that_are_tried():
    missing = vars(Sampling()).keys() - {name for how in CUT for name in how}
    assert not missing, f"add {', '.join(missing)} to CUT, at a value that changes tokens"


@pytest.mark.parametrize(
    ("rule", "sampling"),
    [*((rule, {"temperature": 0.6}) for rule in (*QUICK, "plain")), *(("hsd", how) for how in CUT)],
)
def test_tokens_are_those_of_a_recorded_run(pair: Pair, rule: str, sampling: dict[str, Any]):
    runs = (
        [{"rule": rule, "gamma": gamma} for gamma in (2, 9, "auto")]
        if rule in QUICK
        else [{"system": "plain"}]
    )
    for how in runs:
        recorded, quick = (
            steps_of(pair, {**sampling, **how, "trace": trace}) for trace in (True, False)
        )
        assert recorded == quick


def test_only_runs_that_need_no_rows_are_played_so(pair: Pair):
    def rounds(**how: Any) -> Any:
        options = RunOptions(**{"gamma": 2, "trace": False, "max_new_tokens": 4, **how})
        return Decoding(make_system(pair, options), "go")._rounds

    assert isinstance(rounds(), UnrecordedRounds)
    assert isinstance(rounds(system="plain"), UnrecordedRounds)
    others = (
        {"trace": True},
        {"rule": "naive-hsd"},
        {"rule": "coupled"},
        {"proposer": "ngram"},
        {"drafts": 2},
    )
    assert not any(isinstance(rounds(**how), UnrecordedRounds) for how in others)


def test_calls_are_counted_and_timed(pair: Pair):
    decoding = hsd.decode(pair, "go", rule="hsd", gamma=3, max_new_tokens=12, seed=1, trace=False)
    calls = decoding.time_calls()
    list(decoding)
    trace = decoding.trace()
    assert trace.stats()["calls_below"] == [sum(step.below[0].calls for step in trace.steps)]
    assert sum(count for count, *_ in calls()["target"]["widths"].values()) == len(trace.steps)
    assert all(step.below[0].calls == step.drafted for step in trace.steps)
