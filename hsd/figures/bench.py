"""The figures of a benchmark. Each takes the rows of `hsd.bench.rows` and shows their numbers as they are.

Rows of plain decoding and of other libraries have no draft of ours: the figures about drafts leave them out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import plotly.graph_objects as go

from hsd.decoding.options import LEVELLED
from hsd.figures.style import PARTS, figure, look, safe

Row = dict[str, Any]
DASHES = ("solid", "dot", "dash", "longdash", "dashdot", "longdashdot")


def block_efficiency(rows: Sequence[Row], by: str = "gamma") -> go.Figure:
    """Tokens per target call with 95 % intervals, a line per rule. by: "gamma" or "temperature", the x axis.

    Stacks and early exits, which have no draft length, are left out.
    """
    words = {"gamma": "draft length γ", "temperature": "temperature"}
    drafting = [row for row in _drafting(rows) if not _levelled(row)]
    lines = _lines(drafting, by)
    other = "gamma" if by == "temperature" else "temperature"
    made = figure(_height(lines), words[by], "tokens per target call")
    for name, line in lines:
        points = [row["block_efficiency"] for row in line]
        style = look(line[0]["options"])
        made.add_scatter(
            x=[row["options"][by] for row in line],
            y=[value for value, _, _ in points],
            error_y={
                "type": "data",
                "symmetric": False,
                "array": [high - value for value, _, high in points],
                "arrayminus": [value - low for value, low, _ in points],
                "thickness": 1.5,
                "width": 5,
            },
            mode="lines+markers",
            name=safe(name),
            line={"color": style.colour, "width": 2, "dash": _dash(drafting, line[0], other)},
            marker={"symbol": style.symbol, "size": 10},
        )
    made.update_xaxes(tickvals=sorted({row["options"][by] for row in drafting}))
    return made


def acceptance_rate_per_position(rows: Sequence[Row]) -> go.Figure:
    """The share of all drafts that kept at least i tokens, for i = 1, 2, …. One line per case.

    Where there are several draft lengths, the longest is shown and the others wait in the legend.
    """
    drafting = _drafting(rows)
    made = figure(_height(drafting), "position in the draft", "acceptance rate, of all drafts")
    for row in drafting:
        shares, style = row["acceptance_rate_per_position"], look(row["options"])
        made.add_scatter(
            x=list(range(1, len(shares) + 1)),
            y=list(shares),
            mode="lines+markers",
            name=safe(row["case"]),
            visible=_first_seen(drafting, row),
            line={"color": style.colour, "width": 2, "dash": _dash(drafting, row, "gamma")},
            marker={"symbol": style.symbol, "size": 9},
        )
    made.update_yaxes(range=[0, 1.02], tickformat=".0%")
    made.update_xaxes(dtick=1, tick0=1)
    return made


def kept_histogram(rows: Sequence[Row]) -> go.Figure:
    """In which share of the steps 0, 1, 2 … drafted tokens were kept. Bars side by side, one colour per case."""
    drafting = _drafting(rows)
    made = figure(_height(drafting), "tokens kept in a step", "share of steps", barmode="group")
    for row in drafting:
        histogram, style = row["kept_histogram"], look(row["options"])
        steps = sum(histogram.values())
        made.add_bar(
            x=list(histogram),
            y=[count / steps for count in histogram.values()],
            name=safe(row["case"]),
            visible=_first_seen(drafting, row),
            marker=_filled(style.colour, style.hatch),
        )
    made.update_yaxes(tickformat=".0%")
    made.update_xaxes(dtick=1)
    return made


def tokens_per_second(rows: Sequence[Row]) -> go.Figure:
    """New tokens per second, a bar per case, in the order of the rows from the top."""
    made = figure(_bars_height(rows), "new tokens per second", "", legend=False)
    styles = [look(row["options"]) for row in rows]
    speeds = [row["tokens_per_second"] for row in rows]
    made.add_bar(
        x=speeds,
        y=[safe(row["case"]) for row in rows],
        orientation="h",
        marker=_filled([style.colour for style in styles], [style.hatch for style in styles]),
        text=[f"{speed:.0f}" for speed in speeds],
        textposition="outside",
        cliponaxis=False,
    )
    made.update_xaxes(range=[0, 1.12 * max(speeds)])  # room for the numbers
    return _downwards(made)


def time_shares(rows: Sequence[Row]) -> go.Figure:
    """Where the time of each case went: stacked bars of the two models, verification, sampling and the rest."""
    known = [row for row in rows if "shares" in row]
    made = figure(_bars_height(known) + 36, "share of the time", "", barmode="stack")
    for part, style in PARTS.items():
        made.add_bar(
            x=[row["shares"][part] for row in known],
            y=[safe(row["case"]) for row in known],
            orientation="h",
            name=style.title,
            marker=_filled(style.colour, style.hatch),
        )
    made.update_xaxes(tickformat=".0%", range=[0, 1])
    return _downwards(made)


def _drafting(rows: Iterable[Row]) -> list[Row]:
    """The rows of our own cases that draft."""
    return [row for row in rows if "acceptance_rate" in row and row["options"].get("rule")]


def _levelled(row: Row) -> bool:
    """Whether levels draft, in blocks that have no fixed length."""
    return row["options"].get("system") in LEVELLED


def _lines(rows: Sequence[Row], by: str) -> list[tuple[str, list[Row]]]:
    """Rows that differ in `by` alone, in its order, with a name that says what they have in common."""
    found: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    options = ("rule", "proposer", "divergence", "tolerance", "tree", "drafts", "nodes", "gamma", "temperature")
    rest = [name for name in options if name != by]
    for row in rows:
        found[tuple(row["options"].get(name) for name in rest)].append(row)
    several = {name for name in rest if len({row["options"].get(name) for row in rows}) > 1}
    return [(_name(line[0], several), sorted(line, key=lambda row: row["options"][by])) for line in found.values()]


def _name(row: Row, several: set[str]) -> str:
    options = row["options"]
    words = [look(options).title or str(options["rule"])]
    if options.get("drafts", 1) > 1:
        words.append(f"{options.get('tree', 'paths')} K={options['drafts']}")
        words += [f"{options['nodes']} nodes"] if options.get("nodes") else []
    words += [f"{options.get('divergence', 'kl')}≤{options['tolerance']:g}"] if "tolerance" in options else []
    words += [f"{sign}={options[name]:g}" for name, sign in (("gamma", "γ"), ("temperature", "T")) if name in several]
    return ", ".join(words)


def _dash(rows: Sequence[Row], row: Row, name: str) -> str:
    """A dash for each value of the option `name` together with the number of drafts."""
    values = sorted({(other["options"].get("drafts", 1), other["options"].get(name, 0)) for other in rows})
    return DASHES[values.index((row["options"].get("drafts", 1), row["options"].get(name, 0))) % len(DASHES)]


def _first_seen(rows: Sequence[Row], row: Row) -> bool | str:
    """True for the longest drafts, and blocks of levels, at the first temperature; the legend has the others."""
    longest = max((other["options"]["gamma"] for other in rows if not _levelled(other)), default=0)
    long = _levelled(row) or row["options"]["gamma"] == longest
    return True if long and row["options"]["temperature"] == _first(rows) else "legendonly"


def _first(rows: Sequence[Row]) -> float:
    return float(rows[0]["options"]["temperature"])


def _filled(colour: str | list[str], hatch: str | list[str]) -> dict[str, Any]:
    """A bar's colour and hatch; the hatch is drawn in a pale line over the colour."""
    pattern = {"shape": hatch, "fillmode": "overlay", "fgcolor": "rgba(255, 255, 255, 0.75)", "size": 6}
    return {"color": colour, "pattern": pattern}


def _height(names: Sequence[Any]) -> int:
    """Room for the legend above the axes as well: a name takes a line on a phone, half of one elsewhere."""
    return 250 + min(18 * len(names), 320)


def _bars_height(rows: Sequence[Row]) -> int:
    return 76 + 28 * len(rows)


def _downwards(made: go.Figure) -> go.Figure:
    made.update_yaxes(autorange="reversed", type="category", showgrid=False)
    return made
