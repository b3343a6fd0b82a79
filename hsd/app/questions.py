"""What the page asks a server besides runs and recorded files: functions from plain data to plain data."""

from collections.abc import Callable
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from hsd.app import device, downloads, pairs, speed
from hsd.app.presets import telling_step
from hsd.app.replies import NOT_UNDERSTOOD, Answer, answer
from hsd.app.systems import planner
from hsd.space import Space
from hsd.trace import Trace


class Questions:
    """Answers POST answers/NAME. An error is an answer too: {"error": one line}."""

    def __init__(self, space: Space, opened: Trace | None) -> None:
        self.space = space
        self.functions: dict[str, Callable[[Answer], Any]] = {
            "pair": self.pair,
            "downloads": lambda _: self.downloads(),
            "opened": lambda _: shown(opened) if opened else None,
            "check": lambda given: shown(Trace.from_json(str(given.get("text") or ""))),
            "plan_stack": planner.plan_stack,
            "race_plan": lambda given: speed.race_plan(space, given),
        }

    def pair(self, given: Answer) -> Answer:
        """Return what the page says about a pair, see `hsd.app.pairs.describe`."""
        return pairs.describe(self.space, str(given.get("name") or downloads.first(self.space).name))

    def downloads(self) -> Answer:
        """Return a line for each download that is under way or failed, and the pairs that are ready."""
        offers = [(pair, downloads.news(pair)) for pair in device.offered(self.space)]
        lines = [f"{pair.short_title}: {news.words}" for pair, news in offers if news.coming or news.problem]
        here = [{"name": pair.name, "title": pair.title} for pair, news in offers if news is downloads.HERE]
        return {"lines": lines, "here": here, "coming": any(news.coming for _, news in offers)}

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
