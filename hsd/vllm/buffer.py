"""What was recorded, for readers: numbered entries in bounded memory."""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from typing import Any

OVERHEAD = 200  # bytes that an entry takes beside its text
ANSWER = 4_000_000  # bytes of one answer, but always at least one entry


class Buffer:
    """The newest entries, at most `most` bytes of them; steps come at `per_second` bytes a second at most.

    dropped: entries that had to go before the newest, read or not. refused: those that came too fast. last: the number
    of the newest; they count from 1.
    """

    def __init__(self, most: float, per_second: float) -> None:
        self._entries: deque[tuple[int, str, str, str]] = deque()  # number, request, kind, JSON
        self._most, self._per_second = most, per_second
        self._room, self._at = per_second, time.monotonic()
        self._lock = threading.Lock()
        self.size = self.last = self.dropped = self.refused = 0

    def add(self, request: str, kind: str, text: str) -> bool:
        """Keep what is new of a request: kind "header", "step" or "result". Returns whether it could be kept."""
        size, now = len(text) + OVERHEAD, time.monotonic()
        with self._lock:
            self._room = min(self._room + (now - self._at) * self._per_second, self._per_second)
            self._at = now
            if size > self._most or (kind == "step" and self._room <= 0):
                self.refused += 1
                return False
            self.last += 1
            self._room, self.size = self._room - size, self.size + size
            self._entries.append((self.last, request, kind, text))
            while self.size > self._most:
                self.size -= len(self._entries.popleft()[3]) + OVERHEAD
                self.dropped += 1
        return True

    def after(self, number: int, most: int = ANSWER) -> dict[str, Any]:
        """Return the entries after `number`, oldest first, as plain data, and where to go on reading.

        {"next", "dropped", "refused", "entries": [{"request", "kind", "data"}, …]}. A number from before a restart of
        the server reads from the beginning.
        """
        entries, size = list[dict[str, Any]](), 0
        with self._lock:
            reached = number if number <= self.last else 0
            fresh = [entry for entry in self._entries if entry[0] > reached]
        for at, request, kind, text in fresh:
            size += len(text)
            if entries and size > most:
                break
            reached = at
            entries.append({"request": request, "kind": kind, "data": json.loads(text)})
        return {"next": reached, "dropped": self.dropped, "refused": self.refused, "entries": entries}
