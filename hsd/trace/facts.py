"""The facts that sentences may name: a record for each thing that something is said of.

`explain.py` makes those of a step. The page makes all of them, by the types that `make types`
writes from here: a fact with a default may be missing there. Texts are numbers as they are printed,
or names; what a fact means is said where it is made.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Literal, TypeVar, dataclass_transform

from pydantic import WithJsonSchema

from hsd.trace.values import Real, Token
from hsd.trace.verdict import Committed

Piece = Annotated[Token, WithJsonSchema({"tsType": "Special"})]
"""A token, which a sentence quotes."""
Drawn = Annotated[Committed, WithJsonSchema({"tsType": "Special"})]
"""A token with its origin."""
Link = Annotated[str, WithJsonSchema({"tsType": "Filled"})]
"""Words that the page explains at a click."""
Text = str | None

Record = TypeVar("Record")
SAID_OF: dict[str, type] = {}
"""Each sentence that is said by itself → the record of its facts."""


@dataclass_transform(frozen_default=True)
def said(*sentences: str) -> Callable[[type[Record]], type[Record]]:
    """Make a class a frozen dataclass; the sentences are those that are said with its facts."""

    def record(facts: type[Record]) -> type[Record]:
        SAID_OF.update(dict.fromkeys(sentences, facts))
        return dataclass(frozen=True)(facts)

    return record


@said()
class Item:
    """What is known of every item of a list, beside its own facts."""

    last: bool


# ---- a step


@said()
class ChangeFacts:
    """What a rejection made of the target's p at one place."""

    cause: Piece | None
    draft: int
    after_piece: Piece | None
    strikes: bool
    weight: str
    mass: str
    p: str
    q: str


@said("changes", "path_rate", "beside_it")
class ShownChange(ChangeFacts):
    """A change as the list of tests shows it."""

    rate: Text
    gone: Text


@said("test_title")
class TestFacts:
    """A test of a rule."""

    test: Literal["token", "draft", "prefix"]
    accepted: bool
    coinless: bool
    whose: str
    always: bool
    never: bool
    place: int
    piece: Piece
    draft: int
    several: bool
    low: str
    high: str
    coin: str
    threshold: str
    form: str
    p: str
    q: str
    nothing: bool
    form_words: Text
    changes: list[ChangeFacts]


Kind = Literal["forward", "backward", "root", "leaves", "drafts"]


@said("says")
class ShownTest(TestFacts):
    """A test as the list of tests shows it."""

    kind: Kind
    forward: bool


@said("through")
class ThroughFacts:
    """The drafts that run through a token."""

    listed: int
    drafts_through: int
    through_every: bool
    their_numbers: str


@said("order")
class VerdictFacts(ThroughFacts):
    """What a rule decided about the draft, and what follows the kept tokens.

    opaque: it is a rule of one's own, of which no test is known; unjudged: nor how it was judged.
    """

    name: str
    name_at_start: str
    link: Link
    sign: str
    value: str
    exact: bool
    loses: Text
    lossless: bool
    opaque: bool
    unjudged: bool
    forward: bool
    kind: Kind
    coupled: bool
    resamples: bool
    kept: int
    after: int
    all: bool
    ended: bool
    unseen: int
    made: int
    tests: list[TestFacts]
    first: TestFacts | None
    end: TestFacts | None
    back: int
    tries: int
    tried: int
    failures: int
    spared: str
    overrules: int
    mean: Text
    odds: Text
    certain: bool
    next: Drawn | None
    bonus: bool
    weight: Text
    chance: Text
    replaced: Piece | None
    repeated: bool
    follows: str
    times: Text = None
    best: Text = None
    capped: bool = False
    peak: int = 0


@said()
class PieceFacts:
    """A token of a list."""

    piece: Piece


@said("beat_level")
class EventFacts:
    """What a level below the target did."""

    kind: Literal["draft", "verify"]
    asked: int
    kept: int
    who_at_start: str
    above_at_start: str
    below: Text
    level_tokens: list[PieceFacts]
    made: int
    drafted: int
    all: bool
    added: Piece | None
    replaced: Piece | None
    settled: int
    missing: int
    up: bool


@said()
class DraftedFacts(PieceFacts):
    """A drafted token."""

    q: str
    p: str


@said()
class DraftFacts:
    """One of several drafts."""

    number: int
    words: str


@said()
class NoteFacts:
    """A remark about the run."""

    note: str


@said()
class OriginalFacts:
    """What was kept in the run, of a step that is judged with other coins or by another rule."""

    name: str
    kept: int


@said("explained", "lead", "brief", "detail", "why", "warning")
class StepFacts:
    """A step.

    The facts from `same` to `by` are about the difference between both rules, if there are two; the
    last three are about what a visitor of the page supposes.
    """

    step: int
    steps: int
    drafted: int
    depth: int
    kept: int
    target_calls: int
    extra: int
    details: bool
    tree: bool
    leaves: int
    listed: int
    copies: bool
    levels: bool
    cold: bool
    head: bool
    candidates: int
    own: VerdictFacts
    other: VerdictFacts | None
    drafted_tokens: list[DraftedFacts]
    listed_drafts: list[DraftFacts]
    events: list[EventFacts]
    remarks: list[NoteFacts]
    same: bool = False
    alike: bool = False
    difference: Literal["kept", "path", "next", ""] = ""
    level: bool = False
    against: bool = False
    lower: bool = False
    fewer: bool = False
    by: int = 0
    supposed: bool = False
    moved: str = ""
    original: OriginalFacts | None = None


