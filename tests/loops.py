"""Many cases in one test, which names those that fail."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest

LONGEST = 80  # characters of a case in a message


def for_each(
    names: str | tuple[str, ...],
    cases: Iterable[Any],
    ids: Callable[[Any], str] | Iterable[str] = repr,
) -> Any:
    """Run a test once for every case, as one test: for cases that nobody runs by themselves.

    names, cases, ids: as for `pytest.mark.parametrize`; a failure's message has the id of its case.
    Fixtures are shared by all cases. All cases run, also after one that fails. Without cases the
    test is skipped.
    """
    argument_names = names.replace(",", " ").split() if isinstance(names, str) else list(names)
    all_cases = list(cases)
    labels = [ids(case) for case in all_cases] if callable(ids) else list(ids)

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        parameters = inspect.signature(test).parameters

        @functools.wraps(test)
        def loop(*, subtests: pytest.Subtests, **fixtures: Any) -> None:
            if not all_cases:
                pytest.skip("the file that has the cases is not here")
            if "subtests" in parameters:
                fixtures["subtests"] = subtests
            for label, case in zip(labels, all_cases, strict=True):
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
