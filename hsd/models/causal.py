"""Models of `transformers`: one forward pass at a time, with a cache that can be rolled back."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from torch import Tensor
from transformers import AutoModelForCausalLM, AutoTokenizer, DynamicCache
from transformers.utils.logging import disable_progress_bar

from hsd.errors import HsdError
from hsd.models.base import View


class CausalModel:
    """A causal language model, its sizes and its device.

    device: where logits are delivered. An Apple GPU has no float64, which the rules need, so its logits are
    delivered on the CPU.
    """

    def __init__(self, model: Any, name: str, revision: str | None = None) -> None:
        self.model = model.eval()
        self.name, self.revision = name, revision
        self.input_device: torch.device = model.device
        self.device = torch.device("cpu") if model.device.type == "mps" else model.device
        self.dtype = str(model.dtype).removeprefix("torch.")
        self.parameters = sum(p.numel() for p in model.parameters())
        text_config = model.config.get_text_config()
        self.vocab_size: int = text_config.vocab_size
        self.context: int = getattr(text_config, "max_position_embeddings", None) or 1 << 20
        self.end_ids = _as_set(getattr(model.generation_config, "eos_token_id", None))

    def start(self) -> CausalSession:
        return CausalSession(self)


class CausalSession:
    """One text read by a `CausalModel`; `length` tokens are in its key/value cache."""

    def __init__(self, model: CausalModel) -> None:
        self._model = model
        self._cache: DynamicCache | None = DynamicCache(config=model.model.config)
        self.length = 0

    @torch.inference_mode()
    def forward(self, tokens: Tensor, keep: int, view: View | None = None) -> Tensor:
        """Read `tokens` (n,); logits after the last `keep` of them, (keep, vocab). One forward pass."""
        output = self._model.model(
            input_ids=tokens.to(self._model.input_device).unsqueeze(0),
            past_key_values=self._cache,
            use_cache=True,
            logits_to_keep=keep,
            **(self._masked(view) if view else {}),
        )
        self.length += tokens.shape[0]
        return output.logits[0].to(self._model.device)

    def crop(self, length: int) -> None:
        if length < self.length:
            assert self._cache is not None
            self._cache.crop(length - self.length)  # a negative count removes that many tokens from the end
            self.length = length

    def select(self, columns: list[int]) -> None:
        if columns == list(range(self.length)):
            return
        assert self._cache is not None
        index = torch.tensor(columns, device=self._model.input_device)
        layers: list[Any] = self._cache.layers
        for layer in layers:
            layer.keys, layer.values = layer.keys[:, :, index], layer.values[:, :, index]
        self.length = len(columns)

    def close(self) -> None:
        self._cache, self.length = None, 0

    def _masked(self, view: View) -> dict[str, Tensor]:
        """The view as the model's arguments: what is not visible gets the lowest score."""
        device, dtype = self._model.input_device, self._model.model.dtype
        scores = torch.zeros(view.visible.shape, dtype=dtype).masked_fill_(~view.visible, torch.finfo(dtype).min)
        return {"attention_mask": scores[None, None].to(device), "position_ids": view.positions[None].to(device)}


class TokenizerCodec:
    """Text and tokens by a `transformers` tokenizer."""

    def __init__(self, tokenizer: Any, end_ids: frozenset[int]) -> None:
        self.tokenizer = tokenizer
        self.end_ids = end_ids
        self.vocab_size = max(tokenizer.get_vocab().values()) + 1
        self._pieces: dict[int, str] = {}

    def encode(self, text: str) -> list[int]:
        return list(self.tokenizer(text)["input_ids"])

    def decode(self, ids: list[int]) -> str:
        return str(self.tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False))

    def piece(self, token: int) -> str:
        """The text of one token, as it stands in a sentence: with its leading space, special tokens by name."""
        if token not in self._pieces:
            self._pieces[token] = self._read_piece(token)
        return self._pieces[token]

    def _read_piece(self, token: int) -> str:
        text = str(self.tokenizer.decode([token], clean_up_tokenization_spaces=False))
        name = self.tokenizer.convert_ids_to_tokens(token)
        if name is None:
            return f"<{token}>"  # padding of the vocabulary
        return " " + text if name.startswith("▁") and not text.startswith(" ") else text


# Bars that are over before they can be read, and every retry of a download, only clutter standard error: what goes
# wrong is told once, by the error that is raised.
disable_progress_bar()
logging.getLogger("huggingface_hub").setLevel(logging.ERROR)


def load_model(source: str, device: torch.device, dtype: torch.dtype, revision: str | None, name: str) -> CausalModel:
    """Load from a folder or a Hub id. Raises HsdError, one line, when that is impossible."""
    _check_folder(source)
    try:
        model: Any = AutoModelForCausalLM.from_pretrained(source, dtype=dtype, revision=revision)
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        raise HsdError(f"cannot load a model from {source!r}: {_first_line(error)}") from None
    return CausalModel(model.to(device), name, revision)


def load_tokenizer(source: str, revision: str | None) -> Any:
    """Load the tokenizer of a folder or a Hub id. Raises HsdError, one line, when that is impossible."""
    try:
        return AutoTokenizer.from_pretrained(source, revision=revision)
    except (OSError, ValueError, KeyError) as error:
        raise HsdError(f"cannot load a tokenizer from {source!r}: {_first_line(error)}") from None


def _check_folder(source: str) -> None:
    path = Path(source).expanduser()
    looks_local = source.startswith((".", "/", "~")) or path.is_dir()
    if looks_local and not path.is_dir():
        raise HsdError(f"no folder {source!r}: give an existing folder or a Hub id like Qwen/Qwen2.5-0.5B-Instruct")
    if looks_local and not (path / "config.json").is_file():
        raise HsdError(f"folder {source!r} has no config.json: give a folder saved by save_pretrained()")


def _as_set(ids: int | list[int] | None) -> frozenset[int]:
    return frozenset() if ids is None else frozenset([ids] if isinstance(ids, int) else ids)


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
