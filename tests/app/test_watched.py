"""Runs that grow on a watched server: listed, followed from the beginning, and refused."""

from __future__ import annotations

import json

import httpx
import pytest
from recording_server import RecordingServer, entries
from running_app import Server

from hsd import Trace
from hsd.paths import TRACES

gradio_client = pytest.importorskip("gradio_client")
NAMES = ["cmpl-leaves", "chatcmpl-paris"]


def listed(watching: Server) -> dict[str, bool]:
    """Of each request that the app lists, whether it has ended."""
    runs = httpx.post(f"{watching.url}answers/requests", json={}).json()
    return {run["name"]: run["finished"] for run in runs}


def test_two_requests_grow_at_once_and_are_followed_also_by_a_second_visitor(
    recording: RecordingServer, watching: Server
):
    traces = [Trace.from_file(TRACES / f"{name.partition('-')[2]}.json") for name in NAMES]
    left = [entries(trace, name) for name, trace in zip(NAMES, traces, strict=True)]
    for _ in range(4):
        recording.entries += [request.pop(0) for request in left]
    while set(listed(watching)) != set(NAMES):
        pass
    assert not any(listed(watching).values())
    client = gradio_client.Client(watching.url, verbose=False)
    asked = [*NAMES, NAMES[0]]
    jobs = [client.submit({"request": name}, api_name="/follow") for name in asked]
    while not all(len(job.outputs()) > 1 for job in jobs):
        assert not any(job.done() for job in jobs)
    recording.entries += [entry for request in left for entry in request]
    told = [[json.loads(answer) for answer in (job.result(), job.outputs())[1]] for job in jobs]
    for trace, messages, name in zip([*traces, traces[0]], told, asked, strict=True):
        first, *news, last = messages
        steps = [step for message in news for step in message["steps"]]
        assert first["link"] == {"request": name}
        made = {**first["header"], "steps": steps, "result": news[-1]["result"]}
        assert Trace.from_json(json.dumps(made)) == trace
        assert last["finish"] == trace.result.finish
    assert all(listed(watching).values())


def test_a_request_that_nobody_has_recorded_is_refused_in_a_line(watching: Server):
    client = gradio_client.Client(watching.url, verbose=False)
    with pytest.raises(Exception, match=r"has recorded no request 'cmpl-none', or dropped it"):
        client.predict({"request": "cmpl-none"}, api_name="/follow")


def test_an_app_that_watches_nothing_lists_no_requests(app: Server):
    assert httpx.post(f"{app.url}answers/requests", json={}).json() is None
