"""Which rules judge the drafts of a run: the target's, one to compare with, and those of levels."""

from dataclasses import dataclass
from typing import Any

from hsd.decoding.options import AnyRule, RunOptions
from hsd.errors import HsdError
from hsd.rules import RULES, TREE_RULES, VANILLA, TreeRule, find_tree_rule


@dataclass(frozen=True)
class Judges:
    """The rules of a run.

    rule: of the target. shadow: the one to compare with. others: further rules, whose expected
    number of kept tokens is recorded. levels: of the verifying levels below the target, the lowest
    first. level_names: their names as options give them.
    """

    rule: AnyRule
    shadow: AnyRule
    others: tuple[AnyRule, ...] = ()
    levels: tuple[AnyRule, ...] = ()
    level_names: tuple[str, ...] = ()


def judges_of(options: RunOptions, levels: int) -> Judges:
    """Return the rules of a run. levels: how many models it has, the draft and the target counted.

    Raises HsdError for rules that do not fit the levels.
    """
    if options.system == "plain":  # nothing is judged; a coupled rule picks all the same
        rule = options.find(options.rule if options.coupled else VANILLA["single"])
        return Judges(rule, rule, _others(options, rule))
    reads_tree = options.drafts > 1 and levels == 2
    rule = _target_rule(options, options.rule, reads_tree)
    compared = options.shadow_rule if reads_tree else options.shadow or VANILLA["single"]
    shadow = _target_rule(options, compared, reads_tree)
    others = _others(options, rule)
    names = _level_names(options, rule, levels - 2)
    below = tuple(
        options.find(name, several=options.drafts > 1 and place == 0)
        for place, name in enumerate(names)
    )
    return Judges(rule, shadow, others, below, names)


def _target_rule(options: RunOptions, name: Any, reads_tree: bool) -> AnyRule:
    if options.drafts > 1 and not reads_tree and name in TREE_RULES and name not in RULES:
        raise HsdError(
            f"rule {name} is for a tree, which the target of this stack does not read: name it in "
            "level_rules"
        )
    return options.find(name, reads_tree)


def _others(options: RunOptions, rule: AnyRule) -> tuple[AnyRule, ...]:
    """Return the rules without a setting that can judge the same drafts as `rule`."""
    if isinstance(rule, TreeRule):
        siblings = options.layout.siblings
        trees = (other for other in TREE_RULES.values() if siblings in other.siblings)
        return tuple(other for other in trees if not other.knob)
    return tuple(other for other in RULES.values() if not other.knob)


def _level_names(options: RunOptions, rule: AnyRule, count: int) -> tuple[str, ...]:
    """Return the names of the rules of `count` verifying levels below the target.

    The first one verifies the tree, if there is one. By default they are the target's rule, if that
    is lossless for blocks of any length. Raises HsdError for too few or too many.
    """
    given = tuple(options.level_rules)
    if given and len(given) != count:
        raise HsdError(
            f"{len(given)} level rules for {count} levels between draft and target: give one for "
            "each"
        )
    if given or count < 1:
        return given
    known = rule.name in RULES or rule.name in TREE_RULES
    fits = known and rule.lossless and not getattr(rule, "resamples", False)
    usual = rule.name if fits else VANILLA["single"]
    lowest = _for_tree(options, usual) if options.drafts > 1 else usual
    return (lowest, *[usual] * (count - 1))


def _for_tree(options: RunOptions, name: str) -> str:
    """Return a chain rule's counterpart for the options' tree, or the usual rule for such trees."""
    fits = name in RULES and RULES[name].drafts and options.layout.siblings == "independent"
    return find_tree_rule(name).name if fits else VANILLA[options.layout.siblings]
