"""What the page weighs when it is first opened, and how long a step takes to draw. Needs Chromium and Playwright.

    python examples/page_bench.py                      # this checkout
    python examples/page_bench.py --folder A --folder B   # checkouts in turn, for a comparison in one run

Bytes are those of the project's own part of the page (Gradio's is left out): the inline part of the document's head,
and what is fetched from paths of the project before anything is clicked. A draw is measured from the key that goes to
the next step until the page has been laid out again.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
GRADIO = ("/assets/", "/static/", "/gradio_api/", "/theme.css", "/svelte/", "/custom_component/", "/config", "/info")
READY = "window.__hsd && window.__hsd.ready && document.querySelector('.hp-node')"
DRAW = """() => {
  const root = document.querySelector(".hf-player"), times = [];
  const press = (key) => {
    const target = root.querySelector("[tabindex='0']") || root.firstElementChild || root;
    const begin = performance.now();
    target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
    document.body.getBoundingClientRect();
    return performance.now() - begin;
  };
  press("Home");
  for (let i = 0; i < Math.min(window.__hsd.steps - 1, 12); i += 1) times.push(press("ArrowRight"));
  return { times, step: window.__hsd.step };
}"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", action="append", type=Path, help="a checkout; several are measured in turn")
    parser.add_argument("--rounds", type=int, default=5, help="how often each page is opened")
    parser.add_argument("--preset", default="story")
    arguments = parser.parse_args()
    folders = [folder.resolve() for folder in arguments.folder or [ROOT]]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
        print(json.dumps(measure(browser, folders, arguments.rounds, arguments.preset), indent=2))


def measure(browser: Browser, folders: list[Path], rounds: int, preset: str) -> dict[str, Any]:
    """Open the page of every checkout in turn, `rounds` times: medians by folder."""
    apps = {str(folder): start(folder) for folder in folders}
    seen: dict[str, list[dict[str, Any]]] = {name: [] for name in apps}
    try:
        for _ in range(rounds):
            for name, (_, address) in apps.items():
                seen[name].append(visit(browser, f"{address}?preset={preset}"))
    finally:
        for process, _ in apps.values():
            process.terminate()
    return {name: summary(visits) | {"load": os.getloadavg()[0]} for name, visits in seen.items()}


def start(folder: Path) -> tuple[subprocess.Popen[str], str]:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    environment = os.environ | {"PYTHONPATH": str(folder), "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-m", "hsd", "app", "--port", str(port)]
    process = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("The app is ready"):
            return process, f"http://127.0.0.1:{port}/"
    raise SystemExit(f"the app in {folder} did not start")


def visit(browser: Browser, address: str) -> dict[str, Any]:
    """One visitor who opens the page and then goes through the steps."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    sizes: dict[str, int] = {}

    def note(response: Any) -> None:
        path = "/" + response.url.split("/", 3)[3].split("?")[0]
        if not path.startswith(GRADIO) and response.request.resource_type in ("script", "stylesheet", "fetch", "xhr"):
            sizes[path] = len(response.body())

    page.on("response", note)
    begin = time.perf_counter()
    page.goto(address)
    page.wait_for_function(READY)
    opened = time.perf_counter() - begin
    inline = page.evaluate(
        "Array.from(document.querySelectorAll('script:not([src]), style'))"
        ".filter((e) => /hsd|hp-|hf-/.test(e.textContent) && !e.textContent.includes('gradio_config'))"
        ".reduce((sum, e) => sum + new Blob([e.textContent]).size, 0)"
    )
    drawn = page.evaluate(DRAW)
    context.close()
    own = sum(sizes.values())
    return {"inline": inline, "fetched": own, "requests": len(sizes), "opened": opened, "draw": drawn["times"]}


def summary(visits: list[dict[str, Any]]) -> dict[str, Any]:
    draws = [t for one in visits[1:] or visits for t in one["draw"]]
    return {
        "inline_bytes": visits[-1]["inline"],
        "fetched_bytes": visits[-1]["fetched"],
        "requests": visits[-1]["requests"],
        "seconds_until_drawn": statistics.median(one["opened"] for one in visits[1:] or visits),
        "draw_ms_median": statistics.median(draws),
        "draw_ms_worst": max(draws),
        "draws": len(draws),
    }


if __name__ == "__main__":
    main()
