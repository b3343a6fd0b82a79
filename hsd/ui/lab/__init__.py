"""The Lab: p and q to edit, every rule by exact arithmetic, all of it in the browser. See the scripts beside this file.

fuzzy.js, rules.js and enumerate.js restate `hsd.verify` and `hsd.audit.chains`; tests/app/test_lab.py compares them.
The scripts use the player's `dom.js`, `format.js` and `export.js`, so the player must come first in the page.
"""

from __future__ import annotations

from pathlib import Path

import gradio as gr

FOLDER = Path(__file__).parent
SCRIPTS = (
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
)


def script() -> str:
    """All scripts in the order in which they need each other; defines `window.hsdLab`."""
    return "\n".join((FOLDER / name).read_text(encoding="utf-8") for name in SCRIPTS)


def style() -> str:
    """The style sheet."""
    return (FOLDER / "lab.css").read_text(encoding="utf-8")


def build() -> gr.HTML:
    """The component in which the lab draws, in the current Gradio context. It has no value and calls no server."""
    return gr.HTML(
        html_template=(FOLDER / "lab.html").read_text(encoding="utf-8"),
        js_on_load="window.hsdLab.start(element)",
        apply_default_css=False,
        elem_id="hsd-lab",
    )
