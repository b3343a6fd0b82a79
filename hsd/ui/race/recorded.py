"""The recorded races that the page shows before the first click: read, and written by examples/record_race.py.

A file holds one race or several: the same lanes, each race on a prompt of another domain.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from hsd.bench import Case
from hsd.errors import HsdError
from hsd.paths import EXAMPLES
from hsd.ui.race.plan import Plan
from hsd.ui.race.report import report
from hsd.ui.race.timing import Event, Race

FORMAT = "hsd-race-2"
FILE = EXAMPLES / "results" / "race.json"


def record(plan: Plan, domain: str = "", heard: Callable[[Event], object] = lambda event: None) -> dict[str, Any]:
    """Run a race, as the page does, and keep what it takes to show it again. heard: called with every event."""
    header: dict[str, Any] = {}
    events: list[Event] = []
    for piece in Race(plan).pieces(lent=False):
        header |= piece.get("header", {})
        for event in piece.get("items", ()):
            events.append(event)
            heard(event)
    return {"domain": domain, "header": header, "events": trimmed(events)}


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


def write(races: Sequence[dict[str, Any]], file: Path = FILE) -> None:
    """Save what `record` gave."""
    text = json.dumps({"format": FORMAT, "races": races}, ensure_ascii=False)
    file.write_text(text + "\n", encoding="utf-8")


@cache
def read(file: Path = FILE) -> dict[str, Any]:
    """The recorded races: {"races": each as a live one is fetched, "all": the report of all together}.

    "all" is None for a single race. Raises HsdError when there is none.
    """
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        data = {}
    if data.get("format") != FORMAT:
        raise HsdError("there is no recorded race: run `python examples/record_race.py`")
    races = data["races"]
    records = [[event["record"] for event in race["events"] if "record" in event] for race in races]
    told = [
        {
            "domain": race["domain"],
            "header": race["header"],
            "items": race["events"],
            "result": report(_cases(race), own),
        }
        for race, own in zip(races, records, strict=True)
    ]
    together = [{**record, "prompt": number} for number, own in enumerate(records) for record in own]
    return {"races": told, "all": report(_cases(races[0]), together) if len(races) > 1 else None}


def _cases(race: dict[str, Any]) -> list[Case]:
    return [Case(lane["name"], lane["options"]) for lane in race["header"]["lanes"]]
