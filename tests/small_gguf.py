"""A GGUF file with a random Llama of SmolLM2's shape, small enough for any test, and its weights as
float32.
"""

from __future__ import annotations

import ctypes
import json
import struct
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor

from hsd.models.base import View
from hsd.models.loading.portable import load_exits, load_small
from hsd.models.small.engine import Engine
from hsd.models.small.exits import SmallLayers
from hsd.models.small.gguf import read_gguf
from hsd.models.small.model import SmallModel, Text

HIDDEN = 192
INNER = 64
HEADS = 6
GROUPS = 2
LAYERS = 3
VOCAB = 64
BASE = 10_000.0
EPS = 1e-5
WIDTH = HIDDEN // HEADS
TAPS = (1, 2)
DRAFTED = torch.arange(0, VOCAB, 2)  # what the exit can draft
F32 = 0
Q4_1 = 3
Q8_0 = 8
U32 = 4
FLOAT = 6
BOOL = 7
TEXT = 8
LIST = 9
FIELDS = {
    "general.architecture": "llama",
    "llama.block_count": LAYERS,
    "llama.embedding_length": HIDDEN,
    "llama.feed_forward_length": INNER,
    "llama.attention.head_count": HEADS,
    "llama.attention.head_count_kv": GROUPS,
    "llama.context_length": 512,
    "llama.rope.freq_base": BASE,
    "llama.attention.layer_norm_rms_epsilon": EPS,
}


def text(value: str) -> bytes:
    held = value.encode()
    return struct.pack("<Q", len(held)) + held


def kind_of(value: Any) -> int:
    """The number of a field's type, by its value."""
    kinds = {str: TEXT, bool: BOOL, float: FLOAT, list: LIST}
    return kinds.get(type(value), U32)


def value_bytes(value: Any) -> bytes:
    if isinstance(value, list):
        inner = kind_of(value[0]) if value else U32
        return struct.pack("<IQ", inner, len(value)) + b"".join(map(value_bytes, value))
    if isinstance(value, str):
        return text(value)
    return struct.pack({BOOL: "<?", FLOAT: "<f"}.get(kind_of(value), "<I"), value)


def field(name: str, value: Any) -> bytes:
    return text(name) + struct.pack("<I", kind_of(value)) + value_bytes(value)


def write_file(
    file: Path, fields: dict[str, Any], tensors: dict[str, tuple[int, tuple[int, ...], bytes]]
) -> None:
    """Write a GGUF file of version 3. tensors: type, shape and bytes of each."""
    places = b""
    end = 0
    for name, (kind, shape, held) in tensors.items():
        places += text(name)
        places += struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape[::-1], kind, end)
        end += len(held) + -len(held) % 32
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(fields))
    head += b"".join(field(*item) for item in fields.items()) + places
    with file.open("wb") as stream:
        stream.write(head + bytes(-len(head) % 32))
        for _, _, held in tensors.values():
            stream.write(held)
            stream.write(bytes(-len(held) % 32))


def packed(weights: Tensor, kind: int) -> tuple[bytes, Tensor]:
    """The tensor in blocks of 32, and the numbers that those stand for."""
    blocks = weights.reshape(-1, 32)
    if kind == Q8_0:
        scale = (blocks.abs().amax(1, keepdim=True) / 127).half()
        q = (blocks / scale.float()).round().clamp(-127, 127)
        data = torch.cat([scale.view(torch.uint8), q.to(torch.int8).view(torch.uint8)], 1)
        return data.numpy().tobytes(), (q * scale.float()).reshape(weights.shape)
    low = blocks.amin(1, keepdim=True).half()
    scale = ((blocks.amax(1, keepdim=True) - low.float()) / 15).half()
    q = ((blocks - low.float()) / scale.float()).round().clamp(0, 15)
    byte = (q[:, :16] + 16 * q[:, 16:]).to(torch.uint8)
    data = torch.cat([scale.view(torch.uint8), low.view(torch.uint8), byte], 1)
    return data.numpy().tobytes(), (q * scale.float() + low.float()).reshape(weights.shape)


