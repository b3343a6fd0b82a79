"""Word problems with tiny numbers and every step written out, and now and then a few drill lines.

A problem kind is a function that draws numbers and returns its question, its answer lines and its result;
all arithmetic is done by `sum_scene.step`, so a written equation cannot be wrong.
"""

from __future__ import annotations

import random

from hsd.train.generate.sum_kinds import ONE_STEP
from hsd.train.generate.sum_kinds_longer import LONGER
from hsd.train.generate.sum_scene import Scene, step

DRILL_SHARE = 0.05
LEAD_SHARE = 0.3
KINDS = ONE_STEP + LONGER


def write_sum(rng: random.Random) -> str:
    """Return `Question: …\\nAnswer: …\\n#### N`, or in one document of twenty a few drill lines."""
    if rng.random() < DRILL_SHARE:
        return _drill(rng)
    scene = Scene(rng)
    problem = rng.choice(KINDS)(scene)
    lead = _lead(scene) if rng.random() < LEAD_SHARE else ""
    return f"Question: {lead}{problem.question}\nAnswer: " + "\n".join(problem.lines) + f"\n#### {problem.result}"


def _lead(s: Scene) -> str:
    """Return a sentence without numbers that sets the scene."""
    return s.one(
        f"{s.a} and {s.b} play {s.place}. ",
        f"{s.a} likes {s.thing}. ",
        f"It is {s.day}. ",
        f"{s.a} is {s.place} with {s.b}. ",
        f"{s.a} loves to count. ",
        f"{s.a} and {s.b} are good friends. ",
        f"{s.a} keeps {s.his} things in {s.box}. ",
        f"On {s.day2}, {s.a} meets {s.b} {s.place}. ",
        f"{s.a} is helping {s.his} mom {s.place}. ",
        f"{s.b} visits {s.a}. ",
    )


def _drill(rng: random.Random) -> str:
    symbol = rng.choice(("+", "-", "*", "/", "mixed", "chain", "chain"))
    total = rng.randint(1, 9)
    lines = []
    for _ in range(rng.randint(3, 9)):
        sign = rng.choice("+-") if symbol in ("mixed", "chain") else symbol
        a, b = rng.randint(0, 12), rng.randint(1, 10)
        if symbol == "chain":
            a = total
            sign = "+" if a < 10 else "-"
        if sign == "-" and b > a:
            a, b = b, a
        if sign == "/":
            a *= b
        text, total = step(a, sign, b)
        lines.append(text)
    return "\n".join(lines)
