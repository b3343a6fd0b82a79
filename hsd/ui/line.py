"""The line of runs that wait for the model, so that a visitor can be told how long it is.

Gradio's queue decides who runs; this only counts, in the same order.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from hsd.errors import HsdError

ABANDONED = 15.0  # seconds without a sign of life from a waiting page


class Line:
    """Who waits, in order, and who runs. `capacity` runs may wait."""

    def __init__(self, capacity: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._capacity, self._clock = capacity, clock
        self._waiting: dict[str, float] = {}  # key → when its page was last heard of
        self._running: set[str] = set()
        self._lock = threading.Lock()

    def join(self, key: str) -> None:
        """Wait at the end. Raises HsdError when the line is full."""
        with self._lock:
            self._forget_abandoned()
            if len(self._waiting) >= self._capacity:
                raise HsdError(f"{self._capacity} runs are waiting already: try again in a minute")
            self._waiting[key] = self._clock()

    def start(self, key: str) -> None:
        """The turn of `key` has come."""
        with self._lock:
            self._waiting.pop(key, None)
            self._running.add(key)

    def leave(self, key: str) -> None:
        """`key` neither waits nor runs any more."""
        with self._lock:
            self._waiting.pop(key, None)
            self._running.discard(key)

    def place(self, key: str) -> int:
        """1 for the next in line; 0 when `key` does not have to wait for anyone."""
        with self._lock:
            if key not in self._waiting:
                return 0
            self._waiting[key] = self._clock()
            self._forget_abandoned()
            ahead = list(self._waiting).index(key)
            return ahead + 1 if self._running or ahead else 0

    def _forget_abandoned(self) -> None:
        now = self._clock()
        self._waiting = {key: seen for key, seen in self._waiting.items() if now - seen < ABANDONED}
