"""The page as a folder of files, which needs no server: what is recorded, with every screen that can show it.

The modules are those of `hsd/web` as they are. `files/files.js` takes the place of Gradio's page, and each
answer that a screen asks of the server lies in a file of its own, data/FUNCTION/ARGUMENT.json.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import gradio as gr

from hsd import facts
from hsd.errors import HsdError
from hsd.rules import RULES, TREE_RULES, Rule, TreeRule
from hsd.space import Space, front_matter
from hsd.trace import MAX_BYTES, Trace
from hsd.ui import alone, app, learn, static
from hsd.ui.fetch import Answer, Fetch, answer
from hsd.ui.jobs import Jobs
from hsd.ui.measure import Measure
from hsd.ui.measure.published import systems_here
from hsd.ui.measure.screen import FILES as BENCHMARKS
from hsd.ui.presets import definitions
from hsd.ui.race.recorded import read as recorded_races
from hsd.ui.systems import fsd, hispec
from hsd.ui.systems.recorded import presets as systems_presets
from hsd.ui.systems.recorded import recorded_run
from hsd.version import __version__

MARK = '<meta name="generator" content="hsd '
OWN = ("hsd-web", "data")
"""Folders of an export: they are taken away before it is written again."""

SCRIPTS = tuple(f"{name}/{name}.js" for name in static.SCREENS)
STYLES = ("kit/plain.css", "files/files.css")


@dataclass(frozen=True)
class Asked:
    """What a function of the server answers: for these arguments, and to `stranger`, "?", as any other."""

    function: Callable[[Any], Answer]
    arguments: Iterable[Any] = (None,)
    stranger: str | None = None

    def answers(self) -> dict[str, Answer]:
        found = {key_of(argument): answer(self.function, argument) for argument in self.arguments}
        wrong = next((reply["error"] for reply in found.values() if "error" in reply), None)
        if wrong:
            raise HsdError(f"{wrong}: the export needs it")
        return found

    def known(self) -> dict[str, Any]:
        error = {"error": answer(self.function, self.stranger)["error"]} if self.stranger else {}
        return {"keys": [key_of(argument) for argument in self.arguments], **error}


def key_of(argument: Any) -> str:
    """The name of an answer's file, as in files/answers.js."""
    values = argument.values() if isinstance(argument, Mapping) else [argument or "all"]
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", " ".join(map(str, values)))


def write(folder: Path, space: Space) -> list[Path]:
    """Write the export into `folder`, which is new, empty, or an older export. Returns its files.

    Raises HsdError, one line, for any other folder, and where it cannot be written.
    """
    try:
        _check(folder)
        folder.mkdir(parents=True, exist_ok=True)
        found = files(space)
        for own in OWN:
            shutil.rmtree(folder / own, ignore_errors=True)
        for name, content in found.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8", newline="\n")
    except OSError as error:
        raise HsdError(f"cannot write {folder}: {error.strerror}") from None
    return sorted(folder / name for name in found)


def _check(folder: Path) -> None:
    """Refuse a folder with anything in it but an older export."""
    index = folder / "index.html"
    if folder.exists() and not folder.is_dir():
        raise HsdError(f"{folder} is a file: name a folder")
    strange = folder.is_dir() and any(path.name != ".git" for path in folder.iterdir())
    if strange and not (index.is_file() and MARK in index.read_text(encoding="utf-8", errors="replace")):
        raise HsdError(f"{folder} is not empty, and no export: name another folder")


def files(space: Space) -> dict[str, str]:
    """Everything in the folder: name → text."""
    base, asked, components = static.folder(), questions(space), _components(space)
    scripts = {name for entry in (*SCRIPTS, "files/files.js") for name in static.modules(entry)}
    styles = {*static.SHARED_STYLES, *(f"{name}/{name}.css" for name in static.SCREENS), *STYLES}
    docs = sorted({page for name in scripts for page in re.findall(r"/docs/([\w.]+\.md)\"", static.read(name))})
    props = {name: {**part.props, "value": None} for name, part in components.items() if part.props}
    page = {
        "known": {name: one.known() for name, one in asked.items()},
        "schema": f"{base}trace.schema.json",
        "most": MAX_BYTES,
        "benchmark": next(iter(BENCHMARKS)),
        "parts": props,
    }
    return {
        "index.html": index(space, components),
        "README.md": readme(space),
        "data/page.json": _json(page),
        **{
            f"data/{name}/{key}.json": _json(reply)
            for name, one in asked.items()
            for key, reply in one.answers().items()
        },
        **{f"{base}docs/{name}": (static.DOCS / name).read_text(encoding="utf-8") for name in docs},
        **{base + name: static.read(name) for name in sorted(scripts | styles | {"files/theme.js"})},
        f"{base}loader.js": static.loader(),
        f"{base}facts.json": facts.facts_json(),
        f"{base}alone.html": alone.template(),
        f"{base}trace.schema.json": _json(Trace.schema_for_others()),
    }


