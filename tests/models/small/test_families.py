"""The portable engine computes what the numbers of a file stand for, in every type and family."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch
from gguf_blocks import TYPES
from loops import for_each
from random_models import FAMILIES, LLAMA, Family, divergence, logits_of, write_model
from torch import Tensor

from hsd.models.loading.portable import load_small
from hsd.models.small.gguf import read_gguf

pytest.importorskip("wasmtime")
IDS = torch.randint(0, 301, (70,), generator=torch.Generator().manual_seed(1))
LEAST = 1e-6  # nats: what 16 bits of an activation leave, and a tenth more than was ever seen
# what is stored as such floats is multiplied by 8 bits, but a model that is all bfloat16
ROUNDED = ("F32", "F16")
CASES = [*product(TYPES, FAMILIES)]
# which matrices have which type, as in files of llama.cpp
MIXTURES = {
    "Q4_K_M": {"attn_v": "Q6_K", "blk.0.ffn_down": "Q6_K", "token": "Q6_K", "": "Q4_K"},
    "Q5_K_M, other output": {"attn_v": "Q6_K", "output.": "Q6_K", "token": "Q5_0", "": "Q5_K"},
    "Q4_0, other output": {"output.": "Q6_K", "ffn_down": "Q4_1", "": "Q4_0"},
    "Q8_0 and bfloat16": {"attn_": "BF16", "token": "BF16", "": "Q8_0"},
    "floats": {"attn_q": "F16", "ffn_up": "BF16", "": "F32"},
}


def rounded(numbers: dict[str, Tensor], kinds: Any = "F32") -> dict[str, Tensor]:
    """Return the numbers of a file; those of float matrices as 8 bits in blocks of 32."""
    by_part = {"": kinds} if isinstance(kinds, str) else kinds
    held = {}
    for name, weights in numbers.items():
        kind = next(kind for part, kind in by_part.items() if part in name)
        held[name] = weights
        if weights.dim() == 2 and kind in (*ROUNDED, "BF16"):
            blocks = weights.view(-1, 32)
            most = blocks.abs().amax(1, keepdim=True)
            held[name] = ((blocks / most * 127).round() / 127 * most).view(weights.shape)
    return held


def logits(file: Path, family: Family) -> Tensor:
    """Return the engine's logits after every token, of the tokens that there are."""
    model = load_small(read_gguf(file), "random", None)
    rows = model.start().forward(IDS, len(IDS))
    assert rows.shape == (len(IDS), 320)  # a multiple of 32
    assert rows[:, family.vocab :].isneginf().all()
    return rows[:, : family.vocab]


@for_each(("kind", "name"), CASES, map(" ".join, CASES))
def test_rows_are_those_of_float64(tmp_path: Path, kind: str, name: str):
    family = FAMILIES[name]
    numbers = write_model(tmp_path / "model.gguf", family, kind)
    wanted = logits_of(family, rounded(numbers) if kind in ROUNDED else numbers, IDS)
    assert 2 < wanted.std() < 5  # rows that are neither flat nor sure
    given = logits(tmp_path / "model.gguf", family)
    assert divergence(wanted, given).max() < LEAST
    assert (wanted - given).abs().max() < 0.01
    if kind in ROUNDED:
        assert divergence(logits_of(family, numbers, IDS), given).mean() < 5e-3


@for_each("mixture", MIXTURES)
@for_each("name", FAMILIES)
def test_matrices_of_a_file_may_have_several_types(tmp_path: Path, mixture: str, name: str):
    family = FAMILIES[name]
    kinds = MIXTURES[mixture]
    numbers = write_model(tmp_path / "model.gguf", family, kinds)
    wanted = logits_of(family, rounded(numbers, kinds), IDS)
    assert divergence(wanted, logits(tmp_path / "model.gguf", family)).max() < LEAST


