"""The page, `index.html`, filled in.

It is for a server, for a folder of files, or with one run as a single file.
"""

import base64
import hashlib
import inspect
import json
import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from hsd.app.modules import imported_later, modules, read, script
from hsd.app.presets import SYSTEM_WORDS, Preset, telling_step
from hsd.errors import HsdError
from hsd.facts import facts_json
from hsd.paths import ASSETS, WEB, read_yaml
from hsd.space import Space
from hsd.trace import Trace
from hsd.version import __version__

SHARED_STYLES = ("kit/kit.css", "page.css", "step/step.css", "watch/watch.css")
"""The style sheets that are loaded before any screen is opened."""

POLICY = (
    "default-src 'none'; script-src {script}; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'"
)
SCREENS = tuple(name.partition("/")[0] for name in imported_later("page.js"))
"""The names of the tabs, in their order. The first is there from the start."""

FOOT: dict[str, str] = read_yaml(Path(__file__).with_suffix(".yaml"))
"""What a page without a server says about itself, by who answers it; how to run the app follows."""

ENTRIES = ("answers/answers.js", f"{SCREENS[0]}/{SCREENS[0]}.js", "page.js")
# of the first screen, when they are wanted; the single file has them
ON_DEMAND = ("step/export.js", "step/folds.js")
# what the page says of itself, folded up on its first screen
ABOUT = ASSETS / "page" / "about.html"
FIRST = ASSETS / "page" / "first.html"
CARD = ASSETS / "page" / "card.png"
CARD_SIZE = (1200, 630)
"""The first preset as HTML, and as a picture for shared links, with its width and height.

Both are made by examples/reproduce/first_picture.py.
"""


def index(
    answers: str,
    space: Space,
    presets: Sequence[Preset],
    folder: str,
    first: bool,
    address: str,
) -> str:
    """Return the page as HTML.

    answers: who answers it, "server", "files" or "browser"; folder: the path of `hsd/web` beside
    it; first: whether it opens on the first preset; address: where it will be, "" if nobody knows.
    """
    loaded = modules(f"answers/{answers}.js", *ENTRIES)
    links = [
        f'<script src="{folder}early.js"></script>',
        *(f'<link rel="stylesheet" href="{folder}{name}">' for name in SHARED_STYLES),
        *(
            f'<link rel="preload" as="fetch" crossorigin href="{path}">'
            for path in (f"{folder}facts.json", PAGE)
        ),
        *(f'<link rel="modulepreload" href="{folder}{name}">' for name in loaded),
        f'<script type="module" src="{folder}page.js"></script>',
    ]
    return _filled(
        answers=answers,
        policy=POLICY.format(script="'self'"),
        title=escape(space.title),
        description=escape(space.short_description),
        head="\n".join([*_card(space, address), *links]),
        first=_first(presets[0]) if first else "",
        presets=_menu(space, presets),
        data=_block("hsd-modules", json.dumps(_needed(loaded))),
        foot=FOOT.get(answers, FOOT["files"]),
    )


def _menu(space: Space, presets: Sequence[Preset]) -> str:
    """Return the recorded runs to choose from, by system and by pair.

    Those of a real model come first, then the toys.
    """
    titles = {pair.name: pair.title for pair in space.pairs}
    groups: dict[str, str] = {}
    for one in sorted(presets, key=lambda one: one.pair == "tiny"):
        pair = titles.get(one.pair, one.pair)
        group = (
            f"{SYSTEM_WORDS[one.system]['title']} · {pair.partition(' · ')[0]}"
            if one.system
            else pair
        )
        choice = f'<option value="{one.name}">{escape(one.title)}</option>'
        groups[group] = groups.get(group, "") + choice
    menu = "".join(
        f'<optgroup label="{escape(group)}">{choices}</optgroup>'
        for group, choices in groups.items()
    )
    return f'{menu}<option value="" hidden>– a run of your own –</option>'


def mark_of(preset: Preset) -> str:
    """Return the preset's name with a hash of its recording.

    A picture made from the recording carries it too.
    """
    return f"{preset.name}-{hashlib.sha256(preset.file.read_bytes()).hexdigest()[:12]}"


def _first(preset: Preset) -> str:
    """Return the first preset's picture as HTML; "" if it shows an older recording."""
    picture = FIRST.read_text(encoding="utf-8") if FIRST.is_file() else ""
    return picture if f'data-of="{mark_of(preset)}"' in picture else ""


def _card(space: Space, address: str) -> list[str]:
    """Return the tags for the preview card of a shared link to the page.

    A picture needs a full URL.
    """
    tags = {
        "og:type": "website",
        "og:title": space.title,
        "og:description": space.short_description,
    }
    if address:
        size = dict(zip(("og:image:width", "og:image:height"), map(str, CARD_SIZE), strict=True))
        alt = (
            "One draft of a small model, and which of its tokens two rules keep, with every number"
        )
        tags |= {
            "og:url": address,
            "og:image": f"{address}{CARD.name}",
            **size,
            "og:image:alt": alt,
        }
    card = "summary_large_image" if address else "summary"
    lines = [f'<meta property="{name}" content="{escape(value)}">' for name, value in tags.items()]
    return [*lines, f'<meta name="twitter:card" content="{card}">']


PAGE = "data/page.json"
"""The path of the file that the page fetches first."""


