"""A batch that a visitor asks for, checked; the command line that repeats it, and the link to its settings."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from hsd.bench import Case, prompt_set, shipped
from hsd.bench.command import make_cases
from hsd.bench.prompts import PUBLIC
from hsd.decoding.options import Options
from hsd.draft import LAYOUTS
from hsd.errors import HsdError
from hsd.space import Space
from hsd.ui.measure import entries
from hsd.ui.pairs import OWN, PairChoice, choose

MAX_CASES = 24
MAX_PROMPTS = 36
MAX_REPETITIONS = 10
MAX_EXIT = 1_000
DEFAULTS: dict[str, Any] = {
    "set": "shipped",
    "rules": ["tokenwise", "hsd"],
    "gammas": "3, 5, 10",
    "temperatures": "1",
    "several": "1",
    "arranged": "paths",
    "systems": [],
    "thresholds": "",
    "exits": "",
    "tolerance": f"{Options.tolerance:g}",
    "prompts": 4,
    "repetitions": 2,
    "tokens": 48,
}
OFTEN_LEFT = ("systems", "thresholds", "exits", "tolerance")  # not in a link that leaves them as they are
PAIR_NAMES = ("pair", "target", "draft")


@dataclass(frozen=True)
class Batch:
    """What to measure: plain data, so that it can travel to another process. Everything in it has been checked.

    systems: measured with every rule beside speculative decoding. thresholds, exits: theirs; () takes the usual ones.
    """

    pair: PairChoice
    set: str
    rules: tuple[str, ...]
    gammas: tuple[int, ...]
    temperatures: tuple[float, ...]
    several: tuple[int, ...]
    arranged: str
    systems: tuple[str, ...]
    thresholds: tuple[int, ...]
    exits: tuple[int, ...]
    tolerance: float
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
                systems=["speculative", *self.systems],
                thresholds=list(self.thresholds),
                exits=list(self.exits),
                tolerance=[self.tolerance],
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
        if self.systems:
            words += ["--systems", _joined(("speculative", *self.systems))]
        for name in ("thresholds", "exits"):
            words += [f"--{name}", _joined(getattr(self, name))] if self.systems and getattr(self, name) else []
        words += [f"--tolerance={self.tolerance:g}"] if "fuzzy" in self.rules else []
        words += ["--repetitions", str(self.repetitions), "--max-new-tokens", str(self.tokens)]
        return shlex.join(words)

    def query(self) -> dict[str, str]:
        """The parameters of the link to these settings."""
        own = self.pair.name == OWN
        models = {"target": self.pair.target, "draft": self.pair.draft} if own else {"pair": self.pair.name}
        values = {name: _said(getattr(self, name)) for name in DEFAULTS}
        usual = {name: _said(DEFAULTS[name]) for name in OFTEN_LEFT}
        told = {name: value for name, value in values.items() if usual.get(name) != value}
        return {**{name: str(value) for name, value in models.items()}, **told}

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
        rules=entries.rules(given["rules"]),
        gammas=entries.several(
            given["gammas"], "draft lengths γ", lambda n: entries.whole(n, "draft length γ", limits.gamma)
        ),
        temperatures=entries.several(given["temperatures"], "temperatures", entries.temperature),
        several=entries.several(given["several"], "drafts", lambda n: entries.whole(n, "drafts", limits.drafts)),
        arranged=str(given["arranged"]),
        systems=entries.systems(given["systems"]),
        thresholds=entries.levels(
            given["thresholds"], "thresholds", lambda n: entries.whole(n, "threshold", limits.gamma)
        ),
        exits=entries.levels(given["exits"], "exits", lambda n: entries.whole(n, "exit", MAX_EXIT)),
        tolerance=entries.tolerance(given["tolerance"]),
        prompts=entries.whole(given["prompts"], "prompts", MAX_PROMPTS),
        repetitions=entries.whole(given["repetitions"], "repetitions", MAX_REPETITIONS),
        tokens=entries.whole(given["tokens"], "new tokens", limits.max_new_tokens),
    )
    ways = 1 + len(batch.rules) * (len(batch.gammas) * len(batch.several) + len(batch.systems))
    if ways * len(batch.temperatures) > MAX_CASES:
        raise HsdError(
            f"{ways * len(batch.temperatures):,} ways to decode are more than {MAX_CASES}: choose fewer rules, draft "
            "lengths, temperatures, drafts or systems"
        )
    batch.cases()
    return batch


def offered_shipped() -> list[str]:
    """The prompt sets that every copy of the project has."""
    return ["shipped", *shipped()]


def offered_sets() -> list[str]:
    """The prompt sets that can be measured here: public ones only where a folder with them is named."""
    return [*offered_shipped(), *(PUBLIC if os.environ.get("HSD_DATA") else ())]


def _joined(values: Iterable[Any]) -> str:
    return ",".join(f"{value:g}" if isinstance(value, float) else str(value) for value in values)


def _said(value: Any) -> str:
    """A value as a link has it."""
    return _joined(value) if isinstance(value, (list, tuple)) else _joined([value])


def _plural(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"
