"""A client of servers by HTTP: answers as JSON, and the counters that they publish.

No redirection is followed, an answer has a limit of size and of time, and whatever goes wrong is
one line of an HsdError.
"""

import json
import re
import time
from collections import Counter
from contextlib import suppress
from http.client import HTTPException
from ipaddress import ip_address
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import (
    HTTPRedirectHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
    build_opener,
)

from hsd.errors import HsdError

SHORT = 10.0  # seconds for an answer that needs no model
MAX_BYTES = 16_000_000
COUNTER = re.compile(
    r"^\w+:spec_decode_num_(drafts|draft_tokens|accepted_tokens|accepted_tokens_per_pos)(?:_total)?"
    r"(?:\{([^}\n]{0,999})\})?\s+([0-9.eE+]+)\s*$",
    re.MULTILINE,
)

Json = dict[str, Any]


class NoRedirect(HTTPRedirectHandler):
    """Follow no redirection: only the address that was typed is contacted."""

    def redirect_request(self, *_: Any) -> None:
        return None


OPENER = build_opener(NoRedirect)
OPENER_WITHOUT_PROXY = build_opener(NoRedirect, ProxyHandler({}))


def opener_of(url: str) -> OpenerDirector:
    """Return what opens `url`: by the proxy of the environment, unless it is this machine's."""
    host = urlsplit(url).hostname or ""
    own = host == "localhost"
    with suppress(ValueError):
        address = ip_address(host)
        # a server that listens everywhere prints the unspecified address
        own = address.is_loopback or address.is_unspecified
    return OPENER_WITHOUT_PROXY if own else OPENER


def base_url(url: str) -> str:
    """Return the address of a server, without /v1.

    Raises HsdError for what is no HTTP address, or has a password.
    """
    try:
        parts = urlsplit(url)
        web = parts.scheme in ("http", "https") and parts.hostname
        sound = web and not parts.username and parts.port != 0
    except ValueError:
        sound = False
    if not sound or re.search(r"[\s\x00-\x1f]", url):
        wanted = "give a base URL without a password, such as http://localhost:8000"
        raise HsdError(f"server {url[:80]!r}: {wanted}")
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/').removesuffix('/v1')}"


def json_of(url: str, timeout: float, body: Json | None = None, key: str = "") -> Json:
    """Return the JSON object that a server answers to a GET, or to a POST of `body`.

    Raises HsdError, one line.
    """
    content = bytes_of(url, timeout, body, key)
    data = None
    with suppress(ValueError, RecursionError):
        data = json.loads(content)
    if not isinstance(data, dict):
        wanted = "give the base URL of an OpenAI-compatible server"
        raise HsdError(f"{url} does not answer with a JSON object: {wanted}")
    if data.get("error") or data.get("object") == "error":
        words = _message(data, content.decode("utf-8", "replace"))
        raise HsdError(f"{url} answers with an error: {words.replace(key or chr(0), '(the key)')}")
    return data


def bytes_of(url: str, timeout: float, body: Json | None = None, key: str = "") -> bytes:
    """Return a server's answer to a GET, or to a POST of `body` as JSON, within `timeout` seconds.

    Raises HsdError.
    """
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    deadline = time.monotonic() + timeout
    read = bytearray()
    try:
        with opener_of(url).open(Request(url, data, headers), timeout=timeout) as response:
            while piece := response.read1(65_536):
                read += piece
                if len(read) > MAX_BYTES:
                    raise HsdError(
                        f"{url} answers with over {MAX_BYTES / 1e6:.0f} MB: give another server"
                    )
                if time.monotonic() > deadline:
                    raise TimeoutError
            if response.length:
                raise EOFError
    except HTTPError as error:
        raise HsdError(f"{url} {_refusal(error).replace(key or chr(0), '(the key)')}") from None
    except (TimeoutError, URLError) as error:
        reason = getattr(error, "reason", error)
        short = " ".join(str(reason).split())[:120]
        words = f"cannot reach {url} ({short}): check the address, and that a server runs"
        late = f"{url} has not answered within {timeout:g} s: see that it runs and is not busy"
        raise HsdError(late if isinstance(reason, TimeoutError) else words) from None
    except (OSError, EOFError, HTTPException):
        raise HsdError(f"{url} stopped in the middle of its answer: see the server's log") from None
    return bytes(read)


def _refusal(error: HTTPError) -> str:
    """Return a server's refusal as one short line that follows its URL."""
    if 300 <= error.code < 400:
        return f"sends elsewhere (HTTP {error.code}), which is not followed: give its own URL"
    text = ""
    with suppress(OSError, HTTPException, ValueError, AttributeError, RecursionError):
        text = error.read(4_000).decode("utf-8", "replace")
        text = _message(json.loads(text), text)
    wanted = "/v1/" in error.url and error.code in (401, 403)
    why = ": give a key that it takes by --server-key or HSD_SERVER_KEY" if wanted else ""
    short = _short(text) or _short(str(error.reason))
    return f"answers with HTTP {error.code}: {short}{why}"


def _message(data: Json, text: str) -> str:
    """Return what a server's answer `data` says of an error, else all of it, `text`."""
    inner = data.get("error") or data.get("detail") or data
    return _short(str(inner.get("message") or text if isinstance(inner, dict) else inner))


def _short(text: str) -> str:
    return " ".join(text.split())[:160]


def counter_growth(before: Counter[str], after: Counter[str]) -> Json:
    """Return by how much vLLM's counters grew between two readings, for all clients.

    The record has drafts, drafted, kept and positions.
    """
    grown = after - before
    places = sorted(int(name) for name in after if name.isdecimal())
    counts = {
        "drafts": grown["drafts"],
        "drafted": grown["draft_tokens"],
        "kept": grown["accepted_tokens"],
    }
    if not grown["drafts"]:
        return {**counts, "positions": []}
    return {**counts, "positions": [[grown[str(place)], grown["drafts"]] for place in places]}


def read_counters(url: str, key: str) -> Counter[str]:
    """Return a server's counts so far by name or draft position; empty if it does not draft.

    key: of its API.
    """
    counts = Counter[str]()
    page = bytes_of(url + "/metrics", SHORT, key=key).decode("utf-8", "replace")
    for name, labels, value in COUNTER.findall(page):
        place = re.search(r'position="(\d{1,3})"', labels)
        counts[place[1] if place else name] += int(float(value))
    return counts
