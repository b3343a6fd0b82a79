"""The Compare screen's component, and the second run that its free mode asks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gradio as gr

from hsd.errors import HsdError
from hsd.space import Space
from hsd.ui import arrivals, form, static
from hsd.ui.jobs import MODEL, Jobs
from hsd.ui.pairs import choose
from hsd.ui.request import Request, read
from hsd.ui.runs import Run

Values = dict[str, Any]


@dataclass(frozen=True)
class Compare:
    """What the screen works with. Its component's value is a small message about the second run, as on Watch."""

    space: Space
    jobs: Jobs

    def build(self) -> gr.HTML:
        """The component in which the screen draws, in the current Gradio context, and its one event."""
        functions = self.jobs.functions(lambda asked: Run(second_run(self.space, asked)))
        stage = static.screen("compare", functions, value={"serial": 0})
        stage.submit(
            self.jobs.messages,
            stage,
            stage,
            js=static.call("compare", "ticket"),
            **MODEL,
        )
        return stage


def second_run(space: Space, asked: Values) -> Request:
    """The run that the page asks for: values named as in a link. Raises HsdError, one line, for anything else."""
    names = {field.name for field in form.RUN}
    values = {name: value for name, value in asked.items() if name in names}
    own = [str(values.get(name) or "") for name in ("target", "draft")]
    try:
        choose(space, str(values.get("pair") or arrivals.first(space).name), *own)
    except HsdError as error:
        raise HsdError(f"Free needs a second run, which cannot be made here ({error}); Paired needs none") from None
    return read(space, values)
