"""A benchmark as the page shows it, as plain data.

It has table, charts, CSV, and the command that repeats it.

`python -m hsd bench` writes it into its files, so that a page opens them by itself, with a server
or without.
"""

import csv
import io
from collections.abc import Sequence
from typing import Any

from hsd.bench.report import COLUMNS, TABLES, Benchmark, cells_in, columns, is_known, setting, words
from hsd.bench.summary import PARTS, Row
from hsd.figures import charts

FORMAT = "hsd-bench-view-1"
OPTIONS = TABLES["options"]
SCALARS = TABLES["numbers"]
ENDS = ("", "_low", "_high")
INTERVALS = (
    "speedup_interval",
    "block_efficiency",
    "acceptance_length",
    "acceptance_rate",
    "more_than_vanilla",
)
PER_POSITION = "acceptance_rate_per_position"  # one cell, the first position first


def view(benchmark: Benchmark) -> dict[str, Any]:
    """Return all that the page draws of a benchmark.

    Raises HsdError where there is nothing to compare.
    """
    rows = benchmark.rows()
    names = columns(rows)
    return {
        "format": FORMAT,
        "date": words(benchmark.header.get("date"), 40),
        "facts": setting(benchmark.header, rows),
        "command": words(benchmark.header.get("command", ""), 2_000),
        "columns": [[name, COLUMNS[name]] for name in names],
        "rows": cells_in(rows, names),
        "kinds": {kind: cells_in(rows_of, names) for kind, rows_of in benchmark.by_kind().items()},
        "charts": charts(rows),
        "csv": as_csv(rows),
    }


def as_csv(rows: Sequence[Row]) -> str:
    """Return the table with all digits, the rates per position, and where the time went.

    It has one line per case.
    """
    out = io.StringIO()
    texts = ("case", *OPTIONS, PER_POSITION)
    names = [
        "case",
        *OPTIONS,
        "prompts",
        "runs",
        *SCALARS,
        *(f"{name}{end}" for name in INTERVALS for end in ENDS),
    ]
    names += [*(f"share_{part}" for part in PARTS), PER_POSITION]
    writer = csv.DictWriter(out, names, extrasaction="ignore")
    writer.writeheader()
    for row in rows:
        values = row["options"] | row
        for part, share in row.get("shares", {}).items():
            values[f"share_{part}"] = share
        for name in INTERVALS:
            for end, x in zip(ENDS, row.get(name) or (), strict=False):
                values[f"{name}{end}"] = x
        shown = {name: x for name, x in values.items() if name in texts or is_known(x)}
        writer.writerow({name: _cell(x) for name, x in shown.items()})
    return out.getvalue()


def _cell(value: Any) -> Any:
    """Return a cell: a list as "3 5", and any text that looks like a formula with a ' in front.

    That is text which a spreadsheet would read as a formula.
    """
    text = " ".join(map(str, value)) if isinstance(value, (list, tuple)) else value
    if isinstance(text, str) and text[:1] in ("=", "+", "-", "@", "\t", "\r"):
        return f"'{text}"
    return text
