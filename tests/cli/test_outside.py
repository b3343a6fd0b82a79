"""What a server, a file or a model wrote reaches no terminal raw, and names no file elsewhere."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from recording_server import entries
from table_models import table_pair

from hsd.bench.report import markdown, read
from hsd.cli import main
from hsd.conform.words import junit
from hsd.errors import UNSEEN, HsdError, first_line, one_line, printable
from hsd.paths import RESULTS, ROOT, TRACES
from hsd.trace import Trace
from hsd.vllm import reader
from hsd.writing import file_name

HOSTILE = "a\x1b[2J\x9b1A\x07\u202eb\r\nhsd: all is well\n"
SPELLED = r"a\x1b[2J\x9b1A\x07\u202eb\r\nhsd: all is well\n"
NAMES = ["../escaped", "/tmp/escaped", "..", "", "a/b", "a\\b", "C:\\x", "CON", "nul.txt", ".x"]
NAMES += ["x" * 300, HOSTILE, "é", "a b", "-rf", "\ud800"]


def shown(text: str) -> str:
    """Return a text of the command, of which nothing may steer a terminal."""
    assert not [sign for sign in UNSEEN.findall(text) if sign not in "\n\t"]
    assert not re.search(r"^hsd: all is well", text, re.MULTILINE)
    return text


def test_control_characters_are_spelled_out_once():
    assert one_line(HOSTILE) == one_line(SPELLED) == SPELLED
    assert printable("a\tb\nc\x1b\r\u2028") == "a\tb\nc\\x1b\\r\\u2028"
    assert printable("🌟 café مرحبا · ≥") == "🌟 café مرحبا · ≥"
    assert str(HsdError(HOSTILE)) == SPELLED
    assert first_line(ValueError("\x1bone\ntwo")) == r"\x1bone"


@pytest.mark.parametrize("name", NAMES)
def test_a_name_from_outside_is_a_file_in_the_folder(name: str, tmp_path: Path):
    safe = file_name(name)
    assert re.fullmatch(r"[A-Za-z0-9_-]+", safe)
    assert len(safe) < 100
    assert file_name(name + "'") != safe
    (tmp_path / f"{safe}.json").write_text("")
    assert [path.name for path in tmp_path.iterdir()] == [f"{safe}.json"]


@pytest.mark.parametrize("name", ["cmpl-1", "chatcmpl-8a.0_b", "console"])
def test_a_plain_name_is_that_of_the_file(name: str):
    assert file_name(name) == name


def test_what_a_watched_server_names_is_saved_in_the_folder_and_printed_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    recorded = json.loads((TRACES / "leaves.json").read_text(encoding="utf-8"))
    recorded["result"]["text"] = HOSTILE
    for step in recorded["steps"]:
        step["expected_kept"] |= {HOSTILE: 1.0}
    trace = Trace.from_json(json.dumps(recorded))
    names = ["../escaped", HOSTILE]
    everything = [*chain(*(entries(trace, name) for name in names))]

    def answer(url: str, *_: object, **__: object) -> dict[str, Any]:
        return {"next": len(everything), "entries": everything if url.endswith("=0") else []}

    monkeypatch.setattr(reader, "json_of", answer)
    folder = tmp_path / "saved"
    folder.mkdir()
    words = ["watch", "http://localhost:8000", "--text", "--requests", "2", "--save", str(folder)]
    assert main(words) == 0
    out = shown(capsys.readouterr().out)
    assert f"{SPELLED}: " in out
    assert len(out.splitlines()) < 8
    assert [*tmp_path.iterdir()] == [folder]
    saved = [folder / f"{file_name(name)}.json" for name in names]
    assert sorted(folder.iterdir()) == sorted(saved)
    assert all(Trace.from_file(file) == trace for file in saved)


@pytest.mark.parametrize("entry", [{"request": 1}, {"request": None}, {"next": "é"}])
def test_a_server_that_names_nothing_is_one_line(
    entry: dict[str, Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    first = entries(Trace.from_file(TRACES / "leaves.json"))[0] | entry
    number = first.pop("next", 1)
    monkeypatch.setattr(reader, "json_of", lambda *_, **__: {"next": number, "entries": [first]})
    assert main(["watch", "http://localhost:8000", "--text"]) == 2
    assert "records in another form" in capsys.readouterr().err


def test_a_models_text_keeps_its_lines_and_loses_its_controls(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    pair = replace(table_pair(vocab=5, order=2, seed=4), name=HOSTILE)
    text = "one\n\ttwo\x1b]52;c;x\x07"
    monkeypatch.setattr("hsd.cli.run.load", lambda *_, **__: pair)
    monkeypatch.setattr(type(pair.codec), "decode", lambda _, ids: (text * 9)[: len(ids)])
    assert main(["run", "Once", "--max-new-tokens", "40"]) == 0
    out = shown(capsys.readouterr().out)
    assert r"\x1b]52;c;x\x07one" "\n\ttwo" in out
    assert main(["run", "Once", "--max-new-tokens", "40", "--json"]) == 0
    assert text in json.loads(shown(capsys.readouterr().out))["text"]


def test_a_servers_refusal_is_one_line(fake, capsys: pytest.CaptureFixture[str]):
    fake.models = [HOSTILE, "two"]
    assert main(["bench", "--pair", "tiny", "--server", fake.url]) == 2
    assert shown(capsys.readouterr().err).count("\n") == 1


def test_the_names_of_a_benchmark_make_no_line_and_no_cell(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    head, *lines = (RESULTS / "bench.jsonl").read_text(encoding="utf-8").splitlines()
    columns = len(markdown(read(RESULTS / "bench.jsonl")).splitlines()[2].split("|"))
    name = f"{HOSTILE}| 9 |"
    header = json.loads(head)
    quoted = json.dumps(header["cases"][-1]["name"])
    file = tmp_path / "bench.jsonl"
    changed = [line.replace(quoted, json.dumps(name)) for line in (head, *lines)]
    assert changed != [head, *lines]
    changed[0] = json.dumps(json.loads(changed[0]) | {"date": HOSTILE})
    file.write_text("\n".join(line for line in changed if '"view"' not in line), encoding="utf-8")
    assert main(["bench", "--report", str(file)]) == 0
    out = shown(capsys.readouterr().out)
    row = next(line for line in out.splitlines() if line.startswith("| a"))
    assert len(re.split(r"(?<!\\)\|", row)) == columns


def test_a_verdict_is_xml_whatever_it_quotes():
    result = {
        "adapter": HOSTILE,
        "seconds": 1,
        "pairs": {},
        "lossless": True,
        "cause": HOSTILE,
        "expected": "",
        "as_expected": None,
    }
    ElementTree.fromstring(printable(junit(result)))


def test_every_command_prints_by_the_function_that_spells_control_characters_out():
    """But what ends the program, progress, and a question about what this project publishes."""
    raw = {
        path.name: len(re.findall(r"(?<!\w)print\(", path.read_text(encoding="utf-8")))
        for path in (ROOT / "hsd" / "cli").glob("*.py")
    }
    several = {"__init__.py": 3, "arguments.py": 3, "fetch.py": 1}
    assert {name: count for name, count in raw.items() if count} == several
