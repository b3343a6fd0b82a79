"""From options to a system of models.

It says which models take part, who proposes, which rule verifies, and how levels are stacked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from hsd.decoding.options import MAX_ROUNDS, RunOptions, check_stack
from hsd.decoding.record import Recorder
from hsd.decoding.rounds import Rounds
from hsd.decoding.stack import StackLevel
from hsd.decoding.unrecorded import UnrecordedRounds
from hsd.draft import (
    COPIERS,
    CopyProposer,
    GrownProposer,
    ModelProposer,
    Proposer,
    Stopping,
    TreeProposer,
)
from hsd.errors import HsdError
from hsd.models.base import LanguageModel, Pair, Session, reach
from hsd.models.exits import EarlyExits, default_exits, parts_of
from hsd.models.reading import Reader
from hsd.rng import Streams
from hsd.rules import RULES, TREE_RULES, VANILLA, Rule, TreeRule, find_tree_rule

if TYPE_CHECKING:
    from hsd.decoding.captured import CapturedRounds

HALF = ("bfloat16", "float16")
HISPEC_THRESHOLDS = (2, 4)  # of two exits
ALONE = (1,)  # of one exit that drafts for the whole model


@dataclass(frozen=True)
class Levels:
    """The models of a run as levels, the smallest first, the target last.

    open(): starts a session of each. stack: their numbers in the pair; exits: after how many layers
    they end; thresholds, level_rules: see `RunOptions`; all empty with draft and target alone.
    notes: sentences for the reader. stopping: the criterion that ends a draft, None where its
    length is fixed.
    """

    models: tuple[LanguageModel, ...]
    open: Callable[[], Sequence[Session]]
    stack: tuple[int, ...] = ()
    exits: tuple[int, ...] = ()
    thresholds: tuple[int, ...] = ()
    level_rules: tuple[str, ...] = ()
    notes: list[str] = field(default_factory=list)
    stopping: Stopping | None = None

    @property
    def context(self) -> int:
        """The number of tokens that the model with the smallest context can read."""
        return reach(self.models)[0]


def levels_of(pair: Pair, options: RunOptions) -> Levels:
    """Return the models that a run with these options uses.

    Raises HsdError for models that the pair lacks, or that cannot read a tree where `drafts` is 2
    or more.
    """
    levels = _levels_of(pair, options)
    for model in levels.models[:2] if options.drafts > 1 else ():
        if why := getattr(model, "no_tree", ""):
            raise HsdError(f"{why}: choose drafts 1")
    return replace(
        levels, notes=[*levels.notes, *pair.notes, *_about_models(pair, levels.models, options)]
    )


def _levels_of(pair: Pair, options: RunOptions) -> Levels:
    if options.system == "stack":
        return _stacked(pair, options)
    if options.system == "hispec":
        return _exits(pair, options)
    plain = options.system == "plain"
    models = (pair.target,) if plain or options.copies else (pair.draft, pair.target)
    notes = [] if plain else _about_rule(options)
    return Levels(models, _starts(models), notes=notes, stopping=_stopping(pair, options))


def _stopping(pair: Pair, options: RunOptions) -> Stopping | None:
    """Return what ends a draft whose length is not fixed.

    None where the length is fixed, or where drafts are copied.
    """
    if not options.auto or options.copies:
        return None
    config = getattr(pair.draft, "stopping", None)
    return Stopping.of(config, engine_of(pair, options), options.confidence, options.sampling)


def engine_of(pair: Pair, options: RunOptions) -> str:
    """Return the engine that a run uses.

    It is "portable" for a pair that was loaded for it, else as in the options.
    """
    return "portable" if getattr(pair.target, "portable", False) else options.engine


def _starts(models: Sequence[LanguageModel]) -> Callable[[], Sequence[Session]]:
    def start() -> Sequence[Session]:
        sessions = [model.start() for model in models]
        for session in sessions:
            if follow := getattr(session, "follow", None):  # it drafts from what the target knows
                follow(sessions[-1])
        return sessions

    return start


def _stacked(pair: Pair, options: RunOptions) -> Levels:
    """Return the levels of a stack of models. Raises HsdError for thresholds that do not fit."""
    stack = _stack(pair, options)
    models = tuple(pair.models[place] for place in stack)
    thresholds = tuple(options.thresholds) or (options.longest,) * (len(models) - 1)
    if len(thresholds) != len(models) - 1:
        raise HsdError(
            f"{len(thresholds)} thresholds for {len(models)} models: give one for each model below "
            "the target"
        )
    options.check_tree(thresholds[0])
    rounds = math.prod(thresholds[1:])
    if rounds > MAX_ROUNDS:
        raise HsdError(
            f"thresholds {', '.join(map(str, thresholds))}: one step could take {rounds:,} rounds "
            f"of the smallest models, at most {MAX_ROUNDS:,} are allowed: choose lower thresholds "
            "or fewer models"
        )
    notes = _about_rule(options, len(models)) + _about_sizes(models)
    return Levels(
        models, _starts(models), stack, (), thresholds, _level_rules(options, len(models)), notes
    )


def _exits(pair: Pair, options: RunOptions) -> Levels:
    """Return early exits and the target above them as levels.

    Raises HsdError for thresholds that do not fit.
    """
    exits = tuple(options.exits) or default_exits(pair.target)
    made = EarlyExits(pair.target, exits)
    thresholds = tuple(options.thresholds) or (HISPEC_THRESHOLDS if len(exits) > 1 else ALONE)
    if len(thresholds) != len(exits):
        given, usual = (", ".join(map(str, numbers)) for numbers in (thresholds, exits))
        raise HsdError(
            f"thresholds {given}: give one for each of the exits {usual}, or name other exits"
        )
    notes = _about_rule(options, len(made.models)) + _about_exits(
        pair.target, exits, made.depths[-1]
    )
    return Levels(
        made.models,
        made.open,
        (),
        exits,
        thresholds,
        _level_rules(options, len(made.models)),
        notes,
    )


def _stack(pair: Pair, options: RunOptions) -> tuple[int, ...]:
    last = len(pair.models) - 1
    stack = tuple(options.stack) or tuple(range(last + 1))
    check_stack(stack)
    missing = [place for place in stack if place > last]
    if missing:
        raise HsdError(
            f"there is no model {missing[0]} in pair {pair.name!r}: it has models 0 to {last}"
        )
    if stack[-1] != last:
        raise HsdError(
            f"the stack ends with model {stack[-1]}: end it with the target, model {last}"
        )
    return stack


def _level_rules(options: RunOptions, levels: int) -> tuple[str, ...]:
    """Return the rules of the verifying levels below the target.

    The first one verifies the tree, if there is one.
    """
    count = levels - 2
    given = tuple(options.level_rules)
    tree = options.drafts > 1
    if given and len(given) != count:
        raise HsdError(
            f"{len(given)} level rules for {count} levels between draft and target: give one for "
            "each"
        )
    top = top_rule(options, levels)
    same = top.name if top.lossless and not getattr(top, "resamples", False) else VANILLA["single"]
    names = given or (
        (_for_tree(options, same), *(same,) * (count - 1)) if tree and count else (same,) * count
    )
    for level, name in enumerate(names):
        options.find(name, several=tree and not level)
    return names


def _for_tree(options: RunOptions, name: str) -> str:
    """Return a chain rule's counterpart for the options' tree, or the usual rule for such trees."""
    fits = name in RULES and RULES[name].drafts and options.layout.siblings == "independent"
    return find_tree_rule(name).name if fits else VANILLA[options.layout.siblings]


def _about_rule(options: RunOptions, models: int = 2) -> list[str]:
    rule = top_rule(options, models)
    if rule.lossless or (rule.greedy and options.sampling.greedy):  # certain rows: rules agree
        return []
    knob = rule.knob
    if knob and knob.exact is not None and getattr(options, knob.option) <= knob.exact:
        return [
            rule.exactly or f"At {knob.title.lower()} {knob.exact:g} rule {rule.name} is exact."
        ]
    return [f"Rule {rule.name} is not lossless: the text does not follow the target exactly."]


def _about_models(pair: Pair, models: Sequence[LanguageModel], options: RunOptions) -> list[str]:
    """Return notes on a run's models: missing rows, rounding, settings that are not applied."""
    notes = [
        f"{model.name} has rows for {model.vocab_size:,} of {pair.vocab_size:,} tokens: it drafts "
        "none of the others, and reads them as its last one."
        for model in models
        if model.vocab_size < pair.vocab_size
    ]
    notes += options.shape[1]
    if options.forced:
        notes.append(
            f"Forced tokens at the start of the text: {len(options.forced)}. The rest follows from "
            "them."
        )
    if options.sampling.greedy and pair.target.dtype.startswith(HALF) and options.system != "plain":
        notes.append(
            f"In {pair.target.dtype} a pass over several tokens rounds otherwise than over one "
            "alone: where two tokens are almost equally likely, the text may differ from plain "
            "decoding. In float32 that is far rarer."
        )
    if settings := getattr(pair.target, "settings", None):
        from hsd.models.loading.settings import not_applied  # here, as it imports transformers

        if unmet := not_applied(settings, options.sampling):
            listed = ", ".join(unmet)[:250]
            notes.append(
                "The target's own generation settings differ, and this run does not apply them: "
                f"{listed}."
            )
    return notes


