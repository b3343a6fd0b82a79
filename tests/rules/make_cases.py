"""Writes cases.json: seeded drafts with the law that every rule must give. Run: python
tests/rules/make_cases.py
"""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import reference
from reference import Problem, Row

FILE = Path(__file__).with_name("cases.json")
SHAPES = [(3, 1), (2, 2), (4, 3), (5, 4), (3, 5), (4, 6), (3, 7), (2, 8)]  # (V, γ)


def softmax(logits: Row) -> Row:
    weights = [math.exp(x - max(logits)) for x in logits]
    return [w / sum(weights) for w in weights]


def rows(kind: str, vocab: int, rng: random.Random) -> tuple[Row, Row]:
    """One row of p and of q."""
    scale = 4.0 if kind == "peaked" else 1.2
    logits = [rng.gauss(0, scale) for _ in range(vocab)]
    p = softmax(logits)
    if kind == "equal":
        return p, p
    if kind == "near":
        return p, softmax([x + rng.gauss(0, 0.05) for x in logits])
    q = softmax([x + rng.gauss(0, 1) for x in logits])
    if kind == "zeros":
        return with_zero(p, rng), with_zero(q, rng)
    if kind == "one-hot":
        hot = rng.randrange(vocab)
        return [float(x == hot) for x in range(vocab)], q
    return p, q


def with_zero(row: Row, rng: random.Random) -> Row:
    """`row` with one entry set to 0 and the rest normalised again."""
    if len(row) == 1 or rng.random() < 0.3:
        return row
    gone = rng.randrange(len(row))
    left = [0.0 if x == gone else v for x, v in enumerate(row)]
    return [v / sum(left) for v in left]


def problem(kind: str, vocab: int, gamma: int, rng: random.Random) -> Problem:
    pairs = [rows(kind, vocab, rng) for _ in range(gamma + 1)]
    p = [a for a, _ in pairs]
    q = [b for _, b in pairs[:-1]]
    return Problem(p, q, [rng.choices(range(vocab), row)[0] for row in q])


def case(kind: str, given: Problem) -> dict[str, object]:
    """The problem and what must come out; masses are joint, as in the paper, ratios have γ+1
    entries.
    """
    inner = range(given.gamma)
    all_positions = range(given.gamma + 1)
    answers = {name: rule(given) for name, rule in reference.RULES.items()}
    return {
        "kind": kind,
        "p": given.p,
        "q": given.q,
        "tokens": given.tokens,
        "ratio": [given.ratio(t) for t in all_positions],
        "capped": [reference.capped_ratio(given, t) for t in all_positions],
        "pivot": [reference.pivot(given, t) for t in all_positions],
        "deficient": [reference.deficient(given, t) for t in inner],
        "excess": [reference.excess(given, t) for t in inner],
        "rules": {
            name: {"stop": a.stop, "next": a.next, "mass": a.mass, "expected_kept": a.expected_kept}
            for name, a in answers.items()
        },
    }


def cases() -> list[dict[str, object]]:
    rng = random.Random(20_260_105)
    made = []
    for i, (vocab, gamma) in enumerate(SHAPES):
        kinds = ["plain", "near", "zeros"] + ([["peaked"], ["equal", "one-hot"]][i % 2])
        made += [case(kind, problem(kind, vocab, gamma, rng)) for kind in kinds]
    made += [case("single", problem("single", 1, gamma, rng)) for gamma in (1, 4)]
    return made


if __name__ == "__main__":
    lines = ",\n".join(json.dumps(one, separators=(",", ":")) for one in cases())
    FILE.write_text(f"[\n{lines}\n]\n")
    print(f"{FILE.name}: {len(cases())} cases, {FILE.stat().st_size / 1e3:.0f} kB")
