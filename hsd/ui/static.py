"""The page's own HTML, CSS and JavaScript: files in `hsd/web`, served as they are under one path of the app.

The path changes with the files, so that a browser may keep what it has fetched from there for good.
"""

from __future__ import annotations

import hashlib
import json
import re
from functools import cache
from posixpath import dirname, join, normpath
from typing import Any

import gradio as gr
from starlette.responses import Response
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

from hsd.paths import WEB

STYLES = {
    "watch": ("player/player.css", "frame.css"),
    **{name: (f"{name}/{name}.css",) for name in ("compare", "race", "systems", "lab", "measure")},
}
"""The screens, and the style sheets of each; Watch's come first in the page, and are shared by all."""

ENTRY = {"watch": "frame.js", **{name: f"{name}/{name}.js" for name in STYLES if name != "watch"}}
"""The module of each screen that the page starts with; it imports the others."""

IMPORT = re.compile(r"^(?:import|export)\b[^;]*?\"(\.[^\"]+)\";", re.MULTILINE)


def read(name: str) -> str:
    """One of the files in `hsd/web`."""
    return (WEB / name).read_text(encoding="utf-8")


def modules(entry: str) -> list[str]:
    """A module and all that it needs, by their paths in `hsd/web`; itself first."""
    found = [entry]
    for name in found:
        needed = (normpath(join(dirname(name), path)) for path in IMPORT.findall(read(name)))
        found += [path for path in dict.fromkeys(needed) if path not in found]
    return found


@cache
def folder() -> str:
    """The path of `hsd/web` in the app, relative to the page's own; it changes when a file does."""
    told = hashlib.sha256()
    for file in sorted(path for path in WEB.rglob("*") if path.is_file()):
        told.update(file.relative_to(WEB).as_posix().encode() + b"\0" + file.read_bytes())
    return f"hsd-web/{told.hexdigest()[:16]}/"


class _Files(StaticFiles):
    """Files that never change under their path."""

    def file_response(self, full_path: Any, *args: Any, **kwargs: Any) -> Response:
        response = super().file_response(full_path, *args, **kwargs)
        response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
        if str(full_path).endswith(".js"):  # a browser refuses modules of another type, and systems differ in it
            response.headers["Content-Type"] = "text/javascript; charset=utf-8"
        return response


def route() -> Mount:
    """What the app serves `hsd/web` with."""
    return Mount(f"/{folder()}".rstrip("/"), _Files(directory=WEB))


def head() -> str:
    """What goes into the page's head: the script that loads a screen when its tab is opened."""
    shared = set(modules(ENTRY["watch"]))
    needed = {name: [m for m in modules(entry) if name == "watch" or m not in shared] for name, entry in ENTRY.items()}
    screens = {name: {"modules": needed[name], "styles": STYLES[name]} for name in ENTRY}
    script = read("loader.js").replace('"SCREENS"', json.dumps(screens)).replace("FOLDER", folder())
    return f"<script>{script}</script>"


def start(screen: str, part: str = "start", with_server: bool = True) -> str:
    """The `js_on_load` of a component: the screen's function `part` gets it once its tab has been opened."""
    more = ", props, server, watch, () => trigger('submit')" if with_server else ""
    return f"window.hsdPage.start('{screen}', '{part}', element{more})"


def call(screen: str, name: str) -> str:
    """The `js` of an event: what the screen's function `name` gives; nothing when its tab was never opened."""
    return f"() => window.hsdPage.call('{screen}', '{name}')"


def head_component() -> gr.HTML:
    """The page's head: title, buttons, chips and messages."""
    return gr.HTML(
        html_template=read("head.html"),
        js_on_load=start("watch", "head", with_server=False),
        apply_default_css=False,
        elem_id="hsd-head",
    )


def stage() -> str:
    """The HTML of the stage, with the panel that explains it. It is a template without any expression."""
    return read("stage.html").replace("ABOUT", read("about.html"))
