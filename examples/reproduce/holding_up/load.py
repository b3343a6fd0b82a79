"""Twenty clients at once for ten minutes: places in line, refusals, equal texts for equal seeds,
memory.
"""

from __future__ import annotations

import random
import re
import statistics
import threading
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from visitor import App, Values, Visitor

PROMPTS = (
    "What is the capital of France?",
    "Tell me a story about a fox.",
    "What is 12 times 7?",
    "Name three trees.",
)
SEEDS = 3
LENGTHS = (16, 32)
SAME = {"gamma": 2, "temperature": 0.7}
SAMPLE = 5.0  # seconds between two looks at the memory
SETTLED = 0.3  # of the time, after which memory has to stay


@dataclass
class Seen:
    """Counts and times collected from all clients."""

    runs: Counter[int] = field(default_factory=Counter)  # by client
    waited: list[float] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    texts: defaultdict[Any, set[str]] = field(default_factory=lambda: defaultdict(set))
    refused: Counter[str] = field(default_factory=Counter)
    unexplained: list[str] = field(default_factory=list)


def load(minutes: float, clients: int, browsers: int, home: str) -> Values:
    """Let so many clients ask the app without a pause; browsers of them are Chromium, half of the
    others programs.
    """
    app = App(HSD_HOME=home)
    seen = Seen()
    memory = []
    until = time.monotonic() + 60 * minutes
    work = [
        threading.Thread(target=_browse, args=(app.url, until, seen, i)) for i in range(browsers)
    ]
    for i in range(browsers, clients):
        work.append(
            threading.Thread(target=_page if i % 2 else _program, args=(app.url, until, seen, i))
        )
    for thread in work:
        thread.start()
    began = time.monotonic()
    while any(thread.is_alive() for thread in work):
        memory.append((time.monotonic() - began, app.memory()))
        time.sleep(SAMPLE)
    app.stop()
    settled = [mb for at, mb in memory if SETTLED * 60 * minutes < at < 60 * minutes]
    third = max(len(settled) // 3, 1)
    return {
        "minutes": minutes,
        "clients": clients,
        "browsers": browsers,
        "runs": sum(seen.runs.values()),
        "runs_of_a_client": [min(seen.runs[i] for i in range(clients)), max(seen.runs.values())],
        "waited_median": statistics.median(seen.waited),
        "waited_most": max(seen.waited),
        "places_told": len(seen.places),
        "last_place": max(seen.places, default=0),
        "refused": dict(seen.refused),
        "settings": len(seen.texts),
        "settings_with_two_texts": sum(len(texts) > 1 for texts in seen.texts.values()),
        "memory_before": statistics.mean(settled[:third]),
        "memory_after": statistics.mean(settled[-third:]),
        "unexplained": seen.unexplained[:5],
        "failures": len(seen.unexplained),
        "tracebacks": app.tracebacks,
    }


def _asked(dice: random.Random) -> Values:
    return {
        "prompt": dice.choice(PROMPTS),
        "seed": dice.randrange(SEEDS),
        "max_new_tokens": dice.choice(LENGTHS),
        **SAME,
    }


def _page(url: str, until: float, seen: Seen, number: int) -> None:
    """A page without its browser: begins a run, asks how far it is, fetches it."""
    visitor = Visitor(url)
    dice = random.Random(number)
    while time.monotonic() < until:
        asked = _asked(dice)
        began = time.monotonic()
        run = visitor.begin(**asked)
        while run.state == "waiting":
            time.sleep(0.02)
        running = time.monotonic()
        run.wait()
        seen.places += run.places
        if run.state == "done":
            _counted(seen, number, running - began, asked, run.text)
        else:
            _refused(run.message, seen)


def _program(url: str, until: float, seen: Seen, number: int) -> None:
    """A program: one call, one answer."""
    visitor = Visitor(url)
    dice = random.Random(number)
    while time.monotonic() < until:
        asked = _asked(dice)
        began = time.monotonic()
        kind, answer = visitor.call("run", **asked)
        if kind == "complete":
            took = time.monotonic() - began - answer[0]["summary"]["seconds"]
            _counted(seen, number, took, asked, answer[0]["text"])
        else:
            _refused(answer.get("error") if isinstance(answer, dict) else str(answer), seen)


def _browse(url: str, until: float, seen: Seen, number: int) -> None:
    """A person with a browser, who presses Run as soon as the last run has ended."""
    from playwright.sync_api import sync_playwright

    dice = random.Random(number)
    with sync_playwright() as started:
        browser = started.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox"]
        )
        page = browser.new_page(bypass_csp=True)  # so that a condition can be waited for
        page.on("pageerror", lambda error: seen.unexplained.append(f"page: {error}"))
        page.goto(url)
        page.wait_for_function("window.__hsd && window.__hsd.ready", timeout=120_000)
        while time.monotonic() < until:
            asked = _asked(dice)
            page.goto(f"{url}/?{urlencode(asked)}")
            try:
                told = page.wait_for_function(ENDED, timeout=120_000).json_value()
            except Exception as error:
                _refused(f"page: {str(error)[:200]}", seen)
                continue
            if isinstance(told, str):
                _refused(told, seen)
                continue
            _counted(seen, number, None, asked, page.evaluate(WRITTEN))
        browser.close()


ENDED = """() => {
  const alerts = [...document.querySelectorAll('[role=alert]')];
  const alert = alerts.find((e) => /waiting already/.test(e.innerText));
  if (alert) return alert.innerText;
  const live = /^● live$/.test(document.querySelector('.hf-source').innerText.trim());
  return live && !window.__hsd.live;
}"""

WRITTEN = """() => {
  const flow = document.querySelector('.hp-flow');
  flow.dispatchEvent(new KeyboardEvent('keydown', { key: 'End', shiftKey: true, bubbles: true }));
  const pieces = [...document.querySelectorAll('.hp-flow > :not(.hp-prompt)')];
  const tokens = pieces.map((token) => token.textContent);
  return tokens.join('').replaceAll('⏎', '\\n').replace('<|im_end|>', '');
}"""


def _counted(seen: Seen, number: int, waited: float | None, asked: Values, text: str) -> None:
    seen.runs[number] += 1
    if waited is not None:
        seen.waited.append(max(waited, 0.0))
    seen.texts[tuple(asked.values())].add(text)


def _refused(words: str | None, seen: Seen) -> None:
    """Wait for the time that a refusal asks for."""
    told = re.search(r"others are waiting already: try again in about (\d+) seconds", words or "")
    if told:
        seen.refused["try again in about … seconds"] += 1
        time.sleep(min(int(told[1]), 10))
    else:
        seen.unexplained.append(str(words)[:200])
        time.sleep(1)
