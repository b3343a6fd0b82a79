"""ONNX Runtime GenAI with a draft model: the text that it says, since its drafts cannot be put in
from outside.

Both models look their logits up by the last token; what the library caches for them is zeros. A
token more, without probability, stands for the end of the text, which the library demands.
"""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import onnx.parser
import onnxruntime_genai
import torch

MODEL = """<ir_version: 8, opset_import: ["": 17]>
lookup (int64[B, S] ids, float[B, 1, P, 8] past_key_0, float[B, 1, P, 8] past_value_0)
    => (float[B, S, {vocab}] logits, float[B, 1, T, 8] key_0, float[B, 1, T, 8] value_0)
<float[{vocab}, {vocab}] table = {table}, \
float[1, 1, 1, 8] zero = {{0, 0, 0, 0, 0, 0, 0, 0}}, int64[2] axes = {{1, 3}}>
{{
    logits = Gather(table, ids)
    real = Cast<to = 1>(ids)
    wide = Unsqueeze(real, axes)
    new = Mul(wide, zero)
    key_0 = Concat<axis = 2>(past_key_0, new)
    value_0 = Concat<axis = 2>(past_value_0, new)
}}"""
SIZES = {"head_size": 8, "hidden_size": 8} | dict.fromkeys(
    ("num_hidden_layers", "num_key_value_heads"), 1
)
INPUTS = {"input_ids": "ids", "past_key_names": "past_key_%d", "past_value_names": "past_value_%d"}
OUTPUTS = {"logits": "logits", "present_key_names": "key_%d", "present_value_names": "value_%d"}


def generate(p, q, gamma, length, seeds, alone=False):
    tokens = {
        "eos_token_id": len(p),
        "pad_token_id": len(p),
        "vocab_size": len(p) + 1,
        "context_length": 512,
    }
    with TemporaryDirectory() as folder:
        models = {"decoder": save(p, folder, "target")} | (
            {} if alone else {"draft": save(q, folder, "draft")}
        )
        Path(folder, "genai_config.json").write_text(
            json.dumps({"model": {"type": "llama", **models, **tokens}}), encoding="utf-8"
        )
        model = onnxruntime_genai.Model(folder)
    return [say(model, gamma, length, seed) for seed in seeds]


def say(model, gamma, length, seed):
    params = onnxruntime_genai.GeneratorParams(model)
    params.set_search_options(
        do_sample=True, top_k=0, top_p=1, max_length=length + 1, random_seed=seed
    )
    params.set_speculative_options(max_draft_tokens=gamma)  # nothing drafts without a draft model
    generator = onnxruntime_genai.Generator(model, params)
    generator.append_tokens(np.zeros(1, np.int32))
    while not generator.is_done():
        generator.generate_next_token()
    return generator.get_sequence(0)[1:].tolist()


def save(rows, folder, name):
    table = torch.nn.functional.pad(rows.log(), (0, 1, 0, 1), value=-1e9).flatten().tolist()
    text = MODEL.format(vocab=len(rows) + 1, table="{" + ", ".join(f"{x:.9g}" for x in table) + "}")
    onnx.save(onnx.parser.parse_model(text), Path(folder, f"{name}.onnx"))
    return {
        "filename": f"{name}.onnx",
        "inputs": INPUTS,
        "outputs": OUTPUTS,
        "num_attention_heads": 1,
        **SIZES,
    }
