"""The sampling of transformers' assisted generation, as installed; its random numbers are put in from outside.

`torch.multinomial` with one sample divides by exponential numbers and takes the largest, which is what stands in here.
"""

from unittest.mock import patch

import torch
from transformers.generation.utils import _speculative_sampling

NOISE = "exponential-race"
DTYPE = "float32"  # the precision in which generate holds the logits
WEIGHT = None  # assistant_ensemble_weight


def verify(p, q, tokens, uniforms, noise, weight=WEIGHT):
    given = (tokens[None], q.log()[None], len(tokens), p.log()[None], weight)
    with (
        patch.object(torch, "rand_like", lambda ratio: uniforms.reshape(ratio.shape)),
        patch.object(torch, "multinomial", lambda row, num_samples: (row / noise).argmax(-1, keepdim=True)),
    ):
        committed, _ = _speculative_sampling(*given)
    return committed[0].tolist()
