"""A user's own GGUF files: what they decode is the target's, and what cannot be read is refused."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from gguf_blocks import TYPES
from joint_law import chi_square_p, first_tokens
from loops import for_each
from random_models import FAMILIES, QWEN2, QWEN3, Family, write_model
from small_gguf import write_file
from token_lists import UNUSED, of_bytes, of_pieces

import hsd
from hsd import HsdError, Pair, load_pair
from hsd.models.loading import files, pair
from hsd.models.loading.fetch import home

pytest.importorskip("wasmtime")
OWN_HOME = home()  # every test has an empty one
MIXED = {"attn_v": "Q6_K", "token": "Q6_K", "": "Q4_K"}
PROMPT = "hello the"
OWN = replace(QWEN2, own_output=True)  # whose output is not its table, so that it repeats little
TOKENS = len(of_bytes()["tokenizer.ggml.tokens"])
# of one seed: a draft has the first layers of its target, and often the same tokens
SYSTEMS: dict[str, dict[str, Any]] = {
    "hsd": {"rule": "hsd", "gamma": 4},
    "vanilla": {"rule": "tokenwise", "gamma": 3},
    "n-grams": {"proposer": "ngram"},
    "tree": {"rule": "one-hot", "tree": "grown", "drafts": 2, "gamma": 3},
}
GREEDY: dict[str, Any] = {"temperature": 0, "max_new_tokens": 24}


def write(file: Path, family: Family, kinds: Any = "Q8_0", **fields: Any) -> Path:
    """Write a random model with a tokenizer of bytes, as many tokens as that has; return the file.

    fields: others than those of the model and of its tokenizer, as for `write_model`.
    """
    told = {name.replace(".", "__"): value for name, value in of_bytes().items()} | fields
    tokens = told["tokenizer__ggml__tokens"]
    write_model(file, replace(family, vocab=len(tokens)), kinds, known=False, share=0.2, **told)
    return file


def own(**tokenizer: Any) -> dict[str, Any]:
    """Return the fields of another tokenizer of bytes, for `write`."""
    return {name.replace(".", "__"): value for name, value in of_bytes(**tokenizer).items()}


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("target") / "big.gguf", replace(OWN, layers=3), MIXED)


@pytest.fixture(scope="module")
def draft(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("draft") / "small.gguf", replace(OWN, layers=1), MIXED)


def refusal(call: Callable[..., object], *arguments: Any, **named: Any) -> str:
    """Return the line with which a call is refused."""
    with pytest.raises(HsdError) as error:
        call(*arguments, **named)
    line = str(error.value)
    assert "\n" not in line
    assert len(line) < 400
    assert ": " in line  # what to do
    return line


# Decoding


@for_each("name", FAMILIES)
def test_greedy_texts_of_all_systems_are_the_targets(tmp_path: Path, name: str):
    family = replace(FAMILIES[name], own_output=True)
    big = write(tmp_path / "big.gguf", replace(family, layers=3), MIXED)
    small = write(tmp_path / "small.gguf", replace(family, layers=1), MIXED)
    models = load_pair(target=big, draft=small)
    written = set[int]()
    for prompt in (PROMPT, "12 cats"):
        plain = hsd.run(models, prompt, system="plain", **GREEDY)
        written |= {*plain.tokens}
        for system, options in SYSTEMS.items():
            trace = hsd.run(models, prompt, **GREEDY, **options)
            assert (trace.tokens, trace.text) == (plain.tokens, plain.text), system
            assert system != "hsd" or len(trace.steps) < 0.8 * len(plain.tokens)
    assert len(written) > 5


def test_a_pair_is_named_by_its_files_and_shared(target: Path, draft: Path):
    models = load_pair(target=str(target), draft=draft)
    assert (models.name, models.target.name, models.draft.name) == ("big + small", "big", "small")
    assert load_pair(target=target, draft=str(draft)) is models
    assert models.codec.vocab_size == TOKENS
    assert models.target.vocab_size == models.draft.vocab_size == -(-TOKENS // 32) * 32
    assert models.target.dtype.startswith("int16")


def test_a_stack_of_files_decodes(tmp_path: Path, target: Path, draft: Path):
    middle = write(tmp_path / "middle.gguf", replace(OWN, layers=2), MIXED)
    models = load_pair(target=target, draft=middle, smaller=[draft])
    assert [model.name for model in models.models] == ["small", "middle", "big"]
    plain = hsd.run(models, PROMPT, system="plain", **GREEDY)
    assert hsd.run(models, PROMPT, system="stack", **GREEDY).tokens == plain.tokens


def test_a_target_alone_drafts_for_itself(target: Path):
    models = load_pair(target=target)
    assert models.draft is models.target
    assert models.name == "big"
    plain = hsd.run(models, PROMPT, system="plain", **GREEDY)
    assert hsd.run(models, PROMPT, proposer="ngram", **GREEDY).tokens == plain.tokens
    assert load_pair(target=target, draft=target) is models


# A draft that proposes the first tokens only

SHORT = {"max_new_tokens": 4}
ROWS = 150  # no multiple of what is packed together


def test_what_a_draft_does_not_propose_has_no_chance(target: Path, draft: Path):
    models = load_pair(target=target, draft=draft, draft_rows=ROWS)
    whole = load_pair(target=target, draft=draft)
    ids = torch.arange(60)
    cut, rows = (one.draft.start().forward(ids, 60) for one in (models, whole))
    assert cut.shape == rows.shape
    assert torch.equal(cut[:, :ROWS], rows[:, :ROWS])
    assert cut[:, ROWS:].isneginf().all()
    trace = hsd.run(models, PROMPT, temperature=1.5, max_new_tokens=40)
    assert f"small proposes the first {ROWS} tokens only." in trace.setup.notes
    drafted = [node.token for step in trace.steps for node in step.nodes]
    assert max(drafted) < ROWS
    assert max(trace.tokens) >= ROWS


@for_each("rows", [1, ROWS])
def test_greedy_texts_stay_whatever_a_draft_proposes(target: Path, draft: Path, rows: int):
    plain = hsd.run(load_pair(target=target, draft=draft), PROMPT, system="plain", **GREEDY)
    models = load_pair(target=target, draft=draft, draft_rows=rows)
    for options in SYSTEMS.values():
        assert hsd.run(models, PROMPT, **GREEDY, **options).tokens == plain.tokens


@for_each("options", [{"system": "plain"}, {"proposer": "ngram"}], ids=str)
def test_nothing_is_said_of_a_draft_model_that_does_not_draft(
    target: Path, draft: Path, options: dict[str, Any]
):
    models = load_pair(target=target, draft=draft, draft_rows=ROWS)
    assert "tokens only" not in " ".join(hsd.run(models, PROMPT, **SHORT, **options).setup.notes)


@for_each("rows", [0, TOKENS, 10**9])
def test_all_rows_leave_the_draft_as_it_is(target: Path, draft: Path, rows: int):
    models = load_pair(target=target, draft=draft, draft_rows=rows)
    assert "tokens only" not in " ".join(hsd.run(models, PROMPT, **SHORT).setup.notes)
    assert models.draft.start().forward(torch.arange(9), 9)[:, :TOKENS].isfinite().all()


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["tokenwise", "hsd"])
def test_a_cut_draft_leaves_the_targets_law(target: Path, draft: Path, rule: str):
    models = load_pair(target=target, draft=draft, draft_rows=40)
    ids = models.codec.encode(PROMPT)
    row = models.target.start().forward(torch.tensor(ids), 1)[0].double()
    law = (row / 0.6).softmax(-1)
    wanted = {(token,): float(share) for token, share in enumerate(law) if share > 0}
    counts = first_tokens(models, 1, range(400), prompt=PROMPT, rule=rule, temperature=0.6)
    assert chi_square_p(counts, wanted) > 1e-4


@for_each("rows", [-1, 2.5, "many", True])
def test_other_rows_are_refused(target: Path, draft: Path, rows: Any):
    assert "whole number" in refusal(load_pair, target=target, draft=draft, draft_rows=rows)


# Tokens


def test_tokens_that_no_model_uses_may_differ_and_are_never_drawn(tmp_path: Path):
    big = write(tmp_path / "big.gguf", QWEN2, **own(unused=70))
    small = write(tmp_path / "small.gguf", replace(QWEN2, layers=1), **own(unused=3))
    models = load_pair(target=big, draft=small)
    rows = models.target.start().forward(torch.arange(40), 40)
    assert rows.shape == models.draft.start().forward(torch.arange(40), 40).shape
    assert rows[:, TOKENS:].isneginf().all()
    assert rows[:, :TOKENS].isfinite().all()
    trace = hsd.run(models, PROMPT, temperature=50, max_new_tokens=120)
    drafted = [node.token for step in trace.steps for node in step.nodes]
    assert TOKENS - 30 < max(*drafted, *trace.tokens) < TOKENS


def test_the_first_token_that_differs_is_named(tmp_path: Path, target: Path):
    fields = own()
    tokens = [*fields["tokenizer__ggml__tokens"]]
    tokens[-1], tokens[-2] = tokens[-2], "<|im_stop|>"
    small = write(tmp_path / "small.gguf", replace(QWEN2, layers=1), tokenizer__ggml__tokens=tokens)
    line = refusal(load_pair, target=target, draft=small)
    assert (
        f"token {TOKENS - 2:,} is '<|im_end|>' in big.gguf and '<|im_stop|>' in small.gguf" in line
    )
    longer = write(tmp_path / "longer.gguf", QWEN2, **own(own=("<tool>", "<more>")))
    line = refusal(load_pair, target=target, draft=longer)
    assert f"token {TOKENS:,} is missing in big.gguf and '<more>' in longer.gguf" in line


def test_a_draft_without_a_list_of_tokens_is_refused(tmp_path: Path, target: Path):
    for tokens in (None, 3, "many"):
        small = write_model(
            tmp_path / "small.gguf", QWEN2, known=False, tokenizer__ggml__tokens=tokens
        )
        assert small
        line = refusal(load_pair, target=target, draft=tmp_path / "small.gguf")
        assert "token 0 is" in line if tokens is None else "no list" in line


def test_a_table_with_other_rows_than_tokens_is_refused(tmp_path: Path):
    file = tmp_path / "other.gguf"
    for vocab in (TOKENS - 32, TOKENS + 32):
        told = {name.replace(".", "__"): value for name, value in of_bytes().items()}
        write_model(file, replace(QWEN2, vocab=vocab), known=False, **told)
        assert "tokens" in refusal(load_pair, target=file)


# Files that are refused


@for_each("kind", TYPES)
def test_a_file_that_is_cut_short_is_refused(tmp_path: Path, kind: str):
    file = write(tmp_path / "cut.gguf", replace(QWEN2, layers=1), kind)
    whole = file.read_bytes()
    for share in (0.2, 0.7, 0.999):
        file.write_bytes(whole[: int(share * len(whole))])
        assert "cut.gguf is cut short or damaged" in refusal(load_pair, target=file)


OTHERS: dict[str, tuple[dict[str, Any], str]] = {
    "parts": ({"split__count": 2}, "split.count is 2"),
    "experts": ({"qwen2__expert_count": 8}, "qwen2.expert_count is 8"),
    "window": ({"qwen2__attention__sliding_window": 4096}, "sliding_window is 4096"),
    "scaling": ({"qwen2__rope__scaling__type": "yarn"}, "scaling.type is yarn"),
    "architecture": ({"general__architecture": "gemma3"}, "of the kind 'gemma3'"),
    "words": ({"tokenizer__ggml__pre": "tekken"}, "cuts texts as 'tekken'"),
    "tokenizer": ({"tokenizer__ggml__model": "t5"}, "of the kind 't5'"),
    "layers": ({"qwen2__block_count": 3}, "blk.2"),
    "fewer layers": ({"qwen2__block_count": 1}, "blk.1"),
    "hidden": ({"qwen2__embedding_length": 512}, "has shape"),
    "inner": ({"qwen2__feed_forward_length": 256}, "has shape"),
    "heads": ({"qwen2__attention__head_count": 3}, "heads 3)"),
    "width": ({"qwen2__attention__key_length": 96}, "(width 96)"),
    "no heads": ({"qwen2__attention__head_count": 0}, "heads is 0"),
    "a list of heads": ({"qwen2__attention__head_count": [4, 4]}, "heads is [4, 4]"),
    "vocabulary": ({"qwen2__vocab_size": 99}, "vocab_size is 99"),
    "context": ({"qwen2__context_length": None}, "lacks 'qwen2.context_length'"),
    "no tokens": ({"tokenizer__ggml__tokens": []}, "tokenizer is damaged"),
}


@for_each("name", OTHERS)
def test_a_file_of_another_kind_is_refused(tmp_path: Path, name: str):
    fields, words = OTHERS[name]
    file = tmp_path / "other.gguf"
    told = {key.replace(".", "__"): value for key, value in of_bytes().items()} | fields
    write_model(file, replace(QWEN2, vocab=TOKENS), "Q4_0", known=False, **told)
    assert words in refusal(load_pair, target=file)


SAID = [*QWEN2.fields, *of_bytes(), "general.alignment", "split.count", "qwen2.vocab_size"]


@for_each("name", [name for name in SAID if name != "general.architecture"], every=2)
@for_each("value", [3, 1.5, True, "x", [1, 2], ["x"] * TOKENS])
def test_a_field_of_any_type_is_refused_in_one_line_or_read(
    tmp_path: Path, target: Path, name: str, value: Any
):
    told = {key.replace(".", "__"): held for key, held in (of_bytes() | {name: value}).items()}
    file = tmp_path / "odd.gguf"
    write_model(file, replace(QWEN2, vocab=TOKENS, layers=1), known=False, **told)
    lines = list[str]()
    for sources in ({"target": file}, {"target": target, "draft": file}):
        try:
            hsd.run(load_pair(**sources), PROMPT, max_new_tokens=1)
        except HsdError as error:
            lines.append(str(error))
    assert not any("\n" in line or len(line) > 450 for line in lines)


@for_each(("kind", "name"), [(23, "IQ4_XS"), (10, "Q2_K"), (39, "MXFP4"), (99, "type 99")])
def test_another_type_of_blocks_is_named(tmp_path: Path, kind: int, name: str):
    shape = (TOKENS, 256)
    write_file(tmp_path / "x.gguf", QWEN2.fields, {"token_embd.weight": (kind, shape, bytes(9))})
    line = refusal(load_pair, target=tmp_path / "x.gguf")
    assert name in line
    assert "Q4_K" in line  # what can be chosen


@pytest.mark.skipif(sys.platform == "win32", reason="files there have no holes")
def test_a_file_that_does_not_fit_is_refused_before_anything_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    large = replace(QWEN2, vocab=9_600_000, hidden=4096)
    matrix = TYPES["Q8_0"], large.matrices["token_embd.weight"], b""
    file = tmp_path / "large.gguf"
    write_file(file, large.fields | of_bytes(), {"token_embd.weight": matrix})
    with file.open("r+b") as stream:
        stream.truncate(file.stat().st_size + 9_600_000 * 4096 // 32 * 34)
    monkeypatch.setattr(files, "free_ram", lambda: 30e9)
    monkeypatch.setattr(files, "load_small", None)
    line = refusal(load_pair, target=file)
    assert "large.gguf needs about 49" in line
    assert "30.0 GB are free: choose smaller files" in line


def test_pairs_loaded_before_make_room_for_a_pair_of_files(
    target: Path, draft: Path, monkeypatch: pytest.MonkeyPatch
):
    before = load_pair(target=target)
    monkeypatch.setattr(
        files, "free_ram", lambda: 1e12 if not pair._load.cache_info().currsize else 0.0
    )
    load_pair(target=target, draft=draft)
    monkeypatch.undo()
    assert load_pair(target=target) is not before


@for_each(
    "options",
    [
        {"device": "cuda"},
        {"device": "mps"},
        {"dtype": "bfloat16"},
        {"quantize": "4bit"},
        {"device_map": "auto"},
    ],
)
def test_options_of_other_engines_are_refused(
    target: Path, draft: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, str]
):
    monkeypatch.setattr(pair, "_device", lambda device: device or "cpu")
    line = refusal(load_pair, target=target, draft=draft, **options)
    assert "a GGUF file has one form, for CPUs" in line


@for_each(
    ("source", "words"),
    [
        ("none.gguf", "there is no file 'none.gguf'"),
        ("~/none.gguf", "there is no file"),
        ("~nobody-of-that-name/none.gguf", "there is no file"),
        (f"{'long' * 200}.gguf", "there is no file"),
        ("a\0b.gguf", "there is no file"),
        ("owner/name:file.gguf", "'owner/name' is not complete on this machine"),
        ("owner/na me:file.gguf", "neither a folder nor a Hub id"),
        ("owner/name/more:file.gguf", "there is no file"),
    ],
)
def test_a_file_that_is_not_there_is_told(source: str, words: str, target: Path):
    """The tests forbid the Hub."""
    assert words in refusal(load_pair, target=source)
    assert words in refusal(load_pair, target=target, draft=source)


def test_a_file_without_the_ending_is_known_by_its_first_bytes(tmp_path: Path, target: Path):
    blob = tmp_path / "sha256-1234"
    blob.write_bytes(target.read_bytes())
    assert load_pair(target=blob).target.name == "sha256-1234"
    (tmp_path / "x.gguf").write_bytes(b"PK\3\4" + bytes(100))
    assert "x.gguf is no GGUF file" in refusal(load_pair, target=tmp_path / "x.gguf")
    (tmp_path / "folder.gguf").mkdir()
    refusal(load_pair, target=tmp_path / "folder.gguf")
    assert "target" in refusal(load_pair, draft=target)


def test_a_file_that_has_changed_is_read_again(tmp_path: Path):
    file = write(tmp_path / "same.gguf", QWEN2)
    first = load_pair(target=file)
    write(file, QWEN3)
    second = load_pair(target=file)
    assert (first.target.shape.family, second.target.shape.family) == ("qwen2", "qwen3")  # type: ignore[attr-defined]


# Shapes of published models, with fewer layers and tokens

LLAMA_1B = Family(
    "llama",
    hidden=2048,
    inner=8192,
    heads=32,
    groups=8,
    width=64,
    layers=1,
    base=500_000.0,
    slowed=True,
    context=131_072,
)
QWEN_600M = Family(
    "qwen3",
    hidden=1024,
    inner=3072,
    heads=16,
    groups=8,
    width=128,
    layers=2,
    base=1_000_000.0,
    eps=1e-6,
    context=40_960,
)
TINY_LLAMA = Family(
    "llama", hidden=2048, inner=5632, heads=32, groups=4, width=64, layers=1, own_output=True
)
TEXTS = ["the cat sat on the mat and then the other cat came to the mat"]
PUBLISHED: dict[str, tuple[Family, dict[str, str], dict[str, Any]]] = {
    "Llama 3.2 1B": (
        LLAMA_1B,
        {"token": "Q6_K", "ffn_down": "Q6_K", "": "Q4_K"},
        of_bytes("llama-bpe"),
    ),
    "Qwen3 0.6B": (QWEN_600M, {"": "Q8_0"}, of_bytes("qwen2", unused=21)),
    "TinyLlama": (TINY_LLAMA, {"output.": "Q6_K", "": "Q4_0"}, of_pieces(TEXTS, 12)),
}


@for_each("name", PUBLISHED)
def test_files_of_the_shapes_of_published_models_are_read(tmp_path: Path, name: str):
    family, kinds, fields = PUBLISHED[name]
    kinds_of_tokens = fields["tokenizer.ggml.token_type"]
    told = {key.replace(".", "__"): value for key, value in fields.items()}
    write_model(
        tmp_path / "m.gguf", replace(family, vocab=len(kinds_of_tokens)), kinds, known=False, **told
    )
    models = load_pair(target=tmp_path / "m.gguf")
    known = len(kinds_of_tokens) - kinds_of_tokens.count(UNUSED)
    rows = models.target.start().forward(torch.arange(40), 40)
    assert rows[:, :known].isfinite().all()
    assert rows[:, known:].isneginf().all()
    assert 1 < rows[:, :known].std() < 10
    options = {"temperature": 0, "max_new_tokens": 12}
    plain = hsd.run(models, "the cat", system="plain", **options)
    assert hsd.run(models, "the cat", gamma=3, **options).tokens == plain.tokens


# The fetched pair

QWEN_CODER = [OWN_HOME / f"Qwen2.5-Coder-{size}-Instruct.gguf" for size in ("1.5B", "0.5B")]


@pytest.fixture(scope="module")
def coder() -> Pair:
    if not all(file.is_file() for file in QWEN_CODER):
        pytest.skip("python -m hsd fetch qwen-coder has not been run here")
    return load_pair(target=QWEN_CODER[0], draft=QWEN_CODER[1])


@pytest.mark.slow
def test_rows_of_the_real_pair_are_finite_where_there_are_tokens(coder: Pair):
    ids = torch.tensor(coder.codec.encode("Write a function that reverses a list."))
    known = 151_665
    for model in (coder.target, coder.draft):
        row = model.start().forward(ids, 1)[0]
        assert row[:known].isfinite().all()
        assert row[known:].isneginf().all()


@pytest.mark.slow
@pytest.mark.parametrize(
    "prompt", ["Write a function that reverses a list.", "What is 17 + 25?", "Sag Hallo."]
)
def test_greedy_texts_of_the_real_pair_are_the_targets(coder: Pair, prompt: str):
    options = {"temperature": 0, "max_new_tokens": 24, "trace": False}
    plain = hsd.run(coder, prompt, system="plain", **options)
    assert plain.text.strip()
    for system in ("hsd", "vanilla", "n-grams"):
        trace = hsd.run(coder, prompt, **options, **SYSTEMS[system])
        assert trace.tokens == plain.tokens, system
