"""Pairs of a user's own GGUF files, by the portable engine.

Files of llama.cpp, LM Studio and Ollama are read where they lie. See `hsd.models.small.gguf`.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from huggingface_hub import hf_hub_download

from hsd.errors import HsdError
from hsd.models.base import Pair
from hsd.models.loading.hub import find_repository, loading
from hsd.models.loading.memory import CPU_BASE, MARGIN, TOKENS, free_ram
from hsd.models.loading.portable import load_small
from hsd.models.loading.text import CHOSEN, codec_of, tuned_on_chats
from hsd.models.loading.tokenizer import FileTokenizer, known_tokens
from hsd.models.small.gguf import Gguf, read_gguf
from hsd.paths import file_at

# times the bytes of a file that its packed matrices take, at most
PACKED = 1.12


class NoRoom(HsdError):
    """The free memory is too small for a pair of files."""


def local_file(source: str | os.PathLike[str]) -> Path:
    """Return a GGUF file's path on this machine, after a download where it is one of the Hub's.

    Raises HsdError, one line, for a file that is not there.
    """
    name = os.fspath(source)
    here = file_at(name)
    if here:
        return here.absolute()
    repository, _, file = name.partition(":")
    if not file or repository.count("/") != 1:
        raise HsdError(
            f"there is no file {name[-90:]!r}: give the path of a GGUF file, or "
            "owner/name:file.gguf of the Hub"
        )
    origin = find_repository(repository)
    with loading("a model", origin):
        return Path(hf_hub_download(repository, file, local_files_only=origin.local_only))


@dataclass(frozen=True)
class FileRequest:
    """All that a pair of files is made from.

    name: of the pair, "" for one of the files' names. files: the target's, then those of models
    that draft, the smallest first; none where it drafts itself. chat: prompts into the chat
    template; None: if the target is tuned on chats. draft_rows: how many of the first tokens the
    draft may propose; 0: all. revisions: of the files, for a trace; none where they have none.
    """

    name: str
    files: tuple[Path, ...]
    chat: bool | None
    draft_rows: int
    note: str = ""
    revisions: tuple[str, ...] = ()


def load_files(request: FileRequest) -> Pair:
    """Return the pair of a request. Raises HsdError, one line, before anything large is read."""
    ggufs = [read_gguf(file) for file in request.files]
    _need_room(request, ggufs)
    same_tokens(request.files, ggufs)
    target_fields = ggufs[0].fields
    tokenizer = FileTokenizer(target_fields)
    names = [file.stem for file in request.files]
    revisions = request.revisions or [None] * len(ggufs)
    cut = request.draft_rows if request.draft_rows < known_tokens(target_fields) else 0
    last = len(ggufs) - 1
    drafts = [
        load_small(ggufs[i], names[i], revisions[i], drafted=cut if i == last else 0)
        for i in range(1, len(ggufs))
    ]
    target = load_small(ggufs[0], names[0], revisions[0])
    tuned = tuned_on_chats(tokenizer, tokenizer.end_ids)
    chat = bool(tuned) if request.chat is None else request.chat
    asked = request.chat is not None or request.name
    notes = [] if asked or tuned is None else [CHOSEN[tuned]]
    *smaller, draft = drafts or [target]
    codec = codec_of(tokenizer, chat, tokenizer.end_ids)
    name = request.name or " + ".join(dict.fromkeys((target.name[-90:], draft.name[-90:])))
    return Pair(name, target, draft, codec, request.note, tuple(smaller), tuple(notes))


def same_tokens(files: Sequence[Path], ggufs: Sequence[Gguf]) -> None:
    """Raise HsdError, which names the first token that differs, unless all files have the same.

    Tokens that no model uses may differ.
    """
    used = [
        gguf.fields.get("tokenizer.ggml.tokens", [])[: known_tokens(gguf.fields)] for gguf in ggufs
    ]
    for file, tokens in zip(files[1:], used[1:], strict=True):
        for i, (ours, theirs) in enumerate(zip_longest(used[0], tokens)):
            if ours != theirs:
                raise HsdError(
                    f"token {i:,} is {_quoted(ours)} in {files[0].name[-90:]} and "
                    f"{_quoted(theirs)} in {file.name[-90:]}: choose a draft with the target's "
                    "tokens"
                )


def _quoted(token: object) -> str:
    """Return a token in quotes; a damaged list may hold what is no text."""
    return "missing" if token is None else repr(str(token)[:40])


def _need_room(request: FileRequest, ggufs: Sequence[Gguf]) -> None:
    """Raise NoRoom if the models do not fit in the free memory."""
    weights = sum(len(tensor.data) for gguf in ggufs for tensor in gguf.tensors.values())
    caches = sum(_cache_bytes(gguf) for gguf in ggufs)
    need = (weights * PACKED + caches) * MARGIN + CPU_BASE
    free = free_ram()
    if need > free:
        raise NoRoom(
            f"{request.files[0].name[-90:]} needs about {need / 1e9:,.1f} GB of memory with what "
            f"drafts for it, and {free / 1e9:,.1f} GB are free: choose smaller files"
        )


def _cache_bytes(gguf: Gguf) -> int:
    """Return the bytes of the keys and values of a long text, by the rows of their matrices."""
    kept = [
        tensor.rows
        for name, tensor in gguf.tensors.items()
        if name.endswith(("attn_k.weight", "attn_v.weight"))
    ]
    return 4 * TOKENS * sum(kept)
