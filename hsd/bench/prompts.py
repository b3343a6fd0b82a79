"""Prompt sets: the few that ship with the project, and larger public ones.

A set is a list of texts. Public sets are read from a folder (`--data`, or the environment variable
HSD_DATA) that holds them as they are published, or fetched from the Hub where there is a network
and the package `datasets`.
"""

import itertools
import json
import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hsd.bench.files import prompts_in, read_prompts
from hsd.errors import HsdError
from hsd.paths import ASSETS, read_yaml

PUBLIC: dict[str, dict[str, Any]] = read_yaml(Path(__file__).with_suffix(".yaml"))
# sets of all kinds in turn, and their files
MIXED = {"shipped": "shipped.json", "chat": "chat.json"}


@dataclass(frozen=True)
class PromptSet:
    """Texts to decode, and where they come from, in words for a report.

    kinds: the kind of each text, where there are several.
    """

    name: str
    source: str
    prompts: list[str]
    kinds: list[str] = field(default_factory=list)


def prompt_set(name: str, data: Path | None = None, limit: int = 0) -> PromptSet:
    """Return the prompt set of that name.

    A shipped one (stories, sums, functions, or shipped for all; chat: questions for a model that
    answers, four kinds in turn), a public one (gsm8k, humaneval, spec_bench, speed_bench, the last
    two also as NAME:CATEGORY), or a file as `hsd.bench.files` reads it; FILE:CATEGORY for those of
    one category.

    Several names with commas are a set of several kinds, in turn. limit: at most so many of each, 0
    for all. A public set that is neither in `data` nor on the Hub is replaced by the shipped
    prompts of its style, and `source` says so. Raises HsdError, naming file and line, when
    something cannot be read.
    """
    if "," in name and not _file(name):
        return _joined(name, [prompt_set(one.strip(), data, limit) for one in name.split(",")])
    whole = _find(name, data)
    kept = [i for i, text in enumerate(whole.prompts) if text.strip()][: limit or None]
    if not kept:
        raise HsdError(f"prompt set {name!r} is empty: choose another one")
    prompts = [whole.prompts[i].rstrip() for i in kept]
    kinds = [whole.kinds[i] for i in kept if whole.kinds]
    return replace(whole, prompts=prompts, kinds=kinds)


def _joined(name: str, sets: list[PromptSet]) -> PromptSet:
    """Interleave the sets: the first text of each, then the second of each, and so on."""
    source = "; ".join(f"{one.name}: {one.source}" for one in sets)
    turns = itertools.zip_longest(*([(text, one.name) for text in one.prompts] for one in sets))
    texts = [text_and_kind for turn in turns for text_and_kind in turn if text_and_kind]
    return PromptSet(name, source, [text for text, _ in texts], [kind for _, kind in texts])


def _find(name: str, data: Path | None) -> PromptSet:
    base, _, category = name.partition(":")
    if name in shipped():
        return PromptSet(name, "written for this project", shipped()[name])
    if name in MIXED:
        sets = [PromptSet(kind, "", texts) for kind, texts in shipped(MIXED[name]).items()]
        return replace(_joined(name, sets), source="written for this project")
    if base in PUBLIC:
        return _public(base, category, data)
    for named, _, kind in ((name, "", ""), name.rpartition(":")):
        if file := _file(named):
            return PromptSet(Path(name).name, *read_prompts(file, kind))
    known = ", ".join([*shipped(), *MIXED, *PUBLIC])
    raise HsdError(
        f"unknown prompt set {name!r}: choose {known}, or give a file with one prompt per line"
    )


def _file(name: str) -> Path | None:
    """Return the path of an existing file or folder, None if there is none."""
    path = os.path.expanduser(name)
    return Path(path) if name and os.path.exists(path) else None


def _public(name: str, category: str, data: Path | None) -> PromptSet:
    public = PUBLIC[name]
    where = data or os.environ.get("HSD_DATA")
    path = Path(where or "").expanduser() / public["file"]
    source = public["hub"][0]
    if where and not path.is_file():
        raise HsdError(f"no file {str(path)!r}: give a folder that holds the benchmark prompts")
    if where:
        source = public["file"]
        _, texts = read_prompts(path, category)
    elif rows := _from_hub(*public["hub"]):
        numbered = [(f"row {number}", row) for number, row in enumerate(rows, start=1)]
        _, texts = prompts_in(numbered, category, source)
    else:
        style = f"{public['style']}, in the style of {name}"
        why = "written for this project (no folder with public sets was given: --data)"
        return PromptSet(style, why, shipped()[public["style"]])
    full_name = f"{name}:{category}" if category else name
    return PromptSet(full_name, source, list(map(public["form"].format, texts)))


def _from_hub(name: str, configuration: str | None = None, split: str = "") -> list[dict[str, Any]]:
    """Return the rows of a dataset on the Hub.

    The list is empty where the Hub cannot be reached or the name is "".
    """
    if not name or os.environ.get("HF_HUB_OFFLINE") == "1":
        return []
    try:
        from datasets import load_dataset

        return list(load_dataset(name, configuration, split=split))
    except Exception:
        # no such package, no network, no such revision, a changed layout: there are a dozen kinds
        return []


def shipped(file: str = MIXED["shipped"]) -> dict[str, list[str]]:
    """Return the prompts written for this project, by domain. file: in assets/prompts."""
    text = (ASSETS / "prompts" / file).read_text(encoding="utf-8")
    prompts: dict[str, list[str]] = json.loads(text)
    return prompts
