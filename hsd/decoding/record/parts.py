"""The parts of a step's record that do not depend on how it was drafted: nodes, branches, distributions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Literal

import torch
from torch import Tensor

from hsd.models.base import Codec
from hsd.rules import Law, branch_masses
from hsd.trace import Branch, Candidate, Committed, Decision, Grounds, Node, Origin, Outcome, Residual, Test

TOP = 8
Details = dict[str, Any]
SCALARS = ("ratio", "capped", "deficient", "excess", "distance", "joint_q", "asymmetry", "pivot")


class Describer:
    """Turns rows of probabilities into records; distributions are cut to their `TOP` largest entries."""

    def __init__(self, codec: Codec) -> None:
        self.piece = codec.piece
        self.end_ids = codec.end_ids

    def nodes(
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
            Node(id=i, parent=parent, token=token, piece=self.piece(token), p=pt, q=qt, order=i - 1, draw=u, coin=coin)
            for i, (parent, token, u, coin, pt, qt) in enumerate(rows, start=1)
        ]

    def branches(
        self, nodes: Sequence[int], p: Tensor, q: Tensor, wanted: list[list[int]], scalars: Details
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
        rows = zip(nodes, top.tolist(), top_p.tolist(), top_q.tolist(), rest(p, top_p), rest(q, top_q), strict=True)
        return [
            Branch(
                node=node,
                top=[self._candidate(*entry) for entry in zip(ids, ps, qs, strict=True)],
                rest_p=rest_p,
                rest_q=rest_q,
                **{name: values[i] for name, values in scalars.items()},
            )
            for i, (node, ids, ps, qs, rest_p, rest_q) in enumerate(rows)
        ]

    def _candidate(self, token: int, p: float, q: float) -> Candidate:
        return Candidate(token=token, piece=self.piece(token), p=p, q=q)

    def outcomes(
        self, row: Tensor, p: Tensor, q: Tensor | None, first: Sequence[int], most: int = TOP
    ) -> tuple[list[Outcome], float]:
        """The likeliest tokens of `row` (V,), those in `first` before all others, and the mass of what is left out."""
        ranked = row.clone()
        ranked[list(first)] += 2.0
        top = ranked.topk(min(max(most, len(first)), row.shape[-1])).indices
        q_top = [None] * len(top) if q is None else q[top].tolist()
        values = zip(top.tolist(), row[top].tolist(), p[top].tolist(), q_top, strict=True)
        outcomes = [
            Outcome(token=token, piece=self.piece(token), probability=probability, p=pt, q=qt)
            for token, probability, pt, qt in values
        ]
        return outcomes, rest(row[None], row[top][None])[0]

    def residual(
        self,
        node: int,
        token: int,
        number: float,
        row: Tensor,
        p: Tensor,
        q: Tensor | None,
        weight: float | None = None,
        mass: float | None = None,
    ) -> Residual:
        """What the step's last token was drawn from, after `node`; p, q (V,) there. Without q it is a bonus."""
        top, hidden = self.outcomes(row, p, q, [token])
        origin: Literal["correction", "bonus"] = "bonus" if q is None else "correction"
        return Residual(node=node, origin=origin, top=top, rest=hidden, weight=weight, mass=mass, draw=number)

    def committed(self, token: int, origin: Origin) -> Committed:
        return Committed(token=token, piece=self.piece(token), origin=origin)


def scalars(p: Tensor, q: Tensor, tokens: Tensor) -> Details:
    """The explanation quantities of the branches along one draft, by name."""
    if not len(tokens):
        return {}
    masses = branch_masses(p, q, tokens)
    return {name: getattr(masses, name)[: len(tokens)].tolist() for name in SCALARS}


def rest(rows: Tensor, top: Tensor) -> list[float]:
    """The mass of each row outside its `top` entries."""
    return (rows.double().sum(-1) - top.double().sum(-1)).clamp_min(0).tolist()


def decisions(law: Law, tokens: Tensor, coins: Tensor) -> list[Decision]:
    """The tests that a rule makes with these coins, in its own order, up to the one that decides."""
    thresholds, numbers = law.threshold.tolist(), coins.tolist()
    grounds = [Grounds(**asdict(found)) for found in law.grounds(tokens)]
    made: list[Decision] = []
    for t in law.order():
        accepted = numbers[t - 1] < thresholds[t - 1]
        test: Test = "token" if law.forward else "draft" if t == law.gamma else "prefix"
        threshold, coin = thresholds[t - 1], numbers[t - 1]
        made.append(
            Decision(node=t, test=test, threshold=threshold, coin=coin, accepted=accepted, grounds=grounds[t - 1])
        )
        if accepted != law.forward:
            break
    return made
