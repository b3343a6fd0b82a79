"""What a run is asked to do: the options of `hsd.run`, checked as far as that can be done without the models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

from hsd.draft import COPIERS, LAYOUTS, Layout
from hsd.errors import HsdError
from hsd.rules import TREE_RULES, VANILLA, Fuzzy, Rule, TreeRule, check_fit, find_rule, find_tree_rule, fuzzy_rule
from hsd.rules.relaxed import EPSILON, WEIGHT
from hsd.sampling import Sampling

MAX_GAMMA = 32
MAX_NEW_TOKENS = 65_536
MAX_TREE_NODES = 512
MAX_LEVELS = 8
MAX_LAYERS = 1_000
MAX_ROUNDS = 1_024  # of one level, in one step
LIMITS = (
    ("gamma", 1, MAX_GAMMA),
    ("max_new_tokens", 1, MAX_NEW_TOKENS),
    ("drafts", 1, 64),
    ("nodes", 0, MAX_TREE_NODES),
)
SYSTEMS = ("speculative", "plain", "stack", "hispec")
LEVELLED = ("stack", "hispec")
ENGINES = ("eager", "captured")
PROPOSERS = ("model", *COPIERS)
PROMPTS = ("", "chat", "text")
LISTS = ("stack", "exits", "thresholds", "level_rules")


@dataclass(frozen=True)
class Options:
    """What a run is asked to do. Raises HsdError when a value is out of range, or two do not go together.

    system: "speculative" (a draft model proposes), "plain" (the target alone), "stack" (every model drafts for the next
    larger one) or "hispec" (early exits of the target draft and check). rule: a name in `hsd.RULES`.
    seed: any integer. trace: record every step in detail; False computes none of it. shadow: the rule that a trace
    compares with, on the same drafts and coins; "" is the vanilla rule for such drafts. engine: "eager", or "captured":
    steps of fixed shape that wait for the device only once, as CUDA graphs on a GPU; one draft, without a trace.

    Draft. proposer: "model", or "ngram", which copies what followed the last tokens earlier in the text. gamma: drafted
    tokens per step, 1 to 32. drafts: how many drafts per step; from 2 on they form a tree, and `rule` may also name a
    tree rule. tree: "paths" (independent drafts), "comb" (one draft with drafts - 1 spare continuations at each of its
    nodes), "distinct" and "top" let the first tokens differ, drawn without replacement or chosen as the likeliest;
    "distinct-comb" is the comb with siblings drawn without replacement; "grown" chooses everywhere, where the draft
    model is surest. nodes: how large a grown tree is, the text's last token counted: of 1 nothing is drafted; 0 takes
    drafts · gamma + 1.
    Sampling. temperature, top_k, top_p: see `hsd.sampling.Sampling`.
    Prompt. prompt_as: "chat" puts it into the chat template, "text" leaves it as it is; "" does as the pair was loaded.
    Levels. stack: the models of a stack, as places in `Pair.models`, smallest first and the target last; () takes all.
    exits: after how many layers HiSpec drafts, and checks first; one alone drafts for the whole model; () takes those
    that the target was trained for.
    thresholds: how many tokens each level below the target hands up at least, 1 to 32; () is `gamma` at every level of
    a stack, and 2 and 4 for HiSpec. level_rules: how the levels between the ends verify; () is `rule` if it is
    lossless, else token by token. In a stack only the smallest model drafts a tree, so the level above it has a tree
    rule.
    Fuzzy. divergence, tolerance, fuzzy_mode, divergence_on: the settings of rule "fuzzy", see `hsd.rules.Fuzzy`.
    Knobs. draft_weight: the draft's share in the target of rule "ensemble", 0 to 1. epsilon: what a token must reach
    under rule "typical", 0 to 1.
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
    nodes: int = 0
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
    draft_weight: float = WEIGHT.default
    epsilon: float = EPSILON.default
    proposer: str = "model"
    prompt_as: str = ""

    def __post_init__(self) -> None:
        for name, known in (("system", SYSTEMS), ("proposer", PROPOSERS), ("tree", LAYOUTS), ("engine", ENGINES),
                            ("prompt_as", PROMPTS)):  # fmt: skip
            if getattr(self, name) not in known:
                named = ", ".join(filter(None, known))
                raise HsdError(f"unknown {name} {getattr(self, name)!r}: choose one of {named}")
        for name, low, high in LIMITS:
            _check_whole(name, getattr(self, name), low, high)
        if not isinstance(self.seed, int):
            raise HsdError(f"seed {self.seed!r}: choose a whole number")
        _ = self.sampling
        for knob in (WEIGHT, EPSILON):
            knob.check(getattr(self, knob.option))
        self._check_lists()
        for together, reason in REFUSED:
            if together(self):
                raise HsdError(reason.format(o=self))
        self.check_tree(self.gamma)
        if not self.levelled or self.drafts == 1:  # else it depends on the models which level has a tree
            _ = self.find(self.rule), self.find(self.shadow_rule)

    def _check_lists(self) -> None:
        """The levels, each by itself."""
        for name in LISTS:
            value = getattr(self, name)
            if isinstance(value, str) or not isinstance(value, Sequence):
                raise HsdError(f"{name} {value!r}: give a list")
            object.__setattr__(self, name, tuple(value))
        for threshold in self.thresholds:
            _check_whole("threshold", threshold, 1, MAX_GAMMA)
        if any(not isinstance(name, str) for name in self.level_rules):
            raise HsdError(f"level rules {_listed(self.level_rules)}: give names such as hsd")
        if self.system == "stack" and self.stack:
            check_stack(self.stack)
        if self.system == "hispec":
            self._check_exits()
        for name in self.level_rules:
            check_level_rule(self.find(name, several=name in TREE_RULES))

    def _check_exits(self) -> None:
        for depth in self.exits:
            _check_whole("exit", depth, 1, MAX_LAYERS)
        if len(self.exits) > 2:
            raise HsdError(
                f"exits {_listed(self.exits)}: give two, where to draft and where to check, or one to draft at"
            )
        counts = (0, len(self.exits)) if self.exits else (0, 1, 2)  # a model with one trained exit has one by default
        if len(self.thresholds) not in counts:
            raise HsdError(f"thresholds {_listed(self.thresholds)}: give one for each of {counts[-1]} exits")

    def check_tree(self, gamma: int) -> None:
        """Raise HsdError where drafts of γ tokens make too large a tree."""
        nodes = self.tree_size(gamma) if self.drafts > 1 else 0
        if nodes > MAX_TREE_NODES:
            raise HsdError(f"a tree of {nodes:,} nodes is over the limit of {MAX_TREE_NODES}: reduce drafts or gamma")

    def tree_size(self, gamma: int) -> int:
        """How many tokens the tree of a step has, at most."""
        return self.nodes - 1 if self.nodes else self.layout.needed(self.drafts, gamma)

    def find(self, name: str, several: bool | None = None) -> Rule | TreeRule:
        """The rule of that name, for one draft or for trees. Raises HsdError when there is none, or it does not fit.

        several: for more than one draft; left out, as the options say.
        """
        if several if several is not None else self.drafts > 1:
            rule = find_tree_rule(name)
            check_fit(rule, self.tree, self.layout.siblings)
            return rule
        if name in TREE_RULES:
            raise HsdError(f"rule {name} is for several drafts: choose drafts of 2 or more")
        found = fuzzy_rule(self.fuzzy) if name == "fuzzy" else find_rule(name)
        return found.tuned(getattr(self, found.knob.option)) if found.knob else found

    @property
    def levelled(self) -> bool:
        """Whether there are levels with thresholds of their own."""
        return self.system in LEVELLED

    @property
    def copies(self) -> bool:
        """Whether what is drafted is copied, and no draft model read."""
        return self.proposer in COPIERS

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


