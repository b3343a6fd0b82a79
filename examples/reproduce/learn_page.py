"""Write the lessons, for the Learn tab and as the page "Learn".

    python examples/reproduce/learn_page.py

assets/lessons/learn.json is what the tab draws. The page has the same as one text, with answers and
folded questions written out, then common mistakes and their words. The texts are
assets/lessons/lessons.yaml and hsd/glossary.yaml; all numbers come from the recorded step and from
assets/results.
"""

from __future__ import annotations

import json
import re
from typing import Any

import lessons as learn

from hsd.facts import glossary
from hsd.paths import ASSETS, ROOT
from hsd.writing import write_file

# words that the lessons explain where they first stand: keys of hsd/glossary.yaml
WORDS = (
    "p q r coin threshold vanilla hsd branch excess deficient residual correction "
    "kept draft step prompt context"
)
IN_LESSONS = {*WORDS.split(), "draft-model", "target-call", "lossless", "token"}
PAGE = ROOT / "assets" / "docs" / "learn.md"
DATA = ASSETS / "lessons" / "learn.json"


def main() -> None:
    write_file(PAGE, page())
    write_file(DATA, data())


def data() -> str:
    """Return the JSON that the tab draws, with a line per lesson."""
    kinds = (f"{json.dumps(kind)}: {_lines(value)}" for kind, value in learn.content().items())
    return "{" + ",\n".join(kinds) + "}\n"


def _lines(value: Any) -> str:
    if not isinstance(value, list):
        return json.dumps(value, ensure_ascii=False)
    return "[\n" + ",\n".join(json.dumps(one, ensure_ascii=False) for one in value) + "\n]"


def page() -> str:
    trace = learn.trace()
    step = learn.step()
    prompt = " ".join(trace.prompt.text.split())
    opening = (
        "For whoever has never seen speculative decoding, and for whoever teaches it; fractions "
        "are enough.\n\n"
        "1. A small model drafts some tokens, and the large one reads all of them in one pass.\n"
        "2. Each is kept by a test with a random number, a coin, so that the text is still the "
        "large model's own.\n"
        "3. HSD tests whole beginnings of the draft: a token that is too likely makes up for one "
        "that is not.\n\n"
        "Ten lessons on one step of a real run: `?lesson=1` to `?lesson=10` in the app. The "
        "prompt was "
        f"“{prompt}” The text so far ends in “{learn.written()}”, and a small model has drafted "
        f"{', '.join(code(node.piece) for node in step.nodes)}. Written by `python "
        "examples/reproduce/learn_page.py`."
    )
    blocks = ["# Learn", opening, table(step)]
    for i, lesson in enumerate(learn.lessons(), start=1):
        blocks += [f"## {i}. {lesson['title']}", *one_lesson(lesson)]
    blocks += ["## Common mistakes", *map(entry, learn.entries("beliefs"))]
    blocks += ["## Words", "\n".join(map(word, used(" ".join(blocks))))]
    blocks.append(
        "The Learn tab ends with eleven questions that people ask, answered, and with notes for a "
        "talk; [ten "
        "addresses](use.md#a-lecturers-ten-minutes) to show."
    )
    return "\n\n".join(blocks) + "\n"


def used(text: str) -> list[dict[str, str]]:
    """Return the glossary's entries for words of a text that it does not explain itself."""
    words = (one for key, one in glossary().items() if key not in IN_LESSONS)
    return [one for one in words if re.search(rf"\b{re.escape(one['label'])}\b", text)]


def table(step: Any) -> str:
    """The step in numbers, one row per drafted token."""
    heads = ["place", "token", "p", "q", "ρ = p/q", "c", "coin"]
    rows = [heads, ["---"] * len(heads)]
    known = learn.numbers()
    for node in step.nodes:
        i = node.id
        c = known.get(f"c{i}", known[f"end{i}"])
        cells = (node.p, node.q, known[f"rho{i}"], c, node.coin)
        rows.append([str(i), code(node.piece), *(learn.number(float(x)) for x in cells)])  # type: ignore[arg-type]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def one_lesson(lesson: dict[str, Any]) -> list[str]:
    options = [text(option) for option in lesson["guess"].get("options", [])]
    choices = f" ({' / '.join(options)})" if options else ""
    return [
        text(lesson["text"]),
        f"**Guess:** {text(lesson['ask'])}{choices}",
        f"**Answer:** {text(lesson['answer'])}",
        f"**Think:** {text(lesson['think'])} *{text(lesson['fold'])}*",
    ]


def entry(one: dict[str, Any]) -> str:
    stop = "" if one["title"].endswith("?") else "."
    return f"**{one['title']}{stop}** {text(one['text'])} {code('?' + one['see']['query'])}"


def word(one: dict[str, str]) -> str:
    sign = f" ({one['sign']})" if one.get("sign", one["label"]) != one["label"] else ""
    return f"- **{one['label']}**{sign}: {one['words']}"


def text(parts: list[Any]) -> str:
    """Sentence parts as Markdown; a token in code, because its spaces count."""
    said = []
    for i, part in enumerate(parts):
        if isinstance(part, str):
            said.append(part)
        elif "piece" in part:
            beside = i and isinstance(parts[i - 1], dict) and "piece" in parts[i - 1]
            said.append((" " if beside else "") + code(part["piece"]))
        else:
            said.append(f"**{part['strong']}**" if "strong" in part else part["words"])
    return "".join(said)


def code(piece: str) -> str:
    """Format a token as Markdown code, with spaces at its ends made visible."""
    shown = piece.replace("\n", "⏎")
    if shown != shown.strip(" "):
        lead = len(shown) - len(shown.lstrip(" "))
        trail = len(shown) - len(shown.rstrip(" "))
        shown = "␣" * lead + shown.strip(" ") + "␣" * trail
    return f"`` {shown} ``" if "`" in shown else f"`{shown}`"


if __name__ == "__main__":
    main()
