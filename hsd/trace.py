"""The trace of a run: what was drafted, how it was judged and what came of it.

This module knows data only: no tensors, no models, no random numbers. Everything that shows, measures or
stores a run reads a `Trace`. A trace that comes from outside is untrusted: sizes, types and references are
checked here, and text is plain text that every consumer must escape.

Positions: `t` counts drafted tokens. Node 0 of a step is its root, the last committed token; the drafted
tokens are nodes 1, 2, …; a *branch* is a node together with all its possible next tokens.
Units: probabilities are plain numbers in [0, 1]; times are seconds.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from hsd.errors import HsdError

TRACE_VERSION: Literal[1] = 1
MAX_BYTES = 32_000_000
MAX_STEPS = 65_536
MAX_NODES = 1_024
MAX_TOP = 64
MAX_LEVELS = 8


def _whole_characters(text: str) -> str:
    """Refuse half a character (a lone surrogate): JSON can spell it, but it can be neither shown nor saved."""
    text.encode()
    return text


Probability = Annotated[float, Field(ge=0, le=1.0001, allow_inf_nan=False)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Divergence = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0, le=2**31)]
TokenId = Annotated[int, Field(ge=0, le=2**31)]
Text = Annotated[str, AfterValidator(_whole_characters)]
Piece = Annotated[Text, Field(max_length=400)]
Name = Annotated[Text, Field(max_length=200)]
Origin = Literal["draft", "correction", "bonus"]
Test = Literal["token", "draft", "prefix"]


class Record(BaseModel):
    """Base of all parts: frozen, and unknown fields are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Node(Record):
    """A drafted token. `p` and `q` are what target and draft gave it.

    `draw` is the random number that drew it from the draft; `coin` is the one that belongs to its position in
    every rule's tests, whether or not a rule came to use it.
    """

    id: Annotated[int, Field(ge=1, le=MAX_NODES)]
    parent: Annotated[int, Field(ge=0, le=MAX_NODES)]
    token: TokenId
    piece: Piece
    p: Probability
    q: Probability
    order: Count
    draw: Probability
    coin: Annotated[float, Field(ge=0, lt=1)]


class Candidate(Record):
    """One of the likeliest next tokens of a branch."""

    token: TokenId
    piece: Piece
    p: Probability
    q: Probability


class Branch(Record):
    """The next-token distributions under one node, and the masses that decide about it.

    Masses are relative to the draft's joint probability of the path, `joint_q`, and are computed over the
    whole vocabulary before `top` is cut. With the capped ratio c of the path: deficient = Σ max(c·p − q, 0),
    excess = Σ max(q − c·p, 0). `ratio` is p/q of the whole path (cut at 1e300), `pivot` the number of tokens
    after which that ratio was largest so far (0: it never exceeded 1), `distance` the total variation of p
    and q here, `asymmetry` the uncapped joint p − q of the path. Source: 2601.05724, Definitions 4–5, Eqs. 17–18.
    """

    node: Annotated[int, Field(ge=0, le=MAX_NODES)]
    top: Annotated[list[Candidate], Field(max_length=MAX_TOP)]
    rest_p: Probability
    rest_q: Probability
    ratio: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    capped: Probability
    deficient: Probability
    excess: Probability
    distance: Probability
    asymmetry: Finite
    joint_q: Probability
    pivot: Count


class Grounds(Record):
    """The numbers that a threshold was computed from, where earlier rejections may have changed them.

    `token`: min(1, p/q). `capped`: min(1, before·p/q). `share`: mass / (mass + 1 − before). `chosen`: p.
    `p` is what the target that was valid by then gave the token; `before` is a capped ratio, `mass` a deficient mass.
    """

    form: Literal["token", "capped", "share", "chosen"]
    p: Probability
    q: Probability
    before: Probability
    mass: Probability


class Decision(Record):
    """One test: accept iff `coin < threshold`. `node` is the last token that would be kept.

    `token` tests a single token, `draft` a whole draft, `prefix` the path up to `node` after a longer one failed.
    `draft` counts the drafts from 0 where several are verified one after another. `grounds` are recorded for trees;
    with a single draft the nodes and branches hold the same numbers.
    """

    node: Annotated[int, Field(ge=1, le=MAX_NODES)]
    test: Test
    threshold: Probability
    coin: Annotated[float, Field(ge=0, lt=1)]
    accepted: bool
    draft: Count = 0
    grounds: Grounds | None = None

    @model_validator(mode="after")
    def _outcome_follows(self) -> Decision:
        if self.accepted != (self.coin < self.threshold):
            raise ValueError(f"decision at node {self.node} contradicts its coin and threshold")
        return self


