"""The charts of a benchmark, as the plain data that plotly.js draws: {"data": traces, "layout": …}.

Each takes the rows of `hsd.bench.rows` and shows their numbers as they are; nothing is computed
here but layout. Rows of plain decoding and of other libraries have no draft of ours: charts about
drafts leave them out. One colour, marker, dash and hatch per rule everywhere; a marker or hatch
says the same without colour. Backgrounds are transparent and there is no title: the page writes the
heading and sets the colour of all text.
"""

import html
import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hsd.decoding.options import LEVELLED, RunOptions
from hsd.draft import COPIERS
from hsd.facts import rule_look
from hsd.rules import Look

Row = dict[str, Any]
Chart = dict[str, Any]
LONGEST = 60  # characters of a name that fit into a legend
# title; sign in the name of a case
AXES = {"gamma": ("draft length γ", "γ="), "temperature": ("temperature", "T=")}
LOOKS = json.loads(Path(__file__).with_name("looks.json").read_text(encoding="utf-8"))
# colour, hatch and title of each part of the time
PARTS: dict[str, dict[str, str]] = LOOKS["parts"]
PALE = LOOKS["pale"]  # a hatch, over the bar's colour


def charts(rows: Sequence[Row]) -> list[Chart]:
    """Return at most three charts, each with its "title".

    Those that would show nothing or single points are left out.
    """
    several = {
        name: len({row["options"][name] for row in _drafting(rows, fixed=True)}) > 1
        for name in AXES
    }
    by = "temperature" if several["temperature"] and not several["gamma"] else "gamma"
    drawings = {
        f"Tokens per target call by {AXES[by][0]}, 95 % intervals": block_efficiency(rows, by),
        "Acceptance rate per position in the draft": acceptance_rate_per_position(rows),
        "Where the time goes": time_shares(rows),
    }
    drawn = [{"title": title, **one} for title, one in drawings.items()]
    return [
        one
        for one in drawn
        if any(trace["type"] == "bar" or len(trace["x"]) > 1 for trace in one["data"])
    ]


def block_efficiency(rows: Sequence[Row], by: str = "gamma") -> Chart:
    """Return tokens per target call with 95 % intervals, a line per rule.

    by: "gamma" or "temperature", the x axis. Stacks, early exits and drafts that choose their
    length have no one length and are left out.
    """
    drafting = _drafting(rows, fixed=True)
    traces = []
    for name, line in _lines(drafting, by):
        columns = zip(*(row["block_efficiency"] for row in line), strict=True)
        values, lows, highs = map(np.array, columns)
        error = {
            "type": "data",
            "symmetric": False,
            "thickness": 1.5,
            "width": 5,
            "array": (highs - values).tolist(),
            "arrayminus": (values - lows).tolist(),
        }
        dash = _dash(drafting, line[0], "gamma" if by == "temperature" else "temperature")
        x = [row["options"][by] for row in line]
        traces.append({**_line(name, x, values.tolist(), line[0], dash), "error_y": error})
    axis = {"title": AXES[by][0], "tickvals": sorted({row["options"][by] for row in drafting})}
    return chart(traces, _height(traces), axis, {"title": "tokens per target call"})


def acceptance_rate_per_position(rows: Sequence[Row]) -> Chart:
    """Return the share of all drafts that kept at least i tokens, for i = 1, 2, ….

    There is one line per case. Shown are the longest drafts, stacks and early exits at the first
    temperature; a click in the legend shows others.
    """
    drafting = _drafting(rows)
    traces = []
    longest = max(map(_gamma, drafting), default=0)
    for row in drafting:
        shares = row["acceptance_rate_per_position"]
        dash = _dash(drafting, row, "gamma")
        line = _line(row["case"], list(range(1, len(shares) + 1)), list(shares), row, dash)
        first = row["options"]["temperature"] == drafting[0]["options"]["temperature"]
        shown = first and _gamma(row) in (0, longest)
        traces.append({**line, "visible": True if shown else "legendonly"})
    x = {"title": "position in the draft", "dtick": 1, "tick0": 1}
    y = {"title": "acceptance rate, of all drafts", "range": [0, 1.02], "tickformat": ".0%"}
    return chart(traces, _height(traces), x, y)


