"""One round of decoding, what levels below the target did in it, and the tokens that it implies."""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from hsd.errors import HsdError
from hsd.trace.format import plural, quoted, together
from hsd.trace.values import (
    Coin,
    Count,
    Finite,
    Most,
    Name,
    Positive,
    Probability,
    Record,
    Seconds,
    Token,
)
from hsd.trace.verdict import Branch, Committed, Grown, Node, PathRecord, Verdict


class Times(Record):
    """Where a step's seconds went; `rest` is all that is not named."""

    draft: Seconds
    target: Seconds
    verify: Seconds
    rest: Seconds


class Tested(Token):
    """A token that a level below the target was handed, and what that level made of it.

    `p` and `q` are what the level and the one below gave it. `threshold` and `coin` are those of
    its own test, and `accepted` is None where that test was not made.
    """

    p: Probability
    q: Probability
    threshold: Probability
    coin: Coin
    accepted: bool | None = None


class Work(Record):
    """Counts of what a level computed.

    calls: forward calls. For the exits of one model its layers are counted too.
    layers: layer passes. computed: the tokens of each, summed. heads: rows of the output head.
    """

    calls: Count = 0
    layers: Count = 0
    computed: Count = 0
    heads: Count = 0


class Event(Record):
    """Something that happened at a level below the target before it was asked.

    It is a draft, or a verification. `level` counts from 0, the smallest model. `position` is the
    length of the text that the block continues, `asked` how many tokens the level above wanted,
    `held` how many the level had settled for it before this event. `tested` are the tokens that
    came from the level below; the first `kept` of them were kept. `committed` is what the level
    settled thereby: every token of it is distributed as the level's own model. `seconds` include
    the levels below.
    """

    level: Annotated[int, Field(ge=0, le=Most.LEVELS)]
    kind: Literal["draft", "verify"]
    position: Count
    asked: Count
    held: Count
    tested: Annotated[list[Tested], Field(max_length=Most.NODES)] = []
    kept: Count
    committed: Annotated[list[Committed], Field(max_length=Most.NODES)]
    work: Work = Work()
    seconds: Seconds


