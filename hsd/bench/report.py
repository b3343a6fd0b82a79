"""A benchmark as a file of JSON lines, and as a table.

The file alone gives every number of the table again.

The first line says what was measured, on what and how; each further line is the record of one run.
The last may be what a page shows of it, see view.py.
"""

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from hsd.bench.files import read_text
from hsd.bench.measure import Case, Record
from hsd.bench.prompts import PromptSet
from hsd.bench.summary import PARTS, Row, complete, is_plain, measurements, rows
from hsd.errors import HsdError, one_line
from hsd.models import Pair
from hsd.models.machine import machine
from hsd.paths import read_yaml
from hsd.rules import RULES
from hsd.sampling import Sampling
from hsd.version import __version__

FORMAT = "hsd-bench-1"
MAX_BYTES = 64_000_000
NEEDED = {"case", "prompt", "repetition", "seconds", "calls"}  # fields of a record


@dataclass(frozen=True)
class Benchmark:
    """A benchmark as its file has it.

    header: pair, prompts, machine, version, options of each case.
    """

    header: dict[str, Any]
    records: list[Record]

    def cases(self) -> list[Case]:
        """Return the cases in their order, those of other libraries without a runner."""
        return [Case(c["name"], c["options"]) for c in self.header["cases"]]

    def rows(self) -> list[Row]:
        """Return a row per case, of the runs that all cases have made.

        Raises HsdError if there is none.
        """
        cases = measurements(self.cases(), self.records)
        plain = {Sampling.of(m.case.options) for m in cases if is_plain(m)}
        if any(Sampling.of(m.case.options) not in plain for m in cases):
            raise HsdError(
                "a temperature was measured without plain decoding: "
                "choose a file written by `hsd bench`"
            )
        if not cases[0].records:
            raise HsdError("no prompt was measured in all cases yet: let the benchmark run longer")
        return rows(cases)

    def by_kind(self) -> dict[str, list[Row]]:
        """Return rows as `rows` does for each kind of prompts alone, by kind.

        The result is empty unless there are several kinds.
        """
        prompts = self.header.get("prompts")
        kinds: Any = prompts.get("kinds") if isinstance(prompts, dict) else None
        records_of: dict[str, list[Record]] = defaultdict(list)
        if isinstance(kinds, list):
            for record in complete(self.records, [case.name for case in self.cases()]):
                records_of[words(dict(enumerate(kinds)).get(record["prompt"]))].append(record)
        several = records_of if len(records_of) > 1 else {}
        return {kind: Benchmark(self.header, of).rows() for kind, of in several.items()}


def header(
    pair: Pair, prompts: PromptSet, cases: Sequence[Case], **settings: Any
) -> dict[str, Any]:
    """Return the first line of a benchmark's file.

    It has pair, prompts, settings, machine, versions and cases.

    settings: command, which repeats it, max_new_tokens, repetitions and processes; server, where
    one is measured too.
    """
    return {
        "format": FORMAT,
        "version": __version__,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "pair": pair.name,
        "models": {"target": pair.target.parameters, "draft": pair.draft.parameters},
        "prompts": {"name": prompts.name, "source": prompts.source, "kinds": prompts.kinds},
        **settings,
        "machine": machine(pair),
        "cases": [
            {"name": c.name, "options": _as_data(c.options), "peer": c.runner is not None}
            for c in cases
        ],
    }


def _as_data(options: dict[str, Any]) -> dict[str, Any]:
    """Return options with the name of a rule of one's own in place of it."""
    return {name: str(x) if callable(x) else x for name, x in options.items()}


def write_line(file: IO[str], data: dict[str, Any]) -> None:
    """Write `data` as one line of JSON and flush it, in case the benchmark is interrupted."""
    print(json.dumps(data), file=file, flush=True)


def read(path: Path) -> Benchmark:
    """Return a benchmark from its file. Raises HsdError, naming the line, when it is not one."""
    return parse(read_text(path, MAX_BYTES).split("\n"), path.name)


def parse(lines: Iterable[str], name: str) -> Benchmark:
    """Return a benchmark from its lines, without a last one that was cut off.

    Raises HsdError with `name` and line.
    """
    data: list[Any] = []
    numbered = [(n, line) for n, line in enumerate(lines, start=1) if line.strip()]
    for number, line in numbered:
        try:
            data.append(json.loads(line))
        except (ValueError, RecursionError):
            if number == numbered[-1][0] and len(numbered) > 1:
                break
            raise HsdError(
                f"line {number} of {name!r} is not JSON: choose a file written by `hsd bench`"
            ) from None
    if not data or not isinstance(data[0], dict) or data[0].get("format") != FORMAT:
        raise HsdError(
            f"{name!r} is not a benchmark ({FORMAT}): choose a file written by `hsd bench`"
        )
    if isinstance(data[-1], dict) and "view" in data[-1]:
        data.pop()
    for number, record in enumerate(data[1:], start=2):
        if not isinstance(record, dict) or not set(record) >= NEEDED:
            wrong = f"line {number} of {name!r} is not a record of a run"
            raise HsdError(f"{wrong}: choose a file written by `hsd bench`")
    return Benchmark(data[0], data[1:])


