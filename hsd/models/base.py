"""What decoding needs from a model and from a tokenizer, whatever they are made of."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

import torch
from torch import Tensor

from hsd.errors import HsdError
from hsd.values import listed, whole

Prompt = str | Sequence[int] | Tensor  # a text, or its tokens


@dataclass(frozen=True)
class View:
    """What new tokens see when they do not simply follow each other, as in a draft tree.

    visible: (n, length + n) bool, which tokens already read and which new ones each new token
    attends to. positions: (n,) int64, where each new token stands in its own text.
    """

    visible: Tensor
    positions: Tensor

    def part(self, rows: slice, length: int) -> "View":
        """Return the view of some rows alone.

        They keep what they see of `length` tokens before them, and of each other.
        """
        positions = self.positions[rows]
        return View(self.visible[rows, : length + len(positions)], positions)


class Session(Protocol):
    """One text being read by one model, with everything computed so far kept.

    length: how many tokens have been read. The next token fed is at that position.
    """

    @property
    def length(self) -> int: ...
    def forward(self, tokens: Tensor, keep: int, view: View | None = None) -> Tensor:
        """Read `tokens` (n,) int64 and return the logits after each of the last `keep`.

        The logits are (keep, vocab).

        Without a view each token sees all before it.
        """

    def select(self, columns: list[int]) -> None:
        """Keep only the tokens at these positions, in this order, and drop all others.

        Positions are columns of the cache.
        """

    def crop(self, length: int) -> None:
        """Forget all tokens from position `length` on."""

    def close(self) -> None:
        """Free what the session holds."""


class LanguageModel(Protocol):
    """A model that can read several texts at once, each in a session of its own.

    parameters: how many numbers it has, shared ones counted once. device: where its logits are
    delivered. vocab_size: the width of its logits, padding included. context: how many tokens it
    can read.
    """

    name: str
    revision: str | None
    parameters: int
    dtype: str
    device: torch.device
    vocab_size: int
    context: int

    def start(self) -> Session: ...


class Codec(Protocol):
    """Text to tokens and back.

    end_ids: tokens that end a text. vocab_size: how many ids stand for a token; models may have
    more rows, as padding.
    """

    @property
    def end_ids(self) -> frozenset[int]: ...
    @property
    def vocab_size(self) -> int: ...
    def encode(self, text: str) -> list[int]: ...
    def decode(self, ids: list[int]) -> str: ...
    def piece(self, token: int) -> str: ...


@dataclass(frozen=True)
class IdCodec:
    """Tokens without a tokenizer: a text is the ids as numbers with spaces between them."""

    vocab_size: int
    end_ids: frozenset[int] = frozenset()

    def encode(self, text: str) -> list[int]:
        try:
            return [int(word) for word in text.split()]
        except ValueError:
            raise HsdError(
                "without a tokenizer the prompt must be token ids with spaces between them"
            ) from None

    def decode(self, ids: list[int]) -> str:
        return " ".join(map(str, ids))

    def piece(self, token: int) -> str:
        return str(token)


@dataclass(frozen=True)
class Pair:
    """A target, a draft model for it, and their tokenizer.

    note: shown to users, e.g. what the pair is made for. notes: shown with every run, what loading
    decided or left out. smaller: further models with the same tokens, for a stack under the draft
    model, smallest first.
    """

    name: str
    target: LanguageModel
    draft: LanguageModel
    codec: Codec
    note: str = ""
    smaller: tuple[LanguageModel, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def models(self) -> tuple[LanguageModel, ...]:
        """All models, smallest first, the target last."""
        return (*self.smaller, self.draft, self.target)

    @property
    def vocab_size(self) -> int:
        """The number of ids that the target and the tokenizer know.

        Padding beyond them is masked out of the models.
        """
        return min(self.codec.vocab_size, self.target.vocab_size)

    @property
    def context(self) -> int:
        """How many tokens both models can read."""
        return reach((self.target, self.draft))[0]

    def encode(self, prompt: Prompt) -> list[int]:
        """Return the prompt's ids, however many; of ids, these themselves.

        Raises HsdError if it is empty, or neither a text nor a list or 1-d tensor of ids.
        """
        if not isinstance(prompt, str):
            return _ids_of(prompt)
        if not prompt.strip():
            raise HsdError("the prompt is empty: type some text to continue")
        try:
            prompt.encode()
        except UnicodeEncodeError:
            raise HsdError("the prompt is not valid UTF-8 text: type it again") from None
        ids = self.codec.encode(prompt)
        if not ids:
            raise HsdError(
                "the prompt has no text that the tokenizer can read: type some other text"
            )
        return ids


def _ids_of(prompt: Any) -> list[int]:
    entries = listed(prompt)
    ids = [] if entries is None else [whole(entry) for entry in entries]
    if entries is None or None in ids:
        raise HsdError(
            f"the prompt is of the type {type(prompt).__name__}: give a text, or the token ids of "
            "one text as a list or a 1-d tensor"
        )
    if not ids:
        raise HsdError("the prompt is empty: give at least one token id")
    return cast("list[int]", ids)


def reach(models: Sequence[LanguageModel]) -> tuple[int, str]:
    """Return how many tokens all models can read, and the reason for that number.

    The reason is in words where a model's `limit` ends it.
    """
    shortest = min(models, key=lambda model: model.context)
    return shortest.context, getattr(shortest, "limit", "")
