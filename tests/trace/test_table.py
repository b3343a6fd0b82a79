"""A run as a table: a row per drafted token, with what both rules made of it."""

from __future__ import annotations

import csv
import io
import math
import sys
from pathlib import Path

import pytest
from table_models import table_pair

import hsd
from hsd.cli import main
from hsd.errors import HsdError
from hsd.paths import ASSETS, TRACES
from hsd.trace import Trace
from hsd.trace.table import COLUMNS, as_csv, rows

SHORT = {"rule": "hsd", "gamma": 3, "max_new_tokens": 24, "seed": 5}


@pytest.fixture(scope="module")
def run() -> Trace:
    return hsd.run(table_pair(vocab=5, order=2, seed=4), "ab", **SHORT)


@pytest.mark.parametrize("file", sorted(TRACES.glob("*.json")), ids=lambda file: file.stem)
def test_each_row_is_a_drafted_token_with_the_tests_of_both_rules(file: Path):
    trace = Trace.from_file(file)
    if any(step.drafted and not step.nodes for step in trace.steps):
        pytest.skip("it was recorded without its drafts")
    made = [*rows(trace.steps)]
    assert len(made) == sum(len(step.nodes) for step in trace.steps)
    for step in trace.steps:
        own = [row for row in made if row["step"] == step.index + 1]
        assert sum(row["kept"] or False for row in own) == (step.kept if own else 0)
        if own and step.shadow:
            assert sum(row["other_kept"] for row in own) == step.shadow.kept
        for row in own:
            assert [*row] == [*COLUMNS]
            node = step.nodes[row["node"] - 1]
            assert (row["token"], row["p"], row["q"]) == (node.token, node.p, node.q)
            parent = next((one for one in own if one["node"] == row["parent"]), None)
            assert row["position"] == (parent["position"] + 1 if parent else 1)
    for before in ("", "other_"):
        for row in made:
            tested = row[f"{before}accepted"] is not None
            assert tested == (row[f"{before}threshold"] is not None)
            if tested:
                assert row[f"{before}accepted"] == (row["coin"] < row[f"{before}threshold"])


def test_a_frame_has_the_rows_with_numbers_as_numbers(run: Trace):
    pytest.importorskip("pandas")
    frame = run.to_pandas()
    made = [*rows(run.steps)]
    assert [*frame.columns] == [*COLUMNS]
    assert len(frame) == len(made)
    assert frame["kept"].sum() == run.stats()["kept"]
    assert str(frame["threshold"].dtype) == "float64"
    tested = frame[frame["accepted"].notna()]
    assert ((tested["coin"] < tested["threshold"]) == tested["accepted"]).all()
    unknown = [math.isnan(x) for x in frame["threshold"]]
    assert unknown == [row["threshold"] is None for row in made]
    plain = hsd.run(table_pair(vocab=5, order=2, seed=4), "ab", system="plain", max_new_tokens=4)
    assert [*plain.to_pandas().columns] == [*COLUMNS]
    assert plain.to_pandas().empty


def test_without_pandas_one_line_says_what_to_do(run: Trace, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(HsdError, match=r"needs pandas: pip install pandas, or write a \.csv$"):
        run.to_pandas()


def test_a_run_without_its_drafts_is_refused():
    run = hsd.run(table_pair(vocab=5, order=2, seed=4), "ab", **SHORT, trace=False)
    with pytest.raises(HsdError, match="run again with tracing on"):
        run.to_pandas()


def test_the_command_saves_the_table(
    run: Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    pair = table_pair(vocab=5, order=2, seed=4)
    monkeypatch.setattr("hsd.cli.run.load", lambda *_, **__: pair)
    options = ["--gamma", "3", "--max-new-tokens", "24", "--seed", "5"]
    file = tmp_path / "drafted.csv"
    assert main(["run", "ab", *options, "--table", str(file)]) == 0
    text = file.read_bytes().decode()
    assert text == as_csv(run.steps)
    lines = [*csv.DictReader(io.StringIO(text, newline=""))]
    assert [line["piece"] for line in lines] == [row["piece"] for row in rows(run.steps)]
    assert capsys.readouterr().err.splitlines()[-1] == f"table saved to {file}"


@pytest.mark.parametrize(
    ("name", "missing", "words"),
    [
        ("drafted.txt", "", "name a file that ends in .csv or .parquet"),
        ("drafted.parquet", "pandas", "needs pandas: pip install pandas, or write a .csv"),
        ("drafted.parquet", "pyarrow", "needs pyarrow: pip install pyarrow, or write a .csv"),
        ("nowhere/drafted.csv", "", "give a file name in an existing folder"),
    ],
)
def test_what_cannot_be_written_is_refused_before_any_work(
    name: str,
    missing: str,
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    if missing:
        pytest.importorskip("pandas")
        monkeypatch.setitem(sys.modules, missing, None)
    monkeypatch.setattr("hsd.cli.run.load", lambda *_, **__: pytest.fail("models were loaded"))
    assert main(["run", "ab", "--table", str(tmp_path / name)]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1


def test_the_page_for_programs_lists_every_column():
    text = (ASSETS / "docs" / "programs.md").read_text(encoding="utf-8")
    assert [name for name in COLUMNS if f"`{name}`" not in text] == []


def test_a_rule_that_tells_no_tests_keeps_its_tokens_in_the_table() -> None:
    """As one's own rule does, of which only the answer is known."""
    trace = Trace.from_file(TRACES / "harbour.json")
    step = next(step for step in trace.steps if step.kept == 2)
    own = step.verdict.model_copy(update={"decisions": []})
    silent = step.model_copy(update={"verdict": own})
    assert [row["kept"] for row in rows([silent])] == [True, True, False]
    assert {row["threshold"] for row in rows([silent])} == {None}
