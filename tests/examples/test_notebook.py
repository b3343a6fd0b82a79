"""The notebook in examples runs from its first cell to its last, and shows what it says."""

from __future__ import annotations

import ast
import contextlib
import io
import json
from typing import Any

import plotly.graph_objects as go
import pytest

from hsd.paths import ROOT

EXAMPLES = ROOT / "examples"
NOTEBOOK = json.loads((EXAMPLES / "audit_and_run.ipynb").read_text(encoding="utf-8"))
CODE = [cell for cell in NOTEBOOK["cells"] if cell["cell_type"] == "code"]


def executed() -> tuple[dict[str, Any], list[str], list[Any]]:
    """The names that are there at the end; what each cell printed; the value of its last line, if
    it is one.
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    printed = []
    values = []
    for cell in CODE:
        body = ast.parse("".join(cell["source"])).body
        last = ast.Expression(body.pop().value) if isinstance(body[-1], ast.Expr) else None  # type: ignore[attr-defined]
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(compile(ast.Module(body, []), "notebook", "exec"), names)
            values.append(eval(compile(last, "notebook", "eval"), names) if last else None)
        printed.append(out.getvalue())
    return names, printed, values


def test_the_notebook_runs_and_its_figures_have_what_the_trace_has(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend("")  # what it adds to the path goes away with this
    monkeypatch.chdir(EXAMPLES)
    names, printed, values = executed()
    audit, kept, law = [value for value in values if isinstance(value, go.Figure)]
    trace = names["trace"]
    step = names["step"]
    rules = {points.name: min(points.x) for points in audit.data}
    assert (
        max(rules[name] for name in ("tokenwise", "blockwise", "hsd"))
        < 1e-12
        < rules["hsd-released"]
    )
    assert list(kept.data[2].y) == [judged.kept for judged in trace.steps if judged.expected_kept]
    assert list(law.data[1].y) == step.kept_law["hsd"]
    assert "derived once more from drafts and coins alone: True" in "".join(printed)
    assert any(text.startswith(f"Step {step.index + 1} of ") for text in printed)


def test_the_notebook_is_kept_without_outputs():
    assert not any(cell["outputs"] or cell["execution_count"] for cell in CODE)
    assert len({cell["id"] for cell in NOTEBOOK["cells"]}) == len(NOTEBOOK["cells"])
