"""How figures look: one colour, marker, dash and hatch per rule everywhere, and a layout for light and dark pages.

Colours are from the palette of Okabe and Ito; the marker or hatch says the same without colour. Backgrounds are
transparent and there is no title: the page writes the heading, and sets the colour of all text by its own style sheet.
"""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from hsd.draft import COPIERS
from hsd.facts import Look, rule_look, short, system_short

GRID = "rgba(128, 136, 150, 0.28)"
INK = "#6b7280"
LONGEST = 60  # characters of a name that fit into a legend


@dataclass(frozen=True)
class Style(Look):
    """A look, and what a legend calls it."""

    title: str = ""


PLAIN = Style("#9aa3af", title="plain")
STACKED = {"stack": ("square-open", "/"), "hispec": ("circle-open", "\\"), "copied": ("x-open", ".")}  # marker, hatch
PARTS = {
    "draft": Style("#cc79a7", hatch="|", title="draft model"),
    "target": Style("#0072b2", title="target model"),
    "verify": Style("#e69f00", hatch="x", title="verify"),
    "sampling": Style("#009e73", hatch=".", title="sampling"),
    "rest": Style("#9aa3af", hatch="-", title="rest"),
}


def look(options: dict[str, Any]) -> Style:
    """The look of a case, from its options; a rule for several drafts looks as the rule it is made of.

    A stack, early exits and n-grams have the colour of the rule at the target, with a marker and a hatch of their own.
    """
    copied = COPIERS.get(options.get("proposer", ""))
    system = "copied" if copied else str(options.get("system"))
    if system == "plain":
        return PLAIN
    name = str(options.get("rule", ""))
    own, title = rule_look(name), short(name)
    if system not in STACKED:
        return Style(own.colour, own.symbol, own.hatch, title)
    return Style(own.colour, *STACKED[system], copied.short if copied else f"{system_short(system)}, {title}")


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
