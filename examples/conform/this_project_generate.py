"""`custom_generate` of this project inside transformers' own generate, rule hsd, on models with the
given rows.
"""

from types import SimpleNamespace
from unittest.mock import patch

import this_project
import torch
from this_project_captured import model

import hsd

DTYPE = this_project.DTYPE


def verify(p, q, tokens, uniforms, noise):
    target = model(p, "target")
    draft = model(q, "draft")
    steps = []
    with patch(
        "hsd.decoding.loop.Streams", lambda seed: this_project.numbers(q, tokens, uniforms, noise)
    ):
        target.generate(
            torch.zeros(1, 1, dtype=torch.int64),
            custom_generate=hsd.custom_generate,
            assistant_model=draft,
            streamer=SimpleNamespace(put=lambda new: steps.append(new.tolist()), end=list),
            rule="hsd",
            gamma=len(tokens),
            max_new_tokens=len(tokens) + 1,
            do_sample=True,
            top_k=0,
        )
    return steps[1]  # the first that comes is the prompt
