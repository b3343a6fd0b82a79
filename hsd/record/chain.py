"""The record of a step with one draft, or with none."""

from __future__ import annotations

from torch import Tensor

from hsd.models.base import Codec
from hsd.record.parts import Describer, Details, scalars
from hsd.rounds import ChainRound
from hsd.sampling import draw
from hsd.trace import Decision, Residual, Shadow, Test
from hsd.verify import RULES, Law


class ChainRecorder:
    """Describes steps of one run, on the CPU. rule: the run's rule; shadow: the one to compare with."""

    def __init__(self, codec: Codec, rule: str, shadow: str) -> None:
        self._describe = Describer(codec)
        self._rule, self._shadow = rule, shadow

    def details(self, played: ChainRound) -> Details:
        """The fields of a `Step` that are there only when tracing is on."""
        p, q, tokens = played.p.cpu(), played.draft.q.cpu(), played.draft.tokens.cpu()
        coins, gamma = played.coins.cpu(), len(tokens)
        own = {self._rule: played.law}
        laws = {name: own.get(name) or rule.law(p, q, tokens) for name, rule in RULES.items()}
        ids, draws = tokens.tolist(), played.draft.draws.tolist()
        shadow = self._judge_again(laws[self._shadow], coins, played.number, ids)
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
        kept = int(law.kept(coins))
        made = decisions(law, coins)
        if kept and kept == len(tokens) and tokens[-1] in self._describe.end_ids:
            return Shadow(rule=self._shadow, decisions=made, kept=kept)
        token = int(draw(law.next(kept), number))
        return Shadow(
            rule=self._shadow,
            decisions=made,
            kept=kept,
            next=self._describe.committed(token, "bonus" if kept == len(tokens) else "correction"),
            residual=self._residual(law, kept, token, float(number)),
        )


def _wanted(ids: list[int], *residuals: Residual | None) -> list[list[int]]:
    """The tokens that each branch must list: the drafted one, and those drawn there."""
    wanted = [[token] for token in ids]
    for residual in residuals:
        if residual and residual.node < len(ids):
            wanted[residual.node].append(residual.top[0].token)
    return wanted


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
