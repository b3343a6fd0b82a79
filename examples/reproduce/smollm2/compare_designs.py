"""Which design drafts best at the same cost: python examples/reproduce/smollm2/compare_designs.py

Three drafts see the same texts of write_text.py in the same order, about `--tokens` of them, with
the same steps:

  head     one layer on the target's hidden states (train_head.py)
  layers   the target's first and last layer, tuned
  narrow   a model of its own, four layers of width 384, whose embedding is the target's, made
           narrower

All share the target's embedding and have the same draft vocabulary, and each multiplies nine to
eleven million numbers for a drafted token, 0.07 to 0.08 of the target's. A model of its own drafts
its second token as well as its first; a head does not. Two more questions are answered the same
way:

  untried  the head again, trained to draft one token only: without the training-time test of
           several in a row
  normed   the head again, whose output is normed before it is fed back (EAGLE-3.1's `norm_output`)
  turning, heated   the head again by another loss: one that turns from cross-entropy to total
           variation as acceptance grows (`training.turning`); and the usual one with every second
           step at temperature 0.7
  exit-4, exit-16   what the target's own hidden state tells after so many of its layers, by a norm,
           a matrix of low rank added to it, and the target's embedding: an early exit of a model
           whose layers stay as they are

After every third of the training it tells Σ min(p, q) on text held out, by kind of text, and writes
it to `--out`; `--designs` names which of them are trained, and what others have is kept there.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from train_exit import Exit, loss_of, measure
from train_head import loss_of as loss_of_head
from train_head import measure as measure_head
from train_head import new_head
from training import (
    Batch,
    Training,
    arguments,
    begin,
    distance,
    draft_vocabulary,
    endless,
    held_out,
    turning,
)
from transformers import LlamaConfig, LlamaModel
from write_text import TAPS

THIRDS = 3
IN_A_ROW = 3  # tellings; drafted tokens that a head is measured over
# of their own
NO_TOKENS = {"vocab_size": 1, "pad_token_id": None, "bos_token_id": None, "eos_token_id": None}


class Own(nn.Module):
    """A draft that is a language model: layers of a Llama between the target's embedding and a
    matrix of its own.
    """

    def __init__(self, config: LlamaConfig, into: Tensor | None, rows: Tensor) -> None:
        """into (hidden, target's hidden): how the embedding is made narrower; rows (vocab, hidden):
        where it begins.
        """
        super().__init__()
        self.into = None if into is None else nn.Parameter(into)
        self.body = LlamaModel(config)
        self.lm_head = nn.Parameter(rows)

    def logits(self, batch: Batch, embedding: Tensor) -> Tensor:
        """(places judged, draft vocabulary)"""
        embedded = embedding[batch.tokens]
        x = embedded if self.into is None else (embedded @ self.into.T).float()
        return (
            self.body(inputs_embeds=x, use_cache=False).last_hidden_state[batch.judged]
            @ self.lm_head.T
        )


def of_layers(target: Any, vocab: Tensor) -> Own:
    config = LlamaConfig(**{**target.config.to_dict(), **NO_TOKENS, "num_hidden_layers": 2})
    own = Own(config, None, target.model.embed_tokens.weight.detach()[vocab].clone())
    for mine, theirs in zip(
        own.body.layers, (target.model.layers[0], target.model.layers[-1]), strict=True
    ):
        mine.load_state_dict(theirs.state_dict())
    own.body.norm.load_state_dict(target.model.norm.state_dict())
    return own


def narrow(target: Any, vocab: Tensor) -> Own:
    """Its embedding keeps those directions of the target's that hold most of it."""
    embedding = target.model.embed_tokens.weight.detach()
    into = torch.linalg.eigh(embedding.T @ embedding).eigenvectors[:, -384:].T.contiguous()
    sizes = {
        "hidden_size": 384,
        "intermediate_size": 1024,
        "num_attention_heads": 6,
        "num_key_value_heads": 6,
    }
    config = LlamaConfig(**sizes, **NO_TOKENS, num_hidden_layers=4, max_position_embeddings=2048)
    return Own(config, into, embedding[vocab] @ into.T)


def exit_after(place: int, target: Any, vocab: Tensor) -> Exit:
    return Exit(place, target, vocab)


def cost(draft: nn.Module) -> int:
    """Numbers that a drafted token is multiplied by."""
    return sum(p.numel() for p in draft.parameters() if p.ndim == 2 and min(p.shape) > 8)


@dataclass(frozen=True)
class Design:
    """made: from the target and the draft vocabulary. steps: drafted tokens in a row that it is
    trained for.

    measured_by, heats: a head's loss, and the temperatures of its steps, in turn.
    """

    made: Callable[[Any, Tensor], nn.Module]
    steps: int = 0
    measured_by: Callable[[Tensor, Tensor], Tensor] = distance
    heats: tuple[float, ...] = (1.0,)

    def loss(self, step: int) -> Callable[..., Tensor]:
        heat = self.heats[step % len(self.heats)]
        return (
            partial(loss_of_head, steps=self.steps, measured=self.measured_by, heat=heat)
            if self.steps
            else loss_of
        )

    def measured(
        self, draft: Any, held: list[Batch], embedding: Tensor, vocab: Tensor
    ) -> dict[str, Any]:
        return (
            measure_head(draft, held, embedding, vocab, IN_A_ROW)
            if self.steps
            else measure(draft, held, embedding, vocab)
        )


DESIGNS = {
    "head": Design(new_head, steps=IN_A_ROW),
    "untried": Design(new_head, steps=1),
    "normed": Design(partial(new_head, norm_output=True), steps=IN_A_ROW),
    "turning": Design(new_head, steps=IN_A_ROW, measured_by=turning),
    "heated": Design(new_head, steps=IN_A_ROW, heats=(1.0, 0.7)),
    "layers": Design(of_layers),
    "narrow": Design(narrow),
    **{f"exit-{TAPS[place]}": Design(partial(exit_after, place)) for place in (0, 1)},
}


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--out", type=Path, required=True, help="JSON file of what was measured")
    parser.add_argument(
        "--tokens", type=int, default=300_000, help="that each design sees (default 300,000)"
    )
    parser.add_argument("--designs", default=",".join(DESIGNS), help="with commas (default: all)")
    args = parser.parse_args()
    names = args.designs.split(",")
    target = begin(args)
    vocab = draft_vocabulary(args, target.config.vocab_size)
    embedding = target.model.embed_tokens.weight.detach()
    held = held_out(args.shards)
    known = json.loads(args.out.read_text(encoding="utf-8")) if args.out.exists() else []
    found = [line for line in known if line["design"] not in names]
    rows = embedding[vocab].contiguous()
    for name in names:
        target = begin(args)
        design = DESIGNS[name]  # the same chance for all
        draft: Any = design.made(target, vocab)
        training = Training(draft, draft.lm_head, args.rate, args.bfloat16)
        seen = 0
        thirds = 1
        started = time.time()
        for step, (_, batch) in enumerate(endless(args.shards, args.batch)):
            training.step(
                partial(design.loss(step), draft, batch, embedding, rows), seen / args.tokens
            )
            seen += int(batch.judged.sum())
            if seen >= args.tokens * thirds / THIRDS:
                thirds += 1
                with training.averaged():
                    met = design.measured(draft, held, embedding, vocab)
                line = {
                    "design": name,
                    "cost": cost(draft),
                    "tokens": seen,
                    "seconds": round(time.time() - started),
                }
                found.append({**line, **met})
                print(json.dumps(found[-1]), flush=True)
                args.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
            if thirds > THIRDS:
                break


if __name__ == "__main__":
    main()
