"""Early exits of one model as models of their own.

They share its layers, one cache and what was computed.

The layers fall into groups, one up to each exit. A token that one exit has read is continued by the
next from its hidden state: no layer reads a token twice unless the token was forgotten. (HiSpec,
arXiv 2510.01336.)
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Protocol

import torch
from torch import Tensor

from hsd.errors import HsdError
from hsd.models.base import LanguageModel, View


class SharedText(ABC):
    """A text that the exits of one model read together.

    A deeper exit has never read further than a shallower one.

    exact: whether probabilities are computed alike on every machine, see `hsd.models.reading`.
    groups: the first layer of each group and the one after its last. lengths: how many tokens each
    group has read of `tokens`.
    """

    exact = False

    def __init__(self, depths: Sequence[int], device: torch.device) -> None:
        self.groups = list(pairwise([0, *depths]))
        self.lengths = [0] * len(depths)
        self.tokens = torch.empty(0, dtype=torch.int64, device=device)

    @abstractmethod
    def advance(self, group: int, end: int, keep: int) -> Tensor:
        """Run a group of layers on the states of the group below, up to position `end`.

        It skips the states that it has read.

        Returns the logits of the exit above it after the last `keep` tokens, (keep, vocab).
        """

    def forget(self, level: int, length: int) -> None:
        """Forget tokens from position `length` on, at this exit and all that are deeper."""
        self.lengths[level:] = [min(length, reached) for reached in self.lengths[level:]]
        if level == 0:
            self.tokens = self.tokens[:length]

    def close(self) -> None:
        """Forget the text and free all that was computed."""
        self.forget(0, 0)


class Layers(Protocol):
    """The layers of a model as early exits need them; a model has them as `parts`.

    layers: how many there are. trained: after how many of them it was trained to predict,
    shallowest first; () if there are none or the model does not tell. head_cost: cost of one row of
    the head in layers, by multiplications with weights; attention to the keys of earlier tokens is
    not counted, as its share grows with the text.
    """

    layers: int
    trained: tuple[int, ...]
    head_cost: float

    def exit(self, depth: int) -> tuple[int, int | None]:
        """Return the parameters of the model up to an exit, and how many tokens it drafts.

        None stands for all tokens.
        """

    def check(self, exits: "EarlyExits") -> None:
        """Raise HsdError if in these parts the model computes something else."""

    def text(self, depths: Sequence[int]) -> SharedText: ...


class EarlyExits:
    """A model with exits after some of its layers.

    An exit without a head of its own uses the model's norm and head.

    exits: layers before each early exit, from shallow to deep; the model's own end follows as the
    last of `depths`. models: what is read at each depth, shallowest first, the model itself last.
    Raises HsdError for exits that are not there, and for a model whose layers cannot be run in
    parts.
    """

    def __init__(self, model: LanguageModel, exits: Sequence[int]) -> None:
        self.parts = parts_of(model)
        layers = self.parts.layers
        if list(exits) != sorted(exits) or not all(1 <= depth <= layers for depth in exits):
            raise HsdError(
                f"exits {', '.join(map(str, exits))}: choose them from shallow to deep, 1 to "
                f"{layers}"
            )
        self.depths = (*exits, layers)
        self.models = tuple(ExitModel(model, self.parts, depth) for depth in self.depths)
        self.parts.check(self)

    def open(self) -> "list[ExitSession]":
        """Open one session at each depth, shallowest first, all reading the same new text."""
        text = self.parts.text(self.depths)
        return [ExitSession(text, level) for level in range(len(self.depths))]


class ExitModel:
    """The model up to one of its exits. drafted: how many tokens it can draft; None for all."""

    def __init__(self, model: LanguageModel, parts: Layers, depth: int) -> None:
        self._parts = parts
        self.layers = depth
        self.head_cost = parts.head_cost
        self.revision = model.revision
        self.dtype = model.dtype
        self.device = model.device
        self.vocab_size = model.vocab_size
        self.context = model.context
        early = depth < parts.layers
        self.name = (
            f"{model.name}, exit after {depth} of {parts.layers} layers" if early else model.name
        )
        self.parameters, self.drafted = parts.exit(depth)

    def start(self) -> "ExitSession":
        """Return a session of this exit alone.

        Sessions by `EarlyExits.open` share the layers below.
        """
        return ExitSession(self._parts.text((self.layers,)), 0)


class ExitSession:
    """A text read at one exit. Sessions that were opened together share it.

    work: all that this session's calls have had to compute, in the layers below it too; never what
    was there already.
    """

    def __init__(self, text: SharedText, level: int) -> None:
        self._text = text
        self._level = level
        self.work = Counter[str]()
        self.exact = text.exact

    @property
    def length(self) -> int:
        return self._text.lengths[self._level]

    @torch.inference_mode()
    def forward(self, tokens: Tensor, keep: int, view: View | None = None) -> Tensor:
        """Read `tokens` (n,) at positions from `length` on.

        Return logits after the last `keep`, (keep, vocab).

        With keep=0 the head is not run. Raises HsdError for a view: exits read no trees.
        """
        if view is not None:
            raise HsdError("early exits read one text at a time, no tree: choose a single draft")
        text = self._text
        end = self.length + len(tokens)
        known = text.tokens[self.length : end]
        read = tokens.to(text.tokens.device)
        logits = torch.empty(0, dtype=torch.float32, device="cpu")
        assert torch.equal(known, read[: len(known)]), (
            "the exits below have read other tokens: crop them first"
        )
        text.tokens = torch.cat([text.tokens, read[len(known) :]])
        for group, (first, last) in enumerate(text.groups[: self._level + 1]):
            if (unread := end - text.lengths[group]) > 0:
                logits = text.advance(group, end, keep if group == self._level else 0)
                text.lengths[group] = end
                self.work.update(layers=last - first, computed=(last - first) * unread)
        self.work.update(heads=keep)
        return logits

    def crop(self, length: int) -> None:
        """Forget tokens from position `length` on, here and at all deeper exits."""
        self._text.forget(self._level, length)

    def select(self, columns: list[int]) -> None:
        """Keep the first tokens, as `crop` does.

        Raises HsdError for other columns, which belong to a tree.
        """
        if columns != list(range(len(columns))):
            raise HsdError(
                "early exits can only keep the beginning of a text: choose a single draft"
            )
        self.crop(len(columns))

    def close(self) -> None:
        """Free all that is held, for the sessions opened with this one too."""
        self._text.close()


def parts_of(model: Any) -> Layers:
    """Return the layers of a model. Raises HsdError where they cannot be run in parts."""
    parts: Layers | None = getattr(model, "parts", None)
    if parts is None:
        raise HsdError(f"{model.name} has no layers to leave early: choose a model of transformers")
    return parts


def default_exits(model: LanguageModel) -> tuple[int, ...]:
    """Return the depths at which to draft and to check first.

    These are the shallowest two trained ones, else about L/8 and L/4.

    A single trained one is all: it drafts for the whole model. In a model of two layers both depths
    are the same.
    """
    parts = parts_of(model)
    layers = parts.layers
    trained = parts.trained
    if trained and len(trained) < layers:
        return trained[:2]
    shallow = max(1, round(layers / 8))
    return shallow, max(shallow, min(max(round(layers / 4), shallow + 1), layers - 1))
