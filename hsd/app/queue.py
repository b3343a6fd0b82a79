"""What Gradio's queue does not do for the runs that wait for the model: whose turn is next, and a refusal with a time.

Gradio keeps who waits in the order in which they came. Here each visitor's first run comes before anybody's second,
and so on, so that a busy neighbour holds nobody up for more than a run. A visitor is who sends the same `VISITOR`
header, as a page does, or the same session, as a client in Python does.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

from gradio.queueing import Event, Queue

MODEL = "model"
"""The concurrency id of everything that needs the model."""

VISITOR = "x-hsd-visitor"
USUAL = 10.0  # seconds that a run is taken to last before one has ended


class FairQueue(Queue):
    """Gradio's queue, with turns. limit: how many runs may wait."""

    limit: int

    @classmethod
    def adopt(cls, queue: Queue, limit: int) -> None:
        """Make this of the queue of an app that has been launched."""
        queue.__class__ = cls
        queue.limit = limit  # type: ignore[attr-defined]

    async def push(self, body: Any, request: Any, username: str | None) -> Any:
        """As Gradio's; a run that finds `limit` others waiting is refused with the time after which one may try."""
        waiting = self._waiting()
        if len(waiting) >= self.limit and self._needs_model(body):
            soon = f"try again in about {math.ceil(self._usual())} seconds"
            return False, f"{len(waiting)} runs are waiting already: {soon}", "queue_full"
        answer = await super().push(body, request, username)
        if self._waiting():
            self._take_turns()
            self.broadcast_estimations(MODEL)
        return answer

    def _waiting(self) -> list[Event]:
        queue = self.event_queue_per_concurrency_id.get(MODEL)
        return queue.queue if queue else []

    def _needs_model(self, body: Any) -> bool:
        function = self.blocks.fns.get(body.fn_index)
        return function is not None and function.concurrency_id == MODEL

    def _usual(self) -> float:
        """Seconds that a run lasts, on average of those that have ended."""
        times = [time.avg_time for fn, time in self.process_time_per_fn.items() if fn.concurrency_id == MODEL]
        return sum(times) / len(times) if times else USUAL

    def _take_turns(self) -> None:
        """Each visitor's first run before anybody's second; among equals who came first. It changes the list itself."""
        running = [job for jobs in self.active_jobs for job in jobs or () if job.concurrency_id == MODEL]
        before = Counter(_visitor(event) for event in running)
        rank: dict[str, int] = {}
        for event in sorted(self._waiting(), key=_came):
            rank[event._id] = before[_visitor(event)]
            before[_visitor(event)] += 1
        self._waiting().sort(key=lambda event: (rank[event._id], _came(event)))


def _came(event: Event) -> float:
    return event.enqueue_time


def _visitor(event: Event) -> str:
    headers = event.request.headers if event.request else {}
    return str(headers.get(VISITOR) or event.session_hash)
