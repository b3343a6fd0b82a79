"""Whom the app answers, and that it asks no server for others: no foreign page or name."""

from __future__ import annotations

import json
import shutil
import socket
import sys
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from recorded_server import Fake
from running_app import Server, free_port
from starlette.datastructures import Headers
from starlette.testclient import TestClient

from hsd import space
from hsd.app.middleware import NOT_JSON, admitted
from hsd.app.trust import Trust, started
from hsd.errors import HsdError
from hsd.paths import ASSETS, ROOT

JSON = {"Content-Type": "application/json"}
PAIR = json.dumps({"name": "tiny"})
RACE = {"prompt": "Once upon a time", "pair": "tiny", "max_new_tokens": 8, "rounds": 1}
ASKED = ("answers/pair", "gradio_api/queue/join", "gradio_api/call/v2/run", "gradio_api/mcp/")
CLIENT = httpx.Client(timeout=60, verify=False)
FOREIGN = """
evil.example rebound.evil.example:7860 localhost.evil.example 127.0.0.1.evil.example
evil.example:80 0.0.0.0 10.0.0.1 user@localhost localhost@evil.example localhost:many 2130706433
[::ffff:8.8.8.8] xn--lcalhost-65a
"""
ORIGINS = """
https://evil.example null http://localhost.evil.example http://evil.example:7860 file://
http://127.0.0.1.evil.example https://user@localhost chrome-extension://abc http:// x
"""


def heard(
    app: Server, *headers: tuple[str, str], method: str = "GET", path: str = "/", body: str = ""
) -> httpx.Response:
    """The answer to a request with exactly these headers, a Host only if one is given."""
    line = f"{method} {path} HTTP/1.{int(any(name == 'Host' for name, _ in headers))}\r\n"
    words = [*headers, ("Content-Length", str(len(body))), ("Connection", "close")]
    request = line + "".join(f"{name}: {value}\r\n" for name, value in words) + "\r\n" + body
    parts = urlsplit(app.url)
    with socket.create_connection((parts.hostname, parts.port), 60) as to:
        to.sendall(request.encode("latin-1"))
        with to.makefile("rb") as reply:
            head, _, rest = reply.read().partition(b"\r\n\r\n")
    return httpx.Response(int(head.split()[1]), content=rest)


def post(app: Server, **headers: str) -> httpx.Response:
    """A question of the page, with these headers besides."""
    more = {name.replace("_", "-"): value for name, value in headers.items()}
    return CLIENT.post(f"{app.url}answers/pair", content=PAIR, headers={**JSON, **more})


# ---- names


@pytest.mark.parametrize(
    "name", ["localhost", "127.0.0.1", "[::1]", "LocalHost", "127.8.8.8", "localhost."]
)
def test_an_app_on_this_machine_answers_to_its_names_at_any_port(app: Server, name: str):
    for port in ("", ":80", ":65535"):
        assert heard(app, ("Host", f"{name}{port}")).status_code == 200


@pytest.mark.parametrize("name", FOREIGN.split())
def test_it_answers_to_no_other_name_whatever_is_asked(app: Server, name: str):
    for method, path in (
        ("GET", "/"),
        ("GET", "/config"),
        ("HEAD", "/"),
        ("OPTIONS", "/config"),
        ("DELETE", "/x"),
    ):
        refused = heard(app, ("Host", name), method=method, path=path)
        assert refused.status_code == 403, (method, path)
        assert method == "HEAD" or "start it with --allowed-host" in refused.text
    for path in ASKED:
        refused = heard(
            app, ("Host", name), *JSON.items(), method="POST", path=f"/{path}", body=PAIR
        )
        assert refused.status_code == 403, path
        assert "\n" not in refused.json()["error"]


def test_who_is_refused_by_name_is_told_the_option_and_a_browser_shows_it(app: Server):
    known = "this app is not known as demo.example.org: if that is its address"
    words = f"{known}, start it with --allowed-host demo.example.org"
    refused = CLIENT.get(app.url, headers={"Host": "demo.example.org"})
    assert refused.text == words
    assert refused.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert CLIENT.get(app.url, headers={"X-Forwarded-Host": "demo.example.org"}).text == words
    assert (
        CLIENT.get(app.url, headers={"X-Forwarded-Host": "localhost, demo.example.org"}).text
        == words
    )
    odd = heard(app, ("Host", "a;reboot")).text
    assert odd.endswith("--allowed-host NAME")
    assert "reboot" not in odd


