"""Does the app hold up? Twenty clients at once, hostile requests and files, cancels, kills, nowhere to write.

    python examples/reproduce/holding_up/measure.py                # all parts, 15 minutes; needs the dev extra
    python examples/reproduce/holding_up/measure.py abuse cancels  # some of them
    python examples/reproduce/holding_up/measure.py --page         # only the page, from what was measured

Each part starts an app of its own. Results go to assets/results/holding_up.json, part by part, and from there into
assets/docs/holding_up.md. Everything is sent to this machine only.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))  # so that this runs without installing the package

from abuse import abuse
from faults import cancels, kills, own_models, places, traces
from load import load
from visitor import ROOT, Values

from hsd import load_pair
from hsd.models.loading import fetch
from hsd.models.timing import machine

RESULTS = ROOT / "assets" / "results" / "holding_up.json"
PAGE = ROOT / "assets" / "docs" / "holding_up.md"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", help="load, abuse, cancels, kills, places, traces, models (default: all)")
    parser.add_argument("--minutes", type=float, default=10, help="of load")
    parser.add_argument("--clients", type=int, default=20, help="at once")
    parser.add_argument("--browsers", type=int, default=4, help="how many of them are Chromium")
    parser.add_argument("--calls", type=int, default=500, help="random and hostile requests")
    parser.add_argument("--cancels", type=int, default=100)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--page", action="store_true", help="measure nothing, write the page")
    asked = parser.parse_args()
    home = str(fetch.home())  # with the real model, where it has been fetched
    empty = tempfile.mkdtemp()
    parts: dict[str, Callable[[], Values]] = {
        "load": lambda: load(asked.minutes, asked.clients, asked.browsers, home),
        "abuse": lambda: abuse(asked.calls, empty),
        "cancels": lambda: cancels(asked.cancels, empty),
        "kills": lambda: kills(asked.kills, empty),
        "places": places,
        "traces": lambda: traces(empty),
        "models": lambda: own_models(empty),
    }
    unknown = [name for name in asked.parts if name not in parts]
    if unknown:
        parser.error(f"no part {unknown[0]!r}: choose {', '.join(parts)}")
    for name in [] if asked.page else asked.parts or parts:
        begun = os.getloadavg()[0]
        found = parts[name]()
        known = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.is_file() else {}
        here = {**machine(load_pair("tiny")), "gradio": version("gradio"), "load": round(begun, 2)}
        known[name] = {**found, "made": {**here, "date": time.strftime("%Y-%m-%d")}}
        RESULTS.write_text(json.dumps(known, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        print(json.dumps({name: found}, indent=1, ensure_ascii=False), flush=True)
    PAGE.write_text(page(json.loads(RESULTS.read_text(encoding="utf-8"))), encoding="utf-8")
    print(f"written: {PAGE}")
    return 0


def page(found: Values) -> str:
    """The page "Holding up", from the results."""
    held, bad, made = found["load"], found["abuse"], found["load"]["made"]
    facts = {
        **{key: value for key, value in held.items() if not isinstance(value, dict)},
        "memory_change": f"{held['memory_after'] / held['memory_before'] - 1:+.1%}",
        "refusals": sum(held["refused"].values()),
        "fewest": held["runs_of_a_client"][0],
        "most": held["runs_of_a_client"][1],
        "calls": bad["calls"],
        "statuses": ", ".join(f"{count:,} × {status}" for status, count in bad["by_status"].items()),
        "bad_failures": bad["failures"],
        "cancels": found["cancels"]["cancels"],
        "cancelled": ", ".join(f"{how} ({count})" for how, count in found["cancels"]["ended"].items()),
        "slowest": found["cancels"]["slowest_seconds"],
        "kills": found["kills"]["kills"],
        "gone": found["kills"]["a_run_of_before"],
        "said": "\n".join(
            f"| {place} | {what.replace('_', ' ')} | {words} |"
            for place, parts in found["places"].items()
            if isinstance(parts, dict)
            for what, words in parts.items()
            if what in ("fetch", "app_with_that_temporary_folder")
        ),
        "traces": _timed(found["traces"]["traces"]),
        "models": _timed(found["models"]["models"]),
        "tracebacks": sum(part.get("tracebacks", 0) for part in found.values()),
        "setting": f"{made['processor']}, {made['cores']} cores, load {made['load']} before the first part, "
        f"Python {made['python']}, torch {made['torch']}, Gradio {made['gradio']}; {made['date']}",
    }
    return Path(__file__).with_name("page.template.md").read_text(encoding="utf-8").format_map(facts)


def _timed(answers: Values) -> str:
    rows = (f"| {name} | {told['answer']} | {told['seconds']:.2f} |" for name, told in answers.items())
    return "\n".join(rows)


if __name__ == "__main__":
    raise SystemExit(main())
