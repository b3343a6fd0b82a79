"""A batch that a visitor asks for, checked; the command line that repeats it, and the link to its settings."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from hsd.bench import Case, prompt_set
from hsd.bench.cases import SYSTEMS, Sweep, rules_on, tree_of
from hsd.bench.prompts import PUBLIC, offered
from hsd.bench.server import Server
from hsd.draft import COPIERS, LAYOUTS
from hsd.errors import HsdError
from hsd.space import Space
from hsd.ui import form, servers
from hsd.ui.pairs import PairChoice
from hsd.ui.request import pair_query, read_pair

MAX_CASES = 24


@dataclass(frozen=True)
class Batch:
    """What to measure: plain data, so that it can travel to another process. Everything in it has been checked.

    systems: measured with every rule beside speculative decoding. thresholds, exits: theirs; () takes the usual ones.
    server: the URL of one that is measured too, "" for none; server_model: "" for the only one it has.
    """

    pair: PairChoice
    set: str
    rules: tuple[str, ...]
    gammas: tuple[int, ...]
    temperatures: tuple[float, ...]
    several: tuple[int, ...]
    arranged: str
    trees: tuple[str, ...]
    systems: tuple[str, ...]
    thresholds: tuple[int, ...]
    exits: tuple[int, ...]
    tolerance: float
    prompts: int
    repetitions: int
    tokens: int
    server: str = ""
    server_model: str = ""

    def as_dict(self) -> dict[str, Any]:
        """The batch as plain data."""
        return asdict(self)

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Batch:
        """The batch of `as_dict`."""
        return Batch(**{**data, "pair": PairChoice(**data["pair"])})

    @property
    def address(self) -> servers.Address | None:
        """Of the server that is measured too."""
        return servers.Address(self.server, self.server_model) if self.server else None

    def cases(self, server: Server | None = None) -> list[Case]:
        """Plain decoding and every combination, as `python -m hsd bench` makes them. Raises HsdError.

        server: the one at `address`, once it was reached.
        """
        asked = server or (self.address and self.address.unasked)
        values = {
            "rule": self.rules,
            "gamma": self.gammas,
            "temperature": self.temperatures,
            "drafts": self.several,
            "tree": (self.arranged,),
            "system": ("speculative", *self.systems),
            "thresholds": (self.thresholds,),
            "exits": (self.exits,),
            "tolerance": (self.tolerance,),
            "max_new_tokens": (self.tokens,),
        }
        return Sweep(
            values,
            self.trees,
            peers=(lambda _, options: [asked.case(options)]) if asked else None,
        ).cases()

    def command(self) -> str:
        """The command line that measures the same elsewhere."""
        pair = self.pair
        models = {"target": pair.target, "draft": pair.draft} if pair.from_hub else {"pair": pair.name}
        levels = {"systems": ("speculative", *self.systems), "thresholds": self.thresholds, "exits": self.exits}
        given: dict[str, Any] = {
            **models,
            "prompts": self.set,
            "limit": self.prompts,
            "rules": self.rules,
            "gamma": self.gammas,
            "temperature": self.temperatures,
            **({"drafts": self.several, "tree": self.arranged} if self.several != (1,) else {}),
            **({"trees": self.trees} if self.trees else {}),
            **({name: value for name, value in levels.items() if value} if self.systems else {}),
            **({"tolerance": self.tolerance} if "fuzzy" in self.rules else {}),
            "repetitions": self.repetitions,
            "max-new-tokens": self.tokens,
            **({"server": self.server} if self.server else {}),
            **({"server-model": self.server_model} if self.server_model else {}),
        }
        words = [word for name, value in given.items() for word in _words(name, value)]
        return shlex.join(["python", "-m", "hsd", "bench", *words])

    def query(self) -> dict[str, str]:
        """The parameters of the link to these settings."""
        return {**pair_query(self.pair), **form.said(form.BATCH, vars(self))}

    def estimate(self, run_seconds: int) -> str:
        """How many runs that makes, in words."""
        ways, rounds = len(self.cases()), self.repetitions + 1
        prompts = self.prompts if self.set in PUBLIC else min(self.prompts, len(prompt_set(self.set).prompts))
        return (
            f"{_plural(ways, 'way')} to decode × {_plural(prompts, 'prompt')} × {rounds} rounds, of which the first "
            f"warms up and is not counted: {ways * prompts * rounds:,} runs of up to {_plural(self.tokens, 'token')}. "
            f"No run is begun after {run_seconds} s; what was measured by then stays."
        )


def read(space: Space, values: Mapping[str, Any]) -> Batch:
    """Check `values`: names as in `form.BATCH`, `form.SERVER` and `form.MODELS`; missing ones take the default.

    Raises HsdError, one line, for the first thing that is wrong.
    """
    found = form.read(form.BATCH, space, values)
    if not found["rules"]:
        raise HsdError("no rule is chosen: choose one or more")
    _check("prompt set", [found["set"]], offered())  # `prompt_set` would also open a file of that name
    _check("tree", [found["arranged"]], LAYOUTS)
    _check("system", found["systems"], SYSTEMS[1:])
    url, model = (values.get(field.name) for field in form.SERVER)
    address = servers.read(space, url, model) if url else None
    batch = Batch(pair=read_pair(space, form.with_defaults(form.BATCH, space, values)), **found)
    if address:
        batch = replace(batch, server=address.url, server_model=address.model)
    copied = len(set(COPIERS) & set(batch.systems))
    ways = 1 + len(batch.rules) * (len(batch.gammas) * len(batch.several) + len(batch.systems) - copied)
    ways += (
        bool(address) + copied * len(batch.gammas) + sum(len(rules_on(tree_of(words)["tree"])) for words in batch.trees)
    )
    if ways * len(batch.temperatures) > MAX_CASES:
        raise HsdError(
            f"{ways * len(batch.temperatures):,} ways to decode are more than {MAX_CASES}: choose fewer rules, draft "
            "lengths, temperatures, drafts, trees or systems"
        )
    batch.cases()
    return batch


def _check(what: str, names: Iterable[str], known: Iterable[str]) -> None:
    for name in names:
        if name not in known:
            raise HsdError(f"unknown {what} {name[:40]!r}: choose {', '.join(known)}")


def _words(name: str, value: Any) -> list[str]:
    """An option of the command line; with = where its value could be taken for another option."""
    values = value if isinstance(value, tuple) else (value,)
    text = ",".join(f"{v:g}" if isinstance(v, float) else str(v) for v in values)
    return [f"--{name}={text}"] if text.startswith("-") else [f"--{name}", text]


def _plural(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"
