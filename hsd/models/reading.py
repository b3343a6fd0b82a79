"""Reading with a model: a text that grows, and a tree of tokens on its end.

The text grows token by token or block by block.

Forward calls are counted, and timed where somebody wants that.
"""

import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from hsd.errors import HsdError
from hsd.models.base import Session, View
from hsd.sampling import Sampling

UNCHANGED = Sampling(temperature=1.0)
Passes = list[tuple[int, float]]  # of forward calls: how many tokens each read, and its seconds


@dataclass(frozen=True)
class Rows:
    """Distributions after some tokens: `p` (n, V) as they are sampled from.

    logits (n, V): as the model gave them.
    """

    p: Tensor
    logits: Tensor

    @property
    def raw(self) -> Tensor:
        """(n, V): the distributions at temperature 1 with nothing cut off."""
        return UNCHANGED.probabilities(self.logits, exact=True)


def fitted(logits: Tensor, width: int) -> Tensor:
    """Return logits (n, rows) as (n, width).

    Those beyond are cut off, and tokens without a logit get -inf.
    """
    missing = width - logits.shape[-1]
    return F.pad(logits[:, :width], (0, max(0, missing)), value=-torch.inf) if missing else logits


class RowReader:
    """A model that reads one growing text and gives distributions.

    Ids from vocab_size on are padding and cut off.

    rows: how many ids the model has, 0 for vocab_size. It reads others as its last id, which only
    makes drafts worse. passes: None, or a list to which every forward call adds its width and its
    seconds.

    Tokens of a tree are its nodes 1, 2, …; node 0 is the last token of the text. Until `settle`
    says which of them belong to the text, they can be added in several calls of `grow`.
    """

    def __init__(
        self,
        session: Session,
        device: torch.device,
        sampling: Sampling,
        vocab_size: int,
        rows: int = 0,
    ):
        self.session = session
        self.device = device
        self._last = (rows or vocab_size) - 1
        self.sampling = sampling
        self.vocab_size = vocab_size
        self.calls = 0
        self.passes: Passes | None = None
        # columns of the cache that lead from the text to each node
        self._lineages: dict[int, list[int]] = {}
        self._base = 0  # how many columns the text has, once there are nodes

    @property
    def length(self) -> int:
        """How many tokens have been read."""
        return self.session.length

    @contextmanager
    def call(self, width: int) -> Iterator[None]:
        """Count the forward call over `width` tokens made inside, and time it for `passes`."""
        self.calls += 1
        clock = self.passes is not None and self.device.type == "cuda"
        wait = torch.cuda.synchronize if clock else int
        wait()
        begin = time.perf_counter()
        yield
        wait()
        if self.passes is not None:
            self.passes.append((width, time.perf_counter() - begin))

    def read(self, tokens: Tensor, keep: int) -> Rows:
        """Read `tokens` (n,) of the text in one call.

        Return the distributions after the last `keep` of them.
        """
        return self.distributions(self._forward(tokens.to(self.device), keep))

    def grow(self, text: Sequence[int], nodes: Sequence[tuple[int, int, int]], keep: int) -> Tensor:
        """Read the unread part of `text`, and `nodes`, in one forward call.

        A node is (id, parent, token), and parents come first.

        Returns logits (keep, V) after the last `keep` tokens. The text may only be new before the
        first node is read.
        """
        unread = list(text[self.length :]) if not self._lineages else []
        self._base = self._base if self._lineages else len(text)
        tokens = torch.tensor(
            [*unread, *(token for _, _, token in nodes)], device=self.device, dtype=torch.int64
        )
        return self._forward(tokens, keep, self._view(len(unread), nodes) if nodes else None)

    def _forward(self, tokens: Tensor, keep: int, view: View | None = None) -> Tensor:
        known = tokens.clamp_max(self._last) if self._last < self.vocab_size - 1 else tokens
        with self.call(len(known)):
            logits = self.session.forward(known, keep, view)
        if self.device.type == "cpu" and not logits.amax(-1).isfinite().all():
            raise HsdError(
                "a model gives logits that are not finite: fetch its files again, or choose dtype "
                "float32, which holds larger numbers"
            )
        return fitted(logits, self.vocab_size)

    def distributions(self, logits: Tensor) -> Rows:
        """Return the distributions that this reader samples from, and their logits (n, V)."""
        return Rows(
            self.sampling.probabilities(logits, getattr(self.session, "exact", False)), logits
        )

    def _view(self, unread: int, nodes: Sequence[tuple[int, int, int]]) -> View:
        length = self.length
        base = self._base
        visible = torch.ones(
            unread + len(nodes), length + unread + len(nodes), dtype=torch.bool, device="cpu"
        ).tril(length)
        visible[unread:, base:] = False
        positions = list(range(length, length + unread))
        for row, (node, parent, _) in enumerate(nodes, start=unread):
            self._lineages[node] = [*(self._lineages[parent] if parent else ()), length + row]
            visible[row, self._lineages[node]] = True
            positions.append(base - 1 + len(self._lineages[node]))
        return View(visible, torch.tensor(positions, dtype=torch.int64, device="cpu"))

    def settle(self, length: int, path: Sequence[int] = ()) -> None:
        """Keep `length` tokens of the text, whose last ones are the nodes in `path`.

        Forget all other tokens.
        """
        if self._lineages:
            read = [self._lineages[node][-1] for node in path if node in self._lineages]
            self.session.select([*range(min(self._base, self.length)), *read])
            self._lineages.clear()
        else:
            self.session.crop(min(length, self.length))

    def rewind(self, length: int) -> None:
        """Forget all but the first `length` tokens of a chain that is still being drafted."""
        getattr(self.session, "rewind", self.session.crop)(min(length, self.length))

    def work(self) -> Counter[str]:
        """Return what this reader has computed so far.

        That is its calls, and for exits the other counts of `hsd.trace.Work`.
        """
        return Counter(getattr(self.session, "work", None), calls=self.calls)

    def close(self) -> None:
        self.session.close()


def summary(passes: Passes) -> dict[str, Any]:
    """Return the seconds of the first pass, which reads the prompt, and of the others by width.

    widths: by the number of tokens read how many passes, their seconds in all, and the median of
    one.
    """
    widths = {}
    for width in sorted({width for width, _ in passes[1:]}):
        times = [seconds for read, seconds in passes[1:] if read == width]
        widths[str(width)] = [len(times), sum(times), statistics.median(times)]
    return {"first": passes[0][1] if passes else 0.0, "widths": widths}


def timed(readers: Sequence[RowReader]) -> Callable[[], dict[str, Any]]:
    """Time the forward passes of a run's readers, smallest model first, from now on.

    Return a function that sums up.

    "target" is the last reader; "draft" what drafts for it, a draft model or an exit; under that
    "level 0" and so on.
    """
    names = ["target", "draft", *(f"level {i}" for i in reversed(range(len(readers) - 2)))]
    passes: dict[str, Passes] = {name: [] for name in names}
    for reader, of_level in zip(reversed(readers), passes.values(), strict=False):
        reader.passes = of_level
    return lambda: {name: summary(of_level) for name, of_level in passes.items()}
