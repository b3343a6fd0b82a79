"""A step's draft tree, its branches and masses, and what a rule decided about it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from hsd.trace.values import MAX_NODES, MAX_TOP, Count, Finite, Name, Origin, Piece, Probability, Record, Test, TokenId


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
