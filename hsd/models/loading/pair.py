"""Loading a target and its draft model, and checking that they fit: each other's tokens, and the memory."""

from __future__ import annotations

import gc
import os
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from hsd.errors import HsdError
from hsd.models.base import LanguageModel, Pair
from hsd.models.loading import fetch
from hsd.models.loading.memory import SHARDED, Need, refusal, rooms, share
from hsd.models.loading.registry import EMBEDDED, FETCHED, PAIRS, names, unknown
from hsd.models.loading.sizes import QUANTISED, SIZES, Sizes, of_config
from hsd.paths import ASSETS

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
DEVICE_MAPS = ("auto", "balanced", "balanced_low_0", "sequential", SHARDED)
KEPT_PAIRS = 2


@dataclass(frozen=True)
class Recipe:
    """All that a pair is made from, so that equal recipes give the same pair. See `load_pair` for the fields.

    smaller: further models below the draft, smallest first.
    """

    name: str
    target: str
    draft: str
    device: str
    dtype: torch.dtype
    revision: str | None = None
    draft_revision: str | None = None
    device_map: str | None = None
    quantize: str | None = None
    chat: bool | None = None
    note: str = ""
    smaller: tuple[str, ...] = ()

    @property
    def drafting(self) -> list[tuple[str, str | None]]:
        """Sources and revisions of the models below the target, smallest first; none where it is its own draft."""
        draft = (self.draft, self.draft_revision)
        alone = draft == (self.target, self.revision)
        return [*((source, None) for source in self.smaller), *([] if alone else [draft])]


_LOADING = threading.Lock()
_LOADED: OrderedDict[Recipe, Pair] = OrderedDict()  # the pairs used most recently


def load_pair(
    name: str | None = None,
    *,
    target: str | os.PathLike[str] | None = None,
    draft: str | os.PathLike[str] | None = None,
    device: str | None = None,
    dtype: str | None = None,
    revision: str | None = None,
    draft_revision: str | None = None,
    device_map: str | None = None,
    quantize: str | None = None,
    chat: bool | None = None,
    smaller: Sequence[str] = (),
) -> Pair:
    """Return a pair by name, or from two folders or Hub ids.

    name: "tiny" is embedded (no network, a CPU is enough); "smollm2" is here once `python -m hsd fetch` has fetched it,
    and has one form, in integers on a CPU, from the published file, with the same bits on every machine
    (`hsd.models.small`); `registry.PAIRS` lists those on the Hub. A draft may be an EAGLE-3 head, see
    `hsd.models.loading.heads`. device: "cuda", "cuda:1", "mps" or "cpu"; by default the first of these that is
    available. dtype: "float32", "bfloat16" or
    "float16"; by default float32 on a CPU and for the embedded pair, else bfloat16. revision, draft_revision: a branch,
    tag or commit on the Hub; a fetched model has its own, the first digits of its file's sha256. device_map: "auto"
    spreads the target over all GPUs, which also happens when it does not fit on one of several; "sharded" shares each
    of its layers among the processes of torchrun, which all draw the same. quantize: "4bit" or "8bit" for the target's
    weights, with bitsandbytes. chat: put prompts into the tokenizer's chat template; by default if there is one and the
    target ends its texts as it ends a turn. smaller: folders or Hub ids of models for a stack under the draft model,
    smallest first; "tiny" has one. A model may be named as its own draft, which loads it once: for decoding with the
    target alone and for its early exits.

    Pairs are shared: asking again for the same one returns the same object. Raises HsdError, one line, if a model
    cannot be found or fetched, memory is too small, or the vocabularies differ.
    """
    words = ("device_map", device_map, DEVICE_MAPS), ("quantize", quantize, (*QUANTISED,)), ("dtype", dtype, (*DTYPES,))
    for option, value, known in words:
        if value is not None and value not in known:
            raise HsdError(f"unknown {option} {value!r}: choose {', '.join(known)}")
    where, note = _device(device), ""
    if isinstance(smaller, str):
        raise HsdError(f"smaller {smaller!r}: give a list of folders or Hub ids, smallest first")
    if name is None and target is None and draft is None:
        name = "tiny"
    if name is not None:
        if target or draft:
            raise HsdError("give either the name of a pair or a target and a draft, not both")
        if name in FETCHED:
            if smaller or device not in (None, "cpu") or dtype or quantize or device_map:
                raise HsdError(f"{name} has one form, for CPUs: give its name alone, with chat where it matters")
            return _load(_fetched(name, chat))
        target, draft, smaller, note = _named(name, smaller)
    if not target or not draft:
        raise HsdError("a pair needs both a target and a draft: give two folders or two Hub ids")
    numbers = DTYPES[dtype or ("float32" if name in EMBEDDED or where == "cpu" else "bfloat16")]
    target, draft = os.fspath(target), os.fspath(draft)
    both = name or f"{_base(target)} + {_base(draft)}"
    _check_stack([*smaller, draft, target])
    draft_revision = draft_revision or (revision if draft == target else None)
    recipe = Recipe(both, target, draft, where, numbers, revision, draft_revision, device_map, quantize, chat, note)
    return _load(replace(recipe, smaller=tuple(smaller)))


