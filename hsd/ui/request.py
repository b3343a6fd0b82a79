"""What a visitor asks for, checked: from the controls, from a link or from the API, and back into a link."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from hsd.decoding.options import MAX_LEVELS, Options
from hsd.errors import HsdError
from hsd.space import Space
from hsd.ui.pairs import OWN, PairChoice, choose

NUMBERS = ("gamma", "drafts", "temperature", "top_p", "top_k", "seed", "length", "tolerance")
NAMES = ("system", "rule", "tree", "shadow", "divergence", "fuzzy_mode", "divergence_on")
LISTS = ("stack", "exits", "thresholds", "level_rules")
OPTION_NAMES = (*NAMES, *NUMBERS, *LISTS)
SAID = ("system", "drafts", "tree", "shadow", *LISTS, "divergence", "tolerance", "fuzzy_mode", "divergence_on")
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
    **{name: getattr(Options, name) for name in (*LISTS, "divergence", "tolerance", "fuzzy_mode", "divergence_on")},
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
            **{name: getattr(o, name) for name in SAID if _said(o, name)},
        }
        return {key: _linked(value) for key, value in values.items()}


def _said(options: Options, name: str) -> bool:
    """Whether a link must name this option: it is not what a request means by leaving it out."""
    return getattr(options, name) != DEFAULTS[name] and (name != "tree" or options.drafts > 1)


def _linked(value: Any) -> str:
    """A value as a link has it: lists as "3_5"."""
    if isinstance(value, tuple):
        return "_".join(map(str, value))
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def read(space: Space, values: Mapping[str, Any]) -> Request:
    """Check `values` (names as in `DEFAULTS`; missing ones take the default; numbers may be text, lists "3, 5").

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
    lists: dict[str, Any] = {name: _list(name, given[name] or ()) for name in LISTS}
    too_large = next((threshold for threshold in lists["thresholds"] if threshold > limits.gamma), None)
    if too_large:
        raise HsdError(f"threshold {too_large:,}: choose a whole number from 1 to {limits.gamma:,}")
    options = Options(max_new_tokens=length, **named, **numbers, **lists)
    _ = options.fuzzy  # checked also where the rule does not need it
    pair = choose(space, str(given["pair"]), str(given["target"] or ""), str(given["draft"] or ""))
    return Request(pair, prompt, options)


def with_defaults(space: Space, values: Mapping[str, Any]) -> dict[str, Any]:
    """`values`, and what a request means by leaving something out."""
    return {**DEFAULTS, "pair": space.pairs[0].name, **values}


def shown_value(name: str, value: Any) -> Any:
    """What the control of that name shows for a value from a link; text that is no number becomes the default."""
    try:
        return _number(name, value) if name in NUMBERS else value
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
    "tolerance": "tolerance",
    "stack": "models of the stack",
    "exits": "exits",
    "thresholds": "thresholds",
    "level_rules": "level rules",
}
_EXAMPLES = {"stack": "0, 1, 2", "exits": "2, 4", "thresholds": "3, 5", "level_rules": "tokenwise, hsd"}


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


def _list(name: str, value: Any) -> tuple[Any, ...]:
    """`value`, a list or text such as "3, 5", as the option needs it. Raises HsdError for anything else."""
    entries = [part for part in re.split(r"[\s,_]+", value) if part] if isinstance(value, str) else value
    if not isinstance(entries, Sequence):
        raise _wrong_entry(name, value)
    if len(entries) > MAX_LEVELS:
        raise HsdError(f"{len(entries)} {_LABELS[name]}: give at most {MAX_LEVELS}")
    return tuple(_name(name, entry) if name == "level_rules" else _place(name, entry) for entry in entries)


def _name(name: str, entry: Any) -> str:
    if not isinstance(entry, str):
        raise _wrong_entry(name, entry)
    return entry[:100]


def _place(name: str, entry: Any) -> int:
    if isinstance(entry, bool) or not re.fullmatch(r"-?\d{1,9}(\.0)?", str(entry)):
        raise _wrong_entry(name, entry)
    return int(float(entry))


def _wrong_entry(name: str, entry: Any) -> HsdError:
    kind = "names" if name == "level_rules" else "whole numbers"
    return HsdError(f"{_LABELS[name]} {str(entry)[:40]!r}: give {kind} separated by commas, such as {_EXAMPLES[name]}")
