"""This project's turn, see turn.py: by torch, or by the portable engine, as a library or under
wasmtime.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from turn import Job, Reader, main

import hsd
from hsd.app import browser
from hsd.engine import machine, sums


class Ours:
    """The pair's target."""

    def __init__(self, job: Job) -> None:
        portable = job["engine"] != "torch"
        if job["engine"] == "wasm, wasmtime":
            machine.usable = sums.usable = list  # no library
        own = (
            {"name": "smollm2"}
            if portable
            else {"target": job["folder"], "draft": browser.HEAD, "chat": True}
        )
        self.pair = hsd.load_pair(**own)
        torch.set_num_threads(job["threads"])
        if portable:
            self.pair.target.use_threads(job["threads"])
        self.precision = self.pair.target.dtype
        wasm = ["wasmtime"] if job["engine"] == "wasm, wasmtime" else []
        self.packages = [*wasm, "torch", *([] if portable else ["transformers"])]
        converted = sorted(Path(job["folder"]).iterdir()) if job["folder"] else []
        self.reads = [
            browser.HEAD_FILE,
            *([Path(job["gguf"]), machine.THREADED] if portable else converted),
        ]
        self.text = self.pair.target.start()

    @property
    def length(self) -> int:
        return self.text.length

    def read(self, tokens: list[int], keep: int) -> np.ndarray:
        with torch.inference_mode():
            return self.text.forward(torch.tensor(tokens), keep).float().numpy()

    def cut(self, length: int) -> None:
        self.text.crop(length)


def speed(reader: Any, job: Job) -> dict[str, list[float]]:
    """Tokens after the first step, and their seconds, by the way they were decoded."""
    found = {}
    for way, how in job["ways"].items():
        tokens = 0
        seconds = 0.0
        for prompt in job["prompts"]:
            steps = hsd.run(reader.pair, prompt, trace=False, **job["options"], **how).steps
            tokens += sum(len(step.committed) for step in steps[1:])
            last = steps[-1]
            seconds += last.start + sum(last.times.model_dump().values()) - steps[1].start
        found[way] = [tokens, seconds]
    return found


def make(job: Job) -> Reader:
    return Ours(job)


if __name__ == "__main__":
    main(make, speed)
