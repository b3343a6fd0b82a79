"""One round of decoding, in parts: draft, score by one pass of the target, verify, roll back.

The parts are the same whoever proposes and whichever rule verifies. A round without a draft is
plain decoding.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import torch
from torch import Tensor

from hsd.conform.own import OwnRule
from hsd.decoding.coupled import CoupledDecision
from hsd.decoding.judge import OwnDecision, Ruling, judge
from hsd.decoding.options import AnyRule
from hsd.decoding.own import decide
from hsd.draft import Draft, Proposer
from hsd.models.reading import RowReader, Rows
from hsd.rng import Dice, Numbers
from hsd.rules import Rule
from hsd.rules.law import leftover, of_tokens
from hsd.sampling import draw


@dataclass(frozen=True)
class Round:
    """The result of a round.

    rows: the target's distributions (n+1, V) after the text and each drafted token. token: the one
    after the kept ones, None where they end the text; number (1,): what drew it, (0,) for another
    engine's race. extra, extra_draws: tokens that a resampling rule drew after it, one target call
    each, and their numbers.
    """

    draft: Draft
    rows: Rows
    ruling: Ruling
    number: Tensor
    token: int | None
    extra: list[int] = field(default_factory=list)
    extra_draws: list[float] = field(default_factory=list)

    @property
    def drafted(self) -> int:
        return len(self.draft.tokens)

    @property
    def depth(self) -> int:
        return self.draft.depth

    @property
    def kept(self) -> int:
        return len(self.ruling.path)

    @property
    def target_calls(self) -> int:
        return 1 + len(self.extra)

    @property
    def committed(self) -> list[int]:
        """The tokens that this round adds to the text, in order."""
        after = [] if self.token is None else [self.token]
        return [*self.draft.tokens_of(self.ruling.path), *after, *self.extra]

    @property
    def bonus(self) -> bool:
        """Whether the token after the kept ones is drawn from the target's row, not a residual."""
        return last_kept(self.ruling) not in self.draft.parents

    def recorded(self) -> "Round":
        """Return this round with numbers for a trace.

        In place of coupled picks it has draws and coins with the same outcome.
        """
        if isinstance(self.ruling, OwnDecision):
            return replace(self, draft=self.ruling.draft)
        if not isinstance(self.ruling, CoupledDecision):
            return self
        return replace(self, draft=self.ruling.draft, number=self.ruling.number(self.number))


class RoundPlayer(Protocol):
    """What plays the rounds of a run, part by part.

    readers: of the models, the smallest first. Each part takes what the one before returned.
    """

    readers: Any

    def prefill(self, text: list[int]) -> None:
        """Read the text except its last token, which the first round reads like any other round."""

    def throw(self, numbers: Numbers, text: list[int], gamma: int) -> Dice:
        """Take the random numbers of a round that drafts at most γ tokens after `text`."""

    def draft(self, text: list[int], dice: Dice) -> Any:
        """Draft at most `dice.gamma` tokens."""

    def score(self, text: list[int], draft: Any) -> Any:
        """Read what was drafted, by one pass of the target."""

    def verify(self, draft: Any, rows: Any, dice: Dice) -> Any:
        """Return a `Round`, or an object with those of its attributes that the loop reads."""

    def resample(self, text: list[int], played: Any, numbers: Numbers) -> Any:
        """Return the round with the tokens that a resampling rule draws after a rejection."""

    def roll_back(self, length: int, played: Any) -> None:
        """Keep `length` tokens of the text in all caches, those that were kept among them."""

    def close(self) -> None:
        """Free all models' caches."""


