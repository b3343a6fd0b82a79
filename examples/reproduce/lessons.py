"""The lessons of the Learn tab with their numbers filled in: from the recorded step, from
`assets/results`, and by exact enumeration. `learn_page.py` writes them down, once for the app and
once as a page.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import torch
import yaml

# so that this runs without installing the package
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from hsd.audit import output_law, target_law, total_variation
from hsd.conform.judge import rows_models
from hsd.errors import HsdError
from hsd.facts import glossary
from hsd.paths import ASSETS, RESULTS, TRACES
from hsd.rules import RULES
from hsd.trace import Step, Trace

Part = str | dict[str, str]
"""Of a sentence, as `prose` in hsd/web/kit/dom.js takes it: text, {piece}, {strong}, or {term,
words}.
"""

MARKS = re.compile(r"\[\[([\w-]+)(?:\|([^\]]+))?\]\]|\*\*(.+?)\*\*|\{(\w+)\}")
LAB_RULES = ("tokenwise", "hsd")
WIDTHS = (1, 2, 6, 11)  # passes that are drawn


@dataclass(frozen=True)
class Piece:
    """A token among the numbers, which the page shows as a token."""

    text: str


Numbers = Mapping[str, float | int | str | Piece]

# ---- numbers and sentences


def number(x: float) -> str:
    """Three significant digits, as the page has them."""
    if x == 0 or x >= 0.001:
        return f"{float(f'{x:.3g}'):g}" if x < 1e4 else f"{x:,.0f}"
    return "<.001"


def parts(text: str, numbers: Numbers) -> list[Part]:
    """A text with its marks and numbers put in. Raises HsdError for a word or a number that does
    not exist.
    """
    found: list[Part] = []
    at = 0
    for match in MARKS.finditer(text):
        key, words, strong, name = match.groups()
        if match.start() > at:
            found.append(text[at : match.start()])
        at = match.end()
        found.append(
            _term(key, words) if key else {"strong": strong} if strong else _number(name, numbers)
        )
    if text[at:]:
        found.append(text[at:])
    return _joined(found)


def _term(key: str, words: str | None) -> dict[str, str]:
    entry = glossary().get(key)
    if entry is None:
        raise HsdError(f"the lessons explain {key!r}, which the glossary has not")
    return {"term": key, "words": words or (key if key == entry.get("sign") else entry["label"])}


def _number(name: str, numbers: Numbers) -> Part:
    if name not in numbers:
        raise HsdError(f"the lessons name {name!r}, which is no number of theirs")
    value = numbers[name]
    if isinstance(value, Piece):
        return {"piece": value.text}
    return value if isinstance(value, str) else number(value)


def _joined(found: list[Part]) -> list[Part]:
    """Join neighbouring texts."""
    joined: list[Part] = []
    for part in found:
        if joined and isinstance(part, str) and isinstance(joined[-1], str):
            joined[-1] += part
        else:
            joined.append(part)
    return joined


# ---- where the numbers come from


@cache
def source() -> dict[str, Any]:
    """The file with the texts."""
    return yaml.safe_load((ASSETS / "lessons" / "lessons.yaml").read_text(encoding="utf-8"))


@cache
def trace() -> Trace:
    """The run that the lessons are about."""
    return Trace.from_file(TRACES / f"{source()['trace']}.json")


def step() -> Step:
    """Return the step of the run that the lessons explain."""
    return trace().steps[source()["step"] - 1]


def written() -> str:
    """The line of the text that the step's draft goes on."""
    text = "".join(token.piece for one in trace().steps[: step().index] for token in one.committed)
    return text.strip().splitlines()[-1].split(". ")[-1]


def numbers() -> Numbers:
    """Return all numbers that a lesson or a question may name, by name."""
    return {
        "trace": source()["trace"],
        "step": source()["step"],
        **_of_step(step()),
        **_of_run(),
        **measured(),
    }


