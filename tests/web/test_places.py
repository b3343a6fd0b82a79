"""The page works wherever it is put: under a sub-path behind a proxy, and at an address that is not
secure.
"""

from __future__ import annotations

import http.client
import json
import os
import shutil
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from running_app import Files, Server, free_port
from test_browser_page import FILE, PROMPT, Page, real
from web_page import Browser, Guest

from hsd.app.site import folder_of_modules
from hsd.models.loading import fetch

PREFIX = "/demo"
# What is copied where a page may not use the clipboard: the text that is selected, by a command.
WATCHED = """() => {
  document.execCommand = (name) => {
    window.copied = [name, document.querySelector("textarea[aria-hidden]").value];
    return Document.prototype.execCommand.call(document, name);
  };
}"""
# Resolves once the service worker answers the page.
CONTROLLED = """new Promise((done) => {
  const look = () => {
    if (navigator.serviceWorker.controller?.state === "activated") done();
    else setTimeout(look, 20);
  };
  look();
})"""
LAN = "some-machine.test"  # conftest.py leads it here; a browser trusts no such address over http


class Proxy(ThreadingHTTPServer):
    """A reverse proxy that answers under `PREFIX` alone, and asks the app without it."""

    daemon_threads = True

    def __init__(self, app: Server) -> None:
        super().__init__(("127.0.0.1", 0), _Forward)
        self.app = urlsplit(app.url).netloc
        self.url = f"http://127.0.0.1:{self.server_port}{PREFIX}/"
        threading.Thread(target=self.serve_forever, daemon=True).start()


class _Forward(BaseHTTPRequestHandler):
    server: Proxy

    def do_GET(self) -> None:
        if not self.path.startswith(f"{PREFIX}/"):
            self.send_error(404)
            return
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        asked = http.client.HTTPConnection(self.server.app)
        asked.request(self.command, self.path.removeprefix(PREFIX), body, dict(self.headers))
        answer = asked.getresponse()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("transfer-encoding", "connection", "date", "server"):
                self.send_header(name, value)
        self.end_headers()
        while part := answer.read1(1 << 16):  # messages of a run, as they come
            self.wfile.write(part)
        asked.close()

    do_POST = do_GET

    def log_message(self, *_: Any) -> None:
        pass


RUN = "?prompt=Once+upon+a+time&max_new_tokens=8"
LINE = "the server does not answer: check the connection, or reload the page"


def decoded(page: Any) -> bool:
    """Wait for the end of the run; whether the address says what the app made of the request."""
    page.locator("#hsd-run:enabled").wait_for()
    return "rule=hsd" in page.url


@pytest.fixture
def proxy(app: Server) -> Iterator[Proxy]:
    server = Proxy(app)
    yield server
    server.shutdown()


def test_behind_a_proxy_that_takes_a_prefix_away_runs_and_races_work(
    chromium: Browser, proxy: Proxy
):
    guest = Guest(chromium, proxy.url, serious=("error",))
    page = guest.page
    page.goto(proxy.url + RUN)
    page.get_by_text("● live", exact=True).wait_for()
    assert decoded(page)
    page.click("#hsd-tab-speed-button")
    page.locator(".hf-other > summary").click()
    page.fill(".hf-prompt", "Once upon a time")
    page.locator(".hf-setup #hsd-race-max-new-tokens-input").fill("4")
    page.click(".hf-go")
    page.locator(".hf-machine", has_text="Run here just now").wait_for()
    page.locator(".hf-go:enabled").wait_for()
    assert "plain decoding" in page.inner_text(".hf-verdict")
    guest.close()


def test_an_app_that_was_told_its_prefix_works_as_well(chromium: Browser, nothing_fetched: None):
    port = free_port()
    app = Server(
        [sys.executable, "-m", "hsd", "app", "--port", str(port)], port, GRADIO_ROOT_PATH=PREFIX
    )
    proxy = Proxy(app)
    guest = Guest(chromium, proxy.url, serious=("error",))
    guest.page.goto(proxy.url + RUN)
    guest.page.get_by_text("● live", exact=True).wait_for()
    assert decoded(guest.page)
    guest.close()
    proxy.shutdown()
    app.stop()


