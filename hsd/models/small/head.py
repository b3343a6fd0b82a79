"""The project's own head by the portable engine, in its target's instance.

See `hsd.models.head` for what it is.
"""

from collections.abc import Iterator, Sequence
from typing import Any, cast

import torch
from torch import Tensor

from hsd.errors import HsdError
from hsd.models.base import Session, View
from hsd.models.following import LAYER, Following
from hsd.models.small.engine import ROWS
from hsd.models.small.model import ModelShape, SmallModel, Text

STRAIGHT = f"{LAYER}token_proj"
ATTENTION = LAYER + "self_attn.{}_proj"
MLP = LAYER + "mlp.{}_proj"
NORMS = (
    "norm",
    *(f"{LAYER}{name}" for name in ("hidden_norm", "input_layernorm", "post_attention_layernorm")),
)


class SmallHead:
    """A head for a `SmallModel` that keeps the states it reads.

    shape: of its one layer; its vocabulary is what it drafts. weights: of these sizes, by the names
    that `hsd.models.head` has; float16 or float32, packed here into blocks of 8 bits. config: that
    of its file.
    """

    device = torch.device("cpu")
    dtype = "int16, 8bit weights"

    def __init__(
        self,
        config: dict[str, Any],
        shape: ModelShape,
        weights: dict[str, Tensor],
        target: SmallModel,
        name: str,
        revision: str | None,
    ) -> None:
        self.name = name
        self.revision = revision
        self.target = target
        self.taps = target.tapped
        self.vocab_size = target.vocab_size
        self.context = target.context
        self.stopping = config.get("stopping")
        self.vocab = weights["d2t"] + torch.arange(shape.vocab, device="cpu")
        self.drafted = shape.vocab
        engine = target.engine
        vectors = (*NORMS, "taps_norm")
        parts = {
            name.removesuffix(".weight"): weight
            for name, weight in weights.items()
            if name != "d2t"
        }
        self.parameters = sum(weight.numel() for weight in parts.values())
        places = {
            part: (engine.vector if part in vectors else engine.floats)(weight)
            for part, weight in parts.items()
        }
        names = ("fc", STRAIGHT, "lm_head", "norm", "taps_norm", *NORMS[1:3])
        self.place = engine.made(
            "head",
            target.place,
            shape.inner,
            shape.heads,
            shape.groups,
            shape.width,
            float(shape.base),
            float(shape.eps),
            int(config.get("norm_output", False)),
            *map(places.__getitem__, names),
        )
        products = (*map(ATTENTION.format, "qkvo"), *map(MLP.format, ("gate", "up", "down")))
        engine.call("layer", self.place, 0, 0, places[NORMS[3]], *map(places.__getitem__, products))

    def start(self) -> "SmallHeadSession":
        return SmallHeadSession(self)


class SmallHeadSession(Following, Text):
    """A text read by a draft head from the hidden states of a target's session.

    It is in the target's engine.
    """

    def __init__(self, model: SmallHead) -> None:
        engine = model.target.engine
        super().__init__(engine, engine.made("follow", model.place), model.vocab_size, model.vocab)
        self._model = model
        self._target = cast(Text, None)

    def follow(self, target: Session) -> None:
        """Draft from the hidden states of this session of the target.

        Raises HsdError if it does not keep them.
        """
        if getattr(target, "engine", None) is not self.engine:
            raise HsdError(
                f"{self._model.name} drafts from its own target's hidden states, which this system "
                "lacks"
            )
        self._target = cast(Text, target)

    def passes(
        self, tokens: Sequence[int], keep: int, view: View | None = None
    ) -> Iterator[tuple[int, int]]:
        assert self._target is not None, "follow a session of the target first"
        for before, part, sure in self.cut(
            len(tokens), self.length, self._target.length, view, ROWS
        ):
            places = self._model.place, self.place, self._target.place if sure else 0
            with self.engine.lock:
                self.engine.tell("before", before)
                yield self._pass("guess", places, tokens, part, keep, view)

    def keep(self, length: int) -> None:
        Text.crop(self, length)

    def close(self) -> None:
        self.sure = 0
        super().close()
