"""The page's own HTML, CSS and JavaScript: files in `hsd/web`, served as they are under one path of the app.

The path changes with the files, so that a browser may keep what it has fetched from there for good.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable
from functools import cache
from html import escape
from pathlib import Path
from posixpath import dirname, join, normpath
from typing import Any

import brotli  # Gradio brings it
import gradio as gr
from starlette.datastructures import Headers
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

from hsd.facts import facts_json
from hsd.paths import ASSETS, WEB

SCREENS = ("watch", "learn", "compare", "race", "systems", "lab", "measure")
"""Each has a folder, and in it a module of its own name, which imports the others, and a style sheet."""

SHARED_STYLES = ("kit/kit.css", "step/player.css", "step/board.css")
"""The sheets that all screens need; they come with Watch, which is always there."""

UNSEEN = """
.hsd-opening gradio-app { opacity: 0; }
.hsd-opening body::after { content: "Drawing …"; position: fixed; inset: 45%; }
"""
"""What comes before the style sheets; see loader.js."""

DOCS = ASSETS / "docs"
FOREVER = {"Cache-Control": "public, max-age=31536000, immutable"}
IMPORT = re.compile(r"^(?:import|export)\b[^;]*?\"(\.[^\"]+)\";", re.MULTILINE)


def read(name: str) -> str:
    """One of the files in `hsd/web`."""
    return (WEB / name).read_text(encoding="utf-8")


def resolved(module: str, path: str) -> str:
    """What a module means by a path in an import; names are paths in `hsd/web`."""
    return normpath(join(dirname(module), path))


def imports(module: str) -> list[str]:
    """The modules that one imports."""
    return [resolved(module, path) for path in IMPORT.findall(read(module))]


def modules(entry: str) -> list[str]:
    """A module and all that it needs, itself first."""
    found = [entry]
    for name in found:
        found += [path for path in dict.fromkeys(imports(name)) if path not in found]
    return found


@cache
def folder() -> str:
    """The path of `hsd/web` in the app, relative to the page's own; it changes when a file or a fact does."""
    told = hashlib.sha256(facts_json().encode())
    for file in sorted(path for path in WEB.rglob("*") if path.is_file()):
        told.update(file.relative_to(WEB).as_posix().encode() + b"\0" + file.read_bytes())
    return f"hsd-web/{told.hexdigest()[:16]}/"


@cache
def _packed(file: str) -> bytes:
    return brotli.compress(Path(file).read_bytes())


class _Files(StaticFiles):
    """Files that never change under their path; each is packed once, as tightly as it goes."""

    def file_response(self, full_path: Any, stat_result: Any, scope: Scope, status_code: int = 200) -> Response:
        response = super().file_response(full_path, stat_result, scope, status_code)
        if response.status_code == 200 and "br" in Headers(scope=scope).get("Accept-Encoding", ""):
            kind = {"Content-Type": response.headers["Content-Type"]}
            packed = {"Content-Encoding": "br", "Vary": "Accept-Encoding"}
            response = Response(_packed(str(full_path)), headers=kind | packed)
        response.headers.update(FOREVER)
        if str(full_path).endswith(".js"):  # a browser refuses modules of another type, and systems differ in it
            response.headers["Content-Type"] = "text/javascript; charset=utf-8"
        return response


def _facts(_: Request) -> Response:
    return Response(facts_json(), media_type="application/json", headers=FOREVER)


def _page(request: Request) -> Response:
    """A page of `assets/docs`, as text."""
    file = next((file for file in DOCS.glob("*.md") if file.name == request.path_params["name"]), None)
    return PlainTextResponse(file.read_text(encoding="utf-8") if file else "no such page", 200 if file else 404)


def _alone(_: Request) -> Response:
    from hsd.ui.alone import template  # which needs the modules as they are here

    return Response(template(), media_type="text/html", headers=FOREVER)


def route() -> Mount:
    """What the app serves `hsd/web` with; beside it the facts, the pages in `assets/docs`, and the page that a single
    run is saved in."""
    beside = [Route("/facts.json", _facts), Route("/alone.html", _alone), Route("/docs/{name}", _page)]
    return Mount(f"/{folder()}".rstrip("/"), routes=[*beside, Mount("/", _Files(directory=WEB))])


def compressed(app: ASGIApp) -> ASGIApp:
    """Packs what Gradio sends as it is: the page itself, traces and other answers, which are most of the first load.

    Gradio packs files, which it tells by a dot in their path.
    """
    packing = GZipMiddleware(app, minimum_size=1000, compresslevel=9)

    async def answered(scope: Scope, receive: Receive, send: Send) -> None:
        await (app if "." in scope.get("path", "") else packing)(scope, receive, send)

    return answered


def head() -> str:
    """What goes into the page's head: the script that loads a screen when its tab is opened."""
    return f"<style>{UNSEEN}</style><script>{loader()}</script>"


def loader() -> str:
    """That script. What Watch needs is there for all screens."""
    screens = {name: {"modules": modules(f"{name}/{name}.js"), "styles": [f"{name}/{name}.css"]} for name in SCREENS}
    watch = screens["watch"]
    for screen in screens.values():
        screen["modules"] = [name for name in screen["modules"] if screen is watch or name not in watch["modules"]]
    watch["styles"] = [*SHARED_STYLES, *watch["styles"]]
    return read("loader.js").replace('"SCREENS"', json.dumps(screens)).replace("FOLDER", folder())


def start(screen: str, part: str = "start", with_server: bool = True) -> str:
    """The `js_on_load` of a component: the screen's function `part` gets it once its tab has been opened."""
    more = ", props, server, watch, () => trigger('submit')" if with_server else ""
    return f"window.hsdPage.start('{screen}', '{part}', element{more})"


def call(screen: str, name: str) -> str:
    """The `js` of an event: what the screen's function `name` gives; nothing when its tab was never opened."""
    return f"() => window.hsdPage.call('{screen}', '{name}')"


def root(name: str) -> str:
    """What a screen's script draws in."""
    return f'<div class="hsd-{name} hsd-kit"><p class="hp-hint">Drawing …</p></div>'


def screen(name: str, functions: Iterable[Callable[[Any], Any]] = (), **more: Any) -> gr.HTML:
    """The component of a screen. functions: those its script can call, by their names; more: `value`, and props."""
    return gr.HTML(
        html_template=root(name),
        js_on_load=start(name),
        server_functions=list(functions),
        apply_default_css=False,
        elem_id=f"hsd-{name}",
        **more,
    )


def head_component() -> gr.HTML:
    """The page's head: title, buttons, chips and messages."""
    return gr.HTML(
        html_template=read("watch/head.html"),
        js_on_load=start("watch", "head", with_server=False),
        apply_default_css=False,
        elem_id="hsd-head",
    )


def stage(credits: Iterable[str]) -> str:
    """The HTML of the stage, with the panel that explains it. It is a template without any expression.

    credits: lines about models that are not the project's own.
    """
    lines = "".join(f"<p>{escape(line)}.</p>" for line in credits)
    return read("watch/stage.html").replace("ABOUT", read("watch/about.html").replace("CREDITS", lines))
