# ruff: noqa: E501 (a sentence stays on one line)
"""Kinds of word problem that take two or three steps."""

from __future__ import annotations

from collections.abc import Callable

from hsd.train.generate.sum_scene import Problem, Scene, ask_left, count, has, so_now, step


def gains_then_loses(s: Scene) -> Problem:
    """More, then fewer."""
    x, y = s.n(2, 12), s.n(2, 10)
    first, middle = step(x, "+", y)
    z = s.n(1, middle - 1)
    second, total = step(middle, "-", z)
    told = s.one(
        f"{s.b} gives {s.him} {y} more, and {s.he} gives {z} to {s.c}.",
        f"{s.He} buys {y} more and then loses {z}.",
        f"After getting {y} more, {s.he} gives away {z}.",
    )
    return Problem(
        f"{has(s, x, s.thing)} {told} {ask_left(s, s.thing)}",
        [
            so_now(s, first, s.thing),
            s.one(f"Then {s.he} has {second} {s.thing} left.", f"After that, {second} {s.thing} are left."),
        ],
        total,
    )


def more_than(s: Scene) -> Problem:
    """A comparison, then the sum."""
    x, d = s.n(2, 12), s.n(2, 9)
    first, other = step(x, "+", d)
    second, total = step(x, "+", other)
    return Problem(
        f"{s.a} has {x} {s.thing}. {s.b} has {d} more {s.thing} than {s.a}. How many {s.thing} do they have together?",
        [
            f"{s.b} has {first} {s.thing}.",
            s.one(
                f"Together they have {second} {s.thing}.",
                f"{s.a} and {s.b} have {second} {s.thing} together.",
            ),
        ],
        total,
    )


def twice(s: Scene) -> Problem:
    """A multiple, then the sum."""
    x, k, word = s.n(2, 10), *s.rng.choice(((2, "twice"), (3, "three times"), (4, "four times")))
    first, other = step(x, "*", k)
    second, total = step(x, "+", other)
    return Problem(
        f"{s.a} picked {x} {s.thing}. {s.b} picked {word} as many. How many {s.thing} did they pick together?",
        [f"{s.b} picked {first} {s.thing}.", f"Together they picked {second} {s.thing}."],
        total,
    )


def half(s: Scene) -> Problem:
    """Half is given away."""
    x = 2 * s.n(2, 12)
    first, given = step(x, "/", 2)
    second, total = step(x, "-", given)
    return Problem(
        f"{s.a} had {x} {s.thing}. {s.He} gave half of them to {s.b}. {ask_left(s, s.thing)}",
        [f"{s.a} gave {first} {s.thing} to {s.b}.", f"{s.He} has {second} {s.thing} left."],
        total,
    )


def change(s: Scene) -> Problem:
    """Money left after buying."""
    x, p = s.n(2, 6), s.n(1, 6)
    first, cost = step(x, "*", p)
    money = cost + s.n(1, 20)
    second, total = step(money, "-", cost)
    return Problem(
        f"{s.a} has ${money}. {s.He} buys {x} {s.thing} for ${p} each. How much money does {s.he} have left?",
        [f"The {s.thing} cost {first} dollars.", f"{s.a} has {second} dollars left."],
        total,
    )


def three_add(s: Scene) -> Problem:
    """Three people together."""
    x, y, z = s.n(1, 10), s.n(1, 10), s.n(1, 10)
    first, middle = step(x, "+", y)
    second, total = step(middle, "+", z)
    return Problem(
        f"{s.a} has {count(x, s.thing)}, {s.b} has {y}, and {s.c} has {z}. How many {s.thing} do they have {s.one('in all', 'together', 'altogether')}?",
        [
            f"{s.a} and {s.b} have {first} {s.thing}.",
            s.one(f"With {s.c} they have {second} {s.thing}.", f"All three have {second} {s.thing}."),
        ],
        total,
    )


def boxes_and_loose(s: Scene) -> Problem:
    """Equal groups and some more."""
    x, y, z = s.n(2, 8), s.n(2, 8), s.n(1, 9)
    first, middle = step(x, "*", y)
    second, total = step(middle, "+", z)
    return Problem(
        s.one(
            f"{s.a} has {x} {s.box} with {y} {s.thing} each and {z} more on the table.",
            f"There are {x} {s.box} of {y} {s.thing} each, and {s.a} brings {z} more.",
        )
        + f" How many {s.thing} are there in all?",
        [f"The {s.box} hold {first} {s.thing}.", f"In all there are {second} {s.thing}."],
        total,
    )


