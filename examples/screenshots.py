"""Photograph the app for the README: light and dark, 1280 and 390 pixels wide, into assets/screenshots.

    python examples/screenshots.py

Needs Chromium and the development packages (`make test` installs both).
"""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "assets" / "screenshots"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
SHOTS = {
    "watch": ("light", 1280, 1000, False),
    "watch-dark": ("dark", 1280, 1000, False),
    "watch-whole": ("light", 1280, 1000, True),
    "watch-phone": ("light", 390, 844, False),
    "watch-phone-dark": ("dark", 390, 844, False),
}


def main() -> None:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    command = [sys.executable, "-m", "hsd", "app", "--port", str(port)]
    app = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert app.stdout is not None
        next(line for line in app.stdout if line.startswith("The app is ready"))
        FOLDER.mkdir(parents=True, exist_ok=True)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
            for name, (theme, width, height, whole) in SHOTS.items():
                photograph(
                    browser, f"http://127.0.0.1:{port}/?__theme={theme}", FOLDER / f"{name}.png", width, height, whole
                )
    finally:
        app.terminate()
        app.wait()


def photograph(browser: Browser, address: str, file: Path, width: int, height: int, whole: bool) -> None:
    """Wait until the tree is drawn, then take the picture."""
    page = browser.new_page(viewport={"width": width, "height": height}, reduced_motion="reduce")
    page.goto(address)
    page.wait_for_function("window.__hsd && window.__hsd.ready && document.querySelector('.hp-node')")
    page.wait_for_function("document.querySelector('#hsd-seed input')")
    page.wait_for_load_state("networkidle")
    page.screenshot(path=str(file), full_page=whole)
    page.close()


if __name__ == "__main__":
    main()
