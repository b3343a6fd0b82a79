"""Small Python functions with one-line docstrings: a kind drawn at random, with drawn names and in a drawn style.

In a template `$x` is a name drawn once per function from the pool `x`, and `«a|b»` picks one piece of text, the
same one wherever the same group is written. Type hints are kept or removed as a whole.
"""

from __future__ import annotations

import random
import re

from hsd.train.generate.function_sources import SOURCES

_NAMES: dict[str, list[str]] = {
    "list": ["numbers", "values", "items", "data", "array", "nums", "seq", "elements", "sequence", "xs"],
    "words": ["words", "names", "tokens", "strings", "parts", "labels"],
    "text": ["text", "string", "s", "phrase", "sentence", "line", "message"],
    "n": ["n", "number", "num", "count", "limit", "size"],
    "x": ["x", "item", "value", "element", "v", "entry", "e"],
    "out": ["result", "output", "answer", "found", "out", "collected"],
    "total": ["total", "sum_so_far", "acc", "result", "running"],
    "i": ["i", "index", "pos", "idx", "j", "position"],
    "dict": ["counts", "table", "mapping", "lookup", "seen", "index_of", "groups"],
    "a": ["a", "first", "left", "x", "p"],
    "b": ["b", "second", "right", "y", "q"],
    "target": ["target", "key", "wanted", "goal", "needle"],
}
_HINT = re.compile(r": (?:list\[\w+\]|dict\[\w+, \w+\]|int|str|float|bool)(?=[,)])| -> [\w\[\], ]+(?=:\n)")
_PICK = re.compile(r"«([^«»]*)»")
_NAME = re.compile(r"\$(\w+?)(?![a-z])")
HINTED_SHARE = 0.5
COMPOSED_SHARE = 0.35

# Composed functions pick items of a list, change them and gather them: (word in the name, word in the doc, code).
_NUMBER_TESTS = (
    ("even", "even", "$x % 2 == 0"),
    ("odd", "odd", "$x % 2 == 1"),
    ("positive", "positive", "$x > 0"),
    ("negative", "negative", "$x < 0"),
    ("nonzero", "non-zero", "$x != 0"),
    ("big", "big", "$x >= 100"),
    ("small", "small", "$x < 10"),
    ("one_digit", "one-digit", "0 <= $x <= 9"),
    ("round", "round", "$x % 10 == 0"),
    ("third", "divisible by three", "$x % 3 == 0"),
)
_NUMBER_CHANGES = (
    ("", "{t} numbers", "$x"),
    ("squares_of_", "squares of the {t} numbers", "$x * $x"),
    ("doubled_", "{t} numbers doubled", "2 * $x"),
    ("cubes_of_", "cubes of the {t} numbers", "$x ** 3"),
    ("halved_", "{t} numbers halved", "$x // 2"),
    ("digits_of_", "last digits of the {t} numbers", "$x % 10"),
    ("sizes_of_", "sizes of the {t} numbers", "abs($x)"),
    ("next_after_", "successors of the {t} numbers", "$x + 1"),
)
_WORD_TESTS = (
    ("long", "long", "len($x) > 5"),
    ("short", "short", "len($x) < 4"),
    ("upper", "upper-case", "$x.isupper()"),
    ("lower", "lower-case", "$x.islower()"),
    ("nonempty", "non-empty", "$x"),
    ("plural", "plural", '$x.endswith("s")'),
    ("capitalized", "capitalized", "$x.istitle()"),
    ("numeric", "numeric", "$x.isdigit()"),
)
_WORD_CHANGES = (
    ("", "{t} words", "$x"),
    ("lengths_of_", "lengths of the {t} words", "len($x)"),
    ("first_letters_of_", "first letters of the {t} words", "$x[:1]"),
    ("reversed_", "{t} words reversed", "$x[::-1]"),
    ("stripped_", "{t} words without spaces around them", "$x.strip()"),
    ("loud_", "{t} words in capitals", "$x.upper()"),
    ("last_letters_of_", "last letters of the {t} words", "$x[-1:]"),
)
# How to gather: (word in the name, start of the doc, start value, loop line, comprehension, returned type).
_NUMBER_GATHERS = (
    ("sum_of_", "the sum of the", "0", "$total += {c}", "sum({c} for $x in $list if {t})", "int"),
    ("list_", "a list of the", "[]", "$total.append({c})", "[{c} for $x in $list if {t}]", "list[int]"),
    ("set_of_", "a set of the", "set()", "$total.add({c})", "{{{c} for $x in $list if {t}}}", "set"),
    (
        "largest_of_",
        "the largest of the",
        "0",
        "$total = max($total, {c})",
        "max(({c} for $x in $list if {t}), default=0)",
        "int",
    ),
    ("product_of_", "the product of the", "1", "$total *= {c}", "", "int"),
)
_WORD_GATHERS = (
    ("list_", "a list of the", "[]", "$total.append({c})", "[{c} for $x in $words if {t}]", "list[str]"),
    ("sorted_", "a sorted list of the", "[]", "$total.append({c})", "sorted({c} for $x in $words if {t})", "list[str]"),
    ("set_of_", "a set of the", "set()", "$total.add({c})", "{{{c} for $x in $words if {t}}}", "set"),
    (
        "map_of_",
        "a dictionary from words to the",
        "{{}}",
        "$total[$x] = {c}",
        "{{$x: {c} for $x in $words if {t}}}",
        "dict[str, str]",
    ),
)


