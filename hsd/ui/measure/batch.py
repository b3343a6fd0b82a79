"""A batch that a visitor asks for, checked; the command line that repeats it, and the link to its settings."""

from __future__ import annotations

import argparse
import math
import os
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from hsd.bench import Case, prompt_set, shipped
from hsd.bench.command import make_cases
from hsd.bench.prompts import PUBLIC
from hsd.draft import LAYOUTS
from hsd.errors import HsdError
from hsd.space import Space
from hsd.ui.pairs import OWN, PairChoice, choose

MAX_CASES = 24
MAX_PROMPTS = 36
MAX_REPETITIONS = 10
DEFAULTS: dict[str, Any] = {
    "set": "shipped",
    "rules": ["tokenwise", "hsd"],
    "gammas": "3, 5, 10",
    "temperatures": "1",
    "several": "1",
    "arranged": "paths",
    "prompts": 4,
    "repetitions": 2,
    "tokens": 48,
}
PAIR_NAMES = ("pair", "target", "draft")


@dataclass(frozen=True)
class Batch:
    """What to measure: plain data, so that it can travel to another process. Everything in it has been checked."""

    pair: PairChoice
    set: str
    rules: tuple[str, ...]
    gammas: tuple[int, ...]
    temperatures: tuple[float, ...]
    several: tuple[int, ...]
    arranged: str
    prompts: int
    repetitions: int
    tokens: int

    def as_dict(self) -> dict[str, Any]:
        """The batch as plain data."""
        return asdict(self)

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Batch:
        """The batch of `as_dict`."""
        return Batch(**{**data, "pair": PairChoice(**data["pair"])})

    def cases(self) -> list[Case]:
        """Plain decoding and every combination, as `python -m hsd bench` makes them. Raises HsdError."""
        return make_cases(
            argparse.Namespace(
                rules=list(self.rules),
                gamma=list(self.gammas),
                temperature=list(self.temperatures),
                drafts=list(self.several),
                tree=self.arranged,
                limit=self.prompts,
                repetitions=self.repetitions,
                max_new_tokens=self.tokens,
                peer=None,
            )
        )

    def command(self) -> str:
        """The command line that measures the same elsewhere."""
        models = (
            ["--pair", self.pair.name]
            if self.pair.embedded
            else ["--target", str(self.pair.target), "--draft", str(self.pair.draft)]
        )
        words = ["python", "-m", "hsd", "bench", *models, "--prompts", self.set, "--limit", str(self.prompts)]
        words += ["--rules", ",".join(self.rules), "--gamma", _joined(self.gammas)]
        words += ["--temperature", _joined(self.temperatures)]
        if self.several != (1,):
            words += ["--drafts", _joined(self.several), "--tree", self.arranged]
        words += ["--repetitions", str(self.repetitions), "--max-new-tokens", str(self.tokens)]
        return shlex.join(words)

    def query(self) -> dict[str, str]:
        """The parameters of the link to these settings."""
        own = self.pair.name == OWN
        models = {"target": self.pair.target, "draft": self.pair.draft} if own else {"pair": self.pair.name}
        lists = {name: _joined(getattr(self, name)) for name in ("rules", "gammas", "temperatures", "several")}
        rest = {name: str(getattr(self, name)) for name in ("set", "arranged", "prompts", "repetitions", "tokens")}
        return {**{name: str(value) for name, value in models.items()}, **lists, **rest}

    def estimate(self, run_seconds: int) -> str:
        """How many runs that makes, in words."""
        ways, rounds = len(self.cases()), self.repetitions + 1
        prompts = (
            min(self.prompts, len(prompt_set(self.set).prompts)) if self.set in offered_shipped() else self.prompts
        )
        return (
            f"{_plural(ways, 'way')} to decode × {_plural(prompts, 'prompt')} × {rounds} rounds, of which the first "
            f"warms up and is not counted: {ways * prompts * rounds:,} runs of up to {_plural(self.tokens, 'token')}. "
            f"No run is begun after {run_seconds} s; what was measured by then stays."
        )


