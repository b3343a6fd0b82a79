"""A request of another engine, recorded from planted rows: a valid trace that says what the engine did, and no more."""

from __future__ import annotations

import json

import pytest
import torch

from hsd.decoding.options import RunOptions
from hsd.draft import Draft
from hsd.rules import RULES
from hsd.trace import ModelInfo, Setup, SetupOptions, Trace
from hsd.vllm.record import UNUSED, Recording
from hsd.vllm.serving import Buffer

VOCAB, END = 6, 5
P = torch.tensor([[0.5, 0.3, 0.1, 0.05, 0.03, 0.02]] * 4)
Q = torch.tensor([[0.2, 0.5, 0.1, 0.1, 0.05, 0.05]] * 3)


class Letters:
    """A tokenizer of one letter per token."""

    end_ids = frozenset({END})

    def piece(self, token: int) -> str:
        return "abcdef"[token]

    def decode(self, ids: list[int]) -> str:
        return "".join(map(self.piece, ids))


def recording(rule: str = "tokenwise", most: int = 20, private: bool = True, context: int = 100) -> Recording:
    shadow = "hsd" if rule == "tokenwise" else "tokenwise"
    options = {**dict(RunOptions(rule=rule, shadow=shadow, max_new_tokens=most, gamma=3)), "engine": "vllm"}
    model = ModelInfo(name="planted", parameters=1, dtype="float32")
    setup = Setup(options=SetupOptions.of(options), pair="planted", models=[model], device="cpu", vocab_size=VOCAB)
    return Recording(Letters(), setup, [1, 2], private, context)


def draft(tokens: list[int], coins: list[float]) -> Draft:
    n = len(tokens)
    unused = torch.full((n,), UNUSED, dtype=torch.float64)
    return Draft.chain(torch.tensor(tokens), Q[:n], unused, torch.tensor(coins, dtype=torch.float64))


def whole(record: Recording, *steps) -> Trace:
    data = {**record.header, "steps": [step.model_dump(mode="json") for step in steps]}
    return Trace.from_json(json.dumps({**data, "result": record.result().model_dump()}))


@pytest.mark.parametrize("rule", ["tokenwise", "hsd"])
def test_steps_make_a_trace_that_keeps_what_the_engine_committed(rule: str):
    record, tokens, coins = recording(rule), [1, 0, 1], [0.1, 0.9, 0.7]
    kept = int(RULES[rule].law(P, Q, torch.tensor(tokens)).kept(torch.tensor(coins).double()))
    first = record.step(draft(tokens, coins), P, [*tokens[:kept], 3], None)
    second = record.step(Draft.empty(VOCAB, torch.device("cpu")), P[:1], [2], None)
    trace = whole(record, first, second)
    assert trace.replay() == trace.tokens == [*tokens[:kept], 3, 2]
    assert (first.kept, second.drafted, trace.result.finish) == (kept, 0, "cancelled")
    assert first.expected_kept.keys() >= {"tokenwise", "blockwise", "hsd"}


def test_what_nobody_knows_is_absent():
    record = recording()
    step = record.step(draft([1, 0], [0.9, 0.9]), P[:3], [3], None)
    assert [node.draw for node in step.nodes] == [None, None]
    assert step.verdict.residual.draw is None
    assert step.shadow.residual is step.shadow.next is None
    assert (step.times.draft, step.times.target, step.times.verify) == (0, 0, 0)
    bonus = record.step(Draft.empty(VOCAB, torch.device("cpu")), P[:1], [3], None, known=False)
    assert bonus.verdict.residual is None


def test_a_number_that_drew_from_the_residual_is_recorded():
    step = recording("hsd").step(draft([1, 1], [0.99, 0.99]), P[:3], [0], 0.25)
    assert step.verdict.residual.draw == 0.25


@pytest.mark.parametrize(("most", "finish", "tokens"), [(20, "end", [0, END]), (1, "length", [0])])
def test_tokens_after_the_end_are_cut(most: int, finish: str, tokens: list[int]):
    record = recording(most=most)
    step = record.step(draft([0, END, 1], [0.1, 0.1, 0.1]), P, [0, END, 1, 2], None)
    assert (record.finish, step.tokens, step.kept) == (finish, tokens, len(tokens))
    assert whole(record, step).result.finish == finish


def test_a_full_context_ends_a_text():
    record = recording(context=4)
    record.step(draft([0, 0, 0], [0.1, 0.1, 0.1]), P, [0, 0, 0, 1], None)
    assert record.finish == "context"


def test_prompts_are_recorded_only_where_that_is_wanted():
    assert recording().header["prompt"]["ids"] == []
    assert recording(private=False).header["prompt"]["text"] == "bc"
    assert "not recorded" in recording().header["setup"]["notes"][-1]


def test_a_step_that_the_rule_would_not_keep_has_no_details():
    step = recording().step(draft([1, 0, 1], [0.99, 0.1, 0.1]), P, [1, 0, 3], None)
    assert (step.kept, step.drafted, step.nodes, step.verdict) == (2, 3, [], None)


# ---- the buffer


def test_the_oldest_entries_are_dropped_and_counted():
    buffer = Buffer(5_000, 1e9)
    for at in range(50):
        assert buffer.add("r", "step", json.dumps("x" * 300 + str(at)))
    answer = buffer.after(0)
    assert buffer.size <= 5_000
    assert answer["dropped"] + len(answer["entries"]) == answer["next"] == 50
    assert buffer.after(48)["entries"][-1]["data"].endswith("49")
    assert buffer.after(50)["entries"] == []


def test_an_answer_is_cut_and_goes_on():
    buffer = Buffer(1e6, 1e9)
    for at in range(10):
        buffer.add("r", "step", json.dumps("x" * 1_000 + str(at)))
    first = buffer.after(0, most=3_500)
    assert len(first["entries"]) == first["next"] == 3
    assert buffer.after(first["next"])["entries"][0]["data"].endswith("3")


def test_steps_that_come_too_fast_are_refused():
    buffer = Buffer(1e6, 1_000)
    kept = [buffer.add("r", "step", json.dumps("x" * 500)) for _ in range(10)]
    assert kept[0]
    assert not kept[-1]
    assert buffer.refused == kept.count(False)
    assert buffer.add("r", "result", "{}")  # an end is always told


def test_a_server_that_began_anew_is_read_from_its_beginning():
    buffer = Buffer(1e6, 1e9)
    buffer.add("r", "step", "1")
    assert len(buffer.after(10_000)["entries"]) == 1
