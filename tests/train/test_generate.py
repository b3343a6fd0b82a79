"""What training relies on in the generated text: seeds, kept names, right sums, code that parses, variety."""

from __future__ import annotations

import ast
import random
import re
import zlib
from itertools import islice

import pytest

from hsd.errors import HsdError
from hsd.train.generate import WRITERS, generate
from hsd.train.generate.function_sources import SOURCES
from hsd.train.generate.grammar import parse, tidy
from hsd.train.generate.plots import PLOTS
from hsd.train.generate.stories import RULES, tell
from hsd.train.generate.sums import KINDS
from hsd.train.generate.words import BOYS, GIRLS, PET_BOYS, PET_GIRLS

KNOWN_NAMES = frozenset(BOYS + GIRLS + PET_BOYS + PET_GIRLS)
EQUATION = re.compile(r"(\d+) ([-+*/]) (\d+) = (\d+)")


def strangers(text: str, cast: tuple[str, ...]) -> set[str]:
    """Return the known names in the text that no member of the cast bears."""
    return KNOWN_NAMES.intersection(re.findall(r"[A-Z][a-z]+", text)) - set(cast)


def introduced(text: str, name: str) -> bool:
    """Tell whether the name's first use says who bears it."""
    before, after = re.split(rf"\b{name}\b", text, maxsplit=1)
    who = r"(named|called|friend|brother|sister) $"
    return bool(re.search(who, before)) or (not before and after.startswith((" was a ", " was an ")))


def wrong_equations(text: str) -> list[str]:
    """Return the equations in the text that do not hold."""
    holds = {"+": int.__add__, "-": int.__sub__, "*": int.__mul__, "/": int.__truediv__}
    return [m.group() for m in EQUATION.finditer(text) if holds[m[2]](int(m[1]), int(m[3])) != int(m[4])]


def compress_ratio(domain: str, size: int = 300_000) -> float:
    """Return how many times smaller zlib makes the first `size` bytes of a domain."""
    text = "\n\n".join(islice(generate(domain, 5), size // 80)).encode()[:size]
    return len(text) / len(zlib.compress(text, 6))


@pytest.mark.parametrize("domain", WRITERS)
def test_seed_decides_the_documents(domain: str) -> None:
    first = list(islice(generate(domain, 3), 50))
    assert first == list(islice(generate(domain, 3), 50))
    assert first != list(islice(generate(domain, 4), 50))


def test_unknown_domain_is_refused_with_the_choices() -> None:
    with pytest.raises(HsdError, match="stories, sums, functions"):
        next(generate("poems", 1))


def test_every_name_in_a_story_belongs_to_its_cast_and_is_introduced() -> None:
    rng = random.Random(11)
    for _ in range(1500):
        story = tell(rng)
        assert not strangers(story.text, story.cast), story.text
        for name in story.cast:
            assert introduced(story.text, name), (name, story.text)


def test_the_name_checks_can_fail() -> None:
    assert strangers("Once there was a girl named Lily. Then Ben came.", ("Lily",)) == {"Ben"}
    assert not introduced('"Hello," said Ben. He was a boy named Ben.', "Ben")


def test_the_hero_is_named_again_and_again() -> None:
    rng = random.Random(12)
    stories = [tell(rng) for _ in range(300)]
    assert min(story.text.count(story.cast[0]) for story in stories) >= 3


def test_stories_have_picture_book_length_and_clean_text() -> None:
    slips = re.compile(
        r"[\[\]{}<>|«»$]| {2}| [.,!?]|\b[Aa] [aeio](?!ne\b|nce\b)|\b[Aa]n [^aeiouhX]|[.!?] [a-z]|\b(\w+) \1\b"
    )
    for text in islice(generate("stories", 13), 1500):
        assert 80 <= len(text.split()) <= 220
        assert text[0].isupper()
        slip = slips.search(text)
        assert slip is None, (slip, text)


def test_sums_are_right_and_end_with_their_result() -> None:
    for text in islice(generate("sums", 14), 3000):
        assert EQUATION.search(text)
        assert not wrong_equations(text), text
        if text.startswith("Question: "):
            *_, last = EQUATION.finditer(text)
            assert text.rsplit("#### ")[1] == last[4]
            assert 0 <= int(last[4]) < 100
    assert wrong_equations("Tim has 3 + 4 = 8 shells.") == ["3 + 4 = 8"]


def test_questions_hold_every_first_operand() -> None:
    for text in islice(generate("sums", 15), 1000):
        if text.startswith("Question: "):
            question, answer = text.split("\nAnswer: ")
            assert EQUATION.search(answer)[1] in re.findall(r"\d+", question)


def test_drills_are_about_one_in_twenty() -> None:
    drills = sum(not text.startswith("Question") for text in islice(generate("sums", 16), 4000))
    assert 0.03 < drills / 4000 < 0.07


def test_functions_parse_and_carry_a_one_line_docstring() -> None:
    for text in islice(generate("functions", 17), 2000):
        (function,) = ast.parse(text).body
        assert isinstance(function, ast.FunctionDef)
        doc = ast.get_docstring(function)
        assert doc is not None
        assert "\n" not in doc
        assert doc.endswith(".")


def test_generated_functions_compute_what_they_say() -> None:
    checks = {
        "factorial": lambda f: f(5) == 120,
        "gcd": lambda f: f(12, 18) == 6,
        "is_prime": lambda f: [n for n in range(12) if f(n)] == [2, 3, 5, 7, 11],
        "binary_search": lambda f: f([1, 4, 6, 9], 6) == 2,
        "bubble_sort": lambda f: f([3, 1, 2]) == [1, 2, 3],
        "quick_sort": lambda f: f([3, 1, 2, 3]) == [1, 2, 3, 3],
        "merge_sorted": lambda f: f([1, 4], [2, 3]) == [1, 2, 3, 4],
        "is_balanced": lambda f: f("([])") and not f("([)]"),
        "sum_of_squares_of_even": lambda f: f([1, 2, 4]) == 20,
    }
    met = set()
    for text in islice(generate("functions", 18), 6000):
        name = text[4 : text.index("(")]
        if name in checks:
            space: dict = {}
            exec(text, space)
            assert checks[name](space[name]), text
            met.add(name)
    assert met >= set(checks) - {"sum_of_squares_of_even"}


def test_there_are_enough_kinds() -> None:
    assert len(PLOTS) >= 35
    assert len(KINDS) >= 25
    assert len(SOURCES) >= 40


@pytest.mark.parametrize(("domain", "most"), [("stories", 4.0), ("sums", 5.5), ("functions", 6.5)])
def test_text_is_not_too_predictable(domain: str, most: float) -> None:
    assert compress_ratio(domain) < most


def test_every_rule_parses() -> None:
    for rule in RULES.values():
        for template in rule:
            parse(template)


@pytest.mark.parametrize("broken", ["[a|b", "a]", "<a", "{a b}"])
def test_broken_templates_are_refused(broken: str) -> None:
    with pytest.raises(ValueError):
        parse(broken)


def test_tidy_sets_articles_and_capitals() -> None:
    assert (
        tidy("a  apple fell fell. he saw a unicorn , a hour later.")
        == "An apple fell. He saw a unicorn, an hour later."
    )
