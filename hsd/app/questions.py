"""What the page asks a server besides runs and recorded files: functions from plain data to plain data."""

from collections.abc import Callable
from functools import partial
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from hsd.app import downloads, pairs, race
from hsd.app.presets import telling_step
from hsd.app.replies import NOT_UNDERSTOOD, Answer, answer
from hsd.app.systems import planner
from hsd.space import Space
from hsd.trace import Trace


class Questions:
    """Answers POST answers/NAME. An error is an answer too: {"error": one line}.

    offers: in place of `hsd.app.downloads.offers`, for an app whose runs come from elsewhere.
    """

    def __init__(self, space: Space, opened: Trace | None, offers: Callable[[], Answer] | None = None) -> None:
        offers = offers or partial(downloads.offers, space)
        self.functions: dict[str, Callable[[Answer], Any]] = {
            "pair": lambda given: pairs.describe(space, str(given.get("name") or downloads.first(space).name)),
            "downloads": lambda _: offers(),
            "opened": lambda _: shown(opened) if opened else None,
            "check": lambda given: shown(Trace.from_json(str(given.get("text") or ""))),
            "plan_stack": planner.plan_stack,
            "race_plan": lambda given: race.read_plan(space, given).described(),
        }

    async def serve(self, request: Request) -> Response:
        """Return the answer to a request."""
        try:
            values = await request.json()
        except (ValueError, RecursionError):
            values = None
        function = self.functions.get(request.path_params["name"])
        if function is None or not isinstance(values, dict):
            return JSONResponse({"error": NOT_UNDERSTOOD}, 400)
        return JSONResponse(await run_in_threadpool(answer, function, values))


def shown(trace: Trace) -> Answer:
    """Return a trace and the step to open it at, from 0."""
    return {"trace": trace.model_dump(mode="json"), "step": telling_step(trace)}