def test_a_request_without_a_name_or_with_two_is_refused(app: Server):
    assert heard(app).status_code == 403
    assert heard(app, ("Host", "localhost"), ("Host", "evil.example")).status_code in (400, 403)


# ---- pages


@pytest.mark.parametrize("origin", ORIGINS.split())
def test_a_page_of_another_site_changes_nothing(app: Server, origin: str):
    for path in (
        "answers/pair",
        "gradio_api/queue/join",
        "gradio_api/call/v2/run",
        "gradio_api/cancel",
        "gradio_api/mcp/",
    ):
        refused = CLIENT.post(app.url + path, content=PAIR, headers={**JSON, "Origin": origin})
        assert refused.status_code == 403, path
        assert "\n" not in refused.json()["error"]
    asked = {"Origin": origin, "Access-Control-Request-Method": "POST"}
    told = CLIENT.options(f"{app.url}answers/pair", headers=asked)
    assert told.status_code == 403
    assert "Access-Control-Allow-Origin" not in told.headers
    # it may show the page
    assert CLIENT.get(app.url, headers={"Origin": origin}).status_code == 200


def test_a_browser_that_says_that_another_site_asks_is_believed(app: Server):
    assert post(app, Sec_Fetch_Site="cross-site").status_code == 403
    assert post(app, Sec_Fetch_Site="cross-site", Origin=app.url.rstrip("/")).status_code == 403
    framed = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "iframe"}
    # papers and slides embed the page
    assert CLIENT.get(app.url, headers=framed).status_code == 200


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "x/json"]
)
def test_a_form_that_holds_json_is_not_read(app: Server, kind: str):
    for path in ASKED:
        refused = CLIENT.post(
            app.url + path, content=PAIR, headers={"Content-Type": kind} if kind else {}
        )
        assert (refused.status_code, refused.json()) == (415, {"error": NOT_JSON})
    two = heard(
        app,
        ("Host", "localhost"),
        *JSON.items(),
        ("Content-Type", kind),
        method="POST",
        path="/answers/pair",
    )
    assert two.status_code == 415


def test_the_page_a_client_and_curl_are_answered(app: Server):
    own = app.url.rstrip("/")
    for headers in (
        {},
        # the page, in a frame of another site as well
        {"Origin": own, "Sec_Fetch_Site": "same-origin"},
        # another program on this machine
        {"Origin": "http://localhost:3000", "Sec_Fetch_Site": "same-site"},
        {"Sec_Fetch_Site": "none"},
        {"Content_Type": "application/json; charset=utf-8"},
        {"Content_Type": "Application/JSON"},
    ):
        assert post(app, **headers).json()["name"] == "tiny", headers


# ---- what an app was started for


