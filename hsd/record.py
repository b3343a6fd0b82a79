"""Describing a step in detail for the trace: the draft tree, every branch's masses, every decision.

Only called when tracing is on. It reads what the round computed anyway and changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import torch
from torch import Tensor

from hsd.models.base import Codec
from hsd.rounds import ChainRound, TreeRound
from hsd.sampling import draw
from hsd.trace import Branch, Candidate, Committed, Decision, Node, Origin, Outcome, Residual, Shadow, Test
from hsd.verify import RULES, Law, branch_masses

TOP = 8
SHADOW = RULES["tokenwise"]
SCALARS = ("ratio", "capped", "deficient", "excess", "distance", "joint_q", "asymmetry", "pivot")

Round = ChainRound | TreeRound


class StepRecorder:
    """Describes steps of one run, on the CPU."""

    def __init__(self, codec: Codec, rule: str) -> None:
        self._piece = codec.piece
        self._end_ids = codec.end_ids
        self._rule = rule

    def details(self, played: Round) -> dict[str, Any]:
        """The fields of a `Step` that are there only when tracing is on."""
        return self._chain(played) if isinstance(played, ChainRound) else self._tree(played)

    def _chain(self, played: ChainRound) -> dict[str, Any]:
        p, q, tokens = played.p.cpu(), played.draft.q.cpu(), played.draft.tokens.cpu()
        coins, kept, gamma = played.coins.cpu(), played.kept, len(tokens)
        own = {self._rule: played.law}
        laws = {name: own.get(name) or rule.law(p, q, tokens) for name, rule in RULES.items()}
        ids, draws = tokens.tolist(), played.draft.draws.tolist()
        wanted = [[token] for token in ids]
        if played.token is not None and not played.bonus:
            wanted[kept].append(played.token)
        weight = None if played.bonus else residual_weight(played.law, kept)
        return {
            "nodes": self._nodes(range(gamma), ids, draws, coins.tolist(), p, q),
            "branches": self._branches(range(gamma), p[:-1], q, wanted, _scalars(p, q, tokens)),
            "decisions": decisions(played.law, coins),
            "residual": self._residual(played, kept, weight, None if played.bonus else q[kept]),
            "shadow": self._shadow(laws[SHADOW.name], coins, played.number, ids),
            "extra_draws": played.extra_draws,
            "expected_kept": {name: float(law.expected_kept) for name, law in laws.items()},
        }

    def _tree(self, played: TreeRound) -> dict[str, Any]:
        if not played.drafts.tokens:
            return {"residual": self._residual(played, 0, None, None)}
        drafts, p = played.drafts, played.p.cpu()
        inner = sorted(drafts.rows)  # the nodes after which the draft was asked
        q = torch.stack([drafts.rows[node] for node in inner]).cpu()
        row_of = {node: row for row, node in enumerate(inner)}
        wanted: list[list[int]] = [[] for _ in inner]
        for parent, token in zip(drafts.parents, drafts.tokens, strict=True):
            wanted[row_of[parent]].append(token)
        kept = played.path[-1] if played.path else 0
        if played.token is not None and not played.bonus:
            wanted[row_of[kept]].append(played.token)
        q_above = q[[row_of[parent] for parent in drafts.parents]]
        p_above = p[drafts.parents]
        coins = _first_coins(played)
        main = drafts.paths[0].nodes
        tokens, above = torch.tensor(drafts.ids(main)), [0, *main[:-1]]
        law = SHADOW.law(p[[0, *main]], q[[row_of[node] for node in above]], tokens)
        main_coins = torch.tensor(drafts.paths[0].coins[: len(main)], dtype=torch.float64)
        number = torch.tensor([played.number], dtype=torch.float64)
        return {
            "nodes": self._nodes(drafts.parents, drafts.tokens, drafts.draws, coins, p_above, q_above),
            "branches": self._branches(inner, p[inner], q, wanted, _tree_scalars(played, p, q, row_of)),
            "decisions": [
                Decision(node=n, test=t.kind, threshold=t.threshold, coin=c, accepted=a, draft=t.draft)
                for t, n, c, a in played.tests
            ],
            "residual": self._residual(played, kept, None, None if played.bonus else q[row_of[kept]]),
            "shadow": self._shadow(law, main_coins, number, tokens.tolist()),
        }

    def _nodes(
        self,
        parents: Sequence[int],
        tokens: Sequence[int],
        draws: Sequence[float],
        coins: Sequence[float],
        p: Tensor,
        q: Tensor,
    ) -> list[Node]:
        """The drafted tokens; row i of p and q belongs to the parent of node i + 1."""
        index = list(range(len(tokens)))
        values = (p[index, tokens].tolist(), q[index, tokens].tolist()) if tokens else ([], [])
        rows = zip(parents, tokens, draws, coins, *values, strict=True)
        return [
            Node(id=i, parent=parent, token=token, piece=self._piece(token), p=pt, q=qt, order=i - 1, draw=u, coin=coin)
            for i, (parent, token, u, coin, pt, qt) in enumerate(rows, start=1)
        ]

    def _branches(
        self, nodes: Sequence[int], p: Tensor, q: Tensor, wanted: list[list[int]], scalars: dict[str, list[float]]
    ) -> list[Branch]:
        """One branch per row of p and q; its likeliest tokens, those in `wanted` first."""
        if not len(nodes):
            return []
        score = torch.maximum(p, q)
        for row, tokens in zip(score, wanted, strict=True):
            row[tokens] += 2.0
        count = min(max(TOP, *map(len, wanted)), score.shape[-1])
        top = score.topk(count).indices
        top_p, top_q = p.gather(-1, top), q.gather(-1, top)
        rows = zip(nodes, top.tolist(), top_p.tolist(), top_q.tolist(), _rest(p, top_p), _rest(q, top_q), strict=True)
        return [
            Branch(
                node=node,
                top=[self._candidate(*entry) for entry in zip(ids, ps, qs, strict=True)],
                rest_p=rest_p,
                rest_q=rest_q,
                **_at(scalars, i),
            )
            for i, (node, ids, ps, qs, rest_p, rest_q) in enumerate(rows)
        ]

    def _candidate(self, token: int, p: float, q: float) -> Candidate:
        return Candidate(token=token, piece=self._piece(token), p=p, q=q)

    def _residual(self, played: Round, node: int, weight: float | None, q: Tensor | None) -> Residual | None:
        """The distribution that the step's last token was drawn from, after `node`; q (V,): the draft there."""
        if played.token is None:
            return None
        row, p = played.next.cpu(), played.p[node].cpu()
        ranked = row.clone()
        ranked[played.token] += 2.0
        top = ranked.topk(min(TOP, row.shape[-1])).indices
        q_top = [None] * len(top) if q is None else q[top].tolist()
        outcomes = [
            Outcome(token=token, piece=self._piece(token), probability=probability, p=pt, q=qt)
            for token, probability, pt, qt in zip(top.tolist(), row[top].tolist(), p[top].tolist(), q_top, strict=True)
        ]
        origin: Literal["correction", "bonus"] = "bonus" if played.bonus else "correction"
        rest = _rest(row[None], row[top][None])[0]
        return Residual(node=node, origin=origin, top=outcomes, rest=rest, weight=weight, draw=float(played.number))

    def _shadow(self, law: Law, coins: Tensor, number: Tensor, tokens: list[int]) -> Shadow:
        """What vanilla would have decided about this draft, with the same coins and the same last number."""
        kept = int(law.kept(coins))
        ended = kept > 0 and kept == len(tokens) and tokens[-1] in self._end_ids
        following = None
        if not ended:
            token = int(draw(law.next(kept), number))
            origin: Origin = "bonus" if kept == len(tokens) else "correction"
            following = Committed(token=token, piece=self._piece(token), origin=origin)
        return Shadow(rule=SHADOW.name, decisions=decisions(law, coins), kept=kept, next=following)


