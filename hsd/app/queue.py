"""What Gradio's queue lacks for runs that wait for the model: fair turns, clear refusals, and forgetting old sessions.

- Gradio serves in order of arrival. Here each visitor's first run comes before anybody's second, and so on, so that a
  busy neighbour delays nobody by more than one run. Requests are one visitor's if they have the same `VISITOR` header,
  which a page sends, or the same session, which a client in Python sends.
- Gradio refuses with a status that no client shows. Here a refusal is an error like any other, with a time to retry.
- If a run ends just as it is cancelled, Gradio fails and never frees the run. Here it is freed.
- Gradio keeps unfetched results of up to two thousand sessions, and a set for every session that there ever was.
  Here both are forgotten after `FETCH_SECONDS`.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter
from contextlib import suppress
from typing import Any

from gradio import Error
from gradio.queueing import Event, Queue
from gradio.server_messages import ProcessCompletedMessage
from gradio.utils import error_payload

MODEL = "model"
"""The concurrency id of everything that needs the model."""

VISITOR = "x-hsd-visitor"
USUAL = 10.0  # seconds: the assumed length of a run until one has ended
FETCH_SECONDS = 120.0  # seconds that a finished answer is kept for its client


class FairQueue(Queue):
    """Gradio's queue, with turns. limit: how many may wait for the model, or for anything else."""

    limit: int
    over: dict[str, float]
    """Idle sessions, and since when they have been idle, by `time.monotonic`."""

    @classmethod
    def adopt(cls, queue: Queue, limit: int) -> None:
        """Turn the queue of a launched app into this one."""
        queue.__class__ = cls
        queue.limit, queue.over = limit, {}  # type: ignore[attr-defined]

    async def push(self, body: Any, request: Any, username: str | None) -> Any:
        """As Gradio's, but refuses if `limit` others already wait for the same thing, and says when to try again."""
        self._forget(time.monotonic())
        function = self.blocks.fns.get(body.fn_index)
        waiting = self._waiting(function.concurrency_id) if function else []
        if function and len(waiting) >= self.limit:
            soon = f"try again in about {math.ceil(self._usual(function.concurrency_id))} seconds"
            words = f"{len(waiting)} others are waiting already: {soon}"
            return True, self._refuse(Event(body.session_hash, function, request, username), words), "success"
        answer = await super().push(body, request, username)
        if self._waiting(MODEL):
            self._take_turns()
            self.broadcast_estimations(MODEL)
        return answer

    async def reset_iterators(self, event_id: str) -> None:
        """As Gradio's, but tolerates an iterator that a cancellation has already dropped."""
        with suppress(KeyError):
            await super().reset_iterators(event_id)

    def compute_analytics_summary(self, records: Any) -> Any:
        """Nothing: Gradio makes a table of the last ten thousand events after each, for a page that is not shown."""

    def _waiting(self, concurrency_id: str) -> list[Event]:
        queue = self.event_queue_per_concurrency_id.get(concurrency_id)
        return queue.queue if queue else []

    def _usual(self, concurrency_id: str) -> float:
        """Mean duration in seconds of those events of this kind that have ended."""
        ended = self.process_time_per_fn.items()
        times = [time.avg_time for function, time in ended if function.concurrency_id == concurrency_id]
        return sum(times) / len(times) if times else USUAL

    def _refuse(self, event: Event, words: str) -> str:
        """End it at once with these words; returns its id."""
        if event.session_hash not in self.pending_messages_per_session:
            self.pending_messages_per_session[event.session_hash] = asyncio.Queue()
        self.pending_event_ids_session.setdefault(event.session_hash, set()).add(event._id)
        told = error_payload(Error(words), False)
        self.send_message(event, ProcessCompletedMessage(output=told, title="Busy", success=False))
        return event._id

    def _take_turns(self) -> None:
        """Sort the list in place: each visitor's first run before anybody's second; among equals by arrival."""
        running = [job for jobs in self.active_jobs for job in jobs or () if job.concurrency_id == MODEL]
        before = Counter(_visitor(event) for event in running)
        rank: dict[str, int] = {}
        for event in sorted(self._waiting(MODEL), key=_came):
            rank[event._id] = before[_visitor(event)]
            before[_visitor(event)] += 1
        self._waiting(MODEL).sort(key=lambda event: (rank[event._id], _came(event)))

    def _forget(self, now: float) -> None:
        """Drop everything kept for sessions that have been idle for `FETCH_SECONDS`."""
        busy = {event.session_hash for event in self.event_ids_to_events.values()}
        sessions = self.pending_event_ids_session.keys() | self.pending_messages_per_session.keys()
        self.over = {session: self.over.get(session, now) for session in sessions - busy}
        for session in [session for session, since in self.over.items() if now - since > FETCH_SECONDS]:
            self.pending_event_ids_session.pop(session, None)
            self.pending_messages_per_session.pop(session, None)


def _came(event: Event) -> float:
    return event.enqueue_time


def _visitor(event: Event) -> str:
    headers = event.request.headers if event.request else {}
    return str(headers.get(VISITOR) or event.session_hash)
