"""The record of a step with one draft, or with none."""

from __future__ import annotations

import math

from torch import Tensor

from hsd.decoding.record.levels import LevelRecorder
from hsd.decoding.record.parts import Describer, Details, decisions, scalars
from hsd.decoding.rounds import ChainRound
from hsd.decoding.rounds.chain import raw_rows
from hsd.models.base import Codec
from hsd.rules import RULES, Law, Rule
from hsd.sampling import draw
from hsd.trace import Decision, Path, Residual, Verdict


class ChainRecorder:
    """Describes steps of one run, on the CPU.

    rule: the run's rule; shadow: the one to compare with. levelled: whether there are levels between draft and target,
    so that what happens at them is recorded too.
    """

    def __init__(self, codec: Codec, rule: Rule, shadow: Rule, levelled: bool = False) -> None:
        self._describe = Describer(codec)
        self._rule, self._shadow = rule, shadow
        self._tested = [rule, shadow, *(other for other in RULES.values() if not other.tunable)]
        self._events = LevelRecorder(codec) if levelled else None

    def details(self, played: ChainRound) -> Details:
        """The fields of a `Step` that are there only when tracing is on."""
        p, q, tokens = played.p.cpu(), played.draft.q.cpu(), played.draft.tokens.cpu()
        coins, gamma = played.coins.cpu(), len(tokens)
        raw = raw_rows(played.rows, played.draft)
        laws = {self._rule.name: played.law}
        for rule in self._tested:
            laws[rule.name] = laws.get(rule.name) or rule.law(p, q, tokens, raw and (raw[0].cpu(), raw[1].cpu()))
        ids, draws = tokens.tolist(), played.draft.draws.tolist()
        number = float(played.number)
        own = self._verdict(
            self._rule.name, played.law, played.kept, played.token, number, decisions(played.law, tokens, coins)
        )
        own = own.model_copy(update={"extra_draws": played.extra_draws})
        shadow = self._judge_again(laws[self._shadow.name], tokens, coins, played.number)
        return {
            "nodes": self._describe.nodes(range(gamma), ids, draws, coins.tolist(), p, q),
            "branches": self._describe.branches(
                range(gamma), p[:-1], q, _wanted(ids, own.residual, shadow.residual), scalars(p, q, tokens)
            ),
            "paths": [Path(nodes=list(range(1, gamma + 1)))] if gamma else [],
            "verdict": own,
            "shadow": shadow,
            "events": list(self._events.events(played.draft)) if self._events else [],
            "divergences": _divergences(played.law),
            "expected_kept": {name: float(law.expected_kept) for name, law in laws.items()},
        }

    def _verdict(
        self, rule: str, law: Law, kept: int, token: int | None, number: float, made: list[Decision]
    ) -> Verdict:
        """What a rule decided, with the token that follows, None where the kept ones end the text."""
        if token is None:
            return Verdict(rule=rule, kept=kept, decisions=made)
        bonus = kept == law.gamma
        p, row = law.p[kept].cpu(), law.next(kept).cpu()
        q, weight, mass = (None, None, None) if bonus else (law.q[kept].cpu(), *_weight(law, kept))
        residual = self._describe.residual(kept, token, number, row, p, q, weight, mass)
        following = self._describe.committed(token, residual.origin)
        return Verdict(rule=rule, kept=kept, decisions=made, residual=residual, next=following)

    def _judge_again(self, law: Law, tokens: Tensor, coins: Tensor, number: Tensor) -> Verdict:
        """What the rule to compare with would have decided about this draft, with the same coins and last number."""
        kept = int(law.kept(coins.to(law.threshold.device)))
        ended = 0 < kept == len(tokens) and int(tokens[-1]) in self._describe.end_ids
        token = None if ended else int(draw(law.next(kept), number.to(law.p.device)))
        made = decisions(law, tokens, coins)
        return self._verdict(self._shadow.name, law, kept, token, float(number), made)


def _divergences(law: Law) -> list[float]:
    """D at every drafted position, for a rule that judges by it."""
    return [] if law.divergence is None else law.divergence.tolist()


def _wanted(ids: list[int], *residuals: Residual | None) -> list[list[int]]:
    """The tokens that each branch must list: the drafted one, and those drawn there."""
    wanted = [[token] for token in ids]
    for residual in residuals:
        if residual and residual.node < len(ids):
            wanted[residual.node].append(residual.top[0].token)
    return wanted


def _weight(law: Law, t: int) -> tuple[float, float | None]:
    """The factor w of the residual max(w p - q, 0) after t kept tokens, and its sum; infinite, without a sum, for p."""
    b = 1.0 if law.b is None else float(law.b[t])
    return (float(law.a[t]) / b, float(law.leftover(t)[1]) / b) if b else (math.inf, None)
