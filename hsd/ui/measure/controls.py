"""The settings of a batch, each with one line that says what it does."""

from __future__ import annotations

from typing import Any

import gradio as gr

from hsd.space import Space
from hsd.ui import form

NAMES = tuple(field.name for field in form.BATCH)
NARROW = {"set": 150, "arranged": 150}  # pixels


def build(space: Space, pair: str) -> list[gr.components.Component]:
    """Create the components in the current Gradio context; returned in the order of `NAMES`. pair: that is chosen."""
    made: dict[str, gr.components.Component] = {}
    values = form.with_defaults(form.BATCH, space, {"pair": pair})

    def make(place: str) -> None:
        for field in form.BATCH:
            if field.place == place:
                wide: dict[str, Any] = {} if field.kind == "names" else {"min_width": NARROW.get(field.name, 130)}
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
    return [made[name] for name in NAMES]
