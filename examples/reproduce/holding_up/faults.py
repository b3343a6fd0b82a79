"""Cancelled, killed, and with nowhere to write: what was made stays, and the next run works."""

from __future__ import annotations

import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from visitor import FINISHED, ROOT, App, Values, Visitor

PHASES = ("asked", "waiting", "first step", "later", "ended")
LONG = {"prompt": "Once upon a time", "max_new_tokens": 200, "pair": "tiny", "temperature": 1.0}


def cancels(count: int, home: str) -> Values:
    """Cancel so many runs: before they are in the line, in it, at their first step, later, after
    their end.
    """
    app = App(HSD_HOME=home)
    visitor = Visitor(app.url)
    neighbour = Visitor(app.url)
    ended: Counter[str] = Counter()
    slowest = 0.0
    lost = 0
    for turn, phase in zip(range(count), itertools.cycle(PHASES), strict=False):
        ahead = neighbour.begin(**LONG, seed=turn) if phase == "waiting" else None
        run = visitor.begin(
            **{**LONG, "max_new_tokens": 8 if phase == "ended" else 200, "seed": turn}
        )
        steps = 0
        while phase not in ("asked", "waiting"):
            steps = len(run.steps)
            if (
                run.state in FINISHED
                or (phase == "first step" and steps)
                or (phase == "later" and steps > 8)
            ):
                break
            time.sleep(0.005)
        began = time.monotonic()
        run.cancel()
        if ahead:
            ahead.cancel()
        run.wait()
        slowest = max(slowest, time.monotonic() - began)
        lost += len(run.steps) < steps
        ended[f"{phase}: {run.state}"] += 1
    works = _works(visitor)
    app.stop()
    return {
        "cancels": count,
        "ended": dict(ended),
        "slowest_seconds": slowest,
        "lost": lost,
        "a_run_afterwards": works,
        "tracebacks": app.tracebacks,
    }


def kills(count: int, home: str) -> Values:
    """Kill the app so often in the middle of a run, and start it again on the same folders."""
    dice = random.Random(0)
    survived = 0
    told = Counter()
    for turn in range(count):
        app = App(HSD_HOME=home)
        visitor = Visitor(app.url)
        run = visitor.begin(**LONG, seed=turn)
        time.sleep(dice.random())
        app.stop(signal.SIGKILL)
        told[run.wait().message] += 1
    app = App(HSD_HOME=home)
    visitor = Visitor(app.url)
    survived = count if _works(visitor) else 0
    _, gone = visitor.call("explain_step", trace="a key of before", step=1)
    gone = gone["error"] if isinstance(gone, dict) else str(gone)
    app.stop()
    return {
        "kills": count,
        "survived": survived,
        "a_run_of_before": gone,
        "tracebacks": app.tracebacks,
    }


def places() -> Values:
    """Nowhere to write: folders that are read-only or full, for what is fetched and for what Gradio
    keeps.
    """
    found = {}
    for name, folder in (("read-only", _read_only), ("full", _full)):
        with folder() as place:
            if place is None:
                found[name] = "could not be made on this machine"
                continue
            fetched = _said(["fetch", "smollm2"], HSD_HOME=str(place / "home"))
            started = (
                _said(["app"], GRADIO_TEMP_DIR=str(place / "tmp")) if name == "read-only" else ""
            )
            app = App(HSD_HOME=str(place / "home"))
            works = _works(Visitor(app.url))
            app.stop()
            said = {"fetch": fetched, "app_with_that_temporary_folder": started}
            found[name] = {
                **{
                    what: words.replace(str(place), "FOLDER")
                    for what, words in said.items()
                    if words
                },
                "toy_pair_runs": works,
                "tracebacks": app.tracebacks,
            }
    return found


