"""A run by a rule of one's own: its text, its record, what it goes with, what a fault leaves."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
import torch
from example_script import example_script
from torch import Tensor

import hsd
from hsd import HsdError, Pair, Trace
from hsd.conform import load_adapter
from hsd.conform.own import OwnVerdict, own_rule
from hsd.facts import facts
from hsd.paths import ROOT
from hsd.trace import step_in_words
from hsd.trace.options import OwnRecord

EXAMPLES = ROOT / "examples" / "conform"
PROMPT = "Once upon a time"
HOW = {"max_new_tokens": 30, "seed": 0}


@pytest.fixture(scope="module")
def tiny() -> Pair:
    return hsd.load_pair("tiny")


@pytest.fixture(scope="module")
def wrong() -> Any:
    return own_rule(load_adapter(EXAMPLES / "wrong_block.py"))


def gumbel(p: Tensor, q: Tensor, tokens: Tensor, noise: Tensor) -> list[int]:
    picks = (p / noise).argmax(-1).tolist()
    kept = next((t for t, token in enumerate(tokens.tolist()) if picks[t] != token), len(tokens))
    return picks[: kept + 1]


@pytest.fixture(scope="module")
def race() -> Any:
    """Draft and target coupled by the noise."""
    from hsd.conform import Adapter

    return own_rule(Adapter("gumbel.py", gumbel, noise="exponential-race", shared=True))


tokenwise = example_script("conform/tokenwise").verify
tokenwise.__name__ = "mine"


def test_a_function_that_is_a_known_rule_gives_its_text(tiny: Pair):
    trace = hsd.run(tiny, PROMPT, rule=tokenwise, **HOW)
    known = hsd.run(tiny, PROMPT, rule="tokenwise", **HOW)
    assert trace.tokens == known.tokens
    assert [step.kept for step in trace.steps] == [step.kept for step in known.steps]
    assert trace.setup.options.own == OwnRecord(lossless=True)


@pytest.mark.parametrize("engine", ["wrong", "race"])
def test_the_text_does_not_depend_on_the_record(
    engine: str, tiny: Pair, request: pytest.FixtureRequest
):
    rule = request.getfixturevalue(engine)
    recorded, bare = (hsd.run(tiny, PROMPT, rule=rule, trace=x, **HOW) for x in (True, False))
    assert recorded.tokens == bare.tokens
    assert recorded.replay() == recorded.tokens


def test_picks_on_shared_numbers_give_the_text_of_plain_decoding_with_them(tiny: Pair, race: Any):
    texts = [
        hsd.run(tiny, PROMPT, rule=rule, system=system, **HOW).tokens
        for rule, system in ((race, "speculative"), ("coupled", "speculative"), (race, "plain"))
    ]
    assert texts[0] == texts[1] == texts[2]


def test_a_race_for_the_token_after_the_kept_ones_has_new_numbers_in_each_step(tiny: Pair):
    from hsd.conform import Adapter

    seen: list[Tensor] = []

    def verify(p: Tensor, q: Tensor, tokens: Tensor, uniforms: Tensor, noise: Tensor) -> list[int]:
        if len(noise) > 100:
            seen.append(noise)
        return [*tokens[:0].tolist(), int((p[0] / noise).argmax())]

    rule = own_rule(Adapter("plain.py", verify, noise="exponential-race"))
    trace = hsd.run(tiny, PROMPT, rule=rule, trace=False, max_new_tokens=6)
    assert [len(noise) for noise in seen] == [trace.setup.vocab_size] * 5
    assert not any(torch.equal(a, b) for a, b in pairwise(seen))


def test_a_trace_shows_such_a_run_without_the_file(tiny: Pair, wrong: Any):
    trace = Trace.from_json(hsd.run(tiny, PROMPT, rule=wrong, **HOW).to_json())
    own = trace.setup.options.own
    assert trace.setup.options.rule == "wrong_block"
    assert own is not None
    assert own.example is not None
    assert (own.lossless, own.coins) == (False, True)
    assert own.example.probability > own.example.p[len(own.example.after)][own.example.token]
    for step in trace.steps:
        assert step.verdict is not None
        assert (step.verdict.rule, step.verdict.decisions) == ("wrong_block", [])
        if step.verdict.residual and step.drafted:
            assert (step.verdict.residual.top, step.verdict.residual.rest) == ([], 1)
            assert step.verdict.residual.draw is not None
        assert "wrong_block" not in {**step.kept_law, **step.expected_kept}


def test_an_ordinary_trace_is_written_as_before(tiny: Pair):
    options = json.loads(hsd.run(tiny, PROMPT, **HOW).to_json())["setup"]["options"]
    assert "own" not in options


def test_what_is_said_of_a_step_claims_no_test(tiny: Pair, wrong: Any, race: Any):
    for rule in (wrong, race):
        trace = hsd.run(tiny, PROMPT, rule=rule, **HOW)
        name = rule.name.capitalize()
        for i, step in enumerate(trace.steps):
            text = step_in_words(trace, i, facts())
            own = [line for line in text.split("\n") if line.startswith(name)]
            if not step.drafted:
                continue
            whole = f"all {step.drafted}" if step.drafted > 1 else 1
            amount = {0: "none", step.drafted: whole}.get(step.kept, step.kept)
            assert f"{name} keeps {amount}. " in text
            told = " ".join(own)
            assert not any(word in told for word in ("test", "coin", "drawn", "left to right"))
        assert ("Not lossless: after b, token c" in text) is (rule is wrong)


def test_what_follows_on_the_same_number_is_compared_with_the_other_rule(tiny: Pair, wrong: Any):
    trace = hsd.run(tiny, PROMPT, rule=wrong, shadow="hsd", **HOW)
    parted = [
        step
        for step in trace.steps
        if step.verdict and step.shadow and step.verdict.next and step.shadow.next
        if step.kept == step.shadow.kept and step.verdict.next != step.shadow.next
    ]
    text = step_in_words(trace, parted[0].index, facts())
    assert "HSD would have gone on with " in text
    assert "the same draw" not in text


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"drafts": 2}, "judges one draft: choose drafts 1"),
        ({"drafts": 2, "tree": "auto"}, "judges one draft: choose drafts 1"),
        ({"engine": "captured", "trace": False}, "by a rule of this project"),
        ({"rule": 7}, "unknown rule 7: give a name"),
        ({"shadow": tokenwise}, "give a name"),
    ],
)
def test_what_it_does_not_go_with_is_refused(
    options: dict[str, Any], words: str, tiny: Pair, wrong: Any
):
    with pytest.raises(HsdError, match=words):
        hsd.decode(tiny, PROMPT, **{"rule": wrong, **options})


def test_it_verifies_the_tokens_of_a_stack(tiny: Pair, wrong: Any):
    trace = hsd.run(tiny, PROMPT, rule=wrong, system="stack", **HOW)
    assert trace.setup.options.levels.rules == ["tokenwise"] * (len(tiny.models) - 2)
    assert len(trace.tokens) == HOW["max_new_tokens"]


def test_a_fault_keeps_the_steps_before_it(tiny: Pair):
    calls = []

    def breaks(p: Tensor, *given: Tensor) -> list[int]:
        if p.shape[-1] > 100:
            calls.append(0)
        if len(calls) > 5:
            raise RuntimeError("the sixth call")
        return tokenwise(p, *given)

    decoding = hsd.decode(tiny, PROMPT, rule=breaks, max_new_tokens=60)
    with pytest.raises(HsdError, match=r"breaks: verify raises RuntimeError: the sixth call; sent"):
        list(decoding)
    trace = Trace.from_json(decoding.trace().to_json())
    assert len(trace.steps) == 2, "each recorded step asks twice"
    assert trace.result.finish == "cancelled"
    assert trace.replay() == trace.tokens


def test_an_answer_that_changes_is_refused_where_it_would_be_recorded(tiny: Pair):
    turns = []

    def wavers(p: Tensor, *given: Tensor) -> list[int]:
        if p.shape[-1] < 100:
            return tokenwise(p, *given)
        turns.append(0)
        return [len(turns) % 2]

    with pytest.raises(HsdError, match=r"wavers: verify returns \[1\] and then \[0\] for the same"):
        hsd.run(tiny, PROMPT, rule=wavers)


def test_a_rule_cannot_be_named_by_a_path(tiny: Pair, tmp_path: Any, monkeypatch: Any):
    file = tmp_path / "x.py"
    file.write_text("raise SystemExit('imported')", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for name in ("x.py", str(file), "./x.py"):
        with pytest.raises(HsdError, match=r"unknown rule .* choose one of tokenwise"):
            hsd.run(tiny, PROMPT, rule=name)
        with pytest.raises(HsdError, match="unknown rule"):
            hsd.RunOptions.read({"rule": name})


def test_a_trace_is_decoded_again_by_another_rule_only(tiny: Pair, wrong: Any):
    trace = hsd.run(tiny, PROMPT, rule=wrong, **HOW)
    with pytest.raises(HsdError, match="unknown rule 'wrong_block'"):
        hsd.rerun(tiny, trace)
    assert hsd.rerun(tiny, trace, rule=wrong).tokens == trace.tokens
    other = hsd.rerun(tiny, trace, rule="tokenwise")
    assert other.tokens == hsd.run(tiny, PROMPT, rule="tokenwise", **HOW).tokens


def test_a_function_is_judged_once(tiny: Pair, monkeypatch: pytest.MonkeyPatch):
    judged = []

    def counted(adapter: Any, **sizes: Any) -> OwnVerdict:
        judged.append(adapter)
        return OwnVerdict(True)

    monkeypatch.setattr("hsd.conform.own.judge_own", counted)

    def mine(*given: Tensor) -> list[int]:
        return tokenwise(*given)

    for _ in range(2):
        hsd.run(tiny, PROMPT, rule=mine, max_new_tokens=4)
    assert len(judged) == 1
