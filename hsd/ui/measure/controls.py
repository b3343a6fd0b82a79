"""The settings of a batch, each with one line that says what it does."""

from __future__ import annotations

from typing import Any

import gradio as gr

from hsd.space import Space
from hsd.ui import form, servers

FIELDS = (*form.BATCH, *form.SERVER)
NAMES = tuple(field.name for field in FIELDS)
WIDTHS = {"set": 150, "arranged": 150, "server": 240, "server_model": 240}  # pixels, at least


def build(space: Space, pair: str) -> list[gr.components.Component]:
    """Create the components in the current Gradio context; returned in the order of `NAMES`. pair: that is chosen."""
    made: dict[str, gr.components.Component] = {}
    values = form.with_defaults(FIELDS, space, {"pair": pair})

    def make(place: str) -> None:
        for field in FIELDS:
            if field.place == place:
                wide: dict[str, Any] = {} if field.kind == "names" else {"min_width": WIDTHS.get(field.name, 130)}
                value = list(values[field.name]) if field.kind == "names" else values[field.name]
                made[field.name] = field.component(space, value, "hsd-measure", **wide)

    with gr.Row(elem_id="hsd-measure-what"):
        make("what")
    make("rules")
    with gr.Accordion("Several drafts", open=False, elem_id="hsd-measure-more"), gr.Row():
        make("several")
    with gr.Accordion("Further systems", open=False, elem_id="hsd-measure-further"):
        make("systems")
        with gr.Row():
            make("levels")
    with gr.Accordion("A server beside", open=False, visible=servers.allowed(space), elem_id="hsd-measure-served"):
        with gr.Row():
            make("server")
        words = f"<p>It is measured on the same prompts: {servers.COUNTS_ONLY}.</p>"
        gr.HTML(words, apply_default_css=False, padding=False)
    return [made[name] for name in NAMES]
