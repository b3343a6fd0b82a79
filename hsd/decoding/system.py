"""What a run consists of, made once from a pair and options; nothing else reads the options."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from hsd.conform.own import OwnRule
from hsd.decoding.judges import Judges, judges_of
from hsd.decoding.notes import about_exits, about_models, about_rule, about_sizes
from hsd.decoding.options import MAX_ROUNDS, AnyRule, RunOptions, check_stack
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
from hsd.models.exits import EarlyExits, default_exits
from hsd.models.reading import RowReader
from hsd.sampling import Sampling
from hsd.trace import SetupOptions

HISPEC_THRESHOLDS = (2, 4)  # of two exits
ALONE = (1,)  # of one exit that drafts for the whole model


@dataclass(frozen=True)
class Levels:
    """The models of a run, the smallest first, the target last.

    open(): starts a session of each. thresholds: how many tokens each model below the target hands
    up at least; empty with draft and target alone. stack: the models' numbers in the pair; exits:
    after how many layers each ends; both empty where the system has none. notes: for the reader.
    """

    models: tuple[LanguageModel, ...]
    open: Callable[[], Sequence[Session]]
    thresholds: tuple[int, ...] = ()
    stack: tuple[int, ...] = ()
    exits: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class System:
    """The models of a run, who drafts, which rules judge, and how far it goes.

    pair: with prompts in the form that the run wants. levels: the models that take part. sampling:
    of all of them. judges: the rules. proposer: makes the lowest level's proposer from the models'
    readers. stopping: the criterion that ends a draft, None where its length is fixed. longest: the
    most tokens that the lowest level drafts at once. block: the most that the target verifies in
    one round (of a tree, its depth), 0 for plain decoding. nodes: of a tree of fixed size, 0 for
    none. engine: "eager", "captured" or "portable". seed, max_new_tokens, forced, traced: see
    `RunOptions`. settings: the options as a trace records them. notes: sentences for the reader,
    such as that the rule is not lossless.
    """

    pair: Pair
    levels: Levels
    sampling: Sampling
    judges: Judges
    proposer: Callable[[Sequence[RowReader]], Proposer]
    stopping: Stopping | None
    longest: int
    block: int
    nodes: int
    engine: str
    seed: int
    max_new_tokens: int
    forced: tuple[int, ...]
    traced: bool
    settings: SetupOptions
    notes: tuple[str, ...]

    def judged_by(self, rule: AnyRule) -> System:
        """Return this system with another rule, such as one of one's own, for the target."""
        return replace(self, judges=replace(self.judges, rule=rule))

    @property
    def models(self) -> tuple[LanguageModel, ...]:
        return self.levels.models

    @property
    def end_ids(self) -> frozenset[int]:
        """The tokens that end a text."""
        return self.pair.codec.end_ids

    @property
    def context(self) -> int:
        """The number of tokens that the model with the smallest context can read."""
        return reach(self.models)[0]


def make_system(pair: Pair, options: RunOptions) -> System:
    """Return the system that these options make of a pair.

    Raises HsdError for models that the pair lacks, thresholds or rules that do not fit its levels,
    and models that cannot read a tree where `drafts` is 2 or more.
    """
    portable = getattr(pair.target, "portable", False)
    if options.engine == "portable" and not portable:
        raise HsdError(
            "engine portable is for the pairs smollm2 and tiny: choose one of them, or engine eager"
        )
    engine = "portable" if portable else options.engine
    levels = _levels_of(pair, options)
    _check_trees(levels.models[:2], options)
    if options.prompt_as:
        from hsd.models.loading.text import with_prompts_as  # here, as it imports transformers

        pair = with_prompts_as(pair, options.prompt_as)
    judges = judges_of(options, len(levels.models))
    stopping = _stopping(pair, options)
    return System(
        pair=pair,
        levels=levels,
        sampling=options.sampling,
        judges=judges,
        proposer=_proposer(pair, options, stopping),
        stopping=stopping,
        longest=options.longest,
        block=_block(options, levels),
        nodes=options.nodes,
        engine=options.engine,
        seed=options.seed,
        max_new_tokens=options.max_new_tokens,
        forced=options.forced,
        traced=options.trace,
        settings=_settings(options, levels, judges, stopping, engine),
        notes=(
            *about_rule(options, judges.rule),
            *levels.notes,
            *pair.notes,
            *about_models(pair, levels.models, options),
        ),
    )


# ---- the models


