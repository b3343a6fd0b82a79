"""The queue for the model: one run at a time, each visitor's first before anybody's second, nobody
forgotten.
"""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from hsd.app import queue
from hsd.app.queue import FETCH_SECONDS, MODEL, USUAL, VISITOR, FairQueue, QueuedServer

gradio_client = pytest.importorskip("gradio_client")
LIMIT = 3


class Model:
    """Stands for the model: an endpoint that says what it was asked once a test lets it, and one
    that streams.
    """

    def __init__(self) -> None:
        self.order: list[str] = []
        self.closed: list[str] = []
        self.running = self.most = 0
        self.gate = threading.Semaphore(0)

    def say(self, name: str) -> str:
        """Say it."""
        self.running += 1
        self.most = max(self.most, self.running)
        self.order.append(name)
        assert self.gate.acquire(timeout=6000)
        self.running -= 1
        return name

    def quick(self) -> str:
        """Say it without the model."""
        return "now"

    def count(self, name: str) -> Any:
        """Count until nobody listens."""
        self.order.append(name)
        try:
            for number in range(10_000):
                yield f"{number}"
                time.sleep(0.01)
        finally:
            self.closed.append(name)

    def wait(self, what: Any) -> None:
        """Until something is so."""
        end = time.monotonic() + 600
        while not what():
            assert time.monotonic() < end, self.order
            time.sleep(0.01)


class Running:
    def __init__(self) -> None:
        self.model = Model()
        turns = {"concurrency_id": MODEL, "concurrency_limit": 1}
        endpoints = {
            self.model.say: turns,
            self.model.count: turns,
            self.model.quick: {"queue": False},
        }
        server = QueuedServer(endpoints, LIMIT)
        app, self.url, _ = server.launch(prevent_thread_lock=True, quiet=True, ssr_mode=False)
        self.blocks = app.get_blocks()
        self.queue: FairQueue = self.blocks._queue
        self.http = httpx.Client(base_url=f"{self.url}gradio_api", timeout=600, trust_env=False)

    def join(self, *data: str, visitor: str = "", endpoint: str = "say") -> str:
        """Ask as a program without a client does; returns the path of the answer."""
        headers = {VISITOR: visitor} if visitor else {}
        begun = self.http.post(f"/call/{endpoint}", json={"data": data}, headers=headers)
        assert begun.status_code == 200, begun.text
        return f"/call/{endpoint}/{begun.json()['event_id']}"

    def waiting(self) -> int:
        return len(self.queue._waiting(MODEL))


@pytest.fixture
def running():
    started = Running()
    yield started
    started.model.gate.release(100)
    started.blocks.close()


def served(running: Running, *asked: tuple[str, str]) -> list[str]:
    """The order in which these (name, visitor) get their turn, who all wait while another runs."""
    running.queue.size = 99
    running.join("first", visitor="somebody")
    running.model.wait(lambda: running.model.order == ["first"])
    for name, visitor in asked:
        running.join(name, visitor=visitor)
    running.model.gate.release(len(asked) + 1)
    running.model.wait(lambda: len(running.model.order) == len(asked) + 1)
    assert running.model.most == 1
    return running.model.order[1:]


def test_a_busy_visitor_does_not_hold_up_another(running):
    asked = [("a1", "a"), ("a2", "a"), ("a3", "a"), ("b1", "b"), ("c1", "c"), ("b2", "b")]
    assert served(running, *asked) == ["a1", "b1", "c1", "a2", "b2", "a3"]


def test_who_runs_already_counts_as_served(running):
    assert served(running, ("x", "somebody"), ("y", "another")) == ["y", "x"]


def test_those_who_do_not_say_who_they_are_are_told_apart_by_their_sessions(running):
    assert served(running, ("x", ""), ("y", ""), ("z", "somebody")) == ["x", "y", "z"]


def test_a_full_queue_says_when_to_try_again_in_words_that_clients_show(running):
    client = gradio_client.Client(running.url, verbose=False)
    for number in range(LIMIT + 1):
        running.join(f"{number}")
        running.model.wait(lambda: running.model.order == ["0"])
    with pytest.raises(gradio_client.exceptions.AppError) as told:
        client.predict("one more", api_name="/say")
    assert (
        str(told.value)
        == f"{LIMIT} others are waiting already: try again in about {USUAL:.0f} seconds"
    )
    answer = running.http.get(running.join("and another")).text
    assert answer.startswith("event: error")
    assert "try again in about" in answer
    assert running.http.get(running.join(endpoint="quick")).text.startswith("event: complete"), (
        "others go on"
    )
    assert running.waiting() == LIMIT


def test_how_long_it_takes_is_learnt_from_the_runs_that_end(running):
    assert running.queue._usual(MODEL) == USUAL
    running.model.gate.release(2)
    for name in "ab":
        running.http.get(running.join(name))
    running.model.wait(lambda: running.queue._usual(MODEL) < USUAL)


