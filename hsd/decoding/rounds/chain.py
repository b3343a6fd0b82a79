"""A round with one draft, or with none, which is plain decoding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from hsd.draft import Draft, Proposer
from hsd.models.reading import Reader, Rows, Spent
from hsd.rng import Numbers
from hsd.rules import Law, Rule
from hsd.rules.law import residual_row
from hsd.sampling import draw

Lap = Callable[[str], None]
NOTHING = Spent()


@dataclass(frozen=True)
class ChainRound:
    """What came of a round with γ drafted tokens.

    draft; rows: the target's distributions (γ+1, V); law: the rule's law for this draft; coins (γ,) and number (1,):
    the random numbers; kept: drafted tokens kept; token: what follows them, None where they end the text; extra,
    extra_draws: tokens that a resampling rule added, one target call each, and the numbers that drew them; spent: what
    the target computed.
    """

    draft: Draft
    rows: Rows
    law: Law
    coins: Tensor
    number: Tensor
    kept: int
    token: int | None
    extra: list[int] = field(default_factory=list)
    extra_draws: list[float] = field(default_factory=list)
    spent: Spent = NOTHING

    @property
    def p(self) -> Tensor:
        """(γ+1, V): the target's distributions along the draft, as they are sampled from."""
        return self.rows.p

    @property
    def drafted(self) -> int:
        return len(self.draft.tokens)

    @property
    def depth(self) -> int | None:
        """None: a single draft is as long as all that was drafted."""
        return None

    @property
    def target_calls(self) -> int:
        return 1 + len(self.extra)

    @property
    def committed(self) -> list[int]:
        """The tokens that this round adds to the text."""
        after = [] if self.token is None else [self.token]
        return [*self.draft.tokens[: self.kept].tolist(), *after, *self.extra]

    @property
    def next(self) -> Tensor:
        """(V,): the distribution of the token after the kept ones."""
        return self.law.next(self.kept)

    @property
    def bonus(self) -> bool:
        """Whether the token after the kept ones comes from the target itself and not from a residual."""
        return self.kept == self.drafted


class ChainRounds:
    """Plays rounds on one text that grows."""

    def __init__(self, target: Reader, end_ids: frozenset[int], rule: Rule, proposer: Proposer) -> None:
        self.target, self.end_ids, self._rule, self._proposer = target, end_ids, rule, proposer
        self.readers = [*proposer.readers, target]

    def prefill(self, text: list[int]) -> None:
        """Read the text but for its last token, which the first round feeds: no round is wider than the others."""
        if len(text) > 1:
            self.target.read(torch.tensor(text[:-1]), keep=1)

    def play(self, text: list[int], gamma: int, numbers: Numbers, lap: Lap) -> ChainRound:
        """One round after `text`. `lap` is told what the time since its last call went to."""
        before = self.target.spent()
        draws, coins, number = numbers.draft(gamma), numbers.coins(gamma), numbers.after(1)
        draft = self._proposer.propose(text, draws).until_end(self.end_ids)
        lap("draft")
        rows = self._score(text, draft)
        lap("target")
        played = self._verify(rows, draft, coins[: len(draft.tokens)].to(rows.p.device), number)
        lap("verify")
        if self._rule.resamples:
            self._resample(played, len(text), gamma, numbers)
            lap("target")
        self.rollback(len(text) + len(played.committed) - 1)  # the last token is fed by the next round
        return replace(played, spent=self.target.spent() - before)

    def extend(self, token: Tensor) -> Rows:
        """Read one more token (1,) with the target; the distribution after it."""
        return self.target.read(token, keep=1)

    def rollback(self, length: int) -> None:
        """Forget everything after the first `length` tokens of the text, here and in all that propose."""
        self.target.crop(length)
        self._proposer.rollback(length)

    def _score(self, text: list[int], draft: Draft) -> Rows:
        """The target's distributions along the draft, γ+1 of them, by one forward pass."""
        unread = torch.tensor(text[self.target.length :], device=self.target.device)
        return self.target.read(torch.cat([unread, draft.tokens.to(unread.device)]), keep=len(draft.tokens) + 1)

    def _verify(self, rows: Rows, draft: Draft, coins: Tensor, number: Tensor) -> ChainRound:
        """Judge the draft and draw the token that follows what is kept."""
        p = rows.p
        if not len(draft.tokens):  # nothing to judge: plain decoding must not pay for a rule
            law = Law(p, draft.q, threshold=draft.draws, forward=True, a=draft.draws)
            return ChainRound(draft, rows, law, coins, number, 0, int(draw(p[0], number.to(p.device))))
        law = self._rule.law(p, draft.q.to(p.device), draft.tokens.to(p.device), raw_rows(rows, draft))
        kept = int(law.kept(coins))
        ended = kept > 0 and kept == len(draft.tokens) and int(draft.tokens[-1]) in self.end_ids
        token = None if ended else int(draw(law.next(kept), number.to(p.device)))
        return ChainRound(draft, rows, law, coins, number, kept, token)

    def _resample(self, played: ChainRound, start: int, gamma: int, numbers: Numbers) -> None:
        """Naive HSD after a rejection: draw the block's other positions from residuals, one target call each.

        Adds to `played.extra`. `start` is the length of the text before the round. A draft that was cut at the end of
        a text stands for one of γ tokens: once it is rejected, all γ positions are open.
        """
        p, kept, token = played.p, played.kept, played.token
        draft = replace(played.draft, tokens=played.draft.tokens.to(p.device), q=played.draft.q.to(p.device))
        missing = gamma - kept - 1
        if kept == len(draft.tokens) or not missing:
            return
        log_ratio = (_token_logs(p, draft.tokens[:kept]) - _token_logs(draft.q, draft.tokens[:kept])).sum()
        p_row, q_row = p[kept], draft.q[kept]
        while token is not None and len(played.extra) < missing and token not in self.end_ids:
            log_ratio = log_ratio + p_row[token].double().log() - q_row[token].double().log()
            p_row, q_row = self._reread(token, start + kept + len(played.extra))
            row = residual_row(p_row, q_row, log_ratio.clamp_max(0).exp(), (-log_ratio).clamp_max(0).exp())
            number = numbers.after(1)
            token = int(draw(row, number.to(p.device)))
            played.extra.append(token)
            played.extra_draws.append(float(number))

    def _reread(self, token: int, position: int) -> tuple[Tensor, Tensor]:
        """The distributions of target and draft after `token` at `position`, one call of each: (V,), (V,)."""
        self.rollback(position)
        read = torch.tensor([token], device=self.target.device)
        p = self.extend(read).p[0]
        return p, self._proposer.extend(read).p[0].to(p.device)

    def close(self) -> None:
        """Free all models' caches."""
        self.target.close()
        self._proposer.close()


def raw_rows(rows: Rows, draft: Draft) -> tuple[Tensor, Tensor] | None:
    """The raw distributions of target (γ+1, V) and draft (γ, V), where they were asked for."""
    return None if rows.raw is None or draft.raw is None else (rows.raw, draft.raw.to(rows.raw.device))


def _token_logs(rows: Tensor, tokens: Tensor) -> Tensor:
    """log rows[t, tokens[t]] for the first len(tokens) rows, float64."""
    return rows[: len(tokens)].gather(-1, tokens.unsqueeze(-1)).squeeze(-1).double().log()
