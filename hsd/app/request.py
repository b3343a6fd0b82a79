"""A visitor's request for a run, checked: from the page, from a link or from a program, and back into a link."""

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
"""What a request names beside options. target, draft: models of the visitor's own, in place of the pair."""


@dataclass(frozen=True)
class Request:
    """A run that may be made: everything in it has been checked against the manifest's limits."""

    pair: PairChoice
    prompt: str
    options: RunOptions

    def option_dict(self) -> dict[str, Any]:
        """The options as plain data: keywords of `hsd.run`."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in self.options}


def read(space: Space, values: Mapping[str, Any]) -> Request:
    """Check `values`: `BESIDE` and options by name, former names too; numbers may be text, lists "3, 5".

    What is missing or null takes the default; γ is then the pair's own. A run is always recorded. Raises HsdError, one
    line, for the first thing that is wrong.
    """
    given = {RunOptions.old.get(name, name): value for name, value in values.items() if value is not None}
    prompt, pair, target, draft = (str(given.pop(name, "")) for name in BESIDE)
    most = space.limits.prompt_characters
    if not prompt.strip():
        raise HsdError("the prompt is empty: type some text to continue")
    if len(prompt) > most:
        raise HsdError(f"the prompt has {len(prompt):,} characters, at most {most:,} are allowed: shorten it")
    pair = pair or downloads.first(space).name
    options = {"gamma": draft_length(None if target or draft else pair)} | given | {"trace": True}
    return Request(choose(space, pair, target, draft), prompt, RunOptions.read(options, space.limits.model_dump()))


def query(request: Request) -> dict[str, str]:
    """The parameters of the link that asks for this run again."""
    pair = request.pair
    models = {"target": str(pair.target), "draft": str(pair.draft)} if pair.name == OWN else {"pair": pair.name}
    return {**models, "prompt": request.prompt, **request.options.query()}
