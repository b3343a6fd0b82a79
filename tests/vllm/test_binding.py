"""How the plugin takes hold of vLLM: by name, in versions whose signatures are recorded, or not at
all.
"""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
import torch

from hsd.errors import HsdError
from hsd.vllm import binding
from hsd.vllm.binding import HOOKS, SAMPLER
from hsd.vllm.serving import Settings, settings_of
from hsd.vllm.watcher import Watcher

SIGNATURES = json.loads(Path(__file__).with_name("signatures.json").read_text())


def standing_for(names: list[str], body: str = "return None"):
    space: dict = {}
    exec(f"def function({', '.join(f'{name}=None' for name in names)}):\n    {body}", space)
    return space["function"]


@pytest.fixture(params=SIGNATURES)
def engine(request, monkeypatch):
    """Modules with the functions of a version of vLLM, which do nothing."""
    for place, names in SIGNATURES[request.param].items():
        module, _, path = place.partition(":")
        parts = module.split(".")
        for end in range(1, len(parts) + 1):
            name = ".".join(parts[:end])
            if not hasattr(sys.modules.get(name), "planted"):
                planted = ModuleType(name)
                planted.planted = True
                planted.__path__ = []
                monkeypatch.setitem(sys.modules, name, planted)
        owner, *rest = sys.modules[module], *path.split(".")
        if len(rest) > 1:
            if not hasattr(owner, rest[0]):
                setattr(owner, rest[0], type(rest[0], (), {}))
            owner = getattr(owner, rest[0])
        setattr(owner, rest[-1], standing_for(names))
    registry = SimpleNamespace(register_model=lambda *_: None)
    monkeypatch.setattr(sys.modules["vllm"], "ModelRegistry", registry, raising=False)
    return sys.modules


def worker_of(engine) -> type:
    return engine["vllm.v1.worker.worker_base"].WorkerBase


def config(given=None, v2: bool = False, rank: int = 0):
    ranks = SimpleNamespace(rank=rank, tensor_parallel_size=2)
    return SimpleNamespace(additional_config=given, use_v2_model_runner=v2, parallel_config=ranks)


def test_every_hook_is_found(engine):
    for hook in HOOKS:
        assert callable(binding.find_hooked(hook)[2])


def test_a_missing_argument_is_named(engine):
    engine[SAMPLER].rejection_sample = standing_for(["draft_token_ids"])
    with pytest.raises(
        HsdError, match=r"rejection_sample of this vLLM has no argument 'num_draft_tokens'"
    ):
        binding.find_hooked("verify")


def test_a_missing_function_is_named(engine):
    del engine[SAMPLER].generate_uniform_probs
    with pytest.raises(
        HsdError,
        match=r"this vLLM has no vllm\.v1\.sample\.rejection_sampler\.generate_uniform_probs",
    ):
        binding.find_hooked("coins")


@pytest.mark.parametrize("given", [None, {}, {"other": 1}])
def test_a_server_that_did_not_ask_is_left_alone(engine, given):
    before = vars(engine[SAMPLER]).copy()
    binding.register()
    worker = worker_of(engine)(vllm_config=config(given))
    assert vars(engine[SAMPLER]) == before
    assert worker.hsd_steps(3) is None


def test_a_server_that_asked_says_in_one_line_what_is_done(engine, caplog):
    binding.register()
    with caplog.at_level(logging.INFO, "vllm.plugins.hsd"):
        worker = worker_of(engine)(vllm_config=config({"hsd": {"record": 0.5, "rule": "hsd"}}))
    (line,) = caplog.messages
    assert "records 50% of the requests" in line
    assert "verifies by hsd" in line
    assert "#55005" in line
    spread = engine[SAMPLER].expand_batch_to_tokens
    values = torch.tensor([0.0, 2.0, 3.0])
    ends = torch.tensor([2, 2, 5], dtype=torch.int32)
    assert spread(values, ends, 5, replace_from=0, replace_to=1).tolist() == [1, 1, 3, 3, 3]
    assert len(engine[SAMPLER].apply_sampling_constraints(torch.empty(0, 4))) == 0
    assert worker.hsd_steps(0)["entries"] == []


@pytest.mark.parametrize(("rank", "records"), [(0, True), (1, False), (2, True)])
def test_one_of_the_workers_that_share_layers_records(engine, rank, records):
    runner = engine["vllm.v1.worker.gpu_model_runner"].GPUModelRunner
    before = runner._sample
    binding.register()
    worker_of(engine)(vllm_config=config({"hsd": {"record": 1}}, rank=rank))
    assert (runner._sample is not before) == records


@pytest.mark.parametrize(
    ("given", "v2", "words"),
    [
        (
            {"hsd": {"recrod": 1}},
            False,
            r"hsd\.recrod in --additional-config: .*it takes record, rule",
        ),
        ({"hsd": {"record": 2}}, False, r"hsd\.record .*less than or equal to 1"),
        ({"hsd": {"rule": "fuzzy"}}, False, r"hsd\.rule"),
        ({"hsd": 1}, False, r"^hsd: hsd in --additional-config"),
        ({"hsd": {"record": 1}}, True, "VLLM_USE_V2_MODEL_RUNNER=0"),
    ],
)
def test_bad_input_is_one_line_and_the_server_goes_on(engine, caplog, given, v2, words):
    binding.register()
    with caplog.at_level(logging.INFO, "vllm.plugins.hsd"):
        worker = worker_of(engine)(vllm_config=config(given, v2))
    (line,) = caplog.messages
    assert pytest.importorskip("re").search(words, line)
    assert "\n" not in line
    assert worker.hsd_steps() is None


def test_which_requests_are_recorded():
    assert settings_of({"hsd": {}}) == Settings()
    some = Settings(record=0.25)
    assert 0.2 < sum(some.wants(f"request-{i}", None) for i in range(2_000)) / 2_000 < 0.3
    assert some.wants("x", True)
    assert some.wants("x", "true")
    assert not Settings(record=1).wants("x", False)


# ---- the worker's part, with a runner that is planted


class Runner:
    """The parts of a runner of vLLM that the recorder reads."""

    def __init__(self, *names: str) -> None:
        self.input_batch = SimpleNamespace(req_ids=list(names))
        self.requests = {
            name: SimpleNamespace(sampling_params=None, prompt_token_ids=[1]) for name in names
        }
        self.discard_request_mask = SimpleNamespace(np=np.zeros(len(names), dtype=bool))


def test_a_broken_recorder_breaks_no_request(monkeypatch, caplog):
    watcher = Watcher(Settings(record=1), None)
    monkeypatch.setattr(watcher, "_begin", lambda *_: 1 / 0)
    output = SimpleNamespace(sampled_token_ids=torch.zeros(1, 1))
    for _ in range(5):
        given = {"self": Runner("one"), "logits": torch.zeros(1, 4), "spec_decode_metadata": None}
        assert watcher.sample(given, lambda: output) is output
    # once for the request
    assert caplog.messages == ["hsd: recording failed (ZeroDivisionError: division by zero)"]


def test_requests_that_are_gone_are_forgotten():
    watcher = Watcher(Settings(), None)
    for at in range(500):
        assert not [*watcher._watched(Runner(f"request-{at}"), torch.zeros(1, 4), None)]
    assert len(watcher._known) < 100