def _of_step(step: Step) -> dict[str, Any]:
    """Of every place from 1 on t: token; p, q, rho, h = min(1, ρ), u: its coin; r and c after it.
    Of the branch after so many tokens deficient, excess, left = 1 − c, and end, the threshold for
    ending there. x1, x2: the likeliest corrections at the first place, with p, q, the part that is
    kept, and the probability in the residual. most: the token that a test without coins would let
    out too often by most; naive: how often at least.
    """
    found: dict[str, Any] = {"gamma": step.drafted}
    for node in step.nodes:
        i = node.id
        rho = node.p / node.q
        found |= {f"t{i}": Piece(node.piece), f"p{i}": node.p, f"q{i}": node.q, f"u{i}": node.coin}
        found |= {f"rho{i}": rho, f"h{i}": min(1.0, rho)}
    for branch in step.branches:
        i = branch.node
        whole = branch.deficient + 1 - branch.capped
        found |= {f"r{i}": branch.ratio, f"c{i}": branch.capped, f"left{i}": 1 - branch.capped}
        found |= {f"deficient{i}": branch.deficient, f"excess{i}": branch.excess}
        found |= {f"end{i}": branch.deficient / whole if whole > 0 else 1.0}
    last = step.nodes[-1]
    root = step.branches[0]
    found[f"end{last.id}"] = min(1.0, step.branches[-1].capped * last.p / last.q)
    found["p1_percent"] = f"{100 * step.nodes[0].p:.0f} %"
    found["fails"] = root.deficient
    found["too_often"] = step.nodes[0].p * (1 + root.deficient)
    missing = sorted(root.top, key=lambda one: one.q - one.p)
    for i, one in enumerate(missing[:2], start=1):
        kept = min(one.p, one.q)
        share = (one.p - one.q) / root.deficient
        found |= {f"x{i}": Piece(one.piece), f"x{i}_p": one.p, f"x{i}_q": one.q}
        found |= {f"x{i}_kept": kept, f"x{i}_residual": share}
    # without coins and with replacements from p: what is surely replaced, and what then comes out
    # too often
    replaced = sum(one.q for one in root.top if one.p < one.q)
    most = max(
        (one for one in root.top if one.p >= one.q),
        key=lambda one: one.q + replaced * one.p - one.p,
    )
    found |= {"most": Piece(most.piece), "most_p": most.p, "replaced": replaced}
    found["naive"] = most.q + replaced * most.p
    classic = step.kept_law["tokenwise"]
    own = step.kept_law["hsd"]
    found |= {"classic_mean": _mean(classic), "hsd_mean": _mean(own), "classic_0": classic[0]}
    assert step.verdict is not None
    assert step.shadow is not None
    return found | {"hsd_now": step.verdict.kept, "classic_now": step.shadow.kept}


def _mean(chances: list[float]) -> float:
    return sum(t * chance for t, chance in enumerate(chances))


def _of_run() -> dict[str, Any]:
    """What both rules keep of full drafts; where HSD is furthest behind, and where next to nothing
    is kept.
    """
    steps = [one for one in trace().steps if one.drafted == step().drafted]
    run = {rule: sum(one.expected_kept[rule] for one in steps) / len(steps) for rule in LAB_RULES}
    behind = min(trace().steps, key=_gain)
    empty = min(
        steps, key=lambda one: (max(one.expected_kept[rule] for rule in LAB_RULES), one.index)
    )
    return {
        "run_hsd": run["hsd"],
        "run_classic": run["tokenwise"],
        "behind_step": behind.index + 1,
        "behind_hsd": behind.expected_kept["hsd"],
        "behind_classic": behind.expected_kept["tokenwise"],
        "empty_step": empty.index + 1,
        "empty_mean": max(empty.expected_kept[rule] for rule in LAB_RULES),
    }


def _gain(step: Step) -> float:
    """How many tokens more HSD keeps on average; 0 where a step does not tell."""
    own, other = (step.expected_kept.get(rule) for rule in ("hsd", "tokenwise"))
    return 0.0 if own is None or other is None else own - other


@cache
def measured() -> dict[str, Any]:
    """Passes of the real model in milliseconds, time1, time6, …; and at a draft length what a step
    costs in plain passes, how many drafted tokens HSD keeps on questions, over all coins, and what
    the step brings.
    """
    timed, counted = (
        json.loads((RESULTS / f"{name}.json").read_text("utf-8")) for name in ("lengths", "smollm2")
    )
    here = timed["passes"]["here"]
    passes = {int(width): ms for width, ms in here.items() if width.isdigit()}
    one = passes[1]
    draft = here["draft"]
    found = {f"time{width}": ms for width, ms in passes.items()} | {
        "times6": passes[6] / one,
        "ratio": draft / one,
    }
    found["cores"] = timed["machine"]["cores"]
    for row in counted["law"]:
        if row["domain"] == "questions":
            gamma = row["gamma"]
            kept = row["hsd"]
            cost = (gamma * draft + passes[gamma + 1]) / one
            found |= {f"cost{gamma}": cost, f"keeps{gamma}": kept, f"brings{gamma}": 1 + kept}
    return found


