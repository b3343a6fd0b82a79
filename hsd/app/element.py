"""A step of a run in a page of somebody else: in a frame, made by a script, or in a notebook."""

import json
import re
from functools import cache
from html import escape
from typing import Any

from hsd.app.modules import script
from hsd.app.page import fill, filled_with, in_one_file
from hsd.app.presets import telling_step
from hsd.app.replies import compact, shortened
from hsd.errors import HsdError
from hsd.facts import facts
from hsd.trace import MAX_BYTES, Trace
from hsd.values import shown, whole
from hsd.version import __version__

SCRIPT = "hsd-step.js"
"""The name of the script that defines <hsd-step>."""

ELSEWHERE = ("race_", "calculator", "beat_ask")
"""How sentences begin that no step is told in."""

BOARDS = {"full": 450, "first": 700}
"""How much of a board is drawn, with the pixels that a frame is high."""

DRESS = (
    "const [red, green, blue] = getComputedStyle(this).color.match(/[\\d.]+/g).map(Number);"
    "const theme = red + green + blue > 384 ? 'dark' : 'light';"
    "this.contentWindow.postMessage({ theme }, '*')"
)
"""What a notebook's frame does once it is loaded: it is dark where the text around it is light."""


@cache
def frame() -> str:
    """Return the document of a frame, with `>RUN<` in place of a run, see `FrameRun` of the page.

    Its policy lets it load nothing and send nothing.
    """
    known = facts()
    sentences = {
        name: ways for name, ways in known["sentences"].items() if not name.startswith(ELSEWHERE)
    }
    usual = {
        name: {"default": option.get("default")}
        for name, option in known["options"]["properties"].items()
    }
    blocks = {
        "hsd-facts": {**known, "sentences": sentences, "options": {"properties": usual}},
        "hsd-format": {"schema": _without_texts(Trace.schema_for_others()), "most": MAX_BYTES},
    }
    code = script("step/folds.js", "element/frame.js")
    parts = in_one_file(code, {name: compact(data) for name, data in blocks.items()})
    parts["head"] = re.sub(r"/\*.*?\*/|^\s+", "", parts["head"], flags=re.DOTALL | re.MULTILINE)
    return fill("element/frame.html", {"version": __version__, **parts})


def _without_texts(schema: Any) -> Any:
    """Return a JSON Schema without its titles and descriptions, which nobody reads in a frame."""
    if isinstance(schema, list):
        return [_without_texts(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    texts = {name for name in ("title", "description") if isinstance(schema.get(name), str)}
    return {name: _without_texts(part) for name, part in schema.items() if name not in texts}


@cache
def element() -> str:
    """Return the script that defines <hsd-step>; hsd/web/element/element.js says what it takes."""
    document = json.dumps(frame(), ensure_ascii=False).replace("</", "<\\/")  # if it is inlined
    code = script("element/element.js")
    return f"(async () => {{\n{code}$element_element.define({document});\n}})();\n"


class StepView:
    """A step of a run as notebooks show it: the board of both rules, which plays.

    It stands in a frame without an origin, from which nothing reaches the notebook or a network.
    """

    def __init__(self, trace: Trace, step: int, board: str) -> None:
        self.trace = trace
        self.step = step
        self.board = board

    def __repr__(self) -> str:
        return f"<step {self.step} of {self.trace!r}>"

    def _repr_html_(self) -> str:
        run = {
            "trace": shortened(self.trace.model_dump(mode="json")),
            "problem": "",
            "step": self.step,
            "theme": "",
            "board": self.board,
        }
        return (
            '<iframe sandbox="allow-scripts allow-popups" allow="fullscreen" '
            f'title="speculative decoding, step by step" onload="{escape(DRESS)}" '
            f'style="width: 100%; height: {BOARDS[self.board]}px; border: 0" '
            f'srcdoc="{escape(filled_with(frame(), run))}"></iframe>'
        )


def show(trace: Trace, step: int | None = None, board: str = "full") -> StepView:
    """Return a step of a run, which a notebook shows where it is the last value of a cell.

    step: from 1; by default the most telling one. board: "full", or "first" for a first look with
    few numbers. Raises HsdError.
    """
    if not isinstance(trace, Trace):
        raise HsdError(f"{shown(trace)} is no trace: give what hsd.run returned")
    if board not in BOARDS:
        raise HsdError(f"board {shown(board)}: choose {' or '.join(BOARDS)}")
    if step is None:
        return StepView(trace, telling_step(trace) + 1, board)
    place = whole(step)
    if place is None or not 1 <= place <= len(trace.steps):
        raise HsdError(f"there is no step {shown(step)}: this run has {len(trace.steps)}")
    return StepView(trace, place, board)