class Outcome(Record):
    """A token of the distribution that the step's last token was drawn from: its probability there, and p and q."""

    token: TokenId
    piece: Piece
    probability: Probability
    p: Probability
    q: Probability | None = None


class Residual(Record):
    """What the token after the kept ones was drawn from: the residual of `node`'s branch, or the target after it.

    `weight` is the factor w in max(w·p − q, 0); it is absent when the token is a bonus, drawn from the target.
    """

    node: Annotated[int, Field(ge=0, le=MAX_NODES)]
    origin: Literal["correction", "bonus"]
    top: Annotated[list[Outcome], Field(max_length=MAX_TOP)]
    rest: Probability
    weight: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    draw: Probability


class Change(Record):
    """What a rejection made of the branch under `node`, in a tree: its target from then on is the residual in `top`.

    `after` decisions had been taken. The residual is max(weight·p − q, 0), normalised, with the p that was valid until
    then; `mass` is its sum before that. `rate` is the capped ratio of the node from then on, where the rule has one. An
    outcome's `p` is the branch's first target, its `probability` the new one.
    """

    after: Count
    node: Annotated[int, Field(ge=0, le=MAX_NODES)]
    weight: Probability
    mass: Probability
    rate: Probability | None = None
    top: Annotated[list[Outcome], Field(max_length=MAX_TOP)]
    rest: Probability


class Committed(Record):
    """A token of the output and where it came from."""

    token: TokenId
    piece: Piece
    origin: Origin


class Shadow(Record):
    """What another rule decides on the same draft, with the same coins and the same draw. It changes nothing.

    `residual` is what its next token would be drawn from.
    """

    rule: Name
    decisions: Annotated[list[Decision], Field(max_length=MAX_NODES)]
    kept: Count
    next: Committed | None = None
    residual: Residual | None = None
    changes: Annotated[list[Change], Field(max_length=MAX_NODES)] = []


class Tested(Record):
    """A token that a level below the target was handed, and what that level made of it.

    `p` and `q` are what the level and the one below gave it. `threshold` and `coin` are those of its own test, and
    `accepted` is None where that test was not made.
    """

    token: TokenId
    piece: Piece
    p: Probability
    q: Probability
    threshold: Probability
    coin: Annotated[float, Field(ge=0, lt=1)]
    accepted: bool | None = None


class Work(Record):
    """What a level computed: forward calls; and for the exits of one model also layer passes, the tokens that went
    through each of them in all, and how many rows the output head computed.
    """

    calls: Count = 0
    layers: Count = 0
    computed: Count = 0
    heads: Count = 0


class Event(Record):
    """Something that happened at a level below the target before it was asked: a draft, or a verification.

    `level` counts from 0, the smallest model. `position` is the length of the text that the block continues, `asked`
    how many tokens the level above wanted, `held` how many the level had settled for it before this event. `tested`
    are the tokens that came from the level below; the first `kept` of them were kept. `committed` is what the level
    settled thereby: every token of it is distributed as the level's own model. `seconds` include the levels below.
    """

    level: Annotated[int, Field(ge=0, le=MAX_LEVELS)]
    kind: Literal["draft", "verify"]
    position: Count
    asked: Count
    held: Count
    tested: Annotated[list[Tested], Field(max_length=MAX_NODES)] = []
    kept: Count
    committed: Annotated[list[Committed], Field(max_length=MAX_NODES)]
    work: Work = Work()
    seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)]

    @model_validator(mode="after")
    def _kept_is_committed(self) -> Event:
        if self.kept > len(self.committed) or (self.kind == "verify" and self.kept > len(self.tested)):
            raise ValueError(f"an event of level {self.level} keeps {self.kept} tokens that it does not have")
        return self


class Times(Record):
    """Where a step's seconds went; `rest` is all that is not named."""

    draft: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    target: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    verify: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    rest: Annotated[float, Field(ge=0, allow_inf_nan=False)]

    @property
    def total(self) -> float:
        return self.draft + self.target + self.verify + self.rest


