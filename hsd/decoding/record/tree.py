"""The record of a step with several drafts."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial

import torch
from torch import Tensor

from hsd.decoding.record.parts import SCALARS, Describer, Details, scalars
from hsd.decoding.rounds import TreeRound, TreeVerdict, ancestors
from hsd.draft import Drafts
from hsd.models.base import Codec
from hsd.rules import Change as Changed
from hsd.rules import TreeRule, endings
from hsd.sampling import draw
from hsd.trace import Change, Decision, Grounds, Path, Residual, Verdict

FEW = 4  # outcomes listed of what a rejection left over, besides the tokens drafted there
ENUMERABLE = 32  # drafted tokens up to which the expected number of kept ones is worked out


@dataclass(frozen=True)
class _Rows:
    """The distributions of a step, on the CPU: p (n+1, V), q (inner nodes, V); row_of: the row of q for a node."""

    p: Tensor
    q: Tensor
    inner: list[int]
    row_of: dict[int, int]

    @classmethod
    def of(cls, played: TreeRound) -> _Rows:
        rows = played.drafts.rows
        inner = sorted(rows)  # the nodes after which the draft was asked
        q = torch.stack([rows[node] for node in inner]).cpu()
        return cls(played.p.cpu(), q, inner, {node: row for row, node in enumerate(inner)})

    def draft(self, node: int) -> Tensor:
        return self.q[self.row_of[node]]


class TreeRecorder:
    """Describes steps of one run, on the CPU. rule: the run's rule; shadow: the one to compare with."""

    def __init__(self, codec: Codec, rule: TreeRule, shadow: TreeRule) -> None:
        self._describe = Describer(codec)
        self._rule, self._shadow = rule, shadow

    def details(self, played: TreeRound) -> Details:
        """The fields of a `Step` that are there only when tracing is on."""
        drafts, number, p = played.drafts, played.number, played.p.cpu()
        if not drafts.tokens:
            return self._nothing_drafted(played)
        rows = _Rows.of(played)
        own = self._told(self._rule.name, rows, drafts, played.verdict, played.token, number)
        shadow = self._judge_again(played, rows)
        above = [rows.row_of[parent] for parent in drafts.parents]
        coins = _first_coins(drafts)
        return {
            "nodes": self._describe.nodes(
                drafts.parents, drafts.tokens, drafts.draws, coins, p[drafts.parents], rows.q[above]
            ),
            "branches": self._describe.branches(
                rows.inner,
                p[rows.inner],
                rows.q,
                _wanted(drafts, rows, own.residual, shadow.residual),
                _scalars(drafts, rows),
            ),
            "paths": [Path(nodes=path.nodes, fork=path.fork) for path in drafts.paths if path.nodes],
            "verdict": own,
            "shadow": shadow,
            "expected_kept": self._expected_kept(played),
        }

    def _nothing_drafted(self, played: TreeRound) -> Details:
        token = played.committed[0]
        residual = self._describe.residual(0, token, played.number, played.next.cpu(), played.p[0].cpu(), None, None)
        following = self._describe.committed(token, "bonus")
        own = Verdict(rule=self._rule.name, kept=0, next=following, residual=residual)
        return {"verdict": own, "shadow": own.model_copy(update={"rule": self._shadow.name})}

    def _residual(self, rows: _Rows, drafts: Drafts, verdict: TreeVerdict, token: int, number: float) -> Residual:
        """What the token after the kept ones is drawn from; a bonus where nothing was drafted."""
        node = verdict.node
        q = rows.draft(node) if node in drafts.parents else None
        last = next((change for _, change, at in reversed(verdict.changes) if at == node), None)
        weight, mass = (last.weight, last.mass) if q is not None and last else (None, None)
        return self._describe.residual(node, token, number, verdict.next.cpu(), rows.p[node], q, weight, mass)

    def _changes(self, rows: _Rows, drafts: Drafts, verdict: TreeVerdict) -> list[Change]:
        return [self._change(rows, drafts, after, change, node) for after, change, node in verdict.changes]

    def _change(self, rows: _Rows, drafts: Drafts, after: int, change: Changed, node: int) -> Change:
        drafted = [token for token, above in zip(drafts.tokens, drafts.parents, strict=True) if above == node]
        top, hidden = self._describe.outcomes(change.target.cpu(), rows.p[node], rows.draft(node), drafted, FEW)
        weight, mass, rate = change.weight, change.mass, change.rate
        return Change(after=after, node=node, weight=weight, mass=mass, rate=rate, top=top, rest=hidden)

    def _told(
        self, rule: str, rows: _Rows, drafts: Drafts, verdict: TreeVerdict, token: int | None, number: float
    ) -> Verdict:
        """What a rule decided, with the token that follows, None where the kept ones end the text."""
        residual = None if token is None else self._residual(rows, drafts, verdict, token, number)
        return Verdict(
            rule=rule,
            kept=len(ancestors(drafts, verdict.node)),
            decisions=_decisions(verdict),
            changes=self._changes(rows, drafts, verdict),
            residual=residual,
            next=self._describe.committed(residual.top[0].token, residual.origin) if residual else None,
        )

    def _judge_again(self, played: TreeRound, rows: _Rows) -> Verdict:
        """What the rule to compare with would have decided about these drafts, with the same coins and last number."""
        drafts = played.drafts
        verdict = played.verdict if self._shadow is self._rule else TreeVerdict.of(self._shadow, played.separate)
        ended = verdict.node and drafts.tokens[verdict.node - 1] in self._describe.end_ids
        number = torch.tensor([played.number], dtype=torch.float64)
        token = None if ended else int(draw(verdict.next.cpu(), number))
        return self._told(self._shadow.name, rows, drafts, verdict, token, played.number)

    def _expected_kept(self, played: TreeRound) -> dict[str, float]:
        """How many tokens both rules keep of these drafts on average over all coins; not for large trees."""
        if played.drafted > ENUMERABLE:
            return {}
        return {rule.name: _mean_kept(rule, played) for rule in (self._rule, self._shadow)}