@said("level_name")
class LevelFacts:
    """A level of a run with several."""

    levels: int
    exits: bool
    level: int
    top: bool


# ---- the same while it plays


@said("beat_draft")
class DraftBeatFacts:
    """A token is drafted."""

    drafted: int
    head: bool
    copies: bool
    number: int
    piece: Piece
    q: str


@said("beat_target")
class TargetBeatFacts:
    """The target reads the draft."""

    drafted: int
    tree: bool


@said("beat_ratio")
class RatioBeatFacts:
    """The target's p appear beside the draft's q."""

    tree: bool
    below: str
    single: bool


@said("beat_masses")
class MassesBeatFacts:
    """The masses of the branches appear."""

    too_much: Text


@said("beat_ask")
class AskBeatFacts:
    """A room is asked before the first test."""

    drafted: int
    rule: str


@said("beat_own")
class OwnBeatFacts:
    """A rule of one's own has judged."""

    name_at_start: str
    kept: int


@said("beat_test")
class TestBeatFacts(TestFacts):
    """A test is made, or of a large tree all of them."""

    tree: bool
    each: bool
    effects: list[ChangeFacts]
    name_at_start: str
    kept: int
    forward: bool
    last: bool


@said()
class GrownFacts(PieceFacts):
    """A token that a level of a tree proposes."""

    start: bool


@said("beat_know", "beat_propose", "beat_expand", "beat_rerank")
class GrowthFacts:
    """How a tree of drafts grows, at one of its levels."""

    level: int
    levels: int
    made: int
    parents: int
    read: int
    all: bool
    candidates: int
    drafted: int
    dropped: int
    before: Piece
    fresh: int
    taps: str
    head: bool
    copies: bool
    chosen: bool
    mixed: bool
    proposed: list[GrownFacts]
    others: int


@said("tree_worth", "tree_cost", "tree_again")
class TreeFacts(GrowthFacts):
    """What a tree is worth, and what it costs."""

    older: bool
    sum: str
    reached: bool
    rows: int
    lost: int
    written: int
    passes: int
    drafting: str
    reading: Text


# ---- the parts of a step on the page


@said("tests_hint")
class HintFacts:
    """The tests of a step. coinless: the rule that throws no coins, of which `sign` is compared."""

    shared: bool
    coinless: Text = None
    sign: Text = None


@said("lane_keeps", "tests_keep")
class KeepsFacts:
    """What a rule keeps, and what follows or may follow it. first: at a first look."""

    kept: int
    next: Drawn | None = None
    origin: Text = None
    first: bool = False
    perhaps: Drawn | None = None
    free: bool = False


@said("divergence_test")
class NeedleFacts:
    """A drafted token that is judged by its divergence D, against the tolerance T."""

    reached: bool
    alone: bool
    tree: bool
    near: bool
    rejects: bool
    D: str
    T: str
    coin: str
    limit: str


@said("drift_so_far", "overruled_so_far")
class DriftFacts:
    """How much divergence a run has tolerated so far."""

    drift: str
    bound: str
    bounded: bool
    T: str
    unit: str
    divergence: str
    raw: bool
    none: bool
    alone: bool
    kept: int
    overruled: int
    impossible: int


@said("ledger_masses", "ledger_shown")
class BranchFacts:
    """The masses of a branch, and how many of its tokens are shown."""

    tree: bool
    c: Text
    struck: str
    whole: bool
    shown: int
    all: str
    p: str
    q: str
    reached: Text = None
    more: Text = None
    less: Text = None


@said("counts", "beat_counts")
class CountFacts:
    """What becomes of 100 drafts that begin as this one does up to a token, by HSD's law.

    on: those whose next token stays too; back: the others; stay: of them those that stay there;
    leave: those that step back once more. scene: of the film.
    """

    scene: int
    start: bool
    begin: Piece | None
    none: bool
    due: str
    on: str
    back: str
    stay: str
    leave: str
    share: str
    equation: str
    often: list[PieceFacts]
    rarely: list[PieceFacts]


@said("ledger_residual", "ledger_drawn")
class ResidualFacts:
    """What the next token was drawn from."""

    opaque: bool
    tree: bool
    forward: bool
    bonus: bool
    weight: float
    naive: Text
    draw: Text
    drawn: Drawn
    last: int | None = None
    words: Text = None
    likeliest: Text = None
    chance: Text = None


@said("ledger_elsewhere")
class ElsewhereFacts:
    """Where the next token was drawn, if not on the selected branch."""

    supposed: bool
    ended: bool
    kept: int


