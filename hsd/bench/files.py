"""Files of prompts, read by what is in them: plain text, JSON, JSON lines, CSV.

They are in Unicode, and packed by gzip or not.
"""

import csv
import gzip
import io
import json
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hsd.errors import HsdError
from hsd.paths import read_yaml

MOST = 200_000_000  # bytes, unpacked
KNOWN: dict[str, Any] = read_yaml(Path(__file__).with_suffix(".yaml"))
FIELDS: list[str] = KNOWN["fields"]
# how SPEED-Bench marks a prompt that its own script must fetch
UNRESOLVED = "FULL BENCHMARK DATA SHOULD BE FETCHED"
# how JSON begins, damaged or not
JSON_LIKE = re.compile(r'\s*(\{\s*"|\[\s*["\[{]|[\[{][ \t]*[\r\n])')

Rows = list[tuple[str, Any]]
"""Where a row stands ("line 3"), and the row: a text, an object, or a list of turns."""


def read_prompts(path: Path, category: str = "") -> tuple[str, list[str]]:
    """Return how a file was read, in words, and its prompts; see `prompts_in`.

    Raises HsdError as `read_rows` does.
    """
    form, rows = read_rows(path)
    about, texts = prompts_in(rows, category, repr(str(path)))
    return f"a file, read as {form}{about}", texts


def _category(row: Any) -> str:
    """Return the category of a row; "" if it has none."""
    kind = row.get("category") if isinstance(row, dict) else None
    return "" if kind is None else str(kind).strip()


def prompts_in(rows: Rows, category: str, name: str) -> tuple[str, list[str]]:
    """Return which part of the rows is the prompt, in words, and the prompts.

    Of a conversation the prompt is the user's first turn. category: only rows with this one. Raises
    HsdError, naming `name`, for a row without a prompt, or no row.
    """
    first: Any = rows[0][1] if rows else ""
    named = isinstance(first, dict)
    if category and not named:
        raise HsdError(f"{name} has plain lines, which have no category {category!r}: leave it out")
    kinds = [_category(row) for _, row in rows]
    own = [row for row, kind in zip(rows, kinds, strict=True) if category in ("", kind)]
    if rows and not own:
        known = ", ".join(sorted({*kinds} - {""}))
        remedy = f"choose {known}" if known else "leave it out, as no row has one"
        raise HsdError(f"{name} has no category {category!r}: {remedy}")
    field = next((one for one in FIELDS if named and one in first), "prompt")
    texts = []
    for place, row in own:
        try:
            texts.append(_prompt(row, field))
        except (AttributeError, LookupError, TypeError, UnicodeError, StopIteration):
            names = " or ".join(f'"{one}"' for one in dict.fromkeys(("prompt", field)))
            raise HsdError(
                f"{place} of {name} has no field {names} with a text: add or remove it"
            ) from None
        if texts[-1].startswith(UNRESOLVED):
            wanted = "prepare the file with the set's own script first"
            raise HsdError(f"{place} of {name} is a placeholder: {wanted}")
    many = isinstance(first.get(field) if named else first, list)
    return f", field {field!r}" * named + ", of each the user's first turn alone" * many, texts


def _prompt(row: Any, field: str) -> str:
    """Return the prompt in a row's `field`, or else in "prompt".

    Raises one of the errors that `prompts_in` catches.
    """
    text = _first_text(row.get(field) or row["prompt"] if isinstance(row, dict) else row)
    more = row.get("input") if field == "instruction" else ""
    return f"{text}\n\n{more}" if more else text


def _first_text(what: Any) -> str:
    """Return a text, the first text of several, or the user's first message in a conversation."""
    if isinstance(what, list):
        users = ("user", "human")
        texts = (part for part in what if not isinstance(part, dict) or _speaker(part) in users)
        return _first_text(next(texts))
    if isinstance(what, dict):
        what = next(what[name] for name in ("content", "value", "text") if name in what)
        what = "".join(part["text"] for part in what) if isinstance(what, list) else what
    what.encode()  # half a character is none
    return str(what)


