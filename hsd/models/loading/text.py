"""Text and tokens by a `transformers` tokenizer, with the chat template of models that were tuned on chats."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cached_property
from typing import Any

from hsd.errors import HsdError, first_line
from hsd.models.base import Pair
from hsd.models.loading.hub import Source, cannot_load
from hsd.trace.spelling import spell

# The letters by which byte-level tokenizers name bytes: those that show something are their own names.
_SHOWN = [*range(33, 127), *range(161, 173), *range(174, 256)]
BYTES = {chr(256 + i): byte for i, byte in enumerate(sorted({*range(256)} - {*_SHOWN}))} | {chr(b): b for b in _SHOWN}
SAMPLE = 32  # tokens by which a decoder that puts something between tokens is known


class TokenizerCodec:
    """Text to tokens and back. chat: prompts become a user's turn in the chat template, and the model's turn begins.

    A template writes the special tokens itself, so none are added to what it gives.
    """

    def __init__(self, tokenizer: Any, end_ids: frozenset[int], chat: bool = False) -> None:
        self.tokenizer, self.chat = tokenizer, chat
        self.end_ids = end_ids
        self.vocab_size = max(tokenizer.get_vocab().values()) + 1
        self._known: dict[
            int, tuple[str, bytes]
        ] = {}  # of tokens: their pieces, and their bytes as `bytes_of` has them

    def encode(self, text: str) -> list[int]:
        """The ids of a prompt. Raises HsdError when the chat template cannot take it."""
        if not self.chat:
            return list(self.tokenizer(text)["input_ids"])
        return list(self.tokenizer(self.in_template(text), add_special_tokens=False)["input_ids"])

    def in_template(self, text: str) -> str:
        """The prompt as a chat-tuned model wants it, up to where its answer begins."""
        turns = [{"role": "user", "content": text}]
        try:
            return str(self.tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True))
        except Exception as error:  # a template is a program of its makers: it may fail in any way
            line = first_line(error)
            raise HsdError(f"the chat template fails ({line}): have the prompt continued as text") from None

    def decode(self, ids: list[int]) -> str:
        return str(self.tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False))

    def piece(self, token: int) -> str:
        """The text of one token, as it stands in a sentence: with its leading space, special tokens by name.

        Bytes that are a part of a character stand in hexadecimal.
        """
        return self._read(token)[0]

    def bytes_of(self, token: int) -> bytes:
        """The bytes of a token that is not whole characters, b"" for any other."""
        return self._read(token)[1]

    def _read(self, token: int) -> tuple[str, bytes]:
        if token not in self._known:
            text, name = self._with_names([token]), self.tokenizer.convert_ids_to_tokens(token)
            parts = b"" if text and "�" not in text else _parts(name)
            if parts:
                text = spell(parts)
            elif name is None:
                text = f"<{token}>"  # padding of the vocabulary
            elif str(name).startswith("▁") and not text.startswith(" "):
                text = " " + text
            self._known[token] = text, parts
        return self._known[token]

    def piece_after(self, token: int, before: int) -> str:
        """The piece of a token in a text after another one, with what the decoder puts between the two."""
        if not self._joins:
            return self.piece(token)
        start, both = self._with_names([before]), self._with_names([before, token])
        return (both.startswith(start) and both[len(start) :]) or self.piece(token)

    @cached_property
    def _joins(self) -> bool:
        """Whether the text of several tokens is more, or less, than their pieces."""
        some = range(0, self.vocab_size, max(self.vocab_size // SAMPLE, 1))
        whole = [token for token in some if not self.bytes_of(token) and self.tokenizer.convert_ids_to_tokens(token)]
        return self._with_names(whole).strip() != "".join(map(self.piece, whole)).strip()

    def _with_names(self, ids: list[int]) -> str:
        return str(self.tokenizer.decode(ids, clean_up_tokenization_spaces=False))


def _parts(name: str | bytes | None) -> bytes:
    """The bytes that a token's name stands for, such as "<0xE2>" or "âĢ"; b"" where they are whole characters."""
    found = name if isinstance(name, bytes) else b""
    if byte := re.fullmatch("<0x([0-9A-F]{2})>", str(name)):
        found = bytes.fromhex(byte[1])
    elif isinstance(name, str) and BYTES.keys() >= {*name}:
        found = bytes(BYTES[letter] for letter in name)
    try:
        found.decode()
    except UnicodeDecodeError:
        return found
    return b""  # it may be the character � itself


def with_prompts_as(pair: Pair, prompt_as: str) -> Pair:
    """The same models, with prompts in the chat template ("chat"), as they are ("text"), or as before ("").

    Raises HsdError when there is no template.
    """
    codec = pair.codec
    if not prompt_as or (prompt_as == "text" and not getattr(codec, "chat", False)):
        return pair
    tokenizer = getattr(codec, "tokenizer", None)
    chat = wants_chat(tokenizer, prompt_as == "chat", tuned=False)
    return replace(pair, codec=TokenizerCodec(tokenizer, end_ids_of(tokenizer, _named_ends(pair), chat), chat))


def _named_ends(pair: Pair) -> frozenset[int]:
    """Tokens that the generation settings of the target name as ends."""
    return getattr(pair.target, "end_ids", frozenset())


def load_tokenizer(source: Source) -> Any:
    """The tokenizer of a model. Raises HsdError, one line, when that is impossible."""
    from transformers import AutoTokenizer  # takes seconds, and the portable engine needs none

    try:
        return AutoTokenizer.from_pretrained(source.name, **source.options)
    except (OSError, ValueError, KeyError) as error:
        raise cannot_load("a tokenizer", error, source) from None


def wants_chat(tokenizer: Any, chat: bool | None, tuned: bool) -> bool:
    """Whether prompts go into the chat template: as asked, else where there is one and the model was tuned for it.

    Raises HsdError when a template is asked for and there is none.
    """
    has_template = bool(getattr(tokenizer, "chat_template", None))
    if chat and not has_template:
        raise HsdError("this tokenizer has no chat template: leave chat out, and have the prompt continued as text")
    return (tuned and has_template) if chat is None else chat


def end_ids_of(tokenizer: Any, named: frozenset[int], chat: bool) -> frozenset[int]:
    """Tokens that end a text: those that the model's generation settings name, and in a chat the end of a turn."""
    own = frozenset(i for i in [tokenizer.eos_token_id] if i is not None)
    return named | own if chat or not named else named