def _levels_of(pair: Pair, options: RunOptions) -> Levels:
    if options.system == "stack":
        return _stacked(pair, options)
    if options.system == "hispec":
        return _exits(pair, options)
    alone = options.system == "plain" or options.copies
    models = (pair.target,) if alone else (pair.draft, pair.target)
    return Levels(models, partial(_start, models))


def _start(models: Sequence[LanguageModel]) -> Sequence[Session]:
    """Start a session of each model; a head's follows the target's, from whose states it drafts."""
    sessions = [model.start() for model in models]
    for session in sessions:
        if follow := getattr(session, "follow", None):
            follow(sessions[-1])
    return sessions


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
    start = partial(_start, models)
    return Levels(models, start, thresholds, stack=stack, notes=about_sizes(models))


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


def _exits(pair: Pair, options: RunOptions) -> Levels:
    """Return early exits and the target above them as levels.

    Raises HsdError for thresholds that do not fit.
    """
    exits = tuple(options.exits) or default_exits(pair.target)
    early = EarlyExits(pair.target, exits)
    thresholds = tuple(options.thresholds) or (HISPEC_THRESHOLDS if len(exits) > 1 else ALONE)
    if len(thresholds) != len(exits):
        given, usual = (", ".join(map(str, numbers)) for numbers in (thresholds, exits))
        raise HsdError(
            f"thresholds {given}: give one for each of the exits {usual}, or name other exits"
        )
    notes = about_exits(pair.target, exits, early.depths[-1])
    return Levels(early.models, early.open, thresholds, exits=exits, notes=notes)


def _check_trees(readers: Sequence[LanguageModel], options: RunOptions) -> None:
    """Raise HsdError where one of the models that read the tree cannot read one."""
    for model in readers if options.drafts > 1 else ():
        if why := getattr(model, "no_tree", ""):
            raise HsdError(f"{why}: choose drafts 1")


# ---- who drafts


def _proposer(
    pair: Pair, options: RunOptions, stopping: Stopping | None
) -> Callable[[Sequence[RowReader]], Proposer]:
    """Return what makes the lowest level's proposer, which verifies nothing, from all readers."""
    ends = pair.codec.end_ids
    if options.system == "plain" or options.copies:
        # plain decoding asks for no draft
        copier = COPIERS.get(options.proposer) or next(iter(COPIERS.values()))
        return lambda readers: CopyProposer(
            copier.copied, readers[0].vocab_size, readers[0].device, ends
        )
    if options.drafts == 1:
        return lambda readers: ModelProposer(readers[0], ends, stopping)
    layout = options.layout
    if not layout.grown:
        return lambda readers: TreeProposer(readers[0], ends, layout, options.drafts)
    size = options.nodes - 1 if options.nodes else None
    mixed = layout.siblings == "mixed"
    return lambda readers: GrownProposer(readers[0], ends, options.drafts, size, mixed)


def _stopping(pair: Pair, options: RunOptions) -> Stopping | None:
    """Return what ends a draft whose length is not fixed.

    None where the length is fixed, or where drafts are copied.
    """
    if not options.auto or options.copies:
        return None
    config = getattr(pair.draft, "stopping", None)
    return Stopping.of(config, options.confidence, options.sampling)


def _block(options: RunOptions, levels: Levels) -> int:
    if options.system == "plain":
        return 0
    return sum(levels.thresholds) if options.levelled else options.longest


# ---- what is recorded


def _settings(
    options: RunOptions, levels: Levels, judges: Judges, stopping: Stopping | None, engine: str
) -> SetupOptions:
    """Return the options as a trace records them, with what was chosen where they say nothing."""
    proposer = "none" if options.system == "plain" else options.proposer
    drafts_by_length = proposer != "none" and not options.levelled
    chosen: dict[str, Any] = {
        "rule": str(options.rule),
        "tree": options.shape[0],
        "proposer": proposer,
        "gamma": options.gamma if drafts_by_length else 0,
        "confidence": stopping.least if stopping else 0.0,
        "engine": engine,
        "stack": list(levels.stack),
        "exits": list(levels.exits),
        "thresholds": list(levels.thresholds),
        "level_rules": list(judges.level_names),
    }
    own: dict[str, Any] | None = None
    if isinstance(options.rule, OwnRule):
        verdict = options.rule.verdict
        own = {name: getattr(verdict, name) for name in ("lossless", "words", "example")}
        own |= {"coins": not options.rule.coupled}
    return SetupOptions.of(dict(options) | chosen, own)
