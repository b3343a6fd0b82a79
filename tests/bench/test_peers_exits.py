"""The library's own early exit, as a peer: same text, γ tokens a round, both depths' calls told
apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from example_script import example_script
from small_models import bytes_tokenizer, save_architecture
from table_models import table_pair

import hsd
from hsd import HsdError, Pair
from hsd.bench import measure
from hsd.bench.peers import peer_case
from hsd.paths import ASSETS

pytestmark = pytest.mark.skipif(
    not (ASSETS / "tiny" / "target").is_dir(), reason="the embedded pair is not there"
)
exit_peer_case = example_script("reproduce/exit_peer").exit_peer_case
PROMPT = "Once upon a time"
GREEDY: dict[str, Any] = {"temperature": 0.0, "max_new_tokens": 41}


@pytest.fixture
def tiny() -> Iterator[Pair]:
    toys = ASSETS / "tiny"
    pair = hsd.load_pair(target=toys / "target", draft=toys / "middle", device="cpu")
    yield pair
    assert pair.target.model.config.num_hidden_layers == 8


def outputs(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    """What the target's `generate` returns to those outside it, as lists of tokens."""
    target = pair.target.model
    found = []
    depth = [0]
    own = target.generate

    def generate(*positional: Any, **named: Any) -> Any:
        depth[0] += 1
        result = own(*positional, **named)
        depth[0] -= 1
        if not depth[0]:
            found.append(result[0].tolist())
        return result

    monkeypatch.setattr(target, "generate", generate)
    return found


@pytest.mark.parametrize("depth", [1, 2, 4, 7])
def test_its_greedy_text_is_ours(tiny: Pair, monkeypatch: pytest.MonkeyPatch, depth: int):
    found = outputs(tiny, monkeypatch)
    case = exit_peer_case(4, GREEDY, depth)
    assert case.runner is not None
    record = case.runner(tiny, PROMPT, 0)
    expected = hsd.run(tiny, PROMPT, system="plain", **GREEDY).tokens
    assert found == [tiny.encode(PROMPT) + expected]
    assert record["new_tokens"] == len(expected)


def test_it_drafts_gamma_tokens_a_round_and_tells_the_calls_apart(tiny: Pair):
    case = exit_peer_case(3, {"temperature": 1.0, "max_new_tokens": 40}, 2)
    assert case.name == "transformers, exit 2, γ=3"
    assert case.options["gamma"] == 3
    assert case.runner is not None
    record = case.runner(tiny, PROMPT, 5)
    target = record["calls"]["target"]
    draft = record["calls"]["draft"]
    rounds = record["target_calls"]
    assert rounds == 1 + sum(n for n, _, _ in target["widths"].values())
    assert 1 <= record["new_tokens"] / rounds <= 4
    full = target["widths"]["4"][0] + 1  # the first call read the prompt besides
    drafted = 1 + sum(n for n, _, _ in draft["widths"].values())
    assert full >= rounds - 2, "only the last rounds may be cut by the budget"
    assert 3 * full <= drafted <= 3 * rounds
    assert set(draft["widths"]) <= {"1", "2"}
    again = case.runner(tiny, PROMPT, 5)
    assert again["target_calls"] == rounds, "the seed decides"


def test_it_is_measured_beside_the_other_peer(tiny: Pair):
    options = {"temperature": 0.0, "max_new_tokens": 12}
    cases = [
        exit_peer_case(2, options, 2),
        peer_case(2, options),
        peer_case(2, options, assisted=False),
    ]
    records = list(measure(tiny, cases, [(0, PROMPT)], 1))
    assert [record["case"] for record in records] == [case.name for case in cases]
    assert len({record["new_tokens"] for record in records}) == 1


@pytest.mark.parametrize("depth", [0, 8, 9])
def test_depths_that_are_no_early_exit_are_refused(tiny: Pair, depth: int):
    runner = exit_peer_case(2, GREEDY, depth).runner
    assert runner is not None
    with pytest.raises(
        HsdError,
        match=f"^exit {depth}: choose one from 1 to 7, before the last of the target's layers$",
    ):
        runner(tiny, PROMPT, 0)


def test_the_depth_is_put_back_when_a_call_fails(tiny: Pair, monkeypatch: pytest.MonkeyPatch):
    def fail(*_: Any, **__: Any) -> Any:
        assert tiny.target.model.config.num_hidden_layers == 2
        raise RuntimeError("out of luck")

    monkeypatch.setattr(tiny.target.model.model.layers[1], "forward", fail)
    runner = exit_peer_case(2, GREEDY, 2).runner
    assert runner is not None
    with pytest.raises(RuntimeError, match="out of luck"):
        runner(tiny, PROMPT, 0)
    assert tiny.target.model.config.num_hidden_layers == 8


def test_models_that_the_library_cannot_leave_early_are_refused(tmp_path: Path):
    """Its depth is set where a model with eyes does not look: it would draft with all layers, and
    say nothing.
    """
    target, draft = save_architecture(tmp_path, "gemma3-with-eyes", bytes_tokenizer(), (270, 270))
    runner = exit_peer_case(2, GREEDY, 1).runner
    assert runner is not None
    with pytest.raises(
        HsdError, match=r"^transformers cannot leave Gemma3For.* early: leave the peer out$"
    ):
        runner(hsd.load_pair(target=target, draft=draft, device="cpu"), "Abc", 0)
    with pytest.raises(HsdError, match="needs models of transformers"):
        runner(table_pair(), "ab", 0)
