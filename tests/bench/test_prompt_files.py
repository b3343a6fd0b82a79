"""Files of prompts in the forms that people have them: read as what they are, which is said, or
refused by name.
"""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest
from loops import for_each

from hsd import HsdError
from hsd.bench import files, prompt_set

TWO = ["Why is the sky blue?", "Two and two?"]
BOM = "\ufeff"


def lines(*rows: Any) -> str:
    return "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)


def said(role: str, text: Any, who: str = "role", what: str = "content") -> dict[str, Any]:
    return {who: role, what: text}


TALK = [
    said("system", "Be short."),
    said("user", TWO[0]),
    said("assistant", "Light."),
    said("user", "And red?"),
]
SHARED = [said("human", TWO[0], "from", "value"), said("gpt", "Light.", "from", "value")]
PARTS = [
    said("user", [{"type": "text", "text": "Why is "}, {"type": "text", "text": "the sky blue?"}])
]
OBJECTS = [{"prompt": text, "id": i} for i, text in enumerate(TWO)]
QUESTIONS = [{"id": "a", "question": text, "answer": "4"} for text in TWO]


FORMS: dict[str, tuple[str, str]] = {  # what is in the file, and what it is read as
    "plain text": (f"{TWO[0]}\n\n  \n{TWO[1]}\n", "plain text, a prompt per line"),
    "plain text of Windows, with a mark": (f"{BOM}{TWO[0]}\r\n{TWO[1]}\r\n", "plain text"),
    "JSON lines": (lines(*OBJECTS), "JSON lines, field 'prompt'"),
    "JSON lines with a mark": (BOM + lines(*OBJECTS), "JSON lines"),
    "JSON lines with blank lines": (
        "\n" + lines(*OBJECTS).replace("\n", "\n\n \n") + "\n\n",
        "JSON lines",
    ),
    "JSON lines of Windows": (lines(*OBJECTS).replace("\n", "\r\n") + "\r\n", "JSON lines"),
    "JSON lines of texts": (lines(*TWO), "JSON lines"),
    "questions": (lines(*QUESTIONS), "JSON lines, field 'question'"),
    "an array of texts": (json.dumps(TWO), "JSON"),
    "an array of objects, with breaks": (json.dumps(OBJECTS, indent=2), "JSON, field 'prompt'"),
    "an object with a list": (
        json.dumps({"version": 1, "data": QUESTIONS}),
        "JSON, field 'question'",
    ),
    "an object with prompts": (json.dumps({"prompts": TWO}, indent=1), "JSON"),
    "a column": (json.dumps({"prompt": TWO}), "JSON"),
    "columns of a data frame": (
        json.dumps({"prompt": dict(enumerate(TWO)), "n": {"0": 1, "1": 2}}),
        "JSON",
    ),
    "a page of rows": (
        json.dumps({"rows": [{"row_idx": i, "row": one} for i, one in enumerate(OBJECTS)]}),
        "JSON",
    ),
    "objects one after the other": (
        "\n".join(json.dumps(one, indent=2) for one in OBJECTS),
        "one value after the",
    ),
    "CSV": (f"id,prompt\n1,{TWO[0]}\n2,{TWO[1]}\n", "CSV, field 'prompt'"),
    "CSV of Windows, with a mark": (
        f'{BOM}"Prompt","n"\r\n"{TWO[0]}",1\r\n\r\n"{TWO[1]}",2\r\n',
        "CSV",
    ),
    "CSV of one column": (f'question\n"{TWO[0]}"\n"{TWO[1]}"\n', "CSV, field 'question'"),
    "CSV with semicolons": (
        f"text;n\n{TWO[0]};1\n{TWO[1]};2\n",
        "CSV with semicolons, field 'text'",
    ),
    "TSV": (f"n\tinstruction\n1\t{TWO[0]}\n2\t{TWO[1]}\n", "TSV, field 'instruction'"),
    "messages": (
        lines({"messages": TALK}, {"messages": [said("user", TWO[1])]}),
        "the user's first turn alone",
    ),
    "messages in parts": (
        lines({"messages": PARTS}, {"messages": [said("user", TWO[1])]}),
        "field 'messages'",
    ),
    "conversations": (
        lines({"id": 1, "conversations": SHARED}, {"conversations": [said("user", TWO[1])]}),
        "field",
    ),
    "a prompt of messages": (
        lines({"prompt": TALK}, {"prompt": [said("user", TWO[1])]}),
        "field 'prompt', of each",
    ),
    "turns": (
        lines(*({"turns": [text, "More?"]} for text in TWO)),
        "field 'turns', of each the user's first turn",
    ),
    "talks without names": (
        lines(TALK, [said("user", TWO[1])]),
        "JSON lines, of each the user's first turn alone",
    ),
    "requests to a server": (
        lines(
            *(
                {"custom_id": "a", "body": {"model": "m", "messages": [said("user", text)]}}
                for text in TWO
            )
        ),
        "field 'messages'",
    ),
    "instructions without input": (
        lines(*({"instruction": text, "input": ""} for text in TWO)),
        "field 'instruction'",
    ),
}


