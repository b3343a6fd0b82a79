"""Loading a target and its draft model.

Checks that each fits the other's tokens, and both the memory.
"""

import gc
import os
import threading
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from hsd.errors import HsdError
from hsd.models.base import LanguageModel, Pair
from hsd.models.loading import fetch, fetch_pair
from hsd.models.loading.memory import (
    QUANTISED,
    SHARDED,
    SIZES,
    Sizes,
    needed,
    of_config,
    rooms,
    share,
)
from hsd.models.loading.registry import EMBEDDED, FETCHED, FETCHED_PAIRS, PAIRS, unknown
from hsd.paths import ASSETS, file_at, stamp
from hsd.values import listed, shown, truth, whole_between

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
DEVICE_MAPS = ("auto", "balanced", "balanced_low_0", "sequential", SHARDED)
CHOICES = {"device_map": DEVICE_MAPS, "quantize": (*QUANTISED,), "dtype": (*DTYPES,)}
KEPT_PAIRS = 2
GGUF_BEGINS = b"GGUF"
GGUF_ENDS = ".gguf"


@dataclass(frozen=True)
class LoadRequest:
    """All that a pair is made from, so that equal recipes give the same pair.

    See `load_pair` for the fields.

    models: sources and revisions of the target and of those that draft, smallest first; none where
    it drafts itself.
    """

    name: str
    models: tuple[tuple[str, str | None], ...]
    device: str
    dtype: torch.dtype
    device_map: str | None
    quantize: str | None
    chat: bool | None


_LOADING = threading.Lock()  # `from_pretrained` does not bear being called twice at once


