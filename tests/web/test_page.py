"""The page as a whole: what it weighs, whether it holds still, and whether everyone can use it."""

from __future__ import annotations

import pytest

MOST_BYTES = 500_000
NOTE_SHIFTS = """window.__shifts = 0;
new PerformanceObserver((seen) => {
  for (const one of seen.getEntries()) if (!one.hadRecentInput) window.__shifts += one.value;
}).observe({ type: "layout-shift", buffered: true });"""


def first_visit(chromium, app, width: int, query: str = "") -> tuple[int, float]:
    """Bytes over the wire and how far things moved, of someone who was never here."""
    context = chromium.chromium.new_context(viewport={"width": width, "height": 800})
    page = context.new_page()
    page.add_init_script(NOTE_SHIFTS)
    sizes: list[float] = []
    session = context.new_cdp_session(page)
    session.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
    session.send("Network.enable")
    page.goto(app.url + query)
    page.wait_for_function("window.__hsd && window.__hsd.ready && document.querySelector('.hp-node')")
    page.wait_for_function("!document.documentElement.classList.contains('hsd-opening')")
    page.wait_for_load_state("networkidle")
    moved = page.evaluate("window.__shifts")
    context.close()
    return int(sum(sizes)), moved


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("query", ["", "?tab=race", "?tab=systems"])
def test_a_first_visit_loads_little_and_nothing_moves_meanwhile(chromium, app, width, query):
    loaded, moved = first_visit(chromium, app, width, query)
    assert moved < 0.1
    assert loaded > 100_000
    assert query or loaded <= MOST_BYTES, "what the page needs before any click"