def decisions(law: Law, coins: Tensor) -> list[Decision]:
    """The tests that a rule makes with these coins, in its own order, up to the one that decides."""
    thresholds, numbers = law.threshold.tolist(), coins.tolist()
    made: list[Decision] = []
    for t in law.order():
        accepted = numbers[t - 1] < thresholds[t - 1]
        test: Test = "token" if law.forward else "draft" if t == law.gamma else "prefix"
        made.append(Decision(node=t, test=test, threshold=thresholds[t - 1], coin=numbers[t - 1], accepted=accepted))
        if accepted != law.forward:
            break
    return made


def residual_weight(law: Law, t: int) -> float:
    """The factor w of the residual max(w p - q, 0) after t kept tokens, at most 1e300."""
    b = 1.0 if law.b is None else float(law.b[t])
    return min(float(law.a[t]) / b, 1e300) if b else 1e300


def _scalars(p: Tensor, q: Tensor, tokens: Tensor) -> dict[str, list[float]]:
    """The explanation quantities of the branches along one draft, by name."""
    if not len(tokens):
        return {}
    masses = branch_masses(p, q, tokens)
    return {name: getattr(masses, name)[: len(tokens)].tolist() for name in SCALARS}


def _at(scalars: dict[str, list[float]], index: int) -> dict[str, Any]:
    return {name: values[index] for name, values in scalars.items()}


def _tree_scalars(played: TreeRound, p: Tensor, q: Tensor, row_of: dict[int, int]) -> dict[str, list[float]]:
    """The same for every inner node of a tree, along its own path from the root."""
    columns: dict[str, list[float]] = {name: [0.0] * len(row_of) for name in SCALARS}
    for path in played.drafts.paths:
        if not path.nodes:
            continue
        above = [0, *path.nodes[:-1]]
        tokens = torch.tensor(played.drafts.ids(path.nodes))
        values = _scalars(p[[0, *path.nodes]], q[[row_of[node] for node in above]], tokens)
        for name, column in columns.items():
            for node, value in zip(above, values[name], strict=True):
                column[row_of[node]] = value
    return columns


def _first_coins(played: TreeRound) -> list[float]:
    """The coin of each node: that of the first draft which drew it."""
    coins: dict[int, float] = {}
    for path in played.drafts.paths:
        for node, coin in zip(path.nodes[path.fork :], path.coins, strict=False):
            coins.setdefault(node, coin)
    return [coins[node] for node in range(1, len(played.drafts.tokens) + 1)]


def _rest(rows: Tensor, top: Tensor) -> list[float]:
    """The mass of each row outside its `top` entries."""
    return (rows.double().sum(-1) - top.double().sum(-1)).clamp_min(0).tolist()