def time_shares(rows: Sequence[Row]) -> Chart:
    """Return where the time of each case went.

    It has stacked bars of the two models, verification, sampling and the rest.
    """
    known = [row for row in rows if "shares" in row]
    bar = {"type": "bar", "orientation": "h", "y": [safe(row["case"]) for row in known]}
    traces = []
    for part, style in PARTS.items():
        marker = {"color": style["colour"], "pattern": {"shape": style["hatch"], **PALE}}
        shares = [row["shares"][part] for row in known]
        traces.append({**bar, "name": style["title"], "x": shares, "marker": marker})
    x = {"title": "share of the time", "tickformat": ".0%", "range": [0, 1]}
    y = {"title": "", "autorange": "reversed", "type": "category", "showgrid": False}
    return chart(traces, 112 + 28 * len(known), x, y, barmode="stack")


def look(options: dict[str, Any]) -> Look:
    """Return the look of a case. A rule for several drafts has the look of its rule for one.

    A stack, early exits and n-grams have the colour of the rule at the target, with a marker and a
    hatch of their own.
    """
    system = "copied" if options.get("proposer") in COPIERS else str(options.get("system"))
    own = rule_look(str(options.get("rule", "")))
    return Look(own.colour, *LOOKS["systems"].get(system, (own.symbol, own.hatch)))


def safe(text: object) -> str:
    """Escape and shorten a text.

    Without that plotly.js would read `<b>` as markup, and a long name would leave no room.
    """
    words = str(text)
    cut = words if len(words) <= LONGEST else f"{words[: LONGEST - 1]}…"
    return html.escape(cut, quote=False).replace("\n", " ").replace("%{", "% {")


def _line(name: object, x: list[Any], y: list[Any], row: Row, dash: str) -> Chart:
    style = look(row["options"])
    marker = {"symbol": style.symbol, "size": 9, "color": style.colour}
    line = {"color": style.colour, "width": 2, "dash": dash}
    kind = {"type": "scatter", "mode": "lines+markers"}
    return {**kind, "name": safe(name), "x": x, "y": y, "marker": marker, "line": line}


def chart(traces: list[Chart], height: int, x: Chart, y: Chart, **layout: Any) -> Chart:
    """Return a chart. height: in pixels; x, y: the axes, each with a "title"."""

    def axis(own: Chart) -> Chart:
        title = {"text": own["title"], "standoff": 6, "font": {"size": 13}}
        return {**LOOKS["axis"], **own, "title": title}

    return {
        "data": traces,
        "layout": {
            "height": height,
            **LOOKS["layout"],
            "xaxis": axis(x),
            "yaxis": axis(y),
            **layout,
        },
    }


def _drafting(rows: Iterable[Row], fixed: bool = False) -> list[Row]:
    """Return the rows of our own cases that draft.

    fixed: only those whose drafts have one length.
    """
    own = [row for row in rows if "acceptance_rate" in row and row["options"].get("rule")]
    return [
        row for row in own if not fixed or (_gamma(row) and row["options"].get("gamma") != "auto")
    ]


def _lines(rows: Sequence[Row], by: str) -> list[tuple[str, list[Row]]]:
    """Group rows whose cases differ in option `by` alone.

    Return for each group the rest of the cases' name, and the rows in order of `by`.
    """
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        parts = row["case"].split(", ")
        groups[", ".join(part for part in parts if not part.startswith(AXES[by][1]))].append(row)
    return [
        (name, sorted(line, key=lambda row: row["options"][by])) for name, line in groups.items()
    ]


def _gamma(row: Row) -> int:
    """Return the largest draft length of a row; 0 for stacks and early exits, which have none."""
    levelled = row["options"].get("system") in LEVELLED
    gamma = row["options"].get("gamma", 0)
    return 0 if levelled else int(RunOptions.options()["gamma"].largest(gamma))


def _dash(rows: Sequence[Row], row: Row, name: str) -> str:
    """Return the dash of a row: one for each number of drafts and value of the option `name`."""
    value = _gamma if name == "gamma" else lambda one: one["options"].get(name, 0)
    kinds = [(one["options"].get("drafts", 1), value(one)) for one in (row, *rows)]
    return str(LOOKS["dashes"][sorted({*kinds}).index(kinds[0]) % len(LOOKS["dashes"])])


def _height(names: Sequence[Any]) -> int:
    """Return a height in pixels with room for the legend.

    A name takes a line on a phone, half of one elsewhere.
    """
    return 250 + min(18 * len(names), 320)
