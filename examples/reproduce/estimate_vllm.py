"""Hold `hsd estimate` against vLLM's own drafting, on the toys: a quarter of an hour.

    make vllm
    python examples/reproduce/estimate_vllm.py
    python examples/reproduce/measured_page.py

Two vLLM servers, one of the toy target and one of its draft, first give what `hsd estimate` needs
for 48 texts at temperature 1. Then vLLM drafts by itself, with each way to verify, in 48 other
requests, and tells the tokens of a pass by its own counters. Writes
assets/results/estimate_vllm.json, the table of the page "Deploy".
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from measuring import RESULTS, save
from pages import table

from hsd.bench.prompts import prompt_set
from hsd.errors import HsdError
from hsd.http_client import json_of, read_counters
from hsd.paths import ASSETS, ROOT
from hsd.version import __version__

OUT = RESULTS / "estimate_vllm.json"
PYTHON = ROOT / ".vllm/bin/python"
PORT = 8103
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
PROMPTS = 12
SEEDS = 4
NEW_TOKENS = 64
TEMPERATURE = 1.0
LENGTHS = (2, 4)
RULES = {"tokenwise": "token-wise", "hsd": "HSD"}


def main() -> None:
    estimate = estimated()
    rows = []
    for gamma in LENGTHS:
        for rule in RULES:
            own = estimate["rules"][rule]
            row = {
                "gamma": gamma,
                "rule": rule,
                "estimate": own["tokens_per_pass"][gamma - 1],
                "interval": own["tokens_per_pass_interval"][gamma - 1],
                "counted": tokens_per_pass(gamma, rule),
            }
            print(row, flush=True)
            rows.append(row)
    found = {
        "what": "tokens a pass of vLLM's own drafting, beside hsd estimate of other texts",
        "version": __version__,
        "vllm": vllm_version(),
        "requests": PROMPTS * SEEDS,
        "rows": rows,
    }
    save(found, OUT)


def made() -> str:
    """Return the table of the page "Deploy", from what was measured."""
    found = json.loads(OUT.read_text(encoding="utf-8"))
    rows = []
    for row in found["rows"]:
        low, high = row["interval"]
        between = f"{row['estimate']:.3f} ({low:.3f}–{high:.3f})"
        rows.append([f"{row['gamma']}, {RULES[row['rule']]}", between, f"{row['counted']:.3f}"])
    return table(
        ["γ, rule", "estimate", f"vLLM {found['vllm']}, {found['requests']} requests"], rows
    )


def vllm_version() -> str:
    """Return the version of vLLM that the servers run."""
    asked = [PYTHON, "-c", "import importlib.metadata as m; print(m.version('vllm-cpu'))"]
    return subprocess.run(asked, check=True, capture_output=True, encoding="utf-8").stdout.strip()


def estimated() -> dict[str, Any]:
    """Return what `hsd estimate` says from the log-probabilities of two servers."""
    with served("target", PORT) as target, served("draft", PORT + 1) as draft:
        command = [
            sys.executable,
            "-m",
            "hsd",
            "estimate",
            "--json",
            f"--target={target}",
            f"--draft={draft}",
            "--prompts=stories",
            f"--limit={PROMPTS}",
            f"--seeds={SEEDS}",
            f"--new-tokens={NEW_TOKENS}",
            f"--temperature={TEMPERATURE:g}",
        ]
        told = subprocess.run(
            command, check=True, stdout=subprocess.PIPE, encoding="utf-8", cwd=ROOT
        )
        found: dict[str, Any] = json.loads(told.stdout)
        return found


def tokens_per_pass(gamma: int, rule: str) -> float:
    """Return what a pass of the target brings in vLLM, which verifies by its own rule or by HSD."""
    plugin: dict[str, Any] = {"record": 1} | ({"rule": "hsd"} if rule == "hsd" else {})
    draft = {
        "method": "draft_model",
        "model": str(TINY / "draft"),
        "num_speculative_tokens": gamma,
        "draft_sample_method": "probabilistic",
    }
    options = (
        f"--additional-config={json.dumps({'hsd': plugin})}",
        f"--speculative-config={json.dumps(draft)}",
    )
    with served("target", PORT, *options) as url:
        for prompt in prompt_set("stories", limit=PROMPTS).prompts:
            for seed in range(100, 100 + SEEDS):
                body = {
                    "model": "target",
                    "prompt": prompt,
                    "max_tokens": NEW_TOKENS,
                    "temperature": TEMPERATURE,
                    "seed": seed,
                }
                json_of(f"{url}/v1/completions", 120, body)
        counts = read_counters(url, "")
        return 1 + counts["accepted_tokens"] / counts["drafts"]


@contextmanager
def served(name: str, port: int, *options: str) -> Iterator[str]:
    """Start vLLM with one of the toy models, yield its address, and stop it."""
    command = [
        PYTHON,
        "-m",
        "vllm.entrypoints.openai.api_server",
        f"--model={TINY / name}",
        f"--served-model-name={name}",
        "--max-model-len=256",
        "--enforce-eager",
        "--dtype=float32",
        f"--port={port}",
        *options,
    ]
    log = Path(ROOT / "runs" / f"vllm-{port}.log")
    log.parent.mkdir(exist_ok=True)
    with log.open("w", encoding="utf-8") as lines:
        server = subprocess.Popen(
            command, env=os.environ | SETTINGS, stdout=lines, stderr=subprocess.STDOUT
        )
        try:
            url = f"http://127.0.0.1:{port}"
            wait(url)
            yield url
        finally:
            server.terminate()
            server.wait()


def wait(url: str) -> None:
    """Wait until a server answers. Raises HsdError where it does not."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            json_of(f"{url}/v1/models", 5)
            return
        except HsdError:
            if time.monotonic() > end:
                raise
            time.sleep(1)


if __name__ == "__main__":
    main()
