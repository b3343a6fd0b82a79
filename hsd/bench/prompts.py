"""Prompt sets: the few that ship with the project, and larger public ones read from a folder."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from hsd.errors import HsdError
from hsd.paths import EXAMPLES


def shipped() -> dict[str, list[str]]:
    """Domain → prompts written for this project."""
    prompts: dict[str, list[str]] = json.loads((EXAMPLES / "prompts.json").read_text(encoding="utf-8"))
    return prompts


def read_folder(folder: Path, count: int) -> dict[str, list[str]]:
    """Domain → up to `count` prompts of public benchmarks that the embedded models never saw.

    sums: GSM8K's test questions (`gsm8k/test.jsonl`); functions: HumanEval (`humaneval/HumanEval.jsonl.gz`).
    Raises HsdError, naming the file, when one is missing or malformed.
    """
    return {
        "sums": [_question(row) for row in _json_lines(folder / "gsm8k" / "test.jsonl")][:count],
        "functions": [str(row["prompt"]) for row in _json_lines(folder / "humaneval" / "HumanEval.jsonl.gz")][:count],
    }


def _question(row: dict[str, str]) -> str:
    return f"Question: {row['question']}\nAnswer:"


def _lines(path: Path) -> list[str]:
    if not path.is_file():
        raise HsdError(f"no file {str(path)!r}: give a folder that holds the benchmark prompts")
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8").splitlines()


def _json_lines(path: Path) -> list[dict[str, str]]:
    rows = []
    for number, line in enumerate(_lines(path), start=1):
        try:
            rows.append(json.loads(line))
        except ValueError:
            raise HsdError(f"line {number} of {str(path)!r} is not JSON: repair or remove it") from None
    return rows
