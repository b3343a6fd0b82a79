"""The page's own HTML, CSS and JavaScript, read from the files in `hsd/web`."""

from __future__ import annotations

import gradio as gr

from hsd.paths import WEB

SCREENS: dict[str, tuple[str, ...]] = {
    "player": (
        "format.js",
        "dom.js",
        "model.js",
        "mirror.js",
        "arithmetic.js",
        "drafts.js",
        "told.js",
        "story.js",
        "formula.js",
        "text.js",
        "transport.js",
        "rows.js",
        "layout.js",
        "mass.js",
        "tests.js",
        "tree.js",
        "changes.js",
        "cards.js",
        "ledger.js",
        "table.js",
        "export.js",
        "help.js",
        "frame.js",
        "stage.js",
        "player.js",
    ),
    "compare": (
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
    ),
    "race": (
        "link.js",
        "fields.js",
        "lanes.js",
        "tracks.js",
        "replay.js",
        "results.js",
        "files.js",
        "about.js",
        "live.js",
        "race.js",
    ),
    "lab": (
        "fuzzy.js",
        "rules.js",
        "enumerate.js",
        "state.js",
        "link.js",
        "simulate.js",
        "words.js",
        "parts.js",
        "inputs.js",
        "results.js",
        "tuning.js",
        "law.js",
        "position.js",
        "draft.js",
        "lab.js",
    ),
    "measure": (
        "parts.js",
        "measure.js",
    ),
    "systems": (
        "parts.js",
        "live.js",
        "recorded.js",
        "systems.js",
        "levels_model.js",
        "levels_words.js",
        "levels_lanes.js",
        "levels_life.js",
        "levels_transport.js",
        "levels_player.js",
        "levels_controls.js",
        "levels_panel.js",
        "stack.js",
        "stack_totals.js",
        "stack_panel.js",
        "planner_link.js",
        "planner_models.js",
        "planner_inputs.js",
        "planner_bars.js",
        "planner_graph.js",
        "planner_formula.js",
        "planner_trial.js",
        "planner.js",
        "hispec_work.js",
        "hispec_layers.js",
        "hispec_cost.js",
        "hispec_panel.js",
        "fsd_model.js",
        "fsd_words.js",
        "fsd_controls.js",
        "fsd_run.js",
        "fsd_curve.js",
        "fsd_panel.js",
    ),
}
"""The scripts of each screen in the order in which they need each other; the player's come first in the page."""

SYSTEMS_STYLES = ("systems.css", "planner.css", "levels.css", "hispec.css", "fsd.css")


def read(name: str) -> str:
    """One of the files in `hsd/web`."""
    return (WEB / name).read_text(encoding="utf-8")


def script(screen: str) -> str:
    """All scripts of a screen; defines `window.hsdPlayer` and so on."""
    return "\n".join(read(f"{screen}/{name}") for name in SCREENS[screen])


def style(screen: str) -> str:
    """The style sheets of a screen."""
    names = SYSTEMS_STYLES if screen == "systems" else (f"{screen}.css",)
    return "".join(read(f"{screen}/{name}") for name in names)


def head_component() -> gr.HTML:
    """The page's head: title, buttons, chips and messages."""
    return gr.HTML(
        html_template=read("head.html"),
        js_on_load="window.hsdFrame.head(element)",
        apply_default_css=False,
        elem_id="hsd-head",
    )


def stage() -> str:
    """The HTML of the stage, with the panel that explains it. It is a template without any expression."""
    return read("stage.html").replace("ABOUT", read("about.html"))


def head() -> str:
    """What goes into the page's head: style sheets and scripts of the player and of the frame around it.

    The style sheets do not go through Gradio's `css`, which loses container queries.
    """
    player, *screens = SCREENS
    styles = "".join([style(player), read("frame.css"), *map(style, screens)])
    scripts = "\n".join([script(player), read("frame.js"), *map(script, screens)])
    return f"<style>{styles}</style><script>{scripts}</script>"
