"""Many cases in one test, which names those that fail; and some of many cases."""

from __future__ import annotations

import functools
import inspect
import zlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import pytest
from hypothesis import settings

T = TypeVar("T")

LONGEST = 80  # characters of a case in a message


def for_each(
    names: str | tuple[str, ...],
    cases: Iterable[Any],
    ids: Callable[[Any], str] | Iterable[str] = repr,
    every: int = 1,
) -> Any:
    """Run a test once for every case, as one test: for cases that nobody runs by themselves.

    names, cases, ids: as for `pytest.mark.parametrize`; a failure's message has the id of its case.
    every: `make test` runs one of so many cases, and `make slow` all; which one, the test's name
        says, so that tests with the same cases run different ones.
    Fixtures are shared by all cases. No failure ends the loop. Without cases the test is skipped.
    """
    argument_names = names.replace(",", " ").split() if isinstance(names, str) else list(names)
    all_cases = list(cases)
    labels = [ids(case) for case in all_cases] if callable(ids) else list(ids)
    labelled = list(zip(labels, all_cases, strict=True))

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        parameters = inspect.signature(test).parameters

        @functools.wraps(test)
        def loop(*, subtests: pytest.Subtests, **fixtures: Any) -> None:
            if not all_cases:
                pytest.skip("the file that has the cases is not here")
            if "subtests" in parameters:
                fixtures["subtests"] = subtests
            thorough = settings.get_current_profile_name() == "thorough"
            chosen = labelled if thorough else one_of(every, labelled, test.__qualname__)
            for label, case in chosen:
                values = case if len(argument_names) > 1 else [case]
                arguments = dict(zip(argument_names, values, strict=True))
                with subtests.test(f"{', '.join(argument_names)}: {label[:LONGEST]}"):
                    test(**fixtures, **arguments)

        wanted = [name for name in parameters if name not in (*argument_names, "subtests")]
        loop.__signature__ = inspect.Signature(
            [
                inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY)
                for name in (*wanted, "subtests")
            ]
        )
        return loop

    return decorate


def one_of(every: int, cases: Sequence[T], name: str) -> Sequence[T]:
    """Return the share of the cases, one of `every`, that a test of this name runs, in order."""
    first = zlib.crc32(name.encode()) % max(min(every, len(cases)), 1)
    return cases[first::every]


def some(cases: Iterable[Any], every: int, first: int = 0) -> list[Any]:
    """Return cases for `pytest.mark.parametrize`, most of them marked slow.

    every, first: one of so many is not, from number `first` on, counted from 0.
    """
    return [
        case if number % every == first or hasattr(case, "marks") else slow(case)
        for number, case in enumerate(cases)
    ]


def slow(case: Any) -> Any:
    """Return a case, or a tuple of values, that only `make slow` runs."""
    return pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.slow)
