"""The embedded models' shapes, and the two losses they are trained with.

All are Llama models of ``transformers``. The target also learns to predict from two shallow exits
through the shared final norm and head, so that its own first layers can draft for it (LayerSkip,
arXiv 2404.16710).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import LlamaConfig, LlamaForCausalLM

from tiny.tokens import CONTEXT, VOCABULARY


@dataclass(frozen=True)
class Shape:
    """Depth and width of one model; ``exits`` counts the layers before each trained early exit."""

    layers: int
    width: int
    heads: int
    inner: int
    exits: tuple[int, ...] = ()


SHAPES = {
    "target": Shape(layers=8, width=192, heads=6, inner=512, exits=(2, 4)),
    "middle": Shape(layers=3, width=128, heads=4, inner=344),
    "draft": Shape(layers=1, width=128, heads=4, inner=344),
}
EXIT_WEIGHT = 0.25
HARD_SHARE = 0.1  # of next-token cross-entropy in the loss of distillation


def build_model(
    shape: Shape, end_id: int, seed: int, vocabulary: int = VOCABULARY
) -> LlamaForCausalLM:
    """A freshly initialised float32 model, the same for the same seed."""
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=shape.width,
        intermediate_size=shape.inner,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.heads,
        max_position_embeddings=CONTEXT,
        tie_word_embeddings=True,
        bos_token_id=end_id,
        eos_token_id=end_id,
        pad_token_id=end_id,
        attn_implementation="eager",  # compiles to faster CPU code than the fused kernel
    )
    if shape.exits:
        config.early_exits = list(shape.exits)
    return LlamaForCausalLM(config)


def hidden_states(model: LlamaForCausalLM, ids: Tensor) -> list[Tensor]:
    """States after each layer, before the final norm: as many (B, T, D) tensors as layers. No
    cache, causal.
    """
    body = model.model
    hidden = body.embed_tokens(ids)
    length = ids.shape[1]
    positions = torch.arange(length)[None]
    rotary = body.rotary_emb(hidden, positions)
    mask = torch.full((length, length), -1e4, dtype=hidden.dtype).triu(1)[None, None]
    states = []
    for layer in body.layers:
        hidden = layer(
            hidden, attention_mask=mask, position_ids=positions, position_embeddings=rotary
        )
        states.append(hidden)
    return states


def logits_of(model: LlamaForCausalLM, hidden: Tensor) -> Tensor:
    """Final norm and head: (B, T, D) to (B, T, V) in float32."""
    return model.lm_head(model.model.norm(hidden)).float()


class TargetLoss(nn.Module):
    """Next-token cross-entropy of the last layer, plus that of one early exit, weighted
    ``EXIT_WEIGHT``.
    """

    def __init__(self, model: LlamaForCausalLM, exits: tuple[int, ...]) -> None:
        super().__init__()
        self.model = model
        self.exits = exits

    def forward(self, ids: Tensor, turn: Tensor) -> tuple[Tensor, Tensor]:
        """The loss to descend, and the cross-entropy of the last layer in nats per token.

        ids: (B, T + 1). turn: (exits,), 1 for the exit whose turn it is; a tensor, so that nothing
        is compiled anew.
        """
        states = hidden_states(self.model, ids[:, :-1])
        loss = nats = cross_entropy(logits_of(self.model, states[-1]), ids[:, 1:])
        if self.exits:
            early = sum(
                flag * states[depth - 1] for flag, depth in zip(turn, self.exits, strict=True)
            )
            loss = nats + EXIT_WEIGHT * cross_entropy(logits_of(self.model, early), ids[:, 1:])
        return loss, nats.detach()


class DistillLoss(nn.Module):
    """``HARD_SHARE`` of next-token cross-entropy, and KL(teacher || student) at temperature 1."""

    def __init__(self, model: LlamaForCausalLM, teacher: LlamaForCausalLM) -> None:
        super().__init__()
        self.model = model
        # in a list so that it is no sub-module: its weights take no part in training
        self.teacher = [teacher]

    def forward(self, ids: Tensor, turn: Tensor) -> tuple[Tensor, Tensor]:
        """The loss to descend, and the student's cross-entropy; arguments as above, ``turn`` is not
        used.
        """
        inputs = ids[:, :-1]
        with torch.no_grad():
            teacher = self.teacher[0]
            # (B, T, V)
            wanted = logits_of(teacher, hidden_states(teacher, inputs)[-1]).log_softmax(-1)
        logits = logits_of(self.model, hidden_states(self.model, inputs)[-1])
        nats = cross_entropy(logits, ids[:, 1:])
        divergence = (
            F.kl_div(logits.log_softmax(-1), wanted, reduction="none", log_target=True)
            .sum(-1)
            .mean()
        )
        return HARD_SHARE * nats + (1 - HARD_SHARE) * divergence, nats.detach()


def cross_entropy(logits: Tensor, wanted: Tensor) -> Tensor:
    """Mean nats per token: (B, T, V), (B, T) to ()."""
    return F.cross_entropy(logits.flatten(0, 1), wanted.flatten())


@torch.no_grad()
def nats_per_token(model: LlamaForCausalLM, rows: Tensor, depth: int | None = None) -> float:
    """Mean cross-entropy over ``rows`` (N, T + 1), read after ``depth`` layers (all of them by
    default).
    """
    layer = (depth or model.config.num_hidden_layers) - 1
    chunks = rows.split(8)
    nats = [
        cross_entropy(logits_of(model, hidden_states(model, ids[:, :-1])[layer]), ids[:, 1:])
        for ids in chunks
    ]
    return sum(len(ids) * value.item() for ids, value in zip(chunks, nats, strict=True)) / len(rows)
