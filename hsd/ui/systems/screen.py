"""The Systems screen's component. Its panels are drawn in the browser, ask the functions of `PARTS`, and for runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gradio as gr

from hsd.space import Space
from hsd.ui import static
from hsd.ui.jobs import Jobs
from hsd.ui.request import read
from hsd.ui.runs import Run
from hsd.ui.systems import fsd, hispec, planner, recorded

Values = dict[str, Any]

# Each has `functions()`, what the page's script can call, and `props()`, what it gets at the start; names differ.
PARTS = (planner, recorded, hispec, fsd)


@dataclass(frozen=True)
class Systems:
    """The screen. Its component's value is a small message about the run that goes on, as on Watch."""

    space: Space
    jobs: Jobs

    def functions(self) -> list[Callable[[Any], Values]]:
        """The functions that the page's script can call, by their names, with one argument each."""
        own = self.jobs.functions(lambda asked: Run(read(self.space, {"pair": hispec.EMBEDDED.name, **asked})))
        return [*own, *(function for part in PARTS for function in part.functions())]

    def props(self) -> Values:
        """What the page's script gets at the start."""
        return {name: value for part in PARTS for name, value in part.props().items()}

    def build(self) -> gr.HTML:
        """The component in which the screen draws, in the current Gradio context, and its one event."""
        stage = gr.HTML(
            value={"serial": 0},
            html_template=static.read("systems/systems.html"),
            js_on_load=static.start("systems"),
            server_functions=self.functions(),
            apply_default_css=False,
            elem_id="hsd-systems",
            **self.props(),
        )
        stage.submit(
            self.jobs.messages,
            stage,
            stage,
            js=static.call("systems", "ticket"),
            trigger_mode="multiple",  # a new run is asked for while the one before is being ended
            show_progress="hidden",
            api_visibility="private",
            concurrency_id="model",
            concurrency_limit=1,
        )
        return stage
