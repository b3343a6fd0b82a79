"""Write the page "Traces, for other programs": its tables from the records themselves, its example by running it.

python examples/reproduce/traces_page.py    # writes assets/docs/traces.md
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from pathlib import Path
from typing import Any

from pages import DOCS, write

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # so that this runs without installing the package

from hsd.trace import MAX_BYTES, Trace
from hsd.trace.run import SCHEMA_ID
from hsd.trace.values import Most

ROOT = Path(__file__).resolve().parents[2]
PAGE = DOCS / "traces.md"
EXAMPLE = "paris"
READING = """
import json

trace = json.load(open(FILE))
print(trace["setup"]["pair"], "·", trace["setup"]["options"]["rule"])
for step in trace["steps"][:4]:
    drafted = [node["piece"] for node in step["nodes"]]
    tests = [(test["threshold"], test["coin"]) for test in step["verdict"]["decisions"]]
    new = [(token["piece"], token["origin"]) for token in step["committed"]]
    print(drafted, [f"{coin:.2f} < {threshold:.2f}" for threshold, coin in tests], new)
""".strip()


def main() -> int:
    write(PAGE, page())
    return 0


def page() -> str:
    file = f"assets/traces/{EXAMPLE}.json"
    with contextlib.redirect_stdout(io.StringIO()) as read:
        exec(READING, {"FILE": ROOT / file})
    template = Path(__file__).with_suffix(".template.md").read_text(encoding="utf-8")
    return template.format(
        schema_id=SCHEMA_ID,
        reading=READING.replace("FILE", f'"{file}"'),
        example=EXAMPLE,
        read=read.getvalue().strip(),
        most_bytes=MAX_BYTES // 1_000_000,
        most_steps=f"{Most.STEPS:,}",
        most_nodes=f"{Most.NODES:,}",
        records=records(),
    )


def records() -> str:
    """A section per record, the whole first and every part where it is first used."""
    schema = Trace.schema_for_others()
    parts, order = {"Trace": schema, **schema["$defs"]}, ["Trace"]
    for name in order:
        order += dict.fromkeys(part for part in _named(parts[name]["properties"]) if part not in order)
    return "\n".join(section(name, parts[name]) for name in order)


def section(name: str, record: dict[str, Any]) -> str:
    words = "\n".join(" ".join(block.split()) + "\n" for block in record["description"].split("\n\n"))
    needed = record.get("required", ())
    rows = [
        f"| `{field}` | {kind(schema)} | {'' if field in needed else _usual(schema.get('default'))} |"
        for field, schema in record["properties"].items()
    ]
    return f"### {name}\n\n{words}\n| field | type | where absent |\n| --- | --- | --- |\n" + "\n".join(rows) + "\n"


def kind(schema: dict[str, Any]) -> str:
    """A field's type in a few words."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(kind(one) for one in schema["anyOf"]))
    if "const" in schema or "enum" in schema:
        return ", ".join(f"`{word}`" for word in schema.get("enum", [schema.get("const")]))
    if schema.get("type") == "array":
        return f"list of {kind(schema['items']).replace('number', 'numbers')}"
    if "additionalProperties" in schema:
        return f"{kind(schema['additionalProperties'])} by name"
    return {"integer": "whole number", "number": "number", "string": "text", "boolean": "true or false"}.get(
        schema["type"], schema["type"]
    )


def _usual(default: Any) -> str:
    return "as below, where absent" if isinstance(default, dict) and default else f"`{json.dumps(default)}`"


def _named(value: Any) -> list[str]:
    """The records that a schema refers to, in order."""
    if isinstance(value, dict):
        own = [value["$ref"].rpartition("/")[2]] if "$ref" in value else []
        return own + [name for inner in value.values() for name in _named(inner)]
    return [name for inner in value for name in _named(inner)] if isinstance(value, list) else []


if __name__ == "__main__":
    raise SystemExit(main())
