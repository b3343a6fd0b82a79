"""A browser, and pages that notice everything that goes wrong on them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from player_page import Stage, word_trace
from running_app import Server
from web_page import WAIT

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


@pytest.fixture(scope="session")
def chromium() -> Iterator:
    """The one browser of all tests; every test has a profile of its own in it."""
    api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    with api.sync_playwright() as playwright:
        path = str(CHROMIUM) if CHROMIUM.exists() else None
        try:
            browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        except api.Error as error:
            pytest.skip(f"no Chromium to drive: {str(error).splitlines()[0]}")
        yield browser
        browser.close()


class Visitor:
    """Someone with a page of the app. Requests to other hosts are aborted and counted, errors are collected."""

    def __init__(self, browser, app: Server, width: int = 1280, **context: object) -> None:
        self.app = app
        self.context = browser.new_context(viewport={"width": width, "height": 800}, **context)
        self.context.set_default_timeout(WAIT)
        self.page = self.context.new_page()
        self.outside: list[str] = []
        self.problems: list[str] = []
        self.page.route(lambda url: not url.startswith((app.url, "data:", "blob:")), self._refuse)
        self.page.on("pageerror", lambda error: self.problems.append(f"page error: {error}"))
        self.page.on("console", lambda m: self.problems.append(f"console: {m.text}") if m.type == "error" else None)

    def _refuse(self, route) -> None:
        self.outside.append(route.request.url)
        route.abort()

    def open(self, query: str = "") -> Visitor:
        self.page.goto(self.app.url + query)
        self.until("window.__hsd && window.__hsd.ready && document.querySelector('.hp-node')")
        self.until("document.querySelector('#hsd-seed input')")
        return self

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
        field = self.page.locator(f"#hsd-{name} textarea, #hsd-{name} input:not([type=range])").first
        field.fill(value)
        field.blur()

    def choose(self, name: str, option: str) -> None:
        """Pick from a menu."""
        self.page.locator(f"#hsd-{name} input").click()
        self.page.get_by_role("option", name=option).click()

    def run(self) -> None:
        self.page.click("#hsd-run")

    def alert(self) -> str:
        """The line of the alert, once there is one."""
        self.page.wait_for_selector(".hf-alert:not([hidden])")
        return self.page.text_content(".hf-alert-words")

    def shown(self) -> tuple:
        """What is on the stage, to compare with later."""
        return (self.state["step"], self.state["steps"], self.page.inner_text(".hp-flow"))


@pytest.fixture
def visitors(chromium, app: Server) -> Iterator:
    """Makes visitors; at the end none of them may have seen an error or asked another host for anything."""
    made: list[Visitor] = []

    def make(**options: object) -> Visitor:
        made.append(Visitor(chromium, app, **options))
        return made[-1]

    yield make
    for visitor in made:
        visitor.context.close()
    assert [v.problems for v in made if v.problems] == []
    assert [v.outside for v in made if v.outside] == []


@pytest.fixture
def visitor(visitors) -> Visitor:
    """One visitor whose page is open and drawn."""
    return visitors().open()


@pytest.fixture
def stage(chromium) -> Iterator[Stage]:
    """A page that holds nothing but a player; at the end it may not have seen an error."""
    stage = Stage(chromium)
    yield stage
    stage.context.close()
    assert stage.problems == []


@pytest.fixture(scope="session")
def trace() -> dict:
    """A run of the word pair with one draft."""
    return word_trace()
