"""A model cut into groups of layers, which read one after another, each in its own time.

Nothing is copied, and the model itself can be used at the same time. A group is the model's own decoder with fewer
layers and no final norm: attention masks, positions and kinds of layers stay the library's work.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from torch import Tensor, nn
from transformers import DynamicCache

from hsd.errors import HsdError


class GroupCache(DynamicCache):
    """Keys and values of the layers from number `first` on. All of them have read the same tokens.

    Layers go by their number in the whole model. Like `CausalSession`'s, the cache keeps all keys of a sliding window.
    """

    def __init__(self, first: int) -> None:
        super().__init__()
        self._first = first

    def update(
        self, key_states: Tensor, value_states: Tensor, layer_idx: int, *rest: Any, **named: Any
    ) -> tuple[Tensor, Tensor]:
        return super().update(key_states, value_states, layer_idx - self._first, *rest, **named)

    def crop(self, length: int) -> None:
        """Forget tokens from position `length` on."""
        super().crop(length - self.get_seq_length())

    def get_seq_length(self, layer_idx: int = 0) -> int:
        return super().get_seq_length(0)

    def get_mask_sizes(self, query_length: int, layer_idx: int = 0) -> tuple[int, int]:
        return super().get_mask_sizes(query_length, 0)


class LayerGroups:
    """The layers of a causal language model up to each of `depths`, which end with the number of its layers."""

    def __init__(self, model: Any, depths: Sequence[int]) -> None:
        decoder = decoder_of(model)
        self.bounds = list(zip((0, *depths), depths, strict=False))
        self._parts = [_part(decoder, first, end) for first, end in self.bounds]
        self._last = _without_layers(model, decoder)

    def caches(self) -> list[GroupCache]:
        """Return an empty cache for each group."""
        return [GroupCache(first) for first, _ in self.bounds]

    def read(self, group: int, rows: Tensor, cache: GroupCache) -> Tensor:
        """Return states after a group's last layer, not normed, (n, width).

        rows: ids (n,) for the first group, for the others the states (n, width) that the group below gave.
        """
        first, end = self.bounds[group]
        if first == end:
            return rows
        given = {"input_ids" if first == 0 else "inputs_embeds": rows.unsqueeze(0)}
        states: Tensor = self._parts[group](**given, past_key_values=cache, use_cache=True).last_hidden_state[0]
        return states

    def logits(self, states: Tensor) -> Tensor:
        """Final norm and head of the whole model: (n, width) to (n, vocab)."""
        logits: Tensor = self._last(inputs_embeds=states.unsqueeze(0)).logits[0]
        return logits


def decoder_of(model: Any) -> Any:
    """Return the part of a model that has its layers. Raises HsdError where layers cannot be run in parts."""
    decoder = model.get_decoder() if hasattr(model, "get_decoder") else None
    if not isinstance(getattr(decoder, "layers", None), nn.ModuleList) or not hasattr(decoder, "norm"):
        raise in_one_piece(model, "whose layers stand in no list")
    return decoder


def in_one_piece(model: Any, why: str) -> HsdError:
    """Return the error for a model whose layers cannot be run in parts. why: what ends "a model …"."""
    name = type(model).__name__
    return HsdError(f"early exits cannot be taken from {name}, {why}: choose a Llama, Qwen, Mistral or Gemma model")


def numbers(module: nn.Module) -> int:
    """Return how many parameters a module has; quantised weights count as the matrices that they replace."""
    return sum(
        part.in_features * part.out_features if isinstance(part, nn.Linear) and name == "weight" else weight.numel()
        for part in module.modules()
        for name, weight in part.named_parameters(recurse=False)
    )


def multiplications(module: nn.Module) -> int:
    """Return how many multiplications with weights of linear maps one token takes in a module."""
    linear = [part for part in module.modules() if isinstance(part, nn.Linear)]
    return sum(part.in_features * part.out_features for part in linear)


def _part(decoder: Any, first: int, end: int) -> Callable[..., Any]:
    """Return the decoder with layers from `first` to before `end`, giving states that are not normed."""
    config = copy.copy(decoder.config)
    config.num_hidden_layers = end - first
    if getattr(config, "layer_types", None):
        config.layer_types = config.layer_types[first:end]
    return _forward(decoder, config=config, layers=list(decoder.layers)[first:end], norm=lambda states: states)


def _without_layers(model: Any, decoder: Any) -> Callable[..., Any]:
    """Return the model with nothing before its final norm: states in, as embeddings, and its own logits of them out."""

    def only_norm(inputs_embeds: Tensor, **_: Any) -> _Output:
        return _Output(decoder.norm(inputs_embeds))

    return _forward(model, **{model.base_model_prefix: only_norm})


def _forward(module: Any, **instead: Any) -> Callable[..., Any]:
    """Return the forward pass of a module of the same class and weights, in which some parts are others.

    It is the class's own: without what the library wraps around it to record and to choose outputs, which costs more
    than a small model's norm, and without what accelerate puts on a module that it moves the inputs of.
    """
    twin = copy.copy(module)
    twin.__dict__["_modules"] = {name: part for name, part in module._modules.items() if name not in instead}
    twin.__dict__.update(instead)
    return partial(inspect.unwrap(type(module).forward), twin)


class _Output:
    """A decoder's output in which all but the last states is None."""

    def __init__(self, states: Tensor) -> None:
        self.last_hidden_state = states

    def __getattr__(self, name: str) -> None:
        if name.startswith("__"):
            raise AttributeError(name)

    def __getitem__(self, index: int) -> Tensor:
        return (self.last_hidden_state,)[index]
