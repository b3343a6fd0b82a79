"""The Systems screen: systems built of several levels or of another rule, one panel each. See systems.js.

The scripts use the player's `dom.js`, `format.js` and `export.js`, and the frame, so these must come first in the page.
"""

from __future__ import annotations

from pathlib import Path

from hsd.ui.systems.screen import Systems

__all__ = ["Systems", "script", "style"]

FOLDER = Path(__file__).parent
FRAME = ("parts.js", "live.js", "recorded.js", "systems.js")
LEVELS = (
    "levels_model.js",
    "levels_words.js",
    "levels_lanes.js",
    "levels_life.js",
    "levels_transport.js",
    "levels_player.js",
    "levels_controls.js",
    "levels_panel.js",
)
PLANNER = (
    "planner_link.js",
    "planner_models.js",
    "planner_inputs.js",
    "planner_bars.js",
    "planner_graph.js",
    "planner_formula.js",
    "planner_trial.js",
    "planner.js",
)
STACK = ("stack.js", "stack_totals.js", "stack_panel.js", *PLANNER)
HISPEC = ("hispec_work.js", "hispec_layers.js", "hispec_cost.js", "hispec_panel.js")
FSD = ("fsd_model.js", "fsd_words.js", "fsd_controls.js", "fsd_run.js", "fsd_curve.js", "fsd_panel.js")
SCRIPTS = (*FRAME, *LEVELS, *STACK, *HISPEC, *FSD)
STYLES = ("systems.css", "planner.css", "levels.css", "hispec.css", "fsd.css")


def script() -> str:
    """All scripts in the order in which they need each other; defines `window.hsdSystems`."""
    return "\n".join((FOLDER / name).read_text(encoding="utf-8") for name in SCRIPTS)


def style() -> str:
    """The style sheets."""
    return "".join((FOLDER / name).read_text(encoding="utf-8") for name in STYLES)
