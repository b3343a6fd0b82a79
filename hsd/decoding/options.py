"""What a run is asked to do: the options of `hsd.run`, checked as far as that can be done without the models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from hsd.draft import LAYOUTS, Layout, numbers_needed
from hsd.errors import HsdError
from hsd.rules import TREE_RULES, VANILLA, Fuzzy, Rule, TreeRule, check_fit, find_rule, find_tree_rule, fuzzy_rule
from hsd.sampling import Sampling

MAX_GAMMA = 32
MAX_NEW_TOKENS = 65_536
MAX_TREE_NODES = 512
MAX_LEVELS = 8
MAX_LAYERS = 1_000
MAX_ROUNDS = 1_024  # of one level, in one step
LIMITS = (("gamma", 1, MAX_GAMMA), ("max_new_tokens", 1, MAX_NEW_TOKENS), ("drafts", 1, 64))
SYSTEMS = ("speculative", "plain", "stack", "hispec")
LEVELLED = ("stack", "hispec")
ENGINES = ("eager", "captured")
LISTS = ("stack", "exits", "thresholds", "level_rules")


@dataclass(frozen=True)
class Options:
    """What a run is asked to do. Raises HsdError when a value is out of range.

    system: "speculative" (a draft model proposes), "plain" (the target alone), "stack" (every model drafts for the next
    larger one) or "hispec" (early exits of the target draft and check). rule: a name in `hsd.RULES`.
    gamma: drafted tokens per step, 1 to 32. temperature, top_k, top_p: see `hsd.sampling.Sampling`.
    drafts: how many drafts per step; from 2 on they form a tree, and `rule` may also name a tree rule.
    tree: "paths" (independent drafts), "comb" (one draft with drafts - 1 spare continuations at each of its nodes),
    "distinct" and "top" let the first tokens differ, drawn without replacement or chosen as the likeliest.
    seed: any integer. trace: record every step in detail; False computes none of it. shadow: the rule that a trace
    compares with, on the same drafts and coins; "" is the vanilla rule for such drafts. engine: "eager", or "captured":
    steps of fixed shape that wait for the device only once, as CUDA graphs on a GPU; one draft, without a trace.

    stack: the models of a stack, as places in `Pair.models`, smallest first and the target last; () takes all.
    exits: after how many layers HiSpec drafts, and checks first; one alone drafts for the whole model; () takes those
    that the target was trained for.
    thresholds: how many tokens each level below the target hands up at least, 1 to 32; () is `gamma` at every level of
    a stack, and 2 and 4 for HiSpec. level_rules: how the levels between the ends verify; () is `rule` if it is
    lossless, else token by token.
    divergence, tolerance, fuzzy_mode, divergence_on: the settings of rule "fuzzy", see `hsd.rules.Fuzzy`.
    """

    rule: str = "hsd"
    gamma: int = 5
    max_new_tokens: int = 64
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    seed: int = 0
    system: str = "speculative"
    drafts: int = 1
    tree: str = "paths"
    shadow: str = ""
    trace: bool = True
    engine: str = "eager"
    stack: Sequence[int] = ()
    exits: Sequence[int] = ()
    thresholds: Sequence[int] = ()
    level_rules: Sequence[str] = ()
    divergence: str = Fuzzy.divergence
    tolerance: float = Fuzzy.tolerance
    fuzzy_mode: str = Fuzzy.mode
    divergence_on: str = Fuzzy.on

    def __post_init__(self) -> None:
        if self.system not in SYSTEMS:
            raise HsdError(f"unknown system {self.system!r}: choose one of {', '.join(SYSTEMS)}")
        for name, low, high in LIMITS:
            _check_whole(name, getattr(self, name), low, high)
        if self.tree not in LAYOUTS:
            raise HsdError(f"unknown tree {self.tree!r}: choose one of {', '.join(LAYOUTS)}")
        for name in LISTS:
            value = getattr(self, name)
            if isinstance(value, str) or not isinstance(value, Sequence):
                raise HsdError(f"{name} {value!r}: give a list")
            object.__setattr__(self, name, tuple(value))
        self._check_levels()
        self._check_rules()
        self._check_engine()
        if not isinstance(self.seed, int):
            raise HsdError(f"seed {self.seed!r}: choose a whole number")
        _ = self.sampling

    def _check_levels(self) -> None:
        for threshold in self.thresholds:
            _check_whole("threshold", threshold, 1, MAX_GAMMA)
        if self.system == "stack" and self.stack:
            check_stack(self.stack)
        if self.system in LEVELLED and self.drafts > 1:
            raise HsdError(f"system {self.system} drafts one block at a time: choose drafts 1")
        if self.system == "hispec":
            self._check_exits()

    def _check_exits(self) -> None:
        for depth in self.exits:
            _check_whole("exit", depth, 1, MAX_LAYERS)
        if len(self.exits) > 2:
            raise HsdError(
                f"exits {_listed(self.exits)}: give two, where to draft and where to check, or one to draft at"
            )
        count = len(self.exits) or 2
        if len(self.thresholds) not in (0, count):
            raise HsdError(f"thresholds {_listed(self.thresholds)}: give one for each of {count} exits")

    def _check_rules(self) -> None:
        if self.drafts > 1:
            nodes = numbers_needed(self.layout.forks(self.drafts, self.gamma), self.gamma)
            if nodes > MAX_TREE_NODES:
                raise HsdError(
                    f"a tree of {nodes:,} nodes is over the limit of {MAX_TREE_NODES}: reduce drafts or gamma"
                )
        for name in (self.rule, self.shadow_rule):
            self.find(name)
        top = self.find(self.rule)
        if self.system in LEVELLED and isinstance(top, Rule) and top.resamples:
            raise HsdError(
                f"rule {top.name} needs drafts of a fixed length, which system {self.system} does not hand up: choose "
                "tokenwise, blockwise or hsd"
            )
        for name in self.level_rules:
            if not isinstance(name, str):
                raise HsdError(f"level rule {name!r}: give names such as hsd")
            rule = find_rule(name)
            if not rule.lossless or rule.resamples:
                raise HsdError(
                    f"rule {name} cannot verify below the target, which needs tokens that follow that level's model "
                    "exactly: choose tokenwise, blockwise or hsd"
                )

    def _check_engine(self) -> None:
        if self.engine not in ENGINES:
            raise HsdError(f"unknown engine {self.engine!r}: choose one of {', '.join(ENGINES)}")
        if self.engine == "eager":
            return
        rule = self.find(self.rule)
        plain = self.trace or self.system != "speculative" or not isinstance(rule, Rule)
        if plain or rule.resamples or rule.raw:  # type: ignore[union-attr]
            raise HsdError("engine 'captured' is for one draft, without a trace, by a rule that needs no further calls")

    def find(self, name: str) -> Rule | TreeRule:
        """The rule of that name, for one draft or for trees. Raises HsdError when there is none, or it does not fit."""
        if name == "fuzzy" and self.drafts > 1:
            raise HsdError(
                "rule fuzzy is for one draft: a divergence is the same for all siblings in a tree and cannot choose "
                "among them; choose drafts 1"
            )
        if name == "fuzzy":
            return fuzzy_rule(self.fuzzy)
        if self.drafts == 1:
            if name in TREE_RULES:
                raise HsdError(f"rule {name} is for several drafts: choose drafts of 2 or more")
            return find_rule(name)
        rule = find_tree_rule(name)
        check_fit(rule, self.tree, self.layout.siblings)
        return rule

    @property
    def layout(self) -> Layout:
        return LAYOUTS[self.tree]

    @property
    def fuzzy(self) -> Fuzzy:
        """The settings of rule "fuzzy"."""
        return Fuzzy(self.divergence, self.tolerance, self.fuzzy_mode, self.divergence_on)

    @property
    def shadow_rule(self) -> str:
        """The name of the rule to compare with."""
        return self.shadow or ("tokenwise" if self.drafts == 1 else VANILLA[self.layout.siblings])

    @property
    def sampling(self) -> Sampling:
        return Sampling(self.temperature, self.top_k, self.top_p)


def make_options(**options: object) -> Options:
    """`Options` from keywords. Raises HsdError for a name that does not exist."""
    known = [field.name for field in fields(Options)]
    unknown = [name for name in options if name not in known]
    if unknown:
        raise HsdError(f"unknown option {unknown[0]!r}: choose from {', '.join(known)}")
    return Options(**options)  # type: ignore[arg-type]


def check_stack(stack: Sequence[int]) -> None:
    """Raise HsdError for a stack that is none, whatever models it is made of."""
    if len(stack) < 2 or len(stack) > MAX_LEVELS:
        raise HsdError(f"a stack of {len(stack)}: choose 2 to {MAX_LEVELS} models, smallest first, the target last")
    for place in stack:
        if not isinstance(place, int) or isinstance(place, bool) or place < 0:
            raise HsdError(f"stack {_listed(stack)}: give the places of the models as whole numbers from 0")
    twice = next((place for place in stack if stack.count(place) > 1), None)
    if twice is not None:
        raise HsdError(f"model {twice} is in the stack twice: name every model once")


def _check_whole(name: str, value: Any, low: int, high: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise HsdError(f"{name} {value!r}: choose a whole number from {low} to {high:,}")


def _listed(values: Sequence[Any]) -> str:
    return ", ".join(map(str, values)) or "none"
