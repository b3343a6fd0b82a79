"""One engine's turn on two GGUF files, target and draft, in a process of its own.

The process reads its job from standard input, says "ready" when the target's first row is there,
and then its result as a line of JSON, or {"missing": why}. measure_pair.py starts it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import peers
import torch
from turn import Job, Reader, memory, passes, rows, versions

import hsd
from hsd.models.machine import threads_of

Speeds = dict[str, list[float]]  # case → [tokens after the first step, their seconds]


class OurText:
    """A text that one model of our pair reads."""

    def __init__(self, model: Any) -> None:
        self.precision = model.dtype
        self.packages = ["torch"]
        self.text = model.start()

    @property
    def length(self) -> int:
        return int(self.text.length)

    def read(self, tokens: list[int], keep: int) -> np.ndarray:
        with torch.inference_mode():
            return np.asarray(self.text.forward(torch.tensor(tokens), keep).float().numpy())

    def cut(self, length: int) -> None:
        self.text.crop(length)


def case_name(kind: str, temperature: float, way: str) -> str:
    return f"{kind}, T = {temperature:g}, {way}"


def main() -> None:
    job = json.loads(sys.stdin.readline())
    measure = ours if job["engine"] == "native" else llama_cpp
    try:
        measured = measure(job)
    except Exception as error:  # one line of whatever it says, and the other engines go on
        measured = {"missing": f"{type(error).__name__}: {error}".splitlines()[0][:200]}
    print(json.dumps(measured), flush=True)


def ours(job: Job) -> dict[str, Any]:
    """Time this project's engine: both models' passes, every way to decode, memory, rows."""
    torch.set_num_threads(job["threads"])
    pair = hsd.load_pair(target=Path(job["target"]), draft=Path(job["draft"]), draft_rows=0)
    for model in (pair.target, pair.draft):
        model.use_threads(job["threads"])
    target = OurText(pair.target)
    target.read([1], 1)
    print("ready", flush=True)
    measured: dict[str, Any] = {
        "precision": target.precision,
        "passes": {"target": passes(target, job), "draft": passes(OurText(pair.draft), job)},
        "memory_mb": memory(),
        "versions": versions(target),
    }
    measured["speed"] = our_speeds(pair, job, job["ways"])
    cut = hsd.load_pair(
        target=Path(job["target"]), draft=Path(job["draft"]), draft_rows=job["draft_rows"]
    )
    for model in (cut.target, cut.draft):
        model.use_threads(job["threads"])
    measured["passes"]["cut draft"] = passes(OurText(cut.draft), job)
    measured["speed"] |= our_speeds(cut, job, job["cut_ways"])
    return measured | rows(target, job)


def our_speeds(pair: Any, job: Job, ways: dict[str, Any]) -> Speeds:
    """Time every way over every kind of text; ways take turns, so that a drift of the machine
    meets all of them.
    """

    def decode(prompt: str, temperature: float, options: dict[str, Any]) -> tuple[int, float]:
        steps = hsd.run(
            pair,
            prompt,
            trace=False,
            temperature=temperature,
            max_new_tokens=job["new"],
            seed=1,
            **options,
        ).steps
        last = steps[-1]
        seconds = last.start + sum(last.times.model_dump().values()) - steps[1].start
        return sum(len(step.committed) for step in steps[1:]), seconds

    return timed(job, {name: lambda p, t, o=how: decode(p, t, o) for name, how in ways.items()})


def timed(job: Job, ways: dict[str, Callable[[str, float], tuple[int, float]]]) -> Speeds:
    """Return tokens and seconds of each kind of text, temperature and way."""
    speeds: Speeds = {}
    for temperature in job["temperatures"]:
        for kind, prompts in job["prompts"].items():
            for prompt in prompts:
                for way, decode in ways.items():
                    tokens, seconds = decode(prompt, temperature)
                    total = speeds.setdefault(case_name(kind, temperature, way), [0, 0.0])
                    total[0] += tokens
                    total[1] += seconds
    return speeds


def llama_cpp(job: Job) -> dict[str, Any]:
    """Time llama.cpp: both models' passes, plain decoding and its own drafting, memory, rows."""
    target = peers.LlamaCpp(job | {"gguf": job["target"]})
    target.read([1], 1)
    print("ready", flush=True)
    measured: dict[str, Any] = {
        "precision": target.precision,
        "passes": {"target": passes(target, job)},
        "memory_mb": memory(),
        "versions": versions(target),
    }
    draft: Reader = peers.LlamaCpp(job | {"gguf": job["draft"]})
    measured["passes"]["draft"] = passes(draft, job)
    measured["speed"] = peer_speeds(job)
    return measured | rows(target, job)


def peer_speeds(job: Job) -> Speeds:
    """Time llama.cpp as `bench --peer llama.cpp` does."""
    from hsd.bench.llama import llama_cases

    pair = hsd.load_pair(target=Path(job["target"]), draft=Path(job["draft"]), draft_rows=0)
    for model in (pair.target, pair.draft):
        model.use_threads(job["threads"])
    assert threads_of(pair.target) == job["threads"]

    def decoder(number: int) -> Callable[[str, float], tuple[int, float]]:
        def decode(prompt: str, temperature: float) -> tuple[int, float]:
            options = {"temperature": temperature, "max_new_tokens": job["new"]}
            run = llama_cases(options, drafting=True)[number].runner
            assert run
            record = run(pair, prompt, 1)
            return record["new_tokens"], record["seconds"]

        return decode

    return timed(job, {"plain": decoder(0), "with the draft": decoder(1)})


if __name__ == "__main__":
    main()
