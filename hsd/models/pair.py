"""Loading a target and its draft model, and checking that they speak the same tokens."""

from __future__ import annotations

import os
import threading
from functools import lru_cache
from typing import Any

import torch

from hsd.errors import HsdError
from hsd.models.base import Pair
from hsd.paths import ASSETS

_LOADING = threading.Lock()
EMBEDDED = {
    "tiny": "two small models trained from scratch for this project: the decoding is real, the models are toys",
}
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def load_pair(
    name: str | None = None,
    *,
    target: str | None = None,
    draft: str | None = None,
    device: str | None = None,
    dtype: str | None = None,
    revision: str | None = None,
    draft_revision: str | None = None,
) -> Pair:
    """A pair by name ("tiny" is embedded: no network, a CPU is enough), or from two folders or Hub ids.

    device: "cuda", "mps" or "cpu"; by default the first of these that is there. dtype: "float32", "bfloat16"
    or "float16"; by default float32 on a CPU and for the embedded pair, else bfloat16. Pairs are shared: asking
    again for the same one returns the same object. Raises HsdError when a model cannot be loaded or the two do
    not fit.
    """
    if name is None and target is None and draft is None:
        name = "tiny"
    if name is not None:
        if target or draft:
            raise HsdError("give either the name of a pair or a target and a draft, not both")
        if name not in EMBEDDED:
            raise HsdError(f"unknown pair {name!r}: choose {', '.join(EMBEDDED)}, or give a target and a draft")
        folder = ASSETS / name  # drafts with the three-layer model; the smaller one is the bottom of a stack of three
        return _load(
            name, str(folder / "target"), str(folder / "middle"), _device(device), _dtype(dtype, "cpu"), None, None
        )
    if not target or not draft:
        raise HsdError("a pair needs both a target and a draft: give two folders or two Hub ids")
    where = _device(device)
    return _load(
        f"{_base(target)} + {_base(draft)}", target, draft, where, _dtype(dtype, where), revision, draft_revision
    )


def _load(*what: Any) -> Pair:
    """`_load_once`, one caller at a time: `from_pretrained` does not bear being called twice at once."""
    with _LOADING:
        return _load_once(*what)


@lru_cache(maxsize=2)
def _load_once(
    name: str,
    target: str,
    draft: str,
    device: str,
    dtype: torch.dtype,
    revision: str | None,
    draft_revision: str | None,
) -> Pair:
    from hsd.models.causal import TokenizerCodec, load_model, load_tokenizer

    where = torch.device(device)
    big = load_model(target, where, dtype, revision, f"{name} target" if name in EMBEDDED else _label(target))
    small = load_model(draft, where, dtype, draft_revision, f"{name} draft" if name in EMBEDDED else _label(draft))
    tokenizer = load_tokenizer(target, revision)
    check_vocabularies(tokenizer, load_tokenizer(draft, draft_revision), big.vocab_size, small.vocab_size)
    end_ids = big.end_ids or frozenset(i for i in [tokenizer.eos_token_id] if i is not None)
    return Pair(name, big, small, TokenizerCodec(tokenizer, end_ids), EMBEDDED.get(name, ""))


def check_vocabularies(target: Any, draft: Any, target_size: int, draft_size: int) -> None:
    """Raise HsdError unless both tokenizers give every id the same meaning. Padded sizes may differ."""
    ours, theirs = target.get_vocab(), draft.get_vocab()
    if ours == theirs:
        return
    if len(ours) != len(theirs):
        raise HsdError(
            f"draft vocabulary {len(theirs):,} ≠ target {len(ours):,} (padded {draft_size:,} and {target_size:,}): "
            "choose a draft with the same tokenizer"
        )
    different = sum(theirs.get(token) != i for token, i in ours.items())
    raise HsdError(f"target and draft give {different:,} tokens different ids: choose a draft with the same tokenizer")


def _device(device: str | None) -> str:
    if device is None:
        if torch.cuda.is_available():
            return "cuda"
        return "mps" if torch.backends.mps.is_available() else "cpu"
    kind = device.split(":")[0]
    if kind not in ("cuda", "mps", "cpu"):
        raise HsdError(f"unknown device {device!r}: choose cuda, mps or cpu")
    if (kind == "cuda" and not torch.cuda.is_available()) or (kind == "mps" and not torch.backends.mps.is_available()):
        raise HsdError(f"device {device!r} is not available on this machine: choose cpu")
    return device


def _dtype(dtype: str | None, device: str) -> torch.dtype:
    if dtype is None:
        return torch.float32 if device == "cpu" else torch.bfloat16
    if dtype not in DTYPES:
        raise HsdError(f"unknown dtype {dtype!r}: choose {', '.join(DTYPES)}")
    return DTYPES[dtype]


def _base(source: str) -> str:
    return os.path.basename(os.path.normpath(source))[-90:]


def _label(source: str) -> str:
    """What a model is called in a trace: its Hub id, or its folder's name without the way to it, which is private."""
    return _base(source) if os.path.isdir(os.path.expanduser(source)) else source[-200:]
