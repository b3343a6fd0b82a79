"""The Learn tab: lessons on one recorded step, what is easily believed, questions. See `hsd/web/learn`."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import gradio as gr

from hsd.paths import EXAMPLES
from hsd.ui import static
from hsd.ui.fetch import Answer, answered


@cache
def content() -> Answer:
    """All that the page draws, as `examples/learn_page.py` has written it."""
    return json.loads((EXAMPLES / "learn.json").read_text(encoding="utf-8"))


def build() -> gr.HTML:
    """The component in which the lessons are shown, in the current Gradio context. It has no value."""

    @answered
    def read_lessons(_: Any) -> Answer:
        return content()

    return static.screen("learn", [read_lessons])
