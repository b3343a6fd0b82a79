"""What a server is asked to record, what it keeps of that in memory, and who may read it.

It is read by `GET /hsd/steps?after=N`.
"""

import json
import os
import zlib
from argparse import Namespace
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from hmac import compare_digest
from itertools import accumulate, islice
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from hsd.errors import HsdError
from hsd.trace.values import Record
from hsd.vllm import KEY

OVERHEAD = 200  # bytes that an entry takes beside its text
ANSWER = 4_000_000  # bytes of one answer, but always at least one entry
TOKEN = "HSD_VLLM_TOKEN"


class Settings(Record):
    """The values under "hsd" in vLLM's --additional-config.

    record: the share of requests whose steps are recorded, from 0 to 1. A request itself may ask
    for it, or against it, by `vllm_xargs` {"hsd": true}, whatever stands here. rule: "hsd" replaces
    the verification of vLLM's V1 runner; "" leaves it as it is. prompts: record the prompts too;
    without it a trace begins after the prompt. megabytes: of steps that are kept for readers; the
    oldest are dropped. remote: other machines may read the steps too.
    """

    record: Annotated[float, Field(ge=0, le=1)] = 0
    rule: Literal["", "hsd"] = ""
    prompts: bool = False
    megabytes: Annotated[float, Field(gt=0)] = 64
    remote: bool = False

    def wants(self, request: str, own: Any) -> bool:
        """Return whether a request is recorded.

        request: its name; own: what its vllm_xargs say, None for nothing.
        """
        if own is not None:
            return str(own).lower() not in ("", "0", "false", "no")
        return zlib.crc32(request.encode()) / 2**32 < self.record


def settings_of(config: Any) -> Settings | None:
    """Return the settings in vLLM's additional config; None where there are none.

    Raises HsdError for wrong ones.
    """
    if not isinstance(config, Mapping) or config.get(KEY) is None:
        return None
    try:
        return Settings.model_validate(config[KEY])
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join([KEY, *map(str, first["loc"])])
        choices = ", ".join(Settings.model_fields)
        raise HsdError(
            f"{where} in --additional-config: {first['msg']} (it takes {choices})"
        ) from None


class Buffer:
    """The newest entries, at most `most` bytes of them, numbered from 1.

    dropped: how many older ones had to go.
    """

    def __init__(self, most: float) -> None:
        self._entries: deque[tuple[str, str, str]] = deque()  # request, kind, JSON
        self._most = most
        self.size = 0
        self.dropped = 0

    def add(self, request: str, kind: str, text: str) -> None:
        """Add an entry of a request; drop the oldest beyond `most`.

        kind: "beginning", "step", "result"; text: JSON.
        """
        self._entries.append((request, kind, text))
        self.size += len(text) + OVERHEAD
        while self.size > self._most:
            self.size -= len(self._entries.popleft()[2]) + OVERHEAD
            self.dropped += 1

    def after(self, number: int, most: int = ANSWER) -> dict[str, Any]:
        """Return the entries after `number`, oldest first, and where to go on reading.

        {"next", "dropped", "entries": [{"request", "kind", "data"}, …]}. A number from before a
        restart of the server reads from the beginning.
        """
        at = max(number if number <= self.dropped + len(self._entries) else 0, self.dropped)
        rest = [*islice(self._entries, at - self.dropped, None)]
        fitting = sum(size <= most for size in accumulate(len(text) for *_, text in rest))
        found = rest[: max(fitting, 1)]
        entries = [
            {"request": request, "kind": kind, "data": json.loads(text)}
            for request, kind, text in found
        ]
        return {"next": at + len(entries), "dropped": self.dropped, "entries": entries}


class Endpoint:
    """A plugin of the group `vllm.endpoint_plugins`.

    It serves `GET /hsd/steps`, and refuses that without the right HSD_VLLM_TOKEN.
    """

    name = KEY
    required_tasks = None

    def attach_router(self, app: Any) -> None:
        """Add the route /hsd/steps to vLLM's app."""
        app.add_api_route("/hsd/steps", self._steps, include_in_schema=False)

    async def init_state(self, engine_client: Any, state: Any, args: Namespace) -> None:
        """Keep the engine's client, and whether other machines may ask."""
        self._client = engine_client
        self._remote = False
        with suppress(HsdError):  # the workers have said it
            settings = settings_of(getattr(args, "additional_config", None))
            self._remote = (settings or Settings()).remote

    async def _steps(
        self, request: Request, after: Annotated[int, Field(ge=0, lt=2**53)] = 0
    ) -> Response:
        token = os.environ.get(TOKEN, "")
        given = request.headers.get("Authorization", "").removeprefix("Bearer ")
        host = request.client.host.removeprefix("::ffff:") if request.client else ""
        if not (self._remote or host == "::1" or host.startswith("127.")):
            raise HTTPException(
                403, 'only this machine may read steps: "remote": true under "hsd" opens them'
            )
        if not token:
            raise HTTPException(
                403, f"steps are read with a token: start the server with one in {TOKEN}"
            )
        if not compare_digest(token.encode(), given.encode()):
            raise HTTPException(401, f"give the server's {TOKEN} as bearer token")
        answers = await self._client.collective_rpc("hsd_steps", args=(after,))
        recorded = [answer for answer in answers if answer]
        if recorded:  # of several workers one records
            return JSONResponse(max(recorded, key=lambda answer: answer["next"]))
        raise HTTPException(
            404, """no steps: start the server with --additional-config '{"hsd": {"record": 1}}'"""
        )
