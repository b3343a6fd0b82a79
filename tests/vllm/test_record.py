"""A request of another engine, recorded from planted rows: a valid trace that says what the engine
did, and no more.
"""

from __future__ import annotations

import json
import sys
from types import ModuleType, SimpleNamespace

import pytest
import torch

from hsd.decoding.options import RunOptions
from hsd.draft import Draft
from hsd.rules import RULES
from hsd.sampling import Sampling
from hsd.trace import ModelInfo, Setup, SetupOptions, Trace
from hsd.vllm import watcher as module
from hsd.vllm.record import Recording, judges_for, setup_of
from hsd.vllm.serving import Buffer, Settings
from hsd.vllm.watcher import Watcher

VOCAB = 6
END = 5
P = torch.tensor([[0.5, 0.3, 0.1, 0.05, 0.03, 0.02]] * 4)
Q = torch.tensor([[0.2, 0.5, 0.1, 0.1, 0.05, 0.05]] * 3)


class Letters:
    """A tokenizer of one letter per token."""

    end_ids = frozenset({END})

    def piece(self, token: int) -> str:
        return "abcdef"[token]

    def decode(self, ids: list[int]) -> str:
        return "".join(map(self.piece, ids))


def setup_for(rule: str = "tokenwise") -> Setup:
    shadow = "hsd" if rule == "tokenwise" else "tokenwise"
    options = {**dict(RunOptions(rule=rule, shadow=shadow, gamma=3)), "engine": "vllm"}
    model = ModelInfo(name="planted", parameters=1, dtype="float32")
    return Setup(
        options=SetupOptions.of(options),
        pair="planted",
        models=[model],
        device="cpu",
        vocab_size=VOCAB,
    )


def recording(rule: str = "tokenwise", room: int = 20, **more) -> Recording:
    settings = Settings(rule="" if rule == "tokenwise" else rule)
    return Recording(Letters(), setup_for(rule), judges_for(settings), [], room, **more)


def draft(tokens: list[int], coins: list[float]) -> Draft:
    return Draft.chain(
        torch.tensor(tokens),
        Q[: len(tokens)],
        torch.empty(0),
        torch.tensor(coins, dtype=torch.float64),
    )


def whole(record: Recording, *steps) -> Trace:
    trace = record.beginning.model_copy(update={"steps": list(steps), "result": record.result()})
    return Trace.from_json(trace.to_json())


@pytest.mark.parametrize("rule", ["tokenwise", "hsd"])
def test_steps_make_a_trace_that_keeps_what_the_engine_committed(rule: str):
    record = recording(rule)
    tokens = [1, 0, 1]
    coins = [0.1, 0.9, 0.7]
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


@pytest.mark.parametrize(("room", "finish", "tokens"), [(20, "end", [0, END]), (1, "length", [0])])
def test_tokens_after_the_end_are_cut(room: int, finish: str, tokens: list[int]):
    record = recording(room=room)
    step = record.step(draft([0, END, 1], [0.1, 0.1, 0.1]), P, [0, END, 1, 2], None)
    assert (record.finish, step.tokens, step.kept) == (finish, tokens, len(tokens))
    assert whole(record, step).result.finish == finish


def asked(**given: object) -> SimpleNamespace:
    usual = {
        "temperature": 0.5,
        "top_p": 0.9,
        "top_k": -1,
        "seed": None,
        "max_tokens": 20,
        "repetition_penalty": 1,
    }
    return SimpleNamespace(**usual | {"extra_args": None, "all_stop_token_ids": {END}} | given)


@pytest.fixture
def begun(monkeypatch):
    """A function that begins to record requests, and returns the first entries of a server with
    some settings.
    """
    planted = ModuleType("vllm.tokenizers")
    planted.cached_tokenizer_from_config = lambda _: None
    monkeypatch.setitem(sys.modules, "vllm", ModuleType("vllm"))
    monkeypatch.setitem(sys.modules, "vllm.tokenizers", planted)
    monkeypatch.setattr(module, "TokenizerCodec", lambda *_: Letters())
    described = []
    monkeypatch.setattr(module, "setup_of", lambda *_: described.append(1) or setup_for())

    def begin(*requests: SimpleNamespace, **settings: object) -> list[Trace]:
        watcher = Watcher(Settings(**settings), SimpleNamespace(model_config=None))
        described.clear()
        runner = SimpleNamespace(
            input_batch=SimpleNamespace(req_ids=[str(at) for at, _ in enumerate(requests)]),
            requests={
                str(at): SimpleNamespace(sampling_params=one, prompt_token_ids=[1, 2])
                for at, one in enumerate(requests)
            },
            discard_request_mask=SimpleNamespace(np=[False] * len(requests)),
            max_model_len=12,
        )
        begin.records = [
            one[2] for one in watcher._watched(runner, P[:1].log().expand(len(requests), -1), None)
        ]
        assert len(described) == bool(begin.records)
        return [Trace.model_validate(entry["data"]) for entry in watcher.buffer.after(0)["entries"]]

    return begin


