"""A pair that recites a given text by a real tokenizer, so that any script can be seen token by
token.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, normalizers
from torch import Tensor
from transformers import PreTrainedTokenizerFast

import hsd
from hsd.models.loading.text import TokenizerCodec
from hsd.trace.format import together
from hsd.trace.run import Prompt
from hsd.trace.values import Token

SCRIPTS = {
    "Chinese": "你好，世界。今天天气很好。",
    "Arabic": "مرحبا بالعالم، كيف حالك؟",
    "Hindi": "नमस्ते दुनिया, क्षत्रिय स्त्री",
    "emoji": "🌟🌈👍🏽👩‍👩‍👧🇩🇪🇫🇷🎉🔥",
    "accents": "e\u0301te\u0301 ok",
}


@dataclass
class _Reader:
    model: Reciter
    length: int = 0

    def forward(self, tokens: Tensor, keep: int, view: Any = None) -> Tensor:
        self.length += len(tokens)
        return torch.stack([self.model.row(at) for at in range(self.length - keep, self.length)])

    def crop(self, length: int) -> None:
        self.length = length

    def select(self, columns: list[int]) -> None:
        self.length = len(columns)

    def close(self) -> None:
        self.length = 0


@dataclass(eq=False)
class Reciter:
    """Gives the token that `ids` has next the chance `sure`, the others the rest; at `doubts`
    another one instead.
    """

    name: str
    ids: list[int]
    vocab_size: int
    sure: float = 1.0
    doubts: tuple[int, ...] = ()
    revision: str | None = None
    parameters: int = 1
    dtype: str = "float32"
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    context: int = 4096

    def start(self) -> _Reader:
        return _Reader(self)

    def row(self, at: int) -> Tensor:
        """The logits after the token at position `at`."""
        told = self.ids[(at + 1) % len(self.ids)]
        row = torch.full((self.vocab_size,), (1 - self.sure) / self.vocab_size + 1e-12)
        if at % 7 in self.doubts:
            row[(told + 1) % self.vocab_size] = self.sure
        else:
            row[told] = self.sure
        return row.log()


def fallback_tokenizer() -> PreTrainedTokenizerFast:
    """As SentencePiece with bytes for what it does not know: it knows some words, some letters, and
    � itself.
    """
    known = [
        "<unk>",
        "<s>",
        "</s>",
        *(f"<0x{byte:02X}>" for byte in range(256)),
        "▁",
        *"abcdehiklnorstuw,.!�नमर你م",
    ]
    core = Tokenizer(
        models.BPE(
            {token: i for i, token in enumerate(known)}, [], unk_token="<unk>", byte_fallback=True
        )
    )
    core.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    strip = decoders.Strip(" ", 1, 0)
    core.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), strip]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=core, eos_token="</s>", bos_token="<s>", unk_token="<unk>"
    )


def read(prompt: Prompt) -> str:
    """What the model read, by the tokens of a trace's prompt."""
    told = enumerate(zip(prompt.ids, prompt.pieces, strict=True))
    return together(
        Token(token=i, piece=piece, bytes=prompt.bytes.get(at)) for at, (i, piece) in told
    )


def reciting_pair(tokenizer: Any, prompt: str, text: str) -> hsd.Pair:
    """A pair that writes `text` after `prompt`; at some places its draft proposes another token."""
    codec = TokenizerCodec(tokenizer, frozenset({tokenizer.eos_token_id}))
    start = codec.encode(prompt)
    whole = codec.encode(prompt + text)
    assert whole[: len(start)] == start
    ids = [*whole, tokenizer.eos_token_id]
    models_ = (
        Reciter("target", ids, codec.vocab_size),
        Reciter("draft", ids, codec.vocab_size, 0.99, (3,)),
    )
    return hsd.Pair("reciting", *models_, codec)
