"""The embedded pair, end to end."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch
from joint_law import chi_square_p, first_tokens, token_law, two_token_p_value

import hsd
from hsd import RULES, HsdError, Pair, Trace, load_pair
from hsd.models.exits import parts_of
from hsd.models.loading.portable import load_folder
from hsd.models.loading.tokenizer import FileTokenizer
from hsd.paths import ASSETS

pytestmark = pytest.mark.skipif(
    not (ASSETS / "tiny" / "target" / "config.json").is_file(), reason="not trained yet"
)

PROMPT = "Once upon a time"
LOSSLESS = [name for name, rule in RULES.items() if rule.lossless]


@pytest.fixture(scope="module")
def tiny() -> Pair:
    return hsd.load_pair("tiny")


def test_the_pair_is_small_and_says_what_it_is(tiny: Pair):
    size = sum(file.stat().st_size for file in (ASSETS / "tiny").rglob("*") if file.is_file())
    assert size <= 30e6
    assert tiny.note
    assert tiny.target.parameters > tiny.draft.parameters
    assert hsd.load_pair() is tiny


def test_a_run_is_complete_and_repeatable(tiny: Pair):
    trace = hsd.run(tiny, PROMPT, rule="hsd", gamma=5, max_new_tokens=48, seed=1)
    assert len(trace.tokens) == 48 or trace.result.finish == "end"
    assert trace.text.strip()
    assert trace.replay() == trace.tokens
    assert hsd.rerun(tiny, trace).tokens == trace.tokens
    assert Trace.from_json(trace.to_json()) == trace
    assert (
        hsd.run(tiny, PROMPT, rule="hsd", gamma=5, max_new_tokens=48, seed=1).tokens == trace.tokens
    )


# in the ensemble the draft has a share
@pytest.mark.parametrize("rule", [name for name in RULES if name != "ensemble"])
def test_greedy_text_equals_plain_greedy_text(tiny: Pair, rule: str):
    options = {"max_new_tokens": 24, "temperature": 0.0, "trace": False}
    for prompt, gamma in ((PROMPT, 3), ("12 + 30 = ", 8)):
        plain = hsd.run(tiny, prompt, system="plain", **options)
        assert hsd.run(tiny, prompt, rule=rule, gamma=gamma, **options).tokens == plain.tokens


@pytest.mark.parametrize(
    "name", ["story", "hispec-trained", "stack-two", "four-drafts", "fsd-story"]
)
def test_a_recorded_run_is_what_is_decoded_on_every_machine(tiny: Pair, name: str):
    recorded = Trace.from_json((ASSETS / "traces" / f"{name}.json").read_text(encoding="utf-8"))
    assert hsd.rerun(tiny, recorded).tokens == recorded.tokens


def test_the_models_are_those_that_torch_reads_in_their_folders(tiny: Pair):
    for model, folder in zip(tiny.models, ("draft", "middle", "target"), strict=True):
        alone = load_pair(
            target=ASSETS / "tiny" / folder, draft=ASSETS / "tiny" / folder, device="cpu"
        )
        ids = torch.tensor(tiny.encode("Tom had 3 apples. He went to the park and"))
        ours, theirs = (one.start().forward(ids, len(ids)) for one in (model, alone.target))
        assert (ours - theirs).abs().max() < 1e-4
        assert (model.parameters, model.context, model.vocab_size) == (
            alone.target.parameters,
            alone.target.context,
            alone.target.vocab_size,
        )
    assert tiny.codec.end_ids == alone.codec.end_ids
    assert [tiny.codec.piece(i) for i in range(2048)] == [alone.codec.piece(i) for i in range(2048)]
    assert parts_of(tiny.target).trained == parts_of(alone.target).trained == (2, 4)


def test_it_has_one_form():
    assert load_pair("tiny", device="cpu") is load_pair("tiny")
    for how in (
        {"dtype": "bfloat16"},
        {"quantize": "8bit"},
        {"device_map": "auto"},
        {"smaller": ["x"]},
    ):
        with pytest.raises(HsdError, match="tiny has one form, for CPUs"):
            load_pair("tiny", **how)
    with pytest.raises(HsdError, match="no chat template"):
        load_pair("tiny", chat=True)


def test_a_folder_that_is_damaged_is_told_in_one_line(tmp_path: Path):
    whole = ASSETS / "tiny" / "draft"
    with pytest.raises(HsdError, match="cannot load a Llama"):
        load_folder(tmp_path, "toy")
    weights = (whole / "model.safetensors").read_bytes()
    (tmp_path / "config.json").write_bytes((whole / "config.json").read_bytes())
    (tmp_path / "model.safetensors").write_bytes(weights[:-2])
    with pytest.raises(HsdError, match="cannot load a Llama"):
        load_folder(tmp_path, "toy")
    (tmp_path / "model.safetensors").write_bytes(weights)
    config = (whole / "config.json").read_text(encoding="utf-8")
    for change in (
        '"num_hidden_layers": 2',
        '"hidden_size": 160',
        '"head_dim": 64',
        '"num_key_value_heads": 2',
    ):
        name = change.split(":")[0]
        (tmp_path / "config.json").write_text(
            re.sub(f"{name}: \\d+", change, config), encoding="utf-8"
        )
        with pytest.raises(HsdError):
            load_folder(tmp_path, "toy")
    with pytest.raises(HsdError, match="cannot load a tokenizer from"):
        FileTokenizer.of(tmp_path)


def test_speculation_keeps_drafted_tokens(tiny: Pair):
    """More than one token per target call, or the draft would be of no use."""
    runs = [
        hsd.run(tiny, PROMPT, gamma=5, max_new_tokens=48, seed=seed, trace=False).stats()
        for seed in range(2)
    ]
    tokens, calls = (sum(run[name] for run in runs) for name in ("new_tokens", "target_calls"))
    assert 1.8 < tokens / calls < 6


def test_text_is_text(tiny: Pair):
    """Pieces join to the text, the prompt comes back, and no special token is shown."""
    trace = hsd.run(tiny, PROMPT, max_new_tokens=40, seed=3)
    assert tiny.codec.decode(trace.prompt.ids) == PROMPT
    assert tiny.codec.decode(trace.prompt.ids + trace.tokens) == PROMPT + trace.text
    assert "<|" not in trace.text


@pytest.mark.parametrize("prompt", ["\x00\x1b[0m", "🙂 👩‍👩‍👧", "שלום", "x", "日本語"])
def test_any_text_is_a_prompt(tiny: Pair, prompt: str):
    assert len(hsd.run(tiny, prompt, max_new_tokens=4).tokens) >= 1


def test_two_tokens_follow_the_target(tiny: Pair):
    assert two_token_p_value(tiny, PROMPT, "hsd", 100, top_k=4) > 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("rule", LOSSLESS)
def test_two_tokens_follow_the_target_on_many_seeds(tiny: Pair, rule: str):
    assert two_token_p_value(tiny, PROMPT, rule, 2_000, top_k=6) > 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["tokenwise", "hsd"])
@pytest.mark.parametrize("system", ["hispec", "stack"])
def test_four_tokens_of_a_system_with_levels_follow_the_target(tiny: Pair, system: str, rule: str):
    options = {
        "system": system,
        "rule": rule,
        "thresholds": (2, 2),
        "top_k": 3,
        "max_new_tokens": 12,
    }
    counts = first_tokens(tiny, 4, range(1_000), prompt=PROMPT, **options)
    assert chi_square_p(counts, token_law(tiny, PROMPT, 4, top_k=3)) > 1e-4


@pytest.mark.slow
def test_three_tokens_of_hispec_follow_the_target(tiny: Pair):
    options = {"system": "hispec", "thresholds": (1, 2), "top_k": 3, "max_new_tokens": 8}
    counts = first_tokens(tiny, 3, range(200), prompt=PROMPT, **options)
    assert chi_square_p(counts, token_law(tiny, PROMPT, 3, top_k=3)) > 1e-4
