"""One round of decoding, and the tokens that its record implies."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from hsd.errors import HsdError
from hsd.trace.levels import Event, Work
from hsd.trace.values import MAX_EVENTS, MAX_LEVELS, MAX_NODES, Count, Divergence, Name, Probability, Record
from hsd.trace.verdict import Branch, Change, Committed, Decision, Node, Residual, Shadow


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
    events: Annotated[list[Event], Field(max_length=MAX_EVENTS)] = []
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
