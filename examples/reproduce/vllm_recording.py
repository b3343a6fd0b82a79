"""What recording costs a vLLM server, and that it changes no text.

    make vllm
    .vllm/bin/python examples/reproduce/vllm_recording.py [REQUESTS]

By default 200 requests in 8 lanes, with it and without, on the toys; some minutes on a quiet
machine.

Each side is a process of its own, in turn. Both have the plugin, so that both have its mends; one
records no request. Prints seconds a step of the engine, the largest memory after each half, and
whether all texts are equal.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
TOYS = ROOT / "assets" / "tiny"
PROMPTS = (
    "Once upon a time there was a",
    "The little dog was",
    "Tom and Sue went to the",
    "One day, a bird",
)
SETTINGS = {
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "HF_HUB_OFFLINE": "1",
}
LANES = 8
NEW = 48
MEGABYTES = 512


def decode(share: float, count: int) -> dict[str, Any]:
    """Return texts, seconds and steps of `count` requests of which a share is recorded, and the
    peaks of memory.
    """
    from vllm import LLM, SamplingParams

    draft = {"model": str(TOYS / "draft"), "method": "draft_model", "num_speculative_tokens": 4}
    engine = LLM(
        str(TOYS / "target"),
        max_model_len=256,
        max_num_seqs=LANES,
        enforce_eager=True,
        dtype="float32",
        speculative_config={**draft, "draft_sample_method": "probabilistic"},
        additional_config={"hsd": {"record": share, "megabytes": MEGABYTES}},
    )
    steps = 0
    step = engine.llm_engine.step

    def counted() -> Any:
        nonlocal steps
        steps += 1
        return step()

    engine.llm_engine.step = counted
    asked = [
        SamplingParams(
            max_tokens=NEW, temperature=(1, 0.8, 0)[i % 3], top_k=(-1, 20)[i % 2], seed=i
        )
        for i in range(count)
    ]
    texts = []
    peaks = []
    seconds = 0.0
    for half in (slice(count // 2), slice(count // 2, count)):
        begin = time.perf_counter()
        found = engine.generate(
            [PROMPTS[i % 4] for i in range(count)[half]], asked[half], use_tqdm=False
        )
        seconds += time.perf_counter() - begin
        texts += [list(one.outputs[0].token_ids) for one in found]
        peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
    (recorded,) = engine.collective_rpc("hsd_steps", args=(0,))
    about = {"dropped": recorded["dropped"], "recorded": bool(recorded["entries"])}
    return {"texts": texts, "seconds": seconds, "steps": steps, "peaks_mb": peaks, **about}


def main(count: int = 200) -> int:
    """Run both sides and print what they say. Returns 1 where a text differs."""
    sides = {}
    for name, share in (("without", 0.0), ("with", 1.0)):
        command = [sys.executable, __file__, "side", str(share), str(count)]
        done = subprocess.run(
            command,
            capture_output=True,
            encoding="utf-8",
            check=True,
            env={**os.environ, **SETTINGS},
        )
        side = json.loads(done.stdout.strip().splitlines()[-1])
        sides[name] = side.pop("texts")
        print(
            f"{name} recording: {1e3 * side['seconds'] / side['steps']:.2f} ms a step; {side}",
            flush=True,
        )
    equal = sum(a == b for a, b in zip(*sides.values(), strict=True))
    print(f"{equal} of {count} texts are equal")
    return int(equal < count)


if __name__ == "__main__":
    if sys.argv[1:2] == ["side"]:
        print("\n" + json.dumps(decode(float(sys.argv[2]), int(sys.argv[3]))))
    else:
        sys.exit(main(*map(int, sys.argv[1:])))
