"""Early exits by the portable engine, and texts that several exits read. See `hsd.models.exits`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from hsd.errors import HsdError
from hsd.models.exits import SharedText
from hsd.models.following import spread
from hsd.models.small.model import MOST_TAPS, SmallModel, Text


@dataclass(frozen=True)
class SmallExit:
    """An exit's own head.

    place: in the engine's memory. drafted: the target's ids that it can draft, in order.
    """

    place: int
    drafted: Tensor
    parameters: int


class SmallLayers:
    """The layers and exits of a `SmallModel`, see `hsd.models.exits.Layers`.

    trained: depths that its head fits.
    """

    def __init__(
        self, model: SmallModel, exits: dict[int, SmallExit], trained: Sequence[int] = ()
    ) -> None:
        shape = model.shape
        hidden = shape.hidden
        kept = shape.groups * shape.width
        self._layer = 2 * hidden * (shape.queries + kept) + 3 * hidden * shape.inner
        self._model = model
        self.exits = exits
        self.layers = shape.layers
        self.trained = tuple(sorted({*exits, *trained}))
        self.head_cost = shape.vocab * hidden / self._layer

    def exit(self, depth: int) -> tuple[int, int | None]:
        own = self.exits.get(depth)
        layers_above = (self.layers - depth) * (self._layer + 2 * self._model.shape.hidden)
        parameters = self._model.parameters - layers_above
        return (parameters + own.parameters, len(own.drafted)) if own else (parameters, None)

    def check(self, exits: Any) -> None:
        """Do nothing: this engine computes the same in parts as in one pass, at all exits."""

    def text(self, depths: Sequence[int]) -> "SmallText":
        return SmallText(self._model, depths, [self.exits.get(depth) for depth in depths])


class SmallText(Text, SharedText):
    """A text of the engine, read at each level up to a length of its own."""

    def __init__(
        self, model: SmallModel, depths: Sequence[int], exits: Sequence[SmallExit | None]
    ) -> None:
        super().__init__(model.engine, model.engine.made("text", model.place), model.vocab_size)
        SharedText.__init__(self, depths, model.device)
        self._exits = exits
        self._group = 0
        more = sorted({*depths[:-1]} - {*model.tapped})
        if len(model.tapped) + len(more) > MOST_TAPS:
            raise HsdError(
                f"{model.name} keeps states after {MOST_TAPS} layers: choose fewer exits"
            )
        for depth in more:
            self.engine.call("mark", self.place, depth)

    def advance(self, group: int, end: int, keep: int) -> Tensor:
        self.length = self.lengths[group]
        self._group = group
        own = self._exits[group]
        self.width = len(own.drafted) if own else self.vocab
        rows = Text.forward(self, self.tokens[self.length : end], keep)
        return spread(rows, own.drafted, self.vocab) if own else rows

    def _reader(self) -> tuple[str, Sequence[int]]:
        first, last = self.groups[self._group]
        own = self._exits[self._group]
        return "climb", (self.place, own.place if own else 0, self.length, first, last)

    def close(self) -> None:
        self.forget(0, 0)
        super().close()
