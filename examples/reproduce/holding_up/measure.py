"""Does the app hold up? Twenty clients at once, hostile requests and files, cancels, kills.

    python examples/reproduce/holding_up/measure.py                # all parts, 15 minutes
    python examples/reproduce/holding_up/measure.py abuse cancels  # some of them
    python examples/reproduce/holding_up/measure.py --page         # only its blocks of the page

Each part starts an app of its own. Results go to assets/results/holding_up.json, part by part, and
from there into assets/docs/deploy.md. Everything is sent to this machine only.
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

# so that this runs without installing the package
sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from abuse import abuse
from faults import cancels, kills, own_models, places, traces
from load import load
from pages import DOCS, prose, write
from visitor import ROOT, Values

from hsd import load_pair
from hsd.models.loading import fetch
from hsd.models.machine import machine
from hsd.writing import write_file

RESULTS = ROOT / "assets" / "results" / "holding_up.json"
PAGE = DOCS / "deploy.md"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "parts",
        nargs="*",
        help="load, abuse, cancels, kills, places, traces, models (default: all)",
    )
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
        write_file(RESULTS, json.dumps(known, indent=1, ensure_ascii=False) + "\n")
        print(json.dumps({name: found}, indent=1, ensure_ascii=False), flush=True)
    write(PAGE, blocks(json.loads(RESULTS.read_text(encoding="utf-8"))))
    return 0


def blocks(found: Values) -> dict[str, str]:
    """Return the blocks of the page "Deploy", from the results."""
    held = found["load"]
    bad = found["abuse"]
    made = found["load"]["made"]
    fewest, most = held["runs_of_a_client"]
    statuses = ", ".join(f"{count:,} × {status}" for status, count in bad["by_status"].items())
    tracebacks = sum(part.get("tracebacks", 0) for part in found.values())
    load = (
        f"{held['clients']} clients for {held['minutes']:.0f} minutes without a pause, "
        f"{held['browsers']} of them "
        f"browsers "
        f"({made['processor']}, {made['cores']} cores, load {made['load']} before; "
        f"{made['date']}): {held['runs']} "
        f"runs to "
        f"their end, {fewest} to {most} of a client; {held['waited_median']:.1f} s of waiting for "
        "the model in the "
        f"median, "
        f"{held['waited_most']:.1f} at most; {sum(held['refused'].values())} refusals with the "
        "seconds after which "
        f"to try "
        f"again; memory {held['memory_before']:.0f} MB, then {held['memory_after']:.0f}; failures "
        "without an "
        f"explanation: "
        f"{held['failures']}."
    )
    faults = (
        f"{bad['calls']} random and hostile requests: {statuses}; without an answer in one line, "
        "or with a status of "
        f"500: "
        f"{bad['failures']}. {found['cancels']['cancels']} runs cancelled, the slowest in "
        f"{found['cancels']['slowest_seconds']:.2f} s, no step that had been shown lost. The "
        "process killed "
        f"{found['kills']['kills']} times in the middle of a run; it starts and runs each time. "
        "Tracebacks in the log: "
        f"{tracebacks}."
    )
    return {"load": prose(load), "faults": prose(faults)}


if __name__ == "__main__":
    raise SystemExit(main())