def load_pair(
    name: str | None = None,
    *,
    target: str | os.PathLike[str] | None = None,
    draft: str | os.PathLike[str] | None = None,
    device: str | torch.device | None = None,
    dtype: str | torch.dtype | None = None,
    revision: str | None = None,
    draft_revision: str | None = None,
    device_map: str | None = None,
    quantize: str | None = None,
    chat: bool | None = None,
    smaller: Sequence[str | os.PathLike[str]] = (),
    draft_rows: int | None = None,
) -> Pair:
    """Return a pair by name, or from two folders, Hub ids or GGUF files.

    name: "tiny" is embedded (no network); "smollm2" and "qwen-coder" are here once
    `python -m hsd fetch` has fetched them. These have one form, on a CPU, with the same bits on
    every machine (`hsd.models.small`), and so have GGUF files: of a Llama, Qwen2 or Qwen3, named by
    a path or as owner/name:file.gguf of the Hub. A target from a file may be alone: it is then its
    own draft. `registry.PAIRS` lists pairs on the Hub. A draft may be an EAGLE-3 head, see
    `hsd.models.loading.heads`. device: "cuda", "cuda:1", "mps" or "cpu"; by default the first of
    these that is available. dtype: "float32", "bfloat16" or "float16"; by default float32 on a CPU,
    else bfloat16. revision, draft_revision: a branch, tag or commit on the Hub; a fetched model has
    its own, the first digits of its file's sha256. device_map: "auto" spreads the target over all
    GPUs, which also happens when it does not fit on one of several; "sharded" shares each of its
    layers among the processes of torchrun, which all draw the same. quantize: "4bit" or "8bit" for
    the target's weights, with bitsandbytes. chat: put prompts into the tokenizer's chat template;
    by default if there is one and the target ends its texts as it ends a turn. smaller: folders or
    Hub ids of models for a stack under the draft model, smallest first. A model may be named as its
    own draft, which loads it once: for decoding with the target alone and for its early exits.
    draft_rows: with files: the draft proposes the first so many tokens only, which is lossless and
    saves most of its output; 0: all; by default what is fastest for a fetched pair, else 0.

    Pairs are shared: asking again for the same one returns the same object, unless files in its
    folders have changed. Raises HsdError, one line, if a model cannot be found or fetched, memory
    is too small, or the vocabularies differ.
    """
    if isinstance(dtype, torch.dtype):
        dtype = str(dtype).removeprefix("torch.")
    device = str(device) if isinstance(device, torch.device) else device
    _check_texts(name=name, device=device, revision=revision, draft_revision=draft_revision)
    _check_choices(device_map=device_map, quantize=quantize, dtype=dtype)
    if chat is not None and truth(chat) is None:
        raise HsdError(f"chat {shown(chat)}: choose true or false, or leave it out")
    chat = truth(chat)
    where = _device(device)
    below = listed(smaller)
    if below is None:
        raise HsdError(
            f"smaller {shown(smaller)}: give a list of folders or Hub ids, smallest first"
        )
    below = [_source("smaller", source) for source in below]
    target = _source("target", target) if target else None
    draft = _source("draft", draft) if draft else None
    if draft_rows is not None:
        draft_rows = whole_between("draft_rows", draft_rows, 0)
    if name is None and target is None and draft is None:
        name = "tiny"
    if name is not None:
        if target or draft:
            raise HsdError("give either the name of a pair or a target and a draft, not both")
        if name in (*EMBEDDED, *FETCHED, *FETCHED_PAIRS):
            if below:
                raise HsdError(f"{name} has one form, for CPUs: leave out smaller")
            _refuse_forms(name, device, dtype, quantize, device_map)
            if name in FETCHED_PAIRS:
                return _pair_of_files(name, (), chat, draft_rows)
            _refuse_rows(name, draft_rows)
            return _embedded_or_fetched(name, chat)
        if name not in PAIRS:
            raise unknown(name)
        target = PAIRS[name].target
        draft = PAIRS[name].draft
    if _is_gguf(target) or _is_gguf(draft):
        _refuse_forms("a GGUF file", device, dtype, quantize, device_map)
        if not target:
            raise HsdError("the draft's file needs a target's file: give both")
        models = [target, *below, *([draft] if draft and draft != target else [])]
        return _pair_of_files("", models, chat, draft_rows)
    _refuse_rows(name or "this pair", draft_rows)
    _check_quantisation(quantize, device_map)
    if not target or not draft:
        raise HsdError("a pair needs both a target and a draft: give two folders or two Hub ids")
    numbers = DTYPES[dtype or ("float32" if where == "cpu" else "bfloat16")]
    both = name or f"{_base(target)} + {_base(draft)}"
    models = [*below, draft, target]
    if len({*models}) < len(models) > 2:
        twice = next(source for source in models if models.count(source) > 1)
        raise HsdError(f"{twice!r} is named twice: a stack has every model once")
    last = draft, draft_revision or (revision if draft == target else None)
    drafting = (
        *((source, None) for source in below),
        *([last] if last != (target, revision) else []),
    )
    recipe = LoadRequest(
        both, ((target, revision), *drafting), where, numbers, device_map, quantize, chat
    )
    with _LOADING:
        return _load((*map(_stamp_of, recipe.models),), _load_new, recipe)


def _check_texts(**texts: str | None) -> None:
    """Raise HsdError for an option, by its name, that is neither a text nor left out."""
    for option, text in texts.items():
        if text is not None and not isinstance(text, str):
            raise HsdError(f"{option} {shown(text)}: give a text, or leave it out")


def _check_choices(**values: str | None) -> None:
    """Raise HsdError for an option, by its name, that is none of its `CHOICES`."""
    for option, value in values.items():
        known = CHOICES[option]
        if value is not None and value not in known:
            raise HsdError(f"unknown {option} {value!r}: choose {', '.join(known)}")


def _check_quantisation(quantize: str | None, device_map: str | None) -> None:
    """Raise HsdError where weights cannot be quantised here, or not with this device map."""
    if quantize and device_map == SHARDED:
        raise HsdError(
            f"quantize={quantize!r} does not go with device map sharded: leave one of them out"
        )
    if quantize and find_spec("bitsandbytes") is None:
        raise HsdError(
            f"quantize={quantize!r} needs bitsandbytes: run `pip install bitsandbytes`, or leave "
            "it out"
        )


