"""Small tokenizers as GGUF files have them: of bytes with merges, and of pieces with scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from hsd.models.loading.text import BYTES

NORMAL, UNKNOWN, SPECIAL, OWN, UNUSED, BYTE = 1, 2, 3, 4, 5, 6
LETTERS = {byte: letter for letter, byte in BYTES.items()}  # of all bytes, by which they go
MERGES = (
    ("h", "e"),
    ("l", "l"),
    ("he", "ll"),
    ("hell", "o"),
    ("Ġ", "t"),
    ("Ġt", "he"),
    ("1", "2"),
    ("12", "3"),
    ("'", "s"),
    ("e", "Ìģ"),
    ("Ã", "©"),
    ("Ì", "ģ"),
)
TEMPLATE = (
    "{% for turn in messages %}<|im_start|>{{ turn.role }}\n{{ turn.content }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
BYTE_SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
SPACE = "▁"
Fields = dict[str, Any]


def of_bytes(pre: str = "qwen2", unused: int = 0, own: Sequence[str] = ("<tool>",)) -> Fields:
    """Return the fields of a tokenizer of bytes. A token of one byte has that byte as its id.

    unused: how many tokens at the end pad the list.
    """
    merged = ["".join(merge) for merge in MERGES]
    padding = [f"[PAD{i}]" for i in range(unused)]
    tokens = [LETTERS[byte] for byte in range(256)] + merged
    kinds = [NORMAL] * len(tokens)
    for more, kind in ((BYTE_SPECIAL, SPECIAL), (own, OWN), (padding, UNUSED)):
        tokens += more
        kinds += [kind] * len(more)
    end = tokens.index("<|im_end|>")
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": pre,
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": kinds,
        "tokenizer.ggml.merges": [" ".join(merge) for merge in MERGES],
        "tokenizer.ggml.bos_token_id": tokens.index("<|endoftext|>"),
        "tokenizer.ggml.eos_token_id": end,
        "tokenizer.chat_template": TEMPLATE,
    }


def of_pieces(texts: Iterable[str], count: int = 120, unused: int = 0) -> Fields:
    """Return the fields of a tokenizer of pieces: the `count` most common ones of some texts, the
    first merged with the best score, then the texts' characters.
    """
    words = Counter(SPACE + word for text in texts for word in text.split())
    parts = {word: list(word) for word in words}
    merged = list[str]()
    while len(merged) < count:
        pairs = Counter[str]()
        for word, held in parts.items():
            for left, right in pairwise(held):
                pairs[left + right] += words[word]
        best = max(pairs, key=lambda piece: (pairs[piece], piece))
        if best not in merged:
            merged.append(best)
        parts = {word: _joined(held, best) for word, held in parts.items()}
    letters = sorted({letter for word in words for letter in word})
    bytes_ = [f"<0x{byte:02X}>" for byte in range(256)]
    padding = [f"<pad{i}>" for i in range(unused)]
    tokens = ["<unk>", "<s>", "</s>", *bytes_, *merged, *letters, *padding]
    kinds = [UNKNOWN, SPECIAL, SPECIAL] + [BYTE] * 256 + [NORMAL] * (len(merged) + len(letters))
    scores = [0.0] * 259 + [-float(i) for i in range(len(merged) + len(letters))]
    return {
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.pre": "default",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": kinds + [UNUSED] * unused,
        "tokenizer.ggml.scores": scores + [-10_000.0] * unused,
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
        "tokenizer.ggml.unknown_token_id": 0,
        "tokenizer.ggml.add_bos_token": True,
    }


def _joined(parts: list[str], piece: str) -> list[str]:
    """Return parts of a word, where those that make up a piece are one."""
    joined = list[str]()
    for part in parts:
        if joined and joined[-1] + part == piece:
            joined[-1] = piece
        else:
            joined.append(part)
    return joined


def by_scores(text: str, fields: Fields) -> list[int]:
    """Return the ids of a text as SentencePiece cuts it: of all neighbours that are a piece
    together those with the best score are joined, the first of equal ones, until there are none.
    """
    tokens = fields["tokenizer.ggml.tokens"]
    kinds = fields["tokenizer.ggml.token_type"]
    scores = fields["tokenizer.ggml.scores"]
    pieces = {
        token: scores[i] for i, token in enumerate(tokens) if kinds[i] in (NORMAL, UNUSED, OWN)
    }
    ids = {token: i for i, token in enumerate(tokens)}
    parts = list((SPACE + text).replace(" ", SPACE)) if text else []
    while True:
        joins = [
            (-pieces[left + right], i)
            for i, (left, right) in enumerate(pairwise(parts))
            if left + right in pieces
        ]
        if not joins:
            break
        _, first = min(joins)
        parts[first : first + 2] = [parts[first] + parts[first + 1]]
    cut = list[int]()
    for part in parts:
        known = [part] if part in pieces else [f"<0x{byte:02X}>" for byte in part.encode()]
        cut += [ids[name] for name in known]
    return cut
