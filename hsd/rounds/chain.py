"""A round with one draft, or with none, which is plain decoding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from hsd.draft import Draft, Proposer
from hsd.models.base import Pair
from hsd.rng import Numbers
from hsd.sampling import Sampling, draw
from hsd.verify import Law, Rule
from hsd.verify.law import residual_row

Lap = Callable[[str], None]


@dataclass(frozen=True)
class ChainRound:
    """What came of a round with γ drafted tokens.

    draft; p (γ+1, V); law: the rule's law for this draft; coins (γ,) and number (1,): the random numbers;
    kept: drafted tokens kept; token: what follows them, None where they end the text; extra, extra_draws: tokens
    that a resampling rule added, one target call each, and the numbers that drew them.
    """

    draft: Draft
    p: Tensor
    law: Law
    coins: Tensor
    number: Tensor
    kept: int
    token: int | None
    extra: list[int] = field(default_factory=list)
    extra_draws: list[float] = field(default_factory=list)

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

    def __init__(self, pair: Pair, sampling: Sampling, rule: Rule, proposer: Proposer) -> None:
        self._sampling, self._rule, self._proposer = sampling, rule, proposer
        self._vocab_size, self._end_ids = pair.vocab_size, pair.codec.end_ids
        self._device = pair.target.device
        self._target = pair.target.start()

    def prefill(self, text: list[int]) -> None:
        """Read the text but for its last token, which the first round feeds: no round is wider than the others."""
        if len(text) > 1:
            self._target.forward(torch.tensor(text[:-1], device=self._device), keep=1)

    def play(self, text: list[int], gamma: int, numbers: Numbers, lap: Lap) -> ChainRound:
        """One round after `text`. `lap` is told what the time since its last call went to."""
        draws, coins, number = numbers.draft(gamma), numbers.coins(gamma), numbers.after(1)
        draft = self._proposer.propose(text, draws).until_end(self._end_ids)
        lap("draft")
        p = self._score(text, draft)
        lap("target")
        played = self._verify(p, draft, coins[: len(draft.tokens)].to(p.device), number)
        lap("verify")
        if self._rule.resamples:
            self._resample(played, len(text), gamma, numbers)
            lap("target")
        length = len(text) + len(played.committed) - 1  # the last token is fed by the next round
        self._target.crop(length)
        self._proposer.rollback(length)
        return played

    def _score(self, text: list[int], draft: Draft) -> Tensor:
        """(γ+1, V): the target's distributions along the draft, by one forward pass."""
        unread = torch.tensor(text[self._target.length :], device=self._device)
        logits = self._target.forward(torch.cat([unread, draft.tokens.to(self._device)]), keep=len(draft.tokens) + 1)
        return self._sampling.probabilities(logits[:, : self._vocab_size])

    def _verify(self, p: Tensor, draft: Draft, coins: Tensor, number: Tensor) -> ChainRound:
        """Judge the draft and draw the token that follows what is kept."""
        if not len(draft.tokens):  # nothing to judge: plain decoding must not pay for a rule
            law = Law(p, draft.q, threshold=draft.draws, forward=True, a=draft.draws)
            return ChainRound(draft, p, law, coins, number, 0, int(draw(p[0], number.to(p.device))))
        law = self._rule.law(p, draft.q.to(p.device), draft.tokens.to(p.device))
        kept = int(law.kept(coins))
        ended = kept > 0 and kept == len(draft.tokens) and int(draft.tokens[-1]) in self._end_ids
        token = None if ended else int(draw(law.next(kept), number.to(p.device)))
        return ChainRound(draft, p, law, coins, number, kept, token)

    def _resample(self, played: ChainRound, start: int, gamma: int, numbers: Numbers) -> None:
        """Naive HSD after a rejection: draw the block's other positions from residuals, one target call each.

        Adds to `played.extra`. `start` is the length of the text before the round. A draft that was cut at the end of
        a text stands for one of γ tokens: once it is rejected, all γ positions are open.
        """
        p, draft, kept, token = played.p, played.draft, played.kept, played.token
        missing = gamma - kept - 1
        if kept == len(draft.tokens) or not missing:
            return
        log_ratio = (_token_logs(p, draft.tokens[:kept]) - _token_logs(draft.q, draft.tokens[:kept])).sum()
        p_row, q_row = p[kept], draft.q[kept]
        while token is not None and len(played.extra) < missing and token not in self._end_ids:
            log_ratio = log_ratio + p_row[token].double().log() - q_row[token].double().log()
            p_row, q_row = self._reread(token, start + kept + len(played.extra))
            row = residual_row(p_row, q_row, log_ratio.clamp_max(0).exp(), (-log_ratio).clamp_max(0).exp())
            number = numbers.after(1)
            token = int(draw(row, number.to(p.device)))
            played.extra.append(token)
            played.extra_draws.append(float(number))

    def _reread(self, token: int, position: int) -> tuple[Tensor, Tensor]:
        """The distributions of target and draft after `token` at `position`, one call of each: (V,), (V,)."""
        self._target.crop(position)
        self._proposer.rollback(position)
        read = torch.tensor([token], device=self._device)
        logits = self._target.forward(read, keep=1)[:, : self._vocab_size]
        return self._sampling.probabilities(logits)[0], self._proposer.extend(read).to(logits.device)

    def close(self) -> None:
        """Free both models' caches."""
        self._target.close()
        self._proposer.close()


def _token_logs(rows: Tensor, tokens: Tensor) -> Tensor:
    """log rows[t, tokens[t]] for the first len(tokens) rows, float64."""
    return rows[: len(tokens)].gather(-1, tokens.unsqueeze(-1)).squeeze(-1).double().log()
