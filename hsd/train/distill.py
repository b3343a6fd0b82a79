"""Text for distillation: the target continues the openings of training documents, at temperature 1.

A draft has to agree with the target where the target goes, which is not quite where the training text went.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import torch
import torch.multiprocessing as mp
from torch import Tensor
from transformers import DynamicCache, LlamaForCausalLM

from hsd.train.checkpoint import model_from
from hsd.train.mixture import Encoded, Mixture
from hsd.train.network import Shape

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
        logits = model(fed, past_key_values=cache, use_cache=True, logits_to_keep=1).logits[:, -1]  # (B, V)
        fed = torch.multinomial(logits.float().softmax(-1), 1, generator=generator)
        rows = torch.cat([rows, fed], 1)
    return rows


def write_distillation_corpus(
    out: Path, batches: int, seed: int, processes: int = 2, length: int = 257, shape: Shape | None = None
) -> Path:
    """Sample ``batches`` of text from the target and write them, with the training text, to ``out/distill.npz``."""
    arguments = (out, batches, seed, processes, length, shape)
    if processes == 1:
        _sample(0, *arguments)
    else:
        mp.start_processes(_sample, arguments, nprocs=processes, start_method="spawn")
    parts = [out / f"sampled-{rank}.npy" for rank in range(processes)]
    tokens = np.concatenate([np.load(part) for part in parts])  # (rows, length)
    for part in parts:
        part.unlink()
    mixture = Mixture.load(out / "corpus.npz")
    sampled = Encoded(tokens.reshape(-1), np.arange(len(tokens) + 1) * length)
    shares = {name: share * (1 - SAMPLED_SHARE) for name, share in mixture.shares.items()}
    path = out / "distill.npz"
    train = {**mixture.train, "all/sampled": sampled}
    Mixture(train, mixture.held_out, {**shares, "all/sampled": SAMPLED_SHARE}).save(path)
    return path


def _sample(rank: int, out: Path, batches: int, seed: int, processes: int, length: int, shape: Shape | None) -> None:
    torch.set_num_threads(1)
    model = model_from(out, "target", shape).bfloat16()
    mixture = Mixture.load(out / "corpus.npz")
    rows, began = [], time.monotonic()
    for batch in range(rank, batches, processes):
        openings, _ = mixture.batch(seed + 1, batch, BATCH, OPENING)
        rows.append(sample_rows(model, openings, length, seed * 100_003 + batch))
        if rank == 0:
            speed = len(rows) * BATCH * length * processes / (time.monotonic() - began)
            print(f"sampled batch {batch + 1}/{batches}  {speed:,.0f} tokens/s", file=sys.stderr, flush=True)
    np.save(out / f"sampled-{rank}.npy", torch.cat(rows).numpy().astype(np.uint16))
