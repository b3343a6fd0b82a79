"""The tokenizer of a GGUF file or a folder, without `transformers`: byte-level BPE, special tokens, the chat template.

It has what `hsd.models.loading.text.TokenizerCodec` asks of a tokenizer, under the names of `transformers`.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jinja2.sandbox import ImmutableSandboxedEnvironment
from tokenizers import AddedToken, Tokenizer
from tokenizers.decoders import ByteLevel as Decoder
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel

from hsd.errors import HsdError, first_line

BEGINS, SPECIAL = "tokenizer.", 3


class FileTokenizer:
    """Text to tokens and back, by the lists of a GGUF file.

    size: how many tokens its model has. Raises HsdError for another kind of tokenizer, or a damaged one.
    """

    def __init__(self, fields: dict[str, Any], size: int | None = None) -> None:
        lists = {name.removeprefix(BEGINS): value for name, value in fields.items() if name.startswith(BEGINS)}
        if lists.get("ggml.model") != "gpt2" or not {"ggml.tokens", "ggml.merges"} <= {*lists}:
            raise HsdError("the GGUF file has no byte-level tokenizer: the portable engine reads SmolLM2's file")
        tokens, merges, kinds = _checked(lists, size)
        self._tokenizer = Tokenizer(BPE({token: i for i, token in enumerate(tokens)}, merges))
        self._tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=False)
        self._tokenizer.decoder = Decoder()
        special = [token for token, kind in zip(tokens, kinds, strict=False) if kind == SPECIAL]
        self._tokenizer.add_special_tokens([AddedToken(token, normalized=False) for token in special])
        self.chat_template: str | None = lists.get("chat_template")
        self.eos_token_id: int | None = lists.get("ggml.eos_token_id")
        named = {name: lists.get(f"ggml.{name}_token_id") for name in ("bos", "eos")}
        self._named = {f"{name}_token": "" if place is None else tokens[place] for name, place in named.items()}

    @classmethod
    def of(cls, folder: Path) -> "FileTokenizer":
        """Return the tokenizer in a folder, without a chat template. Raises HsdError if it cannot be read."""
        found = cls.__new__(cls)
        try:
            found._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
            end = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))["eos_token"]
        except Exception as error:  # tokenizers has no exception of its own
            raise HsdError(f"the tokenizer in {folder.name!r} cannot be read: {first_line(error)}") from None
        found.chat_template, found.eos_token_id = None, found._tokenizer.token_to_id(end)
        return found

    def __call__(self, text: str, add_special_tokens: bool = True) -> dict[str, list[int]]:
        """Return the ids of a text, under "input_ids"; nothing is added to it."""
        return {"input_ids": list(self._tokenizer.encode(text, add_special_tokens=add_special_tokens).ids)}

    def get_vocab(self) -> dict[str, int]:
        return dict(self._tokenizer.get_vocab())

    def convert_ids_to_tokens(self, token: int) -> str | None:
        return self._tokenizer.id_to_token(token)

    def decode(
        self, ids: Sequence[int], skip_special_tokens: bool = False, clean_up_tokenization_spaces: bool = False
    ) -> str:
        return str(self._tokenizer.decode(list(ids), skip_special_tokens=skip_special_tokens))

    def apply_chat_template(
        self, conversation: Sequence[dict[str, str]], tokenize: bool = False, add_generation_prompt: bool = False
    ) -> str:
        """Return the turns of a conversation as text in the file's chat template."""
        environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
        template = environment.from_string(self.chat_template or "")
        return template.render(messages=conversation, add_generation_prompt=add_generation_prompt, **self._named)


def _checked(lists: dict[str, Any], size: int | None) -> tuple[list[str], list[tuple[str, str]], list[int]]:
    """Return tokens, pairs that are joined, and kinds of tokens. Raises HsdError with what does not fit together."""
    tokens, joined, kinds = lists["ggml.tokens"], lists["ggml.merges"], lists.get("ggml.token_type", [])
    _need(_all(str, tokens) and _all(str, joined), "its tokens or merges are no texts")
    _need(len({*tokens}) == len(tokens), "a token is there twice")
    _need(size in (None, len(tokens)), f"it has {len(tokens):,} tokens, and the model {size}")
    merges, known = [(one, other) for one, _, other in (merge.partition(" ") for merge in joined)], {*tokens}
    _need(all({one, other, one + other} <= known for one, other in merges), "a merge joins what is no token")
    _need(_all(int, kinds) and len(kinds) in (0, len(tokens)), f"its kinds are no list of {len(tokens):,} numbers")
    for name in ("bos", "eos"):
        found = lists.get(f"ggml.{name}_token_id", 0)
        _need(type(found) is int and 0 <= found < len(tokens), f"its {name} token is {str(found)[:40]}")
    try:
        ImmutableSandboxedEnvironment().from_string(lists.get("chat_template") or "")
    except Exception as error:  # of any kind: it is no text, or jinja2 does not understand it
        _need(False, f"its chat template cannot be read, {first_line(error)[:80]}")
    return tokens, merges, kinds


def _all(kind: type, values: Any) -> bool:
    return isinstance(values, list) and all(type(value) is kind for value in values)


def _need(fits: bool, wrong: str) -> None:
    if not fits:
        raise HsdError(f"the GGUF file's tokenizer is damaged ({wrong}): fetch it again, or choose another file")
