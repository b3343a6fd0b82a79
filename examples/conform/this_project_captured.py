"""The same step by the captured engine, which is a CUDA graph on a GPU and the same code without
one on a CPU.
"""

from functools import cache

import this_project
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from hsd.models.causal import CausalModel

DTYPE = this_project.DTYPE


def verify(p, q, tokens, uniforms, noise):
    with torch.inference_mode():
        return this_project.verify(
            p,
            q,
            tokens,
            uniforms,
            noise,
            lambda rows, name: CausalModel(model(rows, name), name),
            "captured",
        )


def model(rows, name):
    """A model of transformers whose logits at position t are row t, its position embedding: the
    block adds nothing.
    """
    made = blank(rows.shape[1], name)
    weight = rows.log().clamp(min=-1e4)
    weight = torch.cat([weight, weight[-1:].expand(made.config.n_positions - len(rows), -1)])
    made.transformer.wpe.weight.data.copy_(weight)
    return made


@cache
def blank(vocab, name):
    sizes = {
        "n_positions": 64,
        "n_embd": vocab,
        "n_layer": 1,
        "n_head": 1,
        "tie_word_embeddings": False,
    }
    made = GPT2LMHeadModel(
        GPT2Config(vocab_size=vocab, bos_token_id=None, eos_token_id=None, **sizes)
    ).eval()
    block = made.transformer.h[0]
    made.transformer.ln_f = torch.nn.Identity()
    for layer in (made.transformer.wte, block.attn.c_proj, block.mlp.c_proj):
        layer.weight.data.zero_()
    made.lm_head.weight.data.copy_(torch.eye(vocab))
    return made
