"""Text for distillation: the target continues the openings of training documents, at temperature 1.

A draft has to agree with the target where the target goes, which is not quite where the training
text went.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from transformers import DynamicCache, LlamaForCausalLM

from tiny.tokens import Corpus, Encoded
from tiny.training import model_from

SAMPLED_SHARE = 0.5
OPENING = 24  # tokens of a training document that the target continues
BATCH = 64  # rows sampled at once


@torch.no_grad()
def sample_rows(model: LlamaForCausalLM, openings: Tensor, length: int, seed: int) -> Tensor:
    """Continue ``openings`` (B, P) to ``length`` tokens at temperature 1: (B, length).

    End-of-text is a token like others: after it the model begins another document, as in training.
    """
    generator = torch.Generator().manual_seed(seed)
    cache = DynamicCache(config=model.config)
    rows = fed = openings
    while rows.shape[1] < length:
        # (B, V)
        logits = model(fed, past_key_values=cache, use_cache=True, logits_to_keep=1).logits[:, -1]
        fed = torch.multinomial(logits.float().softmax(-1), 1, generator=generator)
        rows = torch.cat([rows, fed], 1)
    return rows


def write_distillation_corpus(out: Path, batches: int, seed: int, length: int = 257) -> None:
    """Sample ``batches`` of text from the target and write them, with the training text, to
    ``out/distill.npz``.
    """
    model = model_from(out, "target")
    corpus = Corpus.load(out / "corpus.npz")
    found = []
    for batch in range(batches):
        openings = corpus.batch(seed + 1, batch, BATCH, OPENING)
        found.append(sample_rows(model, openings, length, seed * 100_003 + batch))
        print(f"sampled batch {batch + 1}/{batches}", file=sys.stderr, flush=True)
    tokens = torch.cat(found).numpy().astype(np.uint16)  # (rows, length)
    sampled = Encoded(tokens.reshape(-1), np.arange(len(tokens) + 1) * length)
    shares = {name: share * (1 - SAMPLED_SHARE) for name, share in corpus.shares.items()}
    train = {**corpus.train, "sampled": sampled}
    Corpus(train, corpus.held_out, {**shares, "sampled": SAMPLED_SHARE}).save(out / "distill.npz")
