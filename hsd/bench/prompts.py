"""Prompt sets: the few that ship with the project, and larger public ones from a folder or from the Hub.

A set is a list of texts. Public sets are read from a folder (`--data`, or the environment variable HSD_DATA) that holds
them as they are published, or fetched from the Hub where there is a network and the package `datasets`.
"""

from __future__ import annotations

import gzip
import itertools
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hsd.errors import HsdError
from hsd.paths import EXAMPLES

Row = dict[str, Any]


@dataclass(frozen=True)
class PublicSet:
    """A public prompt set. file: its place in a folder; hub: dataset, configuration, split, if it is whole there.

    style: a shipped set.
    """

    file: str
    hub: tuple[str, str | None, str] | None
    style: str
    prompt: Callable[[Row], str]


UNRESOLVED = "FULL BENCHMARK DATA SHOULD BE FETCHED"  # how SPEED-Bench marks a prompt that its own script must fetch


def _turn(row: Row) -> str:
    """The text of a prompt; for a conversation, its first turn."""
    turns = row.get("turns") or row["prompt"]
    text = turns[0] if isinstance(turns, list) else turns
    if not isinstance(text, str):
        raise TypeError("not a text")
    if text.startswith(UNRESOLVED):
        raise HsdError("a prompt is a placeholder: prepare the file with the set's own script first")
    return text


PUBLIC = {
    "gsm8k": PublicSet(
        "gsm8k/test.jsonl", ("openai/gsm8k", "main", "test"), "sums", lambda r: f"Question: {r['question']}\nAnswer:"
    ),
    "humaneval": PublicSet(
        "humaneval/HumanEval.jsonl.gz",
        ("openai/openai_humaneval", None, "test"),
        "functions",
        lambda r: str(r["prompt"]),
    ),
    "spec_bench": PublicSet("spec_bench/question.jsonl", ("hemingkx/Spec-Bench", None, "test"), "stories", _turn),
    "speed_bench": PublicSet("speed_bench/qualitative.jsonl", None, "stories", _turn),
}


MIXED = {"shipped": "prompts.json", "chat": "prompts_chat.json"}  # sets of all kinds in turn, and their files


@dataclass(frozen=True)
class PromptSet:
    """Texts to decode, and where they come from, in words for a report; the kind of each, where there are several."""

    name: str
    source: str
    prompts: list[str]
    kinds: list[str] = field(default_factory=list)


def prompt_set(name: str, data: Path | None = None, limit: int = 0) -> PromptSet:
    """The set of that name.

    A shipped one (stories, sums, functions, or shipped for all; chat: questions for a model that answers, four kinds
    in turn), a public one (gsm8k, humaneval, spec_bench, speed_bench, the last two also as NAME:CATEGORY), or a file
    with one prompt per line, plain or as JSON with a field "prompt" or, as SPEED-Bench has it, "turns", of which the
    first is taken; FILE:CATEGORY for those of one category.

    Several names with commas are a set of several kinds, in turn. limit: at most so many of each, 0 for all. A public
    set that is neither in `data` nor on the Hub is replaced by the shipped prompts of its style, and `source` says so.
    Raises HsdError, naming file and line, when something cannot be read.
    """
    if "," in name and not Path(name).expanduser().is_file():
        return _joined(name, [prompt_set(one.strip(), data, limit) for one in name.split(",")])
    found = _find(name, data)
    kept = [i for i, text in enumerate(found.prompts) if text.strip()][: limit or None]
    if not kept:
        raise HsdError(f"prompt set {name!r} is empty: choose another one")
    prompts, kinds = [found.prompts[i].rstrip() for i in kept], [found.kinds[i] for i in kept if found.kinds]
    return replace(found, prompts=prompts, kinds=kinds)


def _joined(name: str, sets: list[PromptSet]) -> PromptSet:
    """The first text of each set, the second of each, …"""
    source = "; ".join(f"{one.name}: {one.source}" for one in sets)
    turns = itertools.zip_longest(*([(text, one.name) for text in one.prompts] for one in sets))
    texts = [found for turn in turns for found in turn if found]
    return PromptSet(name, source, [text for text, _ in texts], [kind for _, kind in texts])