def read(space: Space, values: Mapping[str, Any]) -> Batch:
    """Check `values`: names as in `DEFAULTS` and `PAIR_NAMES`; missing ones take the default, numbers may be text.

    Raises HsdError, one line, for the first thing that is wrong.
    """
    given = {**DEFAULTS, "pair": space.pairs[0].name, "target": "", "draft": "", **values}
    limits, name = space.limits, str(given["set"])
    if name not in offered_sets():  # `prompt_set` would also open a file of that name
        raise HsdError(f"unknown prompt set {name[:40]!r}: choose {', '.join(offered_sets())}")
    if given["arranged"] not in LAYOUTS:
        raise HsdError(f"unknown tree {str(given['arranged'])[:40]!r}: choose {', '.join(LAYOUTS)}")
    batch = Batch(
        pair=choose(space, str(given["pair"]), str(given["target"] or ""), str(given["draft"] or "")),
        set=name,
        rules=_rules(given["rules"]),
        gammas=_several(given["gammas"], "draft lengths γ", lambda n: whole(n, "draft length γ", limits.gamma)),
        temperatures=_several(given["temperatures"], "temperatures", _temperature),
        several=_several(given["several"], "drafts", lambda n: whole(n, "drafts", limits.drafts)),
        arranged=str(given["arranged"]),
        prompts=whole(given["prompts"], "prompts", MAX_PROMPTS),
        repetitions=whole(given["repetitions"], "repetitions", MAX_REPETITIONS),
        tokens=whole(given["tokens"], "new tokens", limits.max_new_tokens),
    )
    ways = 1 + len(batch.rules) * len(batch.gammas) * len(batch.several)
    if ways * len(batch.temperatures) > MAX_CASES:
        raise HsdError(
            f"{ways * len(batch.temperatures):,} ways to decode are more than {MAX_CASES}: choose fewer rules, draft "
            "lengths, temperatures or drafts"
        )
    batch.cases()
    return batch


def offered_shipped() -> list[str]:
    """The prompt sets that every copy of the project has."""
    return ["shipped", *shipped()]


def offered_sets() -> list[str]:
    """The prompt sets that can be measured here: public ones only where a folder with them is named."""
    return [*offered_shipped(), *(PUBLIC if os.environ.get("HSD_DATA") else ())]


def whole(value: Any, name: str, most: int) -> int:
    """`value`, a number or text, as a whole number from 1 to `most`. Raises HsdError for anything else."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not (math.isfinite(number) and number == int(number) and 1 <= number <= most):
        said = "is empty" if value in (None, "") else str(value).strip()[:20]
        raise HsdError(f"{name} {said}: choose a whole number from 1 to {most}")
    return int(number)


def _temperature(value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not 0 <= number <= 2:
        raise HsdError(f"temperature {value.strip()[:20]}: choose a number from 0 to 2")
    return round(number, 2)  # more digits would not be told apart in the names of the cases


def _several(value: Any, name: str, one: Callable[[str], Any]) -> tuple[Any, ...]:
    """Numbers from text with commas, in order and each once. one: reads and checks one of them."""
    parts = [part.strip() for part in str("" if value is None else value).replace(";", ",").split(",") if part.strip()]
    if not parts:
        raise HsdError(f"{name} is empty: give one number, or several with commas")
    return tuple(dict.fromkeys(one(part) for part in parts[: 2 * MAX_CASES]))


def _rules(value: Any) -> tuple[str, ...]:
    names = value.split(",") if isinstance(value, str) else list(value or [])
    found = tuple(dict.fromkeys(str(name).strip()[:40] for name in names if str(name).strip()))
    if not found:
        raise HsdError("no rule is chosen: choose one or more")
    return found


def _joined(values: Iterable[Any]) -> str:
    return ",".join(f"{value:g}" if isinstance(value, float) else str(value) for value in values)


def _plural(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"
