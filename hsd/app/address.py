"""The address of the app: where it listens, and how it asks itself, which no proxy must see."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.request import getproxies_environment

from hsd.errors import HsdError

LOOPBACK = ("localhost", "127.0.0.1", "::1")
FIRST_PORT = "7860"
PORTS = "100"  # that are tried from the first


def chosen_host(host: str | None) -> str:
    """Return the host to listen on as Gradio takes it: an address of IPv6 in brackets.

    host: by default what GRADIO_SERVER_NAME says, which is taken out of the environment, else
    127.0.0.1. Raises HsdError for a host that no program of this machine can listen on.
    """
    # Gradio would look for a free port at that host by IPv4
    host = host or os.environ.pop("GRADIO_SERVER_NAME", "") or "127.0.0.1"
    plain = host.strip("[]")
    try:
        if "%" in plain:
            raise OSError("a URL has no place for the zone of an address")
        _bind(plain, 0)
    except (OSError, UnicodeError):
        advice = (
            "choose 127.0.0.1 for this machine alone, 0.0.0.0 for whoever can reach it, "
            "or one of its addresses"
        )
        raise HsdError(f"--host {host[:60]!r} is no address of this machine: {advice}") from None
    return f"[{plain}]" if ":" in plain else plain


def chosen_port(host: str, port: int | None) -> int:
    """Return a port that is free on `host`.

    port: by default the first free one from what GRADIO_SERVER_PORT says, else 7860; 0: one that
    the system chooses. Raises HsdError where none is free: Gradio would try without end.
    """
    if port is None:
        first = int(os.environ.get("GRADIO_SERVER_PORT", FIRST_PORT))
        ports = range(first, first + int(os.environ.get("GRADIO_NUM_PORTS", PORTS)))
    else:
        ports = range(port, port + 1)
    for number in ports:
        try:
            return _bind(host.strip("[]"), number)
        except (OSError, OverflowError):
            continue
    which = f"no free port was found on {host}"
    if port is not None:
        which = f"port {port} is taken or no port"
    raise HsdError(f"{which}: choose another with --port or --host")


def _bind(host: str, port: int) -> int:
    """Listen on a port for a moment, and return its number. Raises OSError, OverflowError."""
    family, *_, place = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0]
    with socket.create_server((place[0], port, *place[2:]), family=family) as trial:
        return int(trial.getsockname()[1])


@contextmanager
def without_proxy(host: str) -> Iterator[None]:
    """Keep every HTTP client of this process from using a proxy, within the block.

    Gradio asks itself once while it starts. httpx even makes no client where a SOCKS proxy is set
    and a package for it is missing. After the block the proxies of the environment are used again,
    except for this machine and `host`.
    """
    before = os.environ.get("no_proxy", os.environ.get("NO_PROXY", ""))
    proxies = getproxies_environment().keys() - {"no"}
    os.environ["no_proxy"] = "*"
    try:
        yield
    finally:
        if proxies:
            names = filter(None, (before, *LOOPBACK, host.strip("[]")))
            os.environ["no_proxy"] = ",".join(dict.fromkeys(names))
        elif before:
            os.environ["no_proxy"] = before
        else:
            # where it is set at all, urllib reads no settings of the system
            del os.environ["no_proxy"]
