"""The layers of a model of `transformers`, cut into groups that one text reads in turn.

They are for `hsd.models.exits`.

Nothing is copied, and the model itself can be used at the same time. A group is the model's own
decoder with fewer layers and no final norm: attention masks, positions and kinds of layers stay the
library's work.
"""

import copy
import inspect
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from transformers.cache_utils import Cache, DynamicLayer
from transformers.modeling_outputs import BaseModelOutput

from hsd.errors import HsdError
from hsd.models.exits import EarlyExits, SharedText
from hsd.models.probe import attempted

_CHECKED: WeakKeyDictionary[nn.Module, set[tuple[int, ...]]] = WeakKeyDictionary()


class ModuleLayers:
    """The layers of a `CausalModel`; see `hsd.models.exits.Layers`.

    Every exit has the whole model's norm and head.

    trained: models that examples/reproduce/tiny trains list theirs as `early_exits` in their
    configuration. A model with "layerskip" in its name, as Meta's facebook/layerskip-llama… have,
    was trained at every layer; its configuration is an ordinary one. Raises HsdError where layers
    cannot be run in parts.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        self._module = model.model
        decoder: Any = self._module.get_decoder() if hasattr(self._module, "get_decoder") else None
        listed_layers = isinstance(getattr(decoder, "layers", None), nn.ModuleList)
        if not listed_layers or not hasattr(decoder, "norm"):
            raise self._in_one_piece("whose layers stand in no list")
        self._layers = decoder.layers
        self.layers = layers = len(self._layers)
        listed = getattr(self._module.config, "early_exits", None)
        names = f"{model.name} {getattr(self._module.config, '_name_or_path', '')}".lower()
        self.trained: tuple[int, ...] = tuple(range(1, layers + 1)) if "layerskip" in names else ()
        if isinstance(listed, list | tuple):
            self.trained = tuple(sorted({d for d in listed if type(d) is int and 1 <= d <= layers}))

    @property
    def head_cost(self) -> float:
        return (
            weights(self._module.get_output_embeddings())[0]
            * self.layers
            / weights(self._layers)[0]
        )

    def exit(self, depth: int) -> tuple[int, int | None]:
        return self._model.parameters - sum(weights(self._layers[depth:])), None

    def text(self, depths: Sequence[int]) -> "ModuleText":
        return ModuleText(self._model, depths)

    def check(self, exits: EarlyExits) -> None:
        """Raise HsdError if in parts the model computes something else.

        That is so where inputs are scaled on the way in.
        """
        if exits.depths in _CHECKED.setdefault(self._module, set()):
            return
        tokens = torch.arange(3, device="cpu") % self._model.vocab_size
        expected = self._model.start().forward(tokens, 3)

        def wrong() -> str:
            logits = exits.open()[-1].forward(tokens, 3)
            return (
                "other numbers" if (logits - expected).abs().max() > 0.05 * expected.std() else ""
            )

        if why := attempted(wrong):
            raise self._in_one_piece(f"which gives in parts: {why}")
        _CHECKED[self._module].add(exits.depths)

    def _in_one_piece(self, why: str) -> HsdError:
        name = type(self._module).__name__
        return HsdError(
            f"early exits cannot be taken from {name}, {why}: choose a Llama, Qwen, Mistral or "
            "Gemma model"
        )


class ModuleText(SharedText):
    """A text that groups of layers read.

    Like `CausalSession`'s, the caches keep all keys of a sliding window.

    states: what came out of each group, (n, hidden).
    """

    def __init__(self, model: Any, depths: Sequence[int]) -> None:
        super().__init__(depths, model.input_device)
        decoder = model.model.get_decoder()
        self._model = model
        self._parts = [_part(decoder, first, end) for first, end in self.groups]
        self._logits = _without_layers(model.model, decoder)
        self.close()

    def advance(self, group: int, end: int, keep: int) -> Tensor:
        first, last = self.groups[group]
        begin = self.lengths[group]
        rows = (self.states[group - 1] if group else self.tokens)[begin:end]
        if first < last:
            known = {"inputs_embeds" if group else "input_ids": rows[None]}
            output = self._parts[group](**known, past_key_values=self.caches[group], use_cache=True)
            rows = output.last_hidden_state[0]
        self.states[group] = extended(self.states[group], rows)
        if not keep:
            return rows.new_empty(0, self._model.vocab_size)
        logits: Tensor = self._logits(inputs_embeds=rows[None, -keep:]).logits[0]
        return logits.to(self._model.device)

    def forget(self, level: int, length: int) -> None:
        for group, (first, _) in enumerate(self.groups[level:], start=level):
            for layer in self.caches[group].layers[first:]:
                layer.crop(min(0, length - self.lengths[group]))
            self.states[group] = self.states[group][:length]
        super().forget(level, length)

    def close(self) -> None:
        self.caches = [_cache(*group) for group in self.groups]
        self.states = [torch.empty(0, dtype=torch.float32, device="cpu")] * len(self.groups)
        super().close()


def weights(module: nn.Module) -> tuple[int, int]:
    """Return how many weights a module's products have, and all its other parameters.

    A weight of a product is one multiplication for each token.

    Quantised weights count as the matrices that they replace.
    """
    products = [part for part in module.modules() if isinstance(part, nn.Linear)]
    theirs = {id(part.weight) for part in products}
    others = sum(weight.numel() for weight in module.parameters() if id(weight) not in theirs)
    return sum(part.in_features * part.out_features for part in products), others


def extended(rows: Tensor, more: Tensor) -> Tensor:
    """Return `rows` (n, …) followed by `more` (m, …); empty `rows` may have another shape."""
    return torch.cat([rows, more]) if len(rows) else more


def _cache(first: int, end: int) -> Any:
    """Return an empty cache for the layers from `first` to before `end`.

    Layers keep their numbers in the whole model.

    A decoder asks its layer 0 for lengths: below the first layer of the group this one stands in
    for all.
    """
    layers = [DynamicLayer() for _ in range(first, end)]
    return Cache(layers=[*layers[:1] * first, *layers])


def _part(decoder: Any, first: int, end: int) -> Callable[..., Any]:
    """Return the decoder with layers from `first` to before `end`, without the final norm."""
    config = copy.copy(decoder.config)
    config.num_hidden_layers = end - first
    if getattr(config, "layer_types", None):
        config.layer_types = config.layer_types[first:end]
    return _forward(
        decoder, config=config, layers=list(decoder.layers)[first:end], norm=lambda states: states
    )


def _without_layers(model: Any, decoder: Any) -> Callable[..., Any]:
    """Return a forward pass of the final norm and head alone.

    It takes states as embeddings, and gives their logits.
    """

    def only_norm(inputs_embeds: Tensor, **_: Any) -> _Output:
        return _Output(last_hidden_state=decoder.norm(inputs_embeds))

    return _forward(model, **{model.base_model_prefix: only_norm})


def _forward(module: Any, **instead: Any) -> Callable[..., Any]:
    """Return the forward pass of `module` with other attributes and submodules.

    `instead` gives those that stand in place of its own.

    The weights are shared. It is the class's own pass: without the wrappers of transformers that
    record and choose outputs, which cost more than a small model's norm, and without those of
    accelerate, which move the inputs.
    """
    twin = copy.copy(module)
    twin.__dict__["_modules"] = {
        name: part for name, part in module._modules.items() if name not in instead
    }
    twin.__dict__.update(instead)
    return partial(inspect.unwrap(type(module).forward), twin)


class _Output(BaseModelOutput):
    """A decoder's output in which all but the last states is None."""

    def __getattr__(self, name: str) -> None: ...