@said("left_out")
class LeftOutFacts:
    """What a drawing of a tree leaves out: drafted tokens, candidates, possible next tokens."""

    hidden: int
    drawn: str
    all: str
    tested: int
    mass: str
    after: Piece | None
    more: int
    size: str
    listed: str
    p: str
    q: Text
    fewer: bool = False
    surest: str = ""
    dropped: str = ""


@said("level_test")
class LevelTestFacts:
    """The test of a token at a level below the target."""

    untested: bool
    accepted: bool | None
    kept: bool


@said("level_life")
class LifeFacts:
    """Where a token of a level came from, and where it ended."""

    who: str
    origin: str
    instead: Piece | None
    place: int
    end: str


@said("run_cost")
class CostFacts:
    """What a run with exits computed, as multiples of plain decoding."""

    work: str
    passes: str
    faster: bool
    head: str
    dear: bool


@said("step_cell")
class CellFacts:
    """A step as a cell of the bar of all steps."""

    step: int
    gained: int
    kept: int
    drafted: int
    several: bool
    other: Text = None
    other_kept: int | None = None


# ---- a run


@said("gained_so_far", "steps_differing")
class RunFacts:
    """The steps of a run so far."""

    tokens: int
    calls: int
    rate: str
    differing: int
    steps: int


@said()
class MeanFacts:
    """How many tokens a rule keeps on average, where that is known."""

    name: str
    mean: Text


@said("equal")
class EqualFacts:
    """A run in which both rules kept the same at every step."""

    cold: bool
    own: MeanFacts
    other: MeanFacts | None = None


@said("source_chip")
class SourceFacts:
    """Where a trace comes from."""

    kind: str
    live: bool
    over: bool
    day: str
    finish: Text = None


@said()
class ModelFacts:
    """A model and its parameters."""

    name: str
    size: str
    all: str


@said("pair_chip", "pair_words")
class PairFacts:
    """The models that made a run."""

    pair: str
    target: ModelFacts
    draft: ModelFacts | None
    drafted: Text
    vocabulary: str
    copies: bool


@said()
class DraftOptions:
    """How a run drafts."""

    proposer: str
    gamma: int | Literal["auto"]
    drafts: int


@said()
class SamplingOptions:
    """How a run samples."""

    temperature: float
    top_p: float
    top_k: int


@said()
class FuzzyOptions:
    """How a run tolerates divergence."""

    tolerance: Real
    mode: str
    on: str


@said()
class SettingFacts:
    """The setting of a rule."""

    by_divergence: bool
    sign: Text = None
    value: Real | None = None


@said("setup_line")
class SetupFacts:
    """What made a run. target, first: sizes of the target and of the smallest model."""

    system: str
    title: str
    draft: DraftOptions
    sampling: SamplingOptions
    fuzzy: FuzzyOptions
    copies: bool
    models: int
    thresholds: str
    exits: str
    layout: str
    formula: str
    settings: list[SettingFacts]
    seed: int
    pair: str
    device: str
    live: bool
    notes: list[NoteFacts]
    target: Text = None
    first: Text = None
    finish: Text = None


# ---- a race, and whether drafting pays


@said("race_verdict")
class RaceVerdictFacts:
    """Which lanes are fastest."""

    alone: bool = False
    winners: int = 0
    slower: bool = False
    lanes: int = 0
    names: str = ""
    speeds: str = ""
    prompts: int = 1
    runs: int = 1
    slowest: str = ""
    quickest: str = ""


@said("race_rules")
class RaceRulesFacts:
    """How HSD and vanilla differ."""

    alike: bool = False
    more: str = ""
    low: str = ""
    high: str = ""
    level: bool = False
    ratio: str = ""
    slow: str = ""
    fast: str = ""
    seconds: str = ""


@said("race_calls")
class RaceCallsFacts:
    """Which lanes save target calls."""

    alone: bool = False
    saved: bool = False
    lanes: int = 0
    names: str = ""
    fewer: str = ""
    prompts: int = 1


@said("race_basis")
class RaceBasisFacts:
    """What the numbers of a race are based on."""

    prompts: int
    runs: int
    tokens: str


@said("race_lane")
class RaceLaneFacts:
    """What the calls of a lane cost, and what a step brought."""

    ms: str = ""
    plain: bool = False
    limit: str = ""
    cost: str = ""
    gain: str = ""
    rate: str = ""
    check: str = ""
    below: str = ""
    draft: str = ""
    calls: str = ""
    more: bool = False
    share: str = ""


@said()
class BestFacts:
    """The draft length at which a rule is fastest."""

    speed: str
    gamma: int


@said("calculator")
class CalculatorFacts:
    """Whether drafting pays at a reader's costs.

    share: what is reached of the speed-up that the passes alone allow, where it was measured.
    """

    pays: bool
    costs: str
    share: Text
    vanilla: BestFacts
    usual: BestFacts
    none: bool
    all: bool
    level: str
    gamma: int | None = None
    ratio: Text = None
    low: Text = None
    high: Text = None


@said("mask_hint", "divergence_hint", "costs_hint", "no_details", "ledger_end")
class NoFacts:
    """Nothing: what is said is always the same."""