def _of_lab(lab: Mapping[str, Any]) -> dict[str, Any]:
    """What the Lab shows of a preset: kept and off, its distance, of both rules; now, what they
    keep with its coins.
    """
    p, q = ([float(Fraction(str(x))) for x in lab[side]] for side in "pq")
    gamma = lab["gamma"]
    draft = torch.tensor(["abcdefgh".index(letter) for letter in lab["draft"]])
    rows = (
        torch.tensor([p] * (gamma + 1), dtype=torch.float64),
        torch.tensor([q] * gamma, dtype=torch.float64),
    )
    found: dict[str, Any] = {"gamma": gamma, "pass_a": min(1.0, p[0] / q[0]), "p_a": p[0]}
    for rule in LAB_RULES:
        found[f"kept_{rule}"], found[f"off_{rule}"] = exact(rule, p, q, gamma)
        found[f"now_{rule}"] = int(RULES[rule].law(*rows, draft).kept(torch.tensor(lab["coins"])))
    single, _ = exact(lab["rule"], p, q, 1)
    return found | {"rate": found[f"kept_{lab['rule']}"] / gamma, "rate_1": single}


def exact(rule: str, p: list[float], q: list[float], gamma: int) -> tuple[float, float]:
    """Of a rule with the same rows at every place: tokens kept on average, total variation from the
    target.
    """
    models = rows_models([p] * (gamma + 1), [q] * gamma)
    output, kept = output_law(models, RULES[rule].law, RULES[rule].resamples)
    distance = total_variation(output, target_law(models))
    return kept, distance if distance > 1e-12 else 0.0


def _lab_query(lab: Mapping[str, Any]) -> str:
    """The link to a preset, as hsd/web/lab/link.js reads it."""
    p, q = ("_".join(map(str, lab[side])) for side in "pq")
    coins = "_".join(map(str, lab["coins"]))
    told = ["1", "same", len(lab["p"]), lab["gamma"], lab["rule"], lab["draft"], coins, 1, p, q]
    return urlencode({"tab": "lab", "lab": "*".join(map(str, told))}, safe="*/")


# ---- the lessons, filled in

TEXTS = ("text", "ask", "answer", "think", "fold")


def lessons() -> list[dict[str, Any]]:
    """Every lesson: key, title, its sentences as parts, what its picture shows, the guess with its
    answer, a link.
    """
    known = numbers()
    return [_lesson(lesson, known) for lesson in source()["lessons"]]


def _lesson(lesson: Mapping[str, Any], known: Numbers) -> dict[str, Any]:
    asked = dict(lesson["guess"])
    if "options" in asked:
        asked["options"] = [parts(option, known) for option in asked["options"]]
        asked["right"] -= 1
    else:
        asked["right"] = known[asked["right"]]
    look = {name: lesson.get(name, []) for name in ("show", "lit", "later", "columns")}
    texts = {name: parts(lesson[name], known) for name in TEXTS}
    return {
        "key": lesson["key"],
        "title": lesson["title"],
        **texts,
        **look,
        "guess": asked,
        "see": _see(lesson, known),
    }


def _see(entry: Mapping[str, Any], known: Numbers) -> dict[str, str] | None:
    if "lab" in entry:
        p, q = (", ".join(map(str, entry["lab"][side])) for side in "pq")
        return {"words": f"The Lab with p = {p} and q = {q}", "query": _lab_query(entry["lab"])}
    if "see" not in entry:
        return None
    return {
        name: "".join(str(_plain(part)) for part in parts(text, known))
        for name, text in entry["see"].items()
    }


def _plain(part: Part) -> str:
    return (
        part if isinstance(part, str) else part.get("words") or part.get("strong") or part["piece"]
    )


def entries(kind: str) -> list[dict[str, Any]]:
    """`beliefs` or `questions`: title, text as parts, and a link into the app."""
    known = numbers()
    return [
        {
            "title": entry["title"],
            "text": parts(
                entry["text"], {**known, **(_of_lab(entry["lab"]) if "lab" in entry else {})}
            ),
            "see": _see(entry, known),
        }
        for entry in source()[kind]
    ]


def content() -> dict[str, Any]:
    """All that the Learn tab draws, as plain data. text: what the step's draft goes on."""
    shown = {"nodes", "branches", "verdict", "shadow", "kept_law", "drafted"}
    known = measured()
    lengths = [int(name.removeprefix("cost")) for name in known if name.startswith("cost")]
    costs = [
        {"gamma": n, "cost": known[f"cost{n}"], "brings": known[f"brings{n}"]} for n in lengths
    ]
    times = [{"width": n, "ms": known[f"time{n}"]} for n in WIDTHS]
    return {
        "lessons": lessons(),
        "beliefs": entries("beliefs"),
        "questions": entries("questions"),
        "notes": source()["notes"],
        "step": step().model_dump(mode="json", include=shown),
        "text": written(),
        "times": times,
        "costs": costs,
    }
