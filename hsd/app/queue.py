"""Gradio, and what this app needs besides.

That is fair turns for the model, and refusals and errors in one line. All else of `hsd.app` rests
on what Gradio documents. This file relies on more, which `tests/app/test_queue.py` tries on the
installed Gradio, `tests/app/test_gradio_versions.py` on the oldest and the newest that
`pyproject.toml` allows.

- `Blocks.launch(_app=…, _frontend=False)`: so does `gradio.Server.launch`, but with blocks of
  Gradio's own class.
- `Blocks.process_api`, `validate_inputs`: Gradio logs an error with its input, and tells a client
  nothing of it.
- `Blocks._queue`, which `Blocks.queue` sets, and the class `gradio.queueing.Queue` with its
  constructor:
  - `push`: Gradio serves in order of arrival, and refuses with a status that no client shows;
  - `event_queue_per_concurrency_id`, `active_jobs`, `broadcast_estimations`: who waits, who runs,
    and messages to them;
  - `process_time_per_fn`: how long a run takes, for the time to retry;
  - `send_message`, `Event`, `gradio.server_messages`: a refusal is the answer to an event, so that
    clients show it;
  - `pending_messages_per_session`, `pending_event_ids_session`, `event_ids_to_events`: Gradio keeps
    results that nobody fetches of up to two thousand sessions, and a set for every session that
    there ever was;
  - `reset_iterators`: where a run ends just as it is cancelled, Gradio fails and never frees it;
  - `compute_analytics_summary`: Gradio makes a table of the last events after each, for a page that
    is off.
"""

import asyncio
import math
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from operator import attrgetter
from typing import Any, Self

import gradio as gr
from gradio.queueing import Event, Queue
from gradio.server_messages import ProcessCompletedMessage
from starlette.types import Receive, Scope, Send

from hsd.app.middleware import admitted
from hsd.app.replies import brief, unexpected
from hsd.errors import HsdError

MODEL = "model"
"""The concurrency id of everything that needs the model."""

_arrival = attrgetter("enqueue_time")
VISITOR = "x-hsd-visitor"
USUAL = 10.0  # seconds: the assumed length of a run until one has ended
FETCH_SECONDS = 120.0  # seconds that a finished answer is kept for its client
Endpoints = Mapping[Callable[..., Any], Mapping[str, Any]]


class QueuedServer(gr.Server):
    """Gradio's server behind the checks of `hsd.app.middleware.admitted`, and with `FairQueue`.

    endpoints: function → keywords of `gradio.api`. queue_size: how many requests may wait for the
    model.
    """

    def __init__(self, endpoints: Endpoints, queue_size: int, **options: Any) -> None:
        super().__init__(**options)
        self.endpoints = endpoints
        self.queue_size = queue_size

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # before what Gradio adds
        await admitted(super().__call__, self.root_path)(scope, receive, send)

    def launch(self, **options: Any) -> Any:  # type: ignore[override]
        """Start serving; options and what is returned as of `gradio.Blocks.launch`."""
        with Blocks(self.queue_size) as blocks:
            for function, about in self.endpoints.items():
                gr.api(function, **about)  # type: ignore[attr-defined]
        return blocks.launch(_app=self, _frontend=False, **options)


class Blocks(gr.Blocks):
    """Blocks that report an error in one line, and with a queue that no request can bypass."""

    def __init__(self, queue_size: int) -> None:
        self.queue_size = queue_size
        super().__init__(mode="server")

    def queue(self, *_: Any, **__: Any) -> Self:
        """Make the queue; Gradio calls this.

        All runs go through it, so no two use the caches of one pair at once.
        """
        super().queue(api_open=False)
        self._queue = FairQueue(self, self.queue_size)
        return self

    def validate_inputs(self, block_fn: Any, inputs: list[Any]) -> None:
        wanted = len(block_fn.inputs)
        if len(inputs) < wanted:
            how = f"give all, or name those that you give: POST to call/v2/{block_fn.api_name}"
            raise gr.Error(f"{len(inputs)} of {wanted} values came: {how}", print_exception=False)

    async def process_api(self, *arguments: Any, **more: Any) -> Any:
        try:
            return await super().process_api(*arguments, **more)
        except gr.Error:
            raise
        except HsdError as error:
            raise gr.Error(brief(error), print_exception=False) from None
        except Exception as error:
            raise gr.Error(unexpected(error, "try other input"), print_exception=False) from None


