"""One round of decoding: draft, score in one target pass, verify, commit, roll back. With one draft or with several."""

from collections.abc import Callable
from typing import Any, Protocol

from hsd.decoding.rounds.chain import ChainRound, ChainRounds
from hsd.decoding.rounds.stack import StackLevel
from hsd.decoding.rounds.tree import TreeRound, TreeRounds, TreeVerdict, ancestors
from hsd.models.reading import Reader
from hsd.rng import Numbers


class Round(Protocol):
    """What the loop needs to know of a round. depth: see `hsd.trace.Step`."""

    @property
    def drafted(self) -> int: ...
    @property
    def depth(self) -> int | None: ...
    @property
    def kept(self) -> int: ...
    @property
    def target_calls(self) -> int: ...
    @property
    def committed(self) -> list[int]: ...
    @property
    def bonus(self) -> bool:
        """Whether the token after the kept ones comes from the target itself and not from a residual."""
        ...


class Rounds(Protocol):
    """Plays rounds on one text that grows. readers: of every level, smallest model first; none where nobody counts."""

    @property
    def readers(self) -> list[Reader]: ...
    def prefill(self, text: list[int]) -> None: ...
    def play(self, text: list[int], gamma: int, numbers: Numbers, lap: Callable[[str], None]) -> Any: ...
    def close(self) -> None: ...


__all__ = [
    "ChainRound",
    "ChainRounds",
    "Round",
    "Rounds",
    "StackLevel",
    "TreeRound",
    "TreeRounds",
    "TreeVerdict",
    "ancestors",
]
