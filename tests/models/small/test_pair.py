"""The fetched pair by the portable engine: every rule decodes with it, and its tokenizer is that of
`transformers`.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import hsd
from hsd import HsdError, Pair, load_pair
from hsd.cli import main
from hsd.decoding.options import RunOptions
from hsd.models.loading import fetch
from hsd.models.loading.hub import Source
from hsd.models.loading.model import load_tokenizer
from hsd.models.loading.portable import small_pair
from hsd.models.loading.tokenizer import FileTokenizer
from hsd.models.small.gguf import read_gguf
from hsd.paths import ASSETS
from hsd.rules import RULES

FILE = fetch.fetched_file("smollm2")  # every test has an empty home of its own
pytest.importorskip("wasmtime")
real = pytest.mark.skipif(FILE is None, reason="run python -m hsd fetch smollm2")
FOLDER = FILE.with_suffix("") if FILE else Path("none")
needs_converted = pytest.mark.skipif(
    not FOLDER.is_dir(), reason="run examples/reproduce/converted.py"
)
PROMPT = "What is the capital of France?"
HOW = {"temperature": 0, "max_new_tokens": 8, "trace": False}


@pytest.fixture(scope="module")
def pair() -> Pair:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fetch, "fetched_file", lambda name: FILE)
        return load_pair("smollm2")


@real
@pytest.mark.parametrize("rule", [rule.name for rule in RULES.values() if rule.lossless])
@pytest.mark.parametrize("gamma", [1, 3])
def test_every_lossless_rule_writes_the_text_of_plain_decoding_at_temperature_0(
    pair: Pair, rule: str, gamma: int
):
    plain = hsd.run(pair, PROMPT, system="plain", engine="portable", **HOW)
    assert plain.text == "The capital of France is Paris."
    assert (
        hsd.run(pair, PROMPT, rule=rule, gamma=gamma, engine="portable", **HOW).tokens
        == plain.tokens
    )


@real
def test_several_drafts_and_long_ones_are_decoded_too(pair: Pair):
    plain = hsd.run(pair, "Say it twice: one two three", system="plain", **HOW)
    for how in (
        {"gamma": 12},
        {"gamma": 3, "drafts": 3},
        {"proposer": "ngram"},
        {"gamma": 3, "drafts": 3, "tree": "grown", "rule": "one-hot"},
    ):
        assert hsd.run(pair, "Say it twice: one two three", **HOW, **how).tokens == plain.tokens


@real
def test_a_seed_gives_the_same_run_and_the_trace_says_the_engine(pair: Pair):
    how = {"temperature": 0.8, "max_new_tokens": 12, "gamma": 2, "seed": 3, "engine": "portable"}
    first, second = (hsd.run(pair, "Tell me about the sea.", **how) for _ in range(2))
    assert first.tokens == second.tokens
    assert [step.model_dump(exclude={"times"}) for step in first.steps] == [
        step.model_dump(exclude={"times"}) for step in second.steps
    ] or first.text == second.text
    assert first.setup.options.flat()["engine"] == "portable"


@real
def test_the_command_line_decodes_with_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(fetch, "fetched_file", lambda name: FILE)
    assert main(["run", PROMPT, "--engine", "portable", "--temperature", "0", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["text"], told["pair"], told["gamma"]) == (
        "The capital of France is Paris.",
        "smollm2",
        2,
    )


@real
@needs_converted
def test_the_tokenizer_of_the_file_is_the_converted_one():
    assert FILE is not None
    ours = FileTokenizer(read_gguf(FILE).fields)
    theirs = load_tokenizer(Source(str(FOLDER)))
    texts = [
        file.read_text(encoding="utf-8")
        for file in sorted((Path(__file__).parents[3]).glob("*.md"))
    ]
    texts += [
        "",
        " ",
        "naïve 東京 🙂 1234567 \t\n\n  x",
        "<|im_start|>user\nhi<|im_end|>",
        "\u202e a\u0301 \ufffd",
        "don't I'LL",
    ]
    for text in texts:
        ids = ours(text)["input_ids"]
        assert ids == theirs(text)["input_ids"]
        for skip in (False, True):
            wanted = theirs.decode(ids, skip_special_tokens=skip)
            assert ours.decode(ids, skip_special_tokens=skip) == wanted
    turns = [{"role": "user", "content": "a {{ b }} <c>"}]
    for begin in (False, True):
        options = {"tokenize": False, "add_generation_prompt": begin}
        wanted = theirs.apply_chat_template(turns, **options)
        assert ours.apply_chat_template(turns, **options) == wanted
    assert ours.get_vocab() == theirs.get_vocab()
    assert ours.eos_token_id == theirs.eos_token_id


@real
def test_a_text_by_its_own_end_and_the_chat_template_can_be_left_out(pair: Pair):
    assert pair.codec.end_ids == {2}
    assert (
        hsd.run(pair, "The capital of France is", prompt_as="text", **HOW)
        .text.strip()
        .startswith("Paris")
    )


def test_what_it_cannot_be_is_told(byte_pair: Pair, tmp_path: Path):
    for more in (
        {"dtype": "bfloat16"},
        {"quantize": "8bit"},
        {"device_map": "auto"},
    ):
        with pytest.raises(HsdError, match="smollm2 has one form, for CPUs"):
            load_pair("smollm2", **more)  # type: ignore[arg-type]
    with pytest.raises(HsdError, match="smollm2 has one form, for CPUs"):
        load_pair("smollm2", smaller=["a"])
    with pytest.raises(HsdError, match="is for the pairs smollm2 and tiny"):
        hsd.run(byte_pair, "abc", engine="portable", max_new_tokens=1)
    with pytest.raises(HsdError, match="without further calls or coupled picks"):
        RunOptions(system="plain", engine="captured", trace=False)
    (tmp_path / "x.gguf").write_bytes(b"GGUF")
    with pytest.raises(HsdError, match=r"x\.gguf is cut short"):
        small_pair(tmp_path / "x.gguf", ASSETS / "smollm2" / "draft", None, "x")
    with pytest.raises(HsdError, match="cannot load a head"):
        small_pair(tmp_path / "x.gguf", tmp_path, None, "x")
