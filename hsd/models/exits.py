"""Early exits of one model as models of their own, which share its layers, one cache and what was computed.

The layers fall into groups, one up to each exit. A token that one exit has read is continued by the next from its
hidden state: no layer reads a token twice unless the token was forgotten. (HiSpec, arXiv 2510.01336.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from hsd.errors import HsdError
from hsd.models.base import LanguageModel, View, Work
from hsd.models.exit_heads import ExitHead
from hsd.models.groups import LayerGroups, decoder_of, in_one_piece, multiplications, numbers
from hsd.models.probe import attempted
from hsd.models.shared import SharedText

_CHECKED: WeakKeyDictionary[nn.Module, set[tuple[int, ...]]] = WeakKeyDictionary()


class EarlyExits:
    """A model of `transformers` with exits after some of its layers.

    A trained exit computes its own logits (see `hsd.models.exit_heads`), others use the whole model's norm and head.
    exits: layers before each early exit, from shallow to deep; the model's own end follows as the last of `depths`.
    models: what is read at each depth, shallowest first, the model itself last. Raises HsdError for exits that are not
    there, and for a model whose layers cannot be run in parts.
    """

    def __init__(self, model: LanguageModel, exits: Sequence[int]) -> None:
        module = _module(model)
        layers = len(decoder_of(module).layers)
        if list(exits) != sorted(exits) or not all(1 <= depth <= layers for depth in exits):
            asked = ", ".join(map(str, exits))
            raise HsdError(f"exits {asked}: choose them from shallow to deep, 1 to {layers}")
        self.model: Any = model
        self.depths = (*exits, layers)
        self.groups = LayerGroups(module, self.depths)
        self.heads = [exit_heads(model).get(depth, self.groups.logits) for depth in self.depths]
        self.models = tuple(ExitModel(self, level) for level in range(len(self.depths)))
        _check(self, module)

    def open(self) -> list[ExitSession]:
        """Open one session at each depth, shallowest first, all reading the same new text."""
        text = SharedText(self.groups)
        return [ExitSession(self, text, level) for level in range(len(self.depths))]


class ExitModel:
    """The model up to one of its exits. drafted: how many tokens it can draft; None for all."""

    def __init__(self, exits: EarlyExits, level: int) -> None:
        model, self.layers = exits.model, exits.depths[level]
        self._exits, self._level = exits, level
        self.revision: str | None = model.revision
        self.dtype: str = model.dtype
        self.device: torch.device = model.device
        self.vocab_size: int = model.vocab_size
        self.context: int = model.context
        deeper = decoder_of(model.model).layers[self.layers :]
        self.name: str = model.name
        if len(deeper):
            self.name += f", exit after {self.layers} of {self.layers + len(deeper)} layers"
        own = exit_heads(model).get(self.layers)
        self.parameters: int = model.parameters - sum(map(numbers, deeper)) + (own.parameters if own else 0)
        self.head_cost = head_cost(model)
        self.drafted: int | None = own.drafted if own else None

    def start(self) -> ExitSession:
        """Return a session of this exit alone. `EarlyExits.open` gives those that share what they compute."""
        return ExitSession(self._exits, SharedText(self._exits.groups), self._level, alone=True)


class ExitSession:
    """A text read at one exit. Sessions that were opened together share it.

    alone: no shallower exit is open, so that what is forgotten here is forgotten in the layers below as well.
    work: all that this session's calls have had to compute, in the layers below it too; never what was there already.
    """

    def __init__(self, exits: EarlyExits, text: SharedText, level: int, alone: bool = False) -> None:
        self._model, self._head, self._text, self._level = exits.model, exits.heads[level], text, level
        self._lowest = 0 if alone else level  # the first group that forgets when this session does
        self.work = Work()

    @property
    def length(self) -> int:
        return self._text.length(self._level)

    @torch.inference_mode()
    def forward(self, tokens: Tensor, keep: int, view: View | None = None) -> Tensor:
        """Read `tokens` (n,) at positions from `length` on; logits after the last `keep` of them, (keep, vocab).

        Those that a shallower exit has read go on from its hidden states; the others go through all layers so far. With
        keep=0 the head is not run. Raises HsdError for a view: exits read no trees.
        """
        if view is not None:
            raise HsdError("early exits read one text at a time, no tree: choose a single draft")
        self.work += self._text.read(tokens.to(self._model.input_device), self._level) + Work(heads=keep)
        if not keep:
            return torch.empty(0, self._model.vocab_size, device=self._model.device)
        logits: Tensor = self._head(self._text.states(self._level, keep)).to(self._model.device)
        return logits

    def crop(self, length: int) -> None:
        """Forget tokens from position `length` on, here and at all deeper exits."""
        self._text.crop(self._lowest, length)

    def select(self, columns: list[int]) -> None:
        """Keep the first tokens, as `crop` does. Raises HsdError for others: they belong to a tree."""
        if columns != list(range(len(columns))):
            raise HsdError("early exits can only keep the beginning of a text: choose a single draft")
        self.crop(len(columns))

    def close(self) -> None:
        """Free all that is held, for the sessions opened with this one too."""
        self._text.close()


def exit_heads(model: LanguageModel) -> dict[int, ExitHead]:
    """Return the trained heads of a model's exits, by the number of layers before them."""
    return getattr(model, "exit_heads", {})