def boxes_and_eaten(s: Scene) -> Problem:
    """Equal groups less some."""
    x, y = s.n(2, 8), s.n(2, 8)
    first, middle = step(x, "*", y)
    z = s.n(1, middle - 1)
    second, total = step(middle, "-", z)
    lost = s.one(f"{s.He} gives {z} to {s.b}.", f"{s.b} takes {z} of them.", f"{s.He} sells {z} of them.")
    return Problem(
        f"{s.a} has {x} {s.box} with {y} {s.thing} in each. {lost} {ask_left(s, s.thing)}",
        [
            s.one(f"At first there are {first} {s.thing}.", f"{s.a} starts with {first} {s.thing}."),
            f"Then {second} {s.thing} are left.",
        ],
        total,
    )


def saves_up(s: Scene) -> Problem:
    """Savings and what was there."""
    weekly, weeks, start = s.n(2, 9), s.n(2, 8), s.n(1, 12)
    first, saved = step(weekly, "*", weeks)
    second, total = step(start, "+", saved)
    return Problem(
        f"{s.a} has ${start} and saves ${weekly} every week. How many dollars does {s.he} have after {weeks} weeks?",
        [f"{s.He} saves {first} dollars.", f"Then {s.he} has {second} dollars."],
        total,
    )


def ages(s: Scene) -> Problem:
    """Ages now and later."""
    x, d = s.n(3, 12), s.n(2, 9)
    first, other = step(x, "+", d)
    if s.rng.random() < 0.5:
        return Problem(
            f"{s.a} is {x} years old. {s.b} is {d} years older. How old is {s.b}?",
            [f"{s.b} is {first} years old."],
            other,
        )
    later = s.n(2, 8)
    second, total = step(other, "+", later)
    return Problem(
        f"{s.a} is {x} years old, and {s.b} is {d} years older than {s.a}. How old will {s.b} be in {later} years?",
        [f"Now {s.b} is {first} years old.", f"In {later} years {s.b} will be {second} years old."],
        total,
    )


def two_prices(s: Scene) -> Problem:
    """Two things at two prices."""
    p, q, x, y = s.n(1, 6), s.n(1, 6), s.n(2, 6), s.n(2, 6)
    first, cost = step(x, "*", p)
    second, cost2 = step(y, "*", q)
    third, total = step(cost, "+", cost2)
    return Problem(
        f"{s.a} buys {x} {s.thing} for ${p} each and {y} {s.other} for ${q} each. How many dollars does {s.he} spend?",
        [
            f"The {s.thing} cost {first} dollars.",
            f"The {s.other} cost {second} dollars.",
            f"In all {s.he} spends {third} dollars.",
        ],
        total,
    )


def bus(s: Scene) -> Problem:
    """People get off and on."""
    x = s.n(4, 20)
    off, on = s.n(1, x - 1), s.n(1, 9)
    first, middle = step(x, "-", off)
    second, total = step(middle, "+", on)
    ride = s.one("bus", "train", "boat")
    return Problem(
        f"There are {x} people on {s.a}'s {ride}. {off} get off and {on} get on. How many people are on the {ride} now?",
        [f"After {off} get off, {first} people are left.", f"Then there are {second} people on the {ride}."],
        total,
    )


def share_after_eating(s: Scene) -> Problem:
    """Some are kept, the rest shared."""
    people, each, eaten = s.n(2, 5), s.n(1, 8), s.n(1, 8)
    first, middle = step(people * each + eaten, "-", eaten)
    second, total = step(middle, "/", people)
    return Problem(
        f"{s.a} has {people * each + eaten} {s.thing}. {s.He} keeps {eaten} and shares the rest equally among {people} friends. How many does each friend get?",
        [f"{s.a} shares {first} {s.thing}.", f"Each friend gets {second}."],
        total,
    )


LONGER: tuple[Callable[[Scene], Problem], ...] = (
    gains_then_loses,
    more_than,
    twice,
    half,
    change,
    three_add,
    boxes_and_loose,
    boxes_and_eaten,
    saves_up,
    ages,
    two_prices,
    bus,
    share_after_eating,
)