def _speaker(message: dict[str, Any]) -> str:
    return str(message.get("role") or message.get("from") or "").lower()


def _is_talk(what: Any) -> bool:
    """Return whether a value is a list of messages, each with a role."""
    if not isinstance(what, list) or not what:
        return False
    return all(isinstance(message, dict) and _speaker(message) for message in what)


# ---- formats


def read_rows(path: Path) -> tuple[str, Rows]:
    """Return the name of the file's format and its rows.

    Raises HsdError, one line, for any other format.
    """
    with _file_errors(str(path)):
        text, about = _text(path, MOST)
        ending = path.name.lower().removesuffix(".gz").rpartition(".")[2]
        form, rows = _parsed(text, KNOWN["endings"].get(ending, ""))
        return form + about, [(place, _unwrapped(row)) for place, row in rows]


def _unwrapped(row: Any) -> Any:
    """Return a row with the fields of an inner object as its own.

    That is the "body" of a server request, or the "row" of a numbered row.
    """
    if isinstance(row, dict):
        for name in ("body", "row"):
            if isinstance(row.get(name), dict):
                return row | row[name]
    return row


def read_text(path: Path, most: int = MOST) -> str:
    """Return the text of a file of at most `most` bytes, in any encoding of Unicode.

    Raises HsdError, one line.
    """
    with _file_errors(path.name):
        return _text(path, most)[0]


@contextmanager
def _file_errors(name: str) -> Iterator[None]:
    """Turn the errors of reading and parsing a file into an HsdError of one line that names it."""
    try:
        yield
    except json.JSONDecodeError as error:
        raise HsdError(
            f"line {error.lineno} of {name!r} is not JSON: repair or remove it"
        ) from None
    except (OSError, EOFError, ValueError, RecursionError, csv.Error, zlib.error) as error:
        deep = "too many brackets within brackets" if isinstance(error, RecursionError) else ""
        why = deep or getattr(error, "strerror", None) or str(error)
        raise HsdError(f"cannot read {name!r}: {' '.join(why.split())[:200]}") from None


def _text(path: Path, most: int) -> tuple[str, str]:
    """Return a text file of at most `most` bytes, and its encoding and packing in words.

    The words are "" for plain UTF-8. Raises ValueError for any other file.
    """
    if not path.exists():
        raise ValueError("there is no such file")
    if path.is_dir():
        raise ValueError("it is a folder: give a file in it")
    if not path.is_file():
        raise ValueError("it is no regular file: save its contents to one")
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        data = gzip.GzipFile(fileobj=file).read(most + 1) if packed else file.read(most + 1)
    if len(data) > most:
        size = f"more than {most / 1e6:.0f} MB"
        raise ValueError(f"it has {size}: give its first lines in a file of their own")
    head = data[:64].removeprefix(b"\xef\xbb\xbf").lstrip().decode("latin-1").lower()
    for begin, kind in KNOWN["refused"].items():
        if head.startswith(begin.lower()):
            raise ValueError(f"it is {kind}")
    encoding = json.detect_encoding(data)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        text = "\0" * (b"\0" in data)
        if not text:
            raise ValueError(
                f"line {line} is not in UTF-8, but perhaps in Latin-1: save the file as UTF-8"
            ) from None
    if "\0" in text:
        raise ValueError("it is a binary file: give text, JSON, JSON lines or CSV")
    return text, ("" if "8" in encoding else f", {encoding.upper()}") + ", packed by gzip" * packed


