"""The line of runs that wait for the model: whose turn it is, and how long that will take.

One runs at a time. Of those that wait, each visitor's first comes before anybody's second, and so on; among equals,
whoever came, or had a turn, longest ago. So a busy neighbour holds nobody up for more than a run, and as every run that
ends moves up the later ones of its visitor, everybody's turn comes.
"""

from __future__ import annotations

import math
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from hsd.errors import HsdError

ABANDONED = 15.0  # seconds without a sign of life from a waiting page
USUAL = 10.0  # seconds that a run is taken to last before one has ended
MEMORY = 0.7  # of the usual length of a run that stays when another has ended


@dataclass
class Waiting:
    """A run that waits. seen: when its page was last heard of; lasting: nobody has to be heard of."""

    visitor: str
    came: float
    seen: float
    lasting: bool


class Line:
    """Who waits and who runs. `capacity` runs may wait. Everything may be called from any thread."""

    def __init__(self, capacity: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._capacity, self._clock = capacity, clock
        self._waiting: dict[str, Waiting] = {}  # in the order in which they came
        self._running: dict[str, tuple[str, float]] = {}  # of which visitor, since when
        self._served: dict[str, float] = {}  # who had a turn, and when it ended; as long as that matters
        self._usual = USUAL
        self._changed = threading.Condition()

    def join(self, key: str, lasting: bool = False) -> None:
        """Wait. Raises HsdError when the line is full. lasting: until its turn comes, also where nobody asks for it."""
        with self._changed:
            self._forget_abandoned()
            if len(self._waiting) >= self._capacity:
                soon = math.ceil(self._usual)
                raise HsdError(f"{self._capacity} runs are waiting already: try again in about {soon} seconds")
            now = self._clock()
            self._waiting[key] = Waiting(key, now, now, lasting)  # a visitor of its own until its name is told

    def turn(self, key: str, visitor: str = "") -> bool:
        """Wait until it is the turn of `key`, which runs then; False where it has left, or its page is gone.

        visitor: whose it is; "" for nobody else's.
        """
        with self._changed:
            if key in self._waiting:
                self._waiting[key].visitor = visitor or key
                self._changed.notify_all()  # for others this may change the order
            while key in self._waiting and (self._running or self._order()[0] != key):
                self._changed.wait(1)
                self._forget_abandoned()
            if key not in self._waiting:
                return False
            self._running[key] = self._waiting.pop(key).visitor, self._clock()
            return True

    def leave(self, key: str) -> None:
        """`key` neither waits nor runs any more."""
        with self._changed:
            self._waiting.pop(key, None)
            if key in self._running:
                visitor, begun = self._running.pop(key)
                self._usual = MEMORY * self._usual + (1 - MEMORY) * (self._clock() - begun)
                self._served[visitor] = self._clock()
            oldest = min((one.came for one in self._waiting.values()), default=math.inf)
            self._served = {visitor: ended for visitor, ended in self._served.items() if ended >= oldest}
            self._changed.notify_all()

    def place(self, key: str) -> int:
        """1 for the next in line; 0 when `key` does not have to wait for anyone."""
        with self._changed:
            if key not in self._waiting:
                return 0
            self._waiting[key].seen = self._clock()
            self._forget_abandoned()
            ahead = self._order().index(key)
            return ahead + 1 if self._running or ahead else 0

    def seconds(self, place: int) -> int:
        """About how long one at this place waits, from how long runs took."""
        return math.ceil(place * self._usual)

    def _order(self) -> list[str]:
        before = Counter(visitor for visitor, _ in self._running.values())
        ranks: dict[str, tuple[int, float]] = {}
        for key, one in self._waiting.items():
            ranks[key] = before[one.visitor], max(one.came, self._served.get(one.visitor, -math.inf))
            before[one.visitor] += 1
        return sorted(ranks, key=ranks.__getitem__)  # equals stay in the order in which they came

    def _forget_abandoned(self) -> None:
        gone = self._clock() - ABANDONED
        self._waiting = {key: one for key, one in self._waiting.items() if one.lasting or one.seen > gone}
