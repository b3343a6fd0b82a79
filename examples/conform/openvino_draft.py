"""OpenVINO GenAI with a draft model: the text that it says, since its random numbers cannot be put
in from outside.

Both models look their logits up by the last token, plus next to nothing from an attention, which
the library demands.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import openvino as ov
import openvino_genai
from openvino import opset13 as ops
from openvino.op.util import Variable, VariableInfo
from openvino_tokenizers import convert_tokenizer
from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast

SIZE = 32  # of the attention's only head
DEVICE = {"device": "CPU", "INFERENCE_PRECISION_HINT": "f32"}


def generate(p, q, gamma, length, seeds, alone=False):
    scheduler = openvino_genai.SchedulerConfig()
    scheduler.cache_size = 1
    scheduler.enable_prefix_caching = False  # GB
    options = {
        "max_new_tokens": length,
        "do_sample": True,
        "ignore_eos": True,
        "eos_token_id": len(p),
    }
    with TemporaryDirectory() as target, TemporaryDirectory() as draft:
        helped = (
            {} if alone else {"draft_model": openvino_genai.draft_model(save(q, draft), **DEVICE)}
        )
        pipe = openvino_genai.LLMPipeline(
            save(p, target), scheduler_config=scheduler, **helped, **DEVICE
        )
    drafted = {} if alone else {"num_assistant_tokens": gamma}
    configs = [
        openvino_genai.GenerationConfig(**options, **drafted, rng_seed=seed) for seed in seeds
    ]
    return [
        pipe.generate(ov.Tensor(np.zeros((1, 1), np.int64)), config).tokens[0] for config in configs
    ]


def save(rows, folder):
    """A folder with the model that says what rows (V, V) have after each token, and a tokenizer,
    which goes unused.
    """
    ids = ops.parameter([-1, -1], np.int64, name="input_ids")
    beam = ops.parameter([-1], np.int32, name="beam_idx")
    hidden = ops.unsqueeze(ops.gather(np.ones((len(rows), SIZE), np.float32), ids, 0), [1])
    caches = []
    for name in ("key", "value"):
        info = VariableInfo()
        info.data_shape = ov.PartialShape([-1, 1, -1, SIZE])
        info.data_type = ov.Type.f32
        info.variable_id = name
        past = ops.gather(
            ops.read_value(np.zeros((1, 1, 0, SIZE), np.float32), Variable(info)), beam, 0
        )
        caches.append(ops.concat([past, hidden], 2))
    attention = ops.squeeze(
        ops.scaled_dot_product_attention(hidden, *caches, np.zeros((1, 1, 1, 1), np.float32)), [1]
    )
    nothing = ops.matmul(attention, np.full((SIZE, len(rows)), 1e-12, np.float32), False, False)
    logits = ops.add(ops.gather(rows.log().float().numpy(), ids, 0), nothing)
    for node, name in ((ids, "input_ids"), (beam, "beam_idx"), (logits, "logits")):
        node.output(0).set_names({name})
    kept = [ops.assign(cache, name) for cache, name in zip(caches, ("key", "value"), strict=True)]
    ov.save_model(
        ov.Model([ops.result(logits)], kept, [ids, beam]), Path(folder, "openvino_model.xml"), False
    )
    words = Tokenizer(models.WordLevel({chr(97 + i): i for i in range(len(rows))}, unk_token="a"))
    both = convert_tokenizer(
        PreTrainedTokenizerFast(tokenizer_object=words, unk_token="a"), with_detokenizer=True
    )
    for name, model in zip(("openvino_tokenizer", "openvino_detokenizer"), both, strict=True):
        ov.save_model(model, Path(folder, f"{name}.xml"))
    return folder
