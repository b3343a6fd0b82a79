"""The runs that the browser decodes, and those that it leaves to the app: one file of cases.

    PYTHONPATH=tests python tests/web/browser_subset.py

writes browser_subset.json, to which Python and the browser are both held.
"""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from safetensors.torch import save_file
from small_gguf import HEAD, TAPS, VOCAB, head_weights, write_gguf

import hsd
from hsd.models.loading.portable import load_small, load_small_head
from hsd.models.small.gguf import read_gguf
from hsd.rules import RULES

FILE = Path(__file__).with_suffix(".json")
END = 60  # of a text, in the random pair
SHARED: dict[str, Any] = {"prompt": "a text of some length", "gamma": 3, "max_new_tokens": 24}
RUNS: list[dict[str, Any]] = [
    *({"rule": rule.name} for rule in RULES.values() if not rule.recipe.clipped),
    {"rule": "hsd", "temperature": 0},
    {"rule": "hsd", "temperature": 0.7, "gamma": 1, "shadow": "agreement"},
    {"rule": "hsd", "top_k": 9, "top_p": 0.8, "seed": 2**40 + 1},
    {"rule": "blockwise", "top_p": 0.6, "seed": -4},
    {"rule": "naive-hsd", "gamma": 6, "seed": 2},
    {"rule": "hsd", "gamma": 11},
    {"rule": "hsd", "gamma": "auto"},
    {"rule": "hsd", "gamma": "auto", "temperature": 0.5, "max_new_tokens": 96},
    {"rule": "hsd", "gamma": "auto", "confidence": 0.02},
    {"rule": "tokenwise", "gamma": "auto", "confidence": 0.02, "temperature": 0.7, "top_k": 9},
    {"proposer": "ngram", "gamma": "auto", "temperature": 0.3},
    {"rule": "fuzzy", "divergence": "tv", "tolerance": 0.1, "fuzzy_mode": "divergence-only"},
    {"rule": "ensemble", "temperature": 0, "draft_weight": 0.4, "gamma": 3},
    {"rule": "ensemble", "temperature": 0, "draft_weight": 0.6, "proposer": "ngram"},
    {"rule": "hsd", "temperature": 0, "shadow": "ensemble"},
    {"rule": "typical", "after_kept": "likeliest", "epsilon": 0.01},
    {"system": "plain"},
    {"system": "plain", "rule": "coupled"},
    {"rule": "coupled", "gamma": 6, "seed": 2**40 + 1},
    {"rule": "coupled", "temperature": 0},
    {"rule": "coupled", "top_k": 9, "top_p": 0.8, "shadow": "agreement"},
    {"rule": "hsd", "shadow": "coupled"},
    {"rule": "coupled", "proposer": "ngram", "temperature": 0.3},
    {"proposer": "ngram", "temperature": 0.3},
    {"proposer": "ngram", "rule": "naive-hsd", "temperature": 0.3},
    {"rule": "hsd", "forced": [3, 60, 41]},
]
LEFT: list[tuple[dict[str, Any], str]] = [
    ({"system": "stack"}, "for system stack run the app"),
    (
        {"system": "stack", "stack": [0, 1], "thresholds": [2], "level_rules": []},
        "for system stack run the app",
    ),
    ({"system": "hispec", "exits": [2, 4]}, "for system hispec run the app"),
    ({"drafts": 2, "rule": "hsd", "tree": "comb"}, "choose drafts 1"),
    ({"drafts": 2, "rule": "one-hot", "tree": "grown", "nodes": 6}, "choose drafts 1"),
    ({"rule": "fuzzy", "divergence_on": "raw"}, "divergences of raw rows"),
    ({"rule": "clipped"}, "rule clipped needs the app"),
    ({"rule": "hsd", "shadow": "clipped-hsd"}, "rule clipped-hsd needs the app"),
]


class Letters:
    """A codec without a tokenizer: one token for each character."""

    vocab_size = VOCAB
    end_ids = frozenset({END})

    def encode(self, text: str) -> list[int]:
        return [ord(letter) % VOCAB for letter in text]

    def decode(self, ids: list[int]) -> str:
        return "".join(map(self.piece, ids))

    def piece(self, token: int) -> str:
        return f"<{token}>"


def small_pair(folder: Path) -> tuple[hsd.Pair, list[Path]]:
    """Write a random pair of the engine's shape; return it with the files of its target and its
    head.
    """
    files = [folder / "small.gguf", folder / "model.safetensors"]
    write_gguf(files[0])
    weights = head_weights()
    save_file(weights, files[1])
    target = load_small(read_gguf(files[0]), "small", "", TAPS)
    (folder / "config.json").write_text(json.dumps(HEAD), encoding="utf-8")
    head = load_small_head(folder, target, "small head", None)
    return hsd.Pair("smollm2", target, head, Letters(), ""), files


def outcome(trace: dict[str, Any]) -> dict[str, Any]:
    """Return what is compared of a run in the file: its tokens, how many each step kept, and why it
    ended.
    """
    steps = trace["steps"]
    tokens = [committed["token"] for step in steps for committed in step["committed"]]
    return {
        "tokens": tokens,
        "kept": [step["kept"] for step in steps],
        "finish": trace["result"]["finish"],
    }


def decoded(pair: hsd.Pair, **options: Any) -> dict[str, Any]:
    """Return the trace of a run in Python, as plain data."""
    trace: dict[str, Any] = json.loads(hsd.run(pair, engine="portable", **options).to_json())
    return trace


if __name__ == "__main__":
    with TemporaryDirectory() as place:
        pair, _ = small_pair(Path(place))
        runs = [{"options": one, **outcome(decoded(pair, **SHARED | one))} for one in RUNS]
    lines = [json.dumps(one, ensure_ascii=False) for one in runs]
    left = [json.dumps({"options": one, "line": line}, ensure_ascii=False) for one, line in LEFT]
    body = ",\n  ".join(lines), ",\n  ".join(left)
    FILE.write_text(f'{{"runs": [\n  {body[0]}\n], "left": [\n  {body[1]}\n]}}\n', encoding="utf-8")
