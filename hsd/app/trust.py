"""Whom the app answers: its host names, pages that may ask, and whether only this machine may.

Any web page can send requests to an app on its visitor's own machine, and a name that its owner
points at 127.0.0.1 makes them look like the app's own. So the name in a request decides.
"""

import os
import re
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers

from hsd.app import device
from hsd.errors import HsdError


@dataclass(frozen=True)
class Trust:
    """Who may reach the app, as it was started; loopback: only this machine.

    names: further host names that it answers to, * for any.
    """

    loopback: bool = True
    names: tuple[str, ...] = ()

    def also(self, address: str) -> "Trust":
        """Return a trust that has the host in this address as well."""
        return replace(self, names=(*self.names, _parts(address)[0]))

    def refusal(self, headers: Headers, changes: bool) -> str:
        """Return why a request is refused, in one line; "" if it may pass.

        changes: it does more than read.
        """
        lines = [
            value for header in ("Host", "X-Forwarded-Host") for value in headers.getlist(header)
        ]
        hosts = [_parts(f"//{part.strip()}") for line in lines or [""] for part in line.split(",")]
        for name, _ in hosts:
            if not (_loopback(name) or any(fnmatchcase(name, known) for known in self.names)):
                return f"this app is not known as {_advice(name)}"
        for name, port in map(_parts, headers.getlist("Origin") if changes else ()):
            known = (name, port) in hosts or name in self.names
            if not name or not (known or (self.loopback and _loopback(name))):
                where = f"this one is of {_advice(name)}"
                return f"a page of another site may not ask this app, and {where}"
        if changes and "cross-site" in headers.getlist("Sec-Fetch-Site"):
            return "a page of another site may not ask this app: open the app itself"
        return ""


current = Trust()
"""The trust of the app that this process serves; until it does, only the process itself asks."""


def started(host: str | None, allowed: tuple[str, ...] = ()) -> Trust:
    """Return the trust of an app that listens on `host`, None for Gradio's variable or 127.0.0.1.

    Raises HsdError.
    """
    host = (host or os.environ.get("GRADIO_SERVER_NAME") or "127.0.0.1").strip("[]").lower()
    names = tuple(_parts(f"//{name.rpartition('://')[2]}")[0] for name in allowed)
    if not all(names):
        wrong = allowed[names.index("")]
        raise HsdError(f"--allowed-host {wrong!r}: give a host's name, such as demo.example.org")
    public = filter(None, _parts(device.public_address())[:1])
    if _loopback(host):
        return Trust(True, (*names, *public))
    return Trust(False, (*names, *public, host if names else "*"))


def _parts(address: str) -> tuple[str, int | None]:
    """Return the host name in an address, in small letters, and the port or None.

    The name is "" where the address has none, or an odd one.
    """
    try:
        parts = urlsplit(address)
        plain = re.fullmatch(r"[\w.*:\[\]-]+", parts.netloc, re.ASCII)
        return ((parts.hostname or "").rstrip(".") if plain else ""), parts.port
    except ValueError:
        return "", None


def _loopback(name: str) -> bool:
    try:
        return name == "localhost" or ip_address(name).is_loopback
    except ValueError:
        return False


def _advice(name: str) -> str:
    """Return the end of a refusal.

    It has the host name, unless that has odd characters, and the option that trusts it.
    """
    plain = re.fullmatch(r"[\w.:-]{1,100}", name, re.ASCII)
    host, option = (name, name) if plain else ("a nameless host", "NAME")
    return f"{host}: if that is its address, start it with --allowed-host {option}"