def _json(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def questions(space: Space) -> dict[str, Asked]:
    """What the screens may ask, by the names of the server's functions; and `recorded`, the benchmarks of Measure."""
    presets = {name: definitions()[name] for name in space.presets}
    measure = Measure(space, Jobs(space.limits))
    views = {pair: measure.recorded_view(pair) for pair in BENCHMARKS}
    downloads = [{"key": one["view"]["key"], "kind": kind} for one in views.values() for kind in ("csv", "jsonl")]
    return {
        "read_preset": Asked(Fetch(space, presets, None).preset, presets, stranger="?"),
        "read_arrivals": Asked(lambda _: {"lines": [], "here": [], "coming": False}),
        "read_lessons": Asked(lambda _: learn.content()),
        "read_recorded": Asked(lambda _: recorded_races()),
        "recorded_run": Asked(recorded_run, systems_presets(), stranger="?"),
        "layer_facts": Asked(hispec.layer_facts),
        "fuzzy_results": Asked(fsd.fuzzy_results),
        "recorded": Asked(views.__getitem__, views),
        "download": Asked(measure.results.download, downloads),
    }


def _components(space: Space) -> dict[str, gr.HTML]:
    """What scripts draw in on the app's page, by id."""
    found = [block for block in app.build(space).blocks.values() if isinstance(block, gr.HTML)]
    return {str(block.elem_id): block for block in found if "hsdPage.start" in (block.js_on_load or "")}


def index(space: Space, components: Mapping[str, gr.HTML]) -> str:
    """The page itself."""

    parts: dict[str, list[str]] = {screen: [] for screen in static.SCREENS}
    head = ""
    for name, component in components.items():
        screen, start = re.findall(r"start\('(\w+)', '(\w+)'", component.js_on_load or "")[0]
        part = f'<div id="{name}" data-part="{screen}.{start}">{component.html_template}</div>'
        if start == "head":
            head = part
        else:
            parts[screen].append(part)
    parts["measure"].insert(0, _benchmarks(space))

    def panel(screen: str) -> str:
        named = f'id="hsd-tab-{screen}" role="tabpanel" aria-labelledby="hsd-tab-{screen}-button" style="display: none"'
        return "\n".join([f'<div {named}>\n<h2 class="hp-unseen">{screen.title()}</h2>', *parts[screen], "</div>"])

    def tab(screen: str) -> str:
        ids = f'id="hsd-tab-{screen}-button" data-tab-id="{screen}" aria-controls="hsd-tab-{screen}"'
        return f'<button type="button" role="tab" aria-selected="false" {ids}>{screen.title()}</button>'

    presets = [(name, definitions()[name].title) for name in space.presets]
    values = {
        "VERSION": __version__,
        "TITLE": escape(space.title),
        "DESCRIPTION": escape(space.short_description),
        "STYLES": "\n".join(f'<link rel="stylesheet" href="{static.folder()}{name}">' for name in STYLES),
        "HEAD": head,
        "PRESETS": "".join(f'<option value="{name}">{escape(title)}</option>' for name, title in presets),
        "TABS": "".join(map(tab, parts)),
        "PANELS": "\n".join(map(panel, parts)),
    }
    return alone.filled(static.read("files/index.html").replace("FOLDER", static.folder()), values)


def _benchmarks(space: Space) -> str:
    """Buttons that open the recorded benchmarks."""
    titles = {pair.name: pair.short_title for pair in space.pairs}
    buttons = [
        f'<button type="button" class="pl-button" id="hsd-measure-recorded-{pair}" data-benchmark="{pair}">'
        f"Recorded: {escape(titles.get(pair, pair))}</button>"
        for pair in BENCHMARKS
    ]
    return f'<div id="hsd-measure-buttons">{"".join(buttons)}</div>'


def readme(space: Space) -> str:
    """What a Space reads, and people: what this folder is, how to get it live, and the papers."""
    rules: list[Rule | TreeRule] = [*RULES.values(), *TREE_RULES.values()]
    named = [*((rule.title, rule.citation) for rule in rules), *cited_systems()]
    papers = "\n".join(f"- {title}: {linked(source)}" for title, source in named if "arXiv" in source)
    return f"""{front_matter(space, "static")}
# {space.title}

{space.short_description}. These are recorded runs, for any file server: nothing here needs Python, and nothing is
fetched from anywhere else.

    python -m http.server        # in this folder, then open the address that it prints

`python -m hsd space export --static FOLDER` has written it. To decode live, start the app in a copy of the repository
(`make demo`), or publish it as a Space with Python (`python -m hsd space publish OWNER/NAME`).

Papers:

{papers}
"""


def cited_systems() -> list[tuple[str, str]]:
    """The systems that Measure sets beside their papers."""
    return [(str(one["name"]), str(one["source"])) for one in systems_here([])]


def linked(source: str) -> str:
    """A source with its papers as links: "arXiv 2211.17192" → a link to the paper."""
    return re.sub(r"(?:arXiv )?(\d{4}\.\d{5})", r"[arXiv \1](https://arxiv.org/abs/\1)", source)
