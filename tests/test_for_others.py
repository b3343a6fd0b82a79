"""What others build on: the schema of traces and the page about it, data sets of traces, how to
cite this.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pages
import programs_page
import pytest
import yaml
from example_script import example_script
from loops import for_each

from hsd.cli import main
from hsd.errors import HsdError
from hsd.paths import ROOT, TRACES
from hsd.trace import Trace
from hsd.version import __version__

RECORDED = sorted(TRACES.glob("*.json"))


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    return Trace.schema_for_others()


def test_the_schema_that_the_command_prints_names_itself_and_its_version(
    capsys: pytest.CaptureFixture[str],
):
    assert main(["schema"]) == 0
    printed = json.loads(capsys.readouterr().out)
    jsonschema.Draft202012Validator.check_schema(printed)
    assert printed["$schema"] == jsonschema.Draft202012Validator.META_SCHEMA["$id"]
    assert printed["$id"].endswith(f":trace:{Trace.model_fields['trace_version'].default}")


@for_each("file", RECORDED, ids=lambda file: file.stem, every=6)
def test_what_is_saved_keeps_to_the_schema(file: Path, schema: dict[str, Any]):
    saved = json.loads(Trace.from_json(file.read_bytes()).to_json())
    assert [
        error.message for error in jsonschema.Draft202012Validator(schema).iter_errors(saved)
    ] == []


def test_an_infinite_number_keeps_to_the_schema_and_other_words_do_not(schema: dict[str, Any]):
    saved = json.loads((TRACES / "fsd-all.json").read_bytes())
    validator = jsonschema.Draft202012Validator(schema)
    fuzzy = saved["setup"]["options"]["fuzzy"]
    for word, fits in (
        ("Infinity", True),
        ("-Infinity", True),
        (0.5, True),
        ("much", False),
        (None, False),
    ):
        fuzzy["tolerance"] = word
        assert validator.is_valid(saved) is fits, word


@pytest.mark.parametrize(
    ("where", "value"),
    [("trace_version", 3), ("steps", {}), ("unknown", 1), ("app_version", 7)],
)
def test_the_schema_refuses_what_is_no_trace(where: str, value: Any, schema: dict[str, Any]):
    saved = json.loads(RECORDED[0].read_bytes())
    saved[where] = value
    assert not jsonschema.Draft202012Validator(schema).is_valid(saved)
    with pytest.raises(HsdError):
        Trace.from_json(json.dumps(saved))


def test_the_page_for_programs_says_of_traces_what_its_script_writes():
    assert pages.blocks(programs_page.PAGE) == programs_page.made(), (
        "run python examples/reproduce/programs_page.py"
    )


def rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def test_a_folder_of_traces_becomes_a_data_set(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    folder = tmp_path / "mine"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "one.json").write_bytes((TRACES / "four-drafts.json").read_bytes())
    (folder / "two.json").write_bytes((TRACES / "plain.json").read_bytes())
    (folder / "other.json").write_text("{}", encoding="utf-8")
    script = example_script("hub_dataset")
    out = tmp_path / "out"
    assert script.make(folder, out, "mit", "Some runs") == "2 runs"
    assert "other.json" in capsys.readouterr().err
    runs = rows(out / "runs.jsonl")
    drafted = rows(out / "drafted.jsonl")
    trace = Trace.from_json((out / "traces" / "deep-one.json").read_bytes())
    assert [run["trace"] for run in runs] == ["deep-one.json", "two.json"]
    assert runs[0]["text"] == trace.text
    assert runs[0]["kept"] == trace.stats()["kept"]
    for step in trace.steps:
        mine = [row for row in drafted if row["step"] == step.index]
        assert [row["token"] for row in mine] == [node.token for node in step.nodes]
        assert [row["token"] for row in mine if row["kept"]] == step.tokens[: step.kept]
    front, _, words = (
        (out / "README.md").read_text(encoding="utf-8").removeprefix("---\n").partition("\n---\n")
    )
    assert yaml.safe_load(front)["license"] == "mit"
    assert {part["data_files"] for part in yaml.safe_load(front)["configs"]} == {
        "runs.jsonl",
        "drafted.jsonl",
    }
    assert "2 runs" in words


def test_a_data_set_that_cannot_be_made_says_why(tmp_path: Path):
    script = example_script("hub_dataset")
    with pytest.raises(HsdError, match=r"no traces in .*: give a folder"):
        script.make(tmp_path, tmp_path / "out", "mit", "Nothing")
    (tmp_path / "traces").mkdir()
    with pytest.raises(HsdError, match="is there already: give the name of a new folder"):
        script.make(TRACES, tmp_path, "mit", "Twice")


def test_the_citation_is_of_this_version():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert (cited["version"], cited["license"], cited["type"]) == (__version__, "MIT", "software")
    assert cited["authors"]
    assert cited["title"].startswith("hsd")
