"""What the tab Speed shows beside races: the recorded benchmarks, and programs that ask this app for the same."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import yaml

from hsd.app import race, servers
from hsd.app.pairs import OWN
from hsd.app.race import Plan
from hsd.bench.cases import RECORDING
from hsd.bench.published import published
from hsd.bench.report import read
from hsd.bench.view import view as view_of
from hsd.decoding.options import RunOptions
from hsd.paths import RESULTS
from hsd.rules import USUAL
from hsd.space import Space

BENCHMARKS = {"smollm2": "bench-smollm2.jsonl", "tiny": "bench.jsonl"}
"""The benchmarks that travel with the project, by their pair; the screen opens on the first."""

PLOTLY = Path(str(find_spec("plotly").origin)).parent / "package_data" / "plotly.min.js"  # type: ignore[union-attr]
"""What draws the charts, as its package brings it."""

TEXTS: dict[str, Any] = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))


@cache
def view(name: str) -> dict[str, Any]:
    """Return a recorded benchmark, see `hsd.bench.view`, and what is published elsewhere."""
    return {**view_of(read(RESULTS / BENCHMARKS[name])), "published": published()}


def race_plan(space: Space, values: Mapping[str, Any]) -> dict[str, Any]:
    """Describe a race for the page's form: its lanes, its link, and how a program asks for it. Raises HsdError."""
    plan = race.read_plan(space, values)
    return {**plan.described(), "programs": programs(plan)}


def race_limits(space: Space) -> dict[str, Any]:
    """Return how many lanes a race has at most, how often each may be timed, and whether one may be a server's."""
    return {"lanes": race.MOST_LANES, "rounds": race.ROUNDS, "server": servers.allowed(space)}


def programs(plan: Plan) -> list[dict[str, str]]:
    """Return for each endpoint its name, and in Python and for a shell what asks for a race's last lane of ours."""
    options = RunOptions(**[case.options for case in plan.cases if case.name not in plan.addresses][-1])
    pair = {} if plan.request.pair.name == OWN else {"pair": plan.request.pair.name}  # endpoints know pairs by name
    run = {"prompt": plan.request.prompt, **pair, "seed": plan.request.options.seed}
    run |= {name: value for name, value in options.given().items() if name not in RECORDING}
    arguments: dict[str, dict[str, Any]] = {
        "run": run,
        "compare": run,
        "verify_step": {**TEXTS["step"], "rule": USUAL if options.drafts > 1 else options.rule},
        "audit": {"vocab": 3, "gamma": min(options.longest, 3), "seed": 0},
    }
    return [{"name": f"/{name}", **_programs(name, given)} for name, given in arguments.items()]


def _programs(name: str, arguments: Mapping[str, Any]) -> dict[str, str]:
    """Return what asks an endpoint: with the package `gradio_client`, and two commands for a shell."""
    lines = "".join(f"    {key}={value!r},\n" for key, value in arguments.items())
    body = shlex.quote(json.dumps(arguments, ensure_ascii=False))
    known = {"name": name, "lines": lines, "body": body, "shown": TEXTS["shown"][name]}
    return {language: TEXTS[language].format(**known) for language in ("python", "curl")}
