"""Measure how fast exported pages decode in Chromium: shown runs and timed ones, pages in turn.

    python examples/reproduce/engines/page_speed.py now=SITE [before=SITE]

SITE is what `python -m hsd space export --static SITE --weights` writes. Every page is asked for
the same runs of SmolLM2 with its head, on two threads and on one: shown as a visitor sees them,
with every number of every step, and timed as a race times them. In each round the pages take
turns, and so do plain decoding and the drafts; what is written are medians over the rounds, with
the least and the most. The folds of the page are opened for a run of 256 tokens, in which the time
between frames is measured. The recorded figures are of --rounds 2 --new-tokens 48: a page of 0.3.0
runs out of memory with more.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Any

# so that this runs without installing the package
sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from browser import FLAGS, served

from hsd.models.machine import processor
from hsd.paths import RESULTS

WAYS = {
    "plain": {"system": "plain"},
    "gamma 1": {"rule": "hsd", "gamma": 1},
    "gamma 2": {"rule": "hsd", "gamma": 2},
    "auto": {"rule": "hsd", "gamma": "auto"},
}
PROMPTS = ("Tell me about the sea.", "Why is the sky blue?")
SETTINGS = {"temperature": 0.7, "seed": 1}
DRIVER = Path(__file__).with_suffix(".js")
LONG = 256  # tokens of the run whose frames are measured
Figures = list[float]  # median, least, most


class Visit:
    """A page in a browser of its own, with its model loaded."""

    def __init__(self, chromium: Any, site: Path, address: str) -> None:
        self.about = json.loads((site / "data/page.json").read_text(encoding="utf-8"))
        self.folder = self.about["browser"]["files"]["engine"].removesuffix("engine.wasm")
        self.page = chromium.new_page()
        self.page.add_init_script(path=DRIVER)
        self.page.goto(address)
        self.page.locator(".hf-device", has_text="in this browser").wait_for(state="attached")
        self.page.fill("#hsd-prompt textarea", PROMPTS[0])
        self.page.click("#hsd-run")
        self.page.locator("dialog.hf-consent .is-first").click()
        self.page.locator(".hf-source", has_text="● live").wait_for(state="attached")
        self.page.locator("#hsd-run:enabled").wait_for()

    def run(self, kind: str, **given: Any) -> dict[str, Any]:
        """Have one run, of the kind "show", "race" or "frames"."""
        argument = {"folder": self.folder, "page": self.about, "given": {**SETTINGS, **given}}
        found: dict[str, Any] = self.page.evaluate(f"window.{kind}", argument)
        return found


@contextmanager
def visits(
    sites: dict[str, Path], threads: int, chromium: str | None
) -> Iterator[dict[str, Visit]]:
    """Open every page in a browser of its own."""
    from playwright.sync_api import sync_playwright

    with ExitStack() as stack:
        playwright = stack.enter_context(sync_playwright())
        opened = {}
        for name, site in sites.items():
            address = stack.enter_context(served(site, 0, threads))
            browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
            stack.callback(browser.close)
            opened[name] = Visit(browser, site, address)
        yield opened


def figures(numbers: list[float], digits: int = 2) -> Figures:
    """Return median, least and most."""
    return [round(x, digits) for x in (median(numbers), min(numbers), max(numbers))]


def summary(turns: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """What the rounds of one page say of each way: tokens a second, and parts of a step."""
    rates = {
        way: [turn["tokens"] / turn["seconds"] for turn in found] for way, found in turns.items()
    }
    return {
        way: {
            "tokens_per_second": figures(rates[way], 1),
            "beside_plain": figures(
                [own / plain for own, plain in zip(rates[way], rates["plain"], strict=True)]
            ),
            "milliseconds_of_a_step": {
                part: figures([turn["parts"][part] for turn in found], 3)
                for part in found[0]["parts"]
            },
        }
        for way, found in turns.items()
    }


def joined(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """One turn, of a run for each prompt."""
    parts = runs[0]["parts"]
    return {
        "tokens": sum(run["tokens"] for run in runs),
        "seconds": sum(run["seconds"] for run in runs),
        "parts": {part: sum(run["parts"][part] for run in runs) / len(runs) for part in parts},
    }


def frames_of(visit: Visit) -> dict[str, Any]:
    """The milliseconds between frames of a long run with every fold open."""
    found = visit.run("frames", prompt=PROMPTS[0], max_new_tokens=LONG, **WAYS["gamma 1"])
    gaps = sorted(found["frames"])
    at = {"half": 0.5, "95 %": 0.95, "most": 1}
    milliseconds = {
        name: round(gaps[int(share * (len(gaps) - 1))], 1) for name, share in at.items()
    }
    return {"tokens": found["tokens"], "frames": len(gaps), "milliseconds": milliseconds}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sites", nargs="+", metavar="NAME=SITE")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--new-tokens", type=int, default=64)
    parser.add_argument("--threads", type=int, nargs="+", default=[2, 1])
    parser.add_argument("--chromium", default="/usr/bin/chromium", help="empty: Playwright's own")
    parser.add_argument("--out", type=Path, default=RESULTS / "page_speed.json")
    given = parser.parse_args()
    sites = {name: Path(site) for name, _, site in (pair.partition("=") for pair in given.sites)}
    begin = time.time()
    loads = [os.getloadavg()[0]]
    pages: dict[str, Any] = {name: {} for name in sites}
    texts: dict[Any, set[str]] = defaultdict(set)
    costs: dict[str, str] = {}
    chromium = ""
    for threads in given.threads:
        with visits(sites, threads, given.chromium or None) as opened:
            chromium = next(iter(opened.values())).page.context.browser.version
            turns: Any = {
                name: {kind: defaultdict(list) for kind in ("show", "race")} for name in sites
            }
            for turn in range(given.rounds + 1):
                for way, how in WAYS.items():
                    for kind in ("show", "race"):
                        for name, visit in opened.items():
                            runs = [
                                visit.run(
                                    kind, prompt=prompt, max_new_tokens=given.new_tokens, **how
                                )
                                for prompt in PROMPTS
                            ]
                            if turn:  # the first one warms up
                                turns[name][kind][way].append(joined(runs))
                            if way != "auto":  # whose drafts follow what passes cost
                                texts[way, kind].add("|".join(run["text"] for run in runs))
                            costs[f"{name}, {way}"] = runs[0].get("cost") or costs.get(
                                f"{name}, {way}", ""
                            )
                loads.append(os.getloadavg()[0])
                print(f"{threads} threads, round {turn}, load {loads[-1]:.2f}", flush=True)
            for name, visit in opened.items():
                pages[name][f"threads {threads}"] = {
                    "shown": summary(turns[name]["show"]),
                    "raced": summary(turns[name]["race"]),
                    "frames": frames_of(visit),
                }
    result = {
        "what": "SmolLM2-135M-Instruct and its head in exported pages, in turn: [median, least, "
        "most] of the rounds",
        "machine": {
            "processor": processor(),
            "cores": os.cpu_count(),
            "load": [round(load, 2) for load in loads],
            "seconds": round(time.time() - begin),
            "python": platform.python_version(),
            "chromium": chromium,
        },
        "asked": {
            "prompts": PROMPTS,
            "new_tokens": given.new_tokens,
            "rounds": given.rounds,
            **SETTINGS,
        },
        "same_texts": all(len(found) == 1 for found in texts.values()),
        "said": costs,
        "pages": pages,
    }
    given.out.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    for name, page in pages.items():
        for threads, found in page.items():
            for kind in ("shown", "raced"):
                words = [
                    f"{way} {of['tokens_per_second'][0]} (× {of['beside_plain'][0]})"
                    for way, of in found[kind].items()
                ]
                print(f"{name}, {threads}, {kind}: {', '.join(words)} tokens/s")


if __name__ == "__main__":
    main()
