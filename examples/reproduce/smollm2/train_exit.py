"""Train an early exit of SmolLM2: python examples/reproduce/smollm2/train_exit.py

The target's layers stay as they are. What one of its hidden states tells of the next token is a
norm, a matrix of low rank added to it, and the rows of the target's own embedding for the tokens
that the head of `--head` knows, too: an exit has some 56,000 numbers of its own. Writes
`exit-N.safetensors` for the exit after layer N, and beside it what was met on text held out.
"""

from __future__ import annotations

import json
import time
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from torch import Tensor, nn
from train_head import vocabulary_of
from training import Batch, Meeting, Training, arguments, begin, distance, endless, held_out
from write_text import TAPS

TELLINGS = 6  # how often it is measured on the way


class Exit(nn.Module):
    """Predict from one hidden state of the target, normed and corrected by a low-rank matrix."""

    def __init__(self, tap: int, target: Any, vocab: Tensor, rank: int = 64) -> None:
        """tap: its place among those that were written; vocab: the target's ids of the tokens that
        it knows.
        """
        super().__init__()
        hidden = target.config.hidden_size
        self.tap = tap
        self.eps = target.config.rms_norm_eps
        self.norm = nn.Parameter(target.model.norm.weight.detach().clone())
        self.into = nn.Parameter(torch.randn(rank, hidden) * hidden**-0.5)
        self.out = nn.Parameter(torch.zeros(hidden, rank))
        self.lm_head = nn.Parameter(
            target.model.embed_tokens.weight.detach()[vocab], requires_grad=False
        )

    def logits(self, batch: Batch, _: Tensor) -> Tensor:
        """(places judged, draft vocabulary)"""
        known = batch.states[:, :, self.tap][batch.judged]
        x = F.rms_norm(known, known.shape[-1:], self.norm, self.eps)
        return (x + F.silu(x @ self.into.T) @ self.out.T) @ self.lm_head.T


def loss_of(draft: Any, batch: Batch, embedding: Tensor, rows: Tensor) -> Tensor:
    """The distance of a draft that needs no steps of its own from the target, over the draft
    vocabulary.
    """
    with torch.no_grad():
        theirs = batch.last[batch.judged] @ rows.T
    return distance(draft.logits(batch, embedding), theirs)


@torch.no_grad()
def measure(draft: Any, held: list[Batch], embedding: Tensor, vocab: Tensor) -> dict[str, Any]:
    """See `Meeting.report`."""
    meeting = Meeting(1)
    for batch in held:
        domains = batch.domains[:, None].expand(batch.judged.shape)[batch.judged]
        meeting.add(
            0,
            domains,
            draft.logits(batch, embedding),
            batch.last[batch.judged] @ embedding.T,
            vocab,
        )
    return meeting.report()


def save(draft: Exit, vocab: Tensor, tokens: int, folder: Path) -> None:
    """The exit in 16 bits, with the offsets of its vocabulary from its ids, as a head has them."""
    depth = TAPS[draft.tap]
    numbers = {name: getattr(draft, name).detach().half() for name in ("norm", "into", "out")}
    offsets = (vocab - torch.arange(len(vocab))).to(torch.uint16)
    about = {"layer": str(depth), "rank": str(len(draft.into)), "tokens": str(tokens)}
    save_file(numbers | {"d2t": offsets}, folder / f"exit-{depth}.safetensors", about)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument(
        "--head", type=Path, required=True, help="folder of the head whose vocabulary it gets"
    )
    parser.add_argument("--out", type=Path, required=True, help="folder of the exit")
    parser.add_argument(
        "--layer", type=int, choices=TAPS, default=TAPS[0], help=f"default {TAPS[0]}"
    )
    parser.add_argument("--rank", type=int, default=48)
    parser.add_argument(
        "--tokens", type=int, default=3_000_000, help="that it sees (default 3,000,000)"
    )
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    target = begin(args)
    vocab = vocabulary_of(args.head)
    embedding = target.model.embed_tokens.weight.detach()
    held = held_out(args.shards)
    draft = Exit(TAPS.index(args.layer), target, vocab, args.rank)
    rows = embedding[vocab].contiguous()
    del target
    training = Training(draft, draft.lm_head, args.rate, args.bfloat16)
    seen = 0
    log = []
    started = time.time()
    for _, batch in endless(args.shards, args.batch):
        training.step(partial(loss_of, draft, batch, embedding, rows), seen / args.tokens)
        seen += int(batch.judged.sum())
        if seen < args.tokens * (len(log) + 1) / TELLINGS:
            continue
        with training.averaged():
            minutes = round((time.time() - started) / 60, 1)
            log.append(
                {"tokens": seen, "minutes": minutes, **measure(draft, held, embedding, vocab)}
            )
            save(draft, vocab, seen, args.out)
        (args.out / f"exit-{args.layer}.json").write_text(
            json.dumps(log, indent=1) + "\n", encoding="utf-8"
        )
        print(json.dumps(log[-1]), flush=True)
        if len(log) == TELLINGS:
            return


if __name__ == "__main__":
    main()
