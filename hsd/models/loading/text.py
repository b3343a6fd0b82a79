"""Text and tokens by a `transformers` tokenizer, with the chat template of tuned models."""

import re
from contextlib import suppress
from dataclasses import replace
from functools import cache, cached_property
from typing import Any

from hsd.errors import HsdError, first_line
from hsd.models.base import Pair
from hsd.trace.format import spell

# The letters by which byte-level tokenizers name bytes: those that show something are their own
# names.
_SHOWN = [*range(33, 127), *range(161, 173), *range(174, 256)]
_HIDDEN = sorted({*range(256)} - {*_SHOWN})
BYTES = {chr(256 + i): byte for i, byte in enumerate(_HIDDEN)} | {chr(b): b for b in _SHOWN}
SAMPLE = 32  # tokens by which a decoder that puts something between tokens is known

ANSWER = "Bq7"  # of a turn that only shows what follows it
CHOSEN = {
    True: "Prompts go into the chat template in the target's files: --prompt-as text has them "
    "continued as they are.",
    False: "Prompts are continued as they are: the target's files have a chat template, but its "
    "texts do not end as a "
    "turn does, like a base model's; --prompt-as chat puts prompts into the template.",
}  # where the files of a pair without a name have decided


class TokenizerCodec:
    """Text to tokens and back.

    chat: prompts become a user's turn in the chat template, and the model's turn begins.

    A template writes the special tokens itself, so none are added to what it gives.
    """

    def __init__(self, tokenizer: Any, end_ids: frozenset[int], chat: bool = False) -> None:
        self.tokenizer = tokenizer
        self.chat = chat
        self.end_ids = end_ids
        self.vocab_size = max(tokenizer.get_vocab().values()) + 1
        self._known = cache(self._read)

    def encode(self, text: str) -> list[int]:
        """Return the ids of a prompt.

        In a chat they include the template around it, up to where the model's answer begins.

        Raises HsdError when the template cannot take the prompt.
        """
        if self.chat:
            turns = [{"role": "user", "content": text}]
            try:
                text = str(
                    self.tokenizer.apply_chat_template(
                        turns, tokenize=False, add_generation_prompt=True
                    )
                )
            # a template is a program of its makers: it may fail in any way
            except Exception as error:
                line = first_line(error)
                raise HsdError(
                    f"the chat template fails ({line}): have the prompt continued as text"
                ) from None
        return list(self.tokenizer(text, add_special_tokens=not self.chat)["input_ids"])

    def decode(self, ids: list[int]) -> str:
        return str(
            self.tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)
        )

    def piece(self, token: int) -> str:
        """Return the text of one token, as it stands in a sentence.

        It has its leading space; special tokens are given by name.

        Bytes that are a part of a character stand in hexadecimal.
        """
        return self._known(token)[0]

    def bytes_of(self, token: int) -> bytes:
        """Return the bytes of a token that is not whole characters, b"" for any other."""
        return self._known(token)[1]

    def _read(self, token: int) -> tuple[str, bytes]:
        """Return the piece of a token, and its bytes as of `bytes_of`."""
        text = self._with_names([token])
        name = self.tokenizer.convert_ids_to_tokens(token)
        parts = b"" if text and "�" not in text else _parts(name)
        if parts:
            text = spell(parts)
        elif name is None:
            text = f"<{token}>"  # padding of the vocabulary
        elif str(name).startswith("▁") and not text.startswith(" "):
            text = " " + text
        return text, parts

    def piece_after(self, token: int, before: int) -> str:
        """Return the piece of a token in a text after another one.

        It includes what the decoder puts between the two.
        """
        if not self._joins:
            return self.piece(token)
        start = self._with_names([before])
        both = self._with_names([before, token])
        return (both.startswith(start) and both[len(start) :]) or self.piece(token)

    @cached_property
    def _joins(self) -> bool:
        """Whether the text of several tokens is more, or less, than their pieces."""
        some = range(0, self.vocab_size, max(self.vocab_size // SAMPLE, 1))
        whole = [
            token
            for token in some
            if not self.bytes_of(token) and self.tokenizer.convert_ids_to_tokens(token)
        ]
        return self._with_names(whole).strip() != "".join(map(self.piece, whole)).strip()

    def _with_names(self, ids: list[int]) -> str:
        return str(self.tokenizer.decode(ids, clean_up_tokenization_spaces=False))


def _parts(name: str | bytes | None) -> bytes:
    """Return the bytes that a token's name stands for, such as "<0xE2>" or "âĢ".

    b"" for whole characters.
    """
    parts = name if isinstance(name, bytes) else b""
    if byte := re.fullmatch("<0x([0-9A-F]{2})>", str(name)):
        parts = bytes.fromhex(byte[1])
    elif isinstance(name, str) and BYTES.keys() >= {*name}:
        parts = bytes(BYTES[letter] for letter in name)
    with suppress(UnicodeDecodeError):
        parts.decode()
        return b""  # it may be the character � itself
    return parts


def with_prompts_as(pair: Pair, prompt_as: str) -> Pair:
    """Return the same models, with prompts in the chat template ("chat"), or as they are ("text").

    Raises HsdError when there is no template.
    """
    codec = pair.codec
    pair = replace(pair, notes=tuple(note for note in pair.notes if note not in CHOSEN.values()))
    if prompt_as == "text" and not getattr(codec, "chat", False):
        return pair
    # in the target's own generation settings
    named = getattr(pair.target, "end_ids", frozenset[int]())
    return replace(
        pair, codec=codec_of(getattr(codec, "tokenizer", None), prompt_as == "chat", named)
    )


def tuned_on_chats(tokenizer: Any, named: frozenset[int]) -> bool | None:
    """Return whether a model answers in its chat template, by what ends its texts.

    None where there is no template.

    A base model may carry the template of its tuned sisters, but ends a text with another token
    than they end a turn. named: ends by the model's own settings.
    """
    if not tokenizer.chat_template:
        return None
    turns = [{"role": "user", "content": "A"}, {"role": "assistant", "content": ANSWER}]
    try:
        after = str(tokenizer.apply_chat_template(turns, tokenize=False)).rpartition(ANSWER)[2]
    except Exception:  # a template is a program of its makers, and may refuse such turns
        return True
    own = {*tokenizer.all_special_ids, *tokenizer.added_tokens_decoder}
    end = next(
        (i for i in tokenizer(after, add_special_tokens=False)["input_ids"] if i in own), None
    )
    return end is None or end in named or end == tokenizer.eos_token_id


def codec_of(tokenizer: Any, chat: bool, named: frozenset[int] = frozenset()) -> TokenizerCodec:
    """Return the codec of a tokenizer. named: ids that end a text by the model's own settings.

    The tokenizer's own end counts too in a chat, or where none are named. Raises HsdError where a
    chat has no template.
    """
    if chat and not getattr(tokenizer, "chat_template", None):
        raise HsdError(
            "this tokenizer has no chat template: leave chat out, and have the prompt continued as "
            "text"
        )
    own = frozenset(i for i in [tokenizer.eos_token_id] if i is not None)
    return TokenizerCodec(tokenizer, named | own if chat or not named else named, chat)