def _find(name: str, data: Path | None) -> PromptSet:
    base, _, category = name.partition(":")
    if name in shipped():
        return PromptSet(name, "written for this project", shipped()[name])
    if name in MIXED:
        sets = [PromptSet(kind, "", texts) for kind, texts in _written(MIXED[name]).items()]
        return replace(_joined(name, sets), source="written for this project")
    if base in PUBLIC:
        return _public(base, category, data)
    for file, kind in ((name, ""), (name.rpartition(":")[0], name.rpartition(":")[2])):
        if file and Path(file).expanduser().is_file():
            return PromptSet(Path(name).name, "a file", _own(Path(file).expanduser(), kind))
    known = ", ".join([*shipped(), *MIXED, *PUBLIC])
    raise HsdError(f"unknown prompt set {name!r}: choose {known}, or give a file with one prompt per line")


def _public(name: str, category: str, data: Path | None) -> PromptSet:
    public, where = PUBLIC[name], data or os.environ.get("HSD_DATA")
    if where:
        rows, source = _json_lines(Path(where).expanduser() / public.file), public.file
    else:
        rows, source = _from_hub(public.hub) if public.hub else [], public.hub[0] if public.hub else ""
    if not rows:
        style = f"{public.style}, in the style of {name}"
        return PromptSet(
            style, "written for this project (no folder with public sets was given: --data)", shipped()[public.style]
        )
    rows = _of_category(rows, category, name)
    try:
        return PromptSet(f"{name}:{category}" if category else name, source, [public.prompt(row) for row in rows])
    except (KeyError, TypeError, IndexError):
        raise HsdError(f"{source} does not have the fields of {name}: give the published file") from None


def _of_category(rows: list[Row], category: str, name: str) -> list[Row]:
    """The rows of one category; all of them where none is asked for."""
    found = [r for r in rows if not category or r.get("category") == category]
    if rows and not found:
        kinds = sorted({str(r.get("category")) for r in rows})
        raise HsdError(f"{name} has no category {category!r}: choose {', '.join(kinds)}")
    return found


def _from_hub(where: tuple[str, str | None, str]) -> list[Row]:
    """The rows of a dataset on the Hub; none where that cannot be reached."""
    if os.environ.get("HF_HUB_OFFLINE") == "1":
        return []
    try:
        from datasets import load_dataset
    except ImportError:
        return []
    name, configuration, split = where
    try:
        return list(load_dataset(name, configuration, split=split))
    except Exception:  # no network, no such revision, a changed layout: the library raises a dozen kinds
        return []


def _own(path: Path, category: str) -> list[str]:
    """A file of one's own: JSON lines with a field "prompt" or "turns", or one prompt per line."""
    lines = [line for line in _lines(path) if line.strip()]
    if not lines or not lines[0].lstrip().startswith("{"):
        if category:
            raise HsdError(f"{str(path)!r} has plain lines, which have no category {category!r}: leave it out")
        return lines
    rows = _json_lines(path)
    for number, row in enumerate(rows, start=1):
        where = f"line {number} of {str(path)!r}"
        try:
            _turn(row)
        except HsdError as error:
            raise HsdError(f"{where}: {error}") from None
        except (AttributeError, KeyError, TypeError, IndexError):
            raise HsdError(f'{where} has no field "prompt" with a text: add or remove it') from None
    return [_turn(row) for row in _of_category(rows, category, repr(str(path)))]


def shipped() -> dict[str, list[str]]:
    """Domain → prompts written for this project."""
    return _written(MIXED["shipped"])


def _written(file: str) -> dict[str, list[str]]:
    prompts: dict[str, list[str]] = json.loads((EXAMPLES / file).read_text(encoding="utf-8"))
    return prompts


def _lines(path: Path) -> list[str]:
    if not path.is_file():
        raise HsdError(f"no file {str(path)!r}: give a folder that holds the benchmark prompts")
    try:
        data = path.read_bytes()
        return (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8").splitlines()
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise HsdError(f"cannot read {str(path)!r}: {' '.join(str(error).split())[:120]}") from None


def _json_lines(path: Path) -> list[Row]:
    rows = []
    for number, line in enumerate(_lines(path), start=1):
        try:
            rows.append(json.loads(line))
        except ValueError:
            raise HsdError(f"line {number} of {str(path)!r} is not JSON: repair or remove it") from None
    return rows
