"""What the page shows of a benchmark, which its file brings along."""

from __future__ import annotations

import csv
import io
import json
import shlex
from pathlib import Path

import pytest
from printed import differing

from hsd import cli
from hsd.bench.report import Benchmark, cells_in, read
from hsd.bench.view import as_csv, view
from hsd.paths import RESULTS

RECORDED = [
    RESULTS / name for name in ("bench-smollm2.jsonl", "bench-qwen-coder.jsonl", "bench.jsonl")
]


@pytest.fixture(scope="module")
def recorded() -> Benchmark:
    return read(RECORDED[0])


@pytest.mark.parametrize("file", RECORDED, ids=lambda file: file.stem)
def test_the_command_measures_the_same_cases(file: Path):
    benchmark = read(file)
    words = shlex.split(view(benchmark)["command"])
    assert words[:4] == ["python", "-m", "hsd", "bench"]
    arguments = cli.build_parser(["bench"]).parse_args(words[3:])
    assert [(case.name, case.options) for case in cli.bench.sweep(arguments).cases()] == [
        (case.name, case.options) for case in benchmark.cases()
    ]


def test_the_view_has_the_table_its_facts_and_at_most_three_charts(recorded):
    shown = json.loads(json.dumps(view(recorded), allow_nan=False))
    names = [name for name, _ in shown["columns"]]
    assert shown["rows"] == cells_in(recorded.rows(), names)
    assert [len(row) for row in shown["rows"]] == [len(shown["columns"])] * len(recorded.rows())
    assert recorded.header["machine"]["processor"] in " ".join(shown["facts"])
    assert 1 <= len(shown["charts"]) <= 3
    assert all(set(chart) == {"title", "data", "layout"} for chart in shown["charts"])


def test_a_file_brings_its_view_and_reads_as_before(tmp_path: Path, capsys):
    out = tmp_path / "mine.jsonl"
    command = "bench --pair tiny --rules hsd --gamma 3 --limit 1 --repetitions 1 --max-new-tokens 8"
    assert cli.main([*command.split(), "--out", str(out), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["view"]["command"] == f"python -m hsd {command}"
    last = json.loads(out.read_text().splitlines()[-1])
    assert last["view"] == printed["view"] == json.loads(json.dumps(view(read(out))))
    assert len(read(out).records) == 2


@pytest.mark.parametrize(
    "name", ["bench", "bench-greedy", "bench-smollm2", "bench-qwen-coder", "peer"]
)
def test_the_view_in_a_recorded_file_is_the_one_that_its_records_give(name: str):
    file = RESULTS / f"{name}.jsonl"
    last = json.loads(file.read_text(encoding="utf-8").splitlines()[-1])
    recorded, made = (json.dumps(one, indent=0) for one in (last["view"], view(read(file))))
    # one Python adds floating-point numbers up otherwise than another
    assert differing(made.replace("\\n", "\n"), recorded.replace("\\n", "\n")) == []


def test_hostile_names_in_a_header_are_text(recorded):
    head = {**recorded.header, "pair": "<b>mine</b>", "machine": "none", "date": {}}
    shown = view(Benchmark(head, recorded.records))
    assert shown["facts"][0] == "pair <b>mine</b>, temperature 0.7"
    assert "<b>" not in json.dumps(shown["charts"])


def test_the_csv_has_all_digits_of_the_rows(recorded):
    lines = list(csv.DictReader(io.StringIO(as_csv(recorded.rows()))))
    for line, row in zip(lines, recorded.rows(), strict=True):
        assert line["case"] == row["case"]
        assert float(line["tokens_per_second"]) == row["tokens_per_second"]
        names = ("block_efficiency", "block_efficiency_low", "block_efficiency_high")
        assert [float(line[name]) for name in names] == list(row["block_efficiency"])
        rates = row.get("acceptance_rate_per_position", [])
        assert [float(word) for word in line["acceptance_rate_per_position"].split()] == rates
        assert float(line["share_target"]) == row["shares"]["target"]
    formula = {**recorded.rows()[0], "case": "=HYPERLINK(1)"}
    assert list(csv.reader(io.StringIO(as_csv([formula]))))[1][0] == "'=HYPERLINK(1)"
