"""Live runs that a screen asks for besides Watch: put into the line that all share, and fetched piece by piece."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from hsd.errors import HsdError
from hsd.space import Space
from hsd.ui.fetch import Fetch, answer
from hsd.ui.request import Request, read
from hsd.ui.runner import Runner

Values = dict[str, Any]


@dataclass(frozen=True)
class Runs:
    """The runs of one screen, whose component's value is a small message about the run that goes on.

    request: checks what the page asks for. Raises HsdError.
    """

    space: Space
    runner: Runner
    request: Callable[[Space, Values], Request] = read
    _serial: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def functions(self) -> list[Callable[[Any], Values]]:
        """The functions that the page's script can call, by these names, with one argument each."""
        fetch = Fetch(self.space, {}, self.runner, None)

        def begin_run(asked: Any) -> Values:
            return answer(self.begin, asked)

        def read_run(asked: Any) -> Values:
            return answer(fetch.run, asked)

        def cancel_run(key: Any) -> Values:
            return answer(lambda: self._cancel(str(key)))

        return [begin_run, read_run, cancel_run]

    def begin(self, asked: Any) -> Values:
        """Put a run into the line: asked has the names of `hsd.ui.request.DEFAULTS`. Raises HsdError."""
        if not isinstance(asked, dict):
            raise HsdError("the page asked for a run in a way that is not understood: reload it")
        return {"key": self.runner.submit(self.request(self.space, asked)).key}

    def _cancel(self, key: str) -> Values:
        self.runner.cancel(key)
        return {}

    def follow(self, key: Any) -> Iterator[Values]:
        """Run what `begin` put into the line; the page is told how many steps there are, and fetches them."""
        try:
            run = self.runner.store.get(str(key))
            for count in self.runner.follow(run):
                yield self._message(key=run.key, count=count)
            yield self._message(key=run.key, count=len(run.steps))
        except HsdError as error:
            yield self._message(key=str(key), alert=str(error))

    def _message(self, **content: Any) -> Values:
        return {"serial": next(self._serial), **content}