class Step(Record):
    """One round: draft, score, verify, commit.

    The first block of fields is always there. The second is filled when tracing is on and describes
    the draft tree, its drafts in order, every branch that could be extended, what the run's rule
    decided, and what the rule to compare with decides. `drafted` counts all drafted tokens; no more
    than `depth` of them can be kept. `target_calls` is above 1 where a rule resampled the rest of
    the block. `expected_kept` is how many tokens of this very draft rules keep on average over all
    coins, and `kept_law`, of the run's rule and the one to compare with, the probability of keeping
    0, 1, … of them; both only where that can be worked out. `work` is what the target's own pass
    computed; `below` what each level under it did in this step, smallest first, and `events` how.
    `divergences` has one number per drafted token, for a rule that judges by them. `growth` is all
    that a grown tree was cut from.
    """

    __slots__ = ("_run",)  # the Trace that it is shown in: no part of its data

    index: Count
    context_length: Count
    drafted: Count
    depth: Count
    kept: Count
    target_calls: Annotated[int, Field(ge=1, le=2**20)] = 1
    work: Work = Work()
    below: Annotated[list[Work], Field(max_length=Most.LEVELS)] = []
    committed: Annotated[list[Committed], Field(min_length=1, max_length=Most.NODES)]
    times: Times
    start: Seconds

    nodes: Annotated[list[Node], Field(max_length=Most.NODES)] = []
    paths: Annotated[list[PathRecord], Field(max_length=Most.NODES)] = []
    branches: Annotated[list[Branch], Field(max_length=Most.NODES)] = []
    verdict: Verdict | None = None
    shadow: Verdict | None = None
    divergences: Annotated[list[Positive], Field(max_length=Most.NODES)] = []
    growth: Annotated[list[Grown], Field(max_length=Most.GROWTH)] = []
    events: Annotated[list[Event], Field(max_length=Most.EVENTS)] = []
    expected_kept: dict[Name, Finite] = {}
    kept_law: dict[
        Name, Annotated[list[Probability], Field(min_length=1, max_length=Most.NODES)]
    ] = {}

    def __repr__(self) -> str:
        kept = f"{self.kept} of {plural(self.drafted, 'drafted token')} kept"
        return f"<Step {self.index + 1}: {kept}, {quoted(together(self.committed))}>"

    __str__ = __repr__

    def _repr_html_(self) -> str | None:
        """Return this step as `hsd.show` does; None where its run is not known, as in `decode`."""
        run: Any = getattr(self, "_run", None)
        return run._html(self.index + 1) if run else None

    @property
    def tokens(self) -> list[int]:
        return [c.token for c in self.committed]

    @model_validator(mode="after")
    def _holds_together(self) -> "Step":
        """Raise ValueError with the first fault where parts of the step contradict each other."""
        count = len(self.nodes)
        verdicts = [verdict for verdict in (self.verdict, self.shadow) if verdict]
        decisions = [decision for verdict in verdicts for decision in verdict.decisions]
        named = [branch.node for branch in self.branches]
        named += [verdict.residual.node for verdict in verdicts if verdict.residual]
        named += [decision.node for decision in decisions]
        named += [change.node for verdict in verdicts for change in verdict.changes]
        parents = {node.id: node.parent for node in self.nodes}
        counted = [*parents] == [*range(1, count + 1)]
        ordered = counted and all(above < node for node, above in parents.items())
        grown = all(
            one.parent <= place and (one.node or 0) <= count
            for place, one in enumerate(self.growth)
        )
        tested = all(
            decision.accepted == (decision.coin < decision.threshold) for decision in decisions
        )
        follows = all(
            parents.get(node) == above
            for path in self.paths
            for node, above in zip(path.nodes, [0, *path.nodes[:-1]], strict=True)
        )
        kept_drafted = self.kept <= self.depth <= self.drafted
        laws_fit = all(len(law) == self.depth + 1 for law in self.kept_law.values())
        agreed = self.verdict is None or self.verdict.kept == self.kept
        drafts_known = all(decision.draft < len(self.paths) for decision in decisions)
        events_keep = all(
            event.kept <= len(event.committed)
            and (event.kind != "verify" or event.kept <= len(event.tested))
            for event in self.events
        )
        committed = len(self.committed)
        other = " has another number of {} than its draft"
        unknown = " refers to a {} that it does not have"
        faults = {
            f" keeps {self.kept} of {self.drafted} drafted tokens": not kept_drafted,
            f" keeps {self.kept} tokens but commits {committed}": self.kept > committed,
            other.format("nodes"): not {count, len(self.divergences)} <= {0, self.drafted},
            other.format("paths"): bool(self.nodes) != bool(self.paths),
            other.format("laws of kept tokens"): not laws_fit,
            other.format("kept tokens"): not agreed,
            ": node ids must count from 1, parents first": not ordered,
            unknown.format("node"): max(named, default=0) > count,
            ": what the tree was cut from does not hold together": not grown,
            unknown.format("draft"): not drafts_known,
            ": a test contradicts its coin and threshold": not tested,
            ": an event keeps tokens that it does not have": not events_keep,
            ": a draft does not follow the tree": not follows,
        }
        if fault := next((words for words, holds in faults.items() if holds), ""):
            raise ValueError(f"step {self.index}{fault}")
        return self

    def path(self, node: int) -> list[int]:
        """Return the nodes from the first drafted one to `node`; none for the root, 0."""
        nodes: list[int] = []
        while node:
            nodes.insert(0, node)
            node = self.nodes[node - 1].parent
        return nodes


def replay_step(step: Step, own: bool = False) -> list[int]:
    """Return the tokens that a step's record implies.

    They are the path that its decisions keep, and what was drawn after it. own: the run's rule is
    one of one's own, of which no decisions are known: what it kept is taken as recorded.
    """
    if step.drafted and not step.nodes:
        raise HsdError("this trace was recorded without its drafts: run again with tracing on")
    accepted = [d.node for d in step.verdict.decisions if d.accepted] if step.verdict else []
    if own:
        accepted = [*range(1, step.kept + 1)]
    path = [step.nodes[node - 1].token for node in step.path(accepted[-1] if accepted else 0)]
    if len(path) != step.kept or path != step.tokens[: step.kept]:
        what = f"step {step.index} of this trace contradicts itself"
        raise HsdError(f"{what}: its decisions keep {len(path)} tokens")
    return path + step.tokens[step.kept :]
