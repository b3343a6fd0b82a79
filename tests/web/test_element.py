"""<hsd-step>: a step of a run in somebody else's page, by one script and in a frame of its own."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from running_app import Files
from test_page import AXE, FOUND
from web_page import Browser, Guest

from hsd.app.element import SCRIPT, element
from hsd.cli import main
from hsd.paths import TRACES

STORY = (TRACES / "story.json").read_text(encoding="utf-8")
STYLE = "<style>body { margin: 8px; font: 40px serif } p { color: red; margin: 99px }</style>"
PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>A blog</title>
<link rel="icon" href="data:,">{style}
<script src="{script}"></script></head>
<body><main><h1>A post</h1>{body}</main></body></html>"""
BOARD = ".hp-board >> visible=true"


@pytest.fixture(scope="module")
def blog(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """A folder that any file server serves, and its address."""
    folder = tmp_path_factory.mktemp("blog")
    assert main(["space", "export", "--element", str(folder / SCRIPT)]) == 0
    (folder / "run.json").write_text(STORY, encoding="utf-8")
    served = Files(folder, "")
    yield folder, served.url
    served.stop()


@pytest.fixture
def post(chromium: Browser, blog: tuple[Path, str]) -> Iterator[Callable[..., Guest]]:
    """Opens a page of the blog with this body; nothing but its files is asked for."""
    folder, url = blog
    guests: list[Guest] = []

    def opened(body: str, disk: bool = False, style: str = "", **options: object) -> Guest:
        file = folder / "post.html"
        file.write_text(PAGE.format(script=SCRIPT, body=body, style=style), encoding="utf-8")
        place = file.as_uri() if disk else f"{url}post.html"
        own = folder.as_uri() if disk else url
        guests.append(Guest(chromium, own, offline=disk, **options))
        guests[-1].page.goto(place)
        return guests[-1]

    yield opened
    for guest in guests:
        guest.close()


def frame(guest: Guest, number: int = 0):
    """The document in the frame of an element."""
    return guest.page.locator("hsd-step").nth(number).locator("iframe").content_frame


@pytest.mark.core
def test_an_element_plays_its_step_by_keys_and_the_page_stays_as_it_was(post):
    guest = post('<hsd-step src="run.json" step="3"></hsd-step><p>After</p>', style=STYLE)
    page = guest.page
    step = frame(guest)
    step.locator(BOARD).wait_for()
    loaded = "performance.getEntriesByType('resource').map((one) => one.name.split('/').at(-1))"
    assert page.evaluate(loaded) == [SCRIPT, "run.json"]
    assert "3/20" in step.locator(".hp-place").inner_text()
    lead = step.locator(".hp-lead")
    assert lead.evaluate("(e) => getComputedStyle(e).fontFamily") != "serif"
    assert page.locator("p").evaluate("(e) => getComputedStyle(e).color") == "rgb(255, 0, 0)"
    assert page.evaluate("Object.keys(window).filter((name) => name.startsWith('__hsd'))") == []
    page.locator("hsd-step").focus()
    page.keyboard.press("Tab")
    step.locator(":focus").wait_for()  # the frame may have a process of its own
    page.keyboard.press("Shift+ArrowRight")
    step.locator(".hp-place", has_text="4/20").wait_for()


def test_two_elements_on_a_page_play_by_themselves(post):
    more = 'src="run.json" step="3" board="first" lanes="own"'
    guest = post(f'<hsd-step src="run.json" step="1"></hsd-step><hsd-step {more}></hsd-step>')
    first, second = frame(guest), frame(guest, 1)
    for one in (first, second):
        one.locator(BOARD).wait_for()
    assert first.locator(".is-shadow.is-lane >> visible=true").count()
    assert second.locator(".is-shadow.is-lane >> visible=true").count() == 0
    assert second.locator(".is-brief").count() == 1
    lead = second.locator(".hp-lead").inner_text()
    begun = first.locator(".hp-lead").inner_text()
    first.locator(".hf-player").press("Shift+ArrowRight")
    first.locator(f".hp-lead:not(:text-is({json.dumps(begun)}))").wait_for()
    assert second.locator(".hp-lead").inner_text() == lead


@pytest.mark.core
def test_a_page_on_a_disk_plays_a_run_inside_the_element(post):
    inside = STORY.replace("<", "\\u003c")
    run = f'<script type="application/json">{inside}</script>'
    guest = post(f'<hsd-step step="2" controls="0">{run}</hsd-step>', disk=True)
    step = frame(guest)
    step.locator(BOARD).wait_for()
    assert not step.locator(".hp-transport").is_visible()


DAMAGED = json.loads(STORY)
DAMAGED["steps"][0]["kept"] = -1
OTHER = json.loads(STORY) | {"trace_version": 9}
PROBLEMS = {
    '<hsd-step src="none.json"></hsd-step>': "none.json cannot be read (status 404): check the",
    "<hsd-step></hsd-step>": "name a saved run in src, or put one inside the element",
    '<hsd-step src="post.html"></hsd-step>': "post.html is not JSON",
    '<hsd-step src="run.json" step="999"></hsd-step>': "there is no step 999: this run has",
    f'<hsd-step><script type="application/json">{json.dumps(DAMAGED)}</script></hsd-step>': (
        "not a valid trace: steps.0.kept: minimum is 0"
    ),
    f'<hsd-step><script type="application/json">{json.dumps(OTHER)}</script></hsd-step>': (
        "trace version 9 cannot be read, only 2: record the run again"
    ),
}


@pytest.mark.parametrize(("body", "words"), PROBLEMS.items(), ids=PROBLEMS.values())
def test_an_element_without_a_run_to_show_says_why_in_its_own_box(
    chromium: Browser, blog: tuple[Path, str], body: str, words: str
):
    folder, url = blog
    whole = '<hsd-step id="whole" src="run.json" step="1"></hsd-step>'
    page = PAGE.format(script=SCRIPT, body=f"{body}{whole}", style="")
    (folder / "odd.html").write_text(page, encoding="utf-8")
    guest = Guest(chromium, url, serious=())
    guest.page.goto(f"{url}odd.html")
    assert words in frame(guest).get_by_role("alert").inner_text()
    frame(guest, 1).locator(BOARD).wait_for()
    guest.close()


def test_an_element_is_dark_where_the_page_is_and_turns_with_it(post):
    dark = "<style>:root { color: black } .night { color: #eee; background: #111 }</style>"
    guest = post('<hsd-step src="run.json"></hsd-step>', style=dark)
    step = frame(guest)
    step.locator(BOARD).wait_for()
    assert step.locator("html.dark").count() == 0
    guest.page.evaluate("document.documentElement.className = 'night'")
    step.locator("html.dark").wait_for(state="attached")
    guest.page.evaluate("document.querySelector('hsd-step').setAttribute('theme', 'light')")
    step.locator("html:not(.dark)").wait_for(state="attached")


def test_a_text_in_a_run_is_only_text(post):
    trace = json.loads(STORY)
    hostile = "</script><script>parent.hacked=1</script><img src=x onerror='top.hacked=1'>$&"
    for token in [t for step in trace["steps"] for t in [*step["committed"], *step["nodes"]]]:
        token["piece"] = hostile
    run = json.dumps(trace).replace("<", "\\u003c")
    guest = post(f'<hsd-step><script type="application/json">{run}</script></hsd-step>')
    step = frame(guest)
    step.locator(BOARD).wait_for()
    assert "<img" in step.locator(".hp-board").inner_text()
    assert step.locator("img").count() == 0
    assert guest.page.evaluate("window.hacked") is None


def test_the_script_is_small_and_the_export_has_it(folder: Path):
    script = element().encode()
    assert len(gzip.compress(script)) < 120_000
    assert (folder / SCRIPT).read_bytes() == script
    assert b"</script" not in script  # so that it may be inlined


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing_that_is_moderate_or_serious_in_an_element(post, width, theme):
    if not AXE.exists():
        pytest.skip("axe-core is not installed: make browser does")
    body = f'<hsd-step src="run.json" step="3" theme="{theme}"></hsd-step>'
    guest = post(body, width=width, reduced_motion="reduce")
    step = frame(guest)
    step.locator(BOARD).wait_for()
    for document in (guest.page.main_frame, guest.page.frames[1]):
        document.evaluate(AXE.read_text(encoding="utf-8"))
        found = document.evaluate(FOUND)
        assert not found, found
