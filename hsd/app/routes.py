"""What the app answers: every route that the page, programs or Gradio itself need. All else that Gradio brings is off.

So a route that a later version of Gradio brings is off until it is listed here, with a reason.
"""

from __future__ import annotations

import re

ROUTES = (
    ("GET", "/ /index.html /card.png /data/** /web/**", "the page and its files"),
    ("POST", "/answers/*", "what the page asks besides runs"),
    ("GET", "/docs", "every endpoint and its arguments, for people"),
    ("GET", "/config /gradio_api/info", "what a client of Gradio reads first, the page's among them"),
    ("POST", "/gradio_api/queue/join", "such a client asks for a run"),
    ("GET", "/gradio_api/queue/data", "it hears what the run says"),
    ("POST", "/gradio_api/cancel", "it gives up a run that nobody waits for"),
    ("POST", "/gradio_api/call/* /gradio_api/call/v2/*", "curl asks"),
    ("GET", "/gradio_api/call/*/* /gradio_api/call/v2/*/*", "curl hears the answer"),
    ("GET", "/gradio_api/startup-events", "Gradio begins its queue by a request to itself"),
    ("GET POST DELETE", "/gradio_api/mcp /gradio_api/mcp/", "tools of language models, where mcp is installed"),
    ("GET", "/gradio_api/mcp/schema", "these tools as the Hub's own MCP server lists them"),
)
"""Methods, paths, and why they are needed. * stands for one part of a path, ** for any number; HEAD goes with GET."""


def _pattern(path: str) -> str:
    return re.escape(path).replace(r"\*\*", ".+").replace(r"\*", "[^/]+")


KNOWN = [(methods.split(), re.compile("|".join(map(_pattern, paths.split())))) for methods, paths, _ in ROUTES]


def answered(method: str, path: str) -> bool:
    """Whether the app answers this. A browser asks by OPTIONS whether it may send something."""
    asked = "GET" if method == "HEAD" else method
    return any(pattern.fullmatch(path) and asked in (*methods, "OPTIONS") for methods, pattern in KNOWN)
