"""A run and a step in notebooks: a frame that plays in whatever page the notebook becomes."""

from __future__ import annotations

from pathlib import Path

import pytest
from web_page import Browser, Guest

import hsd
from hsd import HsdError, Trace
from hsd.paths import TRACES
from hsd.trace import Step

BOARD = ".hp-board >> visible=true"
PAGE = '<!doctype html><html lang="en"><meta charset="utf-8"><title>a</title>{style}<body>{body}'
DARK = "<style>body { color: #eee; background: #111 }</style>"


@pytest.fixture(scope="module")
def trace() -> Trace:
    return Trace.from_file(TRACES / "cat.json")


def opened(chromium: Browser, file: Path, html: str, style: str = "") -> Guest:
    """Somebody who opens this HTML from a disk, without a network."""
    file.write_text(PAGE.format(style=style, body=html), encoding="utf-8")
    guest = Guest(chromium, file.as_uri(), offline=True)
    guest.page.goto(file.as_uri())
    return guest


@pytest.mark.core
@pytest.mark.parametrize("style", ["", DARK], ids=["light", "dark"])
def test_a_step_plays_in_its_frame_and_has_the_notebooks_colours(
    chromium: Browser, tmp_path: Path, trace: Trace, style: str
):
    guest = opened(chromium, tmp_path / "a.html", trace.steps[4]._repr_html_(), style)
    frame = guest.page.locator("iframe").content_frame
    frame.locator(BOARD).wait_for()
    assert "5/21" in frame.locator(".hp-place").inner_text()
    frame.locator("html.dark" if style else "html:not(.dark)").wait_for(state="attached")
    frame.locator(".hf-player").press("Shift+ArrowRight")
    frame.locator(".hp-place", has_text="6/21").wait_for()
    guest.close()


@pytest.mark.core
def test_a_first_look_has_both_verdicts_and_no_more(
    chromium: Browser, tmp_path: Path, trace: Trace
):
    guest = opened(
        chromium, tmp_path / "a.html", hsd.show(trace, step=3, board="first")._repr_html_()
    )
    frame = guest.page.locator("iframe").content_frame
    frame.locator(".hp-board.is-brief, .is-brief >> visible=true").first.wait_for()
    assert frame.locator(".is-masses >> visible=true").count() == 0
    # every token's cell stands under its token
    edge = "(all) => all.map((one) => Math.round(one.getBoundingClientRect().left))"
    tokens = frame.locator(".hp-guess:not(.is-root)").evaluate_all(edge)
    for lane in ("own", "shadow"):
        cells = frame.locator(f".is-{lane}.is-lane[data-node]").evaluate_all(edge)
        assert cells == tokens
    guest.close()


def test_a_run_opens_at_its_most_telling_step(trace: Trace):
    assert "&quot;step&quot;:3," in trace._repr_html_()
    assert trace._repr_html_() == hsd.show(trace)._repr_html_() == trace.steps[2]._repr_html_()


def test_what_is_printed_of_a_run_and_a_step_is_one_short_line(trace: Trace):
    assert repr(trace) == str(trace) == "<Trace: smollm2, hsd, 56 tokens in 21 steps>"
    assert repr(trace.steps[2]) == "<Step 3: 3 of 4 drafted tokens kept, “ a small town,”>"
    assert repr(hsd.show(trace, 3)) == f"<step 3 of {trace!r}>"
    assert all(len(repr(step)) < 160 for step in trace.steps)


def test_a_step_of_no_run_is_shown_as_its_line(trace: Trace):
    alone = Step.model_validate(trace.steps[2].model_dump())
    assert alone == trace.steps[2]
    assert alone._repr_html_() is None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"step": 0}, "there is no step 0: this run has 21"),
        ({"step": 22}, "there is no step 22: this run has 21"),
        ({"step": "3"}, "there is no step '3': this run has 21"),
        ({"board": "small"}, "board 'small': choose full or first"),
    ],
)
def test_what_cannot_be_shown_is_refused_in_one_line(trace: Trace, arguments: dict, words: str):
    with pytest.raises(HsdError, match=f"^{words}$"):
        hsd.show(trace, **arguments)
    with pytest.raises(HsdError, match="is no trace: give what hsd"):
        hsd.show("run.json")


def test_the_html_export_of_a_notebook_still_plays_the_step(
    chromium: Browser, tmp_path: Path, trace: Trace
):
    nbformat = pytest.importorskip("nbformat")
    exporter = pytest.importorskip("nbconvert").HTMLExporter()
    data = {"text/html": trace._repr_html_(), "text/plain": repr(trace)}
    output = nbformat.v4.new_output("execute_result", data, execution_count=1)
    cell = nbformat.v4.new_code_cell("trace", outputs=[output], execution_count=1)
    html, _ = exporter.from_notebook_node(nbformat.v4.new_notebook(cells=[cell]))
    file = tmp_path / "notebook.html"
    file.write_text(html, encoding="utf-8")
    guest = Guest(chromium, file.as_uri(), "https://", offline=True, serious=())
    guest.page.goto(file.as_uri(), wait_until="domcontentloaded")
    frame = guest.page.locator("iframe").content_frame
    frame.locator(BOARD).wait_for()
    frame.locator(".hf-player").press("Shift+ArrowRight")
    frame.locator(".hp-place", has_text="4/21").wait_for()
    assert frame.locator(".hp-place").inner_text() == "step 4/21"
    guest.close()