def own_models(home: str) -> Values:
    """Models of the visitor's own that cannot be had: what is said, and after how many seconds."""
    with tempfile.TemporaryDirectory() as folder:
        empty, huge, cut = (Path(folder) / name for name in ("empty", "huge", "cut"))
        for place in (empty, huge, cut):
            place.mkdir()
        shape = {
            "hidden_size": 8192,
            "num_hidden_layers": 80,
            "intermediate_size": 28672,
            "vocab_size": 128256,
        }
        config = {
            "model_type": "llama",
            "architectures": ["LlamaForCausalLM"],
            "num_attention_heads": 64,
            **shape,
        }
        (huge / "config.json").write_text(json.dumps(config), encoding="utf-8")
        tiny = ROOT / "assets" / "tiny" / "target"
        for file in tiny.iterdir():
            (cut / file.name).write_bytes(
                file.read_bytes()[: 10_000 if file.suffix == ".safetensors" else None]
            )
        shutil.copy(tiny / "tokenizer.json", huge)
        _declare(huge / "model.safetensors", rows=8_000_000, width=8192)
        asked = {
            "a folder that is not there": f"{folder}/nowhere",
            "a folder without a model": str(empty),
            "a model on the Hub, without a connection": "someone/some-model",
            "something that is not a model's name": "two words",
            "a model that is too large": str(huge),
            "weights that are cut off": str(cut),
        }
        app = App(HSD_HOME=home, HF_HUB_OFFLINE="0")
        visitor = Visitor(app.url)
        found = {}
        for what, source in asked.items():
            began = time.monotonic()
            run = visitor.begin(
                prompt="Hello", target=source, draft=source, max_new_tokens=4
            ).wait()
            words = run.message.replace(folder, "FOLDER")
            found[what] = {"answer": words, "seconds": time.monotonic() - began}
        works = _works(visitor)
        app.stop()
    return {"models": found, "a_run_afterwards": works, "tracebacks": app.tracebacks}


def traces(home: str) -> Values:
    """Hostile traces, opened as a page opens a file of the visitor's."""
    recorded = json.loads((ROOT / "assets" / "traces" / "four-drafts.json").read_bytes())
    step = recorded["steps"][0]
    nodes = step["nodes"]

    def with_nodes(count: int) -> str:
        return json.dumps({**recorded, "steps": [{**step, "nodes": nodes[:1] * count}]})

    def with_piece(piece: str) -> str:
        return json.dumps(
            {**recorded, "steps": [{**step, "nodes": [{**nodes[0], "piece": piece}, *nodes[1:]]}]}
        )

    def follows(place: int) -> Values:
        context = step["context_length"] + place * len(step["committed"])
        return {**step, "index": place, "context_length": context}

    hostile = {
        "a million nodes": with_nodes(1_000_000),
        "a hundred thousand nodes": with_nodes(100_000),
        "a thousand steps": json.dumps(
            {**recorded, "steps": [follows(place) for place in range(1_000)]}
        ),
        "NaN": json.dumps({**recorded, "result": {**recorded["result"], "seconds": float("nan")}}),
        "200,000 brackets": "[" * 200_000,
        "half a file": json.dumps(recorded)[:10_000],
        "a script in a token": with_piece("</script><script>alert(1)</script>"),
        "half a character": with_piece("\ud800"),
    }
    app = App(HSD_HOME=home)
    visitor = Visitor(app.url)
    found = {}
    for name, text in hostile.items():
        began = time.monotonic()
        reply = visitor.ask("check", {"text": text})
        took = time.monotonic() - began
        told = reply.json() if reply.status_code == 200 else {"error": reply.text}
        found[name] = {
            "answer": told.get("error", "opened"),
            "status": reply.status_code,
            "seconds": took,
        }
    works = _works(visitor)
    app.stop()
    return {"traces": found, "a_run_afterwards": works, "tracebacks": app.tracebacks}


def _said(words: list[str], **environment: str) -> str:
    """What a command that must fail says on standard error, its last line if there is progress
    before.
    """
    done = subprocess.run(
        [sys.executable, "-m", "hsd", *words],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
    )
    return (done.stderr.strip().splitlines() or [""])[-1] + f" (status {done.returncode})"


def _declare(file: Path, rows: int, width: int) -> None:
    """Write a sparse weights file whose header declares a size but takes no space."""
    size = 2 * rows * width
    header = json.dumps(
        {"w": {"dtype": "BF16", "shape": [rows, width], "data_offsets": [0, size]}}
    ).encode()
    with file.open("wb") as out:
        out.write(len(header).to_bytes(8, "little") + header)
        out.truncate(8 + len(header) + size)


def _works(visitor: Visitor) -> bool:
    return (
        visitor.call("run", prompt="Once upon a time", max_new_tokens=8, pair="tiny")[0]
        == "complete"
    )


@contextmanager
def _full() -> Iterator[Path | None]:
    """A file system of 1 MB."""
    with tempfile.TemporaryDirectory() as folder:
        options = ["-t", "tmpfs", "-o", "size=1m", "tmpfs", folder]
        if subprocess.run(["mount", *options], capture_output=True).returncode != 0:
            yield None
            return
        try:
            yield Path(folder)
        finally:
            subprocess.run(["umount", "-l", folder], check=True)


@contextmanager
def _read_only() -> Iterator[Path | None]:
    """A file system that nothing can be written to, by root either."""
    with _full() as folder:
        if folder is not None:
            for name in ("home", "tmp"):
                (folder / name).mkdir()
            subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
        yield folder
