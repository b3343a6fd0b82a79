"""The page's own HTML, CSS and JavaScript, read from the files beside this one."""

from __future__ import annotations

from pathlib import Path

import gradio as gr

from hsd.ui import compare, lab, measure, player, race, systems

FOLDER = Path(__file__).parent


def read(name: str) -> str:
    """One of the files beside this one."""
    return (FOLDER / name).read_text(encoding="utf-8")


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
    screens = (compare, race, systems, lab, measure)
    styles = "".join([player.style(), read("frame.css"), *(screen.style() for screen in screens)])
    scripts = "\n".join([player.script(), read("frame.js"), *(screen.script() for screen in screens)])
    return f"<style>{styles}</style><script>{scripts}</script>"
