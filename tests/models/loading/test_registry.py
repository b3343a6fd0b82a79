"""Pairs by name: what is offered, how large it is, and what is said of any other name."""

from __future__ import annotations

import pytest
import torch
from loops import for_each
from transformers import (
    AutoModelForCausalLM,
    Gemma3Config,
    Gemma3TextConfig,
    LlamaConfig,
    Qwen2Config,
    Qwen3Config,
)

from hsd import HsdError, load_pair, space
from hsd.app import pairs as page
from hsd.app.pairs import PairChoice
from hsd.cli import main
from hsd.models.loading.memory import PUBLISHED, SIZES, Sizes
from hsd.models.loading.registry import EMBEDDED, NAMES, PAIRS, tuned_for_chat

FEED_FORWARD_AND_HEADS = {
    "Qwen/Qwen2.5-0.5B-Instruct": (4_864, 14),
    "Qwen/Qwen2.5-1.5B-Instruct": (8_960, 12),
    "Qwen/Qwen2.5-3B-Instruct": (11_008, 16),
    "Qwen/Qwen2.5-7B-Instruct": (18_944, 28),
    "Qwen/Qwen2.5-14B-Instruct": (13_824, 40),
    "Qwen/Qwen2.5-32B-Instruct": (27_648, 40),
    "Qwen/Qwen2.5-72B-Instruct": (29_568, 64),
    "Qwen/Qwen3-0.6B": (3_072, 16),
    "Qwen/Qwen3-1.7B": (6_144, 16),
    "Qwen/Qwen3-4B": (9_728, 32),
    "Qwen/Qwen3-8B": (12_288, 32),
    "Qwen/Qwen3-14B": (17_408, 40),
    "Qwen/Qwen3-32B": (25_600, 64),
    "meta-llama/Llama-3.2-1B-Instruct": (8_192, 32),
    "meta-llama/Llama-3.1-8B-Instruct": (14_336, 32),
    "meta-llama/Llama-3.1-70B-Instruct": (28_672, 64),
    "HuggingFaceTB/SmolLM2-135M-Instruct": (1_536, 9),
    "HuggingFaceTB/SmolLM2-360M-Instruct": (2_560, 15),
    "HuggingFaceTB/SmolLM2-1.7B-Instruct": (8_192, 32),
    "google/gemma-3-270m-it": (2_048, 4),
    "google/gemma-3-1b-it": (6_912, 4),
    "google/gemma-3-4b-it": (10_240, 8),
    "google/gemma-3-12b-it": (15_360, 16),
    "google/gemma-3-27b-it": (21_504, 32),
}
HEADS = {  # between gate and down, and heads: those of the layer's own attention
    "yuhuili/EAGLE3-LLaMA3.1-Instruct-8B": (14_336, 32),
    "AngelSlim/Qwen3-1.7B_eagle3": (6_144, 16),
    "AngelSlim/Qwen3-4B_eagle3": (9_728, 32),
    "AngelSlim/Qwen3-8B_eagle3": (12_288, 32),
    "AngelSlim/Qwen3-14B_eagle3": (17_408, 40),
    "AngelSlim/Qwen3-32B_eagle3": (25_600, 64),
}
CONFIGS = {
    "Qwen2.5": Qwen2Config,
    "Qwen3": Qwen3Config,
    "Llama": LlamaConfig,
    "SmolLM2": LlamaConfig,
}
EYES = {
    "hidden_size": 1_152,
    "intermediate_size": 4_304,
    "num_hidden_layers": 27,
    "num_attention_heads": 16,
    "patch_size": 14,
    "image_size": 896,
    "vision_use_head": False,
}


def configuration(model: str, sizes: Sizes):
    """The model's configuration for `transformers`."""
    feed_forward, heads = FEED_FORWARD_AND_HEADS[model]
    values = {
        "num_hidden_layers": sizes.layers,
        "hidden_size": sizes.hidden,
        "intermediate_size": feed_forward,
        "num_attention_heads": heads,
        "num_key_value_heads": sizes.kv_heads,
        "head_dim": sizes.head_dim,
        "vocab_size": sizes.rows,
        "tie_word_embeddings": sizes.tied,
    }
    if "gemma" not in model:
        return next(kind(**values) for name, kind in CONFIGS.items() if name in model)
    text = Gemma3TextConfig(**values)
    # the larger ones see images
    if text.vocab_size == 262_208:
        return Gemma3Config(text_config=text.to_dict(), vision_config=EYES)
    return text


