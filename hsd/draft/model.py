"""Proposing with a draft model, one token after another."""

import time
from collections.abc import Sequence

import torch
from torch import Tensor

from hsd.draft.draft import Draft, Proposer, Visit
from hsd.draft.stopping import Stopping, StoppingState
from hsd.models.reading import RowReader
from hsd.rules.coupled import race_winners
from hsd.sampling import draw


class ModelProposer(Proposer):
    """A draft model that samples a chain of tokens.

    A draft takes γ forward passes, and the first also reads what is new in the text.

    stopping: the criterion that ends a draft before γ tokens; with one a draft also ends at the end
    of the text, and `settle` learns how many of its tokens were kept.
    """

    def __init__(
        self, reader: RowReader, end_ids: frozenset[int], stopping: Stopping | None = None
    ) -> None:
        self._reader = reader
        self._end_ids = end_ids
        self._chain = StoppingState(stopping) if stopping else None
        self.readers = [reader]

    def propose(self, text: list[int], gamma: int, draws: Tensor, coins: Tensor) -> Draft:
        reader = self._reader
        begin = time.perf_counter()
        before = reader.work()
        unread = torch.tensor(text[reader.length :], device=reader.device, dtype=torch.int64)
        rows = []
        tokens = []
        chain = self._chain
        if chain:
            chain.begin()
        pick = draw if draws.ndim == 1 else race_winners  # by a number, or by times
        for number in draws.to(reader.device):
            if chain and not chain.may_pay:
                break
            row = reader.read(unread, keep=1)
            shares = row.raw[0] if chain else row.p[0]
            if chain and not chain.pays(float(shares.max())):
                break
            unread = pick(row.p[0], number).unsqueeze(0)
            rows.append(row)
            tokens.append(unread)
            if chain:
                chain.add(float(shares[unread]))
                if int(unread) in self._end_ids:
                    break
        if not rows:
            return Draft.empty(reader.vocab_size, reader.device)
        visit = Visit(0, len(text), gamma, 0, time.perf_counter() - begin, reader.work() - before)
        draft = Draft.chain(
            torch.cat(tokens),
            torch.cat([row.p for row in rows]),
            draws[: len(rows)],
            coins[: len(rows)],
            logits=tuple(row.logits for row in rows),
            visits=(visit,),
        )
        return draft.until_end(self._end_ids)

    def extend(self, token: Tensor) -> Tensor:
        return self._reader.read(token, keep=1).p[0]

    def settle(self, length: int, path: Sequence[int] = ()) -> None:
        super().settle(length, path)
        if self._chain:
            self._chain.learn(len(path))