def _resamples(o: Options) -> bool:
    return o.drafts == 1 and o.rule not in TREE_RULES and getattr(o.find(o.rule), "resamples", False)


def _moves(o: Options) -> bool:
    """Whether a step has no fixed shape, or is more than its tokens."""
    other = o.trace or o.system != "speculative" or o.drafts > 1 or o.copies
    return other or _resamples(o) or (o.rule == "fuzzy" and o.divergence_on == "raw")


REFUSED: tuple[tuple[Callable[[Options], bool], str], ...] = (
    (
        lambda o: o.nodes > 0 and (o.drafts == 1 or not o.layout.grown),
        "nodes {o.nodes} is the size of a grown tree: choose tree grown and drafts of 2 or more, or nodes 0",
    ),
    (
        lambda o: 1 < o.nodes <= o.drafts,
        "a tree of {o.nodes} nodes has no room for the {o.drafts} drafted tokens of its first level: choose more nodes "
        "or fewer drafts",
    ),
    (
        lambda o: o.drafts > 1 and "fuzzy" in (o.rule, o.shadow),
        "rule fuzzy is for one draft: a divergence is the same for all siblings in a tree and cannot choose among "
        "them; choose drafts 1",
    ),
    (
        lambda o: o.drafts > 1 and o.system == "hispec",
        "system hispec reads one text at a time and no tree: choose drafts 1",
    ),
    (
        lambda o: o.drafts > 1 and o.copies,
        "proposer {o.proposer} has one continuation to copy: choose drafts 1",
    ),
    (
        lambda o: o.levelled and o.copies,
        "in system {o.system} the smallest level drafts itself: choose proposer model, or system speculative",
    ),
    (
        lambda o: o.levelled and _resamples(o),
        "rule {o.rule} needs drafts of a fixed length, which system {o.system} does not hand up: choose tokenwise, "
        "blockwise or hsd",
    ),
    (
        lambda o: o.engine == "captured" and _moves(o),
        "engine 'captured' is for one draft of a model, without a trace, by a rule that needs no further calls",
    ),
)
"""What cannot be combined, and why. Everything else can."""


def make_options(**options: object) -> Options:
    """`Options` from keywords. Raises HsdError for a name that does not exist."""
    known = [field.name for field in fields(Options)]
    unknown = [name for name in options if name not in known]
    if unknown:
        raise HsdError(f"unknown option {unknown[0]!r}: choose from {', '.join(known)}")
    return Options(**options)  # type: ignore[arg-type]


def check_level_rule(rule: Rule | TreeRule) -> None:
    """Raise HsdError for a rule that cannot verify below the target."""
    if not rule.lossless or (isinstance(rule, Rule) and rule.resamples):
        raise HsdError(
            f"rule {rule.name} cannot verify below the target, which needs tokens that follow that level's model "
            "exactly: choose tokenwise, blockwise or hsd"
        )


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
