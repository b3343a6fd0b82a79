"""Coupled rounds: draft and target pick with the same numbers, which belong to places of the text.

So what is committed at a place is always the target's own pick there, whatever was drafted: the
text of plain decoding with those numbers. No coin and no residual is needed for it. A trace records
such a step like any other, by numbers that lead to the same tokens: a coin for each drafted token,
and for each token a number that draws it from its row.
"""

from dataclasses import replace
from functools import cached_property

import torch
from torch import Tensor

from hsd.decoding.judge import ChainDecision, judge
from hsd.draft import Draft, DraftPath
from hsd.models.reading import Rows
from hsd.rules import Law, Rule
from hsd.rules.coupled import BELOW_ONE, coins, number_for, race_winners


class CoupledDecision(ChainDecision):
    """The coupled rule's decision on a chain: keep drafted tokens as long as the target picks them.

    Synchronises with the device once; its law is computed on demand. times: (n+1, V), of the
    exponential race at each drafted token and after the last. shares: (n,), how far through each
    token's interval of [0, 1) its recorded draw lies.
    """

    def __init__(self, rule: Rule, draft: Draft, rows: Rows, times: Tensor, shares: Tensor) -> None:
        self._rule = rule
        self._draft = draft.to(rows.p.device)
        self._rows = rows
        self._shares = shares
        self._times = times[: len(rows.p)].to(rows.p.device)
        self.picks: list[int] = race_winners(rows.p, self._times).tolist()

    @cached_property
    def path(self) -> range:
        same = [pick == token for pick, token in zip(self.picks, self._draft.ids, strict=False)]
        return range(1, [*same, False].index(False) + 1)

    @property
    def token(self) -> int:
        """The target's own pick after the kept tokens, which is committed."""
        return self.picks[len(self.path)]

    @cached_property
    def law(self) -> Law:
        return self._recorded.law

    @cached_property
    def draft(self) -> Draft:
        """Return the draft with draws and coins that lead to the same decision, for a trace."""
        return self._recorded.draft

    def number(self, share: Tensor) -> Tensor:
        """Return the number (1,) that draws `token` from `next`.

        It lies at the part `share` (1,) of the token's interval.
        """
        row = self.next
        return number_for(
            row,
            torch.tensor(self.token, device=row.device, dtype=torch.int64),
            share.to(row.device),
        ).cpu()

    @cached_property
    def _recorded(self) -> ChainDecision:
        draft = self._draft
        p = self._rows.p
        if not (count := len(draft.ids)):
            return self._judged(replace(draft, draws=self._shares[:0]))
        numbers = coins(p[:-1], draft.q, draft.tokens, self._times[:count]).cpu()
        given = zip(draft.q, draft.tokens, self._shares.to(p.device).split(1), strict=False)
        draws = torch.cat([number_for(*one) for one in given]).cpu()
        first = self._judged(
            replace(draft, draws=draws, paths=(DraftPath(range(1, count + 1), numbers),))
        )
        same = torch.tensor(
            [pick == token for pick, token in zip(self.picks, draft.ids, strict=False)],
            dtype=torch.bool,
            device="cpu",
        )
        edge = first.law.threshold.cpu()  # where rounding says otherwise the picks count
        numbers = torch.where(
            same, numbers.minimum(edge.nextafter(torch.zeros_like(edge))), numbers.maximum(edge)
        )
        numbers = numbers.clamp(0, BELOW_ONE)
        return ChainDecision(
            first.law, replace(first.draft, paths=(DraftPath(range(1, count + 1), numbers),))
        )

    def _judged(self, draft: Draft) -> ChainDecision:
        ruling = judge(self._rule, draft, self._rows)
        assert isinstance(ruling, ChainDecision)
        return ruling
