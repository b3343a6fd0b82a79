"""The app listens where it is told to, and no proxy stands between it and itself."""

from __future__ import annotations

import os
import socket
import sys
from urllib.request import ProxyHandler, build_opener, getproxies_environment

import pytest
from running_app import Server

pytest.importorskip("gradio")

from hsd.app.address import chosen_host, chosen_port, without_proxy
from hsd.errors import HsdError
from hsd.http_client import json_of

NOBODY = "http://127.0.0.1:9"  # a proxy that answers nothing
PROXIES = {
    "capitals": {"HTTP_PROXY": NOBODY, "HTTPS_PROXY": NOBODY, "NO_PROXY": "example.org"},
    "small letters": {"http_proxy": NOBODY, "https_proxy": NOBODY, "all_proxy": NOBODY},
    "SOCKS": {"ALL_PROXY": "socks5://127.0.0.1:9"},
}
SIX = pytest.mark.skipif(
    not socket.has_dualstack_ipv6(), reason="this machine has no address of IPv6"
)


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """An environment without proxies and without Gradio's addresses."""
    for name in [*os.environ]:
        if name.lower().endswith("_proxy") or name.startswith("GRADIO_SERVER"):
            monkeypatch.delenv(name)
    return monkeypatch


@SIX
@pytest.mark.parametrize(
    ("proxies", "host", "shown"),
    [
        pytest.param("capitals", "::1", "http://[::1]:", marks=pytest.mark.slow),
        pytest.param("SOCKS", "::", "http://[::1]:", marks=pytest.mark.slow),
        pytest.param("small letters", "0.0.0.0", "http://localhost:", marks=pytest.mark.slow),
    ],
)
def test_the_app_starts_beside_a_proxy_and_prints_an_address_that_answers(
    proxies: str, host: str, shown: str, plain: pytest.MonkeyPatch
):
    command = [sys.executable, "-m", "hsd", "app", "--host", host, "--port", "0"]
    server = Server(command, 0, **PROXIES[proxies])
    try:
        url = server.lines[-1].removeprefix("The app is ready: ").strip()
        assert url.startswith(shown)
        with build_opener(ProxyHandler({})).open(url, timeout=600) as answer:
            assert b"<title>" in answer.read()
        assert "Traceback" not in server.output
    finally:
        server.stop()


@pytest.mark.parametrize("proxies", PROXIES)
def test_a_server_on_this_machine_is_asked_without_a_proxy(
    proxies: str, fake, plain: pytest.MonkeyPatch
):
    from hsd import http_client

    for name, value in PROXIES[proxies].items():
        plain.setenv(name, value)
    opener = build_opener(http_client.NoRedirect)  # as it is made where these are set
    plain.setattr(http_client, "OPENER", opener)
    port = fake.server_address[1]
    for host in ("127.0.0.1", "localhost", "0.0.0.0"):
        assert json_of(f"http://{host}:{port}/v1/models", 600)["data"]
    if "ALL_PROXY" not in PROXIES[proxies]:  # of which urllib knows nothing
        with pytest.raises(HsdError, match="cannot reach"):
            json_of("http://server.example.net/v1/models", 600)


@pytest.mark.parametrize("proxies", PROXIES)
def test_other_hosts_are_asked_by_the_proxy_again(proxies: str, plain: pytest.MonkeyPatch):
    for name, value in PROXIES[proxies].items():
        plain.setenv(name, value)
    before = getproxies_environment()
    with without_proxy("[fe80::1]"):
        assert os.environ["no_proxy"] == "*"
    after = getproxies_environment()
    own = "localhost,127.0.0.1,::1,fe80::1"
    assert after.pop("no") == f"{before.pop('no', '')},{own}".strip(",")
    assert after == before


@pytest.mark.parametrize("names", [None, "example.org"])
def test_an_environment_without_proxies_is_left_as_it_was(
    names: str | None, plain: pytest.MonkeyPatch
):
    if names:
        plain.setenv("no_proxy", names)
    with without_proxy("127.0.0.1"):
        pass
    assert os.environ.get("no_proxy") == names


@SIX
@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_a_port_is_free_or_refused(host: str, plain: pytest.MonkeyPatch):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, 0), family=family) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(HsdError, match=f"port {port} is taken or no port"):
            chosen_port(host, port)
        plain.setenv("GRADIO_SERVER_PORT", str(port))
        assert chosen_port(host, None) > port
    assert chosen_port(host, port) == port
    assert chosen_port(host, 0) > 0
    for number in (-1, 65_536):
        with pytest.raises(HsdError, match="no port"):
            chosen_port(host, number)


@SIX
def test_an_address_of_version_6_has_brackets_wherever_it_comes_from(plain: pytest.MonkeyPatch):
    assert [chosen_host(host) for host in ("::1", "[::1]", "::", "localhost", None)] == [
        "[::1]",
        "[::1]",
        "[::]",
        "localhost",
        "127.0.0.1",
    ]
    plain.setenv("GRADIO_SERVER_NAME", "::1")
    assert chosen_host(None) == "[::1]"
    with pytest.raises(HsdError, match="no address of this machine"):
        chosen_host("::1%lo")
