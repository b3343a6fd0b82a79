"""What a visitor asks a run to be, checked: from the controls, from a link or from the API, and back into a link."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hsd.decoding.options import RunOptions
from hsd.errors import HsdError
from hsd.space import Space
from hsd.ui import form
from hsd.ui.pairs import OWN, PairChoice, choose

OPTIONS = tuple(field for field in form.RUN if field.name not in ("prompt", *form.MODELS))


@dataclass(frozen=True)
class Request:
    """A run that may be made: everything in it has been checked against the manifest's limits."""

    pair: PairChoice
    prompt: str
    options: RunOptions

    def option_dict(self) -> dict[str, Any]:
        """The options as plain data: keywords of `hsd.run`."""
        return {_keyword(field.name): getattr(self.options, _keyword(field.name)) for field in OPTIONS}

    def query(self) -> dict[str, str]:
        """The parameters of the link that asks for this run again."""
        values = {field.name: getattr(self.options, _keyword(field.name)) for field in OPTIONS}
        if self.options.drafts == 1:
            del values["tree"]
        return {**pair_query(self.pair), **form.said(form.RUN, {"prompt": self.prompt, **values})}


def pair_query(pair: PairChoice) -> dict[str, str]:
    """The parameters of a link that name a pair."""
    return {"target": str(pair.target), "draft": str(pair.draft)} if pair.name == OWN else {"pair": pair.name}


def _keyword(name: str) -> str:
    """The keyword of `hsd.run` for a field."""
    return "max_new_tokens" if name == "length" else name


def field_name(keyword: str) -> str:
    """The field for a keyword of `hsd.run`."""
    return "length" if keyword == "max_new_tokens" else keyword


def read(space: Space, values: Mapping[str, Any]) -> Request:
    """Check `values`: names as in `form.RUN`; missing ones take the default; numbers may be text, lists "3, 5".

    Raises HsdError, one line, for the first thing that is wrong.
    """
    given = form.with_defaults(form.RUN, space, values)
    prompt, most = str(given["prompt"] or ""), space.limits.prompt_characters
    if not prompt.strip():
        raise HsdError("the prompt is empty: type some text to continue")
    if len(prompt) > most:
        raise HsdError(f"the prompt has {len(prompt):,} characters, at most {most:,} are allowed: shorten it")
    found = {_keyword(name): value for name, value in form.read(OPTIONS, space, given).items()}
    options = RunOptions(**found)
    _ = options.fuzzy  # checked also where the rule does not need it
    return Request(read_pair(space, given), prompt, options)


def read_pair(space: Space, given: Mapping[str, Any]) -> PairChoice:
    """The pair that is asked for. Raises HsdError when it is not offered here."""
    return choose(space, str(given["pair"]), str(given["target"] or ""), str(given["draft"] or ""))
