"""Describing a step in detail for the trace: the drafts, every branch's masses, every decision.

Only called when tracing is on. It reads what the round computed anyway and changes nothing.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from hsd.decoding.describe import SCALARS, Describer, scalars
from hsd.decoding.judge import ChainDecision, OwnDecision, Ruling, TestResult, judge
from hsd.decoding.judges import Judges
from hsd.decoding.options import AnyRule
from hsd.decoding.rounds import Round, last_kept, next_token
from hsd.draft import Draft, Visit
from hsd.models.base import Codec
from hsd.models.reading import Rows
from hsd.rules import Change
from hsd.rules.tree import point_mass
from hsd.trace import Decision, Event, GroundsRecord, Node, PathRecord, Tested, Verdict, Work
from hsd.trace.verdict import ChangeRecord as Changed

FEW = 4  # outcomes listed of what a rejection left over, besides the tokens drafted there
CPU = torch.device("cpu")


class Recorder:
    """Describes the steps of one run for its trace, on the CPU.

    judges: the run's rules; of the one to compare with a verdict is recorded, of the others the
    expected number of kept tokens. levelled: record the rounds of the levels between draft and
    target, too.
    """

    def __init__(self, codec: Codec, judges: Judges, levelled: bool = False) -> None:
        self._describe = Describer(codec)
        self._end_ids = codec.end_ids
        self._rule = judges.rule
        self._shadow = judges.shadow
        self._levelled = levelled
        beside = {rule.name: rule for rule in (judges.shadow, *judges.others)}
        self._others = {name: rule for name, rule in beside.items() if name != judges.rule.name}

    def details(self, played: Any) -> dict[str, Any]:
        """Return the fields of a `Step` that only a run with tracing has, by name.

        played: a `Round`.
        """
        played = played.recorded()
        if isinstance(played.ruling, OwnDecision):
            played.ruling.again()
        step = _Step(self._describe, played)
        judged = {self._rule.name: played.ruling}
        judged |= {name: judge(rule, step.draft, step.rows) for name, rule in self._others.items()}
        own = step.verdict(self._rule.name, played.ruling, played.token)
        other = judged[self._shadow.name]  # the run's last number draws what follows what it keeps
        after = (
            next_token(step.draft, other, step.number, self._end_ids) if len(step.number) else None
        )
        shadow = step.verdict(self._shadow.name, other, after)
        known = {
            name: law for name, ruling in judged.items() if (law := ruling.kept_law) is not None
        }
        return {
            "nodes": step.nodes(),
            "paths": [
                PathRecord(nodes=list(path.nodes), fork=path.fork) for path in step.draft.paths
            ],
            "branches": step.branches(own, shadow),
            "verdict": own.model_copy(update={"extra_draws": played.extra_draws}),
            "shadow": shadow,
            "divergences": step.divergences(self._rule),
            "growth": self._describe.growth(played.draft.growth) if played.draft.growth else [],
            "events": list(self._events(played.draft)) if self._levelled else [],
            "kept_law": {
                name: known[name] for name in (self._rule.name, self._shadow.name) if name in known
            },
            "expected_kept": {
                name: sum(t * chance for t, chance in enumerate(law)) for name, law in known.items()
            },
        }

    def _events(self, draft: Draft) -> Iterator[Event]:
        """Yield all that led to a draft at the levels below the target, in its order in time."""
        for visit in draft.visits:
            if visit.played is None:
                yield self._event(visit, "draft", [], len(draft.ids), draft.ids)
            else:
                yield from self._events(visit.played.draft)
                tested = _Step(self._describe, visit.played).tested()
                yield self._event(
                    visit, "verify", tested, visit.played.kept, visit.played.committed
                )

    def _event(
        self, visit: Visit, kind: str, tested: list[Tested], kept: int, committed: list[int]
    ) -> Event:
        fields = {
            name: getattr(visit, name) for name in ("level", "position", "asked", "held", "seconds")
        }
        fields |= {"kind": kind, "tested": tested, "kept": kept, "work": Work(**visit.work)}
        bonus = visit.played is not None and visit.played.bonus
        return Event(**fields, committed=self._describe.committed(committed, kept, bonus))


class _Step:
    """One round on the CPU, with the values that are needed more than once."""

    def __init__(self, describe: Describer, played: Round) -> None:
        self._describe = describe
        self._played = played
        self.draft = played.draft.to(CPU)
        self.number = played.number
        self.rows = Rows(played.rows.p.cpu(), played.rows.logits.cpu())
        # which row of q comes after a node
        self._row_of = {node: row for row, node in enumerate(self.draft.inner)}

    def nodes(self) -> list[Node]:
        """Return the drafted tokens, each with what target and draft gave it."""
        draft = self.draft
        coins = self._coins()
        nodes = list[Node]()
        rows = zip(
            draft.parents, draft.ids, draft.draws.tolist() or [None] * len(draft.ids), strict=True
        )
        for i, (parent, token, draw) in enumerate(rows, start=1):
            fields = {
                **self._describe.token_fields(token),
                "parent": parent,
                "draw": draw,
                "coin": coins[i],
            }
            fields |= {"p": float(self.rows.p[parent, token]), "q": float(self._proposal(i)[token])}
            nodes.append(Node(id=i, order=i - 1, **fields))
        return nodes

    def divergences(self, rule: AnyRule) -> list[float]:
        """Return the divergence of p and q where each node was drafted.

        The list is empty for a rule that does not judge by it.
        """
        law = getattr(self._played.ruling, "law", None)
        apart = getattr(rule, "divergence", None)
        if law:
            return [] if law.divergence is None else list(law.divergence.tolist())
        found = apart(self.rows.p[list(self.draft.inner)], self.draft.q).tolist() if apart else []
        return [found[self._row_of[parent]] for parent in self.draft.parents if found]

    def _proposal(self, node: int) -> Tensor:
        """Return the row (V,) that a node was drawn from.

        It has all mass on the node's token if a "mixed" tree chose it.
        """
        draft = self.draft
        row = self.draft.q[self._row_of[self.draft.parents[node - 1]]]
        return (
            point_mass(row, draft.ids[node - 1])
            if draft.siblings == "mixed" and node not in draft.drawn
            else row
        )

    def _coins(self) -> dict[int, float]:
        """Return the coin of each node: that of the first draft which drew it."""
        coins: dict[int, float] = {}
        for path in reversed(self.draft.paths):
            coins |= dict(zip(path.nodes[path.fork :], path.coins.tolist(), strict=False))
        return coins

    def branches(self, *verdicts: Verdict) -> list[Any]:
        """Return a branch for each node with children.

        It has the tokens drafted there, and those that the verdicts drew there.
        """
        if not (inner := self.draft.inner):
            return []
        wanted = [self._below(node) for node in inner]
        for verdict in verdicts:
            residual = verdict.residual
            if residual and verdict.next and residual.origin == "correction":
                wanted[self._row_of[residual.node]].append(verdict.next.token)
        p = self.rows.p[: len(inner)] if self.draft.is_chain else self.rows.p[list(inner)]
        return self._describe.branches(inner, p, self.draft.q, wanted, self._scalars())

    def _below(self, node: int) -> list[int]:
        """Return the tokens drafted right after a node."""
        pairs = zip(self.draft.ids, self.draft.parents, strict=True)
        return [token for token, above in pairs if above == node]

    def _scalars(self) -> dict[str, list[Any]]:
        """Return the explanation quantities of every branch, along its own path from the root."""
        if self.draft.is_chain:
            return scalars(self.rows.p, self.draft.q, self.draft.tokens)
        count = len(self.draft.inner)
        columns: dict[str, list[Any]] = {name: [0.0] * count for name in SCALARS}
        # of mixed siblings the drawn one, which is first, counts
        for path in reversed(self.draft.paths):
            nodes = list(path.nodes)
            along = [self._row_of[node] for node in (0, *nodes[:-1])]
            q = torch.stack([self._proposal(node) for node in nodes])
            values = scalars(
                self.rows.p[[0, *nodes]],
                q,
                torch.tensor(self.draft.tokens_of(nodes), dtype=torch.int64, device="cpu"),
            )
            for name in SCALARS:
                for row, value in zip(along, values[name], strict=True):
                    columns[name][row] = value
        return columns

    def verdict(self, rule: str, ruling: Ruling, token: int | None) -> Verdict:
        """Return a rule's decision.

        token: the one that follows; None where the kept tokens end the text.
        """
        fields: dict[str, Any] = {
            "rule": rule,
            "kept": len(ruling.path),
            "decisions": [*map(_decision, ruling.tests)],
        }
        fields["changes"] = [
            self._change(after, change, node) for after, change, node in ruling.changes
        ]
        if token is None:
            return Verdict(**fields)
        node = last_kept(ruling)
        bonus = node not in self.draft.parents
        q = None if bonus else self.draft.q[self._row_of[node]]
        number = self.number
        if isinstance(ruling, OwnDecision):
            number = ruling.number
            top, hidden = list[Any](), 1.0  # nothing is known of what it draws from
        else:
            top, hidden = self._describe.outcomes(ruling.next.cpu(), self.rows.p[node], q, [token])
        weight, mass = (None if bonus else ruling.residual) or (None, None)
        (following,) = self._describe.committed([token], 0, bonus)
        fields["residual"] = {
            "node": node,
            "origin": following.origin,
            "top": top,
            "rest": hidden,
            "weight": weight,
        }
        fields["residual"] |= {"mass": mass, "draw": next(iter(number.tolist()), None)}
        return Verdict(**fields, next=following)

    def _change(self, after: int, change: Change, node: int) -> Changed:
        target = change.target.cpu()
        drafted = self._below(node)
        top, hidden = self._describe.outcomes(
            target, self.rows.p[node], self.draft.q[self._row_of[node]], drafted, FEW
        )
        numbers = {name: getattr(change, name) for name in ("weight", "mass", "rate")}
        return Changed(after=after, node=node, top=top, rest=hidden, **numbers)

    def tested(self) -> list[Tested]:
        """Return the tokens from the level below, each with its last test, the kept ones first."""
        ruling = self._played.ruling
        nodes = self.nodes()
        last_test = {tried.node: tried for tried in ruling.tests}
        order = [
            *ruling.path,
            *(node for node in range(1, len(self.draft.ids) + 1) if node not in ruling.path),
        ]
        thresholds = (
            dict(enumerate(ruling.law.threshold.tolist(), 1))
            if isinstance(ruling, ChainDecision)
            else {}
        )
        return [
            Tested(
                **{
                    name: getattr(nodes[node - 1], name)
                    for name in ("token", "piece", "bytes", "p", "q")
                },
                threshold=last_test[node].test.threshold
                if node in last_test
                else thresholds.get(node, 0.0),
                coin=last_test[node].coin if node in last_test else nodes[node - 1].coin,
                accepted=last_test[node].accepted if node in last_test else None,
            )
            for node in order
        ]


def _decision(tried: TestResult) -> Decision:
    test = tried.test
    fields = {name: getattr(tried, name) for name in ("node", "coin", "accepted")}
    fields |= {"test": test.kind, "threshold": test.threshold, "draft": test.draft}
    return Decision(**fields, grounds=GroundsRecord(**test.grounds.as_data()))
