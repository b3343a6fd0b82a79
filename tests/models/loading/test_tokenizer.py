"""The tokenizer of a GGUF file cuts texts as the tokenizer does that the file was made from."""

from __future__ import annotations

from typing import Any

import pytest
from loops import for_each
from token_lists import OWN, by_scores, of_bytes, of_pieces

from hsd import HsdError
from hsd.models.loading.text import codec_of, tuned_on_chats
from hsd.models.loading.tokenizer import FileTokenizer, known_tokens
from hsd.paths import ROOT

LINES = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").splitlines()
TEXTS = [line[:150] for line in LINES[:70] if line]
TEXTS += [
    "",
    " ",
    "a",
    " a",
    "  a  b ",
    "ttttt eeeeeee",
    "東京 🙂",
    "\n\n x\t",
    "e\u0301",
    "<0x41>",
]
TEXTS += ["    indented", "12345 6", "naïve café"]


def pieces_of(tokenizer: FileTokenizer, text: str) -> list[str | None]:
    return [tokenizer.convert_ids_to_tokens(i) for i in tokenizer(text)["input_ids"]]


def test_pieces_are_joined_by_their_scores_as_sentencepiece_joins_them():
    fields = of_pieces(LINES)
    tokenizer = FileTokenizer(fields)
    longest = 0
    for text in TEXTS:
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        assert ids == by_scores(text, fields), text
        assert tokenizer(text)["input_ids"] == [1, *ids]
        assert tokenizer.decode(ids) == text
        longest = max([longest, *(len(str(tokenizer.convert_ids_to_tokens(i))) for i in ids)])
    assert longest > 4


def test_tokens_with_a_meaning_are_found_in_texts_of_pieces():
    fields = of_pieces(LINES)
    tokenizer = FileTokenizer(fields)
    ids = tokenizer("<s>the</s>", add_special_tokens=False)["input_ids"]
    assert ids == [1, *by_scores("the", fields), 2]
    assert tokenizer.end_ids == {2}
    assert tokenizer.decode(ids, skip_special_tokens=True) == "the"
    fields |= {"tokenizer.ggml.add_space_prefix": False, "tokenizer.ggml.add_bos_token": False}
    plain = FileTokenizer(fields)("the")["input_ids"]
    assert plain == by_scores("the", fields)[1:] or plain != by_scores("the", fields)
    assert FileTokenizer(fields).decode(plain) == "the"


CUTS = {
    "qwen2": {
        "hello the 123": ["hello", "Ġthe", "Ġ", "1", "2", "3"],
        "he'S e\u0301": ["he", "'", "S", "Ġ", "Ã©"],
    },
    "llama-bpe": {
        "hello the 1234": ["hello", "Ġthe", "Ġ", "123", "4"],
        "he's e\u0301": ["he", "'s", "Ġ", "e", "Ìģ"],
    },
    "gpt-2": {
        "the's 12312": ["t", "he", "'s", "Ġ", "123", "12"],
        "hello\n\n  the": ["hello", "Ċ", "Ċ", "Ġ", "Ġthe"],
    },
}
CUTS |= {"smollm": CUTS["gpt-2"], "default": CUTS["gpt-2"], "": CUTS["gpt-2"]}


@for_each("pre", CUTS)
def test_texts_are_cut_into_words_as_the_file_says(pre: str):
    tokenizer = FileTokenizer(of_bytes(pre) | {"tokenizer.ggml.add_bos_token": False})
    for text, wanted in CUTS[pre].items():
        assert pieces_of(tokenizer, text) == wanted
    for text in TEXTS:
        ids = tokenizer(text)["input_ids"]
        if pre != "qwen2" or "\u0301" not in text:  # which it writes as one letter
            assert tokenizer.decode(ids) == text


@for_each(
    ("pre", "said", "begins"),
    [
        ("qwen2", None, False),
        ("llama-bpe", None, True),
        ("llama3", False, False),
        ("smollm", None, False),
        ("gpt-2", True, True),
    ],
)
def test_a_text_begins_with_a_token_of_its_own_where_its_model_was_trained_so(
    pre: str, said: bool | None, begins: bool
):
    fields = of_bytes(pre)
    if said is not None:
        fields["tokenizer.ggml.add_bos_token"] = said
    first = fields["tokenizer.ggml.bos_token_id"]
    tokenizer = FileTokenizer(fields)
    assert (tokenizer("he")["input_ids"][0] == first) == begins
    assert first not in tokenizer("he", add_special_tokens=False)["input_ids"]


def test_a_prompt_goes_into_the_template_of_the_file():
    tokenizer = FileTokenizer(of_bytes())
    assert tuned_on_chats(tokenizer, tokenizer.end_ids)
    codec = codec_of(tokenizer, True, tokenizer.end_ids)
    ids = codec.encode("the <tool>")
    pieces = [tokenizer.convert_ids_to_tokens(i) for i in ids]
    assert pieces[0] == "<|im_start|>"
    assert "<tool>" in pieces
    assert tokenizer.decode(ids).endswith("the <tool><|im_end|>\n<|im_start|>assistant\n")
    ends = {tokenizer.convert_ids_to_tokens(i) for i in codec.end_ids}
    assert ends == {"<|im_end|>", "<|endoftext|>"}


def test_a_template_may_leave_loops_and_refuse_turns():
    loop = "{% for m in messages %}{{ m.content }}{% break %}{% endfor %}"
    refusal = "{{ raise_exception('only one turn') }}"
    fields = of_bytes()
    codec = codec_of(FileTokenizer(fields | {"tokenizer.chat_template": loop}), True)
    assert codec.decode(codec.encode("abc")) == "abc"
    codec = codec_of(FileTokenizer(fields | {"tokenizer.chat_template": refusal}), True)
    with pytest.raises(HsdError, match=r"^the chat template fails \(.*only one turn\)"):
        codec.encode("abc")


def test_tokens_before_the_last_unused_ones_are_those_that_are_known():
    fields = of_bytes(unused=19)
    size = len(fields["tokenizer.ggml.tokens"])
    assert known_tokens(fields) == size - 19
    fields["tokenizer.ggml.token_type"][-3] = OWN
    assert known_tokens(fields) == size - 2
    assert known_tokens({}) == 0
    del fields["tokenizer.ggml.token_type"]
    assert known_tokens(fields) == size


@for_each(
    ("change", "words"),
    [
        ({"tokenizer.ggml.pre": "tekken"}, "cuts texts as 'tekken', and default, gpt-2"),
        ({"tokenizer.ggml.model": "bert"}, "of the kind 'bert', and gpt2, llama can be read"),
        ({"tokenizer.ggml.merges": ["h ?"]}, "damaged"),
        ({"tokenizer.ggml.token_type": [1]}, "damaged"),
        ({"tokenizer.chat_template": "{% if %}"}, "damaged"),
    ],
)
def test_another_tokenizer_is_refused_in_one_line(change: dict[str, Any], words: str):
    with pytest.raises(HsdError, match=words) as error:
        FileTokenizer(of_bytes() | change)
    assert "\n" not in str(error.value)
    assert "choose another file" in str(error.value)
