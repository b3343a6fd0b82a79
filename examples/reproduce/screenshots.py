"""Photograph the app: every screen light and dark, 1280 and 390 pixels wide.

    python examples/reproduce/screenshots.py               all screens
    python examples/reproduce/screenshots.py watch lab     some of them

Pictures that the README or a page of `assets/docs` shows are written to assets/screenshots, all
others to runs/screenshots, which git ignores. Needs Chromium and the development packages (`make
test` installs both).
"""

from __future__ import annotations

import socket
import subprocess
import sys
from itertools import product
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
SHOWN = "".join(
    page.read_text(encoding="utf-8")
    for page in (ROOT / "README.md", *ROOT.glob("assets/docs/*.md"))
)
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
WATCH = (
    "window.__hsd && window.__hsd.ready && "
    "document.querySelector('.hf-player :is(.hp-guess, .hp-node)')"
)
VIEWS = {  # name: what the address asks for, and when it is drawn
    "watch": ("", WATCH),
    "trie": ("preset=four-drafts", WATCH),
    "learn": ("lesson=9", "window.__hsdLearn"),
    "both": ("preset=story&mode=free", "window.__hsdBeside?.second?.state === 'done'"),
    "speed": ("tab=speed", "document.querySelector('.hf-lane')"),
    "systems": ("tab=systems", "document.querySelector('#hf-stack .hf-way')"),
    "hispec": ("preset=hispec-trained", WATCH),
    "fsd": ("preset=fsd-sum", WATCH),
    "eagle": ("preset=eagle-chosen", WATCH),
    "lab": ("tab=lab", "document.querySelector('#hsd-tab-lab .hf-rules')"),
}
TOPS = {"both": ".hf-player > .hp-board"}
"""What is at the top of a picture, where that is not the page's own."""
LOOKS = {"": ("light", 1280, 1000), "-dark": ("dark", 1280, 1000), "-phone": ("light", 390, 844)}
LOOKS |= {"-phone-dark": ("dark", 390, 844)}


def main() -> None:
    unknown = [name for name in sys.argv[1:] if name not in VIEWS]
    if unknown:
        raise SystemExit(f"no screen {unknown[0]!r}: choose from {', '.join(VIEWS)}")
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    command = [sys.executable, "-m", "hsd", "app", "--port", str(port)]
    app = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, encoding="utf-8")
    try:
        assert app.stdout is not None
        next(line for line in app.stdout if line.startswith("The app is ready"))
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
            for name, (look, (theme, width, height)) in product(
                sys.argv[1:] or VIEWS, LOOKS.items()
            ):
                query, ready = VIEWS[name]
                address = f"http://127.0.0.1:{port}/?{query}&__theme={theme}"
                photograph(
                    browser, address, ready, file_of(name + look), width, height, TOPS.get(name)
                )
            photograph(browser, f"http://127.0.0.1:{port}/", WATCH, file_of("watch-whole"), 1280, 0)
    finally:
        app.terminate()
        app.wait()


def file_of(name: str) -> Path:
    """Where the picture of that name belongs."""
    return (
        ROOT
        / ("assets" if f"screenshots/{name}.png" in SHOWN else "runs")
        / "screenshots"
        / f"{name}.png"
    )


def photograph(
    browser: Browser,
    address: str,
    ready: str,
    file: Path,
    width: int,
    height: int,
    top: str | None = None,
) -> None:
    """Wait until it is drawn, then take the picture; of the whole page where no height is given.

    top: what to scroll to.
    """
    size = {"width": width, "height": height or 1000}
    # else Playwright cannot wait
    page = browser.new_page(viewport=size, reduced_motion="reduce", bypass_csp=True)
    page.goto(address)
    page.wait_for_function(ready)
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(500)  # charts settle
    if top:
        page.eval_on_selector(top, "element => element.scrollIntoView({block: 'start'})")
    file.parent.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=str(file), full_page=not height)
    page.close()


if __name__ == "__main__":
    main()
