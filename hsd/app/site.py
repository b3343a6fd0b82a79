"""The site: for each path of the page that needs no model, a function that returns its contents.

The app serves these paths and `python -m hsd space export --static` writes them into a folder, so
both are the same page. A recorded answer lies at data/NAME/KEY.json; `hsd/web/answers/files.js`
finds it by the same rule.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hsd.app import browser, device, modules, page, pairs, race
from hsd.app.presets import (
    SYSTEM_WORDS,
    Preset,
    definitions,
    from_json,
    of_systems,
    player_data,
    starters,
    trace_of,
)
from hsd.app.replies import compact, shortened
from hsd.app.systems import planner
from hsd.bench.report import read
from hsd.bench.view import view
from hsd.errors import HsdError
from hsd.facts import facts_json
from hsd.models.loading.registry import draft_length
from hsd.paths import ASSETS, RESULTS, WEB, cached_by_file
from hsd.space import Space
from hsd.trace import MAX_BYTES, Trace

Values = dict[str, Any]
Site = dict[str, Callable[[], bytes]]
DOCS = ASSETS / "docs"
LESSONS = ASSETS / "lessons" / "learn.json"
LENGTHS = (RESULTS / "lengths-qwen-coder.json", RESULTS / "lengths.json")  # of each pair
# of every system, by name; examples/reproduce/systems_charts.py makes them
CHARTS = RESULTS / "systems_charts.json"
# the speed of recorded runs beside plain decoding; time_presets.py measures it
TIMINGS = RESULTS / "presets.json"
# by their pair; the screen opens on the first
BENCHMARKS = {
    "smollm2": "bench-smollm2.jsonl",
    "qwen-coder": "bench-qwen-coder.jsonl",
    "tiny": "bench.jsonl",
}
_plotly = Path(str(find_spec("plotly").origin))  # type: ignore[union-attr]
PLOTLY = _plotly.parent / "package_data" / "plotly.min.js"
NOT_SERVED = (".html", ".md", ".ts")  # the page, which is made anew; what only developers read


@dataclass(frozen=True)
class SiteQuestion:
    """A kind of question with recorded answers.

    answer: takes one of `names`, or nothing if there are none. error: the message for any other
    name, which the page puts in place of the "?" in it.
    """

    answer: Callable[..., Any]
    names: Iterable[str] = ()
    error: str = ""

    def answers(self) -> dict[str, Callable[[], Any]]:
        """Return functions that answer, by the names of the answers' files."""
        return {key_of(name): partial(self.answer, name) for name in self.names} or {
            "all": self.answer
        }

    def known(self) -> Values:
        """Return for the page the names of the answers' files ("keys"), and "error" if any."""
        return {"keys": list(self.answers()), **({"error": self.error} if self.error else {})}


def key_of(name: str) -> str:
    """Return the file name, without .json, of the answer about `name`.

    `hsd/web/answers/files.js` computes it in the same way.
    """
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", name)


def site(
    space: Space,
    answers: str,
    opened: Trace | None = None,
    address: str = "",
    weights: bool = False,
) -> Site:
    """Return a function for each path that reads its file.

    Raises HsdError if the Spacefile names an unknown preset.

    answers: who answers the page: "server", "files", or "browser", for which the files that it
    decodes with are added; weights: add the model's weights too; opened: a trace to show first,
    instead of a preset; address: the page's future URL, "" if unknown.
    """
    questions = recorded_questions(space)
    folder = folder_of_modules()
    presets = [*presets_of(space).values()]
    alone = answers == "browser"
    more: Values = {}
    if alone:
        more = {"own": False, "browser": browser.about(space, folder, weights), "offline": weights}

    def index() -> str:
        return page.index(answers, space, presets, folder, not opened, address)

    files: Site = {
        "index.html": lambda: index().encode(),
        page.CARD.name: page.CARD.read_bytes,
        "data/page.json": _json(lambda: contents(space, questions, opened is not None) | more),
        f"{folder}facts.json": lambda: facts_json().encode(),
        f"{folder}single.html": lambda: page.template().encode(),
        f"{folder}trace.schema.json": _json(Trace.schema_for_others),
        **{f"{folder}{path}": partial(modules.content, path) for path in page_files()},
        f"{folder}vendor/plotly.js": PLOTLY.read_bytes,
        **{f"{folder}docs/{file.name}": file.read_bytes for file in sorted(DOCS.glob("*.md"))},
        **(browser.files(folder, weights) if alone else {}),
    }
    for name, question in questions.items():
        for key, answer in question.answers().items():
            files[f"data/{name}/{key}.json"] = _json(answer)
    # the model's pieces by themselves
    kept = ["./", *(path for path in files if not path.startswith(browser.FOLDER))]
    # the modules, and what is kept at once
    worker = f"self.FILES = {json.dumps({'folder': folder, 'first': kept})};\n"
    if alone:
        files["offline.js"] = lambda: (worker + modules.read("offline.js")).encode()
    return files