def write_function(rng: random.Random) -> str:
    """Return one function as source text."""
    source = _composed(rng) if rng.random() < COMPOSED_SHARE else rng.choice(SOURCES)
    if rng.random() >= HINTED_SHARE:
        source = _HINT.sub("", source)
    picked: dict[str, str] = {}
    while "«" in source:
        source = _PICK.sub(lambda m: _pick(m.group(1), picked, rng), source)
    names: dict[str, str] = {}
    return _NAME.sub(lambda m: _name(m.group(1), names, rng), source)


def _composed(rng: random.Random) -> str:
    """Return a template that tests, changes and gathers the items of a list, as a loop or a comprehension."""
    pool, kind, tests, changes, gathers = rng.choice(
        (
            ("$list", "int", _NUMBER_TESTS, _NUMBER_CHANGES, _NUMBER_GATHERS),
            ("$words", "str", _WORD_TESTS, _WORD_CHANGES, _WORD_GATHERS),
        )
    )
    (test_name, test_doc, test), (change_name, change_doc, change) = rng.choice(tests), rng.choice(changes)
    name, doc, start, loop, comprehension, returned = rng.choice(gathers)
    sort_first = name == "sorted_"
    if change_name == "lengths_of_":
        returned = returned.replace("str]", "int]")
    head = f"def {name}{change_name}{test_name}({pool}: list[{kind}]) -> {returned}:"
    lines = [head, f'    """Return {doc} {change_doc.format(t=test_doc)}."""']
    if comprehension and rng.random() < 0.5:
        lines.append("    return " + comprehension.format(c=change, t=test))
    else:
        lines += [f"    $total = {start.format()}", f"    for $x in {pool}:"]
        lines += rng.choice(
            (
                [f"        if {test}:", f"            {loop.format(c=change)}"],
                [f"        if not ({test}):", "            continue", f"        {loop.format(c=change)}"],
            )
        )
        lines.append("    return sorted($total)" if sort_first else "    return $total")
    return "\n".join(lines)


def _pick(group: str, picked: dict[str, str], rng: random.Random) -> str:
    """Choose one alternative; the same group chooses the same again within a function."""
    if group not in picked:
        picked[group] = rng.choice(group.split("|"))
    return picked[group]


def _name(pool: str, names: dict[str, str], rng: random.Random) -> str:
    if pool not in names:
        names[pool] = rng.choice([name for name in _NAMES[pool] if name not in names.values()])
    return names[pool]
