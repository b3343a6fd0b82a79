"""Describing a step in detail for the trace: the draft tree, every branch's masses, every decision.

Only called when tracing is on. It reads what the step computed anyway and changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from hsd.draft import Draft
from hsd.models.base import Codec
from hsd.sampling import draw
from hsd.trace import Branch, Candidate, Committed, Decision, Node, Origin, Outcome, Residual, Shadow, Test
from hsd.verify import RULES, Law, Rule, branch_masses

TOP = 8
SHADOW = RULES["tokenwise"]


@dataclass(frozen=True)
class Judgement:
    """What a rule decided about a draft.

    coins (γ,) and number (1,): the random numbers; kept: drafted tokens kept; token: what follows them,
    None where the kept tokens end the text.
    """

    law: Law
    coins: Tensor
    number: Tensor
    kept: int
    token: int | None

    @property
    def after(self) -> list[int]:
        """The token that follows the kept ones, as a list of one or none."""
        return [] if self.token is None else [self.token]


class StepRecorder:
    """Describes steps of one run, on the CPU."""

    def __init__(self, codec: Codec, rule: Rule) -> None:
        self._piece = codec.piece
        self._end_ids = codec.end_ids
        self._rule = rule

    def details(self, p: Tensor, draft: Draft, judged: Judgement, extra_draws: list[float]) -> dict[str, Any]:
        """The fields of a `Step` that are there only when tracing is on: p (γ+1, V), and what was decided."""
        p, q, tokens = p.cpu(), draft.q.cpu(), draft.tokens.cpu()
        own = {self._rule.name: judged.law}
        laws = {name: own.get(name) or rule.law(p, q, tokens) for name, rule in RULES.items()}
        return {
            "nodes": self._nodes(p, q, draft, judged.coins),
            "branches": self._branches(p, q, tokens, judged),
            "decisions": decisions(judged.law, judged.coins),
            "residual": self._residual(p, q, judged),
            "shadow": self._shadow(laws[SHADOW.name], judged, tokens),
            "extra_draws": extra_draws,
            "expected_kept": {name: float(law.expected_kept) for name, law in laws.items()},
        }

    def _nodes(self, p: Tensor, q: Tensor, draft: Draft, coins: Tensor) -> list[Node]:
        index = draft.tokens.cpu().unsqueeze(-1)
        columns = (
            index,
            p[:-1].gather(-1, index),
            q.gather(-1, index),
            draft.draws.unsqueeze(-1),
            coins.cpu().unsqueeze(-1),
        )
        rows = zip(*(c.squeeze(-1).tolist() for c in columns), strict=True)
        return [
            Node(id=t, parent=t - 1, token=token, piece=self._piece(token), p=pt, q=qt, order=t - 1, draw=u, coin=coin)
            for t, (token, pt, qt, u, coin) in enumerate(rows, start=1)
        ]

    def _branches(self, p: Tensor, q: Tensor, tokens: Tensor, judged: Judgement) -> list[Branch]:
        gamma = len(tokens)
        if not gamma:
            return []
        masses = branch_masses(p, q, tokens)
        score = torch.maximum(p[:-1], q).scatter(-1, tokens.unsqueeze(-1), 3.0)  # the drafted token comes first
        if judged.token is not None and judged.kept < gamma:
            score[judged.kept, judged.token] = 2.0  # then the one that was drawn instead
        top = score.topk(min(TOP, score.shape[-1])).indices
        top_p, top_q = p[:-1].gather(-1, top), q.gather(-1, top)
        rest_p, rest_q = _rest(p[:-1], top_p), _rest(q, top_q)
        rows = zip(top.tolist(), top_p.tolist(), top_q.tolist(), rest_p, rest_q, strict=True)
        scalars = {
            name: getattr(masses, name)[:gamma].tolist()
            for name in ("ratio", "capped", "deficient", "excess", "distance", "joint_q", "asymmetry", "pivot")
        }
        return [
            Branch(
                node=t,
                top=[self._candidate(*entry) for entry in zip(ids, ps, qs, strict=True)],
                rest_p=rp,
                rest_q=rq,
                **{name: values[t] for name, values in scalars.items()},
            )
            for t, (ids, ps, qs, rp, rq) in enumerate(rows)
        ]

    def _candidate(self, token: int, p: float, q: float) -> Candidate:
        return Candidate(token=token, piece=self._piece(token), p=p, q=q)

    def _residual(self, p: Tensor, q: Tensor, judged: Judgement) -> Residual | None:
        """The distribution that the step's last token was drawn from."""
        if judged.token is None:
            return None
        bonus = judged.kept == len(q)
        row = judged.law.next(judged.kept).cpu()
        top = _with_first(row, judged.token).topk(min(TOP, row.shape[-1])).indices
        columns = (top, row[top], p[judged.kept][top], *([] if bonus else [q[judged.kept][top]]))
        outcomes = [
            Outcome(token=token, piece=self._piece(token), probability=pr, p=pt, q=rest[0] if rest else None)
            for token, pr, pt, *rest in zip(*(c.tolist() for c in columns), strict=True)
        ]
        return Residual(
            node=judged.kept,
            origin="bonus" if bonus else "correction",
            top=outcomes,
            rest=_rest(row, row[top])[0],
            weight=None if bonus else residual_weight(judged.law, judged.kept),
            draw=float(judged.number),
        )

    def _shadow(self, law: Law, judged: Judgement, tokens: Tensor) -> Shadow:
        """What vanilla would have decided about this draft, with the same coins and the same last number."""
        coins = judged.coins.cpu()
        kept = int(law.kept(coins))
        ended = kept > 0 and kept == len(tokens) and int(tokens[-1]) in self._end_ids
        following = None
        if not ended:
            token = int(draw(law.next(kept), judged.number))
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


def _with_first(row: Tensor, token: int) -> Tensor:
    """A copy of `row` in which `token` ranks first."""
    ranked = row.clone()
    ranked[token] = 2.0
    return ranked


def _rest(rows: Tensor, top: Tensor) -> list[float]:
    """The mass of each row outside its `top` entries, summed directly so that it is exact when tiny."""
    rest = (rows.double().sum(-1) - top.double().sum(-1)).clamp_min(0)
    return rest.reshape(-1).tolist()
