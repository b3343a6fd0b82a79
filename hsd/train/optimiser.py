"""Muon for the matrices, AdamW for embeddings and norms, and a learning rate whose end can be moved."""

from __future__ import annotations

import torch
from torch import Tensor
from transformers import PreTrainedModel

MUON_RATE = 0.008
ADAM_RATE = 0.004
WARM_UP = 100  # steps
DECAY_SHARE = 0.25  # the last quarter of the steps


def rate_factor(step: int, steps: int) -> float:
    """Trapezoid: warm-up, constant, then linear to 2 % at the end. ``steps`` may change during the constant part."""
    warm = min(1.0, (step + 1) / min(WARM_UP, max(1, steps // 10)))
    left = (steps - step) / max(1.0, DECAY_SHARE * steps)
    return min(warm, max(0.02, min(1.0, left)))


class Optimiser:
    """Both optimisers over one flat gradient buffer, so that gradients are averaged and clipped in one go."""

    def __init__(self, model: PreTrainedModel, scale: float = 1.0) -> None:
        parameters = [p for p in model.parameters() if p.requires_grad]
        self.gradient = torch.zeros(sum(p.numel() for p in parameters))
        offset = 0
        for p in parameters:
            p.grad = self.gradient[offset : offset + p.numel()].view_as(p)
            offset += p.numel()
        embedding = model.get_input_embeddings().weight
        matrices = [p for p in parameters if p.ndim == 2 and p is not embedding]
        others = [p for p in parameters if p.ndim != 2 or p is embedding]
        self.muon = torch.optim.Muon(matrices, lr=MUON_RATE * scale, weight_decay=0.05)
        self.adam = torch.optim.AdamW(others, lr=ADAM_RATE * scale, betas=(0.9, 0.95), weight_decay=0.0)
        self.rates = (MUON_RATE * scale, ADAM_RATE * scale)

    def zero(self) -> None:
        """Clear the gradients, keeping the buffer."""
        self.gradient.zero_()

    def step(self, factor: float, clip: float = 1.0) -> None:
        """Clip the gradient to norm ``clip`` and update with both rates times ``factor``."""
        norm = self.gradient.norm()
        self.gradient.mul_(torch.clamp(clip / (norm + 1e-6), max=1.0))
        for optimiser, rate in zip((self.muon, self.adam), self.rates, strict=True):
            for group in optimiser.param_groups:
                group["lr"] = rate * factor
            optimiser.step()

    def state(self) -> dict[str, dict[str, Tensor]]:
        """What ``load`` needs to go on."""
        return {"muon": self.muon.state_dict(), "adam": self.adam.state_dict()}

    def load(self, state: dict) -> None:
        """Continue from ``state()``."""
        self.muon.load_state_dict(state["muon"])
        self.adam.load_state_dict(state["adam"])
