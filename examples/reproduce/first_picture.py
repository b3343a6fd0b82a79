"""Make the page's first picture: its first preset as plain HTML, and the card of a shared link.

    python examples/reproduce/first_picture.py

Both are taken from the page itself, in Chromium, and written to assets/page: first.html stands in
the page until its scripts take over (hsd/app/page.py), card.png is the picture that its head names.
Needs Chromium and the development packages (`make test` installs both).
"""

from __future__ import annotations

import sys
import tempfile
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

# so that this runs without installing the package
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from hsd import space
from hsd.app.export import write
from hsd.app.page import CARD, CARD_SIZE, FIRST, mark_of
from hsd.app.presets import definitions
from hsd.writing import write_file

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
DRAWN = "window.__hsd?.ready && document.querySelector('.hf-player .hp-board .hp-guess')"
SEEN = ".hp-text, .hp-story, .hp-board, .hp-transport"
UNSEEN = ".hp-cells, .hp-hint, .hp-place, .hp-speed, .hp-slot"
"""What a first look leaves out, though it is there."""

NEEDLESS = (
    "title",
    "tabindex",
    "aria-live",
    "aria-atomic",
    "data-at",
    "data-coin",
    "data-from",
    "data-node",
    "data-step",
)
"""Attributes that only scripts read, or that would be told a second time."""

TAKEN = """([seen, unseen, needless]) => {
  const flow = document.querySelector(".hp-flow"), top = flow.getBoundingClientRect().top;
  const visible = (token) => token.getBoundingClientRect().bottom > top;
  const first = [...flow.querySelectorAll(".hp-token")].find(visible);
  for (const one of [...flow.querySelectorAll("*")]) {
    if (one === first) break;
    if (!one.contains(first)) one.remove(); // what the text has scrolled out of its box
  }
  const copy = (css) => document.querySelector(css).cloneNode(true);
  const parts = [".hf-caption", ".hf-player"].map(copy);
  for (const part of [...parts[1].children]) if (!part.matches(seen)) part.remove();
  for (const slider of parts[1].querySelectorAll("input")) {
    slider.setAttribute("value", slider.value);
  }
  for (const part of parts) {
    for (const one of part.querySelectorAll(`[hidden], ${unseen}`)) one.remove();
    for (const one of [part, ...part.querySelectorAll("*")]) {
      for (const name of needless) one.removeAttribute(name);
    }
  }
  return parts.map((part) => part.outerHTML).join("\\n");
}"""
DRAWING = """async () => {
  const folder = document.querySelector("script[type=module]").src;
  const { svgText } = await import(new URL("step/picture.js", folder).href);
  return svgText(document.querySelector(".hp-board-grid"));
}"""
WORDS = """() => {
  const text = (css) => document.querySelector(css).textContent;
  return [".hf-title", ".hp-lead", ".hp-setup"].map(text);
}"""
SHEET = """<!doctype html><meta charset="utf-8"><style>
body {{ box-sizing: border-box; display: flex; flex-direction: column;
  justify-content: space-between; gap: 10px; width: {width}px; height: {height}px;
  padding: 30px 34px 26px; margin: 0; font-family: system-ui, sans-serif;
  color: #1f2937; background: #fff; border-bottom: 10px solid #0072b2; }}
h1 {{ margin: 0; font-size: 32px; line-height: 1.2; letter-spacing: -0.8px; white-space: nowrap; }}
p {{ margin: 0; font-size: 22px; line-height: 1.3; text-wrap: balance; }}
small {{ font-size: 17px; color: #52607a; }}
svg {{ flex: 1; width: 100%; min-height: 0; }}
</style><h1></h1><p></p>{drawing}<small>A recorded step: <span></span></small>"""


def main() -> None:
    manifest = space.load()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        CARD.parent.mkdir(exist_ok=True)
        CARD.touch()  # an export has one
        write(Path(folder), manifest)
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
        address = served(folder)
        page = opened(browser, address, 1280, 800)
        mark = mark_of(definitions()[manifest.presets[0]])
        found = page.evaluate(TAKEN, [SEEN, UNSEEN, NEEDLESS])
        write_file(FIRST, f'<div class="hf-first" data-of="{mark}">\n{found}\n</div>\n')
        photograph(opened(browser, f"{address}?embed=1&__theme=light", 750, 390), CARD)
    for file in (FIRST, CARD):
        print(f"{file}: {file.stat().st_size / 1000:.0f} kB")


def served(folder: str) -> str:
    """Serve a folder until the script ends; return its address."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/"


def opened(browser: Browser, address: str, width: int, height: int) -> Page:
    """Open the page and wait until it is drawn and no request is pending."""
    page = browser.new_page(
        viewport={"width": width, "height": height}, bypass_csp=True, reduced_motion="reduce"
    )
    page.goto(address)
    page.wait_for_function(DRAWN)
    page.wait_for_load_state("networkidle")
    return page


def photograph(page: Page, file: Path) -> None:
    """The card: the page's title, what happened, both lanes as the page's pictures have them, and
    what made them.
    """
    words = page.evaluate(WORDS)
    drawing = page.evaluate(DRAWING)
    width, height = CARD_SIZE
    page.set_viewport_size({"width": width, "height": height})
    page.set_content(SHEET.format(width=width, height=height, drawing=drawing))
    page.evaluate(
        "(words) => document.querySelectorAll('h1, p, span').forEach((e, i) => (e.textContent = "
        "words[i]))",
        words,
    )
    page.screenshot(path=file)


if __name__ == "__main__":
    main()