def _about_sizes(models: Sequence[LanguageModel]) -> list[str]:
    return [
        f"{above.name} stands above {below.name}, which is larger: put models in order of size, "
        "smallest first."
        for below, above in pairwise(models)
        if below.parameters > above.parameters
    ]


def _about_exits(target: LanguageModel, exits: Sequence[int], layers: int) -> list[str]:
    """Return a note on exits that the model was not trained to predict from, if there are any."""
    trained = (*parts_of(target).trained, layers)
    untrained = [str(depth) for depth in dict.fromkeys(exits) if depth not in trained]
    if not untrained:
        return []
    return [
        f"{target.name} does not say that it was trained to predict after layer "
        f"{' and '.join(untrained)}: expect that little of what is drafted there is kept, and "
        "that decoding is slower than without."
    ]


def make_rounds(
    pair: Pair, options: RunOptions, levels: Levels, prompt: int
) -> Rounds | CapturedRounds | UnrecordedRounds:
    """Return what plays a run's rounds.

    prompt: its number of tokens. Raises HsdError if the engine does not fit.
    """
    ends = pair.codec.end_ids
    if options.engine == "portable" and not getattr(pair.target, "portable", False):
        raise HsdError(
            "engine portable is for the pairs smollm2 and tiny: choose one of them, or engine eager"
        )
    if options.engine == "captured" and prompt > 1:
        from hsd.decoding.captured import CapturedRounds

        # with a draft that is thrown away
        longest = prompt + options.max_new_tokens + options.longest + 1
        rule = options.find(options.rule)
        assert isinstance(rule, Rule)
        return CapturedRounds(pair, options.sampling, rule, longest)
    readers = [
        Reader(session, model.device, options.sampling, pair.vocab_size, model.vocab_size)
        for session, model in zip(levels.open(), levels.models, strict=True)
    ]
    proposer = _smallest(readers, ends, options, levels.stopping)
    longest = levels.thresholds[0] if levels.thresholds else options.longest
    between = zip(readers[1:-1], levels.level_rules, strict=True)
    for level, (reader, name) in enumerate(between, start=1):
        rounds = Rounds(
            reader,
            ends,
            options.find(name, options.drafts > 1 and level == 1),
            proposer,
            levels.context,
        )
        stacked = StackLevel(
            level, rounds, levels.thresholds[level], longest, Streams(options.seed, level)
        )
        proposer = stacked
        longest = stacked.longest
    rule = top_rule(options, len(levels.models))
    chain = options.system == "plain" or type(proposer) is ModelProposer
    if chain and not options.trace and UnrecordedRounds.fits(readers, rule.name):
        return UnrecordedRounds(readers, ends, rule.name, levels.stopping, longest, levels.context)
    return Rounds(readers[-1], ends, rule, proposer, levels.context)


