"""The layers of a model of `transformers` in groups, and one text that reads them, for `hsd.models.exits`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from hsd.models.base import Work
from hsd.models.exits import EarlyExits
from hsd.models.groups import LayerGroups, decoder_of, in_one_piece, multiplications, numbers
from hsd.models.probe import attempted

_CHECKED: WeakKeyDictionary[nn.Module, set[tuple[int, ...]]] = WeakKeyDictionary()


class ModuleLayers:
    """The layers of a `CausalModel`; see `hsd.models.exits.Layers`. Every exit has the whole model's norm and head.

    trained: models that examples/reproduce/tiny trains list theirs as `early_exits` in their configuration. A model
    with "layerskip" in its name, as Meta's facebook/layerskip-llama… have, was trained at every layer; its
    configuration is an ordinary one.
    """

    def __init__(self, model: Any) -> None:
        self._model, self._module = model, model.model
        self._layers = decoder_of(self._module).layers
        self.layers = layers = len(self._layers)
        listed = getattr(self._module.config, "early_exits", None)
        names = f"{model.name} {getattr(self._module.config, '_name_or_path', '')}".lower()
        self.trained: tuple[int, ...] = tuple(range(1, layers + 1)) if "layerskip" in names else ()
        if isinstance(listed, list | tuple):
            self.trained = tuple(sorted({d for d in listed if type(d) is int and 1 <= d <= layers}))

    @property
    def head_cost(self) -> float:
        return multiplications(self._module.get_output_embeddings()) * self.layers / multiplications(self._layers)

    def numbers(self, first: int) -> int:
        return sum(map(numbers, self._layers[first:]))

    def head(self, depth: int) -> tuple[int, int | None]:
        return 0, None

    def text(self, depths: Sequence[int]) -> ModuleText:
        return ModuleText(self._model, LayerGroups(self._module, depths))

    def check(self, exits: EarlyExits) -> None:
        """Raise HsdError if in parts the model computes something else, as where inputs are scaled on the way in."""
        if exits.depths in _CHECKED.setdefault(self._module, set()):
            return
        tokens = torch.arange(3) % self._model.vocab_size
        expected = self._model.start().forward(tokens, 3)

        def wrong() -> str:
            logits = exits.models[-1].start().forward(tokens, 3)
            return "other numbers" if (logits - expected).abs().max() > 0.05 * expected.std() else ""

        if why := attempted(wrong):
            raise in_one_piece(self._module, f"which gives in parts: {why}")
        _CHECKED[self._module].add(exits.depths)


class ModuleText:
    """See `hsd.models.exits.SharedText`. Its `_rows` are the tokens, then the states after each group of layers."""

    exact = False

    def __init__(self, model: Any, groups: LayerGroups) -> None:
        self._model, self.groups = model, groups
        self.close()

    def reached(self, level: int) -> int:
        return len(self._rows[level + 1])

    def read(self, tokens: Tensor, level: int, keep: int) -> tuple[Work, Tensor]:
        tokens, begin = tokens.to(self._model.input_device), self.reached(level)
        end, known = begin + len(tokens), self._rows[0][begin : begin + len(tokens)]
        assert torch.equal(known, tokens[: len(known)]), "the exits below have read other tokens: crop them first"
        self._rows[0] = extended(self._rows[0], tokens[len(known) :])
        work = Work()
        for group in range(level + 1):
            work += self._advance(group, end)
        if not keep:
            return work, torch.empty(0, self._model.vocab_size, device=self._model.device)
        return work, self.groups.logits(self._rows[level + 1][-keep:]).to(self._model.device)

    def _advance(self, group: int, end: int) -> Work:
        """Run one group of layers on what the one below gave and it has not read, as far as position `end`."""
        below, states = self._rows[group : group + 2]
        rows = below[len(states) : end]
        if not len(rows):
            return Work()
        self._rows[group + 1] = extended(states, self.groups.read(group, rows, self._caches[group]))
        first, last = self.groups.bounds[group]
        return Work(last - first, (last - first) * len(rows))

    def forget(self, level: int, length: int) -> None:
        for group in range(level, len(self._caches)):
            if self.reached(group) > length:
                self._caches[group].crop(length)
                self._rows[group + 1] = self._rows[group + 1][:length]
        if level == 0:
            self._rows[0] = self._rows[0][:length]

    def close(self) -> None:
        self._caches: list[Any] = [*self.groups.caches()]
        self._rows = [torch.empty(0, dtype=torch.int64, device=self._model.input_device)] * (len(self._caches) + 1)


def extended(rows: Tensor, more: Tensor) -> Tensor:
    """Return rows with more behind them; rows without any may have another shape."""
    return torch.cat([rows, more]) if len(rows) else more
