"""Models of `transformers`: one forward pass at a time, with a cache that can be rolled back."""

from collections.abc import Sequence
from inspect import signature
from typing import Any, cast

import torch
from torch import Tensor
from transformers import Cache, DynamicCache
from transformers.cache_utils import StaticLayer

from hsd.errors import HsdError
from hsd.models.base import Session, View
from hsd.models.probe import why_no_tree
from hsd.models.shared import ModuleLayers, extended
from hsd.values import listed, shown, whole

FULL = "full_attention"
SLIDING = "sliding_attention"
STRETCHED = ("linear", "yarn", "llama3")


class CausalModel:
    """A causal language model, its sizes and its device.

    revision: the commit if the files tell it, else what was asked for. quantize: what its weights
    were quantised to, if they were. device: where logits are delivered, also if the model is spread
    over several. An Apple GPU has no float64, which the rules need, so its logits are delivered on
    the CPU. settings: its own generation settings. limit: why its context is no longer. no_tree:
    why it reads no siblings. Raises HsdError for a model that cannot be rolled back, or whose rows
    depend on more than the text before them.
    """

    def __init__(
        self, model: Any, name: str, revision: str | None = None, quantize: str | None = None
    ) -> None:
        if model.config.is_encoder_decoder:
            raise HsdError(
                f"{type(model).__name__} has an encoder: choose a model that only decodes"
            )
        self.model = model.eval()
        self.name = name
        self.notes = tuple[str, ...]()
        self.revision: str | None = getattr(model.config, "_commit_hash", None) or revision
        self.windows = attention_windows(model)
        self.input_device: torch.device = model.get_input_embeddings().weight.device
        self.device = torch.device("cpu") if self.input_device.type == "mps" else self.input_device
        self.dtype = str(model.dtype).removeprefix("torch.")
        if quantize:
            self.dtype += f", {quantize} weights"
        self.parameters: int = model.num_parameters()
        text_config = model.config.get_text_config()
        self.vocab_size: int = text_config.vocab_size
        self.layers: int = text_config.num_hidden_layers
        self.context, self.limit = context_of(text_config)
        self.settings = vars(model.generation_config) if model.generation_config else {}
        ends = self.settings.get("eos_token_id")
        self.end_ids = as_set(getattr(text_config, "eos_token_id", None) if ends is None else ends)
        self.keeps = {"logits_to_keep"} & {*signature(model.forward).parameters}
        self.no_tree = why_no_tree(self)

    @property
    def embedding(self) -> Tensor:
        """(vocab, hidden): the rows that stand for the tokens."""
        # where processes share the target: a part of them
        rows = self.model.get_input_embeddings().weight
        return cast("Tensor", getattr(rows, "full_tensor", rows.detach)()).detach()

    @property
    def parts(self) -> ModuleLayers:
        """Return the model's layers, for early exits.

        Raises HsdError if they cannot be run in parts.
        """
        return ModuleLayers(self)

    def start(self) -> Session:
        return CausalSession(self)

    def read(
        self, tokens: Tensor, cache: Cache | None, keep: int, **further: Any
    ) -> tuple[Tensor, Any]:
        """Read `tokens` (n,) by one forward pass.

        Return logits after the last `keep`, (keep, vocab), and the model's output.

        cache: keys and values of the tokens before them. further: other arguments of the pass.
        """
        ids = tokens[None].to(self.input_device)
        lengths = dict.fromkeys(self.keeps, keep)
        output = self.model(
            input_ids=ids, past_key_values=cache, use_cache=True, **lengths, **further
        )
        return output.logits[0, -keep:].to(self.device), output

    def placed(self, visible: Tensor, positions: Tensor, columns: Tensor) -> dict[str, Any]:
        """Return arguments of a pass over tokens at `positions` (n,) of their texts.

        The pass needs these and an attention mask.

        visible (n, length): which tokens each may see. columns (length,): their positions. The mask
        (1, 1, n, length) is 0, or the lowest score for what is hidden or outside the window; {kind:
        mask} for several kinds of attention.
        """

        def scores(window: int | None) -> Tensor:
            seen = visible if window is None else visible & (positions[:, None] - columns < window)
            zeros = torch.zeros(seen.shape, dtype=self.model.dtype, device=seen.device)
            mask = zeros.masked_fill_(~seen, torch.finfo(zeros.dtype).min)
            return mask[None, None].to(self.input_device)

        masks = {kind: scores(window) for kind, window in self.windows.items()}
        mask = masks if len(masks) > 1 else next(iter(masks.values()))
        return {"attention_mask": mask, "position_ids": positions[None].to(self.input_device)}


