"""The Lab: p and q to edit, every rule by exact arithmetic, all of it in the browser. See `hsd/web/lab`.

fuzzy.js, rules.js and enumerate.js restate `hsd.rules` and `hsd.audit.chains`; tests/web/test_lab_arithmetic.py
compares them.
"""

from __future__ import annotations

import gradio as gr

from hsd.ui import static


def build() -> gr.HTML:
    """The component in which the lab draws, in the current Gradio context. It has no value and calls no server."""
    return gr.HTML(
        html_template=static.read("lab/lab.html"),
        js_on_load=static.start("lab", with_server=False),
        apply_default_css=False,
        elem_id="hsd-lab",
    )
