"""A browser, and pages that notice everything that goes wrong on them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from player_page import FileStage, Stage, word_trace
from running_app import Files, Server
from web_page import WAIT, Browser, Guest

from hsd.paths import ROOT

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--no-proxy-server",
    # no other host
    "--host-resolver-rules=MAP some-machine.test 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """The browser of all tests in one process."""
    api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    with api.sync_playwright() as playwright:
        path = str(CHROMIUM) if CHROMIUM.exists() else None
        try:
            browser = playwright.chromium.launch(executable_path=path, args=FLAGS, timeout=WAIT)
        except api.Error as error:
            pytest.skip(f"no Chromium to drive: {str(error).splitlines()[0]}")
        yield Browser(browser)
        browser.close()


PLACES = {"visitors": ("place", ("app", "files")), "stage": ("stage_kind", ("page", "file"))}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test marked `recorded` needs no server: it runs in the app and in the folder of files that
    `space export` writes, or on a page with a player and in the single file of a run.
    """
    if not metafunc.definition.get_closest_marker("recorded"):
        return
    for fixture, (name, kinds) in PLACES.items():
        if fixture in metafunc.fixturenames:
            metafunc.parametrize(name, kinds, indirect=True, scope="session")


UNFOLD = """() => {
  const unfold = () => {
    const folded = document.querySelectorAll(":is(.hp-folded, .lv-more):not([data-seen])");
    for (const card of folded) {
      card.dataset.seen = "yes";
      card.open = true;
    }
  };
  new MutationObserver(unfold).observe(document.body, { childList: true, subtree: true });
  unfold();
}"""
"""Opens every card that is folded at first, once."""


class Visitor(Guest):
    """Someone with a page of the app, or of an exported folder, which may ask nothing but that."""

    def __init__(self, browser: Browser, app: Server | Files, **options: object) -> None:
        super().__init__(
            browser, app.url, serious=("error",), bypass_csp=True, **options
        )  # else Playwright cannot wait
        self.app = app

    def open(self, query: str = "", options: bool = True, folded: bool = False) -> Visitor:
        """Go to an address of the app. options: show them, where the window has room; they are
        folded at first.

        folded: leave cards as they are that are folded at first.
        """
        self.page.goto(self.app.url + query)
        drawn = (
            "document.querySelector('.hp-guess, .hp-node')"
            if "tab=" not in query or "tab=watch" in query
            else "true"
        )
        self.until(f"window.__hsd && window.__hsd.ready && {drawn}")
        if not folded:
            self.unfold()
        if options and not self.files and self.page.viewport_size["width"] > 860:
            self.options()
        return self

    def unfold(self) -> Visitor:
        """Open every card that is folded at first, also those that are still to come."""
        self.page.evaluate(UNFOLD)
        return self

    @property
    def files(self) -> bool:
        """Whether the page has no server."""
        return isinstance(self.app, Files)

    def options(self) -> None:
        """Show the options, which are folded at first."""
        if (
            self.page.locator("#hsd-layout.is-folded").count()
            and self.page.locator(".hf-options").is_visible()
        ):
            self.page.click(".hf-options")

    def until(self, condition: str) -> None:
        self.page.wait_for_function(condition)

    def until_source(self, words: str) -> None:
        """Wait until the chip that says what is shown says this."""
        self.page.locator(".hf-source", has_text=words).wait_for()

    @property
    def state(self) -> dict:
        return self.page.evaluate("window.__hsd")

    def set(self, name: str, value: str) -> None:
        """Type into a control: a text, a number, or the number beside a slider."""
        field = self._control(f"#hsd-{name} textarea, #hsd-{name} input:not([type=range])")
        field.fill(value)
        field.blur()

    def choose(self, name: str, option: str) -> None:
        """Pick from a menu."""
        menu = self._control(f"select#hsd-{name}, #hsd-{name} select")
        menu.select_option(menu.locator("option", has_text=option).first.text_content())

    def _control(self, selector: str) -> Any:
        """A control, where it is seen: options and their groups are folded at first."""
        control = self.page.locator(selector).first
        group = self.page.locator(".hp-option-group:not([open])", has=control)
        if not control.is_visible() and self.page.locator("#hsd-side", has=control).count():
            self.options()
        if group.count():
            group.locator("summary").click()
        return control

    def run(self) -> None:
        self.page.click("#hsd-run")

    def alert(self) -> str:
        """The line of the alert, once there is one."""
        self.page.wait_for_selector(".hf-alert:not([hidden])")
        return self.page.text_content(".hf-alert-words")

    def shown(self) -> tuple:
        """What is on the stage, to compare with later."""
        return (self.state["step"], self.state["steps"], self.page.inner_text(".hp-flow"))


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory, nothing_fetched: None) -> Path:
    """What `space export --static` writes."""
    path = tmp_path_factory.mktemp("server") / "some" / "page"
    command = [sys.executable, "-m", "hsd", "space", "export", "--static", str(path)]
    subprocess.run(command, check=True, cwd=ROOT, capture_output=True)
    return path


@pytest.fixture(scope="session")
def served(folder: Path) -> Iterator[Files]:
    """That folder, in a sub-path of `python -m http.server`."""
    files = Files(folder.parent.parent, "some/page/")
    yield files
    files.stop()


@pytest.fixture(scope="session")
def place(request: pytest.FixtureRequest) -> Server | Files:
    """Where visitors go: the app, or the exported folder."""
    return request.getfixturevalue(
        "served" if getattr(request, "param", "app") == "files" else "app"
    )


def makers(browser: Browser, place: Server | Files) -> Iterator[Callable[..., Visitor]]:
    """Yield a function that makes visitors; nothing may have gone wrong on their pages."""
    with ExitStack() as stack:

        def make(**options: object) -> Visitor:
            visitor = Visitor(browser, place, **options)
            stack.callback(visitor.close)
            return visitor

        yield make


@pytest.fixture
def visitors(chromium: Browser, place: Server | Files) -> Iterator[Callable[..., Visitor]]:
    """Makes visitors of the app, or of the exported folder."""
    yield from makers(chromium, place)


@pytest.fixture
def watchers(chromium: Browser, watching: Server) -> Iterator[Callable[..., Visitor]]:
    """Makes visitors of a page that watches a server."""
    yield from makers(chromium, watching)


@pytest.fixture
def visitor(visitors) -> Visitor:
    """One visitor whose page is open and drawn."""
    return visitors().open()


@pytest.fixture(scope="session")
def stage_kind(request: pytest.FixtureRequest) -> str:
    return getattr(request, "param", "page")


@pytest.fixture
def stage(chromium: Browser, stage_kind: str, tmp_path: Path) -> Iterator[Stage]:
    """A page that holds nothing but a player, or the file of a single run."""
    stage = FileStage(chromium, tmp_path) if stage_kind == "file" else Stage(chromium)
    yield stage
    stage.close()


@pytest.fixture(scope="session")
def trace() -> dict:
    """A run of the word pair with one draft."""
    return word_trace()