def _json(answer: Callable[[], Any]) -> Callable[[], bytes]:
    return lambda: compact(answer()).encode()


# ---- the modules and sheets


def page_files() -> Iterator[str]:
    """Yield the files of `hsd/web` that the page may fetch, as paths relative to it."""
    for path in sorted(WEB.rglob("*")):
        if path.is_file() and path.suffix not in NOT_SERVED:
            yield path.relative_to(WEB).as_posix()


@cache
def folder_of_modules() -> str:
    """Return the folder of the modules, beside the page.

    Its name changes with any file, so browsers may cache it.
    """
    digest = hashlib.sha256(facts_json().encode() + page.template().encode())
    for path in page_files():
        digest.update(path.encode() + b"\0" + (WEB / path).read_bytes())
    return f"web/{digest.hexdigest()[:16]}/"


# ---- answers


def presets_of(space: Space) -> dict[str, Preset]:
    """Return the runs of the menu: first those of the Spacefile, then those of the systems.

    Raises HsdError.
    """
    known = definitions()
    missing = [name for name in space.presets if name not in known]
    if missing:
        what = "the Spacefile names a preset that assets/presets/watch.yaml does not have"
        raise HsdError(f"{what}: {missing[0]!r}")
    return {name: known[name] for name in space.presets} | of_systems()


def contents(space: Space, questions: Mapping[str, SiteQuestion], opened: bool) -> Values:
    """Return what the page asks first.

    That is what it is made with, and which questions have an answer in a file.

    first: the preset to show; tree: one whose drafts form a tree; opened: whether there is a trace
    to show instead; own: whether a visitor may name models; pairs: gamma is a pair's usual draft
    length, chats whether it answers questions; speeds: of recorded races, by pair; bytes: of a
    trace, at most.
    """
    presets = presets_of(space)
    offered = device.offered(space)
    begin = {pair.name: starters(pair.name, presets.values()) for pair in offered}
    return {
        "first": next(iter(presets)),
        "tree": SYSTEM_WORDS["eagle"]["shown"][0],
        "opened": opened,
        "own": device.own_pairs_allowed(space),
        "pairs": [
            {
                "name": p.name,
                "title": p.title,
                "gamma": draft_length(p.name),
                "chats": pairs.chats(space, p.name),
            }
            for p in offered
        ],
        "starters": {
            name: [vars(one) | {"label": one.label} for one in own] for name, own in begin.items()
        },
        "limits": space.limits.model_dump(),
        "race": race.limits(),
        "speeds": race.speeds(),
        "credits": pairs.credits(space),
        "schema": f"{folder_of_modules()}trace.schema.json",
        "bytes": MAX_BYTES,
        "recorded": {name: question.known() for name, question in questions.items()},
    }


def recorded_questions(space: Space) -> dict[str, SiteQuestion]:
    """Return the questions of the screens, by name."""
    presets = presets_of(space)
    charts = from_json(CHARTS)
    timings = from_json(TIMINGS)

    def preset(name: str) -> Values:
        one = presets[name]
        return {
            **shortened(player_data(trace_of(one))),
            "title": one.title,
            "why": one.why,
            "timed": timings.get(name),
        }

    return {
        "preset": SiteQuestion(
            preset, presets, "unknown preset '?': choose one of the menu, or of /presets"
        ),
        "lessons": SiteQuestion(partial(from_json, LESSONS)),
        "races": SiteQuestion(race.recordings),
        "lengths": SiteQuestion(lambda: [from_json(file) for file in LENGTHS]),
        "systems": SiteQuestion(lambda: about_systems(presets)),
        "charts": SiteQuestion(
            charts.__getitem__, charts, "there is no system '?': choose another"
        ),
        "benchmark": SiteQuestion(
            benchmark, BENCHMARKS, "there is no benchmark '?': choose another"
        ),
    }


def benchmark(name: str) -> Values:
    """Return a recorded benchmark, see `hsd.bench.view`."""
    return _view(RESULTS / BENCHMARKS[name])


@cached_by_file()
def _view(file: Path) -> Values:
    return view(read(file))


def about_systems(presets: Mapping[str, Preset]) -> Values:
    """Return {"systems", "planner"} for the Systems page.

    systems: each with its recorded runs. planner: its inputs. per_call: of a recorded run, per call
    of its target: new tokens, then calls of each level below, the lowest last.
    """

    def run(preset: Preset) -> Values:
        stats = trace_of(preset).stats()
        per_call = [
            n / stats["target_calls"]
            for n in (stats["new_tokens"], *reversed(stats["calls_below"]))
        ]
        return {"name": preset.name, "title": preset.title, "why": preset.why, "per_call": per_call}

    shown = [
        {
            "name": name,
            **about,
            "shown": [run(presets[one]) for one in about["shown"] if one in presets],
        }
        for name, about in SYSTEM_WORDS.items()
    ]
    return {"systems": shown, "planner": {"presets": planner.presets(), **planner.LIMITS}}
