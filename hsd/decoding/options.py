"""The options of a run, checked as far as that is possible without the models."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import create_model, field_validator

from hsd.conform.own import OwnRule, function_rule
from hsd.draft import COPIERS, LAYOUTS, Layout
from hsd.draft.shapes import best_shape
from hsd.errors import HsdError
from hsd.options import MAX_LEVELS, MAX_TREE_NODES, Options, option
from hsd.rules import (
    DIVERGENCES,
    RULES,
    TREE_RULES,
    VANILLA,
    Fuzzy,
    Rule,
    RuleSetting,
    TreeRule,
    check_fit,
    find_rule,
    find_tree_rule,
    fuzzy_rule,
    fuzzy_tree,
)
from hsd.rules.clipped import clipped_tree
from hsd.rules.fuzzy import MODES, ROWS
from hsd.rules.fuzzy import NAME as FSD
from hsd.rules.relaxed import AFTER, typical_rule
from hsd.sampling import Sampling

AnyRule = Rule | TreeRule | OwnRule
MAX_ROUNDS = 1_024  # of one level, in one step
AUTO = "auto"  # in place of a layout: the one that is fastest
SYSTEMS = ("speculative", "plain", "stack", "hispec")
LEVELLED = ("stack", "hispec")
ENGINES = ("eager", "captured", "portable")
PROPOSERS = ("model", *COPIERS)
PROMPTS = ("chat", "text")


def _knob(knob: RuleSetting) -> Any:
    """Return (type, field) of the option for a rule's setting, for pydantic's `create_model`."""
    when = {"rule|shadow": f"rules with {knob.option}"}
    words = f"{knob.title} {knob.sign}", knob.words, "rule"
    return float, option(
        knob.default, *words, low=knob.low, high=knob.high, step=0.01, when=when, place="knobs"
    )


if TYPE_CHECKING:
    Tuned = Options
else:
    KNOBS = {rule.knob.option: rule.knob for rule in RULES.values() if rule.knob}
    own = {name: _knob(knob) for name, knob in KNOBS.items() if name not in Options.model_fields}
    Tuned = create_model("Tuned", __base__=Options, **own)


class RunOptions(Tuned):
    """The options of `hsd.run`.

    Raises HsdError when a value is out of range, or two do not go together.

    `hsd.options.run` and `RunOptions.options()` say what each option means and allows. Each rule
    with a number of its own adds an option for it (see `hsd.rules.RuleSetting`).
    """

    @field_validator("rule")
    @classmethod
    def _judged(cls, rule: Any) -> Any:
        """Return a name as it is, and a function of one's own as a rule that was judged."""
        return rule if isinstance(rule, str | OwnRule) else function_rule(rule)

    @classmethod
    def menus(cls) -> Mapping[str, Sequence[str]]:
        """Return lists of names by key.

        They are the values of an option, or names that share a property, for `Option.when`.
        """
        knobs: dict[str, list[str]] = {}
        for rule in RULES.values():
            if rule.knob:
                knobs.setdefault(rule.knob.option, []).append(rule.name)
        return {
            "rules": tuple({**RULES, **TREE_RULES}),
            "trees": (*LAYOUTS, AUTO),
            "trees that grow": (*(name for name, layout in LAYOUTS.items() if layout.grown), AUTO),
            "divergences": tuple(DIVERGENCES),
            "rules by divergence": tuple(
                name for name, rule in RULES.items() if rule.recipe.by_divergence
            ),
            "modes": tuple(MODES),
            "grounds": ROWS,
            "afters": tuple(AFTER),
            "proposers": PROPOSERS,
            "proposers of trees": tuple(name for name in PROPOSERS if name not in COPIERS),
            "prompts": PROMPTS,
            "engines": ENGINES,
            "systems": SYSTEMS,
            "systems that draft": tuple(name for name in SYSTEMS if name != "plain"),
            "systems with trees": ("speculative", "stack"),
            "systems with γ": ("speculative", "stack"),
            "systems with levels": LEVELLED,
            **{f"rules with {knob}": tuple(names) for knob, names in knobs.items()},
        }

    def model_post_init(self, _: Any) -> None:
        """Check the options against each other. Raises HsdError."""
        _ = self.sampling, self.fuzzy
        self._check_lists()
        for together, reason in REFUSED:
            if together(self):
                raise HsdError(reason.format(o=self))
        self.check_tree(self.longest)
        if not self.levelled or self.drafts == 1:  # else the models decide which level has a tree
            _ = self.find(self.rule), self.find(self.shadow_rule)

    def _check_lists(self) -> None:
        if self.system == "stack" and self.stack:
            check_stack(self.stack)
        if self.system == "hispec":
            self._check_exits()
        for name in self.level_rules:
            check_level_rule(self.find(name, several=name not in RULES and name in TREE_RULES))

    def _check_exits(self) -> None:
        if len(self.exits) > 2:
            raise HsdError(
                f"exits {_listed(self.exits)}: give two, where to draft and where to check, or one "
                "to draft at"
            )
        # a model with one trained exit has one by default
        counts = (0, len(self.exits)) if self.exits else (0, 1, 2)
        if len(self.thresholds) not in counts:
            raise HsdError(
                f"thresholds {_listed(self.thresholds)}: give one for each of {counts[-1]} exits"
            )

    def check_tree(self, gamma: int) -> None:
        """Raise HsdError where drafts of γ tokens make a tree of more than MAX_TREE_NODES nodes."""
        nodes = self.tree_size(gamma) if self.drafts > 1 else 0
        if nodes > MAX_TREE_NODES:
            raise HsdError(
                f"a tree of {nodes:,} nodes is over the limit of {MAX_TREE_NODES}: reduce drafts "
                "or gamma"
            )

    def tree_size(self, gamma: int) -> int:
        """Return the largest number of drafted tokens in a step's tree, for drafts of γ tokens."""
        return self.nodes - 1 if self.nodes else self.layout.needed(self.drafts, gamma)

    def find(self, name: Any, several: bool | None = None) -> AnyRule:
        """Return a rule by name, with these options' settings; one's own as it is.

        Raises HsdError if it is unknown or does not fit.

        several: whether for several drafts; by default as `drafts` says.
        """
        if isinstance(name, OwnRule):
            return name
        if several if several is not None else self.drafts > 1:
            tree_rule = find_tree_rule(name)
            check_fit(tree_rule, self.shape[0], self.layout.siblings, self.drafts)
            if tree_rule.knob and not tree_rule.divergence:
                return clipped_tree(RULES[tree_rule.name], self.tolerance)
            return fuzzy_tree(self.fuzzy) if tree_rule.knob else tree_rule
        if name in TREE_RULES and name not in RULES:
            raise HsdError(f"rule {name} is for several drafts: choose drafts of 2 or more")
        rule = find_rule(name)
        if rule.modes:
            rule = (
                fuzzy_rule(self.fuzzy)
                if rule.recipe.by_divergence
                else typical_rule(self.after_kept)
            )
        rule = rule.cold if rule.cold and self.sampling.greedy else rule
        return rule.tuned(getattr(self, rule.knob.option)) if rule.knob else rule

    @property
    def auto(self) -> bool:
        """Whether the draft length is chosen step by step."""
        return isinstance(self.gamma, str) and self.system == "speculative"

    @property
    def longest(self) -> int:
        """The largest number of tokens in a draft."""
        return int(self.options()["gamma"].largest(self.gamma))

    @property
    def levelled(self) -> bool:
        """Whether the system has levels with thresholds, below the target."""
        return self.system in LEVELLED

    @property
    def copies(self) -> bool:
        """Whether drafts are copied from the text, without a draft model."""
        return self.proposer in COPIERS

    @property
    def coupled(self) -> bool:
        """Whether draft and target pick with equal random numbers."""
        rule = self.rule if isinstance(self.rule, OwnRule) else RULES.get(str(self.rule))
        return rule is not None and rule.coupled

    @property
    def shape(self) -> tuple[str, tuple[str, ...]]:
        """The tree's layout and, if it was chosen automatically, one sentence that says why."""
        if self.tree != AUTO or self.drafts == 1:
            return self.tree.replace(AUTO, "paths"), ()
        names = (
            (self.rule, self.shadow or self.rule)
            if self.system == "speculative"
            else (VANILLA["mixed"],) * 2
        )
        rule, other = map(find_tree_rule, map(str, names))
        return best_shape(
            self.temperature,
            rule,
            rule.siblings & other.siblings,
            self.drafts,
            self.longest,
            self.nodes,
        )

    @property
    def layout(self) -> Layout:
        return LAYOUTS[self.shape[0]]

    @property
    def fuzzy(self) -> Fuzzy:
        """The settings of the fuzzy rule."""
        return Fuzzy(self.divergence, self.tolerance, self.fuzzy_mode, self.divergence_on)

    @property
    def shadow_rule(self) -> str:
        """The name of the rule to compare with; by default the vanilla one for the layout."""
        return self.shadow or VANILLA["single" if self.drafts == 1 else self.layout.siblings]

    @property
    def sampling(self) -> Sampling:
        return Sampling.of(dict(self))


