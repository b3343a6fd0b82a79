"""`GET /hsd/steps?after=N` on the server: what was recorded, for whoever has the token."""

from __future__ import annotations

import os
from argparse import Namespace
from hmac import compare_digest
from ipaddress import ip_address
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from hsd.errors import HsdError
from hsd.vllm.settings import KEY, settings_of

TOKEN = "HSD_VLLM_TOKEN"


class Endpoint:
    """A plugin of the group `vllm.endpoint_plugins`; without a token in the environment it answers nobody."""

    name = KEY
    required_tasks = None

    def __init__(self) -> None:
        self._client: Any = None
        self._remote = False

    def attach_router(self, app: Any) -> None:
        """Add the route."""
        app.add_api_route("/hsd/steps", self._steps, methods=["GET"], include_in_schema=False)

    async def init_state(self, engine_client: Any, state: Any, args: Namespace) -> None:
        """Keep the engine's client, and whether other machines may ask."""
        self._client = engine_client
        try:
            settings = settings_of(getattr(args, "additional_config", None))
        except HsdError:  # the workers have said it
            settings = None
        self._remote = bool(settings and settings.remote)

    async def _steps(self, request: Request) -> Response:
        if refusal := self._refusal(request):
            return JSONResponse({"error": refusal[1]}, refusal[0])
        after = request.query_params.get("after", "0")
        number = int(after) if after.isdecimal() and len(after) < 16 else 0
        answers = await self._client.collective_rpc("hsd_steps", args=(number,))
        answer = next((one for one in answers if one is not None), None)
        nothing = 'nothing is recorded here: start the server with --additional-config \'{"hsd": {"record": 1}}\''
        return JSONResponse(answer or {"error": nothing}, 200 if answer else 404)

    def _refusal(self, request: Request) -> tuple[int, str] | None:
        """Return status and reason where a request is not answered."""
        token, given = os.environ.get(TOKEN, ""), request.headers.get("Authorization", "").removeprefix("Bearer ")
        host = request.client.host if request.client else ""
        if not (self._remote or _loopback(host)):
            return 403, 'only this machine may read steps: "remote": true in --additional-config opens them to others'
        if not token:
            return 403, f"steps are read with a token: start the server with one in {TOKEN}"
        if not compare_digest(token.encode(), given.encode()):
            return 401, f"give the server's {TOKEN} as bearer token"
        return None


def _loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