def trained_exits(model: LanguageModel) -> tuple[int, ...]:
    """The depths at which a model was trained to predict, shallowest first; () if there are none or it does not tell.

    Exits that were trained for a finished model come with it, see `hsd.models.exit_heads`. Models that
    examples/reproduce/tiny trains list them as `early_exits` in their configuration. A model with "layerskip" in its
    name, as Meta's facebook/layerskip-llama… have, was trained at every layer; its configuration is an ordinary one.
    """
    if known := exit_heads(model):
        return tuple(sorted(known))
    module = _module(model)
    layers, listed = len(decoder_of(module).layers), getattr(module.config, "early_exits", None)
    if isinstance(listed, list | tuple):
        return tuple(sorted({d for d in listed if type(d) is int and 1 <= d <= layers}))
    names = f"{model.name} {getattr(module.config, '_name_or_path', '')}".lower()
    return tuple(range(1, layers + 1)) if "layerskip" in names else ()


def default_exits(model: LanguageModel) -> tuple[int, ...]:
    """Where to draft and where to check first: the shallowest two that were trained, else about L/8 and L/4.

    One that was trained alone drafts for the whole model. A model of two layers has no second one: both are the same.
    """
    if known := getattr(model, "exits", ()):  # torch has them, whatever else reads the model
        return tuple(known[:2])
    layers, trained = len(decoder_of(_module(model)).layers), trained_exits(model)
    if trained and len(trained) < layers:
        return trained[:2]
    shallow = max(1, round(layers / 8))
    return shallow, max(shallow, min(max(round(layers / 4), shallow + 1), layers - 1))


def head_cost(model: LanguageModel) -> float:
    """Cost of one row of the head in layers: multiplications with its weights, over those of a layer on one token.

    What attention does with the keys of earlier tokens is not counted, as its share grows with the text.
    """
    module = _module(model)
    layers = decoder_of(module).layers
    return multiplications(module.get_output_embeddings()) * len(layers) / multiplications(layers)


def _module(model: LanguageModel) -> Any:
    """Return the `transformers` module behind a model."""
    module = getattr(model, "model", None)
    if not isinstance(module, nn.Module):
        raise HsdError(f"{model.name} has no layers to leave early: choose a model of transformers")
    return module


def _check(exits: EarlyExits, module: nn.Module) -> None:
    """Raise HsdError if in parts the model computes something else, as where inputs are scaled on the way in."""
    if exits.depths in _CHECKED.setdefault(module, set()):
        return
    tokens = torch.arange(3) % exits.model.vocab_size
    expected = exits.model.start().forward(tokens, 3)

    def wrong() -> str:
        logits = exits.models[-1].start().forward(tokens, 3)
        return "other" if (logits - expected).abs().max() > 0.05 * expected.std() else ""

    if attempted(wrong):
        raise in_one_piece(module)
    _CHECKED[module].add(exits.depths)