def _named(name: str, smaller: Sequence[str]) -> tuple[str, str, Sequence[str], str]:
    """Target, draft, further models and note of a pair. Raises HsdError, with the nearest names, when there is none."""
    if name in EMBEDDED:
        folder = ASSETS / name  # drafts with three layers; the one-layer model is the bottom of a stack
        further = [*(os.path.realpath(source) for source in smaller), str(folder / "draft")]
        return str(folder / "target"), str(folder / "middle"), further, EMBEDDED[name]
    if name not in PAIRS:
        raise unknown(name)
    pair = PAIRS[name]
    return pair.target, pair.draft, smaller, pair.note


def _fetched(name: str, chat: bool | None) -> Recipe:
    """Return the recipe of a fetched pair. Raises HsdError when it is not here."""
    file = fetch.find(name)
    if file is None:
        raise HsdError(f"{name} is not on this machine: run python -m hsd fetch {name}")
    fetch.check(name, file)
    note = f"{FETCHED[name]}; its draft knows the most used tokens only"
    revision, draft = fetch.MODELS[name].revision, str(ASSETS / name / "draft")
    return Recipe(name, str(file), draft, "cpu", torch.float32, revision, chat=chat, note=note)


def _check_stack(models: Sequence[str]) -> None:
    """Raise HsdError if a model of a stack is named twice. A pair alone may have one model for both."""
    twice = next((source for source in models if models.count(source) > 1), None)
    if twice is not None and len(models) > 2:
        raise HsdError(f"{twice!r} is named twice: a stack has every model once")


def _load(recipe: Recipe) -> Pair:
    """Return the pair of a recipe, one caller at a time: `from_pretrained` does not bear being called twice at once."""
    with _LOADING:
        pair = _LOADED.get(recipe) or _load_new(recipe)
        _LOADED[recipe] = pair
        _LOADED.move_to_end(recipe)
        while len(_LOADED) > KEPT_PAIRS:
            _LOADED.popitem(last=False)
        return pair


def _load_new(recipe: Recipe) -> Pair:
    """Load a pair; what costs little is checked first, so that a bad pair is refused before weights are read."""
    if recipe.name in FETCHED:
        from hsd.models.loading.portable import small_pair

        called = {"name": recipe.name, "note": recipe.note, "revision": recipe.revision or ""}
        called |= {"target": fetch.MODELS[recipe.name].title, "draft": _labels(recipe)[-1]}
        return small_pair(Path(recipe.target), Path(recipe.draft), recipe.chat, called)
    from hsd.models.loading.heads import is_head, load_head, size
    from hsd.models.loading.hub import find
    from hsd.models.loading.model import check_quantize, load_config, load_model
    from hsd.models.loading.text import (
        CHOSEN,
        TokenizerCodec,
        check_template,
        end_ids_of,
        load_tokenizer,
        tuned_on_chats,
    )

    check_quantize(recipe.quantize, recipe.device_map)
    sources = [recipe.target, *(source for source, _ in recipe.drafting)]
    _make_room(recipe, _need(recipe, *map(SIZES.get, sources)))  # before anything is fetched
    big, *drafting = (find(*source) for source in ((recipe.target, recipe.revision), *recipe.drafting))
    head = drafting.pop() if drafting and is_head(drafting[-1]) else None
    sizes = [of_config(load_config(source)) for source in (big, *drafting)]
    of_head = size(head) if head else None
    if recipe.device_map == SHARDED:
        share(sizes[0].kv_heads if sizes[0] else 1, recipe.device)
    tokenizer = load_tokenizer(big)
    for source in drafting:
        check_vocabularies(tokenizer, load_tokenizer(source))
    check_template(tokenizer, recipe.chat)
    device_map = _make_room(recipe, _need(recipe, *sizes, *([of_head] if of_head else [])))
    here = f"cuda:{torch.cuda.current_device()}" if recipe.device == "cuda" else recipe.device
    named = zip(drafting, _labels(recipe), strict=False)  # one label more where the last is a head
    drafts: list[LanguageModel] = [load_model(source, name, here, recipe.dtype) for source, name in named]
    label = _label(recipe, "target", recipe.target)  # loaded after the others, so that it takes the room that is left
    target = load_model(big, label, here, recipe.dtype, device_map, recipe.quantize)
    if head is not None:
        drafts.append(load_head(head, target, _labels(recipe)[-1]))
    tuned = tuned_on_chats(tokenizer, target.end_ids) if recipe.chat is None else recipe.chat
    codec = TokenizerCodec(tokenizer, end_ids_of(tokenizer, target.end_ids, bool(tuned)), bool(tuned))
    *smaller, draft = drafts or [target]
    settled = recipe.name in names() or recipe.chat is not None or tuned is None
    notes = [note for model in (*drafts, target) for note in getattr(model, "notes", ())]
    notes += [] if settled else [CHOSEN[bool(tuned)]]
    return Pair(recipe.name, target, draft, codec, recipe.note, tuple(smaller), tuple(notes))


