"""What the page weighs when it is first opened, and how long a step takes to draw.

    python examples/reproduce/page_bench.py                         # this checkout
    python examples/reproduce/page_bench.py --folder A --folder B   # checkouts in turn, in one run

Needs Chromium and Playwright.

Bytes are counted as they cross the wire, with the heads of the answers, and as they are unpacked,
until the page is drawn and quiet; each visitor comes with an empty cache. A draw is measured from
the key that goes to the next step until the page has been laid out again, a move inside a step
likewise.
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

ROOT = Path(__file__).resolve().parents[2]
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
READY = "window.__hsd && window.__hsd.ready && document.querySelector('.hp-guess')"
NOTES = """window.__shifts = 0;
new PerformanceObserver((seen) => {
  for (const one of seen.getEntries()) if (!one.hadRecentInput) window.__shifts += one.value;
}).observe({ type: "layout-shift", buffered: true });"""
DRAW = """() => {
  const root = document.querySelector(".hf-player"), times = [], moves = [];
  const press = (key, shiftKey = true) => {
    const target = root.querySelector("[tabindex='0']") || root.firstElementChild || root;
    const begin = performance.now();
    const how = { key, shiftKey, bubbles: true, cancelable: true };
    target.dispatchEvent(new KeyboardEvent("keydown", how));
    document.body.getBoundingClientRect();
    return performance.now() - begin;
  };
  press("Home");
  for (let i = 0; i < Math.min(window.__hsd.steps - 1, 12); i += 1) times.push(press("ArrowRight"));
  for (let i = 0; i < 12; i += 1) moves.push(press("ArrowLeft", false));
  return { times, moves, step: window.__hsd.step };
}"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--folder", action="append", type=Path, help="a checkout; several are measured in turn"
    )
    parser.add_argument("--rounds", type=int, default=5, help="how often each page is opened")
    parser.add_argument(
        "--query", default="", help="what the address asks for, such as ?preset=story"
    )
    arguments = parser.parse_args()
    folders = [folder.resolve() for folder in arguments.folder or [ROOT]]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
        print(json.dumps(measure(browser, folders, arguments.rounds, arguments.query), indent=2))


def measure(browser: Browser, folders: list[Path], rounds: int, query: str) -> dict[str, Any]:
    """Open the page of every checkout in turn, `rounds` times: medians by folder."""
    apps = {str(folder): start(folder) for folder in folders}
    seen: dict[str, list[dict[str, Any]]] = {name: [] for name in apps}
    try:
        for _ in range(rounds):
            for name, (_, address) in apps.items():
                seen[name].append(visit(browser, address + query))
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
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, encoding="utf-8"
    )
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("The app is ready"):
            return process, f"http://127.0.0.1:{port}/"
    raise SystemExit(f"the app in {folder} did not start")


def visit(browser: Browser, address: str) -> dict[str, Any]:
    """One visitor who opens the page and then goes through the steps."""
    context = browser.new_context(viewport={"width": 1280, "height": 800}, bypass_csp=True)
    page = context.new_page()
    page.add_init_script(NOTES)
    requests = listen(context.new_cdp_session(page))
    begin = time.perf_counter()
    page.goto(address)
    page.wait_for_function(READY)
    opened = time.perf_counter() - begin
    page.wait_for_load_state("networkidle")
    shifts = page.evaluate("window.__shifts")
    loaded = [one for one in requests.values() if one["url"].startswith("http")]
    drawn = page.evaluate(DRAW)
    context.close()
    return {
        "requests": loaded,
        "address": address,
        "opened": opened,
        "shift": shifts,
        "draw": drawn["times"],
        "move": drawn["moves"],
    }


def listen(session: Any) -> dict[str, dict[str, Any]]:
    """Every request of a page from now on: its address, its bytes on the wire and unpacked."""
    seen: dict[str, dict[str, Any]] = {}

    def begun(event: dict[str, Any]) -> None:
        seen[event["requestId"]] = {"url": event["request"]["url"], "wire": 0, "bytes": 0}

    def add(event: dict[str, Any], name: str, size: float) -> None:
        if event["requestId"] in seen:
            seen[event["requestId"]][name] += int(size)

    session.on("Network.requestWillBeSent", begun)
    session.on("Network.dataReceived", lambda event: add(event, "bytes", event["dataLength"]))
    session.on(
        "Network.loadingFinished", lambda event: add(event, "wire", event["encodedDataLength"])
    )
    session.send("Network.enable")
    return seen


def summary(visits: list[dict[str, Any]]) -> dict[str, Any]:
    warm = visits[1:] or visits
    loaded = visits[-1]["requests"]
    here = visits[-1]["address"].split("?")[0]
    draws, moves = ([t for one in warm for t in one[kind]] for kind in ("draw", "move"))
    return {
        "requests": len(loaded),
        "requests_outside": sum(not one["url"].startswith(here) for one in loaded),
        "wire_bytes": sum(one["wire"] for one in loaded),
        "bytes": sum(one["bytes"] for one in loaded),
        "largest": {
            one["url"].removeprefix(here): one["wire"]
            for one in sorted(loaded, key=lambda r: -r["wire"])[:5]
        },
        "layout_shift": round(max(one["shift"] for one in visits), 4),
        "seconds_until_drawn": statistics.median(one["opened"] for one in warm),
        "draw_ms_median": statistics.median(draws),
        "draw_ms_worst": max(draws),
        "draws": len(draws),
        "move_ms_median": statistics.median(moves),
        "move_ms_worst": max(moves),
    }


if __name__ == "__main__":
    main()