class Rounds:
    """Plays rounds: `proposer` drafts, `target` scores the draft in one pass, `rule` verifies it.

    context: the number of tokens that all models' caches can hold, every node of a tree counted.
    """

    def __init__(
        self,
        target: RowReader,
        end_ids: frozenset[int],
        rule: AnyRule,
        proposer: Proposer,
        context: float = math.inf,
    ) -> None:
        self.target = target
        self.end_ids = end_ids
        self._rule = rule
        self._proposer = proposer
        self._context = context
        self.readers = [*proposer.readers, target]

    def prefill(self, text: list[int]) -> None:
        if len(text) > 1:
            self.target.read(torch.tensor(text[:-1], dtype=torch.int64, device="cpu"), keep=1)

    def throw(self, numbers: Numbers, text: list[int], gamma: int) -> Dice:
        """Take the random numbers of a round.

        Its draft is shorter than γ where the context has no room for the whole tree.
        """
        while gamma and len(text) + self._proposer.columns(gamma) > self._context:
            gamma -= 1
        needed = self._proposer.needed(gamma)
        draws = numbers.draft(needed)
        coins = numbers.coins(needed)
        after = numbers.after(1)
        races = isinstance(self._rule, OwnRule) and self._rule.adapter.exponential
        places = gamma + 1 if self._rule.coupled else int(races)
        if not places:
            return Dice(gamma, draws, coins, after)
        times = numbers.times(len(text), places, self.target.vocab_size)
        return Dice(gamma, draws, coins, after, times)

    def draft(self, text: list[int], dice: Dice) -> Draft:
        draws = dice.draws
        if self._rule.coupled and dice.times is not None:
            draws = dice.times[: dice.gamma]
        return self._proposer.propose(text, dice.gamma, draws, dice.coins)

    def score(self, text: list[int], draft: Draft) -> Rows:
        """Return the target's distributions after the text and each drafted token, by one pass."""
        if not draft.is_chain:
            nodes = list(zip(range(1, len(draft.ids) + 1), draft.parents, draft.ids, strict=True))
            return self.target.distributions(self.target.grow(text, nodes, keep=len(nodes) + 1))
        unread = torch.tensor(
            text[self.target.length :], device=self.target.device, dtype=torch.int64
        )
        tokens = torch.cat([unread, draft.tokens.to(unread.device)])
        return self.target.read(tokens, keep=len(draft.tokens) + 1)

    def verify(self, draft: Draft, rows: Rows, dice: Dice) -> Round:
        ruling: Ruling
        if isinstance(self._rule, OwnRule):
            ruling = decide(self._rule, draft, rows, dice)
        elif isinstance(self._rule, Rule) and self._rule.coupled and dice.times is not None:
            ruling = CoupledDecision(self._rule, draft, rows, dice.times, dice.draws)
        else:
            ruling = judge(self._rule, draft, rows)
        token = next_token(draft, ruling, dice.after, self.end_ids)
        return Round(draft, rows, ruling, dice.after, token)

    def resample(self, text: list[int], played: Round, numbers: Numbers) -> Round:
        resamples = isinstance(self._rule, Rule) and self._rule.resamples
        if not resamples or played.token is None:
            return played
        drawn = list(self._resampled(len(text), played, played.token, numbers))
        extra = [token for token, _ in drawn]
        return replace(played, extra=extra, extra_draws=[number for _, number in drawn])

    def roll_back(self, length: int, played: Round | None = None) -> None:
        path = played.ruling.path if played else ()
        self.target.settle(length, path)
        self._proposer.settle(length, path)

    def _resampled(
        self, start: int, played: Round, token: int, numbers: Numbers
    ) -> Iterator[tuple[int, float]]:
        """Draw the block's positions after a rejection from residuals, as naive HSD does.

        Each costs one call of the target. Yields each token with the number that drew it. start:
        the length of the text before the round. token: what followed the kept ones. A draft that
        was cut at the end of a text stands for the whole one: once it is rejected, all of its
        positions are open.
        """
        p = played.rows.p
        draft = played.draft
        kept = played.kept
        missing = draft.asked - kept - 1
        if kept == len(draft.tokens) or missing <= 0:
            return
        draft = draft.to(p.device)
        tokens = draft.tokens[:kept]
        log_ratio = (
            of_tokens(p[: kept + 1], tokens).log() - of_tokens(draft.q[:kept], tokens).log()
        ).sum()
        p_row = p[kept]
        q_row = draft.q[kept]
        for position in range(start + kept, start + kept + missing):
            if token in self.end_ids:
                return
            log_ratio = log_ratio + p_row[token].double().log() - q_row[token].double().log()
            self.target.settle(position)
            self._proposer.rewind(position)
            read = torch.tensor([token], device=self.target.device, dtype=torch.int64)
            p_row = self.target.read(read, keep=1).p[0]
            q_row = self._proposer.extend(read).to(p_row.device)
            row, _ = leftover(
                p_row, q_row, log_ratio.clamp_max(0).exp(), (-log_ratio).clamp_max(0).exp()
            )
            number = numbers.after(1)
            token = int(draw(row, number.to(row.device)))
            yield token, float(number)

    def close(self) -> None:
        """Free all models' caches."""
        self.target.close()
        self._proposer.close()


def next_token(draft: Draft, ruling: Ruling, number: Tensor, end_ids: frozenset[int]) -> int | None:
    """Return the token drawn by `number` (1,) after the kept ones; None where they end the text."""
    node = last_kept(ruling)
    if node and draft.ids[node - 1] in end_ids:
        return None
    if isinstance(ruling, CoupledDecision | OwnDecision):
        return ruling.token
    row = ruling.next
    return int(draw(row, number.to(row.device)))


def last_kept(ruling: Ruling) -> int:
    """Return the deepest node that is kept, 0 for none."""
    return ruling.path[-1] if ruling.path else 0