def _need(recipe: Recipe, *sizes: Sizes | None) -> Need | None:
    """Return the memory that the pair needs, None if unknown. sizes: the target's, then those of all that draft."""
    known = [size for size in sizes if size is not None]
    if len(known) < len(sizes):
        return None
    target, *drafting = known
    return Need(target, tuple(drafting), recipe.dtype, recipe.device != "cpu", recipe.quantize)


def _make_room(recipe: Recipe, need: Need | None) -> str | None:
    """Return how to spread the target, None for one device; drops pairs loaded before if needed. Raises HsdError."""
    if need is None:
        return recipe.device_map
    while True:
        places = rooms(recipe.device, recipe.device_map)
        for room in places:
            if room.holds(need.total):
                return room.device_map
        if not _forget_pairs():
            raise refusal(recipe.name, need, places[-1])


def _forget_pairs() -> bool:
    """Let go of the pairs loaded before; False if there are none. One that is being used stays until it is done."""
    if not _LOADED:
        return False
    _LOADED.clear()
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    return True


def check_vocabularies(target: Any, draft: Any) -> None:
    """Raise HsdError unless both tokenizers give every id the same meaning. Padded sizes of the models may differ."""
    ours, theirs = target.get_vocab(), draft.get_vocab()
    if ours == theirs:
        return
    if len(ours) != len(theirs):
        raise HsdError(
            f"draft vocabulary {len(theirs):,} ≠ target {len(ours):,}: choose a draft with the same tokenizer"
        )
    different = sum(theirs.get(token) != i for token, i in ours.items())
    raise HsdError(f"target and draft give {different:,} tokens different ids: choose a draft with the same tokenizer")


def _device(device: str | None) -> str:
    if device is None:
        if torch.cuda.is_available():
            return "cuda"
        return "mps" if torch.backends.mps.is_available() else "cpu"
    kind, _, index = device.partition(":")
    if kind not in ("cuda", "mps", "cpu"):
        raise HsdError(f"unknown device {device!r}: choose cuda, mps or cpu")
    if (kind == "cuda" and not torch.cuda.is_available()) or (kind == "mps" and not torch.backends.mps.is_available()):
        raise HsdError(f"device {device!r} is not available on this machine: choose cpu")
    if index and not (index.isdecimal() and int(index) < (torch.cuda.device_count() if kind == "cuda" else 1)):
        raise HsdError(f"there is no device {device!r} on this machine: choose {kind}")
    return device if kind == "cuda" else kind


def _base(source: str) -> str:
    return os.path.basename(os.path.normpath(source))[-90:]


def _labels(recipe: Recipe) -> list[str]:
    """Return the names in a trace of the models below the target, smallest first."""
    roles = {recipe.draft: "draft"}
    return [_label(recipe, roles.get(source, "smallest"), source) for source, _ in recipe.drafting]


def _label(recipe: Recipe, role: str, source: str) -> str:
    """Return a model's name in a trace: its Hub id, or its folder's name without the path, which is private."""
    if recipe.name in (*EMBEDDED, *FETCHED) and os.path.dirname(source) == str(ASSETS / recipe.name):
        return f"{recipe.name} {role}"
    return _base(source) if os.path.isdir(os.path.expanduser(source)) else source[-200:]