class CausalSession:
    """One text read by a `CausalModel`.

    The cache is made without the model's configuration, so that layers with a sliding window keep
    all keys as well: a window that has moved on could not be moved back. What such a layer may see
    is left to its mask. taps: after how many layers hidden states are kept (several depths), of all
    tokens read after it is set.
    """

    def __init__(self, model: CausalModel) -> None:
        self._model = model
        self.taps = tuple[int, ...]()
        self.close()

    def close(self) -> None:
        self._cache = DynamicCache()
        # where each cached token stands in its own text
        self._positions = torch.empty(0, dtype=torch.int64, device="cpu")
        self.states = torch.empty(0, dtype=torch.float32, device="cpu")  # (length, taps, hidden)

    @property
    def length(self) -> int:
        return len(self._positions)

    @torch.inference_mode()
    def forward(self, tokens: Tensor, keep: int, view: View | None = None) -> Tensor:
        """Read `tokens` (n,) by one pass; return logits after the last `keep`, (keep, vocab)."""
        places = (
            torch.arange(self.length, self.length + len(tokens), device="cpu")
            if view is None
            else view.positions
        )
        self._positions = torch.cat([self._positions, places])
        further = {} if view is None else self._model.placed(view.visible, places, self._positions)
        if self.taps:
            further["output_hidden_states"] = True
        logits, output = self._model.read(tokens, self._cache, keep, **further)
        if self.taps:
            self.states = extended(
                self.states, torch.stack([output.hidden_states[tap][0] for tap in self.taps], 1)
            )
        return logits

    def crop(self, length: int) -> None:
        if length < self.length:
            self._keep(slice(length))

    def select(self, columns: list[int]) -> None:
        if columns != list(range(self.length)):
            self._keep(torch.tensor(columns, device=self._model.input_device, dtype=torch.int64))

    def _keep(self, columns: slice | Tensor) -> None:
        for layer in cast("list[Any]", self._cache.layers):
            if layer.is_initialized:
                here = columns if isinstance(columns, slice) else columns.to(layer.keys.device)
                layer.keys = layer.keys[:, :, here]
                layer.values = layer.values[:, :, here]
        self._positions = self._positions[columns if isinstance(columns, slice) else columns.cpu()]
        self.states = self.states[columns] if self.taps else self.states


class FixedLayer(StaticLayer):
    """Keys and values of one layer, (1, heads, capacity, width).

    positions (n,): where the next n are written.
    """

    positions: Tensor

    def update(
        self, key_states: Tensor, value_states: Tensor, *_: Any, **__: Any
    ) -> tuple[Tensor, Tensor]:
        """Write at `positions` and return the whole cache.

        The mask hides entries that are not valid.
        """
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        keys = cast(Tensor, self.keys)
        values = cast(Tensor, self.values)
        keys.index_copy_(2, self.positions, key_states)
        values.index_copy_(2, self.positions, value_states)
        return keys, values

    def get_seq_length(self) -> int:
        return 0  # positions and masks are given with every call; nobody has to ask


class FixedSession:
    """One text of at most `capacity` tokens, read by a `CausalModel` on one device.

    length: () int64, on the device.

    Nothing here looks at a value on the host, so that CUDA graphs can capture a pass once and
    replay it for ever.
    """

    def __init__(self, model: CausalModel, capacity: int) -> None:
        self._model = model
        place = model.input_device
        self.length = torch.zeros((), dtype=torch.int64, device=place)
        self._columns = torch.arange(capacity, device=place)
        self._layers = [FixedLayer(capacity) for _ in range(model.layers)]

    def read(self, tokens: Tensor, keep: int) -> Tensor:
        """Read `tokens` (n,) after what is there.

        Return logits after the last `keep`, (keep, vocab).
        """
        positions = self.length + torch.arange(len(tokens), device=tokens.device)
        for layer in self._layers:
            layer.positions = positions
        places = self._model.placed(positions[:, None] >= self._columns, positions, self._columns)
        known = tokens.clamp_max(self._model.vocab_size - 1)
        cache = Cache(layers=[*self._layers])
        logits, _ = self._model.read(known, cache, keep, **places)
        self.length += len(tokens)
        return logits

    def close(self) -> None:
        """Free what the session holds."""
        self._layers.clear()


def attention_windows(model: Any) -> dict[str, int | None]:
    """Return the kinds of attention that a model's layers have, and how far back each sees.

    None stands for all the way.

    Raises HsdError for layers that keep a running state instead of the past: there is no way back
    in them.
    """
    config = model.config.get_text_config()
    window: int | None = getattr(config, "sliding_window", None)
    whole = FULL if getattr(config, "attention_chunk_size", None) is None else "chunked_attention"
    kinds = getattr(config, "layer_types", None) or [whole if window is None else SLIDING]
    others = sorted(set(kinds) - {FULL, SLIDING})
    if others or getattr(model, "_is_stateful", False):
        what = others[0].replace("_", " ") if others else "a running state"
        raise HsdError(
            f"{type(model).__name__} has layers with {what}, whose cache cannot be rolled back: "
            "choose a model with full or sliding-window attention"
        )
    return {kind: window if kind == SLIDING else None for kind in dict.fromkeys(kinds)}


def context_of(config: Any) -> tuple[int, str]:
    """Return how many tokens a model can read by its configuration, and why no more or "".

    Stretched positions count.

    Longrope and dynamic scaling change all keys once a text exceeds the original context, so that
    no cache is valid.
    """
    named = getattr(config, "max_position_embeddings", None) or 0
    most = named if named > 0 else 1 << 20
    ends = []
    rope = getattr(config, "rope_parameters", None) or {}
    for part in (part for part in (rope, *rope.values()) if isinstance(part, dict)):
        kind = part.get("rope_type") or ""
        begun = part.get("original_max_position_embeddings") or named
        if kind == "longrope" or "dynamic" in kind:
            ends.append((begun if kind == "longrope" else named, kind))
        elif kind in STRETCHED and part is rope:
            most = max(most, int(begun * (part.get("factor") or 1)))
    end, kind = min(ends, default=(most, ""))
    return (end, f", as the {kind} rope turns all keys anew beyond that") if kind else (most, "")


def as_set(ids: int | Sequence[int] | Tensor | None) -> frozenset[int]:
    """Return ids that end a text as a set, from any form in which `transformers` takes them.

    Raises HsdError for anything else.
    """
    if ids is None:
        return frozenset()
    entries = listed(ids.flatten() if isinstance(ids, Tensor) else ids)
    numbers = [whole(entry) for entry in ([ids] if entries is None else entries)]
    if None in numbers:
        raise HsdError(f"eos_token_id {shown(ids)}: give whole numbers in the model's settings")
    return frozenset(number for number in numbers if number is not None)
