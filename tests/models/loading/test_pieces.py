"""The text of one token by itself, and in a text, by every kind of tokenizer."""

from __future__ import annotations

from itertools import pairwise

import pytest
from reciting import SCRIPTS, fallback_tokenizer, read, reciting_pair
from small_models import bytes_tokenizer, letters_tokenizer, save_pair
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

import hsd
from hsd.models.loading.text import TokenizerCodec
from hsd.trace import step_in_words
from hsd.trace.format import together

KINDS = {"byte-level": bytes_tokenizer, "byte fallback": fallback_tokenizer}


def codec_of(tokenizer: PreTrainedTokenizerFast) -> TokenizerCodec:
    return TokenizerCodec(tokenizer, frozenset())


@pytest.mark.parametrize("kind", KINDS)
def test_a_part_of_a_character_shows_its_bytes(kind: str):
    codec = codec_of(KINDS[kind]())
    ids = codec.encode("a🌟")[-4:]
    assert [codec.piece(token) for token in ids] == ["F0", "9F", "8C", "9F"]
    assert b"".join(codec.bytes_of(token) for token in ids).decode() == "🌟"
    whole = codec.encode("a")[-1]
    assert (codec.piece(whole), codec.bytes_of(whole)) == ("a", b"")


def test_a_token_that_is_really_the_replacement_character_stays():
    codec = codec_of(fallback_tokenizer())
    token = codec.encode("�")[-1]
    assert (codec.piece(token), codec.bytes_of(token)) == ("�", b"")


def longer_pieces() -> PreTrainedTokenizerFast:
    """A byte-level tokenizer with some longer tokens: a space and half an emoji, half and the next
    half, é, and �.
    """
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    longer = [name for part in PARTS for name in [spelt(part)]]
    core = Tokenizer(
        models.BPE({name: i for i, name in enumerate([*letters, *longer, "<end>"])}, [])
    )
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    core.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=core, eos_token="<end>")


PARTS = {
    b" " + b"\xf0\x9f": " ⟨F0 9F⟩",
    b"\x9f\xf0\x9f": "9F F0 9F",
    b"\x9fab": "⟨9F⟩ab",
    "你".encode() + b"\xe5": "你⟨E5⟩",
    "é".encode(): "é",
    "�".encode(): "�",
    b"E2": "E2",
}


def spelt(data: bytes) -> str:
    """The name that a byte-level vocabulary has for some bytes."""
    core = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    by_byte = {}
    for byte in range(128):
        by_byte[byte] = core.pre_tokenize_str(chr(byte))[0][0]
    for point in [
        *range(0x80, 0x800),
        *range(0x800, 0x10000, 0x40),
        *range(0x10000, 0x110000, 0x1000),
    ]:
        if not 0xD800 <= point < 0xE000:
            name = core.pre_tokenize_str(chr(point))[0][0]
            by_byte |= dict(zip(chr(point).encode(), name, strict=True))
    return "".join(by_byte[byte] for byte in data)


def test_a_token_of_parts_and_whole_characters_shows_both():
    tokenizer = longer_pieces()
    codec = codec_of(tokenizer)
    for data, piece in PARTS.items():
        token = tokenizer.convert_tokens_to_ids(spelt(data))
        assert codec.piece(token) == piece
        assert codec.bytes_of(token) == (b"" if piece in ("é", "�", "E2") else data)


def words_tokenizer(decoder: decoders.Decoder | None) -> PreTrainedTokenizerFast:
    """A token per word, without its space; a decoder sets the spaces."""
    names = ["<u>", "<end>", "the", "cat", "sat", "##s", "mat", "on", "�"]
    core = Tokenizer(models.WordLevel({name: i for i, name in enumerate(names)}, unk_token="<u>"))
    core.pre_tokenizer = pre_tokenizers.Whitespace()
    if decoder:
        core.decoder = decoder
    return PreTrainedTokenizerFast(tokenizer_object=core, eos_token="<end>", unk_token="<u>")


@pytest.mark.parametrize("decoder", [None, decoders.WordPiece()], ids=["none", "word pieces"])
def test_a_text_has_the_spaces_that_its_decoder_sets(decoder: decoders.Decoder | None):
    pair = reciting_pair(words_tokenizer(decoder), "the cat", " sat on the mat")
    trace = hsd.run(pair, "the cat", gamma=3, temperature=1, seed=0, max_new_tokens=20)
    ended = [one.piece for step in trace.steps for one in step.committed]
    assert "".join(ended[:-1]) == trace.text == " sat on the mat"
    assert read(trace.prompt) == "the cat"
    codec = pair.codec
    assert codec.piece_after(5, 3) == ("s" if decoder else " ##s")


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_run_in_every_script_reads_as_its_text(kind: str, script: str):
    prompt = f"{SCRIPTS[script]} "
    text = SCRIPTS[script]
    pair = reciting_pair(KINDS[kind](), prompt, text)
    trace = hsd.run(pair, prompt, gamma=5, temperature=1, seed=0, max_new_tokens=400)
    trace = hsd.Trace.from_json(trace.to_json())
    assert trace.text == text
    assert read(trace.prompt).strip() == prompt.strip()
    assert (
        together(one for step in trace.steps for one in step.committed)
        == text + pair.codec.tokenizer.eos_token
    )
    tokens = [one for step in trace.steps for one in (*step.nodes, *step.committed)]
    assert any(one.bytes for one in tokens) or script == "accents"
    assert not any("�" in one.piece for one in tokens)


def test_a_step_is_told_in_whole_characters():
    pair = reciting_pair(bytes_tokenizer(), "aaaaa", "🌟🌟 ok")
    trace = hsd.run(pair, "aaaaa", gamma=4, drafts=2, temperature=1, seed=0, max_new_tokens=12)
    words = "".join(step_in_words(trace, i) for i in range(len(trace.steps)))
    assert [node.piece for node in trace.steps[0].nodes[:4]] == ["F0", "9F", "8C", "9F"]
    assert "“🌟”" in words  # a draft of four tokens
    assert "“F0”" in words  # and its first token
    assert "�" not in words


def test_a_model_folder_with_a_byte_tokenizer_shows_bytes(tmp_path):
    pair = hsd.load_pair(
        **dict(zip(("target", "draft"), save_pair(tmp_path, bytes_tokenizer()), strict=True))
    )
    trace = hsd.run(pair, "नमस्ते 🌟", gamma=3, seed=1, max_new_tokens=24)
    assert read(trace.prompt) == "नमस्ते 🌟"
    for step in trace.steps:
        for one in step.committed:
            assert bool(one.bytes) == (pair.codec.bytes_of(one.token) != b"")
    assert "�" not in "".join(one.piece for step in trace.steps for one in step.committed)


def test_one_token_per_letter_is_as_before():
    codec = codec_of(letters_tokenizer())
    ids = codec.encode("ab c")
    assert [codec.piece(token) for token in ids] == list("ab c")
    assert [codec.piece_after(b, a) for a, b in pairwise(ids)] == list("b c")
