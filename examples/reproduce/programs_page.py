"""Write the blocks of the page "For programs" about traces: limits, how to read one, its table.

    python examples/reproduce/programs_page.py

The page is assets/docs/programs.md.
"""

from __future__ import annotations

import contextlib
import io
import sys
from pathlib import Path

from pages import DOCS, ROOT, prose, table, write

# so that this runs without installing the package
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from hsd.trace import MAX_BYTES
from hsd.trace.run import SCHEMA_ID
from hsd.trace.table import COLUMNS, JUDGED
from hsd.trace.values import Most

PAGE = DOCS / "programs.md"
FILE = "assets/traces/paris.json"
READING = f"""
import json

trace = json.load(open("{FILE}", encoding="utf-8"))
print(trace["setup"]["pair"], "·", trace["setup"]["options"]["rule"])
for step in trace["steps"][:2]:
    tests = [(test["threshold"], test["coin"]) for test in step["verdict"]["decisions"]]
    new = [(token["piece"], token["origin"]) for token in step["committed"]]
    tokens = [node["piece"] for node in step["nodes"]]
    print(tokens, [f"{{coin:.2f}} < {{bar:.2f}}" for bar, coin in tests], new)
""".strip()


def main() -> int:
    write(PAGE, made())
    return 0


def made() -> dict[str, str]:
    """Return the blocks of the page."""
    with contextlib.redirect_stdout(io.StringIO()) as read:
        exec(READING.replace(FILE, str(ROOT / FILE)), {})
    limits = (
        f"The schema's `$id` is `{SCHEMA_ID}`; its last number is every file's `trace_version`, "
        "which grows when a field changes its meaning or goes away. "
        f"At most {MAX_BYTES // 1_000_000} MB, {Most.STEPS:,} steps, "
        f"{Most.NODES:,} drafted tokens in a step."
    )
    reading = f"```python\n{READING}\n```\n\n```text\n{read.getvalue().strip()}\n```"
    names = {name: words for name, words in COLUMNS.items() if not name.startswith("other_")}
    others = ", ".join(f"`other_{name}`" for name in JUDGED)
    lines = [[f"`{name}`", words] for name, words in names.items()]
    lines.append([others, "the same of the rule to compare with, on the same draft and coins"])
    columns = table(["column", "meaning"], lines)
    return {"limits": prose(limits), "reading": reading, "columns": columns}


if __name__ == "__main__":
    raise SystemExit(main())