class FairQueue(Queue):
    """Gradio's queue with turns: each visitor's first run comes before anybody's second, and so on.

    So a busy neighbour delays nobody by more than one run. Requests are one visitor's if they have
    the same `VISITOR` header, which a page sends, or the same session, which a client in Python
    sends.

    size: how many events with one concurrency id, such as runs of the model, may wait.
    """

    def __init__(self, blocks: gr.Blocks, size: int) -> None:
        super().__init__(True, blocks.max_threads, update_intervals=1, max_size=None, blocks=blocks)
        self.size = size
        self.idle: dict[str, float] = {}
        """Sessions without a run, and since when, by `time.monotonic`."""

    async def push(self, body: Any, request: Any, username: str | None) -> Any:
        """Add an event as Gradio does.

        If `size` others of its kind wait, refuse it and say when to try again.
        """
        self._forget(time.monotonic())
        function = self.blocks.fns.get(body.fn_index)
        waiting = self._waiting(function.concurrency_id) if function else []
        if function and len(waiting) >= self.size:
            soon = f"try again in about {math.ceil(self._usual(function.concurrency_id))} seconds"
            words = f"{len(waiting)} others are waiting already: {soon}"
            event = Event(body.session_hash, function, request, username)
            return True, self._refuse(event, words), "success"
        answer = await super().push(body, request, username)
        if self._waiting(MODEL):
            self._take_turns()
            self.broadcast_estimations(MODEL)
        return answer

    async def reset_iterators(self, event_id: str) -> None:
        """End an event's iterator as Gradio does.

        One that a cancellation has already dropped is no error.
        """
        with suppress(KeyError):
            await super().reset_iterators(event_id)

    def compute_analytics_summary(self, records: Any) -> Any:
        """Do nothing: nobody reads the summary."""

    def _waiting(self, concurrency_id: str) -> list[Event]:
        queue = self.event_queue_per_concurrency_id.get(concurrency_id)
        return queue.queue if queue else []

    def _usual(self, concurrency_id: str) -> float:
        """Return the mean duration in seconds of those events of this kind that have ended."""
        ended = self.process_time_per_fn.items()
        times = [
            time.avg_time for function, time in ended if function.concurrency_id == concurrency_id
        ]
        return sum(times) / len(times) if times else USUAL

    def _refuse(self, event: Event, words: str) -> str:
        """End an event at once with an error message; returns its id."""
        self.pending_messages_per_session.setdefault(event.session_hash, asyncio.Queue())
        self.pending_event_ids_session.setdefault(event.session_hash, set()).add(event._id)
        refusal = ProcessCompletedMessage(output={"error": words}, title="Busy", success=False)
        self.send_message(event, refusal)
        return event._id

    def _take_turns(self) -> None:
        """Sort the waiting runs in place: each visitor's first before anybody's second.

        Runs of equal rank stay in the order of arrival.
        """
        running = [
            job for jobs in self.active_jobs for job in jobs or () if job.concurrency_id == MODEL
        ]
        before = Counter(_visitor(event) for event in running)
        rank: dict[str, int] = {}
        for event in sorted(self._waiting(MODEL), key=_arrival):
            rank[event._id] = before[_visitor(event)]
            before[_visitor(event)] += 1
        self._waiting(MODEL).sort(key=lambda event: (rank[event._id], _arrival(event)))

    def _forget(self, now: float) -> None:
        """Drop everything kept for sessions that have been idle for `FETCH_SECONDS`."""
        busy = {event.session_hash for event in self.event_ids_to_events.values()}
        sessions = self.pending_event_ids_session.keys() | self.pending_messages_per_session.keys()
        self.idle = {session: self.idle.get(session, now) for session in sessions - busy}
        expired = [session for session, since in self.idle.items() if now - since > FETCH_SECONDS]
        for session in expired:
            self.pending_event_ids_session.pop(session, None)
            self.pending_messages_per_session.pop(session, None)


def _visitor(event: Event) -> str:
    headers = event.request.headers if event.request else {}
    return str(headers.get(VISITOR) or event.session_hash)
