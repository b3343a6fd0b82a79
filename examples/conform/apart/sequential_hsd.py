"""`capped_hsd` of the package sequential-speculative-decoding, which says that it is lossless."""

from types import SimpleNamespace
from unittest.mock import patch

import torch
from seqspecdecod import capped_hsd


def verify(p, q, tokens, uniforms, noise):
    gamma = len(tokens)
    drafted = iter(tokens)
    coins = iter(uniforms.flip(0))  # it tests from the end

    def logits(model, ids):
        row = min(ids.shape[1] - 1, gamma)
        return (
            model.rows[: gamma + 1].log()[None]
            if model.whole
            else model.rows[row : row + 1].log()[None]
        )

    def sample(row):
        chosen = next(drafted, None)
        return (
            torch.searchsorted(row.cumsum(0), noise * row.sum(), right=True)
            if chosen is None
            else chosen
        )

    target = SimpleNamespace(rows=p, whole=True)
    draft = SimpleNamespace(rows=q, whole=False)
    with (
        patch.object(capped_hsd, "get_logits", logits),
        patch.object(capped_hsd, "sample_from_probs", sample),
        patch.object(torch, "rand", lambda *_, **__: next(coins)[None]),
    ):
        text = torch.zeros(1, 1, dtype=torch.int64)
        found, *_ = capped_hsd.capped_hsd_step(draft, target, text, gamma, 1.0, 1.0)
    return found[0, 1:].tolist()
