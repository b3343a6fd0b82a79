"""Servers that a visitor names by URL: whether that is allowed, and how they are reached, always without a key.

Nothing else in `hsd.app` leads to one. No link carries a URL, and on a Space none can be typed.
"""

from __future__ import annotations

from dataclasses import dataclass

from hsd.app import device, trust
from hsd.bench.server import Server, base_url, connect
from hsd.errors import HsdError
from hsd.space import Space

EXAMPLE = "http://localhost:8000"
SECONDS = 30.0  # for an answer
MOST = 200  # characters of a URL, and of a model's name
NOT_HERE = "servers cannot be used from here: start the app on your own machine for that, or elsewhere with --servers"


@dataclass(frozen=True)
class Address:
    """The address of a server, checked but not contacted yet. url: without /v1; model: "" for the only one."""

    url: str
    model: str

    def reach(self) -> Server:
        """Contact the server. Raises HsdError, one line, if there is none."""
        if device.on_a_space():
            raise HsdError(NOT_HERE)
        return connect(self.url, self.model or None, SECONDS)


def allowed(space: Space) -> bool:
    """Return whether visitors may name a server: never on a Space, nor if the manifest forbids models of their own.

    Where others than people at this machine can ask, it takes --servers, and then none but public ones are reached.
    """
    trusted = trust.current.local or trust.current.servers
    return trusted and space.own_pair != "never" and not device.on_a_space()


def read(space: Space, url: object, model: object) -> Address:
    """Check an address; contacts nobody. Raises HsdError if it is not a URL, or if servers are not allowed here."""
    if not allowed(space):
        raise HsdError(NOT_HERE)
    base, name = (str(value or "").strip() for value in (url, model))
    if not base:
        raise HsdError(f"no server is named: give its base URL, such as {EXAMPLE}")
    if len(base) > MOST or len(name) > MOST:
        raise HsdError(f"a server's URL and its model's name have at most {MOST} characters: shorten them")
    return Address(base_url(base), name)
