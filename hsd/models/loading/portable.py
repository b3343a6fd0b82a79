"""The fetched pair by the portable engine: the published file as it is, the project's head, the file's own tokenizer.

Nothing is converted and `transformers` is not needed, so that it is ready in two seconds, most of which torch takes.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hsd.errors import HsdError
from hsd.models.base import Pair
from hsd.models.loading import fetch
from hsd.models.loading.exit_heads import exits_in
from hsd.models.loading.text import TokenizerCodec
from hsd.models.small.files import config_of, load_small, load_small_head
from hsd.models.small.gguf import read_gguf
from hsd.models.small.text import FileTokenizer


def small_pair(file: Path, draft: Path, chat: bool | None, called: Mapping[str, str]) -> Pair:
    """Return a pair from a GGUF file and the folder of its head, with the file's tokenizer.

    chat: prompts into the file's chat template; by default if it has one. called: "name", "note" and "revision" of the
    pair, "target" and "draft" as its models are called. Raises HsdError, one line, for files that are not that.
    """
    try:
        taps = tuple(config_of(draft)["target_layers"])
    except (OSError, ValueError, KeyError, TypeError):
        raise HsdError(f"{draft.name!r} is no head that this project trained: choose another engine") from None
    found = read_gguf(file)
    target = load_small(found, called["target"], called["revision"], taps)
    if called["name"] in fetch.MODELS and fetch.find(called["name"]):
        target.exits = exits_in(draft.parent)
    tokenizer = FileTokenizer(found.fields, target.vocab_size)
    head = load_small_head(draft, target, called["draft"], None)
    ends = frozenset(i for i in [tokenizer.eos_token_id] if i is not None)
    codec = TokenizerCodec(tokenizer, ends, bool(tokenizer.chat_template) if chat is None else chat)
    return Pair(called["name"], target, head, codec, called["note"])