def _embedded_or_fetched(name: str, chat: bool | None) -> Pair:
    """Return the pair of a name in `EMBEDDED` or `FETCHED`."""
    # with jinja2, which pairs on the Hub do without
    from hsd.models.loading.portable import named_pair

    file = fetch.check(name, fetch.fetched_file(name)) if name in FETCHED else None
    with _LOADING:
        files = [stamp(path) for path in (ASSETS / name, file) if path]
        return _load((*files,), named_pair, name, file, chat)


def _source(option: str, value: Any) -> str:
    """Return a folder, a file or a Hub id as text. Raises HsdError for anything else."""
    try:
        text = os.fspath(value)
    except TypeError:
        text = None
    if not isinstance(text, str):
        raise HsdError(f"{option} {shown(value)}: give a folder, a file or a Hub id")
    return text


def _is_gguf(source: str | None) -> bool:
    """Return whether a model is named as a GGUF file: one on this machine, or of a Hub repository.

    Ollama's files have no suffix, and are known by their first bytes. A file on the Hub is
    owner/name:file.gguf.
    """
    if source is None:
        return False
    if source.lower().endswith(GGUF_ENDS):
        return True
    file = file_at(source)
    if file is None:
        return False
    with suppress(OSError), file.open("rb") as stream:
        return stream.read(len(GGUF_BEGINS)) == GGUF_BEGINS
    return False


def _refuse_forms(name: str, device: str | None, *forms: str | None) -> None:
    """Raise HsdError for options that say how weights are held, or another device than a CPU."""
    if device not in (None, "cpu") or any(forms):
        raise HsdError(
            f"{name} has one form, for CPUs: leave out dtype, quantize, device_map, device"
        )


def _refuse_rows(name: str, draft_rows: int | None) -> None:
    """Raise HsdError for a cut of a draft's output where no file is cut."""
    if draft_rows:
        raise HsdError(f"draft_rows is for pairs of GGUF files, and {name} is none: leave it out")


def _pair_of_files(
    name: str,
    models: Sequence[str],
    chat: bool | None,
    draft_rows: int | None,
) -> Pair:
    """Return a pair of GGUF files. name: of a fetched pair, "" for the files in `models`."""
    from hsd.models.loading.files import FileRequest, NoRoom, load_files, local_file

    if name:
        pair = fetch_pair.PAIRS[name]
        files: tuple[Path, ...] = fetch_pair.check_pair(name)
        rows = pair.draft_rows if draft_rows is None else draft_rows
        revisions = tuple(file.gguf_sha256[:12] for file in pair.files)
        request = FileRequest(name, files, chat, rows, pair.note, revisions)
    else:
        files = tuple(map(local_file, models))
        request = FileRequest(name, files, chat, draft_rows or 0)
    stamps = (*map(stamp, files),)
    with _LOADING:
        try:
            return _load(stamps, load_files, request)
        except NoRoom:
            if not _load.cache_info().currsize:
                raise
        _load.cache_clear()  # one that is being used stays until it is done
        gc.collect()
        return _load(stamps, load_files, request)


@lru_cache(KEPT_PAIRS)
def _load(files: Hashable, make: Callable[..., Pair], *key: Hashable) -> Pair:
    """Return the pair that a function makes of a key.

    It is the same one again as long as it is one of those used last, and as the stamps of its files
    are.
    """
    return make(*key)


def _stamp_of(model: tuple[str, str | None]) -> Hashable:
    """Return the stamp of a model's folder, None for a Hub id."""
    folder = os.path.expanduser(model[0])
    return stamp(Path(folder)) if os.path.isfile(os.path.join(folder, "config.json")) else None


