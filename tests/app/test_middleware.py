"""What stands before the app: large requests end at once, and a browser is told to load from
nowhere else.
"""

from __future__ import annotations

import pytest
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient

from hsd.app import middleware
from hsd.trace import MAX_BYTES


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> TestClient:
    async def size(request: Request) -> Response:
        try:
            return JSONResponse(len(await request.body()))
        except ClientDisconnect:
            return JSONResponse("cut off")

    async def page(_: Request) -> Response:
        return HTMLResponse("<p>page</p>")

    monkeypatch.setattr(middleware, "MOST", 1000)
    routes = [
        *(Route(path, size, methods=["POST"]) for path in ("/size", "/gradio_api/size")),
        Route("/", page),
    ]
    return TestClient(middleware.guarded(Starlette(routes=routes)))


def test_a_trace_may_be_as_large_as_one_can_be_opened():
    assert middleware.MOST > MAX_BYTES


def test_what_is_too_large_is_refused_before_it_is_read(client: TestClient):
    assert client.post("/size", content=b"x" * 1000).json() == 1000
    refused = client.post("/size", content=b"x" * 1001)
    assert refused.status_code == 413
    assert "send less" in refused.text


@pytest.mark.parametrize("size", ["-1", "1e9", "many", "9" * 50])
def test_a_size_that_is_none_is_refused(client: TestClient, size: str):
    assert client.post("/size", content=b"x", headers={"Content-Length": size}).status_code == 413


def test_one_that_does_not_say_how_large_it_is_is_cut_off(client: TestClient):
    parts = (b"x" * 100 for _ in range(11))
    assert client.post("/size", content=parts).json() == "cut off"
    assert client.post("/size", content=(b"x" * 100 for _ in range(10))).json() == 1000


def test_pages_may_load_from_nowhere_else_and_other_answers_are_what_they_say(client: TestClient):
    page = client.get("/").headers
    assert "default-src 'none'" in page["Content-Security-Policy"]
    assert "http" not in page["Content-Security-Policy"]
    answer = client.post("/gradio_api/size", content=b"").headers
    assert "Content-Security-Policy" not in answer
    assert answer["X-Content-Type-Options"] == "nosniff"