TABLES: dict[str, Any] = read_yaml(Path(__file__).with_suffix(".yaml"))
COLUMNS: dict[str, str] = TABLES["columns"]


def cells(row: Row) -> list[str]:
    """Return one line of the table.

    A cell is empty if it has no meaning, such as the limit of plain decoding.
    """
    name = case_title(row["case"], row["options"])
    return [name, *(_cell(row, **column) for column in TABLES["formats"])]


def columns(measured: Sequence[Row]) -> list[str]:
    """Return the names of the columns in which something stands."""
    lines = zip(*map(cells, measured), strict=True)
    return [name for name, column in zip(COLUMNS, lines, strict=True) if any(column)]


def cells_in(measured: Sequence[Row], names: Sequence[str]) -> list[list[str]]:
    """Return the cells of each row in these columns."""
    known = (dict(zip(COLUMNS, cells(row), strict=True)) for row in measured)
    return [[row[name] for name in names] for row in known]


def case_title(name: str, options: dict[str, Any]) -> str:
    """Return a case's name with its rule's name in words: "HSD, γ=5" for "hsd, γ=5"."""
    rule = str(options.get("rule", ""))
    known = RULES.get(rule)
    return name.replace(rule, known.short, 1) if known else name


def _cell(
    row: Row,
    field: str,
    digits: int = 2,
    factor: int = 1,
    unit: str = "",
    most: float = math.inf,
) -> str:
    """Format a field of a row times `factor`, with its interval if there are several prompts.

    Returns "" if it is not known, or above `most`, where it has no meaning.
    """
    value: Any = row.get(field)
    several = value if isinstance(value, (list, tuple)) else [value]
    values = [factor * x for x in several if is_known(x) and x <= most]
    if len(values) > 1 and row["prompts"] > 1:
        return interval(values, digits)
    return f"{values[0]:.{digits}f}{unit}" if values else ""


def interval(values: Sequence[float], digits: int = 2) -> str:
    """Format (value, low, high) as "value (low–high)" with `digits` decimals."""
    value, low, high = values
    return f"{value:.{digits}f} ({low:.{digits}f}–{high:.{digits}f})"


def is_known(value: Any) -> bool:
    """Return whether a value is a finite number: one that was measured."""
    return isinstance(value, (int, float)) and math.isfinite(value)


def markdown(benchmark: Benchmark) -> str:
    """Return the Markdown report: setting, table, acceptance by position, shares of the time."""
    measured = benchmark.rows()
    names = columns(measured)
    date = words(benchmark.header.get("date"), 40)
    text = [f"{date}: {'; '.join(setting(benchmark.header, measured))}"]
    for kind, rows_of in {"": measured, **benchmark.by_kind()}.items():
        text += ["", f"{one_line(kind)}:"] if kind else []
        text += _table(names, cells_in(rows_of, names))
    rates = {r["case"]: _percents(r.get("acceptance_rate_per_position", [])) for r in measured}
    if longest := max(map(len, rates.values())):
        percent = ([case, *own, *[""] * (longest - len(own))] for case, own in rates.items() if own)
        positions = map(str, range(1, longest + 1))
        text += _table(["acceptance rate per position, %", *positions], percent)
    shares = ([r["case"], *_percents(r["shares"].values())] for r in measured if "shares" in r)
    return "\n".join([*text, *_table(["time, %", *PARTS], shares)])


def _percents(shares: Iterable[float]) -> list[str]:
    return [f"{100 * share:.1f}" for share in shares]


def setting(header: dict[str, Any], rows: Sequence[Row]) -> list[str]:
    """Describe a benchmark's setting in short phrases.

    header: of a file that may come from anywhere.
    """
    parts = map(header.get, ("prompts", "machine", "server"))
    prompts, machine, server = (part if isinstance(part, dict) else {} for part in parts)
    # sets, which the source names too
    several = prompts.get("kinds") and "," in str(prompts.get("name"))
    names = ("source",) if several else ("name", "source")
    source = ", ".join(words(prompts.get(name), 200) for name in names)
    given = {name: words(value) for name, value in {**machine, **header}.items()}
    known = defaultdict(lambda: "?", given)
    heats = {words(row["options"].get("temperature", 0)) for row in rows}
    known |= {"source": source, "prompts": rows[0]["prompts"], "runs": rows[0]["runs"]}
    known |= {"temperature": ", ".join(sorted(heats))}
    served_by = f"server {server.get('model')} at {server.get('url')}: {server.get('note')}"
    return [
        *(line.format_map(known) for line in TABLES["setting"]),
        *([words(served_by, 400)] if server else []),
    ]


def words(value: Any, most: int = 60) -> str:
    """Return a header's value as one line of at most `most` characters.

    Returns "?" for what is no text or number.
    """
    if value is None or isinstance(value, (dict, list)):
        return "?"
    return one_line(" ".join(str(value).split()))[:most]


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """Return an empty line and the lines of a Markdown table; a name in it may be anything."""
    first = list(head)
    lines = (map(_in_table, line) for line in (first, ["---"] * len(first), *rows))
    return ["", *(f"| {' | '.join(line)} |" for line in lines)]


def _in_table(cell: str) -> str:
    return one_line(cell).replace("|", "\\|")
