"""What was recorded, for readers: numbered entries in bounded memory, and `GET /hsd/steps?after=N` on the server."""

import json
import os
import threading
import time
from argparse import Namespace
from collections import deque
from contextlib import suppress
from hmac import compare_digest
from itertools import islice
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from hsd.errors import HsdError
from hsd.vllm.settings import KEY, settings_of

OVERHEAD = 200  # bytes that an entry takes beside its text
ANSWER = 4_000_000  # bytes of one answer, but always at least one entry
TOKEN = "HSD_VLLM_TOKEN"
NOTHING = 404, 'nothing is recorded here: start the server with --additional-config \'{"hsd": {"record": 1}}\''
REMOTE = 403, 'only this machine may read steps: "remote": true in --additional-config opens them to others'
NO_TOKEN = 403, f"steps are read with a token: start the server with one in {TOKEN}"
WRONG = 401, f"give the server's {TOKEN} as bearer token"


class Buffer:
    """The newest entries, at most `most` bytes of them; steps come at `per_second` bytes a second at most.

    Entries are numbered from 1. dropped: how many had to go before the newest, read or not. refused: how many came too
    fast.
    """

    def __init__(self, most: float, per_second: float) -> None:
        self._entries: deque[tuple[str, str, str]] = deque()  # request, kind, JSON
        self._most, self._per_second = most, per_second
        self._room, self._at = per_second, time.monotonic()
        self._lock = threading.Lock()
        self.size = self.dropped = self.refused = 0

    def add(self, request: str, kind: str, text: str) -> bool:
        """Keep what is new of a request: kind "header", "step" or "result". Returns whether it could be kept."""
        size = len(text) + OVERHEAD
        with self._lock:
            before, self._at = self._at, time.monotonic()
            self._room = min(self._room + (self._at - before) * self._per_second, self._per_second)
            if size > self._most or (kind == "step" and self._room <= 0):
                self.refused += 1
                return False
            self._room, self.size = self._room - size, self.size + size
            self._entries.append((request, kind, text))
            while self.size > self._most:
                self.size -= len(self._entries.popleft()[2]) + OVERHEAD
                self.dropped += 1
        return True

    def after(self, number: int, most: int = ANSWER) -> dict[str, Any]:
        """Return the entries after `number`, oldest first, as plain data, and where to go on reading.

        {"next", "dropped", "refused", "entries": [{"request", "kind", "data"}, …]}. A number from before a restart of
        the server reads from the beginning.
        """
        with self._lock:
            known = number if number <= self.dropped + len(self._entries) else 0
            begin = max(known, self.dropped)
            fresh = list(islice(self._entries, begin - self.dropped, None))
        entries, size = list[dict[str, Any]](), 0
        for request, kind, text in fresh:
            size += len(text)
            if entries and size > most:
                break
            entries.append({"request": request, "kind": kind, "data": json.loads(text)})
        return {"next": begin + len(entries), "dropped": self.dropped, "refused": self.refused, "entries": entries}


class Endpoint:
    """A plugin of the group `vllm.endpoint_plugins`; without a token in the environment it answers nobody."""

    name, required_tasks = KEY, None

    def attach_router(self, app: Any) -> None:
        """Add the route."""
        app.add_api_route("/hsd/steps", self._steps, methods=["GET"], include_in_schema=False)

    async def init_state(self, engine_client: Any, state: Any, args: Namespace) -> None:
        """Keep the engine's client, and whether other machines may ask."""
        self._client, self._remote = engine_client, False
        with suppress(HsdError):  # the workers have said it
            settings = settings_of(getattr(args, "additional_config", None))
            self._remote = bool(settings and settings.remote)

    async def _steps(self, request: Request) -> Response:
        token, given = os.environ.get(TOKEN, ""), request.headers.get("Authorization", "").removeprefix("Bearer ")
        host = request.client.host.removeprefix("::ffff:") if request.client else ""
        refusal = NOTHING
        if not (self._remote or host == "::1" or host.startswith("127.")):
            refusal = REMOTE
        elif not (token and compare_digest(token.encode(), given.encode())):
            refusal = WRONG if token else NO_TOKEN
        else:
            after = request.query_params.get("after", "0")
            number = int(after) if after.isdecimal() and len(after) < 16 else 0
            answers = [one for one in await self._client.collective_rpc("hsd_steps", args=(number,)) if one]
            if answers:  # of several workers one records
                return JSONResponse(max(answers, key=lambda one: one["next"]))
        return JSONResponse({"error": refusal[1]}, refusal[0])
