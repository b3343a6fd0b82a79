"""The sampling of transformers' assisted generation, as installed; its random numbers are put in
from outside.

`torch.multinomial` with one sample divides by exponential numbers and takes the largest, which is
what stands in here.
"""

from inspect import signature
from unittest.mock import patch

import torch
from transformers.generation.utils import _speculative_sampling

NOISE = "exponential-race"
DTYPE = "float32"  # the precision in which generate holds the logits
WEIGHT = None  # assistant_ensemble_weight
# Older versions, 5.17 for one, want to know whether the draft has reached the end of the text.
OLDER = (
    {"is_done_candidate": False}
    if "is_done_candidate" in signature(_speculative_sampling).parameters
    else {}
)


def verify(p, q, tokens, uniforms, noise, weight=WEIGHT):
    given = (tokens[None], q.log()[None], len(tokens), p.log()[None])
    with (
        patch.object(torch, "rand_like", lambda ratio: uniforms.reshape(ratio.shape)),
        patch.object(
            torch, "multinomial", lambda row, num_samples: (row / noise).argmax(-1, keepdim=True)
        ),
    ):
        committed, _ = _speculative_sampling(*given, assistant_ensemble_weight=weight, **OLDER)
    return committed[0].tolist()
