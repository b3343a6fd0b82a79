"""A folder is judged by what is in it: weights that are missing or left out, files beside others, a
chat template.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from loops import for_each
from safetensors.torch import load_file, save_file
from small_models import (
    SHAPE,
    TEMPLATE,
    TURN_END,
    bytes_tokenizer,
    chat_tokenizer,
    letters_tokenizer,
    save_model,
)
from torch import Tensor
from transformers import LlamaConfig, LlamaForCausalLM

import hsd
from hsd import HsdError, load_pair
from hsd.models.loading.settings import OFF


def shown(pair: hsd.Pair) -> str:
    return "".join(pair.codec.piece(token) for token in pair.encode("Hi there"))


Q = "model.layers.0.self_attn.q_proj"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return save_model(tmp_path / "model", letters_tokenizer())


def rewritten(folder: Path, weights: dict[str, Tensor]) -> None:
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def refusal(folder: Path) -> str:
    with pytest.raises(HsdError) as refused:
        load_pair(target=folder, draft=folder, device="cpu")
    assert "\n" not in str(refused.value)
    return str(refused.value)


# Weights


def test_weights_that_are_missing_are_not_made_up(folder: Path):
    weights = load_file(folder / "model.safetensors")
    rewritten(
        folder, {name: weight for name, weight in weights.items() if name != "lm_head.weight"}
    )
    assert (
        "lack 1 of the model's weights, which would be random: there is no lm_head.weight"
        in refusal(folder)
    )
    rewritten(folder, {f"transformer.{name}": weight for name, weight in weights.items()})
    words = refusal(folder)
    assert f"lack {len(weights)} of the model's weights" in words
    assert "and have transformer." in words


def test_the_weights_of_a_draft_count_too(folder: Path, tmp_path: Path):
    other = save_model(tmp_path / "other", letters_tokenizer(), seed=4)
    weights = load_file(other / "model.safetensors")
    rewritten(other, {name: weight for name, weight in weights.items() if "norm" not in name})
    with pytest.raises(HsdError, match="lack 5 of the model's weights"):
        load_pair(target=folder, draft=other, device="cpu")


def test_tied_weights_are_not_missing(tmp_path: Path):
    tokenizer = letters_tokenizer()
    config = LlamaConfig(
        **SHAPE, vocab_size=len(tokenizer), eos_token_id=0, tie_word_embeddings=True
    )
    LlamaForCausalLM(config).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    assert "lm_head.weight" not in load_file(tmp_path / "model.safetensors")
    assert load_pair(target=tmp_path, draft=tmp_path, device="cpu").notes == ()


def test_other_shapes_are_named(folder: Path):
    weights = load_file(folder / "model.safetensors")
    rewritten(folder, weights | {"lm_head.weight": torch.zeros(70, 32)})
    why = "lm_head.weight has shape (70, 32), where its config.json wants (58, 32)"
    assert why in refusal(folder)


@pytest.mark.parametrize(
    "name",
    [
        f"{Q}.lora_A.weight",
        f"{Q}.weight_scale",
        f"{Q}.bias",
        "model.layers.2.mlp.up_proj.weight",
        "lm_head.bias",
    ],
)
def test_weights_that_would_be_left_out_are_refused(folder: Path, name: str):
    rewritten(folder, load_file(folder / "model.safetensors") | {name: torch.zeros(32)})
    assert f"has the weight {name}, which this model would leave out" in refusal(folder)


def test_other_weights_that_are_unused_are_noted(folder: Path):
    weights = load_file(folder / "model.safetensors")
    rewritten(
        folder,
        weights
        | {
            "v_head.summary.weight": torch.zeros(32),
            f"{Q[:-7]}.rotary_emb.inv_freq": torch.zeros(4),
        },
    )
    pair = load_pair(target=folder, draft=folder, device="cpu")
    assert pair.notes == (
        "model: the file's v_head.summary.weight is no part of the model, and unused.",
    )
    trace = hsd.run(pair, "Abc", max_new_tokens=4)
    assert trace.setup.notes == [*pair.notes]


def test_an_adapter_is_not_left_out(folder: Path):
    (folder / "adapter_config.json").write_text("{}")
    why = "has an adapter, which would be left out: merge it into the weights first"
    assert why in refusal(folder)


# Chats


def chatting(folder: Path, ends: int | list[int] | None, template: str | None = TEMPLATE) -> Path:
    """A model whose files carry a template, and whose texts end with these tokens."""
    tokenizer = chat_tokenizer(template)
    base = ends == 256
    if base:
        tokenizer.add_special_tokens({"eos_token": "<end>"})
    save_model(folder, tokenizer, 270)
    settings = folder / "generation_config.json"
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {"eos_token_id": ends}))
    return folder


TURN = chat_tokenizer().convert_tokens_to_ids(TURN_END)


@pytest.mark.parametrize(
    "name", ["Qwen3-8B", "snapshots/0123456789abcdef", "Small-Instruct", "base"]
)
def test_a_template_is_found_whatever_the_folders_name(tmp_path: Path, name: str):
    folder = chatting(tmp_path / name, [256, TURN])
    pair = load_pair(target=folder, draft=folder, device="cpu")
    assert shown(pair).startswith("<begin><|im_start|>user")
    assert [note for note in pair.notes if "--prompt-as text" in note] == [*pair.notes]
    assert hsd.run(pair, "Hi", max_new_tokens=2).setup.notes == [*pair.notes]
    assert not hsd.run(pair, "Hi", max_new_tokens=2, prompt_as="text").setup.notes, (
        "who has chosen need not be told"
    )
    assert not load_pair(target=folder, draft=folder, device="cpu", chat=True).notes


def test_a_base_model_that_carries_a_template_continues_texts(tmp_path: Path):
    folder = chatting(tmp_path / "Small-Instruct", 256)
    pair = load_pair(target=folder, draft=folder, device="cpu")
    assert shown(pair) == "<begin>Hi there"
    assert ["--prompt-as chat" in note for note in pair.notes] == [True]
    assert not hsd.run(pair, "Hi", max_new_tokens=2, prompt_as="chat").setup.notes


@pytest.mark.parametrize(
    "where", ["chat_template.jinja", "chat_template.json", "additional_chat_templates/chat.jinja"]
)
def test_a_template_is_found_in_a_file_of_its_own(tmp_path: Path, where: str):
    folder = chatting(tmp_path / "model", [256, TURN], template=None)
    file = folder / where
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({"chat_template": TEMPLATE}) if where.endswith("json") else TEMPLATE)
    assert shown(load_pair(target=folder, draft=folder, device="cpu")).startswith(
        "<begin><|im_start|>user"
    )


def test_without_a_template_there_is_nothing_to_say(tmp_path: Path):
    folder = save_model(tmp_path / "Model-Instruct", bytes_tokenizer())
    assert load_pair(target=folder, draft=folder, device="cpu").notes == ()
    assert OFF["repetition_penalty"] == 1.0


# Ends


def test_ends_are_those_of_the_generation_settings_or_else_of_the_configuration(folder: Path):
    settings = folder / "generation_config.json"
    told = json.loads(settings.read_text())
    settings.write_text(json.dumps(told | {"eos_token_id": [5, 9]}))
    assert load_pair(target=folder, draft=folder, device="cpu").codec.end_ids == {5, 9}
    settings.write_text(
        json.dumps({name: value for name, value in told.items() if name != "eos_token_id"})
    )
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"eos_token_id": [7, 8]}))
    assert load_pair(target=folder, draft=folder, device="cpu").codec.end_ids == {7, 8}


@for_each("content", [b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"eos_token_id": "end"}'])
def test_generation_settings_that_cannot_be_read_are_refused(folder: Path, content: bytes):
    (folder / "generation_config.json").write_bytes(content)
    with pytest.raises(HsdError) as refused:
        load_pair(target=folder, draft=folder, device="cpu")
    assert "\n" not in str(refused.value)


def test_a_model_without_generation_settings_is_loaded(folder: Path):
    (folder / "generation_config.json").unlink()
    assert load_pair(target=folder, draft=folder, device="cpu").target.settings  # type: ignore[attr-defined]
