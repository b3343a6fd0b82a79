"""The types of the page's data, `hsd/web/types.d.ts`, made from the JSON Schema of a trace, from
`facts.json`, and from the facts that sentences may name.

`make types` writes the file; a test holds it to what this makes.
"""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

from engine import NODE
from pydantic import TypeAdapter

from hsd import trace
from hsd.facts import facts
from hsd.paths import WEB
from hsd.trace import verdict
from hsd.trace.facts import SAID_OF

FILE = WEB / "types.d.ts"
TOOL = Path(__file__).parents[2] / "node_modules/json-schema-to-typescript/dist/src/cli.js"
BANNER = (
    "// Types of traces and facts, made by `make types` from hsd/trace and facts.json: do not edit."
)
Schema = dict[str, Any]
# their numbers are options, none of which may be infinite
FINITE = {"Draft", "Sampling", "Fuzzy", "SetupOptions"}
RENAMED = {"Node": "TreeNode", "Event": "LevelEvent"}  # which browsers have by these names too
LEFT_OUT = {
    "$id",
    "$schema",
    "title",
    "description",
    "properties",
    "minItems",
    "maxItems",
    "propertyNames",
}

# A place in the facts is the names that lead there, with "*" for a place in a list and for any name
# of a map.
MAPS = {
    "rules.*.modes",
    "forms",
    "forms.*.along",
    "letters",
    "glossary",
    "options.properties",
    "options.old",
}
MAPS |= {"options.properties.*.when", "sentences", "sentences.*"}
NAMED = {  # place → the name of its type
    "rules.*": "RuleFacts",
    "rules.*.recipe": "Recipe",
    "rules.*.cold.recipe": "Recipe",
    "rules.*.modes.*": "Recipe",
    "rules.*.knob": "Knob",
    "layouts.*": "LayoutFacts",
    "divergences.*": "DivergenceFacts",
    "systems.*": "SystemFacts",
    "forms.*": "Form",
    "letters.*": "Letter",
    "glossary.*": "GlossaryEntry",
    "options": "OptionsSchema",
    "options.properties.*": "OptionSchema",
}
EXPRESSIONS = {
    "forms.*.threshold",
    "forms.*.along.*",
    "forms.*.when",
    "forms.*.also.*",
}
EXPRESSIONS |= {
    f"rules.*.{at}.{name}"
    for at in ("recipe", "modes.*", "cold.recipe")
    for name in ("a", "b", "inner")
}


def page_types() -> str:
    """The TypeScript of all types, by the package json-schema-to-typescript."""
    options = [
        "--additionalProperties=false",
        "--ignoreMinAndMaxItems",
        f"--bannerComment={BANNER}",
    ]
    command = [str(NODE), str(TOOL), *options]
    done = subprocess.run(
        command, input=json.dumps(schema()), capture_output=True, text=True, check=True
    )
    # known in all modules without an import
    return re.sub(r"^export ", "", done.stdout, flags=re.MULTILINE)


def schema() -> Schema:
    """One JSON Schema with a trace and the facts."""
    of_trace = trace.Trace.schema_for_others()
    known = {"Trace": of_trace, **of_trace.pop("$defs")}
    for name, one in list(known.items()):
        fields = getattr(getattr(trace, name, getattr(verdict, name, None)), "model_fields", {})
        required = [
            n for n in one.get("properties", {}) if n not in fields or not fields[n].exclude_if
        ]
        known[name] = {**_plain(one, finite=name in FINITE), "required": required}
    known = {
        RENAMED.get(name, name): {**one, "title": RENAMED.get(name, name)}
        for name, one in known.items()
    }
    known["Real"] = {"tsType": 'number | "Infinity" | "-Infinity"', "title": "Real"}
    known["Expression"] = {"tsType": "number | string | Expression[]", "title": "Expression"}
    known["Facts"] = _described([facts()], (), known)
    known |= said()
    both = {
        name: {"$ref": f"#/$defs/{name}"}
        for name in ("Trace", "Facts", "Said", "Expression", "Real")
    }
    return {
        "title": "PageData",
        "type": "object",
        "properties": both,
        "required": list(both),
        "$defs": known,
    }


def said() -> Schema:
    """The schemas of the facts of sentences, and of `Said`: each sentence that is said by itself →
    its facts.
    """
    records = {name: TypeAdapter(record).json_schema() for name, record in SAID_OF.items()}
    known = {}
    for record in records.values():
        known |= record.pop("$defs", {}) | {record["title"]: record}
    of_sentences = {
        name: {"$ref": f"#/$defs/{record['title']}"} for name, record in records.items()
    }
    known["Said"] = {
        "title": "Said",
        "type": "object",
        "properties": of_sentences,
        "required": list(of_sentences),
    }
    return {name: {**_plain(record), "title": name} for name, record in known.items()}


def _plain(part: Any, finite: bool = False) -> Any:
    """The part of a schema that is types: what has a name stands by that alone, and limits and
    words are left out.
    """
    if isinstance(part, list):
        return [_plain(one, finite) for one in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part:
        name = part["$ref"].rpartition("/")[2]
        return {"$ref": f"#/$defs/{RENAMED.get(name, name)}"}
    if "Infinity" in str(part.get("anyOf", [{}])[-1].get("enum")):
        return {"type": "number"} if finite else {"$ref": "#/$defs/Real"}
    kept = {name: _plain(one, finite) for name, one in part.items() if name not in LEFT_OUT}
    if "properties" in part:
        kept["properties"] = {name: _plain(one, finite) for name, one in part["properties"].items()}
    return kept


def _described(values: list[Any], place: tuple[str, ...], known: Schema) -> Schema:
    """The schema of what all these values are, which stand at the same place; named types are added
    to `known`.
    """
    at = ".".join(place)
    found = [value for value in values if value is not None]
    kinds: list[Schema] = [{"type": "null"}] if len(found) < len(values) else []
    if at in EXPRESSIONS:
        return (
            {"anyOf": [{"$ref": "#/$defs/Expression"}, *kinds]}
            if kinds
            else {"$ref": "#/$defs/Expression"}
        )
    dicts = [value for value in found if isinstance(value, dict)]
    lists = [value for value in found if isinstance(value, list | tuple)]
    if dicts:
        kinds.append(_of_objects(dicts, place, known))
    if lists:
        kinds.append(
            {
                "type": "array",
                "items": _described([x for one in lists for x in one], (*place, "*"), known),
            }
        )
    names = {bool: "boolean", int: "number", float: "number", str: "string"}
    kinds += [
        {"type": name} for name in sorted({names[type(x)] for x in found if type(x) in names})
    ]
    return kinds[0] if len(kinds) == 1 else {"anyOf": kinds} if kinds else {}


def _of_objects(values: list[dict[str, Any]], place: tuple[str, ...], known: Schema) -> Schema:
    if ".".join(place) in MAPS:
        each = _described([x for one in values for x in one.values()], (*place, "*"), known)
        return {"type": "object", "additionalProperties": each}
    names = dict.fromkeys(name for one in values for name in one)
    parts = {
        name: _described([one[name] for one in values if name in one], (*place, name), known)
        for name in names
    }
    required = [name for name in names if all(name in one for one in values)]
    made = {"type": "object", "properties": parts, "required": required}
    name = NAMED.get(".".join(place))
    if not name:
        return made
    known[name] = {"title": name, **(known[name] if name in known and len(values) < 5 else made)}
    return {"$ref": f"#/$defs/{name}"}


if __name__ == "__main__":
    FILE.write_text(page_types(), encoding="utf-8")
