"""What a browser may lack or refuse: the page plays recorded steps without it, and decodes or says
in one sentence why it cannot.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from loops import for_each
from running_app import Files
from test_browser_page import FILE, PROMPT, real, with_another_model
from test_modules import SCRIPTS
from web_page import Browser, Guest

from hsd.app.modules import read
from hsd.paths import TRACES

# ---- who names such features

FEATURES = (
    r"localStorage|sessionStorage|indexedDB|caches|cookieStore|navigator|crypto|history|Worker"
    r"|SharedArrayBuffer|crossOriginIsolated|WebAssembly(?!'s|\.Instance)|matchMedia|Notification"
    r"|BroadcastChannel|IntersectionObserver|ResizeObserver|CompressionStream|DecompressionStream"
    r"|requestFullscreen|exitFullscreen|fullscreenElement|execCommand|showPopover|hidePopover"
    r"|showModal|Segmenter|requestIdleCallback|withResolvers"
)
THEIRS = {"kit/features.js", "early.js", "offline.js"}
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


@for_each("script", [name for name in SCRIPTS if name not in THEIRS])
def test_only_one_module_names_what_a_browser_may_refuse(script: str) -> None:
    assert re.findall(rf"(?<![\w-])(?:{FEATURES})\b(?!-)", COMMENT.sub("", read(script))) == []


# ---- pages on which one of them is missing

BREAK = """((path, way) => {
  globalThis.broken ??= new Set();
  if (broken.has(path)) return; // by an earlier script
  broken.add(path);
  const names = path.split(".");
  const name = names.pop();
  let owner = globalThis;
  for (const part of names) owner = owner?.[part];
  if (!owner || !(name in owner)) return; // in a worker, say
  const refusal = () => new DOMException("refused", "SecurityError");
  const refuse = () => { throw refusal(); };
  const late = () => Promise.reject(refusal());
  const each = (call) => new Proxy({}, { get: () => call });
  const part = (call) => typeof owner[name] === "function" ? call : each(call);
  const made = {
    "getter throws": () => ({ get: refuse }),
    "is missing": () => ({ value: undefined }),
    "throws": () => ({ value: part(refuse) }),
    "rejects": () => ({ value: part(late) }),
  };
  Object.defineProperty(owner, name, { ...made[way](), configurable: true });
})"""
# each with how it refuses when it is called
CALLS = {
    "localStorage": "throws",
    "caches": "rejects",
    "navigator.locks": "rejects",
    "navigator.serviceWorker": "rejects",
    "navigator.clipboard": "rejects",
    "crypto.subtle": "rejects",
    "history.pushState": "throws",
    "history.replaceState": "throws",
    "matchMedia": "throws",
    "CompressionStream": "throws",
    "DecompressionStream": "throws",
    "Intl.Segmenter": "throws",
    "document.execCommand": "throws",
    "HTMLElement.prototype.showPopover": "throws",
    "HTMLElement.prototype.hidePopover": "throws",
    "HTMLDialogElement.prototype.showModal": "throws",
    "Element.prototype.requestFullscreen": "rejects",
    "document.exitFullscreen": "rejects",
    "Worker": "throws",
    "WebAssembly.validate": "throws",
    "WebAssembly.compile": "rejects",
}
COMPUTING = ("Worker", "WebAssembly.validate", "WebAssembly.compile")
KEPT = tuple(path for path in CALLS if path not in COMPUTING)
Case = tuple[str, str]  # a feature, and what is wrong with it
CASES: dict[str, list[Case]] = {
    **{f"{path} {call}": [(path, call)] for path, call in CALLS.items()},
    **{
        f"{path} {way}": [(path, way)]
        for path in (*COMPUTING, "WebAssembly", "history", "navigator.hardwareConcurrency")
        for way in ("getter throws", "is missing")
    },
    "every getter throws": [(path, "getter throws") for path in KEPT],
    "all are missing": [(path, "is missing") for path in KEPT],
    "the store refuses": [
        (f"Cache.prototype.{name}", "rejects") for name in ("match", "put", "delete")
    ],
}
# where all else has worked the model's file is read, and refused
WORKED = "this file holds another model"
NO_THREAD = "this browser starts no model here"
NO_ENGINE = "does not run the page's engine"
LACKS = "recorded runs work, and a newer browser decodes"


def said(path: str, way: str) -> str:
    """What the page says of a run where a feature is missing."""
    if path == "WebAssembly.compile":
        return NO_ENGINE
    if path.startswith("WebAssembly") or (path == "Worker" and way != "throws"):
        return LACKS
    return NO_THREAD if path == "Worker" else WORKED


@pytest.fixture(scope="module")
def files(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Files]:
    """An export whose weights are refused after everything else has worked."""
    place = tmp_path_factory.mktemp("features")
    with_another_model(folder, place)
    files = Files(place, "page/")
    yield files
    files.stop()


def broken(page: Any, *cases: Case) -> None:
    """Let a page and its workers begin without these features, before any of its scripts runs."""
    begin = "".join(f"{BREAK}({json.dumps(path)}, {json.dumps(way)});\n" for path, way in cases)

    def answer(route: Any) -> None:
        reply = route.fetch()
        route.fulfill(response=reply, body=begin + reply.text())

    for script in ("early.js", "kit/features.js"):
        page.route(f"**/{script}", answer)


OPEN = "body:not(.hsd-opening)"  # all of a page is there
QUERY = "?preset=whole-draft&at_step=2&board=full"


def looked_through(page: Any) -> None:
    """Play recorded steps, read the help, copy a link, and open another screen."""
    page.locator(".hp-place", has_text="step 2/").wait_for()
    page.locator(OPEN).wait_for()
    page.keyboard.press("Shift+ArrowRight")
    page.locator(".hp-place", has_text="step 3/").wait_for()
    page.keyboard.press("?")
    page.locator("dialog.hp-dialog[open]").get_by_role("button", name="Close").click()
    page.keyboard.press("l")
    page.locator(".hp-toast", has_text=re.compile("link copied|^http")).wait_for()
    page.click("#hsd-tab-learn-button")
    page.locator(".hf-page h2").wait_for()
    page.click("#hsd-tab-watch-button")


def filled_screen(page: Any, returns: bool) -> None:
    """Let the player fill the screen, and where the page can end that, make it small again."""
    full = page.locator(":is(:fullscreen, .is-maximised)")
    page.locator(".hf-player").focus()
    page.keyboard.press("f")
    full.wait_for()
    page.keyboard.press("f")
    if returns:
        full.wait_for(state="detached")


def ask(page: Any) -> None:
    """Ask for a run."""
    page.locator(OPEN).wait_for()
    page.fill("#hsd-prompt textarea", PROMPT)
    page.click("#hsd-run")


def run(page: Any) -> None:
    """Ask for a run, and let the model be loaded."""
    ask(page)
    load = page.locator("dialog.hf-consent").get_by_role("button", name="Load")
    load.or_(page.locator(".hf-alert:not([hidden])")).first.wait_for()
    if load.count():
        load.click()


def told(page: Any, words: str) -> None:
    page.locator(".hf-alert:not([hidden])", has_text=words).wait_for()


@pytest.mark.parametrize("cases", CASES.values(), ids=CASES)
def test_a_page_without_a_feature_plays_and_decodes_or_says_why(
    chromium: Browser, files: Files, cases: list[Case]
) -> None:
    guest = Guest(chromium, files.url, serious=())
    page = guest.page
    page.bring_to_front()
    broken(page, *cases)
    page.goto(files.url + QUERY)
    looked_through(page)
    page.set_input_files(".hf-file", TRACES / "sum.json")
    page.locator(".hf-source", has_text="trace file").wait_for(state="attached")
    words = said(*cases[0])
    if words is LACKS:
        reason = page.inner_text("#hsd-strip .hf-refused")
        assert words in reason
        assert page.text_content("#hsd-live").strip().startswith(reason)
        assert not page.is_visible("#hsd-prompt")
    else:
        run(page)
        told(page, words)
    filled_screen(page, returns="document.exitFullscreen" not in dict(cases))
    guest.close()


@pytest.mark.parametrize("way", ["getter throws", "is missing", "throws"])
def test_where_nobody_knows_what_is_in_view_charts_are_drawn_at_once(
    chromium: Browser, files: Files, way: str
) -> None:
    guest = Guest(chromium, files.url, serious=())
    broken(guest.page, ("IntersectionObserver", way))
    guest.page.goto(f"{files.url}?tab=systems")
    guest.page.locator(".hsd-systems .js-plotly-plot").last.wait_for(state="attached")
    guest.close()


def test_a_browser_that_keeps_no_files_is_not_said_to_keep_them(
    chromium: Browser, files: Files
) -> None:
    guest = Guest(chromium, files.url, serious=())
    broken(guest.page, ("caches", "rejects"))
    guest.page.goto(files.url)
    ask(guest.page)
    question = guest.page.locator("dialog.hf-consent").inner_text()
    assert "for this visit alone" in question
    assert "once" not in question
    guest.close()


def test_a_trace_in_a_link_that_a_browser_cannot_unpack_is_not_called_damaged(
    chromium: Browser, files: Files
) -> None:
    guest = Guest(chromium, files.url, serious=())
    broken(guest.page, ("DecompressionStream", "is missing"))
    guest.page.goto(f"{files.url}#trace=AAAA")
    told(guest.page, "this browser cannot unpack the trace in this link")
    guest.close()


@real
def test_a_browser_that_refuses_all_that_can_be_refused_decodes(
    chromium: Browser, served: Files
) -> None:
    guest = Guest(chromium, served.url, serious=())
    page = guest.page
    refused = [(path, CALLS[path]) for path in KEPT]
    broken(page, *refused, ("navigator.hardwareConcurrency", "getter throws"))
    page.goto(served.url)
    ask(page)
    page.locator("dialog.hf-consent input").set_input_files(FILE)
    page.locator(".hf-source", has_text="● live").wait_for(state="attached")
    page.locator("#hsd-run:enabled").wait_for()
    assert page.locator(".hf-alert").is_hidden()
    guest.close()


# ---- in a frame of another site


class _Page(SimpleHTTPRequestHandler):
    """A page that has another in a frame, at "/"; beside it files, for pages of all origins."""

    html = ""

    def do_GET(self) -> None:
        if self.path != "/":
            super().do_GET()
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(self.html)))
        self.end_headers()
        self.wfile.write(self.html.encode())

    def end_headers(self) -> None:
        self.send_header("Access-Control-Allow-Origin", "*")
        super().end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def framing(tmp_path: Path, folder: Path) -> Iterator[ThreadingHTTPServer]:
    """A server of `_Page`, whose files are those of an export."""
    with_another_model(folder, tmp_path)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Page, directory=str(tmp_path)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()


SANDBOX = 'sandbox="allow-scripts"'
# what a browser refuses there that blocks the storage of other sites
BLOCKED = [
    ("localStorage", "getter throws"),
    ("caches", "rejects"),
    ("navigator.locks", "rejects"),
    ("Element.prototype.requestFullscreen", "rejects"),
]


@pytest.mark.parametrize(
    ("attributes", "open_to_all", "words"),
    [
        ("", False, WORKED),
        (SANDBOX, False, "this page cannot start"),
        (SANDBOX, True, NO_THREAD),
    ],
    ids=["another site", "no origin", "no origin, files for all"],
)
def test_a_page_in_a_frame_of_another_site_decodes_or_says_why(
    chromium: Browser,
    files: Files,
    framing: ThreadingHTTPServer,
    attributes: str,
    open_to_all: bool,
    words: str,
) -> None:
    port = framing.server_port
    framed = f"http://127.0.0.1:{port}/page/" if open_to_all else files.url
    _Page.html = f'<!doctype html><iframe {attributes} src="{framed}" width=1200 height=700>'
    outer = f"http://some-machine.test:{port}/"
    guest = Guest(chromium, files.url, framed, outer, serious=())
    if not attributes:
        broken(guest.page, *BLOCKED)
    guest.page.goto(outer)
    frame = guest.page.frames[1]
    frame.locator(":is(.hf-first, .hp-guess, .hp-node)").first.wait_for()
    if "cannot start" not in words:
        run(frame)
    told(frame, words)
    guest.close()
