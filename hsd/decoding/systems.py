"""From options to a system: which models take part, who proposes, which rule verifies, and how levels are stacked."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from hsd.decoding.options import LEVELLED, MAX_ROUNDS, Options, check_stack
from hsd.decoding.record import ChainRecorder, Recorder, TreeRecorder
from hsd.decoding.rounds import ChainRounds, Rounds, StackLevel, TreeRounds
from hsd.draft import ModelProposer, NoProposer, Proposer
from hsd.errors import HsdError
from hsd.models.base import LanguageModel, Pair, Session
from hsd.models.reading import Reader
from hsd.rng import Streams
from hsd.rules import RULES, Rule, TreeRule, find_rule

HISPEC_THRESHOLDS = (2, 4)


@dataclass(frozen=True)
class Levels:
    """The levels of a run, smallest model first, the target last.

    open: starts a session at each. stack: their places in the pair; exits: after how many layers they end; thresholds,
    rules: see `Options`; all empty where there are no levels but draft and target. notes: sentences for the reader.
    """

    models: tuple[LanguageModel, ...]
    open: Callable[[], Sequence[Session]]
    stack: tuple[int, ...] = ()
    exits: tuple[int, ...] = ()
    thresholds: tuple[int, ...] = ()
    rules: tuple[str, ...] = ()
    notes: list[str] = field(default_factory=list)

    @property
    def context(self) -> int:
        """How many tokens all of them can read."""
        return min(model.context for model in self.models)

    def described(self) -> dict[str, Any]:
        """What a trace says about them besides the models."""
        return {
            "stack": list(self.stack),
            "exits": list(self.exits),
            "thresholds": list(self.thresholds),
            "rules": list(self.rules),
        }


def levels_of(pair: Pair, options: Options) -> Levels:
    """The models that a run uses, as the options say. Raises HsdError for models that the pair does not have."""
    if options.system == "stack":
        return _stacked(pair, options)
    if options.system == "hispec":
        return _exits(pair, options)
    plain = options.system == "plain"
    models = (pair.target,) if plain else (pair.draft, pair.target)
    return Levels(models, _starts(models), notes=[] if plain else _about_rule(options))


def _starts(models: Sequence[LanguageModel]) -> Callable[[], Sequence[Session]]:
    return lambda: [model.start() for model in models]


def _stacked(pair: Pair, options: Options) -> Levels:
    """Models of their own as levels."""
    stack = _stack(pair, options)
    models = tuple(pair.models[place] for place in stack)
    thresholds = tuple(options.thresholds) or (options.gamma,) * (len(models) - 1)
    if len(thresholds) != len(models) - 1:
        raise HsdError(
            f"{len(thresholds)} thresholds for {len(models)} models: give one for each model below the target"
        )
    rounds = math.prod(thresholds[1:])
    if rounds > MAX_ROUNDS:
        raise HsdError(
            f"thresholds {', '.join(map(str, thresholds))}: one step could take {rounds:,} rounds of the smallest "
            f"models, at most {MAX_ROUNDS:,} are allowed: choose lower thresholds or fewer models"
        )
    notes = _about_rule(options) + _about_sizes(models)
    return Levels(models, _starts(models), stack, (), thresholds, _level_rules(options, len(models)), notes)


def _exits(pair: Pair, options: Options) -> Levels:
    """Early exits of the target as levels."""
    from hsd.models.exits import EarlyExits, default_exits

    make = getattr(pair.target, "early_exits", None)
    exits = tuple(options.exits) or default_exits(pair.target)
    made = make(exits) if make else EarlyExits(pair.target, exits)
    thresholds = tuple(options.thresholds) or HISPEC_THRESHOLDS[: len(exits)]
    notes = _about_rule(options) + _about_exits(pair.target, exits, made.depths[-1])
    return Levels(made.models, made.open, (), exits, thresholds, _level_rules(options, len(made.models)), notes)


def _stack(pair: Pair, options: Options) -> tuple[int, ...]:
    """The places of the models to stack."""
    last = len(pair.models) - 1
    stack = tuple(options.stack) or tuple(range(last + 1))
    check_stack(stack)
    missing = [place for place in stack if place > last]
    if missing:
        raise HsdError(f"there is no model {missing[0]} in pair {pair.name!r}: it has models 0 to {last}")
    if stack[-1] != last:
        raise HsdError(f"the stack ends with model {stack[-1]}: end it with the target, model {last}")
    return stack


def _level_rules(options: Options, levels: int) -> tuple[str, ...]:
    """The rules of the levels that verify and are not the target."""
    count, given = levels - 2, tuple(options.level_rules)
    if given and len(given) != count:
        raise HsdError(f"{len(given)} level rules for {count} levels between draft and target: give one for each")
    top = find_rule(options.rule)
    return given or ((top.name if top.lossless and not top.resamples else "tokenwise"),) * count


def _about_rule(options: Options) -> list[str]:
    """What a reader must know about the rule: whether the text follows the target."""
    rule = options.find(options.rule)
    if rule.lossless or (rule.name == "hsd-released" and options.temperature == 0):  # certain rows: rules agree
        return []
    if rule.name == "fuzzy" and options.tolerance <= 0:
        return [_about_no_tolerance(options)]
    return [f"Rule {rule.name} is not lossless: the text does not follow the target exactly."]


def _about_no_tolerance(options: Options) -> str:
    """Settings of the fuzzy rule that are exact after all."""
    if options.fuzzy_mode == "divergence-only":
        passing = "only equal rows pass" if options.tolerance == 0 else "nothing passes"
        return f"At this tolerance {passing}: exact, and next to nothing that is drafted is kept."
    if options.tolerance == 0:
        return "At tolerance 0 a token passes without a test only where both rows are equal: this is exact."
    return "A tolerance below 0 lets nothing pass: this is exact speculative decoding, token by token."


def _about_sizes(models: Sequence[LanguageModel]) -> list[str]:
    """Models that are stacked the wrong way round."""
    return [
        f"{above.name} stands above {below.name}, which is larger: put models in order of size, smallest first."
        for below, above in pairwise(models)
        if below.parameters > above.parameters
    ]


def _about_exits(target: LanguageModel, exits: Sequence[int], layers: int) -> list[str]:
    """Exits that the model was not trained to predict from."""
    from hsd.models.exits import trained_exits

    trained = (*trained_exits(target), layers)
    untrained = [str(depth) for depth in dict.fromkeys(exits) if depth not in trained]
    if not untrained:
        return []
    return [
        f"{target.name} does not say that it was trained to predict after layer {' and '.join(untrained)}: expect that "
        "little of what is drafted there is kept, and that decoding is slower than without."
    ]


def make_rounds(pair: Pair, options: Options, levels: Levels, prompt: int) -> Rounds:
    """Who plays the rounds of a run on a prompt of so many tokens."""
    rule, ends = options.find(options.rule), pair.codec.end_ids
    if isinstance(rule, TreeRule) and options.system != "plain":
        return TreeRounds(pair, options.sampling, rule, options.drafts, options.tree)
    if isinstance(rule, Rule) and options.engine == "captured" and prompt > 1:
        from hsd.decoding.rounds.captured import CapturedRounds

        longest = prompt + options.max_new_tokens + options.gamma + 1  # with a draft that is thrown away
        return CapturedRounds(pair, options.sampling, rule, longest)
    readers = [
        Reader(session, model.device, options.sampling, pair.vocab_size, _wants_raw(options))
        for session, model in zip(levels.open(), levels.models, strict=True)
    ]
    if isinstance(rule, TreeRule) or options.system == "plain":
        return ChainRounds(readers[0], ends, RULES["tokenwise"], NoProposer(readers[0].vocab_size, readers[0].device))
    return ChainRounds(readers[-1], ends, rule, _proposer(readers[:-1], ends, options, levels))


def _wants_raw(options: Options) -> bool:
    """Whether a rule of this run judges by the raw distributions."""
    rules = [options.find(name) for name in (options.rule, *([options.shadow_rule] if options.trace else []))]
    return any(isinstance(rule, Rule) and rule.raw for rule in rules)


def _proposer(readers: Sequence[Reader], ends: frozenset[int], options: Options, levels: Levels) -> Proposer:
    """The levels below the target, each the draft of the next."""
    proposer: Proposer = ModelProposer(readers[0])
    longest = levels.thresholds[0] if levels.thresholds else options.gamma
    for level, (reader, rule) in enumerate(zip(readers[1:], levels.rules, strict=True), start=1):
        rounds = ChainRounds(reader, ends, RULES[rule], proposer)
        stacked = StackLevel(level, rounds, levels.thresholds[level], longest, Streams(options.seed, level))
        proposer, longest = stacked, stacked.longest
    return proposer


def longest_block(options: Options, levels: Levels) -> int:
    """How many tokens the target is handed at most."""
    return sum(levels.thresholds) if options.system in LEVELLED else options.gamma


def make_recorder(pair: Pair, options: Options) -> Recorder:
    """Who describes the steps."""
    codec = pair.codec
    if options.system == "plain":
        return ChainRecorder(codec, RULES["tokenwise"], RULES["tokenwise"])
    rule = options.find(options.rule)
    if isinstance(rule, TreeRule):
        shadow = options.find(options.shadow_rule)
        assert isinstance(shadow, TreeRule)
        return TreeRecorder(codec, rule, shadow)
    return ChainRecorder(codec, rule, _shadow(options), levelled=options.system in LEVELLED)


def _shadow(options: Options) -> Rule:
    rule = options.find(options.shadow_rule)
    assert isinstance(rule, Rule)
    return rule