def _mean_kept(rule: TreeRule, played: TreeRound) -> float:
    tree = played.separate.tree
    return sum(weight * len(tree.path(end.node)) for weight, end in endings(partial(rule.process, tree)))


def _decisions(verdict: TreeVerdict) -> list[Decision]:
    return [
        Decision(
            node=node,
            test=test.kind,
            threshold=test.threshold,
            coin=coin,
            accepted=accepted,
            draft=test.draft,
            grounds=Grounds(**asdict(test.grounds)),
        )
        for test, node, coin, accepted in verdict.tests
    ]


def _wanted(drafts: Drafts, rows: _Rows, *residuals: Residual | None) -> list[list[int]]:
    """The tokens that each branch must list: the drafted ones, and those drawn there."""
    wanted: list[list[int]] = [[] for _ in rows.inner]
    for parent, token in zip(drafts.parents, drafts.tokens, strict=True):
        wanted[rows.row_of[parent]].append(token)
    for residual in residuals:
        if residual and residual.origin == "correction":
            wanted[rows.row_of[residual.node]].append(residual.top[0].token)
    return wanted


def _scalars(drafts: Drafts, rows: _Rows) -> dict[str, list[float]]:
    """The explanation quantities of every inner node, along its own path from the root."""
    columns: dict[str, list[float]] = {name: [0.0] * len(rows.inner) for name in SCALARS}
    for path in drafts.paths:
        above = [0, *path.nodes[:-1]]
        tokens = torch.tensor(drafts.ids(path.nodes))
        along = [rows.row_of[node] for node in above]
        values = scalars(rows.p[[0, *path.nodes]], rows.q[along], tokens)
        for name, column in columns.items():
            for row, value in zip(along, values[name], strict=True):
                column[row] = value
    return columns


def _first_coins(drafts: Drafts) -> list[float]:
    """The coin of each node: that of the first draft which drew it."""
    coins: dict[int, float] = {}
    for path in drafts.paths:
        for node, coin in zip(path.nodes[path.fork :], path.coins, strict=False):
            coins.setdefault(node, coin)
    return [coins[node] for node in range(1, len(drafts.tokens) + 1)]
