"""SmolLM2 as an ONNX graph, from the converted weights: python graph.py FOLDER OUT.onnx

For peers that read no GGUF file. Needs numpy and onnx. One pass reads n tokens after `past` others.
Inputs: `tokens` and `positions` (n), `mask` (n · heads of a group, past + n) to add to the scores,
and for each layer `k` and `v` (groups, past, width); outputs: `logits` (n, V), and k and v with the
new rows.
"""

from __future__ import annotations

import json
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

LONGEST = 2048  # positions


def tensors(folder: Path) -> dict[str, np.ndarray]:
    """The float32 tensors of the folder's safetensors file."""
    content = np.memmap(folder / "model.safetensors", np.uint8, "r")
    begin = 8 + int(content[:8].view(np.uint64)[0])
    told = json.loads(bytes(content[8:begin]))
    told.pop("__metadata__", None)
    spans = {
        name: slice(*(begin + end for end in one["data_offsets"])) for name, one in told.items()
    }
    return {
        name: content[spans[name]].view(np.float32).reshape(one["shape"])
        for name, one in told.items()
    }


class Graph:
    """Nodes and weights, one after another."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.weights: dict[str, Any] = {}

    def hold(self, name: str, values: np.ndarray) -> str:
        from onnx import numpy_helper

        if name not in self.weights:
            self.weights[name] = numpy_helper.from_array(np.ascontiguousarray(values), name)
        return name

    def add(self, kind: str, *inputs: str, out: str = "", **how: Any) -> str:
        from onnx import helper

        name = out or f"{kind}_{len(self.nodes)}"
        self.nodes.append(
            helper.make_node(kind, list(inputs), [name], name=f"node_{len(self.nodes)}", **how)
        )
        return name

    def shaped(self, x: str, *shape: int) -> str:
        return self.add(
            "Reshape", x, self.hold("to_" + "_".join(map(str, shape)), np.array(shape, np.int64))
        )

    def product(self, x: str, name: str, weight: np.ndarray, out: str = "") -> str:
        """x (n, in) to x·weightᵀ; weight (out, in)."""
        return self.add("MatMul", x, self.hold(name, weight.T), out=out)

    def norm(self, x: str, name: str, weight: np.ndarray, eps: float) -> str:
        two = self.hold("two", np.float32([2]))
        small = self.hold("eps", np.float32([eps]))
        mean = self.add(
            "ReduceMean", self.add("Pow", x, two), self.hold("last", np.int64([-1])), keepdims=1
        )
        size = self.add("Sqrt", self.add("Add", mean, small))
        return self.add("Mul", self.add("Div", x, size), self.hold(name, weight))


def build(folder: Path) -> Any:
    """The model as onnx has it."""
    from onnx import TensorProto, helper

    told = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    held = tensors(folder)
    heads = told["num_attention_heads"]
    groups = told["num_key_value_heads"]
    width = told["head_dim"]
    eps = told["rms_norm_eps"]
    graph = Graph()
    ins = []
    outs = []
    rates = told["rope_parameters"]["rope_theta"] ** -(np.arange(0, width, 2) / width)
    angles = np.outer(np.arange(LONGEST), rates)
    cos = np.concatenate([np.cos(angles)] * 2, -1).astype(np.float32)
    # for halves that change places
    sin = np.concatenate([-np.sin(angles), np.sin(angles)], -1).astype(np.float32)
    embedding = graph.hold("embedding", held["model.embed_tokens.weight"])
    x = graph.add("Gather", embedding, "tokens")
    turns = [
        graph.add("Gather", graph.hold(name, table), "positions")
        for name, table in (("cos", cos), ("sin", sin))
    ]

    def product(x: str, layer: int, name: str, scale: float = 1) -> str:
        return graph.product(
            x, f"{layer}.{name}", held[f"model.layers.{layer}.{name}.weight"] * np.float32(scale)
        )

    def by_head(x: str, count: int) -> str:  # (n, count · width) to (count, n, width)
        return graph.add("Transpose", graph.shaped(x, -1, count, width), perm=[1, 0, 2])

    def turned(x: str) -> str:
        ends = [graph.hold(f"at_{n}", np.int64([n])) for n in (0, width // 2, width)]
        low, high = (graph.add("Slice", x, a, b, ends_axis) for a, b in pairwise(ends))
        other = graph.add("Concat", high, low, axis=-1)
        return graph.add("Add", graph.add("Mul", x, turns[0]), graph.add("Mul", other, turns[1]))

    ends_axis = graph.hold("axis", np.int64([2]))
    for layer in range(told["num_hidden_layers"]):
        weight = held[f"model.layers.{layer}.input_layernorm.weight"]
        y = graph.norm(x, f"{layer}.before", weight, eps)
        q = turned(by_head(product(y, layer, "self_attn.q_proj", width**-0.5), heads))
        k, v = (by_head(product(y, layer, f"self_attn.{name}_proj"), groups) for name in "kv")
        k = graph.add("Concat", f"k{layer}", turned(k), axis=1, out=f"k{layer}_new")
        v = graph.add("Concat", f"v{layer}", v, axis=1, out=f"v{layer}_new")
        scores = graph.add(
            "MatMul", graph.shaped(q, groups, -1, width), graph.add("Transpose", k, perm=[0, 2, 1])
        )
        mixed = graph.add(
            "MatMul", graph.add("Softmax", graph.add("Add", scores, "mask"), axis=-1), v
        )
        mixed = graph.add("Transpose", graph.shaped(mixed, heads, -1, width), perm=[1, 0, 2])
        x = graph.add(
            "Add", x, product(graph.shaped(mixed, -1, heads * width), layer, "self_attn.o_proj")
        )
        y = graph.norm(
            x,
            f"{layer}.between",
            held[f"model.layers.{layer}.post_attention_layernorm.weight"],
            eps,
        )
        gate = product(y, layer, "mlp.gate_proj")
        gate = graph.add("Mul", gate, graph.add("Sigmoid", gate))
        x = graph.add(
            "Add",
            x,
            product(
                graph.add("Mul", gate, product(y, layer, "mlp.up_proj")), layer, "mlp.down_proj"
            ),
        )
        for name in (f"k{layer}", f"v{layer}"):
            ins.append(
                helper.make_tensor_value_info(name, TensorProto.FLOAT, [groups, "past", width])
            )
            outs.append(
                helper.make_tensor_value_info(
                    f"{name}_new", TensorProto.FLOAT, [groups, "all", width]
                )
            )
    x = graph.norm(x, "norm", held["model.norm.weight"], eps)
    graph.product(x, "output", held["model.embed_tokens.weight"], out="logits")
    known = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["n"])
        for name in ("tokens", "positions")
    ]
    known.append(helper.make_tensor_value_info("mask", TensorProto.FLOAT, ["rows", "all"]))
    logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["n", told["vocab_size"]])
    made = helper.make_graph(
        graph.nodes, "smollm2", known + ins, [logits, *outs], list(graph.weights.values())
    )
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


if __name__ == "__main__":
    import onnx

    onnx.save(build(Path(sys.argv[1])), sys.argv[2])
