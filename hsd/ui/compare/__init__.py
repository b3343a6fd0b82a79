"""The Compare screen: two rules on the same drafts and coins, or each on a text of its own. See the scripts here.

Paired needs nothing from the server: a trace holds the decisions of both rules. Free makes a second run, by the other
rule and with all else equal; it waits in the same line for the model as every other run.
The scripts use the player, so the player must come first in the page.
"""

from __future__ import annotations

from pathlib import Path

from hsd.ui.compare.screen import Compare

__all__ = ["Compare", "script", "style"]

FOLDER = Path(__file__).parent
SCRIPTS = (
    "clauses.js",
    "explain.js",
    "totals.js",
    "scrubber.js",
    "row.js",
    "second.js",
    "texts.js",
    "parts.js",
    "words.js",
    "lanes.js",
    "compare.js",
)


def script() -> str:
    """All scripts in the order in which they need each other; defines `window.hsdCompare`."""
    return "\n".join((FOLDER / name).read_text(encoding="utf-8") for name in SCRIPTS)


def style() -> str:
    """The style sheet."""
    return (FOLDER / "compare.css").read_text(encoding="utf-8")
