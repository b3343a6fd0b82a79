"""Printed texts are compared by their words and numbers, not by their digits."""

from __future__ import annotations

import pytest
from printed import differing, near, stands


@pytest.mark.parametrize(
    ("made", "printed"),
    [
        ("2.6826", "2.6827"),
        ("6.67e-04", "6.66e-04"),
        ("8.8e-15", "1.2e-14"),
        ("0", "3.1e-17"),
        ("−0.00", "0.00"),
        ("0.5", "0.499"),
        ("0.12345678901234", "0.12345678901239"),
        ("1,694.2", "1,694.3"),
        (".465", ".466"),
        ("1", "0.9999999"),
    ],
)
def test_numbers_that_rounding_tells_apart_are_near(made: str, printed: str):
    assert near(made, printed)
    assert near(printed, made)
    assert stands(f"keeps {made}, (of", f"it keeps {printed}, (of 4 tokens")
    assert not differing(f"a\nkeeps {made}", f"a\nkeeps {printed}")


@pytest.mark.parametrize(
    ("made", "printed"),
    [
        ("2.6826", "2.6828"),
        ("6.67e-04", "6.67e-03"),
        ("0.5", "0.6"),
        ("0.75", "-0.75"),
        ("3", "4"),
        ("1,694", "1,695"),
        ("0", "0.1"),
        ("8.8e-15", "8.8e-05"),
    ],
)
def test_other_numbers_are_not(made: str, printed: str):
    assert not near(made, printed)
    assert not near(printed, made)
    assert not stands(f"keeps {made}, (of", f"it keeps {printed}, (of 4 tokens")
    assert differing(f"a\nkeeps {made}", f"a\nkeeps {printed}") == [
        (f"keeps {made}", f"keeps {printed}")
    ]


def test_words_are_compared_as_they_are():
    assert not stands("is lossless: 1.0", "is not lossless: 1.0")
    assert not stands("1.0 of 2", "1.0 from 2")
    assert differing("a 1.0", "b 1.0") == [("a 1.0", "b 1.0")]
    assert differing("a 1.0", "a 1.0\nb") == [("", "b")]
    assert differing("a 1.0", "a 1.0 b") == [("a 1.0", "a 1.0 b")]


def test_a_number_is_compared_at_its_own_place():
    page = "| 1 | 2.50 |\n| 2 | 2.61 |\n"
    assert stands("| 2 | 2.60 |", page)
    assert not stands("| 1 | 2.61 |", page)
    assert not stands("| 2 | 2.6 |\n| 1 |", page)


def test_counts_that_a_bisection_decides_may_be_any():
    assert stands("2 pairs, 1,694 calls", "on 2 pairs, 1,701 calls", loose=r"[\d,]+ calls")
    assert not stands("3 pairs, 1,694 calls", "on 2 pairs, 1,701 calls", loose=r"[\d,]+ calls")
    assert not stands("2 pairs, 1,694 calls", "on 2 pairs, some calls", loose=r"[\d,]+ calls")
