"""Requests for runs: read and checked, from the page, a link or a program, and written as a link."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hsd.app import downloads
from hsd.app.pairs import OWN, PairChoice, choose
from hsd.decoding.options import RunOptions
from hsd.errors import HsdError
from hsd.models.loading.registry import draft_length
from hsd.space import Space

BESIDE = ("prompt", "pair", "target", "draft")
"""Parts of a request beside options. target, draft: models of the visitor's own, in place of the pair."""


@dataclass(frozen=True)
class Request:
    """A run that may be made: all of it is within the manifest's limits."""

    pair: PairChoice
    prompt: str
    options: RunOptions


def read(space: Space, values: Mapping[str, Any]) -> Request:
    """Return the request in `values`: `BESIDE` and options by name, former names too.

    Numbers may be text, lists "3, 5". What is missing or null takes the default; γ is then the pair's own. A run is
    always recorded. Raises HsdError, one line, for the first thing that is wrong.
    """
    options = {RunOptions.old.get(name, name): value for name, value in values.items() if value is not None}
    prompt, pair, target, draft = (str(options.pop(name, "")) for name in BESIDE)
    most = space.limits.prompt_characters
    if not prompt.strip():
        raise HsdError("the prompt is empty: type some text to continue")
    if len(prompt) > most:
        raise HsdError(f"the prompt has {len(prompt):,} characters, at most {most:,} are allowed: shorten it")
    pair = pair or downloads.first(space).name
    options = {"gamma": draft_length(None if target or draft else pair)} | options | {"trace": True}
    return Request(choose(space, pair, target, draft), prompt, RunOptions.read(options, space.limits.model_dump()))


def query(request: Request) -> dict[str, str]:
    """Return the parameters of the link that asks for this run again."""
    pair = request.pair
    models = {"target": str(pair.target), "draft": str(pair.draft)} if pair.name == OWN else {"pair": pair.name}
    return {**models, "prompt": request.prompt, **request.options.query()}