@for_each("model", [model for model in SIZES if model not in HEADS])
def test_sizes_are_those_of_the_model_that_is_loaded(model: str):
    """A model without weights, made by the class that loads the real one."""
    config = configuration(model, SIZES[model])
    with torch.device("meta"):
        assert AutoModelForCausalLM.from_config(config).num_parameters() == SIZES[model].parameters
    text = config.get_text_config()
    cache = 2 * text.num_hidden_layers * text.num_key_value_heads * text.head_dim
    assert SIZES[model].cache_per_token == cache


@pytest.mark.parametrize("head", PUBLISHED["heads"])
def test_sizes_of_heads_are_those_of_their_layer(head: str):
    """Three states joined, a layer that reads two of them side by side, 32,000 tokens to draft."""
    sizes = SIZES[head]
    inner, heads = HEADS[head]
    hidden = sizes.hidden
    width = heads * sizes.head_dim
    kept = sizes.kv_heads * sizes.head_dim
    layer = 2 * hidden * (width + 2 * kept) + width * hidden + 3 * hidden * inner
    assert sizes.parameters == 3 * hidden**2 + layer + 4 * hidden + 32_000 * hidden
    assert sizes.cache_per_token == 2 * kept


def test_every_named_pair_is_complete():
    for name, pair in PAIRS.items():
        assert name == pair.name not in EMBEDDED
        assert SIZES[pair.draft].parameters < SIZES[pair.target].parameters
        assert pair.target.startswith(("meta-llama", "google")) == ("gated" in pair.note)
        assert tuned_for_chat(pair.target)
        assert bool(pair.licence) == (pair.draft in HEADS) == ("EAGLE-3 head" in pair.note)
        if pair.licence:
            assert SIZES[pair.draft].hidden == SIZES[pair.target].hidden, (
                "it reads the target's hidden states"
            )
            assert pair.licence in pair.note
            continue
        assert pair.draft.split("/")[0] == pair.target.split("/")[0], "one maker, one tokenizer"
        assert abs(SIZES[pair.draft].rows - SIZES[pair.target].rows) <= 128, (
            "rows differ by padding only"
        )


@pytest.mark.parametrize(
    ("asked", "nearest"),
    [
        ("qwen2.5-8b", "qwen2.5-7b"),
        ("Llama-3.1-8B", "llama-3.1-8b"),
        ("gemma3-4b", "gemma-3-4b"),
        ("nothing", "tiny"),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest(asked: str, nearest: str):
    with pytest.raises(HsdError, match="did you mean") as error:
        load_pair(asked)
    assert f" {nearest}" in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("model", "tuned"),
    [
        ("Qwen/Qwen3-8B", True),
        ("google/gemma-3-4b-it", True),
        ("TinyLlama/TinyLlama-1.1B-Chat-v1.0", True),
        ("/models/Phi-4-mini-instruct/", True),
        ("mistralai/Mistral-7B-Instruct-v0.3", True),
        ("Qwen/Qwen2.5-7B", False),
        ("openai-community/gpt2", False),
        ("/home/chat/instruct/weights", False),
    ],
)
def test_models_tuned_on_chats_are_known_by_name(model: str, tuned: bool):
    assert tuned_for_chat(model) is tuned


def test_the_command_line_lists_the_names(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        main(["run", "--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert all(name in text for name in NAMES)
    heads = text.split("with an EAGLE-3 head as draft: ")[1].split(" (default")[0].split(", ")
    assert heads == [name for name, pair in PAIRS.items() if pair.licence]
    assert main(["run", "Hello", "--pair", "qwen2.5-8b"]) == 2
    assert "did you mean qwen2.5-7b" in capsys.readouterr().err


def test_the_manifest_and_the_registry_agree(monkeypatch: pytest.MonkeyPatch):
    """A pair of the Space that has a name here is the same two models, loaded by that name."""
    asked: list[object] = []
    monkeypatch.setattr(page, "load_pair", lambda name=None, **models: asked.append(name or models))
    for spec in space.load().pairs:
        if spec.name in PAIRS:
            assert (spec.target, spec.draft) == (PAIRS[spec.name].target, PAIRS[spec.name].draft)
            page.load(PairChoice(spec.name, spec.target, spec.draft))
            page.load(PairChoice("own", spec.target, spec.draft))
            assert asked == [spec.name, {"target": spec.target, "draft": spec.draft}]
            asked.clear()