class Step(Record):
    """One round: draft, score, verify, commit.

    The first block of fields is always there. The second is filled when tracing is on and describes the draft
    tree, every branch that could be extended, and the decisions in the order in which they were taken.
    `drafted` counts all drafted tokens; in a tree, no more than `depth` of them can be kept.
    `target_calls` is above 1, and `extra_draws` has numbers, where a rule resampled the rest of the block.
    `work` is what the target's own pass computed; `below` what each level under it did in this step, smallest first,
    and `events` how. `divergences` has one number per drafted token, for a rule that judges by them.
    """

    index: Count
    context_length: Count
    drafted: Count
    depth: Count | None = None
    kept: Count
    target_calls: Annotated[int, Field(ge=1, le=2**20)] = 1
    work: Work = Work()
    below: Annotated[list[Work], Field(max_length=MAX_LEVELS)] = []
    committed: Annotated[list[Committed], Field(min_length=1, max_length=MAX_NODES)]
    times: Times
    start: Annotated[float, Field(ge=0, allow_inf_nan=False)]

    nodes: Annotated[list[Node], Field(max_length=MAX_NODES)] = []
    branches: Annotated[list[Branch], Field(max_length=MAX_NODES)] = []
    decisions: Annotated[list[Decision], Field(max_length=MAX_NODES)] = []
    changes: Annotated[list[Change], Field(max_length=MAX_NODES)] = []
    residual: Residual | None = None
    shadow: Shadow | None = None
    extra_draws: Annotated[list[Probability], Field(max_length=MAX_NODES)] = []
    events: Annotated[list[Event], Field(max_length=MAX_NODES)] = []
    divergences: Annotated[list[Divergence], Field(max_length=MAX_NODES)] = []
    expected_kept: dict[Name, Annotated[float, Field(allow_inf_nan=False)]] = {}

    @property
    def tokens(self) -> list[int]:
        return [c.token for c in self.committed]

    @property
    def longest(self) -> int:
        """The length of the longest draft: how many tokens could have been kept."""
        return self.drafted if self.depth is None else self.depth

    @model_validator(mode="after")
    def _references_hold(self) -> Step:
        if self.kept > self.longest or self.longest > self.drafted:
            raise ValueError(f"step {self.index} keeps {self.kept} of {self.drafted} drafted tokens")
        if self.kept > len(self.committed):
            raise ValueError(f"step {self.index} keeps {self.kept} tokens but commits {len(self.committed)}")
        if not self.nodes:
            return self
        for position, node in enumerate(self.nodes, start=1):
            if node.id != position or node.parent >= node.id:
                raise ValueError(f"step {self.index}: node ids must count from 1, parents first")
        last = len(self.nodes)
        named = [b.node for b in self.branches] + _named(self) + (_named(self.shadow) if self.shadow else [])
        if any(n > last for n in named):
            raise ValueError(f"step {self.index} refers to a node that it does not have")
        return self


def _named(judged: Step | Shadow) -> list[int]:
    """The nodes that a rule's record refers to."""
    named = [d.node for d in judged.decisions] + [c.node for c in judged.changes]
    return [*named, judged.residual.node] if judged.residual else named


class ModelInfo(Record):
    """A model that took part: `parameters` counts numbers, shared ones once."""

    name: Name
    revision: Name | None = None
    parameters: Annotated[int, Field(ge=0)]
    dtype: Name


class Setup(Record):
    """What made the run: enough to run it again.

    models: every level of a system that has more than two, smallest first and the target last; `stack` says which
    models of the pair they are, `exits` after how many of the target's layers they end. `thresholds` say how many
    tokens each level below the target hands up at least, `level_rules` how those between the ends verify.
    divergence, tolerance, fuzzy_mode, divergence_on: of the rule "fuzzy", empty without it. notes: what a reader of
    this run has to know, such as that its rule is not lossless.
    """

    system: Name
    rule: Name
    gamma: Annotated[int, Field(ge=0, le=32)]
    drafts: Annotated[int, Field(ge=1, le=64)] = 1
    tree: Name = "paths"
    shadow: Name = ""
    temperature: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    top_k: Count
    top_p: Probability
    max_new_tokens: Count
    seed: int
    pair: Name
    target: ModelInfo
    draft: ModelInfo | None = None
    device: Name
    vocab_size: Annotated[int, Field(ge=1, le=2**31)]
    versions: dict[Name, Name] = {}
    models: Annotated[list[ModelInfo], Field(max_length=MAX_LEVELS)] = []
    stack: Annotated[list[Count], Field(max_length=MAX_LEVELS)] = []
    exits: Annotated[list[Count], Field(max_length=MAX_LEVELS)] = []
    thresholds: Annotated[list[Count], Field(max_length=MAX_LEVELS)] = []
    level_rules: Annotated[list[Name], Field(max_length=MAX_LEVELS)] = []
    divergence: Name = ""
    tolerance: Finite | None = None
    fuzzy_mode: Name = ""
    divergence_on: Name = ""
    notes: Annotated[list[Piece], Field(max_length=64)] = []


class Prompt(Record):
    """The text given, as the target's tokens."""

    text: Annotated[Text, Field(max_length=1_000_000)]
    ids: Annotated[list[TokenId], Field(max_length=1_000_000)]
    pieces: Annotated[list[Piece], Field(max_length=1_000_000)]


