"""The plugin in vLLM itself, with the toys: `make vllm` installs it and runs these."""

from __future__ import annotations

import json
import os
from importlib.util import find_spec

import pytest

from hsd.models.loading import fetch  # noqa: F401  (imports transformers before vLLM does)
from hsd.paths import ASSETS
from hsd.rules import find_rule
from hsd.trace import Trace, replay_step

SPEC = find_spec("vllm")
pytestmark = pytest.mark.skipif(
    SPEC is None or SPEC.origin is None, reason="vLLM is not here: make vllm installs it"
)
PROMPTS = [
    "Once upon a time there was a",
    "The little dog was",
    "Tom and Sue went to the",
    "One day, a bird",
]


def engine(given: dict, drafting: dict, **more: object):
    for name, value in {
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
        "HF_HUB_OFFLINE": "1",
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    }.items():
        os.environ.setdefault(name, value)
    from vllm import LLM

    draft = {
        "model": str(ASSETS / "tiny" / "draft"),
        "method": "draft_model",
        "num_speculative_tokens": 4,
    }
    return LLM(
        model=str(ASSETS / "tiny" / "target"),
        max_model_len=256,
        max_num_seqs=8,
        enforce_eager=True,
        dtype="float32",
        disable_log_stats=True,
        speculative_config=draft | drafting,
        additional_config=given,
        **more,
    )


def traces(llm) -> dict[str, Trace]:
    after = 0
    found = {}
    while (
        answer := max(llm.collective_rpc("hsd_steps", args=(after,)), key=lambda one: one["next"])
    )["entries"]:
        after = answer["next"]
        for entry in answer["entries"]:
            if entry["kind"] == "beginning":
                found[entry["request"]] = entry["data"]
            elif entry["kind"] == "step":
                found[entry["request"]]["steps"].append(entry["data"])
            else:
                found[entry["request"]]["result"] = entry["data"]
    return {name: Trace.from_json(json.dumps(data)) for name, data in found.items()}


def test_recorded_steps_keep_what_the_engine_committed_and_greedy_texts_are_the_targets():
    from vllm import SamplingParams

    llm = engine(
        {"hsd": {"record": 1, "rule": "hsd", "prompts": True}},
        {"draft_sample_method": "probabilistic"},
    )
    mixed = [
        SamplingParams(max_tokens=60, temperature=t, top_k=k, seed=9)
        for t, k in ((1, -1), (0.8, 5), (0, -1))
    ]
    committed = {}
    for given in mixed:
        for output in llm.generate(PROMPTS * 6, given, use_tqdm=False):
            committed[output.request_id] = list(output.outputs[0].token_ids)
    recorded = {name.partition("-")[0]: trace for name, trace in traces(llm).items()}
    assert {name: trace.tokens for name, trace in recorded.items()} == committed
    steps = [step for trace in recorded.values() for step in trace.steps if step.verdict]
    assert len(steps) >= 1_000
    for step in steps:
        accepted = [one.coin < one.threshold for one in step.verdict.decisions]
        assert any(accepted) == (step.kept > 0)
        assert step.verdict.rule == find_rule("hsd").name
    greedy = {
        trace.prompt.text: trace.text
        for trace in recorded.values()
        if not trace.setup.options.sampling.temperature
    }
    plain = llm.generate(
        [*greedy], SamplingParams(max_tokens=60, temperature=0, n=1), use_tqdm=False
    )
    assert {one.prompt: one.outputs[0].text for one in plain} == greedy


def test_two_workers_that_share_the_layers_commit_what_one_of_them_records():
    from vllm import SamplingParams

    given = {"hsd": {"record": 1, "rule": "hsd", "prompts": True}}
    llm = engine(given, {"draft_sample_method": "probabilistic"}, tensor_parallel_size=2)
    asked = SamplingParams(max_tokens=24, temperature=0.8, seed=9)
    outputs = llm.generate(PROMPTS, asked, use_tqdm=False)
    recorded = {name.partition("-")[0]: trace for name, trace in traces(llm).items()}
    assert {name: trace.tokens for name, trace in recorded.items()} == {
        one.request_id: list(one.outputs[0].token_ids) for one in outputs
    }
    # the last may end inside its draft
    steps = [step for trace in recorded.values() for step in trace.steps[:-1]]
    assert all(replay_step(step) == step.tokens for step in steps)
    assert sum(step.drafted for step in steps) > 20