def _needed(first: Sequence[str]) -> dict[str, Any]:
    """Return the modules and style sheets that each screen needs beyond those already loaded."""
    needed = {}
    for screen in SCREENS:
        own = [name for name in modules(f"{screen}/{screen}.js") if name not in first]
        sheet = f"{screen}/{screen}.css"
        sheets = [sheet] if sheet not in SHARED_STYLES and (WEB / sheet).is_file() else []
        needed[screen] = {"modules": own, "styles": sheets}
    return needed


# ---- one run as a single file


def single(trace: Trace, step: int | None = None, title: str = "") -> str:
    """Return one run as a file that opens from a disk without any network.

    step: where to open it, from 1; by default the most telling one. Raises HsdError.
    """
    if step is not None and not 1 <= step <= len(trace.steps):
        raise HsdError(f"there is no step {step}: this run has {len(trace.steps)}")
    shown = telling_step(trace) if step is None else step - 1
    return with_run({"trace": trace.model_dump(mode="json"), "step": shown, "title": title})


def with_run(run: dict[str, Any]) -> str:
    """Return the single file with what answers/file.js reads.

    run: the trace, the step from 0, the title, and a selected node.
    """
    return filled_with(template(), run)


def filled_with(file: str, run: dict[str, Any]) -> str:
    """Return a file with plain data in its place for a run."""
    data = _data(json.dumps(run, ensure_ascii=False, separators=(",", ":")))
    return file.replace(">RUN<", f">{data}<", 1)


@cache
def template() -> str:
    """Return the single file with `>RUN<` in place of a run.

    The page fills it in as well (step/export.js).
    """
    needed: dict[str, Any] = {name: {"modules": [], "styles": []} for name in SCREENS}
    code = script("early.js", "answers/file.js", *ON_DEMAND, *ENTRIES)
    blocks = {"hsd-facts": facts_json(), "hsd-modules": json.dumps(needed)}
    parts = in_one_file(code, blocks)
    return _filled(answers="file", title="A run, step by step", **parts)


def in_one_file(code: str, blocks: dict[str, str]) -> dict[str, str]:
    """Return what a file that has all in itself is filled with: its policy, head and data.

    code: its script; blocks: JSON by the ids of the elements that hold it. A place for a run is in
    the data, too.
    """
    digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    policy = POLICY.format(script=f"'sha256-{digest}'")
    data = [
        *(_block(name, text) for name, text in blocks.items()),
        '<script type="application/json" id="hsd-one-run">RUN</script>',
        f'<script type="module">{code}</script>',
    ]
    return {
        "policy": policy.replace("'self' ", "").replace("connect-src 'self'; ", ""),
        "head": f"<style>\n{''.join(map(read, SHARED_STYLES))}</style>",
        "data": "\n".join(data),
    }


def _filled(**words: str) -> str:
    # the file of a single run has none of these
    none = dict.fromkeys(("description", "presets", "first"), "")
    known = {
        **none,
        "foot": FOOT["files"],
        "version": __version__,
        "about": ABOUT.read_text("utf-8"),
        **words,
    }
    return fill("index.html", known)


def fill(name: str, words: dict[str, str]) -> str:
    """Return a file of `hsd/web` with words in the places that it names in double braces."""
    return re.sub(r"\{\{(\w+)\}\}", lambda match: words[match[1]], read(name))


def _block(name: str, data: str) -> str:
    return f'<script type="application/json" id="{name}">{_data(data)}</script>'


def _data(text: str) -> str:
    """Return JSON as it may stand inside <script>.

    "<" is escaped, so that none of its texts ends the element.
    """
    return text.replace("<", "\\u003c")


# ---- the page /docs, from what Gradio and tools of language models read as well

STYLE = """body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; }
body { margin: 2rem auto; padding: 0 1rem; }
code { font-family: ui-monospace, monospace; } th { text-align: left; }
td, th { padding: .2rem .8rem .2rem 0; }
table { border-collapse: collapse; } tr { border-top: 1px solid #8886; vertical-align: top; }
:root { color-scheme: light dark; }"""


def reference(space: Space, endpoints: Iterable[Callable[..., Any]], programs: str) -> str:
    """Return the page /docs, which lists all endpoints, as HTML.

    programs: the path of the page with examples.
    """
    title = f"{escape(space.title)}: endpoints"
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        f"<title>{title}</title><style>{STYLE}</style><h1>{title}</h1>"
        "<p>Each takes its arguments by name: <code>POST gradio_api/call/v2/NAME</code>, or by "
        "<code>gradio_client</code>; "
        f'<a href="{programs}">examples in Python and for a shell</a>.</p>'
        f"{''.join(map(_endpoint, endpoints))}</html>"
    )


def _endpoint(function: Callable[..., Any]) -> str:
    words, _, listed = inspect.cleandoc(function.__doc__ or "").partition("Args:")
    arguments = dict(entry.split(": ", 1) for entry in re.split(r"\n    (?! )", listed)[1:])
    rows = "".join(
        f"<tr><td><code>{one.name}</code>"
        f"<td>{escape(getattr(one.annotation, '__name__', str(one.annotation)))}"
        f"<td>{'' if one.default is one.empty else f'<code>{escape(repr(one.default))}</code>'}"
        f"<td>{escape(arguments.get(one.name, ''))}"
        for one in inspect.signature(function).parameters.values()
    )
    head = "<tr><th>Argument<th>Type<th>If left out<th>What it is"
    table = f"<table>{head}{rows}</table>" if rows else ""
    return f"<h2><code>/{function.__name__}</code></h2><p>{escape(words)}</p>{table}"
