"""What a visitor asks for, checked: from the controls, from a link or from the API, and back into a link."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from hsd.errors import HsdError
from hsd.loop import Options
from hsd.space import Space
from hsd.ui.pairs import OWN, PairChoice, choose

NUMBERS = ("gamma", "drafts", "temperature", "top_p", "top_k", "seed", "length")
NAMES = ("system", "rule", "tree", "shadow")
OPTION_NAMES = (*NAMES, *NUMBERS)
WHOLE = ("gamma", "drafts", "top_k", "seed", "length")
DEFAULTS: dict[str, Any] = {
    "pair": "",
    "target": "",
    "draft": "",
    "prompt": "",
    "system": "speculative",
    "rule": "hsd",
    "tree": "paths",
    "shadow": "",
    "gamma": 5,
    "drafts": 1,
    "temperature": 0.7,
    "top_p": 1.0,
    "top_k": 0,
    "seed": 0,
    "length": 64,
}


@dataclass(frozen=True)
class Request:
    """A run that may be made: everything in it has been checked against the manifest's limits."""

    pair: PairChoice
    prompt: str
    options: Options

    def option_dict(self) -> dict[str, Any]:
        """The options as plain data."""
        return asdict(self.options)

    def query(self) -> dict[str, str]:
        """The parameters of the link that asks for this run again."""
        o = self.options
        values: dict[str, Any] = {
            **(
                {"target": self.pair.target, "draft": self.pair.draft}
                if self.pair.name == OWN
                else {"pair": self.pair.name}
            ),
            "prompt": self.prompt,
            **{name: getattr(o, name) for name in ("rule", "gamma", "temperature", "top_p", "top_k", "seed")},
            "length": o.max_new_tokens,
            **{name: getattr(o, name) for name in ("system", "drafts", "tree", "shadow") if _said(o, name)},
        }
        return {key: f"{value:g}" if isinstance(value, float) else str(value) for key, value in values.items()}


def _said(options: Options, name: str) -> bool:
    """Whether a link must name this option: it is not what a request means by leaving it out."""
    return getattr(options, name) != DEFAULTS[name] and (name != "tree" or options.drafts > 1)


def read(space: Space, values: Mapping[str, Any]) -> Request:
    """Check `values` (names as in `DEFAULTS`; missing ones take the default; numbers may be text).

    Raises HsdError, one line, for the first thing that is wrong.
    """
    given = with_defaults(space, values)
    prompt = str(given["prompt"] or "")
    limits = space.limits
    if not prompt.strip():
        raise HsdError("the prompt is empty: type some text to continue")
    if len(prompt) > limits.prompt_characters:
        raise HsdError(
            f"the prompt has {len(prompt):,} characters, at most {limits.prompt_characters:,} are allowed: shorten it"
        )
    numbers = {name: _number(name, given[name]) for name in NUMBERS}
    for name, most in (("gamma", limits.gamma), ("drafts", limits.drafts), ("length", limits.max_new_tokens)):
        if not 1 <= numbers[name] <= most:
            raise HsdError(f"{_LABELS[name]} {numbers[name]:,}: choose a whole number from 1 to {most:,}")
    length = numbers.pop("length")
    named: dict[str, Any] = {name: str(given[name] or "") for name in NAMES}
    options = Options(max_new_tokens=length, **named, **numbers)
    pair = choose(space, str(given["pair"]), str(given["target"] or ""), str(given["draft"] or ""))
    return Request(pair, prompt, options)


def with_defaults(space: Space, values: Mapping[str, Any]) -> dict[str, Any]:
    """`values`, and what a request means by leaving something out."""
    return {**DEFAULTS, "pair": space.pairs[0].name, **values}


def shown_value(name: str, value: Any) -> Any:
    """What the control of that name shows for a value from a link; text that is no number becomes the default."""
    try:
        return _number(name, value) if name in _LABELS else value
    except HsdError:
        return DEFAULTS[name]


_LABELS = {
    "gamma": "draft length γ",
    "drafts": "drafts",
    "length": "length",
    "temperature": "temperature",
    "top_p": "top-p",
    "top_k": "top-k",
    "seed": "seed",
}


def _number(name: str, value: Any) -> Any:
    """`value` as the number that the option needs. Raises HsdError for anything else."""
    kind = "a whole number" if name in WHOLE else "a number"
    try:
        number = float(value)
    except (TypeError, ValueError):
        shown = "is empty" if value in (None, "") else repr(str(value)[:40])
        raise HsdError(f"{_LABELS[name]} {shown}: give {kind}") from None
    if not math.isfinite(number) or (name in WHOLE and number != int(number)):
        raise HsdError(f"{_LABELS[name]} {value}: give {kind}")
    return _exact(value, number) if name in WHOLE else number


def _exact(value: Any, number: float) -> int:
    """The whole number, with all digits of a large seed."""
    return int(value) if isinstance(value, (int, str)) and str(value).strip().lstrip("+-").isdigit() else int(number)
