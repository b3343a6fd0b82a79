"""Replies to visitors: answers as plain data, and one line for any error."""

import json
import logging
import secrets
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hsd.errors import HsdError

log = logging.getLogger("hsd.app")

Answer = dict[str, Any]
DIGITS = 8  # of the numbers in a recorded run: more than float32 has, and a third less to load
LONGEST = 500  # characters of an error message to a visitor
FRAMES = 6  # of an error's traceback that go into the log
NOT_UNDERSTOOD = "the page asked for something in a way that is not understood: reload it"


def answer(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return what a function returns.

    An error becomes {"error": one line}; an unexpected one is logged as well.
    """
    try:
        return function(*arguments)
    except HsdError as error:
        return {"error": brief(error)}
    except Exception as error:
        return {"error": unexpected(error, "try again, or reload the page")}


def brief(error: HsdError) -> str:
    """Return the error's message, shortened in case it quotes very long input."""
    words = str(error)
    return words if len(words) <= LONGEST else f"{words[:LONGEST]} …"


def unexpected(error: Exception, advice: str, what: str = "that failed on the server") -> str:
    """Return the message to a visitor about an unexpected error.

    The log has the details under the same name: where it happened, but not what was sent, as
    prompts are private.
    """
    name = secrets.token_hex(3)
    frames = traceback.extract_tb(error.__traceback__)[-FRAMES:]
    where = " < ".join(
        f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in reversed(frames)
    )
    log.error("error %s: %s at %s", name, type(error).__name__, where)
    return f"{what} ({type(error).__name__}, error {name}): {advice}"


def shortened(values: Answer) -> Answer:
    """Return plain data with all fractions rounded to `DIGITS` significant digits."""
    rounded: Answer = json.loads(
        json.dumps(values), parse_float=lambda text: float(f"{float(text):.{DIGITS}g}")
    )
    return rounded


def compact(data: Any) -> str:
    """Return JSON without spaces.

    Raises ValueError for NaN and infinite numbers, which JSON lacks.
    """
    return json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
