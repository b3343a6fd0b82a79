"""The project's own head by the portable engine, in its target's instance. See `hsd.models.head` for what it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

import torch
from torch import Tensor

from hsd.errors import HsdError
from hsd.models.base import Session, View
from hsd.models.head import LAYER, Following, spread
from hsd.models.small.engine import ROWS
from hsd.models.small.model import Shape, SmallModel, Text

STRAIGHT, ATTENTION, MLP = f"{LAYER}token_proj", LAYER + "self_attn.{}_proj", LAYER + "mlp.{}_proj"
NORMS = ("norm", *(f"{LAYER}{name}" for name in ("hidden_norm", "input_layernorm", "post_attention_layernorm")))


def shapes_of(
    hidden: int, inner: int, heads: int, groups: int, width: int, taps: int, drafted: int
) -> dict[str, tuple[int, ...]]:
    """Return the shapes of a head's weights by their names, which files end with ".weight"."""
    queries, kept = heads * width, groups * width
    return {
        "fc": (hidden, taps * hidden), **{ATTENTION.format(part): (kept, 2 * hidden) for part in "kv"},
        ATTENTION.format("q"): (queries, 2 * hidden), ATTENTION.format("o"): (hidden, queries),
        MLP.format("gate"): (inner, hidden), MLP.format("up"): (inner, hidden), MLP.format("down"): (hidden, inner),
        **dict.fromkeys(NORMS, (hidden,)), "lm_head": (drafted, hidden), STRAIGHT: (hidden, hidden),
        "taps_norm": (taps, hidden),
    }  # fmt: skip


class SmallHead:
    """A head for a `SmallModel` that keeps the states it reads.

    weights: of the file, by the names that `hsd.models.head` has; float16 or float32, packed here into blocks of 8
    bits. config: the file's. Raises HsdError for heads of another form than the project's own.
    """

    device, dtype = torch.device("cpu"), "int16, 8bit weights"

    def __init__(
        self, config: dict[str, Any], weights: dict[str, Tensor], target: SmallModel, name: str, revision: str | None
    ) -> None:
        hidden = target.shape.hidden
        if any(f"{name}.weight" not in weights for name in (STRAIGHT, "taps_norm")) or "target_layers" not in config:
            raise HsdError("the portable engine reads heads that this project trained: choose another engine")
        if tuple(config["target_layers"]) != target.tapped or config["hidden_size"] != hidden:
            raise HsdError(f"this head is for another target than {target.name}: choose another head")
        self.name, self.revision, self.target, self.taps = name, revision, target, target.tapped
        self.vocab_size, self.context, self.stopping = target.vocab_size, target.context, config.get("stopping")
        self.vocab = weights["d2t"] + torch.arange(len(weights["d2t"]))
        self.drafted = len(self.vocab)  # how many tokens it can draft
        self.parameters = sum(w.numel() for name, w in weights.items() if name not in ("d2t", "t2d"))
        engine, heads, inner = target.engine, config["num_attention_heads"], config["intermediate_size"]
        groups, width = config.get("num_key_value_heads", heads), config.get("head_dim", target.shape.width)
        base, eps = config.get("rope_theta", 10_000.0), config["rms_norm_eps"]
        Shape(1, hidden, inner, heads, groups, width, len(self.vocab), self.context, base, eps).check()
        shapes = shapes_of(hidden, inner, heads, groups, width, len(self.taps), len(self.vocab))
        for part, shape in shapes.items():
            held = weights[f"{part}.weight"]
            if tuple(held.shape) != shape or not held.is_floating_point() or not held.isfinite().all():
                raise HsdError(f"the head's {part} is not {shape} finite numbers: choose another head")
        if not bool(((self.vocab >= 0) & (self.vocab < self.vocab_size)).all()):
            raise HsdError("the head drafts tokens that its target does not have: choose another head")

        kinds = {part: engine.vector if part in (*NORMS, "taps_norm") else engine.floats for part in shapes}
        places = {part: pack(weights[f"{part}.weight"]) for part, pack in kinds.items()}
        names = ("fc", STRAIGHT, "lm_head", "norm", "taps_norm", *NORMS[1:3])
        self.place = engine.made(
            "head", target.place, inner, heads, groups, width, float(base), float(eps),
            int(config.get("norm_output", False)), *map(places.__getitem__, names),
        )  # fmt: skip
        products = (*map(ATTENTION.format, "qkvo"), *map(MLP.format, ("gate", "up", "down")))
        engine.call("layer", self.place, 0, 0, places[NORMS[3]], *map(places.__getitem__, products))

    def start(self) -> SmallHeadSession:
        return SmallHeadSession(self)


class SmallHeadSession(Following, Text):
    """A text read by a draft head from the hidden states of a target's session, in the target's engine."""

    def __init__(self, model: SmallHead) -> None:
        engine = model.target.engine
        super().__init__(engine, engine.made("follow", model.place), model.vocab_size, model.vocab)
        self._model, self._target = model, cast(Text, None)

    def follow(self, target: Session) -> None:
        """Draft from the hidden states of this session of the target. Raises HsdError if it does not keep them."""
        if getattr(target, "engine", None) is not self.engine:
            raise HsdError(f"{self._model.name} drafts from its own target's hidden states, which this system lacks")
        self._target = cast(Text, target)

    def forward(self, tokens: Tensor, keep: int, view: View | None = None) -> Tensor:
        """Read `tokens` (n,); logits after the last `keep` of them, (keep, vocab), -inf for what it cannot draft."""
        return spread(super().forward(tokens, keep, view), self._model.vocab, self.vocab)

    def passes(self, tokens: Sequence[int], keep: int, view: View | None = None) -> Iterator[tuple[int, int]]:
        assert self._target is not None, "follow a session of the target first"
        for before, part, sure in self.cut(len(tokens), self.length, self._target.length, view, ROWS):
            places = self._model.place, self.place, self._target.place if sure else 0
            with self.engine.lock:
                self.engine.tell("before", before)
                yield self._pass("guess", places, tokens, part, keep, view)

    def keep(self, length: int) -> None:
        Text.crop(self, length)

    def close(self) -> None:
        self.sure = 0
        super().close()