def _rule_has(o: RunOptions, name: str) -> bool:
    return o.drafts == 1 and o.rule in RULES and getattr(o.find(o.rule), name, False)


def _worded(o: RunOptions) -> bool:
    return isinstance(o.gamma, str) and o.system != "plain"


def _moves(o: RunOptions) -> bool:
    """Return whether a step has no fixed shape, or must give more than its tokens.

    Engine "captured" refuses such steps.
    """
    other = o.trace or o.system != "speculative" or o.drafts > 1 or o.copies
    other = other or isinstance(o.rule, OwnRule)
    return other or o.coupled or _rule_has(o, "resamples") or _rule_has(o, "raw")


REFUSED: tuple[tuple[Callable[[RunOptions], bool], str], ...] = (
    (
        lambda o: o.drafts > 1 and isinstance(o.rule, OwnRule),
        "rule {o.rule} is one's own and judges one draft: choose drafts 1",
    ),
    (
        lambda o: o.nodes > 0 and (o.drafts == 1 or not o.layout.grown),
        "nodes {o.nodes} is the size of a grown tree: choose tree grown or mixed and drafts of 2 "
        "or more, or nodes 0",
    ),
    (
        lambda o: 1 < o.nodes <= o.drafts,
        "a tree of {o.nodes} nodes has no room for the {o.drafts} drafted tokens of its first "
        "level: choose more nodes "
        "or fewer drafts",
    ),
    (
        lambda o: o.drafts > 1 and o.divergence_on == "raw" and FSD in (o.rule, o.shadow),
        "divergences of raw rows are for one draft: choose those of warped rows, or drafts 1",
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
        "in system {o.system} the smallest level drafts itself: choose proposer model, or system "
        "speculative",
    ),
    (
        lambda o: o.levelled and _rule_has(o, "resamples"),
        "rule {o.rule} needs drafts of a fixed length, which system {o.system} does not hand up: "
        "choose tokenwise, "
        "blockwise or hsd",
    ),
    (
        lambda o: _worded(o) and (o.levelled or o.drafts > 1),
        "gamma auto is for one draft by one proposer: choose a number with levels and with several "
        "drafts",
    ),
    (
        lambda o: _worded(o) and _rule_has(o, "resamples"),
        "rule {o.rule} needs drafts of a fixed length: choose gamma as a number, or tokenwise, "
        "blockwise or hsd",
    ),
    (
        lambda o: _worded(o) and o.engine == "captured",
        "engine 'captured' has steps of a fixed shape: choose gamma as a number",
    ),
    (
        lambda o: o.levelled and o.coupled,
        "rule {o.rule} couples one draft model and the target, between which system {o.system} has "
        "levels: choose "
        "tokenwise, blockwise or hsd",
    ),
    (
        lambda o: o.engine == "captured" and _moves(o),
        "engine 'captured' is for one draft of a model, without a trace, by a rule of this project "
        "without further calls or coupled picks",
    ),
)
"""What cannot be combined, and why. Everything else can."""


def check_level_rule(rule: AnyRule) -> None:
    """Raise HsdError unless a rule can verify below the target.

    Such a rule is lossless, for drafts of any length, and not coupled.
    """
    if not rule.lossless or rule.coupled or getattr(rule, "resamples", False):
        raise HsdError(
            f"rule {rule.name} cannot verify below the target, which needs tokens that follow "
            "that level's model exactly: choose tokenwise, blockwise or hsd"
        )


def check_stack(stack: Sequence[int]) -> None:
    """Raise HsdError unless `stack` has 2 to MAX_LEVELS different model numbers."""
    if len(stack) < 2 or len(stack) > MAX_LEVELS:
        raise HsdError(
            f"a stack of {len(stack)}: choose 2 to {MAX_LEVELS} models, smallest first, the target "
            "last"
        )
    twice = next((place for place in stack if stack.count(place) > 1), None)
    if twice is not None:
        raise HsdError(f"model {twice} is in the stack twice: name every model once")


def _listed(values: Sequence[Any]) -> str:
    return ", ".join(map(str, values)) or "none"