def test_prompts_are_recorded_only_where_that_is_wanted(begun):
    (hidden,) = begun(asked(), record=1)
    (shown,) = begun(asked(), record=1, prompts=True)
    assert (hidden.prompt.ids, hidden.prompt.text) == ([], "")
    assert (shown.prompt.ids, shown.prompt.text) == ([1, 2], "bc")


def test_a_setup_says_what_is_not_recorded_and_counts_a_heads_own_weights(monkeypatch):
    planted = ModuleType("vllm")
    planted.__version__ = "0.32.0"
    monkeypatch.setitem(sys.modules, "vllm", planted)
    about = {"hf_config": None, "dtype": torch.float32, "get_total_num_hidden_layers": lambda: 2}
    target = torch.nn.Linear(4, 3)
    own = torch.nn.Linear(2, 2, bias=False)
    plan = SimpleNamespace(
        method="eagle3",
        num_speculative_tokens=4,
        rejection_sample_method="block",
        draft_model_config=SimpleNamespace(model="head", **about),
    )
    config = SimpleNamespace(
        model_config=SimpleNamespace(model="a/folder/", get_vocab_size=lambda: 6, **about),
        speculative_config=plan,
    )
    drafter = SimpleNamespace(model=torch.nn.ModuleList([own, target]))
    runner = SimpleNamespace(get_model=lambda: target, drafter=drafter, device="cpu")
    setup = setup_of(config, runner, Settings())
    assert [(one.name, one.parameters) for one in setup.models] == [("head", 4), ("folder", 15)]
    assert (setup.options.rule, setup.options.shadow, setup.options.draft.gamma) == (
        "tokenwise",
        "hsd",
        4,
    )
    assert "block verification" in setup.notes[1]
    assert "not recorded" in setup.notes[-1]
    setup = setup_of(config, runner, Settings(rule="hsd", prompts=True))
    assert (setup.options.rule, setup.options.shadow) == ("hsd", "tokenwise")
    assert not any("not recorded" in note for note in setup.notes)


def test_a_trace_says_what_its_request_asked_for_and_the_models_are_described_once(begun):
    first, other = begun(asked(), asked(top_k=3, seed=7, max_tokens=None), record=1)
    assert first.setup.options.sampling.model_dump() == {
        **vars(Sampling()),
        "temperature": 0.5,
        "top_p": 0.9,
    }
    assert (first.setup.options.max_new_tokens, first.setup.options.seed) == (20, 0)
    assert (other.setup.options.sampling.top_k, other.setup.options.seed) == (3, 7)
    assert other.setup.options.max_new_tokens == 12


def test_a_request_is_recorded_where_it_asks_for_it(begun):
    assert len(begun(asked(extra_args={"hsd": "true"}), asked(), None, record=0)) == 1
    assert len(begun(asked(extra_args={"hsd": False}), asked(), None, record=1)) == 1


def test_a_full_context_ends_a_text(begun):
    begun(asked(), record=1)
    (record,) = begun.records
    for _ in range(3):
        assert record.finish == "cancelled"
        record.step(draft([0, 0, 0], [0.1, 0.1, 0.1]), P, [0, 0, 0, 1], None)
    assert record.finish == "length"
    assert len(record.tokens) == 10  # the prompt takes 2 of the 12 that the engine holds


@pytest.mark.parametrize(
    "given", [{"min_p": 0.1}, {"repetition_penalty": 1.1}, {"logit_bias": {1: 2.0}}]
)
def test_the_row_after_a_draft_is_not_told_where_the_request_changes_it(begun, given):
    for params, told in ((asked(), True), (asked(**given), False)):
        begun(params, record=1)
        step = begun.records[0].step(Draft.empty(VOCAB, torch.device("cpu")), P[:1], [3], None)
        assert (step.verdict.residual is not None) == told


def test_a_step_that_the_rule_would_not_keep_has_no_details():
    step = recording().step(draft([1, 0, 1], [0.99, 0.1, 0.1]), P, [1, 0, 3], None)
    assert (step.kept, step.drafted, step.nodes, step.verdict) == (2, 3, [], None)


def test_rows_are_those_before_the_engine_changes_its_logits_in_place():
    watcher = Watcher(Settings(), None)
    logits = P[:2].log()
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