def _smallest(
    readers: Sequence[Reader], ends: frozenset[int], options: RunOptions, stopping: Stopping | None
) -> Proposer:
    """Return the lowest level's proposer, which verifies nothing.

    By the options it is a model, a tree or a copier.
    """
    if len(readers) == 1:
        # plain decoding asks for no draft
        copier = COPIERS.get(options.proposer) or next(iter(COPIERS.values()))
        return CopyProposer(copier.copied, readers[0].vocab_size, readers[0].device, ends)
    if options.drafts > 1 and options.layout.grown:
        size = options.nodes - 1 if options.nodes else None
        return GrownProposer(
            readers[0], ends, options.drafts, size, options.layout.siblings == "mixed"
        )
    if options.drafts > 1:
        return TreeProposer(readers[0], ends, options.layout, options.drafts)
    return ModelProposer(readers[0], ends, stopping)


def top_rule(options: RunOptions, models: int, shadow: bool = False) -> Rule | TreeRule:
    """Return the target's rule, or with `shadow` the one to compare with.

    models: the number of levels.
    """
    if options.system == "plain":  # nothing is judged; a coupled rule picks all the same
        return RULES[options.rule if options.coupled else VANILLA["single"]]
    several = options.drafts > 1 and models == 2
    if not shadow:
        name = options.rule
    elif several:
        name = options.shadow_rule
    else:
        name = options.shadow or VANILLA["single"]
    if options.drafts > 1 and not several and name in TREE_RULES and name not in RULES:
        raise HsdError(
            f"rule {name} is for a tree, which the target of this stack does not read: name it in "
            "level_rules"
        )
    return options.find(name, several)


def longest_block(options: RunOptions, levels: Levels) -> int:
    """Return the largest number of drafted tokens that the target verifies in one round.

    In a tree that is its depth.
    """
    if options.system == "plain":
        return 0
    return sum(levels.thresholds) if options.levelled else options.longest


def make_recorder(pair: Pair, options: RunOptions, levels: Levels) -> Recorder:
    """Return the recorder that describes this run's steps."""
    rule, shadow = (top_rule(options, len(levels.models), shadow) for shadow in (False, True))
    fitting = [x for x in TREE_RULES.values() if options.layout.siblings in x.siblings]
    others = [x for x in (fitting if isinstance(rule, TreeRule) else RULES.values()) if not x.knob]
    return Recorder(pair.codec, rule, shadow, others, levelled=options.levelled)
