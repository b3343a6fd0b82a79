"""How runs stream, end and are kept; and the GPU that is lent for them."""

from __future__ import annotations

import gc
import itertools
import json
import logging
import pickle
import threading
import weakref
from types import SimpleNamespace
from typing import Any

import pytest
from table_models import table_pair

import hsd
from hsd import HsdError, Trace, space
from hsd.app import device, pairs, runs
from hsd.app.presets import telling_step
from hsd.app.replies import answer
from hsd.app.runs import Kept, RunRequest, messages, read, run_to_end
from hsd.decoding.loop import Decoding
from hsd.decoding.options import RunOptions
from hsd.trace import SetupOptions, Step

SPACE = space.load()
SECONDS = 120


def request(**values: object) -> RunRequest:
    return read(SPACE, {"prompt": "abc", "pair": "tiny", **values})


@pytest.fixture
def letters(monkeypatch: pytest.MonkeyPatch) -> None:
    """The model of every request becomes a small table."""
    monkeypatch.setattr(pairs, "load", lambda *_: table_pair(vocab=6, seed=1))


@pytest.fixture
def every_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """No step waits for the next message."""
    monkeypatch.setattr(runs, "UPDATE_SECONDS", 0.0)


def put_together(told: list[dict[str, Any]]) -> Trace:
    """What a page makes of the messages."""
    whole: dict[str, Any] = {"steps": []}
    for message in told:
        whole |= message.get("header", {}) | {
            name: message[name] for name in ("result", "scores") if name in message
        }
        whole["steps"] += message.get("steps", [])
    return Trace.model_validate(whole)


@pytest.mark.usefixtures("letters", "every_step")
def test_a_run_arrives_piece_by_piece_and_equals_a_direct_one():
    asked = request(max_new_tokens=20, seed=5)
    kept = Kept(3)
    told = list(messages(asked, kept, SECONDS))
    assert json.loads(json.dumps(told)) == told, "plain data"
    assert set(told[0]) == {"header", "link"}
    assert [set(message) for message in told[1:-2]] == [{"steps"}] * (len(told) - 3)
    assert set(told[-2]) == {"steps", "result"}
    made = put_together(told)
    direct = hsd.run(table_pair(vocab=6, seed=1), "abc", **dict(asked.options))
    assert made.tokens == direct.tokens == made.replay()
    assert (made.result.finish, len(made.steps)) == ("length", len(direct.steps))
    last = told[-1]
    assert kept.get(last["key"]) == made
    assert made.scores
    assert len(made.scores.p) == len(made.tokens)
    assert read(SPACE, told[0]["link"]) == asked
    assert (last["telling"], last["finish"]) == (telling_step(made), "length")


@pytest.mark.usefixtures("letters")
def test_the_options_of_a_run_and_each_of_its_steps_are_checked_once(
    monkeypatch: pytest.MonkeyPatch,
):
    checked: list[type] = []
    for model, name in ((RunOptions, "model_post_init"), (SetupOptions, "__init__")):
        usual = getattr(model, name)
        monkeypatch.setattr(
            model, name, lambda *a, m=model, u=usual, **k: (checked.append(m), u(*a, **k))[1]
        )
    steps: list[Step] = []
    taken = Decoding.__next__
    monkeypatch.setattr(Decoding, "__next__", lambda run: (steps.append(one := taken(run)), one)[1])
    trace, _ = run_to_end(request(max_new_tokens=12), Kept(1), SECONDS)
    assert all(step is kept for step, kept in zip(steps, trace.steps, strict=True))
    assert checked == [RunOptions, SetupOptions]


@pytest.mark.usefixtures("letters")
def test_updates_come_at_most_twenty_times_a_second(monkeypatch):
    assert runs.UPDATE_SECONDS >= 1 / 20
    clock = itertools.count()
    monkeypatch.setattr(runs, "UPDATE_SECONDS", 1.0)
    monkeypatch.setattr(runs, "time", SimpleNamespace(monotonic=lambda: next(clock) / 4))
    told = [
        len(message["steps"])
        for message in messages(request(max_new_tokens=60), Kept(1), SECONDS)
        if "steps" in message
    ]
    assert len(told) > 3
    assert set(told[:-1]) == {4}, "a step takes a quarter of the time between messages"


@pytest.mark.usefixtures("letters", "every_step")
def test_the_text_and_the_machine_are_put_into_words_once_and_not_for_every_message(monkeypatch):
    made: list[str] = []
    for name in ("trace", "result"):
        original = getattr(Decoding, name)
        monkeypatch.setattr(
            Decoding, name, lambda self, f=original, n=name: made.append(n) or f(self)
        )
    assert len(list(messages(request(max_new_tokens=60), Kept(1), SECONDS))) > 10
    assert made.count("trace") <= 1
    assert made.count("result") <= 2


@pytest.mark.usefixtures("letters", "every_step")
def test_a_run_that_nobody_listens_to_any_more_ends_and_frees_what_it_held(monkeypatch):
    held: list[weakref.ref[Decoding]] = []

    class Watched(Decoding):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            held.append(weakref.ref(self))

        def close(self) -> None:
            closed.append(len(self.steps) if hasattr(self, "steps") else True)
            super().close()

    closed: list[Any] = []
    monkeypatch.setattr(runs, "Decoding", Watched)
    kept = Kept(3)
    following = messages(request(max_new_tokens=200), kept, SECONDS)
    assert "header" in next(following)
    next(following)
    following.close()
    assert len(closed) == 1
    gc.collect()
    assert held[0]() is None
    assert not kept._traces


