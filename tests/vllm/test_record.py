"""A request of another engine, recorded from planted rows: a valid trace that says what the engine did, and no more."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
import torch

from hsd.decoding.options import RunOptions
from hsd.draft import Draft
from hsd.rules import RULES
from hsd.trace import ModelInfo, Setup, SetupOptions, Trace
from hsd.vllm.record import Recording
from hsd.vllm.serving import Buffer, Settings
from hsd.vllm.watcher import Watcher

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


def recording(rule: str = "tokenwise", most: int = 20, private: bool = True, context: int = 100, **more) -> Recording:
    shadow = "hsd" if rule == "tokenwise" else "tokenwise"
    options = {**dict(RunOptions(rule=rule, shadow=shadow, max_new_tokens=most, gamma=3)), "engine": "vllm"}
    model = ModelInfo(name="planted", parameters=1, dtype="float32")
    setup = Setup(options=SetupOptions.of(options), pair="planted", models=[model], device="cpu", vocab_size=VOCAB)
    return Recording(Letters(), setup, [1, 2], private, context, **more)


def draft(tokens: list[int], coins: list[float]) -> Draft:
    return Draft.chain(torch.tensor(tokens), Q[: len(tokens)], torch.empty(0), torch.tensor(coins, dtype=torch.float64))


def whole(record: Recording, *steps) -> Trace:
    trace = record.beginning.model_copy(update={"steps": list(steps), "result": record.result()})
    return Trace.from_json(trace.to_json())


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
    record = recording(plain=False)
    step = record.step(draft([1, 0], [0.9, 0.9]), P[:3], [3], None)
    assert [node.draw for node in step.nodes] == [None, None]
    assert step.verdict.residual.draw is None
    assert step.shadow.residual is step.shadow.next is None
    assert (step.times.draft, step.times.target, step.times.verify) == (0, 0, 0)
    bonus = record.step(Draft.empty(VOCAB, torch.device("cpu")), P[:1], [3], None)
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
    assert record.finish == "length"


def test_prompts_are_recorded_only_where_that_is_wanted():
    assert recording().beginning.prompt.ids == []
    assert recording(private=False).beginning.prompt.text == "bc"
    assert "not recorded" in recording().beginning.setup.notes[-1]


def test_a_step_that_the_rule_would_not_keep_has_no_details():
    step = recording().step(draft([1, 0, 1], [0.99, 0.1, 0.1]), P, [1, 0, 3], None)
    assert (step.kept, step.drafted, step.nodes, step.verdict) == (2, 3, [], None)


def test_rows_are_those_before_the_engine_changes_its_logits_in_place():
    watcher, logits = Watcher(Settings(), None), P[:2].log()
    watcher._known = {"one": recording()}
    runner = SimpleNamespace(
        input_batch=SimpleNamespace(req_ids=["one"]),
        requests={"one": None},
        discard_request_mask=SimpleNamespace(np=[False]),
    )

    def call() -> SimpleNamespace:
        logits.div_(0.5)
        return SimpleNamespace(sampled_token_ids=torch.tensor([[3]]))

    watcher.sample({"self": runner, "logits": logits, "spec_decode_metadata": None}, call)
    (entry,) = watcher.buffer.after(0)["entries"]
    top = entry["data"]["verdict"]["residual"]["top"]
    assert {one["token"]: one["p"] for one in top} == pytest.approx(dict(enumerate(P[0].tolist())))


# ---- the buffer


def test_the_oldest_entries_are_dropped_and_counted():
    buffer = Buffer(5_000)
    for at in range(50):
        buffer.add("r", "step", json.dumps("x" * 300 + str(at)))
    answer = buffer.after(0)
    assert buffer.size <= 5_000
    assert answer["dropped"] + len(answer["entries"]) == answer["next"] == 50
    assert buffer.after(48)["entries"][-1]["data"].endswith("49")
    assert buffer.after(50)["entries"] == []


def test_an_answer_is_cut_and_goes_on():
    buffer = Buffer(1e6)
    for at in range(10):
        buffer.add("r", "step", json.dumps("x" * 1_000 + str(at)))
    first = buffer.after(0, most=3_500)
    assert len(first["entries"]) == first["next"] == 3
    assert buffer.after(first["next"])["entries"][0]["data"].endswith("3")


def test_a_server_that_began_anew_is_read_from_its_beginning():
    buffer = Buffer(1e6)
    buffer.add("r", "step", "1")
    assert len(buffer.after(10_000)["entries"]) == 1
