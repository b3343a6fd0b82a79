"""The recorded race that the page shows before the first click: read, and written by examples/record_race.py."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hsd.bench import Case
from hsd.errors import HsdError
from hsd.paths import EXAMPLES
from hsd.ui.race.plan import Plan
from hsd.ui.race.report import report
from hsd.ui.race.timing import Event, Race

FORMAT = "hsd-race-1"
FILE = EXAMPLES / "results" / "race.json"


def record(plan: Plan) -> dict[str, Any]:
    """Run a race, as the page does, and keep what it takes to show it again."""
    header: dict[str, Any] = {}
    events: list[Event] = []
    for piece in Race(plan).pieces(lent=False):
        header |= piece.get("header", {})
        events += piece.get("items", ())
    return {"format": FORMAT, "header": header, "events": trimmed(events)}


def trimmed(events: Sequence[Event]) -> list[Event]:
    """One event per timed run; steps only of the run of median length of each lane, which is the one replayed."""
    runs: dict[tuple[int, int], Event] = {}
    for event in events:
        known = runs.get((event["lane"], event["repetition"]), {"steps": []})
        runs[event["lane"], event["repetition"]] = {**event, "steps": known["steps"] + event["steps"]}
    timed = [run for run in runs.values() if run["repetition"] and "record" in run]
    for lane in {run["lane"] for run in timed}:
        own = [run for run in timed if run["lane"] == lane]
        middle = statistics.median_low([run["record"]["seconds"] for run in own])
        shown = next(run for run in own if run["record"]["seconds"] == middle)
        for run in own:
            run["steps"] = run["steps"] if run is shown else []
    return timed


def read(file: Path = FILE) -> dict[str, Any]:
    """The recorded race in the shape in which a live one is fetched. Raises HsdError when there is none."""
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        data = {}
    if data.get("format") != FORMAT:
        raise HsdError("there is no recorded race: run `python examples/record_race.py`")
    header, events = data["header"], data["events"]
    cases = [Case(lane["name"], lane["options"]) for lane in header["lanes"]]
    found = report(cases, [event["record"] for event in events if "record" in event])
    told = {"items": events, "events": events, "result": found, "report": found, "message": ""}
    return {"state": "done", "header": header, "start": 0, **told}
