# ruff: noqa: E501 (a sentence stays on one line)
"""Kinds of word problem that one step solves: each draws its numbers and words it."""

from __future__ import annotations

from collections.abc import Callable

from hsd.train.generate.sum_scene import (
    Problem,
    Scene,
    ask_left,
    ask_total,
    count,
    has,
    singular,
    so_now,
    step,
)


def gains(s: Scene) -> Problem:
    """Somebody gets more."""
    x, y = s.n(1, 12), s.n(1, 10)
    equation, total = step(x, "+", y)
    more = s.one(
        f"{s.b} gives {s.him} {y} more.",
        f"{s.He} finds {y} more.",
        f"Then {s.he} buys {y} more.",
        f"{s.his.capitalize()} friend {s.b} brings {y} more.",
    )
    return Problem(f"{has(s, x, s.thing)} {more} {ask_total(s, s.thing)}", [so_now(s, equation, s.thing)], total)


def loses(s: Scene) -> Problem:
    """Some are given away."""
    x = s.n(3, 20)
    y = s.n(1, x - 1)
    equation, total = step(x, "-", y)
    gone = s.one(
        f"{s.He} gives {y} to {s.b}.",
        f"{s.He} loses {y} of them.",
        f"{s.b} takes {y} of them.",
        f"Then {s.he} sells {y}.",
    )
    end = s.one(
        f"{s.a} has {equation} {s.thing} left.",
        f"There are {equation} {s.thing} left.",
        f"So {equation} {s.thing} are left.",
    )
    return Problem(f"{has(s, x, s.thing)} {gone} {ask_left(s, s.thing)}", [end], total)


def boxes(s: Scene) -> Problem:
    """Equal groups."""
    x, y = s.n(2, 9), s.n(2, 9)
    equation, total = step(x, "*", y)
    q = s.one(
        f"{s.a} has {x} {s.box}. Each holds {y} {s.thing}.",
        f"There are {y} {s.thing} in each of {s.a}'s {x} {s.box}.",
        f"{s.a} fills {x} {s.box} with {y} {s.thing} each.",
    )
    return Problem(
        f"{q} How many {s.thing} are there in all?",
        [
            s.one(
                f"There are {equation} {s.thing} in all.",
                f"{x} {s.box} hold {equation} {s.thing}.",
                f"In all there are {equation} {s.thing}.",
            )
        ],
        total,
    )


def shares(s: Scene) -> Problem:
    """Equal parts."""
    each, people = s.n(2, 9), s.n(2, 6)
    x = each * people
    equation, total = step(x, "/", people)
    q = s.one(
        f"{s.a} shares {x} {s.thing} equally among {people} friends. How many does each friend get?",
        f"{people} children share {x} {s.thing} equally. How many {s.thing} does each child get?",
        f"{s.a} puts {x} {s.thing} into {people} {s.box}, the same number in each. How many {s.thing} are in each?",
    )
    return (
        Problem(q, [s.one(f"Each gets {equation} {s.thing}.", f"That is {equation} {s.thing} for each.")], total)
        if "puts" not in q
        else Problem(q, [f"Each holds {equation} {s.thing}."], total)
    )


def fewer_than(s: Scene) -> Problem:
    """A comparison downwards."""
    x = s.n(4, 18)
    d = s.n(2, x - 1)
    first, total = step(x, "-", d)
    return Problem(
        f"{s.a} has {x} {s.thing}. {s.b} has {d} fewer {s.thing} than {s.a}. How many {s.thing} does {s.b} have?",
        [f"{s.b} has {first} {s.thing}."],
        total,
    )


def buys(s: Scene) -> Problem:
    """So many at one price."""
    x, p = s.n(2, 9), s.n(2, 9)
    equation, total = step(x, "*", p)
    return Problem(
        s.one(
            f"One {singular(s.thing)} costs ${p}. {s.a} buys {x} {s.thing}. How much does {s.he} pay?",
            f"{s.a} buys {x} {s.thing} for ${p} each. How many dollars does {s.he} spend?",
        ),
        [s.one(f"{s.a} pays {equation} dollars.", f"The {s.thing} cost {equation} dollars.")],
        total,
    )


def two_days(s: Scene) -> Problem:
    """A sum over two days."""
    x, y = s.n(2, 15), s.n(2, 15)
    equation, total = step(x, "+", y)
    verb, past = s.rng.choice(
        (
            ("read", "pages"),
            ("walked", "miles"),
            ("sold", s.thing),
            ("painted", "pictures"),
            ("washed", "plates"),
        )
    )
    verb2 = {"read": "read", "walked": "walk", "sold": "sell", "painted": "paint", "washed": "wash"}[verb]
    return Problem(
        f"{s.a} {verb} {x} {past} on {s.day} and {y} {past} on {s.day2}. How many {past} did {s.he} {verb2} in all?",
        [f"{s.a} {verb} {equation} {past} in all."],
        total,
    )


def missing_part(s: Scene) -> Problem:
    """What is still missing."""
    x = s.n(1, 12)
    equation, total = step(x + s.n(1, 12), "-", x)
    need = x + total
    q = s.one(
        f"{s.a} needs {need} {s.thing}. {s.He} has {x}. How many more does {s.he} need?",
        f"{s.a} wants to have {need} {s.thing}, but {s.he} only has {x}. How many more {s.thing} must {s.he} find?",
        f"A {singular(s.box)} holds {need} {s.thing}. {s.a} has put in {x}. How many more fit in?",
    )
    return Problem(
        q,
        [f"There is room for {equation} more." if "holds" in q else f"{s.a} needs {equation} more {s.thing}."],
        total,
    )


