"""How figures look: one colour, marker, dash and hatch per rule everywhere, and a layout for light and dark pages.

Colours are from the palette of Okabe and Ito; the marker or hatch says the same without colour. Backgrounds are
transparent and there is no title: the page writes the heading, and sets the colour of all text by its own style sheet.
"""

from __future__ import annotations

import html
from dataclasses import dataclass, replace
from typing import Any

import plotly.graph_objects as go

GRID = "rgba(128, 136, 150, 0.28)"
INK = "#6b7280"
LONGEST = 60  # characters of a name that fit into a legend


@dataclass(frozen=True)
class Look:
    """How one rule, or one part of the time, is drawn everywhere."""

    title: str
    colour: str
    symbol: str = "circle"
    hatch: str = ""


LOOKS = {
    "plain": Look("plain", "#9aa3af"),
    "tokenwise": Look("token-wise", "#7a869a", "circle", "-"),
    "hsd": Look("HSD", "#0072b2", "diamond"),
    "blockwise": Look("block", "#56b4e9", "square", "x"),
    "naive-hsd": Look("naive HSD", "#e69f00", "triangle-up", "+"),
    "hsd-released": Look("HSD as released", "#d55e00", "x", "."),
    "top-down": Look("top-down", "#cc79a7", "triangle-down", "|"),
    "traversal": Look("traversal", "#009e73", "star", "/"),
    "one-hot": Look("one-hot", "#8c7a00", "cross", "\\"),
}
STACKED = {"stack": Look("stack", "", "square-open", "/"), "hispec": Look("HiSpec", "", "circle-open", "\\")}
OTHER = Look("", "#8a5a9e", "hexagon", "|")
FUZZY = replace(OTHER, title="FSD")
PARTS = {
    "draft": Look("draft model", "#cc79a7", hatch="|"),
    "target": Look("target model", "#0072b2"),
    "verify": Look("verify", "#e69f00", hatch="x"),
    "sampling": Look("sampling", "#009e73", hatch="."),
    "rest": Look("rest", "#9aa3af", hatch="-"),
}


def look(options: dict[str, Any]) -> Look:
    """The look of a case, from its options; a rule for several drafts looks as the rule it is made of.

    A stack, or early exits, have the colour of the rule at the target, with a marker and a hatch of their own.
    """
    if options.get("system") == "plain":
        return LOOKS["plain"]
    name = str(options.get("rule", "")).removeprefix("recursive-")
    rule = FUZZY if name == "fuzzy" else LOOKS.get(name, OTHER)
    system = STACKED.get(str(options.get("system")))
    if not system:
        return rule
    return replace(rule, title=f"{system.title}, {rule.title}", symbol=system.symbol, hatch=system.hatch)


def safe(text: object) -> str:
    """Text that Plotly shows as it is: it would read `<b>` as markup, and a long name would leave no room."""
    words = str(text)
    short = words if len(words) <= LONGEST else f"{words[: LONGEST - 1]}…"
    return html.escape(short, quote=False).replace("\n", " ").replace("%{", "% {")


def figure(height: int, x: str, y: str, legend: bool = True, **layout: Any) -> go.Figure:
    """An empty figure. height: in pixels; x, y: what the axes show."""
    axis = {"gridcolor": GRID, "zerolinecolor": GRID, "linecolor": GRID, "automargin": True}
    made = go.Figure()
    made.update_layout(
        template=go.layout.Template(),
        height=height,
        margin={"l": 8, "r": 12, "t": 8, "b": 8},
        paper_bgcolor="rgba(0, 0, 0, 0)",
        plot_bgcolor="rgba(0, 0, 0, 0)",
        font={"color": INK, "size": 13, "family": "system-ui, sans-serif"},
        showlegend=legend,
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "traceorder": "normal"},
        hoverlabel={"namelength": -1},
        **layout,
    )
    made.update_xaxes(title={"text": x, "standoff": 6, "font": {"size": 13}}, **axis)
    made.update_yaxes(title={"text": y, "standoff": 6, "font": {"size": 13}}, **axis)
    return made