@pytest.mark.parametrize("path", ["config*", "gradio_api/info*", "gradio_api/queue/join*"])
@pytest.mark.parametrize("body", ["no such page", '{"detail": "Not Found"}'])
def test_a_proxy_that_lets_no_run_through_is_told(
    chromium: Browser, proxy: Proxy, path: str, body: str
):
    guest = Guest(chromium, proxy.url, serious=())
    guest.page.route(f"{proxy.url}{path}", lambda route: route.fulfill(status=404, body=body))
    guest.page.goto(proxy.url + RUN)
    guest.page.locator(".hf-alert:not([hidden])", has_text=LINE).wait_for()
    assert guest.page.input_value("#hsd-prompt textarea") == "Once upon a time"
    guest.close()


@pytest.fixture
def lan(chromium: Browser, served: Files) -> Iterator[Page]:
    """The exported page as a machine of the same network sees it, by http."""
    page = Page.__new__(Page)  # there is nothing kept that would have to go
    Guest.__init__(page, chromium, served.url.replace("127.0.0.1", LAN), serious=("error",))
    page.page.goto(served.url.replace("127.0.0.1", LAN))
    page.page.locator(".hf-device", has_text="in this browser").wait_for()
    yield page
    page.close()


def test_at_an_address_that_is_not_secure_the_page_offers_runs_and_says_that_nothing_is_kept(
    lan: Page,
):
    assert not lan.page.evaluate("window.isSecureContext")
    assert lan.page.is_visible("#hsd-run")
    assert "decoded in this browser" in lan.page.inner_text("#hsd-live")
    question = lan.ask(PROMPT).inner_text()
    assert "for this visit alone" in question
    assert "once" not in question


def test_at_an_address_that_is_not_secure_a_wrong_file_is_noticed_and_a_link_is_copied(
    lan: Page, tmp_path: Path
):
    wrong = tmp_path / "wrong.gguf"
    with wrong.open("wb") as file:
        file.truncate(fetch.MODELS["smollm2"].gguf_bytes)
    lan.ask(PROMPT).locator("input").set_input_files(wrong)
    lan.page.locator(".hf-alert:not([hidden])").wait_for()
    assert lan.page.locator(".hf-source").inner_text().startswith("recorded")
    lan.page.evaluate(WATCHED)
    lan.page.get_by_role("button", name="Copy link", exact=True).click()
    lan.page.get_by_text("link copied").wait_for()
    name, link = lan.page.evaluate("window.copied")
    assert name == "copy"
    assert link.startswith(lan.page.url.split("?")[0])


@real
def test_at_an_address_that_is_not_secure_a_prompt_is_decoded(lan: Page):
    assert FILE is not None
    lan.ask(PROMPT).locator("input").set_input_files(FILE)
    lan.page.locator(".hf-source", has_text="● live").wait_for()
    lan.page.locator("#hsd-run:enabled").wait_for()
    assert "here a check of" in lan.page.inner_text(".hf-outcome")  # it came to its end


def test_a_page_with_its_model_beside_it_works_without_a_network_after_the_first_visit(
    chromium, folder, tmp_path
):
    shutil.copytree(folder, tmp_path / "page", copy_function=os.link)
    told = tmp_path / "page" / "data" / "page.json"
    page = json.loads(told.read_text())
    assert page["offline"] is False, "this page has no weights"
    told.unlink()
    told.write_text(json.dumps(page | {"offline": True}))
    files = Files(tmp_path, "page/")
    guest = Guest(chromium, files.url)
    try:
        guest.page.goto(files.url)
        guest.page.evaluate("caches.open('hsd-page of an earlier version')")
        guest.page.evaluate(CONTROLLED)
        names = guest.page.evaluate("caches.keys()")
        assert [name for name in names if name.startswith("hsd-page ")] == [
            f"hsd-page {folder_of_modules()}"
        ]
        files.stop()
        guest.page.goto(f"{files.url}?preset=whole-draft&at_step=2")
        guest.page.locator(".hp-place", has_text="step 2/").wait_for()
        guest.page.click("#hsd-tab-learn-button")
        guest.page.locator(".hf-page h2").wait_for()
        guest.page.evaluate("navigator.serviceWorker.ready.then((one) => one.unregister())")
        for name in names:
            guest.page.evaluate("(name) => caches.delete(name)", name)
    finally:
        files.stop()
        guest.close()