def two_kinds(s: Scene) -> Problem:
    """Two kinds of thing together."""
    x, y = s.n(1, 15), s.n(1, 15)
    equation, total = step(x, "+", y)
    q = s.one(
        f"{s.a} has {count(x, s.thing)} and {count(y, s.other)}.",
        f"{s.a} packed {count(x, s.thing)} and {count(y, s.other)}.",
        f"{s.a} bought {count(x, s.thing)} and {count(y, s.other)}.",
    )
    return Problem(
        f"{q} How many things {s.one('is that in all', 'are there altogether')}?",
        [s.one(f"There are {equation} things in all.", f"That is {equation} things.")],
        total,
    )


def per_day(s: Scene) -> Problem:
    """The same number every day."""
    verb, thing = s.rng.choice(
        (
            ("reads", "pages"),
            ("draws", "pictures"),
            ("walks", "miles"),
            ("bakes", "cookies"),
            ("plants", "seeds"),
            ("writes", "letters"),
            ("feeds", "ducks"),
            ("makes", s.thing),
            ("picks", s.thing),
        )
    )
    x, days = s.n(2, 9), s.n(2, 7)
    equation, total = step(x, "*", days)
    plain = verb[:-1]
    return Problem(
        s.one(
            f"{s.a} {verb} {x} {thing} every day. How many {thing} does {s.he} {plain} in {days} days?",
            f"Every day {s.a} {verb} {x} {thing}. How many is that in {days} days?",
        ),
        [s.one(f"In {days} days {s.he} {verb} {equation} {thing}.", f"{s.a} {verb} {equation} {thing}.")],
        total,
    )


def weeks_to_save(s: Scene) -> Problem:
    """How long saving takes."""
    weekly, weeks = s.n(2, 9), s.n(2, 9)
    equation, total = step(weekly * weeks, "/", weekly)
    return Problem(
        s.one(
            f"A {singular(s.thing)} set costs ${weekly * weeks}. {s.a} saves ${weekly} a week. How many weeks does {s.he} need?",
            f"{s.a} wants to buy a game for ${weekly * weeks}. {s.He} gets ${weekly} each week. After how many weeks can {s.he} buy it?",
        ),
        [s.one(f"{s.He} needs {equation} weeks.", f"It takes {equation} weeks.")],
        total,
    )


def younger(s: Scene) -> Problem:
    """An age downwards."""
    x = s.n(5, 20)
    d = s.n(2, x - 2)
    equation, total = step(x, "-", d)
    return Problem(
        s.one(
            f"{s.a} is {x} years old. {s.b} is {d} years younger than {s.a}. How old is {s.b}?",
            f"{s.b} is {d} years younger than {s.a}, who is {x}. How old is {s.b}?",
        ),
        [f"{s.b} is {equation} years old."],
        total,
    )


def legs(s: Scene) -> Problem:
    """Legs of animals."""
    one, many, number = s.rng.choice(
        (
            ("cat", "cats", 4),
            ("dog", "dogs", 4),
            ("hen", "hens", 2),
            ("duck", "ducks", 2),
            ("bee", "bees", 6),
            ("spider", "spiders", 8),
            ("cow", "cows", 4),
            ("horse", "horses", 4),
            ("ant", "ants", 6),
        )
    )
    x = s.n(2, 9)
    equation, total = step(x, "*", number)
    return Problem(
        f"A {one} has {number} legs.".replace("A ant", "An ant")
        + f" {s.a} sees {x} {many}. How many legs {s.one('do they have', 'is that')}?",
        [f"The {many} have {equation} legs."],
        total,
    )


def rows(s: Scene) -> Problem:
    """Rows of equal length."""
    x, y = s.n(2, 9), s.n(2, 9)
    equation, total = step(x, "*", y)
    where = s.one(
        "rows of seats",
        "rows of trees",
        "rows of chairs",
        "rows of desks",
        "rows of bricks",
        "rows of plants",
    )
    thing = where.split()[-1]
    return Problem(
        s.one(
            f"{s.a} counts {x} {where} with {y} in each row. How many {thing} are there?",
            f"There are {x} {where}. Each row has {y}. How many {thing} does {s.a} see?",
        ),
        [f"There are {equation} {thing}."],
        total,
    )


def difference(s: Scene) -> Problem:
    """How many more."""
    x = s.n(3, 20)
    y = s.n(1, x - 1)
    equation, total = step(x, "-", y)
    return Problem(
        f"{s.a} has {count(x, s.thing)}. {s.b} has {count(y, s.thing)}. How many more {s.thing} does {s.a} have than {s.b}?",
        [f"{s.a} has {equation} more."],
        total,
    )


ONE_STEP: tuple[Callable[[Scene], Problem], ...] = (
    gains,
    loses,
    boxes,
    shares,
    fewer_than,
    buys,
    two_days,
    missing_part,
    two_kinds,
    per_day,
    weeks_to_save,
    younger,
    legs,
    rows,
    difference,
)
