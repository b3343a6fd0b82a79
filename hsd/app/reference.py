"""The page /docs: every endpoint with its arguments, from what Gradio and tools of language models read as well."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable
from html import escape
from typing import Any

from hsd.space import Space

STYLE = """body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
code { font-family: ui-monospace, monospace; } th { text-align: left; } td, th { padding: .2rem .8rem .2rem 0; }
table { border-collapse: collapse; } tr { border-top: 1px solid #8886; vertical-align: top; }
:root { color-scheme: light dark; }"""


def reference(space: Space, endpoints: Iterable[Callable[..., Any]], programs: str) -> str:
    """Return the page /docs, which lists all endpoints, as HTML. programs: the path of the page with examples."""
    title = f"{escape(space.title)}: endpoints"
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><style>{STYLE}</style>'
        f"<h1>{title}</h1><p>Each takes its arguments by name: <code>POST gradio_api/call/v2/NAME</code>, or by "
        f'<code>gradio_client</code>; <a href="{programs}">examples in Python and for a shell</a>.</p>'
        f"{''.join(map(_endpoint, endpoints))}</html>"
    )


def _endpoint(function: Callable[..., Any]) -> str:
    words, _, listed = inspect.cleandoc(function.__doc__ or "").partition("Args:")
    arguments = dict(entry.split(": ", 1) for entry in re.split(r"\n    (?! )", listed)[1:])
    rows = "".join(
        f"<tr><td><code>{one.name}</code><td>{escape(getattr(one.annotation, '__name__', str(one.annotation)))}"
        f"<td>{'' if one.default is one.empty else f'<code>{escape(repr(one.default))}</code>'}"
        f"<td>{escape(arguments.get(one.name, ''))}"
        for one in inspect.signature(function).parameters.values()
    )
    table = f"<table><tr><th>Argument<th>Type<th>If left out<th>What it is{rows}</table>" if rows else ""
    return f"<h2><code>/{function.__name__}</code></h2><p>{escape(words)}</p>{table}"