@pytest.mark.usefixtures("letters", "every_step")
def test_a_run_that_takes_too_long_is_stopped_and_says_so(monkeypatch):
    monkeypatch.setattr(runs.time, "monotonic", iter(range(0, 10**6, 50)).__next__)
    told = list(messages(request(max_new_tokens=200), Kept(1), SECONDS))
    assert told[-2]["message"] == "stopped after 120 s, the longest time here: ask for less"
    made = put_together(told)
    assert made.text
    assert (made.result.finish, told[-1]["finish"]) == ("cancelled", "cancelled")


def test_a_failure_in_the_middle_comes_after_what_was_decoded_before(
    letters, every_step, monkeypatch
):
    class Broken(Decoding):
        def __next__(self) -> Any:
            if len(told) > 3:
                raise RuntimeError("a secret of the prompt")
            return super().__next__()

    monkeypatch.setattr(runs, "Decoding", Broken)
    told: list[dict[str, Any]] = []
    following = messages(request(max_new_tokens=200), Kept(1), SECONDS)

    def listen() -> None:
        for message in following:
            told.append(message)

    with pytest.raises(HsdError, match=r"RuntimeError, error \w{6}"):
        listen()
    made = put_together(told)
    assert made.steps
    assert made.replay() == made.tokens


def test_what_nobody_expected_is_told_with_a_name_that_the_log_has_and_without_the_prompt(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    def broken(*_: object) -> None:
        raise RuntimeError("a secret of the prompt")

    monkeypatch.setattr(pairs, "load", broken)
    with caplog.at_level(logging.ERROR):
        told = answer(lambda: list(messages(request(), Kept(1), SECONDS)))["error"]
    name = told.partition("error ")[2].partition(")")[0]
    assert len(name) == 6
    assert f"error {name}: RuntimeError at" in caplog.text
    assert "broken" in caplog.text, "where it happened"
    assert "secret" not in caplog.text + told


def test_the_runs_that_were_looked_at_last_are_kept_under_keys_that_nobody_can_guess(letters):
    kept = Kept(2)
    trace, first = run_to_end(request(max_new_tokens=4), kept, SECONDS)
    _, second = run_to_end(request(max_new_tokens=4), kept, SECONDS)
    assert kept.get(first) == trace
    _, third = run_to_end(request(max_new_tokens=4), kept, SECONDS)
    assert kept.get(second) is None, "longest not looked at"
    assert kept.get(first)
    assert kept.get(third)
    assert len({first, second, third}) == 3
    assert min(map(len, (first, second, third))) >= 20


def test_equal_seeds_give_equal_texts_whoever_else_asks(letters):
    kept = Kept(20)
    found = {}

    def ask(i: int) -> None:
        found[i] = run_to_end(request(seed=i % 2, max_new_tokens=20), kept, SECONDS)[0].text

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    texts = [{found[i] for i in found if i % 2 == parity} for parity in (0, 1)]
    assert [len(each) for each in texts] == [1, 1]
    assert texts[0] != texts[1]


def test_own_models_from_folders_run(byte_folders):
    target, draft = byte_folders
    trace, _ = run_to_end(request(target=target, draft=draft, max_new_tokens=8), Kept(1), SECONDS)
    assert len(trace.tokens) == 8


def test_on_zero_gpu_the_gpu_is_lent_for_the_decoding_only(letters, monkeypatch):
    lent: list[int] = []

    def GPU(duration):
        def decorate(function):
            def lend(*arguments):
                lent.append(duration(*arguments))
                for part in function(*pickle.loads(pickle.dumps(arguments))):
                    yield pickle.loads(pickle.dumps(part))

            return lend

        return decorate

    monkeypatch.setattr(device, "spaces", SimpleNamespace(GPU=GPU))
    monkeypatch.setenv("SPACES_ZERO_GPU", "true")
    lend = device.lent_gpu(lambda request, _: runs.gpu_seconds(request.options.max_new_tokens))
    monkeypatch.setattr(runs, "decode_on_lent_gpu", lend(runs.decode))
    monkeypatch.setattr(pairs.hub, "bring", lambda name: None)
    assert len(run_to_end(request(max_new_tokens=8), Kept(1), SECONDS)[0].tokens) == 8
    assert lent == [], "the embedded pair stays on the CPU"
    assert (
        len(run_to_end(request(max_new_tokens=8, pair="qwen2.5-7b"), Kept(1), SECONDS)[0].tokens)
        == 8
    )
    assert lent == [runs.LOAD_SECONDS + 1]


def test_without_the_package_for_zero_gpu_nothing_is_decorated(monkeypatch):
    monkeypatch.setattr(device, "spaces", None)
    assert device.lent_gpu(lambda *_: 1)(runs.decode) is runs.decode


def test_the_time_between_messages_is_not_spent_waiting(letters, monkeypatch):
    # a clock to wait for stands still
    monkeypatch.setattr(runs, "time", SimpleNamespace(monotonic=lambda: 0.0))
    trace, _ = run_to_end(request(max_new_tokens=4), Kept(1), SECONDS)
    assert len(trace.tokens) == 4