def _load_new(recipe: LoadRequest) -> Pair:
    """Load a pair.

    What costs little is checked first, so that a bad pair is refused before weights are read.
    """
    from hsd.models.loading import text
    from hsd.models.loading.heads import is_head, load_head, size
    from hsd.models.loading.hub import find_source
    from hsd.models.loading.model import load_config, load_model, load_tokenizer

    # before anything is fetched
    _make_room(recipe, *(SIZES.get(source) for source, _ in recipe.models))
    big, *drafting = (find_source(*model) for model in recipe.models)
    head = drafting.pop() if drafting and is_head(drafting[-1]) else None
    sizes = [of_config(load_config(source)) for source in (big, *drafting)]
    if head:
        sizes.append(size(head))
    if recipe.device_map == SHARDED:
        share(sizes[0].kv_heads if sizes[0] else 1, recipe.device)
    tokenizer = load_tokenizer(big)
    ours = tokenizer.get_vocab()
    for source in drafting:
        # padded sizes of the models may differ
        if (theirs := load_tokenizer(source).get_vocab()) != ours:
            raise HsdError(
                f"the target's {len(ours):,} tokens and the draft's {len(theirs):,} have different "
                "ids: choose a draft with the same tokenizer"
            )
    text.codec_of(tokenizer, bool(recipe.chat))  # refuses a chat without a template
    device_map = _make_room(recipe, *sizes)
    here = f"cuda:{torch.cuda.current_device()}" if recipe.device == "cuda" else recipe.device
    label, *labels = (_label(source) for source, _ in recipe.models)
    labelled = zip(drafting, labels, strict=False)  # one label more where the last is a head
    drafts: list[LanguageModel] = [
        load_model(source, name, here, recipe.dtype) for source, name in labelled
    ]
    # in what is left
    target = load_model(big, label, here, recipe.dtype, device_map, recipe.quantize)
    if head is not None:
        drafts.append(load_head(head, target, labels[-1]))
    tuned = text.tuned_on_chats(tokenizer, target.end_ids) if recipe.chat is None else recipe.chat
    codec = text.codec_of(tokenizer, bool(tuned), target.end_ids)
    *smaller, draft = drafts or [target]
    notes = [note for model in (*drafts, target) for note in getattr(model, "notes", ())]
    named = PAIRS.get(recipe.name)
    if named is None and recipe.chat is None and tuned is not None:
        notes.append(text.CHOSEN[tuned])
    return Pair(
        recipe.name, target, draft, codec, named.note if named else "", tuple(smaller), tuple(notes)
    )


def _make_room(recipe: LoadRequest, *sizes: Sizes | None) -> str | None:
    """Return how to spread the target, None for one device.

    Drops pairs loaded before if needed. Raises HsdError if there is too little memory even so.

    sizes: the target's, then those of all that draft; where one is unknown, nothing is checked.
    """
    known = [size for size in sizes if size is not None]
    on_gpu = recipe.device != "cpu"
    if len(known) < len(sizes):
        return recipe.device_map
    need = needed(known, recipe.dtype, on_gpu, recipe.quantize)
    while True:
        for device_map, free in rooms(recipe.device, recipe.device_map).items():
            if need <= free:
                return device_map
        if not _load.cache_info().currsize:
            if recipe.device == "cpu":
                place = "this computer"
            else:
                place = "all GPUs" if device_map else recipe.device
            amounts = (
                f"needs about {need / 1e9:,.1f} GB of memory, {free / 1e9:,.1f} GB are free on "
                f"{place}"
            )
            smaller = ["dtype bfloat16"] * (recipe.dtype == torch.float32)
            smaller += ["quantize 4bit"] * (on_gpu and recipe.quantize is None)
            raise HsdError(
                f"{recipe.name[:80]} {amounts}: choose {', or '.join(['a smaller pair', *smaller])}"
            )
        _load.cache_clear()  # one that is being used stays until it is done
        gc.collect()
        torch.cuda.empty_cache()  # does nothing where there is no GPU


def _device(device: str | None) -> str:
    gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    # the best first
    counts = {"cuda": gpus, "mps": int(torch.backends.mps.is_available()), "cpu": 1}
    kinds = [kind for kind, count in counts.items() if count]
    kind, _, index = (device or kinds[0]).partition(":")
    if kind not in kinds or (index and not (index.isdecimal() and int(index) < counts[kind])):
        raise HsdError(f"there is no device {device!r} on this machine: choose {', '.join(kinds)}")
    return device if device and kind == "cuda" else kind


def _base(source: str) -> str:
    return Path(source).absolute().name[-90:]


def _label(source: str) -> str:
    """Return a model's name in a trace: its Hub id, or its folder's name.

    The folder's path is private and left out.
    """
    return _base(source) if Path(source).expanduser().is_dir() else source[-200:]
