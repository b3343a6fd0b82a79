"""Small random models on disk, with their tokenizers: everything that a real pair has, but a sense
of language.
"""

from __future__ import annotations

import json
import string
from collections.abc import Callable
from pathlib import Path

import torch
from safetensors.torch import save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors
from torch import Tensor
from transformers import (
    AutoModelForCausalLM,
    Gemma3Config,
    Gemma3TextConfig,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    PretrainedConfig,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen3Config,
)

END = "<end>"
LETTERS = [END, "<unknown>", *string.ascii_letters, " ", ".", ",", "!"]  # 58 tokens, END is 0

START = "<|im_start|>"
TURN_END = "<|im_end|>"
BEGIN = "<begin>"
TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% "
    "endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def letters_tokenizer(letters: list[str] = LETTERS) -> PreTrainedTokenizerFast:
    """One token per letter."""
    core = Tokenizer(
        models.WordLevel({letter: i for i, letter in enumerate(letters)}, unk_token=letters[1])
    )
    core.pre_tokenizer = pre_tokenizers.Split("", behavior="isolated")
    core.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(
        tokenizer_object=core, eos_token=letters[0], unk_token=letters[1]
    )


def bytes_tokenizer() -> PreTrainedTokenizerFast:
    """One token per byte, 257 with the end, which is 256: any text can be read."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    core = Tokenizer(models.BPE({letter: i for i, letter in enumerate([*alphabet, END])}, []))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    core.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=core, eos_token=END)


def chat_tokenizer(template: str | None = TEMPLATE) -> PreTrainedTokenizerFast:
    """Bytes, and the special tokens of a chat; it begins every text with one of its own, as Llama's
    and Gemma's do.
    """
    tokenizer = bytes_tokenizer()
    tokenizer.add_special_tokens(
        {"bos_token": BEGIN, "additional_special_tokens": [AddedToken(START, special=True)]}
    )
    tokenizer.add_special_tokens({"eos_token": TURN_END})
    begin = tokenizer.convert_tokens_to_ids(BEGIN)
    tokenizer._tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{BEGIN} $A", special_tokens=[(BEGIN, begin)]
    )
    tokenizer.chat_template = template
    return tokenizer


def save_model(
    folder: Path,
    tokenizer: PreTrainedTokenizerFast,
    rows: int | None = None,
    seed: int = 0,
    context: int = 128,
) -> Path:
    """A random Llama with two layers of width 32 and `rows` embeddings (default: one per token),
    and its tokenizer.
    """
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=rows or len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=context,
        initializer_range=0.25,
        eos_token_id=tokenizer.eos_token_id,
        bos_token_id=None,
        pad_token_id=None,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def save_pair(
    folder: Path, tokenizer: PreTrainedTokenizerFast, rows: tuple[int, int] | None = None
) -> tuple[str, str]:
    """Folders of a random target and a random draft."""
    target_rows, draft_rows = rows or (None, None)
    target = save_model(folder / "target", tokenizer, target_rows, seed=1)
    draft = save_model(folder / "draft", tokenizer, draft_rows, seed=2)
    return str(target), str(draft)


# Architectures of real pairs, in miniature: two layers, or more where kinds of layers take turns.

SHAPE = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 128,
    "initializer_range": 0.3,
    "bos_token_id": None,
    "pad_token_id": None,
}
WINDOW = 6  # tokens that a layer with a sliding window sees, its own included
TURNS = {
    "sliding_window": WINDOW,
    "layer_types": ["sliding_attention", "full_attention", "sliding_attention"],
}
EYES = {
    "hidden_size": 16,
    "intermediate_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "image_size": 28,
    "patch_size": 14,
    "vision_use_head": False,
}


def _gemma(**sizes: object) -> Gemma3TextConfig:
    wide = {"query_pre_attn_scalar": 8, "num_hidden_layers": 3, **TURNS}
    return Gemma3TextConfig(**{**SHAPE, **wide, **sizes})


ARCHITECTURES: dict[str, Callable[..., PretrainedConfig]] = {
    "qwen2": lambda **sizes: Qwen2Config(**SHAPE, **sizes),
    "qwen3": lambda **sizes: Qwen3Config(**SHAPE, **sizes),
    "llama": lambda **sizes: LlamaConfig(**SHAPE, **sizes),
    "smollm2": lambda **sizes: LlamaConfig(**SHAPE, tie_word_embeddings=True, **sizes),
    "gemma3": _gemma,
}
LESS_COMMON: dict[str, Callable[..., PretrainedConfig]] = {
    "gemma3-with-eyes": lambda **sizes: Gemma3Config(
        text_config=_gemma(**sizes).to_dict(),
        vision_config=EYES,
        mm_tokens_per_image=1,
        image_token_index=3,
        boi_token_index=4,
        eoi_token_index=5,
        eos_token_id=sizes["eos_token_id"],
        initializer_range=0.3,
    ),
    "mistral": lambda **sizes: MistralConfig(**SHAPE, sliding_window=WINDOW, **sizes),
}
ALL_ARCHITECTURES = {**ARCHITECTURES, **LESS_COMMON}


def save_architecture(
    folder: Path,
    kind: str,
    tokenizer: PreTrainedTokenizerFast,
    rows: tuple[int, int],
    noise: float = 0.05,
) -> tuple[str, str]:
    """Folders of a random target with rows[0] embeddings, and of a draft with rows[1]: the target,
    but for noise.
    """
    torch.manual_seed(7)
    target, draft = (
        AutoModelForCausalLM.from_config(
            ALL_ARCHITECTURES[kind](vocab_size=n, eos_token_id=tokenizer.eos_token_id)
        )
        for n in rows
    )
    with torch.no_grad():
        for ours, theirs in zip(target.parameters(), draft.parameters(), strict=True):
            both = min(len(ours), len(theirs))
            theirs[:both] = ours[:both] + noise * torch.randn_like(ours[:both])
    for model, name in ((target, "target"), (draft, "draft")):
        model.save_pretrained(folder / name)
        tokenizer.save_pretrained(folder / name)
    return str(folder / "target"), str(folder / "draft")


def save_deep(folder: Path, kind: str, tokenizer: PreTrainedTokenizerFast, layers: int = 6) -> str:
    """Folder of a random model of more layers than the others, whose kinds alternate as there."""
    torch.manual_seed(11)
    config = ALL_ARCHITECTURES[kind](vocab_size=len(tokenizer), eos_token_id=tokenizer.eos_token_id)
    text = config.get_text_config()
    kinds = getattr(text, "layer_types", None)
    if kinds:
        text.layer_types = [kinds[i % len(kinds)] for i in range(layers)]
    text.num_hidden_layers = layers
    AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def head_weights(rows: int, vocab: list[int] | None, width: int, taps: int) -> dict[str, Tensor]:
    """Random weights of a head for a target of `SHAPE`, by their published names; it drafts the
    tokens in `vocab`.

    rows: of the target's vocabulary, all of which are drafted where `vocab` is None, and then no
    table says which.
    """
    hidden = 32
    inner = 48
    heads = 4
    groups = 2
    noise = torch.Generator().manual_seed(5)
    shapes = {
        "fc.weight": (hidden, taps * hidden),
        "midlayer.self_attn.q_proj.weight": (heads * width, 2 * hidden),
        "midlayer.self_attn.k_proj.weight": (groups * width, 2 * hidden),
        "midlayer.self_attn.v_proj.weight": (groups * width, 2 * hidden),
        "midlayer.self_attn.o_proj.weight": (hidden, heads * width),
        "midlayer.mlp.gate_proj.weight": (inner, hidden),
        "midlayer.mlp.up_proj.weight": (inner, hidden),
        "midlayer.mlp.down_proj.weight": (hidden, inner),
        "lm_head.weight": (rows if vocab is None else len(vocab), hidden),
    }
    weights = {name: 0.4 * torch.randn(shape, generator=noise) for name, shape in shapes.items()}
    norms = (
        "midlayer.hidden_norm",
        "midlayer.input_layernorm",
        "midlayer.post_attention_layernorm",
        "norm",
    )
    weights |= {f"{name}.weight": 1 + 0.2 * torch.randn(hidden, generator=noise) for name in norms}
    if vocab is not None:
        weights["d2t"] = torch.tensor(vocab) - torch.arange(len(vocab))
        weights["t2d"] = torch.isin(torch.arange(rows), torch.tensor(vocab))
    return weights


def save_head(
    folder: Path, target: str, vocab: list[int], taps: tuple[int, ...] = (0, 1), more: bool = False
) -> str:
    """Folder of a random head for a target of `SHAPE`, as this project writes it.

    more: with the two tensors that published heads are without.
    """
    config = json.loads((Path(target) / "config.json").read_text())
    weights = head_weights(config["vocab_size"], vocab, 8, len(taps))
    if more:
        noise = torch.Generator().manual_seed(6)
        for name, shape in (
            ("midlayer.token_proj.weight", (32, 32)),
            ("taps_norm.weight", (len(taps), 32)),
        ):
            weights[name] = 0.4 * torch.randn(shape, generator=noise)
    folder.mkdir(parents=True, exist_ok=True)
    save_file(weights, folder / "model.safetensors")
    described = {
        "architectures": ["LlamaForCausalLMEagle3"],
        "hidden_size": 32,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 8,
        "vocab_size": config["vocab_size"],
        "rms_norm_eps": 1e-6,
        "draft_vocab_size": len(vocab),
        "target_layers": taps,
        "rope_theta": 10000.0,
    }
    (folder / "config.json").write_text(json.dumps(described))
    return str(folder)


def publish_head(
    folder: Path,
    rows: int,
    vocab: list[int] | None = None,
    kind: str = "model.safetensors",
    width: int = 12,
    more: dict[str, Tensor] | None = None,
    without: tuple[str, ...] = (),
    **config: object,
) -> str:
    """Folder of a random head for a target of `SHAPE` with `rows` embeddings, exactly as such heads
    are published.

    kind: the file's name; in two parts with an index where it ends with ".index.json". more,
    without: tensors to add or to change, and names to leave out. config: entries to add or to
    change.
    """
    weights = head_weights(rows, vocab, width, 3) | (more or {})
    weights = {name: weight for name, weight in weights.items() if name not in without}
    folder.mkdir(parents=True, exist_ok=True)
    whole = kind.removesuffix(".index.json")
    parts = [weights]
    if kind != whole:
        names = sorted(weights)
        parts = [{name: weights[name] for name in names[start::2]} for start in range(2)]
    stem, _, ending = whole.partition(".")
    files = [whole] if kind == whole else [f"{stem}-{i + 1:05}-of-00002.{ending}" for i in range(2)]
    for file, part in zip(files, parts, strict=True):
        if ending == "safetensors":
            save_file(part, folder / file)
        else:
            torch.save(part, folder / file)
    if kind != whole:
        places = {name: file for file, part in zip(files, parts, strict=True) for name in part}
        (folder / kind).write_text(json.dumps({"metadata": {}, "weight_map": places}))
    described = {
        "architectures": ["LlamaForCausalLMEagle3"],
        "model_type": "llama",
        "hidden_act": "silu",
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "num_hidden_layers": 1,
        "head_dim": width,
        "vocab_size": rows,
        "draft_vocab_size": rows if vocab is None else len(vocab),
        "rms_norm_eps": 1e-5,
        "tie_word_embeddings": False,
        "max_position_embeddings": 2048,
        "torch_dtype": "float16",
    } | config
    (folder / "config.json").write_text(json.dumps(described))
    return str(folder)
