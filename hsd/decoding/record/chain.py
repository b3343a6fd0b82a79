"""The record of a step with one draft, or with none."""

from __future__ import annotations

from torch import Tensor

from hsd.decoding.record.levels import LevelRecorder
from hsd.decoding.record.parts import Describer, Details, decisions, scalars
from hsd.decoding.rounds import ChainRound
from hsd.decoding.rounds.chain import raw_rows
from hsd.models.base import Codec
from hsd.rules import RULES, Law, Rule
from hsd.sampling import draw
from hsd.trace import Residual, Shadow


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
        shadow = self._judge_again(laws[self._shadow.name], coins, played.number, ids)
        residual = None
        if played.token is not None:
            residual = self._residual(played.law, played.kept, played.token, float(played.number))
        return {
            "nodes": self._describe.nodes(range(gamma), ids, draws, coins.tolist(), p, q),
            "branches": self._describe.branches(
                range(gamma), p[:-1], q, _wanted(ids, residual, shadow.residual), scalars(p, q, tokens)
            ),
            "decisions": decisions(played.law, coins),
            "residual": residual,
            "shadow": shadow,
            "extra_draws": played.extra_draws,
            "events": list(self._events.events(played.draft)) if self._events else [],
            "divergences": _divergences(played.law),
            "expected_kept": {name: float(law.expected_kept) for name, law in laws.items()},
        }

    def _residual(self, law: Law, kept: int, token: int, number: float) -> Residual:
        """What the token after the kept ones is drawn from."""
        bonus = kept == law.gamma
        q = None if bonus else law.q[kept].cpu()
        weight = None if bonus else residual_weight(law, kept)
        return self._describe.residual(kept, token, number, law.next(kept).cpu(), law.p[kept].cpu(), q, weight)

    def _judge_again(self, law: Law, coins: Tensor, number: Tensor, tokens: list[int]) -> Shadow:
        """What the rule to compare with would have decided about this draft, with the same coins and last number."""
        kept = int(law.kept(coins.to(law.threshold.device)))
        made = decisions(law, coins)
        if kept and kept == len(tokens) and tokens[-1] in self._describe.end_ids:
            return Shadow(rule=self._shadow.name, decisions=made, kept=kept)
        token = int(draw(law.next(kept), number.to(law.p.device)))
        return Shadow(
            rule=self._shadow.name,
            decisions=made,
            kept=kept,
            next=self._describe.committed(token, "bonus" if kept == len(tokens) else "correction"),
            residual=self._residual(law, kept, token, float(number)),
        )


def _divergences(law: Law) -> list[float]:
    """D at every drafted position, for a rule that judges by it; infinity cannot be written, 1e300 stands for it."""
    return [] if law.divergence is None else law.divergence.clamp_max(1e300).tolist()


def _wanted(ids: list[int], *residuals: Residual | None) -> list[list[int]]:
    """The tokens that each branch must list: the drafted one, and those drawn there."""
    wanted = [[token] for token in ids]
    for residual in residuals:
        if residual and residual.node < len(ids):
            wanted[residual.node].append(residual.top[0].token)
    return wanted


def residual_weight(law: Law, t: int) -> float:
    """The factor w of the residual max(w p - q, 0) after t kept tokens, at most 1e300."""
    b = 1.0 if law.b is None else float(law.b[t])
    return min(float(law.a[t]) / b, 1e300) if b else 1e300