def _parsed(text: str, ending: str) -> tuple[str, Rows]:
    """Return the name of a text's format and its rows.

    Raises ValueError or csv.Error for one that is damaged.
    """
    lines = [
        (f"line {n}", line)
        for n, line in enumerate(re.split(r"\r\n|\r|\n", text), start=1)
        if line.strip()
    ]
    if not lines:
        return "plain text", []
    if ending in ("YAML", "TOML"):
        raise ValueError(f"it is {ending}: save it as JSON lines, CSV or text")
    header = lines[0][1]
    if ending != "JSON" and len(header) < 10_000:
        table = _table(text, header, ending == "CSV")
        if table:
            return table
    try:
        return _json(text, lines)
    except json.JSONDecodeError:
        if ending == "JSON" or JSON_LIKE.match(text):
            raise
    for place, line in lines:
        if JSON_LIKE.match(line) and line.rstrip().endswith(("}", "]")):
            mixed = f"{place} looks like JSON, and {lines[0][0]} does not"
            raise ValueError(f"{mixed}: give all of them in one form")
    return "plain text, a prompt per line", lines


def _json(text: str, lines: Rows) -> tuple[str, Rows]:
    """Read JSON lines, several JSON values, or one value with a list of rows.

    Raises json.JSONDecodeError.
    """
    values = list[Any]()
    end = 0
    while begin := re.compile(r"[^ \t\r\n]").search(text, end):
        try:
            value, end = json.JSONDecoder().raw_decode(text, begin.start())
        except json.JSONDecodeError as error:
            # in a later value its own line, as the damage shows perhaps in the next line
            raise json.JSONDecodeError("", text, begin.start()) if values else error from None
        values.append(value)
    if len(values) == len(lines) > 1:
        places = [place for place, _ in lines]
        return "JSON lines", list(zip(places, values, strict=True))
    if len(values) > 1:
        numbered = [(f"value {n}", value) for n, value in enumerate(values, start=1)]
        return "JSON, one value after the other", numbered
    return "JSON", [(f"entry {n}", row) for n, row in enumerate(_rows_in(values[0]), start=1)]


def _rows_in(whole: Any) -> list[Any]:
    """Return the rows of one JSON value.

    These are a list's entries, those of an object's only list, or the object itself.
    """
    if not isinstance(whole, dict):
        return [whole] if _is_talk(whole) or not isinstance(whole, list) else whole
    columns = {
        k: [*v.values()] if isinstance(v, dict) and all(map(str.isdigit, v)) else v
        for k, v in whole.items()
    }
    own = next((name for name in FIELDS if name in columns), "")
    if own == "turns" or "body" in columns:
        return [whole]
    if own and (not isinstance(columns[own], list) or _is_talk(columns[own])):
        return [whole]
    lists = {
        name: rows
        for name, rows in columns.items()
        if isinstance(rows, list) and rows and name in (own or name)
    }
    if len(lists) > 1 and all(isinstance(one, str) for rows in lists.values() for one in rows):
        return [{"prompt": one, "category": name} for name, rows in lists.items() for one in rows]
    if len(lists) != 1:
        raise ValueError(f"this JSON has {len(lists) or 'no'} lists of prompts: give one list")
    return next(iter(lists.values()))


def _table(text: str, header: str, sure: bool) -> tuple[str, Rows] | None:
    """Read a table whose header names a column of `FIELDS`.

    Returns None for other text, or raises ValueError if it is `sure` to be a table.
    """
    for delimiter in KNOWN["tables"]:
        names = [name.strip().lower() for name in next(csv.reader([header], delimiter=delimiter))]
        if {*FIELDS} & {*names}:
            break
    else:
        if sure:
            usual = ", ".join(FIELDS[1:2] + FIELDS[5:9])
            raise ValueError(f"its header names no column of prompts: call one {usual}")
        return None
    file = io.StringIO(text.lstrip("\r\n"), newline="")
    table = csv.reader(file, delimiter=delimiter, strict=True)
    rows = [(f"row {number}", cells) for number, cells in enumerate(filter(None, table))][1:]
    for place, cells in rows:
        if len(cells) != len(names):
            if not sure and re.search(r"\w \w", header):  # a sentence with a comma
                return None
            wrong = f"{place} has {len(cells)} cells and the header {len(names)}"
            raise ValueError(f"{wrong}: put texts into quotes")
    named = [(place, dict(zip(names, cells, strict=True))) for place, cells in rows]
    return KNOWN["tables"][delimiter], named