def test_a_run_that_is_cancelled_while_it_waits_never_starts(running):
    client = gradio_client.Client(running.url, verbose=False)
    running.join("first")
    running.model.wait(lambda: running.model.order == ["first"])
    job = client.submit("never", api_name="/say")
    running.model.wait(lambda: job.status().rank == 0)
    job.cancel()
    running.model.wait(lambda: running.waiting() == 0)
    running.model.gate.release(9)
    assert running.http.get(running.join("last")).text.startswith("event: complete")
    assert running.model.order == ["first", "last"]


def test_a_cancelled_stream_is_closed_and_the_next_one_runs(running):
    client = gradio_client.Client(running.url, verbose=False)
    job = client.submit("stream", api_name="/count")
    running.model.wait(lambda: len(job.outputs()) > 2)
    job.cancel()
    running.model.wait(lambda: running.model.closed == ["stream"])
    running.model.gate.release()
    assert client.predict("next", api_name="/say") == "next"


def test_a_stream_whose_page_is_closed_is_closed(running):
    with running.http.stream("GET", running.join("stream", endpoint="count")) as answer:
        next(line for line in answer.iter_lines() if line.startswith("data: "))
    running.model.wait(lambda: running.model.closed == ["stream"])


def test_a_page_that_is_closed_does_not_hold_up_the_queue(running):
    running.join("first")
    running.model.wait(lambda: running.model.order == ["first"])
    gone = running.join("gone")
    with pytest.raises(httpx.ReadTimeout), running.http.stream("GET", gone, timeout=0.5) as answer:
        answer.read()
    running.model.wait(lambda: running.waiting() == 0)


def test_no_run_passes_the_queue(running):
    assert running.http.post("/run/say", json={"data": ["now"]}).status_code == 404
    assert running.model.order == []


def test_answers_that_nobody_fetches_are_forgotten_and_those_under_way_are_not(running):
    paths = [running.join(f"{number}") for number in range(2)]
    running.model.gate.release()
    running.model.wait(lambda: running.model.order == ["0", "1"])
    kept = running.queue.pending_messages_per_session
    running.model.wait(lambda: len(running.queue.event_ids_to_events) == 1)
    now = time.monotonic()
    running.queue._forget(now)
    assert len(kept) == len(running.queue.pending_event_ids_session) == 2
    running.queue._forget(now + FETCH_SECONDS + 1)
    assert len(kept) == len(running.queue.pending_event_ids_session) == 1
    running.model.gate.release()
    assert "event: complete" in running.http.get(paths[1]).text


def test_what_gradio_keeps_of_sessions_that_are_over_does_not_grow(running, monkeypatch):
    monkeypatch.setattr(queue, "FETCH_SECONDS", 0.0)
    running.model.gate.release(20)
    for number in range(20):
        running.http.get(running.join(f"{number}"))
    assert len(running.queue.pending_event_ids_session) < 5
    assert len(running.queue.pending_messages_per_session) < 5
    running.model.wait(lambda: not running.queue.event_ids_to_events)


def test_one_runs_at_a_time_and_all_are_served_in_any_disorder(running):
    running.queue.size = 99
    running.model.gate.release(40)
    with ThreadPoolExecutor(8) as pool:
        paths = list(
            pool.map(lambda n: running.join(f"{n}", visitor=f"visitor {n % 7}"), range(40))
        )
        answers = list(pool.map(lambda path: running.http.get(path).text, paths))
    assert all("event: complete" in answer for answer in answers)
    assert (running.model.most, len(running.model.order)) == (1, 40)
    assert running.waiting() == 0


def test_place_and_time_are_told_again_when_turns_change(running):
    told: list[tuple[str, int]] = []
    running.queue.size = 99
    running.join("first", visitor="a")
    running.model.wait(lambda: running.model.order == ["first"])
    running.queue.send_message = lambda event, message: (  # type: ignore[method-assign]
        told.append((event.data.data[0], message.rank)) if hasattr(message, "rank") else None
    )
    for name, visitor in (("second", "a"), ("third", "b")):
        running.join(name, visitor=visitor)
    assert dict(told) == {"third": 0, "second": 1}


def test_events_are_of_the_visitor_who_says_so_or_of_their_session():
    def event(**headers: str) -> Any:
        return SimpleNamespace(request=SimpleNamespace(headers=headers), session_hash="session")

    assert queue._visitor(event(**{VISITOR: "v"})) == "v"
    assert queue._visitor(event()) == "session"
    assert asyncio.iscoroutinefunction(FairQueue.push)


def test_a_run_that_ends_in_the_moment_in_which_it_is_cancelled_is_no_error():
    iterators: dict[str, Any] = {}

    async def steps():
        try:
            yield "a step"
        finally:
            iterators.clear()  # as the cancel does, which comes first

    async def end() -> None:
        run = steps()
        await anext(run)
        iterators["run"] = run
        turns = FairQueue.__new__(FairQueue)
        turns.server_app = SimpleNamespace(iterators=iterators, lock=asyncio.Lock())
        await turns.reset_iterators("run")

    asyncio.run(end())
    assert not iterators
