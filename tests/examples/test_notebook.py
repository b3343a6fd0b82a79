"""The notebooks in examples run from their first cell to their last, and show what they say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hsd.paths import ROOT

EXAMPLES = ROOT / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))
FIRST = {"see_a_step.ipynb", "test_a_rule.ipynb", "decide_about_a_pair.ipynb"}


def executed(name: str) -> list[dict[str, Any]]:
    """The outputs of a notebook: text, or data by its kind."""
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    notebook = nbformat.read(EXAMPLES / name, as_version=4)
    where = {"metadata": {"path": str(EXAMPLES)}}
    nbclient.NotebookClient(notebook, timeout=1800, resources=where).execute()
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return [output.get("data", output) for cell in cells for output in cell.outputs]


def texts(outputs: list[dict[str, Any]]) -> str:
    return "\n".join(output.get("text", "") for output in outputs)


def test_a_run_and_its_steps_show_themselves_in_frames_and_as_a_table():
    outputs = executed("see_a_step.ipynb")
    frames = [one for one in outputs if one.get("text/html", "").startswith("<iframe")]
    shown = [one["text/plain"] for one in frames]
    assert [words[:6] for words in shown] == ["<Trace", "<Step ", "<step "]
    assert all(len(words) < 100 and "\n" not in words for words in shown)
    assert ["hsd-brief" in one["text/html"] for one in frames] == [True] * 3  # each has the page
    tables = [one["text/html"] for one in outputs if "<table" in one.get("text/html", "")]
    assert len(tables) == 2
    assert "other_kept" in tables[0]


def test_a_rule_of_ones_own_is_judged_wrong_and_then_right():
    words = texts(executed("test_a_rule.ipynb"))
    assert "wrong: NOT lossless" in words
    assert "counterexample" in words
    assert "right: lossless" in words


def test_a_pair_gets_advice_with_intervals():
    words = texts(executed("decide_about_a_pair.ipynb"))
    assert "× plain decoding by its passes (6 texts of" in words
    assert "HSD − vanilla" in words


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_is_kept_without_outputs_and_is_short(file: Path):
    cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert not any(cell["outputs"] or cell["execution_count"] for cell in code)
    assert len({cell["id"] for cell in cells}) == len(cells)
    assert sum(len(cell["source"]) for cell in code) < 60


def test_the_three_notebooks_are_those_that_the_documents_name():
    assert {file.name for file in NOTEBOOKS} == FIRST
