"""The Systems screen's component. Its panels are drawn in the browser, ask the functions of `ASKED`, and for runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gradio as gr

from hsd.space import Space
from hsd.ui import static
from hsd.ui.fetch import answered
from hsd.ui.jobs import MODEL, Function, Jobs
from hsd.ui.request import read
from hsd.ui.runs import Run
from hsd.ui.systems import eagle, fsd, hispec, planner, recorded

Values = dict[str, Any]

ASKED = (
    planner.plan_stack,
    planner.try_thresholds,
    recorded.recorded_run,
    hispec.layer_facts,
    fsd.fuzzy_results,
)
"""What the page's script can call besides runs, by these names, with one argument each."""


@dataclass(frozen=True)
class Systems:
    """The screen. Its component's value is a small message about the run that goes on, as on Watch."""

    space: Space
    jobs: Jobs

    def functions(self) -> list[Function]:
        """The functions that the page's script can call, by their names, with one argument each."""
        own = self.jobs.functions(lambda asked: Run(read(self.space, {"pair": hispec.EMBEDDED.name, **asked})))
        return [*own, *map(answered, ASKED)]

    def props(self) -> Values:
        """What the page's script gets at the start: the recorded runs without their traces, the planner's inputs, and
        what is published on EAGLE-3."""
        runs = [recorded.listed(preset) for preset in recorded.presets().values()]
        return {"recorded": runs, "planner": planner.props(), "eagle": eagle.props()}

    def build(self) -> gr.HTML:
        """The component in which the screen draws, in the current Gradio context, and its one event."""
        stage = static.screen("systems", self.functions(), value={"serial": 0}, **self.props())
        stage.submit(
            self.jobs.messages,
            stage,
            stage,
            js=static.call("systems", "ticket"),
            trigger_mode="multiple",  # a new run is asked for while the one before is being ended
            **MODEL,
        )
        return stage
