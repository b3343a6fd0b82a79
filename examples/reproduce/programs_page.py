"""Write the blocks of the page "For programs" about traces: their fields, and what the example that reads one prints.

python examples/reproduce/programs_page.py    # assets/docs/programs.md
"""

from __future__ import annotations

import contextlib
import io
import sys
from pathlib import Path
from typing import Any

from pages import DOCS, ROOT, table, write

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # so that this runs without installing the package

from hsd.trace import MAX_BYTES, Trace
from hsd.trace.run import SCHEMA_ID
from hsd.trace.values import Most

PAGE = DOCS / "programs.md"
FILE = "assets/traces/paris.json"
READING = f"""
import json

trace = json.load(open("{FILE}"))
print(trace["setup"]["pair"], "·", trace["setup"]["options"]["rule"])
for step in trace["steps"][:2]:
    tests = [(test["threshold"], test["coin"]) for test in step["verdict"]["decisions"]]
    new = [(token["piece"], token["origin"]) for token in step["committed"]]
    print([node["piece"] for node in step["nodes"]], [f"{{coin:.2f}} < {{bar:.2f}}" for bar, coin in tests], new)
""".strip()
PLAIN = {"integer": "int", "number": "number", "string": "text", "boolean": "bool", "null": "null"}


def main() -> int:
    write(PAGE, made())
    return 0


def made() -> dict[str, str]:
    """Return the blocks of the page."""
    with contextlib.redirect_stdout(io.StringIO()) as read:
        exec(READING.replace(FILE, str(ROOT / FILE)), {})
    limits = (
        f"The schema's `$id` is `{SCHEMA_ID}`; its last number is every file's `trace_version`, which grows when a "
        "field\nchanges its meaning or goes away. At most "
        f"{MAX_BYTES // 1_000_000} MB, {Most.STEPS:,} steps, {Most.NODES:,} drafted tokens in a step."
    )
    reading = f"```python\n{READING}\n```\n\n```text\n{read.getvalue().strip()}\n```"
    return {"limits": limits, "reading": reading, "fields": fields()}


def fields() -> str:
    """Return a table with a row per record, the whole first and every part where it is first used."""
    schema = Trace.schema_for_others()
    parts, order = {"Trace": schema, **schema["$defs"]}, ["Trace"]
    for name in order:
        order += dict.fromkeys(part for part in _named(parts[name]["properties"]) if part not in order)
    return table(["record", "fields"], [row(name, parts[name]) for name in order])


def row(name: str, record: dict[str, Any]) -> list[str]:
    """Return a record's name, and its fields with their types."""
    needed = record.get("required", ())
    told = (f"`{field}{'' if field in needed else '?'}:{kind(one)}`" for field, one in record["properties"].items())
    return [f"`{name}`", " ".join(told)]


def kind(schema: dict[str, Any]) -> str:
    """Return a field's type in one word."""
    if "$ref" in schema:
        return schema["$ref"].rpartition("/")[2]
    if "anyOf" in schema:
        return "/".join(dict.fromkeys(kind(one) for one in schema["anyOf"])).replace(
            "number/Infinity/-Infinity", "real"
        )
    if "const" in schema or "enum" in schema:
        return "/".join(f"{word}" for word in schema.get("enum", [schema.get("const")]))
    if schema.get("type") == "array":
        return f"{kind(schema['items'])}[]"
    if "additionalProperties" in schema:
        return f"{{text:{kind(schema['additionalProperties'])}}}"
    return PLAIN.get(schema["type"], schema["type"])


def _named(value: Any) -> list[str]:
    """The records that a schema refers to, in order."""
    if isinstance(value, dict):
        own = [value["$ref"].rpartition("/")[2]] if "$ref" in value else []
        return own + [name for inner in value.values() for name in _named(inner)]
    return [name for inner in value for name in _named(inner)] if isinstance(value, list) else []


if __name__ == "__main__":
    raise SystemExit(main())
