"""A step's draft tree, its branches and masses, and what a rule decided about it."""

from typing import Annotated, Literal

from pydantic import Field

from hsd.trace.values import (
    Coin,
    Count,
    Finite,
    Most,
    Name,
    Origin,
    Positive,
    Probability,
    Record,
    Token,
)

NodeId = Annotated[int, Field(ge=0, le=Most.NODES)]  # 0 is the root
DraftedId = Annotated[int, Field(ge=1, le=Most.NODES)]


class Node(Token):
    """A drafted token. `p` and `q` are what target and draft gave it.

    `draw` is the number that drew it from the draft, None where another engine drew it by a race;
    `coin` is the one that belongs to its position in every rule's tests, whether or not a rule came
    to use it.
    """

    id: DraftedId
    parent: NodeId
    p: Probability
    q: Probability
    order: Count
    draw: Probability | None
    coin: Coin


class Grown(Token):
    """A token that was considered while a tree grew, whether or not it was drafted.

    level: how deep it lies, from 1 on. parent: the place of the one that it follows in the list of
    them all, from 1 on; 0 for the root. q, joint: what the draft gave it and its whole path at
    temperature 1. read: the draft read it, to find what may follow. node: of the draft, None for
    one that the re-ranking left out.
    """

    level: Count
    parent: Count
    q: Probability
    joint: Probability
    read: bool = False
    node: DraftedId | None = None


class PathRecord(Record):
    """One draft: its nodes from depth 1 on.

    The first `fork` of them, perhaps all, are the first draft's too.
    """

    nodes: Annotated[list[DraftedId], Field(max_length=Most.NODES)]
    fork: Count = 0


class Candidate(Token):
    """One of the likeliest next tokens of a branch."""

    p: Probability
    q: Probability


class Branch(Record):
    """The next-token distributions under one node, and the masses that decide about it.

    Masses are relative to the draft's joint probability of the path, `joint_q`, and are computed
    over the whole vocabulary before `top` is cut. With the capped ratio c of the path: deficient =
    Σ max(c·p − q, 0), excess = Σ max(q − c·p, 0). `ratio` is p/q of the whole path, `pivot` the
    number of tokens after which that ratio was largest so far (0: it never exceeded 1), `distance`
    the total variation of p and q here, `asymmetry` the uncapped joint p − q of the path, `entropy`
    that of the target's row in nats, None in older traces. Source: 2601.05724, Definitions 4–5,
    Eqs. 17–18. `lead` is by how much other tokens are ahead of the drafted one x in an exponential
    race, Σ max(q_x·p − p_x·q, 0); None in trees, and in older traces.
    """

    node: NodeId
    top: Annotated[list[Candidate], Field(max_length=Most.TOP)]
    rest_p: Probability
    rest_q: Probability
    ratio: Positive
    capped: Probability
    deficient: Probability
    excess: Probability
    distance: Probability
    asymmetry: Finite
    joint_q: Probability
    pivot: Count
    entropy: Positive | None = None
    lead: Positive | None = None


class GroundsRecord(Record):
    """The numbers that went into a threshold; which of them count depends on the form.

    The forms are those of the rules' records, `forms` in `hsd.facts.facts()`; a later version may
    have more. `p` is what the target that was valid by then gave the token.
    """

    form: Annotated[str, Field(pattern="^[a-z][a-z0-9-]{0,39}$")]
    p: Probability = 0.0
    q: Probability = 0.0
    before: Positive = 1.0
    mass: Positive = 0.0
    divergence: Positive | None = None
    weight: Probability = 0.0
    entropy: Positive | None = None
    mixed: Probability | None = None
    rival: Probability | None = None


class Decision(Record):
    """One test: accept iff `coin < threshold`. `node` is the last token that would be kept.

    `token` tests a single token, `draft` a whole draft, `prefix` the path up to `node` after a
    longer one failed. `draft` counts the drafts from 0, as `Step.paths` has them.
    """

    node: DraftedId
    test: Literal["token", "draft", "prefix"]
    threshold: Probability
    coin: Coin
    accepted: bool
    draft: Count = 0
    grounds: GroundsRecord


class Outcome(Token):
    """A token of the distribution that the step's last token was drawn from.

    It has its probability there, and p and q.
    """

    probability: Probability
    p: Probability
    q: Probability | None = None


class Residual(Record):
    """The distribution of the token after the kept ones.

    It is the residual of `node`'s branch, or the target after it. A residual is max(weight·p − q,
    0), and `mass` its sum before it was normalised, with the p that was valid by then. Both are
    absent when the token is a bonus, drawn from the target, and where a rule names the likeliest of
    a row and draws nothing; an infinite weight is all of p, without a mass. `draw` is None where
    another engine drew by a race.
    """

    node: NodeId
    origin: Literal["correction", "bonus"]
    top: Annotated[list[Outcome], Field(max_length=Most.TOP)]
    rest: Probability
    weight: Positive | None = None
    mass: Positive | None = None
    draw: Probability | None


class ChangeRecord(Record):
    """What a rejection made of the branch under `node`, in a tree.

    Its target from then on is the residual in `top`. `after` decisions had been taken. The residual
    is max(weight·p − q, 0), normalised, with the p that was valid until then; `mass` is its sum
    before that. `rate` is the capped ratio of the node from then on, where the rule has one. An
    outcome's `p` is the branch's first target, its `probability` the new one.
    """

    after: Count
    node: NodeId
    weight: Probability
    mass: Probability
    rate: Probability | None = None
    top: Annotated[list[Outcome], Field(max_length=Most.TOP)]
    rest: Probability


class Committed(Token):
    """A token of the output and where it came from."""

    origin: Origin


class Verdict(Record):
    """What a rule decided about a draft.

    The rule is the run's own, or one to compare with, on the same coins and last number.
    `decisions` are in the order in which they were taken. `residual` is what `next` was drawn from;
    both are absent where the kept tokens end the text. `extra_draws` has numbers where the rule
    resampled the rest of the block.
    """

    rule: Name
    kept: Count
    decisions: Annotated[list[Decision], Field(max_length=Most.NODES)] = []
    changes: Annotated[list[ChangeRecord], Field(max_length=Most.NODES)] = []
    residual: Residual | None = None
    next: Committed | None = None
    extra_draws: Annotated[list[Probability], Field(max_length=Most.NODES)] = []
