"""What the page may ask the server for: recorded runs, a file of its own, facts about a pair. Live runs: jobs.py.

Every answer is plain data. Arguments come from a browser and are checked; an error is an answer too.
"""

from __future__ import annotations

import json
import logging
import secrets
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

from hsd.errors import HsdError
from hsd.space import Space
from hsd.trace import Trace
from hsd.ui import arrivals, machine, pairs
from hsd.ui.presets import Preset, recorded, telling_step

log = logging.getLogger("hsd.ui")

Answer = dict[str, Any]
DIGITS = 8  # of a recorded run's numbers, more than the models' float32 have; a third less to load
LONGEST = 500  # characters of what a visitor is told
FRAMES = 6  # of an error's way that the log has
NOT_UNDERSTOOD = "the page asked for something in a way that is not understood: reload it"


def answer(function: Callable[..., Answer], *arguments: Any) -> Answer:
    """Call it; an expected error becomes {"error": one line}, an unexpected one as well, and is logged."""
    try:
        return function(*arguments)
    except HsdError as error:
        return {"error": brief(error)}
    except Exception as error:
        return {"error": unexpected(error, "try again, or reload the page")}


def brief(error: HsdError) -> str:
    """What it says, also where it repeats something endless that was sent."""
    words = str(error)
    return words if len(words) <= LONGEST else f"{words[:LONGEST]} …"


def unexpected(error: Exception, advice: str, what: str = "that failed on the server") -> str:
    """What a visitor is told of an error that nobody expected; the log has it in full, under the same name.

    The log says where it happened and not what was asked: a prompt is nobody's business.
    """
    name = secrets.token_hex(3)
    frames = traceback.extract_tb(error.__traceback__)[-FRAMES:]
    where = " < ".join(f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in reversed(frames))
    log.error("error %s: %s at %s", name, type(error).__name__, where)
    return f"{what} ({type(error).__name__}, error {name}): {advice}"


def answered(function: Callable[[Any], Answer]) -> Callable[[Any], Answer]:
    """A function that the page's script calls by its name, with one argument, and that answers as `answer` says."""

    @wraps(function)
    def asked(argument: Any) -> Answer:
        return answer(function, argument)

    return asked


@dataclass(frozen=True)
class Fetch:
    """Answers for the page. opened: a trace given on the command line, shown first."""

    space: Space
    presets: Mapping[str, Preset]
    opened: Trace | None

    def functions(self) -> list[Callable[[Any], Answer]]:
        """The functions that the page's script can call, by these names, with one argument each."""

        def read_preset(name: Any) -> Answer:
            return answer(self.preset, name)

        def read_opened(_: Any) -> Answer:
            return answer(lambda: shown(self.opened) if self.opened else {})

        def check_trace(text: Any) -> Answer:
            return answer(lambda: shown(Trace.from_json(text if isinstance(text, str) else "")))

        def pair_facts(name: Any) -> Answer:
            return answer(lambda: pairs.describe(self.space, str(name or arrivals.first(self.space).name)))

        def read_arrivals(_: Any) -> Answer:
            return answer(self.arrivals)

        return [read_preset, read_opened, check_trace, pair_facts, read_arrivals]

    def arrivals(self) -> Answer:
        """What comes from the package index: a line for each that is on its way or did not come, and who is here."""
        found = [(pair, arrivals.news(pair)) for pair in machine.offered(self.space)]
        lines = [f"{pair.short_title}: {news.words}" for pair, news in found if news.coming or news.problem]
        here = [{"name": pair.name, "title": pair.short_title} for pair, news in found if news is arrivals.HERE]
        return {"lines": lines, "here": here, "coming": any(news.coming for _, news in found)}

    def preset(self, name: Any) -> Answer:
        """The trace of a preset, the step to open it at, and what to say about it."""
        preset = self.presets.get(str(name))
        if preset is None:
            raise HsdError(f"unknown preset {str(name)[:40]!r}: choose {', '.join(self.presets)}")
        return {**shortened(shown(recorded(preset))), "title": preset.title, "why": preset.why}


def shortened(found: Answer) -> Answer:
    """The same with numbers of `DIGITS` digits."""
    rounded: Answer = json.loads(json.dumps(found), parse_float=lambda text: float(f"{float(text):.{DIGITS}g}"))
    return rounded


def shown(trace: Trace) -> Answer:
    """A trace and the step to open it at."""
    return {"trace": trace.model_dump(mode="json"), "step": telling_step(trace)}
