"""Every route of the running app: what the page and programs need answers, and all else that Gradio
brings is off.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi.routing import iter_route_contexts
from gradio import routes as gradio_routes
from running_app import Server, free_port
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from hsd import space
from hsd.app import server as served
from hsd.app.middleware import LIST, NOTHING, admitted, answers_at

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "TRACE", "OPTIONS")
NEEDED = {
    *("/", "/index.html", "/card.png", "/data/x", "/web/x", "/answers/x", "/docs", "/config"),
    *(
        "/gradio_api/info",
        "/gradio_api/queue/join",
        "/gradio_api/queue/data",
        "/gradio_api/cancel",
        "/gradio_api/reset",
    ),
    *(
        "/gradio_api/call/x",
        "/gradio_api/call/v2/x",
        "/gradio_api/call/x/x",
        "/gradio_api/call/v2/x/x",
    ),
    *(
        "/gradio_api/startup-events",
        "/gradio_api/mcp",
        "/gradio_api/mcp/",
        "/gradio_api/mcp/schema",
    ),
}
"""The paths that answer, with "x" for what varies."""

GRADIO_6 = """
/gradio_api/upload /gradio_api/upload_progress?upload_id=x /gradio_api/file=/etc/hostname
/gradio_api/file/etc/hostname /gradio_api/proxy=http://127.0.0.1/ /gradio_api/stream/x
/gradio_api/stream/x/close /gradio_api/stream/x/0/1/playlist.m3u8
/gradio_api/stream/x/0/1/playlist-file /gradio_api/dev/reload /gradio_api/heartbeat/x
/gradio_api/user /gradio_api/login_check /gradio_api/token /gradio_api/app_id
/gradio_api/queue/status /gradio_api/component_server /gradio_api/process_recording
/gradio_api/deep_link?session_hash=x /gradio_api/theme.css /gradio_api/openapi.json
/gradio_api/runs /gradio_api/run-history/buckets /gradio_api/run-history/records
/gradio_api/run-history/connect /gradio_api/custom_component/x/client/component/index.js
/gradio_api/api/run /gradio_api/run/run /gradio_api/api/predict/ /gradio_api/vibe-edit
/gradio_api/undo-vibe-edit /gradio_api/vibe-code /gradio_api/vibe-starter-queries
/gradio_api/profiling/traces /gradio_api/mcp/sse /gradio_api/mcp/messages/ /login /logout /svelte/x
/static/img/x /assets/x /favicon.ico /theme.css /robots.txt /pwa_icon /pwa_icon/192 /manifest.json
/monitoring /monitoring/summary /monitoring/x /redoc /openapi.json /docs/oauth2-redirect /upload
/file=/etc/hostname /queue/join /info /api/predict /run/predict /gradio_api/ /gradio_api
/gradio_api/call /config/ /x //config
"""


def concrete(path: str) -> str:
    """A path as somebody would ask for it."""
    return re.sub(r"\{[^}]*\}", "x", path)


def written() -> Iterator[str]:
    """The paths that the installed Gradio's source gives its routes, also those that this app's
    settings leave out.
    """
    source = Path(gradio_routes.__file__).read_text(encoding="utf-8")
    for router, path in re.findall(r'@(app|router)\.\w+\(\s*f?"(/[^"]*)"', source):
        yield concrete(f"{'/gradio_api' if router == 'router' else ''}{path}")


def walked(routes: Iterable[Any]) -> Iterator[str]:
    """The paths of these routes and of what is mounted below them."""
    for found in iter_route_contexts(list(routes)):
        route = getattr(found, "route", found)
        path = concrete(getattr(found, "path", None) or getattr(route, "path", ""))
        yield path
        yield from (
            f"{path}{inner}"
            for inner in walked(getattr(getattr(route, "app", None), "routes", ()) or ())
        )


@pytest.fixture(scope="module")
def everything() -> Iterator[tuple[str, set[str]]]:
    """An app with all on that Gradio has, in this process: its address, and the paths of all its
    routes.
    """
    server = served.build(space.load())
    app, address, _ = server.launch(
        server_port=free_port(),
        prevent_thread_lock=True,
        quiet=True,
        ssr_mode=False,
        run_history=True,
        enable_monitoring=True,
    )
    found = {*walked(app.routes), *(concrete(path) for path in app.openapi()["paths"]), *written()}
    yield address.rstrip("/"), found
    app.get_blocks().close()


# nothing is encrypted here, and reading certificates takes long
CLIENT = httpx.Client(timeout=20, verify=False)


def asked(address: str, method: str, path: str) -> httpx.Response | None:
    """The answer; None if it does not begin. Some have no end, so only a refusal is read."""
    headers = {"Content-Type": "application/json"} if method == "POST" else {}
    with (
        suppress(httpx.ReadTimeout),
        CLIENT.stream(method, address + path, headers=headers) as response,
    ):
        if response.status_code == 404:
            response.read()
        return response
    return None


def off(answer: httpx.Response | None, method: str) -> bool:
    return (
        answer is not None
        and answer.status_code == 404
        and (method == "HEAD" or NOTHING in answer.text)
    )


def test_of_all_routes_that_there_are_only_the_needed_ones_answer(everything: tuple[str, set[str]]):
    address, paths = everything
    assert len(paths) > 60, "the routes were not found"
    assert {
        "/gradio_api/upload",
        "/gradio_api/dev/reload",
        "/monitoring/x",
        "/gradio_api/run-history/buckets",
    } <= paths
    assert {path for path in NEEDED if "/mcp" not in path} <= paths
    on = {
        path
        for path in paths
        for method in METHODS
        if not off(asked(address, method, path), method)
    }
    assert on <= NEEDED
    assert {"/gradio_api/queue/join", "/answers/x", "/docs", "/config", "/"} <= on


def test_what_gradio_is_known_to_answer_and_nobody_here_needs_is_off(app: Server):
    for path in GRADIO_6.split():
        for method in METHODS:
            assert off(asked(app.url.rstrip("/"), method, path), method), (method, path)


def test_each_route_answers_only_by_its_methods(app: Server):
    for path in NEEDED:
        for method in ("PUT", "PATCH", "TRACE", *(() if "/mcp" in path else ("DELETE",))):
            assert off(asked(app.url.rstrip("/"), method, path), method), (method, path)
    assert off(asked(app.url, "POST", ""), "POST")
    assert off(asked(app.url, "GET", "answers/pair"), "GET")


def test_a_route_that_a_later_version_brings_is_off_until_it_is_listed():
    assert not answers_at("GET", "/gradio_api/brand-new")
    assert not answers_at("POST", "/gradio_api/queue/join/more")
    assert not answers_at("POST", "/gradio_api/call/run/event/more")
    shown = {path.replace("**", "x").replace("*", "x") for route in LIST for path in route["paths"]}
    assert shown == NEEDED
    assert all(len(route["why"]) > 8 for route in LIST)


def test_no_file_is_kept_for_anybody(app: Server):
    sent = CLIENT.post(f"{app.url}gradio_api/upload", files={"files": ("x.txt", b"kept?")})
    assert (sent.status_code, sent.json()) == (404, {"error": NOTHING})


def test_no_socket_is_opened():
    client = TestClient(admitted(lambda *_: pytest.fail("reached")))  # type: ignore[arg-type]
    with pytest.raises(WebSocketDisconnect), client.websocket_connect("/gradio_api/queue/join"):
        pass
