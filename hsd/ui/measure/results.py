"""Benchmarks that are being shown: their table and charts, and the files that a visitor can save of them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gradio as gr
import plotly.graph_objects as go

from hsd import figures
from hsd.bench.report import Benchmark
from hsd.decoding.options import LEVELLED
from hsd.errors import HsdError
from hsd.ui.measure.view import as_csv, as_lines, view

Values = dict[str, Any]
KEPT = 32
RECORDED = "recorded"  # the kind of the benchmarks that travel with the project; their keys begin so, and stay


@dataclass(frozen=True)
class Chart:
    """A chart: its heading, its figure, and which of the rows it is about; without any it is not shown."""

    title: str
    figure: Callable[[list[Values]], Any]
    rows: Callable[[list[Values]], list[Values]] = list


def _drafting(rows: list[Values]) -> list[Values]:
    """Our own cases that draft. The charts show the longest drafts first; blocks of levels have no γ, and join them."""
    found = [row for row in rows if "acceptance_rate" in row and row["options"].get("rule")]
    longest = max((row["options"]["gamma"] for row in found if not _levelled(row)), default=1)
    return [{**row, "options": {**row["options"], "gamma": longest}} if _levelled(row) else row for row in found]


def _by_gamma(rows: list[Values]) -> list[Values]:
    """Those of them that have a γ."""
    return [row for row in _drafting(rows) if not _levelled(row)]


def _by_temperature(rows: list[Values]) -> list[Values]:
    found = _by_gamma(rows)
    return found if len({row["options"]["temperature"] for row in found}) > 1 else []


def _levelled(row: Values) -> bool:
    return row["options"].get("system") in LEVELLED


CHARTS = (
    Chart("Tokens per target call by γ, 95 % intervals", figures.block_efficiency, _by_gamma),
    Chart(
        "Tokens per target call by temperature, 95 % intervals",
        lambda rows: figures.block_efficiency(rows, "temperature"),
        _by_temperature,
    ),
    Chart("Acceptance rate per position in the draft", figures.acceptance_rate_per_position, _drafting),
    Chart("Where the time goes", figures.time_shares),
)


@dataclass(frozen=True)
class Shown:
    """A benchmark as the page shows it. charts: values and visibility of the plots, in the order of `CHARTS`."""

    view: Values
    charts: list[Values]

    def updates(self) -> list[Any]:
        """The charts as updates of their components."""
        return [gr.update(**chart) for chart in self.charts]


@dataclass(frozen=True)
class _Kept:
    rows: list[Values]
    benchmark: Benchmark | None


class Results:
    """The benchmarks that were shown last; the oldest goes first."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._lock = threading.Lock()

    def show(self, benchmark: Benchmark, kind: str, key: str) -> Shown:
        """Keep it under `key`, for files; kind as for `view`. Raises HsdError when nothing in it can be compared.

        Of a visitor's own file only the table is kept.
        """
        rows = benchmark.rows()
        with self._lock:
            self._kept[key] = _Kept(rows, None if kind == "file" else benchmark)
            self._kept.move_to_end(key)
            while len(self._kept) > KEPT:
                del self._kept[next(old for old in self._kept if not old.startswith(RECORDED))]
        charted = [(chart, chart.rows(rows)) for chart in CHARTS]
        drawn = [(go.Figure(chart.figure(own)) if own else None, bool(own)) for chart, own in charted]
        charts = [{"value": value, "visible": visible} for value, visible in drawn]
        return Shown(view(benchmark, rows, kind, key), charts)

    def download(self, asked: Any) -> Values:
        """A file to save: asked = {"key": …, "kind": "csv" or "jsonl"}. Raises HsdError."""
        key, kind = (str(asked.get(name)) if isinstance(asked, dict) else "" for name in ("key", "kind"))
        kept = self._kept.get(key)
        if kept is None:
            raise HsdError("this benchmark is no longer kept on the server: measure or open it again")
        if kind == "csv":
            return {"name": "hsd-bench.csv", "type": "text/csv;charset=utf-8", "text": as_csv(kept.rows)}
        if kept.benchmark is None:
            raise HsdError("this benchmark came from your own file: pass that file on")
        return {"name": "hsd-bench.jsonl", "type": "application/jsonl", "text": as_lines(kept.benchmark)}
