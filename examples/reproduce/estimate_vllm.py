"""Hold `hsd estimate` against vLLM's own drafting, on the toys: a quarter of an hour.

    make vllm
    python examples/reproduce/estimate_vllm.py

It starts vLLM with the toy target and each way to verify, asks for 48 texts at temperature 1, and
prints the tokens of a pass by vLLM's own counters. The estimate beside it is of

    python -m hsd estimate --target URL --draft URL --prompts stories --limit 12 --seeds 4
"""

from __future__ import annotations

import json
import os
import subprocess
import time

from hsd.bench.prompts import prompt_set
from hsd.errors import HsdError
from hsd.http_client import json_of, read_counters
from hsd.paths import ASSETS, ROOT

PORT = 8103
URL = f"http://127.0.0.1:{PORT}"
TINY = ASSETS / "tiny"
PATIENCE = 300  # seconds until a server answers
SETTINGS = {
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "HF_HUB_OFFLINE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_PLUGINS": "hsd",
    "VLLM_USE_V2_MODEL_RUNNER": "0",
    "HSD_VLLM_TOKEN": "local",
}


def main() -> None:
    for gamma in (2, 4):
        for rule in ("", "hsd"):
            print(f"γ = {gamma}, {rule or 'token-wise'}: {tokens_per_pass(gamma, rule):.3f}")


def tokens_per_pass(gamma: int, rule: str) -> float:
    """Return what a pass of the target brings in vLLM. rule: "" for vLLM's own verification."""
    own = {"record": 1} | ({"rule": rule} if rule else {})
    draft = {
        "method": "draft_model",
        "model": str(TINY / "draft"),
        "num_speculative_tokens": gamma,
        "draft_sample_method": "probabilistic",
    }
    command = [
        str(ROOT / ".vllm/bin/python"),
        "-m",
        "vllm.entrypoints.openai.api_server",
        f"--model={TINY / 'target'}",
        "--served-model-name=target",
        "--max-model-len=256",
        "--enforce-eager",
        "--dtype=float32",
        f"--port={PORT}",
        f"--additional-config={json.dumps({'hsd': own})}",
        f"--speculative-config={json.dumps(draft)}",
    ]
    server = subprocess.Popen(command, env=os.environ | SETTINGS)
    try:
        wait()
        for prompt in prompt_set("stories", limit=12).prompts:
            for seed in range(100, 104):
                body = {"model": "target", "prompt": prompt, "max_tokens": 64, "seed": seed}
                json_of(f"{URL}/v1/completions", 120, body | {"temperature": 1.0})
        counts = read_counters(URL, "")
        return 1 + counts["accepted_tokens"] / counts["drafts"]
    finally:
        server.terminate()
        server.wait()


def wait() -> None:
    """Wait until the server answers. Raises HsdError where it does not."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            json_of(f"{URL}/v1/models", 5)
            return
        except HsdError:
            if time.monotonic() > end:
                raise
            time.sleep(1)


if __name__ == "__main__":
    main()