@for_each("packed", [False, True])
@for_each("ending", ["", ".txt", ".gz"])
@for_each("form", FORMS)
def test_a_file_is_read_as_what_it_is_and_says_so(
    form: str, ending: str, packed: bool, tmp_path: Path
):
    text, words = FORMS[form]
    file = tmp_path / f"mine{ending}"
    file.write_bytes((gzip.compress if packed else bytes)(text.encode()))
    found = prompt_set(str(file))
    assert found.prompts == TWO
    assert found.source.startswith("a file, read as ")
    assert words in found.source.replace(", packed by gzip", "")
    assert packed == ("packed by gzip" in found.source)


@for_each("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
@for_each("form", ["plain text", "JSON lines", "CSV"])
def test_other_encodings_of_unicode_are_read_and_named(form: str, encoding: str, tmp_path: Path):
    (tmp_path / "mine").write_bytes(FORMS[form][0].encode(encoding))
    found = prompt_set(str(tmp_path / "mine"))
    assert found.prompts == TWO
    assert encoding.upper()[:6] in found.source


@for_each("between", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c"])
def test_only_line_feeds_end_a_line(between: str, tmp_path: Path):
    text = f"one{between}two"
    for name, whole in {
        "a": f"{text}\nlast",
        "b": lines({"prompt": text}, {"prompt": "last"}),
        "c": json.dumps([text, "last"]),
    }.items():
        (tmp_path / name).write_text(whole, encoding="utf-8", newline="")
        assert prompt_set(str(tmp_path / name)).prompts == [text, "last"]


def test_cells_have_commas_quotes_and_line_breaks(tmp_path: Path):
    (tmp_path / "m.csv").write_text('id,prompt\n1,"Say ""a"",\nthen b"\n2,"c, d"\n')
    assert prompt_set(str(tmp_path / "m.csv")).prompts == ['Say "a",\nthen b', "c, d"]


def test_an_instruction_has_its_input_below_it(tmp_path: Path):
    (tmp_path / "m").write_text(
        lines({"instruction": "Sum up.", "input": "A text.", "output": "T."})
    )
    assert prompt_set(str(tmp_path / "m")).prompts == ["Sum up.\n\nA text."]


def test_lists_with_names_are_categories(tmp_path: Path):
    (tmp_path / "m.json").write_text(json.dumps({"a": ["one", "two"], "b": ["three"]}))
    assert prompt_set(str(tmp_path / "m.json")).prompts == ["one", "two", "three"]
    assert prompt_set(f"{tmp_path / 'm.json'}:b").prompts == ["three"]


PLAIN = [
    "{name}, write a poem.",
    "{{name}} is a template",
    "[INST] Hello [/INST]",
    "[1] is a number",
    "(a) say, b",
    '"To be or not to be", said who?',
    "# A heading",
    "- a point",
    "x = {1, 2}",
    "42",
    "null",
    "Translate, text, question: all of it",
    "{ is a brace",
]


@for_each("first", PLAIN)
def test_plain_prompts_that_look_like_something_else_are_plain(first: str, tmp_path: Path):
    (tmp_path / "m.txt").write_text(f"{first}\nAnd another one, of words\n")
    found = prompt_set(str(tmp_path / "m.txt"))
    assert found.prompts == [first, "And another one, of words"]
    assert found.source == "a file, read as plain text, a prompt per line"


BINARY = {
    b"PK\x03\x04rest": "a ZIP archive or a spreadsheet",
    b"PAR1\x15\x04": "a Parquet file",
    b"%PDF-1.7\n": "a PDF",
    b"\xd0\xcf\x11\xe0\xa1": "an office program",
    b"SQLite format 3\x00": "a database",
    b"\x28\xb5\x2f\xfd\x04": "packed by zstd",
    b"BZh91AY": "packed by bzip2",
    b"{\\rtf1 hello}": "an RTF document",
    b"\n<!DOCTYPE html><p>a": "a web page",
    b"<?xml version='1.0'?>": "XML",
    b"\x00\x01\x02\xff\xfe": "a binary file",
    b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR": "a binary file",
    "caf\xe9\nna\xefve".encode(
        "latin-1"
    ): "line 1 is not in UTF-8, but perhaps in Latin-1: save the file as UTF-8",
    b"good\n\xff": "line 2 is not in UTF-8",
    b"\x1f\x8b\x08\x00cut off": "cannot read",
    gzip.compress(b"one\ntwo", mtime=0)[:-4]: "cannot read",
    gzip.compress(gzip.compress(b"one", mtime=0), mtime=0): "packed twice by gzip",
    gzip.compress(b"PK\x03\x04", mtime=0): "a ZIP archive",
}


@for_each("data", BINARY, ids=lambda data: data[:10].hex())
def test_what_is_no_text_is_refused_by_name(data: bytes, tmp_path: Path):
    (tmp_path / "mine.jsonl").write_bytes(data)
    with pytest.raises(HsdError, match=BINARY[data]) as told:
        prompt_set(str(tmp_path / "mine.jsonl"))
    assert "mine.jsonl" in str(told.value)
    assert "\n" not in str(told.value)


DEEP = {
    "deep": "[" * 200_000,
    "deep objects": '{"prompt":' * 100_000,
    "many digits": '{"prompt": 1' + "0" * 5_000 + "}",
}


@for_each(
    ("name", "text", "words"),
    [
        ("a.jsonl", '{"prompt": "a"}\n{"prompt": "b"', "line 2 of .* is not JSON"),
        ("a.txt", '{"prompt": "a"}\n\n{"prompt": "b"', "line 3 of .* is not JSON"),
        ("a.json", '[\n  "a",\n  "b"\n', "line . of .* is not JSON"),
        ("a.txt", '{\n "prompt": "a",\n}', "line . of .* is not JSON"),
        ("a.json", "Once upon a time", "line 1 of .* is not JSON"),
        ("a.txt", 'Hello\n{"prompt": "a"}', "line 2 looks like JSON, and line 1 does not"),
        ("a.json", "deep", "too many brackets"),
        ("a.txt", "deep objects", "too many brackets"),
        ("a.json", '{"a": 1}', "no lists of prompts"),
        ("a.json", '{"data": [{"a": 1}]}', 'entry 1 of .* has no field "prompt"'),
        ("a.json", '{"a": [{"x": 1}], "b": [2]}', "2 lists of prompts"),
        ("a.json", '["a", 7]', 'entry 2 of .* has no field "prompt" with a text'),
        ("a.json", "7", 'entry 1 of .* has no field "prompt"'),
        ("a.json", "[]", "is empty"),
        ("a.json", '["\\ud83d"]', "entry 1"),
        ("a.json", '[{"prompt": "a"}, {"prompt": null}]', 'entry 2 of .* has no field "prompt"'),
        ("a.jsonl", lines({"messages": [said("system", "Be short.")]}), "line 1|entry 1"),
        (
            "a.jsonl",
            lines({"messages": [said("user", [{"type": "image_url", "image_url": "x"}])]}),
            "entry 1",
        ),
        (
            "a.csv",
            "id,words\n1,a\n",
            "its header names no column of prompts: call one prompt, question",
        ),
        ("a.csv", "id,prompt\n1,a\n2,b,c\n", "row 2 has 3 cells and the header 2"),
        ("a", "prompt\na, b\n", "row 1 has 2 cells and the header 1"),
        ("a.csv", 'prompt\n"a', "cannot read"),
        ("a.yaml", "- one\n- two\n", "it is YAML"),
        ("a.csv", "", "is empty"),
        ("a", BOM, "is empty"),
        ("a", "many digits", "entry 1|cannot read"),
    ],
)
def test_a_damaged_file_is_refused_in_one_line(name: str, text: str, words: str, tmp_path: Path):
    (tmp_path / name).write_text(DEEP.get(text, text), encoding="utf-8", newline="")
    with pytest.raises(HsdError, match=words) as told:
        prompt_set(str(tmp_path / name))
    assert "\n" not in str(told.value)
    assert len(str(told.value)) < 500


def test_what_is_no_file_is_refused_without_being_read(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")  # reading it would wait for ever
    with pytest.raises(HsdError, match=r"pipe.*: it is no regular file"):
        prompt_set(str(tmp_path / "pipe"))
    with pytest.raises(HsdError, match="it is a folder: give a file in it"):
        prompt_set(str(tmp_path))
    with pytest.raises(HsdError, match="it is no regular file"):
        prompt_set("/dev/zero")
    with pytest.raises(HsdError, match="unknown prompt set"):
        prompt_set("a" * 5_000)


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read everything")
def test_a_file_that_may_not_be_read_is_refused(tmp_path: Path):
    (tmp_path / "mine").write_text("one")
    (tmp_path / "mine").chmod(0)
    with pytest.raises(HsdError, match="Permission denied"):
        prompt_set(str(tmp_path / "mine"))


def test_too_large_a_file_is_refused_packed_or_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(files, "MOST", 1_000)
    for name, data in {"a": b"x" * 1_001, "b": gzip.compress(b"x" * 1_000_000)}.items():
        (tmp_path / name).write_bytes(data)
        with pytest.raises(HsdError, match=r"more than .* MB: give its first lines"):
            prompt_set(str(tmp_path / name))