def test_an_app_that_others_can_reach_answers_to_any_name_or_to_those_that_were_given(monkeypatch):
    def says(known: Trust, changes: bool = False, **headers: str) -> str:
        return known.refusal(Headers({n.replace("_", "-"): v for n, v in headers.items()}), changes)

    for name in ("GRADIO_SERVER_NAME", "SPACE_HOST", "GRADIO_ROOT_PATH"):
        monkeypatch.delenv(name, raising=False)
    everywhere = started("0.0.0.0")
    proxied = started(None, ("demo.example.org", "*.lab.example"))
    assert (everywhere.loopback, everywhere.names) == (False, ("*",))
    assert (proxied.loopback, proxied.names) == (True, ("demo.example.org", "*.lab.example"))
    assert started(None) == started("::1") == Trust(loopback=True, names=())
    assert not says(everywhere, Host="anything.example")
    assert not says(everywhere, True, Host="nas:7860", Origin="http://nas:7860")
    assert "may not ask" in says(everywhere, True, Host="nas:7860", Origin="http://nas:8080")
    assert "may not ask" in says(everywhere, True, Host="nas:7860", Origin="http://localhost:7860")
    assert "may not ask" in says(everywhere, True, Host="", Origin="null")
    for host in ("demo.example.org", "demo.example.org:8443", "a.lab.example", "localhost:7860"):
        assert not says(proxied, Host=host)
    # a proxy that renames
    assert not says(proxied, True, Host="127.0.0.1:7860", Origin="https://demo.example.org")
    # one of many
    assert "may not ask" in says(proxied, True, Host="localhost", Origin="https://a.lab.example")
    assert "not known as evil.example" in says(proxied, Host="evil.example")
    some = started("192.168.1.5", ("https://demo.example.org/app",))
    assert [
        bool(says(some, Host=host)) for host in ("demo.example.org", "192.168.1.5", "other")
    ] == [
        False,
        False,
        True,
    ]
    for odd in ("a@b", "b ad", "<b>", "höst.example", ""):
        with pytest.raises(HsdError, match=f"--allowed-host '{odd}': give a host's name"):
            started(None, ("demo.example.org", odd))
    monkeypatch.setenv("SPACE_HOST", "someone-hsd.hf.space")
    monkeypatch.setenv("GRADIO_SERVER_NAME", "0.0.0.0")
    hub = {"Origin": "https://someone-hsd.hf.space", "Sec_Fetch_Site": "same-origin"}
    # as seen from inside of the Hub's own proxy
    assert not says(started(None), True, Host="10.1.2.3:7860", **hub)
    assert "may not ask" in says(
        started(None), True, Host="someone-hsd.hf.space", Origin="https://huggingface.co"
    )
    assert not says(started(None), Host="someone-hsd.hf.space", Sec_Fetch_Site="cross-site")


def test_an_app_below_a_path_answers_there():
    async def answer(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"here"})

    client = TestClient(admitted(answer, "/hsd"), base_url="http://localhost")
    assert [
        client.get(path).status_code for path in ("/hsd/config", "/config", "/hsdx", "/hsd/upload")
    ] == [
        200,
        200,
        404,
        404,
    ]


# ---- an app that listens to all, in a folder with nothing but what a Space gets


@pytest.fixture(scope="module")
def open_app(nothing_fetched: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    if not (ASSETS / "tiny" / "target").is_dir():
        pytest.skip("the embedded pair is not there")
    folder = tmp_path_factory.mktemp("space")
    port = free_port()
    for name in space.space_files():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    listens = {"GRADIO_SERVER_NAME": "0.0.0.0", "GRADIO_SERVER_PORT": str(port)}
    server = Server([sys.executable, "app.py"], port, folder, **listens)
    yield server
    server.stop()
    assert "Traceback" not in server.output, server.output


@pytest.fixture
def reached(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Who has connected to the server on this machine."""
    seen: list[Any] = []
    monkeypatch.setattr(fake, "verify_request", lambda _, address: seen.append(address) or True)
    return seen


@pytest.mark.slow
def test_an_app_in_such_a_folder_runs_and_has_its_presets(open_app: Server):
    client = pytest.importorskip("gradio_client").Client(open_app.url, verbose=False)
    assert client.predict("Once upon a time", api_name="/run")["trace"]["trace_version"] == 2
    assert client.predict(api_name="/presets")


def test_an_app_for_others_answers_them_and_leads_nobody_into_its_network(
    open_app: Server, fake: Fake, reached
):
    asked = {**RACE, "lanes": [{"rule": "hsd"}, {"url": fake.url}]}
    lan = {"Host": "nas.example:7860", **JSON}
    assert CLIENT.get(open_app.url, headers=lan).status_code == 200
    call = f"{open_app.url}gradio_api/call/v2/race"
    foreign = CLIENT.post(
        call, json={"options": asked}, headers={**lan, "Origin": "https://evil.example"}
    )
    assert foreign.status_code == 403
    event = CLIENT.post(
        call, json={"options": asked}, headers={**lan, "Origin": "http://nas.example:7860"}
    ).json()
    told = CLIENT.get(f"{open_app.url}gradio_api/call/race/{event['event_id']}", headers=lan).text
    assert "lane 3: unknown option 'url'" in told
    assert not reached
