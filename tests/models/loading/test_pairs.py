"""Loading pairs from folders: what fits together works, all else is refused in a clear line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch
from joint_law import two_token_p_value
from loops import for_each, some
from safetensors.torch import load_file, save_file
from small_models import LETTERS, bytes_tokenizer, letters_tokenizer, save_model, save_pair

import hsd
from hsd import RULES, HsdError, Pair, load_pair

TOKENS = len(LETTERS)
DRAFT_ROWS = 60
TARGET_ROWS = 64


@pytest.fixture(scope="module")
def padded_folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """A tokenizer of 58 tokens, a target padded to 64 rows, a draft padded to 60."""
    return save_pair(
        tmp_path_factory.mktemp("padded"), letters_tokenizer(), (TARGET_ROWS, DRAFT_ROWS)
    )


@pytest.fixture(scope="module")
def padded(padded_folders: tuple[str, str]) -> Pair:
    return load_pair(target=padded_folders[0], draft=padded_folders[1], device="cpu")


def refused(**options: str) -> str:
    """The one line with which loading such a pair is refused."""
    with pytest.raises(HsdError) as error:
        load_pair(**options)
    message = str(error.value)
    assert "\n" not in message
    assert 15 < len(message) < 600
    return message


# What fits


def test_a_pair_knows_its_models(padded: Pair, padded_folders: tuple[str, str]):
    assert (padded.target.vocab_size, padded.draft.vocab_size) == (TARGET_ROWS, DRAFT_ROWS)
    assert padded.vocab_size <= DRAFT_ROWS
    assert padded.context == 128
    assert padded.target.dtype == "float32"
    assert padded.target.parameters > 10_000
    assert padded.codec.end_ids == {0}
    assert padded.codec.decode(padded.encode("Hello, you.")) == "Hello, you."


def test_the_same_pair_is_loaded_once(padded: Pair, padded_folders: tuple[str, str]):
    assert load_pair(target=padded_folders[0], draft=padded_folders[1], device="cpu") is padded


def test_a_pair_whose_files_have_changed_is_loaded_again(
    padded_folders: tuple[str, str], tmp_path: Path
):
    folders = [shutil.copytree(old, tmp_path / Path(old).name) for old in padded_folders]
    target, draft = folders
    before = load_pair(target=target, draft=draft)
    text = hsd.run(before, "ab", max_new_tokens=8).tokens
    weights = load_file(target / "model.safetensors")
    changed = {name: weight.flip(0).contiguous() for name, weight in weights.items()}
    save_file(changed, target / "model.safetensors", {"format": "pt"})
    after = load_pair(target=target, draft=draft)
    embedding = changed["model.embed_tokens.weight"]
    assert torch.equal(after.target.embedding, embedding)  # type: ignore[attr-defined]
    assert hsd.run(before, "ab", max_new_tokens=8).tokens == text
    (draft / "generation_config.json").write_text('{"eos_token_id": 7}')
    assert load_pair(target=target, draft=draft) is not after


@pytest.mark.parametrize("rule", some(RULES, 3))
def test_padding_is_never_written(padded: Pair, rule: str):
    """The random models give padding as much probability as any letter: it must be masked out of
    both.
    """
    for seed in range(4):
        trace = hsd.run(
            padded, "Abc", rule=rule, gamma=4, max_new_tokens=40, temperature=1.5, seed=seed
        )
        assert max(trace.tokens) < TOKENS
        assert max((n.token for s in trace.steps for n in s.nodes), default=0) < TOKENS


def test_plain_decoding_writes_no_padding_either(padded: Pair):
    for seed in range(12):
        trace = hsd.run(
            padded, "Abc", system="plain", max_new_tokens=40, temperature=1.5, seed=seed
        )
        assert max(trace.tokens) < TOKENS


def test_probabilities_are_those_of_the_models_over_the_common_tokens(padded: Pair):
    trace = hsd.run(padded, "Abc", gamma=3, max_new_tokens=8, seed=1)
    step = trace.steps[0]
    ids = padded.encode("Abc") + [n.token for n in step.nodes]
    for model, name in ((padded.target, "p"), (padded.draft, "q")):
        rows = model.start().forward(torch.tensor(ids), keep=len(step.nodes) + 1)
        wanted = rows[:, : padded.vocab_size].softmax(-1)
        for t, node in enumerate(step.nodes):
            assert getattr(node, name) == pytest.approx(float(wanted[t, node.token]), abs=1e-5)


# in the ensemble the draft has a share
@for_each("rule", [name for name in RULES if name != "ensemble"], every=2)
@for_each("gamma, prompt", [(1, "Once"), (5, "ß")])
def test_greedy_text_equals_plain_greedy_text(byte_pair: Pair, rule: str, gamma: int, prompt: str):
    options = {"max_new_tokens": 24, "temperature": 0.0, "trace": False}
    plain = hsd.run(byte_pair, prompt, system="plain", **options)
    assert hsd.run(byte_pair, prompt, rule=rule, gamma=gamma, **options).tokens == plain.tokens


def test_greedy_text_equals_that_of_the_library(byte_pair: Pair):
    """`generate` of `transformers`, with its own cache and loop, continues the text in the same
    way.
    """
    ids = byte_pair.encode("Once upon")
    wanted = byte_pair.target.model.generate(
        torch.tensor([ids]), max_new_tokens=30, do_sample=False
    )[0, len(ids) :]
    trace = hsd.run(byte_pair, "Once upon", max_new_tokens=30, temperature=0.0)
    assert trace.tokens == wanted.tolist()


@pytest.mark.parametrize("rule", [pytest.param("tokenwise", marks=pytest.mark.slow), "hsd"])
def test_two_tokens_follow_the_target(byte_pair: Pair, rule: str):
    assert two_token_p_value(byte_pair, "Once", rule, seeds=200, temperature=0.7, top_k=3) > 1e-4


@pytest.mark.parametrize(
    "prompt",
    ["\x00\x01\x1b[31m", "🙂👩‍👩‍👧 flags", "שלום עולם", "\u202eabc", "é" * 20],
    ids=["control", "emoji", "rtl", "bidi", "accents"],
)
def test_any_text_is_a_prompt(byte_pair: Pair, prompt: str):
    trace = hsd.run(byte_pair, prompt, max_new_tokens=5)
    assert trace.prompt.text == prompt
    assert byte_pair.codec.decode(trace.prompt.ids) == prompt
    assert hsd.Trace.from_json(trace.to_json()) == trace


def test_the_text_of_a_trace_continues_its_prompt(byte_pair: Pair):
    for seed in range(5):
        trace = hsd.run(byte_pair, "Once", max_new_tokens=12, seed=seed)
        whole = byte_pair.codec.decode(trace.prompt.ids + trace.tokens)
        assert trace.prompt.text + trace.text == whole


def test_a_prompt_of_100_kb_is_refused_in_one_line(byte_pair: Pair):
    with pytest.raises(HsdError, match="shorten the prompt") as error:
        hsd.run(byte_pair, "x" * 100_000)
    assert "\n" not in str(error.value)


def test_a_full_context_ends_the_run(byte_pair: Pair):
    trace = hsd.run(byte_pair, "a" * 120, max_new_tokens=50, temperature=0.0)
    assert len(trace.prompt.ids) + len(trace.tokens) == 128
    assert trace.result.finish == "context"


def test_a_pair_in_a_folder_with_a_long_name_can_be_traced(tmp_path: Path):
    folder = tmp_path / ("a" * 120) / ("b" * 120)
    target, draft = save_pair(folder, letters_tokenizer())
    trace = hsd.run(load_pair(target=target, draft=draft, device="cpu"), "Abc", max_new_tokens=3)
    assert len(trace.tokens) == 3


def test_half_precision_decodes(padded_folders: tuple[str, str]):
    pair = load_pair(
        target=padded_folders[0], draft=padded_folders[1], device="cpu", dtype="bfloat16"
    )
    trace = hsd.run(pair, "Abc", gamma=3, max_new_tokens=10, seed=1)
    assert len(trace.tokens) == 10 or trace.result.finish == "end"
    assert trace.setup.target.dtype == "bfloat16"
    assert trace.replay() == trace.tokens


# What does not fit


def test_tokenizers_of_another_size_are_refused(
    padded_folders: tuple[str, str], byte_folders: tuple[str, str]
):
    message = refused(target=padded_folders[0], draft=byte_folders[1], device="cpu")
    assert "257" in message
    assert "58" in message
    assert "same tokenizer" in message


def test_tokenizers_with_other_ids_are_refused(padded_folders: tuple[str, str], tmp_path: Path):
    swapped = [*LETTERS[:2], *reversed(LETTERS[2:])]
    draft = save_model(tmp_path / "draft", letters_tokenizer(swapped))
    assert "different ids" in refused(target=padded_folders[0], draft=str(draft), device="cpu")


def test_a_missing_folder_is_refused(padded_folders: tuple[str, str], tmp_path: Path):
    missing = str(tmp_path / "nothing")
    assert "no folder" in refused(target=missing, draft=padded_folders[1], device="cpu")
    assert "no folder" in refused(target=padded_folders[0], draft=missing, device="cpu")
    assert "no folder" in refused(target="./nothing", draft="./nothing", device="cpu")


def test_a_folder_without_a_model_is_refused(padded_folders: tuple[str, str], tmp_path: Path):
    (tmp_path / "readme.txt").write_text("nothing here")
    assert "config.json" in refused(target=str(tmp_path), draft=padded_folders[1], device="cpu")


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "{}", '{"model_type": "no-such-model"}'], ids=repr
)
def test_a_folder_with_a_useless_configuration_is_refused(
    content: str, padded_folders: tuple[str, str], tmp_path: Path
):
    (tmp_path / "config.json").write_text(content)
    refused(target=str(tmp_path), draft=padded_folders[1], device="cpu")


def test_a_folder_without_weights_is_refused(padded_folders: tuple[str, str], tmp_path: Path):
    (tmp_path / "config.json").write_text((Path(padded_folders[0]) / "config.json").read_text())
    refused(target=str(tmp_path), draft=padded_folders[1], device="cpu")


def test_a_folder_with_broken_weights_is_refused(padded_folders: tuple[str, str], tmp_path: Path):
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        (tmp_path / name).write_text((Path(padded_folders[0]) / name).read_text())
    (tmp_path / "model.safetensors").write_bytes(b"\x10\x00\x00\x00\x00\x00\x00\x00not a header")
    refused(target=str(tmp_path), draft=padded_folders[1], device="cpu")


def test_a_folder_without_a_tokenizer_is_refused(padded_folders: tuple[str, str], tmp_path: Path):
    for name in ("config.json", "model.safetensors"):
        (tmp_path / name).write_bytes((Path(padded_folders[0]) / name).read_bytes())
    message = refused(target=str(tmp_path), draft=padded_folders[1], device="cpu")
    assert "tokenizer" in message


def test_a_model_that_cannot_be_had_is_refused(padded_folders: tuple[str, str]):
    assert "nobody/nothing" in refused(
        target="nobody/nothing", draft=padded_folders[1], device="cpu"
    )


@pytest.mark.parametrize(
    "options",
    [
        {"name": "huge"},
        {"name": ""},
        {"target": "only-a-target"},
        {"draft": "only-a-draft"},
        {"name": "tiny", "target": "a", "draft": "b"},
        {"target": "a", "draft": "b", "device": "abacus"},
        {"target": "a", "draft": "b", "device": "cpu", "dtype": "float7"},
    ],
    ids=json.dumps,
)
def test_requests_that_make_no_sense_are_refused(options: dict[str, str]):
    refused(**options)


def test_a_byte_tokenizer_reads_any_text():
    tokenizer = bytes_tokenizer()
    text = "Zürich 🙂 \x00"
    assert (
        tokenizer.decode(tokenizer(text)["input_ids"], clean_up_tokenization_spaces=False) == text
    )
