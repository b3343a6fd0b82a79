"""Of a damaged GGUF file one line says what is wrong with it, or the model reads as that of the
whole one.
"""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest
import torch
from damaged_gguf import LIST, TEXT, U8, U32, Parts, added, changes, damages, harmless, listed
from loops import for_each
from safetensors.torch import save_file
from small_gguf import HEAD, VOCAB, head_weights, write_gguf

from hsd import HsdError
from hsd.models.loading.portable import load_small, small_pair
from hsd.models.small.gguf import read_gguf

pytest.importorskip("wasmtime")
IDS = torch.randint(0, VOCAB, (12,), generator=torch.Generator().manual_seed(5))


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("whole") / "whole.gguf"
    write_gguf(place)
    return place


def logits(file: Path) -> torch.Tensor:
    return load_small(read_gguf(file), "small", None).start().forward(IDS, 3)


def refusal(file: Path) -> str:
    with pytest.raises(HsdError) as error:
        logits(file)
    assert_is_one_line_with_a_remedy(str(error.value))
    return str(error.value)


def assert_is_one_line_with_a_remedy(line: str) -> None:
    assert "\n" not in line
    assert 10 < len(line) < 300
    assert ": " in line  # what to do


def test_a_file_that_is_taken_apart_and_put_together_is_the_same(file: Path):
    assert Parts(file.read_bytes()).bytes() == file.read_bytes()


def test_every_damaged_file_is_refused_in_one_line_or_reads_as_the_whole_one(
    file: Path, tmp_path: Path, subtests: pytest.Subtests
):
    """What is changed on purpose is refused; a single byte may be one that nobody reads."""
    wanted = logits(file)
    on_purpose = {name for name, _ in changes() if "byte" not in name}
    on_purpose -= {"llama.rope.freq_base lacks"}  # it is what the format takes for the usual one
    place = tmp_path / "damaged.gguf"
    refused = 0
    read = list[str]()
    for name, data in damages(file):
        place.write_bytes(data)
        with subtests.test(name):
            try:
                found = logits(place)
            except HsdError as error:
                refused += 1
                assert_is_one_line_with_a_remedy(str(error))
            else:
                read.append(name)
                assert name not in on_purpose
                assert torch.equal(found, wanted)
    assert refused > 400
    assert len(read) < 10, read


def test_what_says_the_same_in_another_way_is_read(file: Path, tmp_path: Path):
    wanted = logits(file)
    for name, data in harmless(file):
        (tmp_path / "other.gguf").write_bytes(data)
        assert torch.equal(logits(tmp_path / "other.gguf"), wanted), name


@for_each(
    ("name", "words"),
    [
        ("blk.1.attn_k size 1 32", "blk.1.attn_k.weight"),
        ("llama.attention.head_count 0", "heads is 0"),
        ("llama.rope.freq_base nan", "base is nan"),
        ("token_embd not finite", "token_embd.weight has numbers that are not finite"),
        ("output_norm lacks", "output_norm.weight is missing"),
        ("b'output.weight' too", "output.weight"),
        ("lists in lists", "a list of lists"),
        ("1152921504606846976 values 8", "a list of 1,152,921,504,606,846,976 values"),
    ],
)
def test_the_line_names_what_is_wrong(file: Path, tmp_path: Path, name: str, words: str):
    parts = Parts(file.read_bytes())
    dict(changes())[name](parts)
    (tmp_path / "damaged.gguf").write_bytes(parts.bytes())
    assert words in refusal(tmp_path / "damaged.gguf")


# The tokenizer


def texts(words: list[bytes]) -> bytes:
    return listed(TEXT, len(words), b"".join(struct.pack("<Q", len(word)) + word for word in words))


WORDS = [
    *(chr(ord("A") + i).encode() for i in range(26)),
    *(chr(ord("a") + i).encode() for i in range(26)),
]
WORDS += [f"{i}".encode() for i in range(10)] + [b"<end>", b"AB"]
TOKENIZER: dict[str, tuple[int, Any]] = {
    "ggml.model": (TEXT, b"gpt2"),
    "ggml.tokens": (LIST, texts(WORDS)),
    "ggml.merges": (LIST, texts([b"A B"])),
    "ggml.token_type": (LIST, listed(U32, VOCAB, struct.pack("<64I", *[1] * 62, 3, 1))),
    "ggml.bos_token_id": (U32, 62),
    "ggml.eos_token_id": (U32, 62),
    "chat_template": (TEXT, b"{{ messages[0].content }}"),
}
WRONG: dict[str, tuple[int, Any] | None] = {
    "ggml.model": (TEXT, b"llama"),
    "ggml.tokens": (LIST, texts(WORDS[:-1])),
    "ggml.merges": (LIST, texts([b"A ?"])),
    "ggml.token_type": (LIST, listed(U32, 3, bytes(12))),
    "ggml.bos_token_id": (U32, 64),
    "ggml.eos_token_id": (TEXT, b"62"),
    "chat_template": (TEXT, b"{% if %}"),
}
ALSO = [
    ("ggml.tokens", (LIST, texts([*WORDS[:-1], b"A"]))),
    ("ggml.tokens", (LIST, listed(U8, 64, bytes(64)))),
    ("ggml.tokens", (U32, 1)),
    ("ggml.tokens", None),
    ("ggml.tokens", (LIST, texts([*WORDS, b"more"]))),
    ("ggml.merges", (LIST, texts([b"AB"]))),
    ("ggml.merges", (LIST, texts([b"B C"]))),
    ("ggml.merges", None),
    ("ggml.merges", (TEXT, b"A B")),
    ("ggml.token_type", (U32, 3)),
    ("ggml.token_type", (LIST, texts(WORDS))),
    ("ggml.eos_token_id", (U32, 2**31)),
    ("ggml.bos_token_id", (LIST, texts(WORDS))),
    ("chat_template", (U32, 1)),
    ("ggml.model", None),
]


def with_tokenizer(file: Path, place: Path, told: dict[str, tuple[int, Any] | None]) -> Path:
    parts = Parts(file.read_bytes())
    for name, value in told.items():
        if value is not None:
            added(parts, f"tokenizer.{name}".encode(), *value)
    (place / "model.gguf").write_bytes(parts.bytes())
    save_file(head_weights(), place / "model.safetensors")
    (place / "config.json").write_text(json.dumps(HEAD))
    return place / "model.gguf"


def test_a_whole_tokenizer_is_read(file: Path, tmp_path: Path):
    pair = small_pair(with_tokenizer(file, tmp_path, dict(TOKENIZER)), tmp_path, False, "small")
    assert pair.codec.encode("ABC") == [63, 2]
    assert pair.codec.end_ids == {62}


def test_a_chat_needs_a_template_in_the_file(file: Path, tmp_path: Path):
    place = with_tokenizer(file, tmp_path, TOKENIZER | {"chat_template": None})
    assert small_pair(place, tmp_path, None, "small").codec.encode("ABC") == [63, 2]
    with pytest.raises(HsdError, match="no chat template: leave chat out"):
        small_pair(place, tmp_path, True, "small")


@for_each(("name", "value"), [*WRONG.items(), *ALSO])
def test_a_damaged_tokenizer_is_refused_in_one_line(
    file: Path, tmp_path: Path, name: str, value: tuple[int, Any] | None
):
    told = with_tokenizer(file, tmp_path, {**TOKENIZER, name: value})
    with pytest.raises(HsdError, match="tokenizer") as error:
        small_pair(told, tmp_path, False, "small")
    assert "\n" not in str(error.value)