@for_each(
    "sizes",
    [
        {"heads": 8, "groups": 8},
        {"heads": 2, "groups": 1, "width": 128},
        {"heads": 16, "groups": 2, "width": 32},
        {"hidden": 512, "inner": 256, "heads": 4, "groups": 2, "width": 64},
    ],
)
@for_each("name", FAMILIES)
def test_heads_of_any_number_and_width_are_read(tmp_path: Path, name: str, sizes: dict[str, int]):
    family = Family(name, **sizes, layers=1, own_output=True)
    numbers = write_model(tmp_path / "model.gguf", family, "Q6_K")
    wanted = logits_of(family, numbers, IDS)
    assert divergence(wanted, logits(tmp_path / "model.gguf", family)).max() < LEAST


def test_what_a_model_says_of_its_numbers_is_what_it_computes_with(tmp_path: Path):
    file = tmp_path / "model.gguf"
    for kinds, dtype in (("BF16", "float32"), ({"token": "BF16", "": "Q8_0"}, "int16, ")):
        write_model(file, LLAMA, kinds, known=False)
        assert load_small(read_gguf(file), "random", None).dtype.startswith(dtype)


# The reference itself


def by_transformers(family: Family, numbers: dict[str, Tensor]) -> Any:
    """The model of `transformers` with these numbers, in float64."""
    import transformers

    kind = {"llama": "Llama", "qwen2": "Qwen2", "qwen3": "Qwen3"}[family.architecture]
    rope: dict[str, Any] = {"rope_type": "default", "rope_theta": family.base}
    if family.slowed:
        rope |= {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0}
        rope |= {"high_freq_factor": 4.0, "original_max_position_embeddings": 256}
    config = getattr(transformers, f"{kind}Config")(
        hidden_size=family.hidden,
        intermediate_size=family.inner,
        num_attention_heads=family.heads,
        num_key_value_heads=family.groups,
        head_dim=family.width,
        num_hidden_layers=family.layers,
        vocab_size=family.vocab,
        rms_norm_eps=family.eps,
        tie_word_embeddings=not family.own_output,
        max_position_embeddings=2048,
        rope_parameters=rope,
    )
    model = getattr(transformers, f"{kind}ForCausalLM")(config).eval().double()
    names = {
        "token_embd": "model.embed_tokens",
        "output_norm": "model.norm",
        "blk.": "model.layers.",
        "ffn_norm": "post_attention_layernorm",
        "attn_norm": "input_layernorm",
        "attn_output": "self_attn.o_proj",
        "output.": "lm_head.",
        **{f"attn_{x}_norm": f"self_attn.{x}_norm" for x in "qk"},
        **{f"attn_{x}.": f"self_attn.{x}_proj." for x in "qkv"},
        **{f"ffn_{x}": f"mlp.{x}_proj" for x in ("gate", "up", "down")},
    }
    state = {}
    for name, held in numbers.items():
        weights = held
        if family.architecture == "llama" and name.endswith(("attn_q.weight", "attn_k.weight")):
            pairs = held.view(-1, family.width // 2, 2, family.hidden)
            weights = pairs.transpose(1, 2).reshape(held.shape)
        for ours, theirs in names.items():
            name = name.replace(ours, theirs)
        state[name] = weights
    missing, more = model.load_state_dict(state, strict=False)
    assert set(missing) <= {"lm_head.weight"}
    assert set(more) <= {"rope_freqs.weight"}
    return model


def llama_3_factors(family: Family) -> Tensor:
    """The factors that a converter writes for the settings of rotation above."""
    pairs = torch.arange(family.width // 2, dtype=torch.float64)
    waves = 2 * torch.pi * family.base ** (2 * pairs / family.width)
    smooth = (256 / waves - 1) / 3
    between = 1 / ((1 - smooth) / 8 + smooth)
    return torch.where(waves < 64, 1, torch.where(waves > 256, 8, between))


@for_each("name", FAMILIES)
def test_the_reference_is_the_model_of_transformers(tmp_path: Path, name: str):
    family = FAMILIES[name]
    numbers = write_model(tmp_path / "model.gguf", family, "Q5_1")
    if family.slowed:
        numbers["rope_freqs.weight"] = llama_3_factors(family)
        assert 1 < numbers["rope_freqs.weight"].mean() < 8
    with torch.inference_mode():
        wanted = by_transformers(family, numbers)(input_ids=IDS[None]).logits[0]
    assert (wanted - logits_of(family, numbers, IDS)).abs().max() < 1e-4
