"""Rounds with one draft whose steps never wait for the device but once, at their end.

Draft loop, target pass, verification and both draws are one piece of work of fixed shape. On a CUDA
device it is captured as a graph and replayed; elsewhere it runs as it is, which gives the same
tokens. A block that the budget makes shorter is a piece of its own.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from hsd.decoding.unrecorded import RoundOutcome
from hsd.errors import HsdError
from hsd.models.base import Pair
from hsd.models.causal import CausalModel, FixedSession
from hsd.models.reading import RowReader, fitted
from hsd.rng import Dice, Numbers
from hsd.rules import Rule
from hsd.rules.law import shortened
from hsd.sampling import Sampling, draw

BLOCK = 64  # capacities are multiples of this
WARM_UPS = 3


class CapturedRounds:
    """Plays rounds on one text of up to `capacity` tokens.

    Times are not split: drafting, scoring and verifying are one piece, timed as scoring.
    """

    def __init__(self, pair: Pair, sampling: Sampling, rule: Rule, capacity: int) -> None:
        self._pair = pair
        self._sampling = sampling
        self._rule = rule
        self.readers: list[RowReader] = []
        self._device = pair.target.device
        rounded = min(-(-capacity // BLOCK) * BLOCK, pair.context)
        self._target, self._draft = (FixedSession(model, rounded) for model in _causal(pair))
        self._ends = torch.tensor(
            sorted(pair.codec.end_ids), dtype=torch.int64, device=self._device
        )
        self._pieces: dict[int, Piece] = {}

    def prefill(self, text: list[int]) -> None:
        if len(text) > 1:
            tokens = torch.tensor(text[:-1], device=self._device, dtype=torch.int64)
            self._target.read(tokens, keep=1)
            self._draft.read(tokens, keep=1)

    def throw(self, numbers: Numbers, text: list[int], gamma: int) -> Dice:
        return Dice(gamma, numbers.draft(gamma), numbers.coins(gamma), numbers.after(1))

    def draft(self, text: list[int], dice: Dice) -> Dice:
        """Return the numbers by which the piece will draft, score and verify at once."""
        return dice

    def score(self, text: list[int], draft: Dice) -> list[int]:
        """Return the number of kept tokens, the next token and the whole draft."""
        used = torch.cat([draft.draws, draft.coins, draft.after])
        tail = torch.tensor([*text[-2:], len(text)], dtype=torch.int64, device="cpu")
        piece = self._piece(draft.gamma)
        outcome: list[int] = piece(tail, used).tolist()  # the one wait of the round
        return outcome

    def verify(self, draft: Dice, rows: list[int], dice: Dice) -> RoundOutcome:
        kept, token, *drafted = rows
        ends = self._pair.codec.end_ids
        length = next((i for i, x in enumerate(drafted, start=1) if x in ends), dice.gamma)
        kept = min(kept, length)
        ended = kept > 0 and kept == length and drafted[kept - 1] in ends
        return RoundOutcome(length, kept, drafted[:kept] + ([] if ended else [token]))

    def resample(self, text: list[int], played: RoundOutcome, numbers: Numbers) -> RoundOutcome:
        return played

    def roll_back(self, length: int, played: RoundOutcome) -> None:
        """Do nothing: each piece begins at a place that the text gives."""

    def _piece(self, gamma: int) -> "Piece":
        if gamma not in self._pieces:
            tail = torch.zeros(3, dtype=torch.int64, device="cpu")
            used = torch.zeros(2 * gamma + 1, dtype=torch.float64, device="cpu")
            self._pieces[gamma] = Piece(partial(self._round, gamma=gamma), tail, used, self._device)
        return self._pieces[gamma]

    def _round(self, tail: Tensor, used: Tensor, gamma: int) -> Tensor:
        """Return (2+γ,): number kept, next token, draft.

        tail (3,): last two tokens, length. used (2γ+1,): numbers.
        """
        draws = used[:gamma]
        coins = used[gamma : 2 * gamma]
        number = used[2 * gamma :]
        drafted, q = self._propose(tail, draws)
        self._target.length.copy_(tail[2] - 1)
        p = self._probabilities(self._target.read(torch.cat([tail[1:2], drafted]), keep=gamma + 1))
        if not gamma:
            row = (
                self._rule.unchecked_law(p, q, drafted).next(0)
                if self._rule.recipe.follow
                else p[0]
            )
            return torch.stack([tail.new_zeros(()), draw(row, number)])
        ended = torch.isin(drafted, self._ends).cumsum(0) > 0
        # up to an end of the text
        q, judged, coins = shortened(p, q, drafted, coins, gamma - ended[:-1].sum())
        law = self._rule.unchecked_law(p, q, judged)
        kept = law.kept(coins)
        return torch.cat([torch.stack([kept, draw(law.next_at(kept), number)]), drafted])

    def _propose(self, tail: Tensor, draws: Tensor) -> tuple[Tensor, Tensor]:
        """Return γ drafted tokens (γ,) and their rows q (γ, V).

        The first pass always reads two tokens of the text.
        """
        self._draft.length.copy_(tail[2] - 2)
        unread = tail[:2]
        tokens = []
        rows = []
        for number in draws.unbind():
            row = self._probabilities(self._draft.read(unread, keep=1))[0]
            unread = draw(row, number).unsqueeze(0)
            rows.append(row)
            tokens.append(unread)
        if not tokens:
            return tail[:0], tail.new_zeros(0, self._pair.vocab_size, dtype=torch.float32)
        return torch.cat(tokens), torch.stack(rows)

    def _probabilities(self, logits: Tensor) -> Tensor:
        return self._sampling.probabilities(fitted(logits, self._pair.vocab_size))

    def close(self) -> None:
        """Free both caches and all graphs."""
        self._pieces.clear()
        self._target.close()
        self._draft.close()


class Piece:
    """A function of two tensors of fixed shape.

    It runs as a CUDA graph on a CUDA device and is called directly elsewhere.

    work(tail, used): must read nothing but these two and tensors on the device. tail, used:
    examples of their shapes.
    """

    def __init__(
        self,
        work: Callable[[Tensor, Tensor], Tensor],
        tail: Tensor,
        used: Tensor,
        device: torch.device,
    ) -> None:
        self._work = work
        self._tail = tail.to(device)
        self._used = used.to(device)
        self._graph: Any = None
        self._out: Tensor | None = None

    def __call__(self, tail: Tensor, used: Tensor) -> Tensor:
        self._tail.copy_(tail, non_blocking=True)
        self._used.copy_(used, non_blocking=True)
        if self._tail.device.type != "cuda":
            return self._work(self._tail, self._used)
        if self._graph is None:
            self._capture()
        self._graph.replay()
        assert self._out is not None
        return self._out

    def _capture(self) -> None:
        """Call work a few times on a side stream, as capturing requires.

        Each call writes the same values again.
        """
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(WARM_UPS):
                self._work(self._tail, self._used)
        torch.cuda.current_stream().wait_stream(side)
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            self._out = self._work(self._tail, self._used)


def _causal(pair: Pair) -> tuple[CausalModel, CausalModel]:
    """Return both models, if a round on them can be captured. Raises HsdError if not."""
    target = pair.target
    draft = pair.draft
    if not (isinstance(target, CausalModel) and isinstance(draft, CausalModel)):
        raise HsdError("engine 'captured' needs models of transformers: choose engine 'eager'")
    devices = {
        parameter.device for model in (target, draft) for parameter in model.model.parameters()
    }
    if len(devices) > 1 or target.device != target.input_device:
        raise HsdError(
            "engine 'captured' needs both models on one CPU or CUDA device: choose engine 'eager'"
        )
    if why := target.no_tree or draft.no_tree:  # both read by masks and places alone, as in a tree
        raise HsdError(
            f"engine 'captured' gives a model its places, and {why}: choose engine 'eager'"
        )
    return target, draft