def file_order(rows: Tensor) -> Tensor:
    """Rows of queries or keys with those that turn together beside each other, as the format has
    them.
    """
    return rows.view(-1, 2, WIDTH // 2, rows.shape[-1]).transpose(1, 2).reshape(rows.shape)


def sizes() -> dict[str, tuple[int, ...]]:
    kept = GROUPS * WIDTH
    layer = {"attn_q": (HIDDEN, HIDDEN), "attn_k": (kept, HIDDEN), "attn_v": (kept, HIDDEN)}
    layer |= {
        "attn_output": (HIDDEN, HIDDEN),
        "ffn_gate": (INNER, HIDDEN),
        "ffn_up": (INNER, HIDDEN),
    }
    layer |= {"ffn_down": (HIDDEN, INNER), "attn_norm": (HIDDEN,), "ffn_norm": (HIDDEN,)}
    found = {
        f"blk.{i}.{name}.weight": shape for i in range(LAYERS) for name, shape in layer.items()
    }
    return {"token_embd.weight": (VOCAB, HIDDEN), "output_norm.weight": (HIDDEN,)} | found


def write_gguf(file: Path, seed: int = 0, **instead: Any) -> dict[str, Tensor]:
    """Write the file; its weights as float32, queries and keys in the order of `transformers`.
    instead: other fields, with __ for a dot.
    """
    noise = torch.Generator().manual_seed(seed)
    fields = FIELDS | {name.replace("__", "."): value for name, value in instead.items()}
    tensors = {}
    weights = {}
    for name, shape in sizes().items():
        kind = F32 if len(shape) == 1 else Q8_0 if name.startswith("token") else Q4_1
        numbers = 1 + 0.1 * torch.randn(shape, generator=noise)
        if kind == F32:
            held = numbers.numpy().tobytes()
            weights[name] = numbers
        else:
            numbers = torch.randn(shape, generator=noise) / 6
            _, numbers = packed(numbers, kind)
            turned = "attn_q" in name or "attn_k" in name
            held, again = packed(file_order(numbers) if turned else numbers, kind)
            weights[name] = (
                again.view(-1, WIDTH // 2, 2, HIDDEN).transpose(1, 2).reshape(shape)
                if turned
                else again
            )
        tensors[name] = kind, shape, held
    write_file(file, fields, tensors)
    return weights


def head_weights(seed: int = 1, drafted: int = 32) -> dict[str, Tensor]:
    """Of a head for this model, as the project's own files have them: every second token can be
    drafted.
    """
    noise = torch.Generator().manual_seed(seed)
    layer = "midlayer."
    kept = GROUPS * WIDTH
    shapes = {
        "fc": (HIDDEN, len(TAPS) * HIDDEN),
        "lm_head": (drafted, HIDDEN),
        layer + "token_proj": (HIDDEN, HIDDEN),
    }
    shapes |= {
        layer + f"self_attn.{x}_proj": (rows, 2 * HIDDEN)
        for x, rows in zip("qkv", (HIDDEN, kept, kept), strict=True)
    }
    shapes |= {
        layer + "self_attn.o_proj": (HIDDEN, HIDDEN),
        layer + "mlp.down_proj": (HIDDEN, INNER),
    }
    shapes |= {layer + f"mlp.{x}_proj": (INNER, HIDDEN) for x in ("gate", "up")}
    found = {
        f"{name}.weight": (torch.randn(shape, generator=noise) / 12).half()
        for name, shape in shapes.items()
    }
    norms = [layer + f"{x}_norm" for x in ("hidden", "post_attention_layer")] + [
        layer + "input_layernorm",
        "norm",
    ]
    names = [name.replace("layer_norm", "layernorm") for name in norms]
    found |= {
        f"{name}.weight": (1 + 0.1 * torch.randn(HIDDEN, generator=noise)).half() for name in names
    }
    found["taps_norm.weight"] = (1 + 0.1 * torch.randn(len(TAPS), HIDDEN, generator=noise)).half()
    return found | {"d2t": torch.arange(drafted)}


HEAD = {
    "architectures": ["LlamaForCausalLMEagle3"],
    "draft_vocab_size": 32,
    "target_layers": list(TAPS),
    "hidden_size": HIDDEN,
    "intermediate_size": INNER,
    "num_attention_heads": HEADS,
    "num_key_value_heads": GROUPS,
    "vocab_size": VOCAB,
    "rms_norm_eps": EPS,
    "rope_theta": BASE,
}


def save_small(folder: Path) -> Path:
    """Write a small model's file and its head into a folder, which is returned."""
    write_gguf(folder / "model.gguf")
    save_file(head_weights(), folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(HEAD))
    return folder


def exit_weights(**instead: Tensor) -> dict[str, Tensor]:
    """Of a random exit whose rank is no multiple of what the engine packs together."""
    noise = torch.Generator().manual_seed(3)
    into, out = (torch.randn(shape, generator=noise) / 6 for shape in ((20, HIDDEN), (HIDDEN, 20)))
    offsets = (DRAFTED - torch.arange(len(DRAFTED))).to(torch.uint16)
    return {
        "norm": 1 + 0.1 * torch.arange(HIDDEN) / HIDDEN,
        "into": into,
        "out": out,
        "d2t": offsets,
    } | instead


def with_exits(folder: Path) -> SmallModel:
    """The small model of a folder, with the exits that lie there."""
    file = read_gguf(folder / "model.gguf")
    model = load_small(file, "small", None, TAPS)
    model.parts = SmallLayers(model, load_exits(folder, model, file.tensors["token_embd.weight"]))
    return model


def torch_model(weights: dict[str, Tensor]) -> Any:
    """The same Llama by `transformers`, float32."""
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        hidden_size=HIDDEN,
        intermediate_size=INNER,
        num_attention_heads=HEADS,
        num_key_value_heads=GROUPS,
        num_hidden_layers=LAYERS,
        vocab_size=VOCAB,
        rms_norm_eps=EPS,
        tie_word_embeddings=True,
        max_position_embeddings=512,
        rope_parameters={"rope_type": "default", "rope_theta": BASE},
    )
    names = {
        "attn_q": "self_attn.q_proj",
        "attn_k": "self_attn.k_proj",
        "attn_v": "self_attn.v_proj",
    }
    names |= {
        "attn_output": "self_attn.o_proj",
        "ffn_gate": "mlp.gate_proj",
        "ffn_up": "mlp.up_proj",
    }
    names |= {
        "ffn_down": "mlp.down_proj",
        "attn_norm": "input_layernorm",
        "ffn_norm": "post_attention_layernorm",
    }
    names |= {"token_embd": "embed_tokens", "output_norm": "norm"}
    state = {"lm_head.weight": weights["token_embd.weight"]}
    for name, tensor in weights.items():
        *before, part, _ = name.replace("blk.", "layers.").split(".")
        state[".".join(["model", *before, names[part], "weight"])] = tensor
    model = LlamaForCausalLM(config).eval()
    model.load_state_dict(state)
    return model


def tree_view(length: int, parents: list[int]) -> View:
    """Of new nodes after `length` tokens; a parent of -1 is the text's last token, any other an
    earlier node.
    """
    visible = torch.zeros(len(parents), length + len(parents), dtype=torch.bool)
    positions = []
    for row, parent in enumerate(parents):
        visible[row, :length] = True
        if parent >= 0:
            visible[row, length:] = visible[parent, length:]
        visible[row, length + row] = True
        positions.append(int(visible[row].sum()) - 1)
    return View(visible, torch.tensor(positions))


def numbers(engine: Engine, place: int, *shape: int) -> Tensor:
    """A copy of the float32 numbers at a place in an engine's memory, in this shape."""
    found = torch.empty(shape)
    ctypes.memmove(found.data_ptr(), engine.machine.address(place), 4 * found.numel())
    return found


def states_of(text: Text, *columns: int) -> Tensor:
    """The hidden states (columns, taps, hidden) that a text keeps for a head."""
    places = [
        [text.engine.call("state", text.place, tap, column) for tap in range(len(TAPS))]
        for column in columns
    ]
    return torch.stack(
        [torch.stack([numbers(text.engine, place, HIDDEN) for place in row]) for row in places]
    )