class Result(Record):
    """How the run ended: `length` budget used up, `end` end of text, `context` no room left, `cancelled`."""

    text: Text
    finish: Literal["length", "end", "context", "cancelled"]
    seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Trace(Record):
    """A whole run. Pass it on with `to_json`, read it back with `from_json`."""

    trace_version: Literal[1] = TRACE_VERSION
    app_version: Name
    created: Name
    setup: Setup
    prompt: Prompt
    steps: Annotated[list[Step], Field(max_length=MAX_STEPS)]
    result: Result

    @property
    def text(self) -> str:
        """The new text, without the prompt."""
        return self.result.text

    @property
    def tokens(self) -> list[int]:
        """The ids of the new tokens."""
        return [token for step in self.steps for token in step.tokens]

    def stats(self) -> dict[str, Any]:
        """All numbers that are quoted about this run; see `statistics`."""
        return statistics(self.steps, self.result.seconds)

    def replay(self) -> list[int]:
        """The new tokens, derived once more from drafts, coins and thresholds alone.

        Raises HsdError when the record contradicts itself or was made with tracing off.
        """
        return [token for step in self.steps for token in replay_step(step)]

    def to_json(self, indent: int | None = None) -> str:
        return self.model_dump_json(indent=indent)

    @staticmethod
    def from_json(text: str | bytes) -> Trace:
        """Read an untrusted trace. Raises HsdError, one line, for anything that is not a valid one."""
        if len(text) > MAX_BYTES:
            raise HsdError(f"trace of {len(text) / 1e6:.0f} MB: at most {MAX_BYTES / 1e6:.0f} MB can be opened")
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise HsdError(f"this file is not JSON ({_short(error)}): choose a trace saved by hsd") from None
        if not isinstance(data, dict) or "trace_version" not in data:
            raise HsdError("this JSON is not a trace (no trace_version): choose a file saved by hsd")
        if data["trace_version"] != TRACE_VERSION:
            found = str(data["trace_version"])[:20]
            raise HsdError(f"trace version {found} cannot be read, only {TRACE_VERSION}: record the run again")
        return _validated(data)


def statistics(steps: list[Step], seconds: float) -> dict[str, Any]:
    """Statistics of a run, by the definitions that hold everywhere in this project.

    Block efficiency is committed tokens per target call, correction and bonus included, prefill not counted.
    Acceptance at position i is the share of the steps with a draft of at least i tokens which kept at least i.
    `calls_below` are the forward calls of each level under the target, smallest first, where they were counted.
    `tokens_per_second` counts the whole run, prefill included.
    """
    tokens = sum(len(s.committed) for s in steps)
    calls = sum(s.target_calls for s in steps)
    drafted, kept = sum(s.drafted for s in steps), sum(s.kept for s in steps)
    longest = max((s.longest for s in steps), default=0)
    return {
        "new_tokens": tokens,
        "steps": len(steps),
        "target_calls": calls,
        "drafted": drafted,
        "kept": kept,
        "block_efficiency": tokens / calls if calls else 0.0,
        "acceptance_rate": kept / drafted if drafted else 0.0,
        "acceptance_by_position": [_acceptance(steps, i) for i in range(1, longest + 1)],
        "kept_histogram": dict(sorted(Counter(s.kept for s in steps).items())),
        "calls_below": [sum(calls) for calls in zip(*([w.calls for w in s.below] for s in steps), strict=True)],
        "origins": dict(Counter(c.origin for s in steps for c in s.committed)),
        "seconds": seconds,
        "tokens_per_second": tokens / seconds if seconds else 0.0,
        "time": {k: sum(getattr(s.times, k) for s in steps) for k in ("draft", "target", "verify", "rest")},
    }


def replay_step(step: Step) -> list[int]:
    """The tokens that a step's record implies: the path that its decisions keep, and what was drawn after it."""
    if step.drafted and not step.nodes:
        raise HsdError("this trace was recorded without its drafts: run again with tracing on")
    accepted = [d.node for d in step.decisions if d.accepted]
    path = _path(step, accepted[-1] if accepted else 0)
    if len(path) != step.kept or path != step.tokens[: step.kept]:
        raise HsdError(f"step {step.index} of this trace contradicts itself: its decisions keep {len(path)} tokens")
    return path + step.tokens[step.kept :]


def _path(step: Step, node: int) -> list[int]:
    """Tokens from the root to `node`."""
    path: list[int] = []
    while node:
        path.append(step.nodes[node - 1].token)
        node = step.nodes[node - 1].parent
    return path[::-1]


def _acceptance(steps: list[Step], position: int) -> float:
    reached = [s.kept >= position for s in steps if s.longest >= position]
    return sum(reached) / len(reached)


def _validated(data: dict[str, Any]) -> Trace:
    try:
        return Trace.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part)[:40] for part in first["loc"]) or "trace"
        raise HsdError(f"not a valid trace: {where}: {_short(first['msg'])}") from None


def _short(message: object) -> str:
    return " ".join(str(message).split())[:160]
