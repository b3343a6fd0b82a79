"""Models given by tables: the next token depends on the last few tokens, and every joint law can be
written down.
"""

from __future__ import annotations

from itertools import compress
from string import ascii_lowercase as LETTERS

import torch
from torch import Tensor

from hsd.models.base import IdCodec, Pair, View


class TableModel:
    """Row `i` of `table` (V ** order, V) holds the next-token probabilities after the last `order`
    tokens.

    The tokens are the digits of `i` in base V, the most recent last; before the text begins they
    are 0.
    """

    revision: str | None = None
    dtype = "float64"
    device = torch.device("cpu")

    def __init__(self, table: Tensor, name: str = "table", context: int = 512) -> None:
        self.table = table
        self.logits = table.log()
        self.name = name
        self.context = context
        self.vocab_size = table.shape[1]
        self.parameters = table.numel()

    def start(self) -> TableSession:
        return TableSession(self)

    def row_index(self, tokens: list[int]) -> int:
        """Return which row of the table applies after `tokens`."""
        index = 0
        for token in tokens[-16:]:
            index = (index * self.vocab_size + token) % self.table.shape[0]
        return index


class TableSession:
    """Reads tokens for a table model; a plain list is its cache."""

    def __init__(self, model: TableModel) -> None:
        self.model = model
        self.tokens = list[int]()

    @property
    def length(self) -> int:
        return len(self.tokens)

    def forward(self, tokens: Tensor, keep: int, view: View | None = None) -> Tensor:
        rows = []
        for number, token in enumerate(tokens.tolist()):
            self.tokens.append(token)
            sees = view.visible[number].tolist() if view else [True] * len(self.tokens)
            rows.append(self.model.row_index([*compress(self.tokens, sees)]))
        return self.model.logits[rows[len(rows) - keep :]]

    def select(self, columns: list[int]) -> None:
        self.tokens = [self.tokens[column] for column in columns]

    def crop(self, length: int) -> None:
        del self.tokens[length:]

    def close(self) -> None:
        self.tokens.clear()


class LetterCodec(IdCodec):
    """Token i is the i-th letter. `end_ids` may name letters that end a text."""

    def encode(self, text: str) -> list[int]:
        return [LETTERS.index(c) % self.vocab_size for c in text if c in LETTERS]

    def decode(self, ids: list[int]) -> str:
        return "".join(map(self.piece, ids))

    def piece(self, token: int) -> str:
        return LETTERS[token]


def table_pair(
    vocab: int = 4,
    order: int = 2,
    seed: int = 0,
    closeness: float = 1.0,
    end_ids: frozenset[int] = frozenset(),
    context: int = 512,
) -> Pair:
    """A random pair over `vocab` ≤ 26 letters, with tables (vocab ** order, vocab); drafts improve
    with `closeness`.
    """
    generator = torch.Generator().manual_seed(seed)
    logits = 1.5 * torch.randn(vocab**order, vocab, generator=generator, dtype=torch.float64)
    noise = torch.randn(vocab**order, vocab, generator=generator, dtype=torch.float64) / closeness
    target = TableModel(logits.softmax(-1), "table target", context)
    draft = TableModel((logits + noise).softmax(-1), "table draft", context)
    return Pair(f"table-{vocab}", target, draft, LetterCodec(vocab, end_ids))
