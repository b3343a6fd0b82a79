"""Pairs by name: what is offered, how large it is, and what is said to who asks for something else."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch
from transformers import AutoModelForCausalLM, Gemma3Config, Gemma3TextConfig, LlamaConfig, Qwen2Config, Qwen3Config

from hsd import HsdError, load_pair, space
from hsd.cli import main
from hsd.models.registry import EMBEDDED, PAIRS, names, tuned_for_chat
from hsd.models.sizes import SIZES, Sizes
from hsd.ui import pairs as page
from hsd.ui.pairs import PairChoice

# Parameters as the Hub counts them. Left out: Qwen3-0.6B, whose file holds its tied embeddings twice.
PUBLISHED = {
    "Qwen/Qwen2.5-0.5B-Instruct": 494_032_768,
    "Qwen/Qwen2.5-1.5B-Instruct": 1_543_714_304,
    "Qwen/Qwen2.5-3B-Instruct": 3_085_938_688,
    "Qwen/Qwen2.5-7B-Instruct": 7_615_616_512,
    "Qwen/Qwen2.5-14B-Instruct": 14_770_033_664,
    "Qwen/Qwen2.5-32B-Instruct": 32_763_876_352,
    "Qwen/Qwen2.5-72B-Instruct": 72_706_203_648,
    "Qwen/Qwen3-4B": 4_022_468_096,
    "Qwen/Qwen3-8B": 8_190_735_360,
    "Qwen/Qwen3-14B": 14_768_307_200,
    "Qwen/Qwen3-32B": 32_762_123_264,
    "meta-llama/Llama-3.2-1B-Instruct": 1_235_814_400,
    "meta-llama/Llama-3.1-8B-Instruct": 8_030_261_248,
    "meta-llama/Llama-3.1-70B-Instruct": 70_553_706_496,
    "HuggingFaceTB/SmolLM2-135M-Instruct": 134_515_008,
    "HuggingFaceTB/SmolLM2-360M-Instruct": 361_821_120,
    "HuggingFaceTB/SmolLM2-1.7B-Instruct": 1_711_376_384,
    "google/gemma-3-270m-it": 268_098_176,
    "google/gemma-3-1b-it": 999_885_952,
    "google/gemma-3-4b-it": 4_300_079_472,
    "google/gemma-3-12b-it": 12_187_325_040,
    "google/gemma-3-27b-it": 27_432_406_640,
}
CONFIGS = {"Qwen2.5": Qwen2Config, "Qwen3": Qwen3Config, "Llama": LlamaConfig, "SmolLM2": LlamaConfig}
EYES = {
    "hidden_size": 1_152, "intermediate_size": 4_304, "num_hidden_layers": 27, "num_attention_heads": 16,
    "patch_size": 14, "image_size": 896, "vision_use_head": False,
}  # fmt: skip


@pytest.mark.parametrize("model", PUBLISHED)
def test_sizes_give_the_published_number_of_parameters(model: str):
    assert SIZES[model].parameters == PUBLISHED[model]


def configuration(model: str, sizes: Sizes):
    """The model's configuration for `transformers`."""
    values = {
        "num_hidden_layers": sizes.layers,
        "hidden_size": sizes.hidden,
        "intermediate_size": sizes.feed_forward,
        "num_attention_heads": sizes.heads,
        "num_key_value_heads": sizes.kv_heads,
        "head_dim": sizes.head_dim,
        "vocab_size": sizes.rows,
        "tie_word_embeddings": sizes.tied,
    }
    if "gemma" not in model:
        return next(kind(**values) for name, kind in CONFIGS.items() if name in model)
    text = Gemma3TextConfig(**values)
    return Gemma3Config(text_config=text.to_dict(), vision_config=EYES) if sizes.apart else text


@pytest.mark.parametrize("model", SIZES)
def test_sizes_are_those_of_the_model_that_is_loaded(model: str):
    """A model without weights, made by the class that loads the real one."""
    config = configuration(model, SIZES[model])
    with torch.device("meta"):
        assert AutoModelForCausalLM.from_config(config).num_parameters() == SIZES[model].parameters
    text = config.get_text_config()
    cache = 2 * text.num_hidden_layers * text.num_key_value_heads * text.head_dim
    assert SIZES[model].cache_per_token == cache


def test_every_named_pair_is_complete():
    for name, pair in PAIRS.items():
        assert name == pair.name not in EMBEDDED
        assert SIZES[pair.draft].parameters < SIZES[pair.target].parameters
        assert pair.gated == pair.target.startswith(("meta-llama", "google")) == ("gated" in pair.note)
        assert tuned_for_chat(pair.target)
        assert pair.draft.split("/")[0] == pair.target.split("/")[0], "one maker, one tokenizer"
        assert abs(SIZES[pair.draft].rows - SIZES[pair.target].rows) <= 128, "rows differ by padding only"


@pytest.mark.parametrize(
    ("asked", "nearest"),
    [("qwen2.5-8b", "qwen2.5-7b"), ("Llama-3.1-8B", "llama-3.1-8b"), ("gemma3-4b", "gemma-3-4b"), ("nothing", "tiny")],
)
def test_an_unknown_name_is_answered_with_the_nearest(asked: str, nearest: str):
    with pytest.raises(HsdError, match="did you mean") as error:
        load_pair(asked)
    assert f" {nearest}" in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("model", "tuned"),
    [
        ("Qwen/Qwen3-8B", True), ("google/gemma-3-4b-it", True), ("TinyLlama/TinyLlama-1.1B-Chat-v1.0", True),
        ("/models/Phi-4-mini-instruct/", True), ("mistralai/Mistral-7B-Instruct-v0.3", True),
        ("Qwen/Qwen2.5-7B", False), ("openai-community/gpt2", False), ("/home/chat/instruct/weights", False),
    ],
)  # fmt: skip
def test_models_tuned_on_chats_are_known_by_name(model: str, tuned: bool):
    assert tuned_for_chat(model) is tuned


def test_the_command_line_lists_the_names(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        main(["run", "--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert all(name in text for name in names())
    assert main(["run", "Hello", "--pair", "qwen2.5-8b"]) == 2
    assert "did you mean qwen2.5-7b" in capsys.readouterr().err


def test_the_manifest_and_the_registry_agree(monkeypatch: pytest.MonkeyPatch):
    """A pair of the Space that has a name here is the same two models, and is loaded by that name."""
    asked: list[object] = []
    monkeypatch.setattr(page, "load_pair", lambda name=None, **models: asked.append(name or models))
    for spec in space.load().pairs:
        if spec.name in PAIRS:
            assert (spec.target, spec.draft) == (PAIRS[spec.name].target, PAIRS[spec.name].draft)
            page.load(PairChoice(spec.name, spec.target, spec.draft))
            page.load(PairChoice("own", spec.target, spec.draft))
            assert asked == [spec.name, {"target": spec.target, "draft": spec.draft}]
            asked.clear()


def test_importing_the_package_asks_for_no_hub():
    code = "import sys, hsd.models.registry; print('huggingface_hub' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "False"
