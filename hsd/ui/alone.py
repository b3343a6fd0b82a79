"""One run as a single HTML file with the player in it, which opens from a disk without any network."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from functools import cache
from typing import Any

from hsd.errors import HsdError
from hsd.facts import facts_json
from hsd.trace import Trace
from hsd.ui import static
from hsd.ui.presets import telling_step
from hsd.version import __version__

ENTRY = "alone/alone.js"
STYLES = ("kit/plain.css", *static.SHARED_STYLES, "watch/watch.css", "alone/alone.css")
STATEMENT = re.compile(r'^(import|export) (?:(\{[^}]*\}|\* as \w+)(?: from)?)? ?(?:"([^"]+)")?;.*\n', re.MULTILINE)


def page(trace: Trace, step: int | None = None, title: str = "") -> str:
    """The file. step: from 1, the one to open it at; without one, that which tells most. Raises HsdError."""
    if step is not None and not 1 <= step <= len(trace.steps):
        raise HsdError(f"there is no step {step}: this run has {len(trace.steps)}")
    shown = telling_step(trace) if step is None else step - 1
    return with_run({"trace": trace.model_dump(mode="json"), "step": shown, "node": None, "title": title})


def with_run(run: dict[str, Any]) -> str:
    """The template with what alone.js reads."""
    return template().replace(">RUN<", f">{_data(json.dumps(run, ensure_ascii=False, separators=(',', ':')))}<", 1)


@cache
def template() -> str:
    """The file without a run: where it stands is `>RUN<`. The page fills it in as well (export.js)."""
    script = _script()
    found = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    values = {
        "VERSION": __version__,
        "sha256-HASH": f"sha256-{found}",
        "STYLES": "".join(map(static.read, STYLES)),
        ">FACTS<": f">{_data(facts_json())}<",
        ">SCRIPT<": f">{script}<",
    }
    return filled(static.read("alone/alone.html"), values)


def filled(text: str, values: dict[str, str]) -> str:
    """A text with each word replaced where it stands first."""
    for word, value in values.items():
        text = text.replace(word, value, 1)
    return text


def _data(text: str) -> str:
    """JSON that no tag in its texts can end."""
    return text.replace("<", "\\u003c")


def _script() -> str:
    """All modules as one: each is a function that gives what the module exports, after those that it imports."""
    ordered: list[str] = []

    def add(name: str) -> None:
        for other in static.imports(name):
            add(other)
        if name not in ordered:
            ordered.append(name)

    add(ENTRY)
    script = "".join(_module(name) for name in ordered)
    if "</script" in script.lower():
        raise HsdError("a module of the page names the tag that would end it")
    return script


def _variable(module: str) -> str:
    return "$" + re.sub(r"\W", "_", module.removesuffix(".js"))


def _module(name: str) -> str:
    """`const $kit_dom = await (async () => { … return { h, s }; })();`"""
    exported: list[str] = []

    def replaced(match: re.Match[str]) -> str:
        kind, names, path = match.groups()
        of = _variable(static.resolved(name, path)) if path else ""
        if kind == "export":
            exported.extend(
                f"{new or old}: {of + '.' if of else ''}{old}" for old, new in re.findall(r"(\w+)(?: as (\w+))?", names)
            )
            return ""
        return f"const {names.replace(' as ', ': ').removeprefix('*:').strip()} = {of};\n" if names else ""

    body = STATEMENT.sub(replaced, static.read(name))
    if re.search(r"^(?:import|export)\b", body, re.MULTILINE):
        raise HsdError(f"{name} imports or exports in a way that one file cannot have")
    return f"const {_variable(name)} = await (async () => {{\n{body}return {{ {', '.join(exported)} }};\n}})();\n"
