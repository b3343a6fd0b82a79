"""A race: lanes that take turns on one prompt, with each forward pass timed, as plain data.

Every lane runs once more than it is timed. That first run warms up and is shown as it goes on; it
counts for nothing, but it tells how long the lanes' texts are: in the rounds that count every lane
writes as many tokens as the shortest of them. Those rounds are disturbed as little as can be: no
tracing, and news of them is sent seldom and in a pause.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from hsd.bench import Case, machine
from hsd.bench.measure import sums
from hsd.decoding.loop import Decoding
from hsd.decoding.options import RunOptions
from hsd.decoding.system import make_system
from hsd.errors import HsdError
from hsd.models import Pair
from hsd.trace import Step
from hsd.version import __version__

Event = dict[str, Any]
NEWS_SECONDS = 0.05  # between two pieces of news while lanes warm up
SELDOM_SECONDS = 0.5  # … and while runs that count are under way
PAUSE_SECONDS = 0.1  # for the page to read its news while nothing is timed


def facts(pair: Pair, cases: Sequence[Case]) -> dict[str, Any]:
    """Return the machine, pair and version of a race.

    notes: warnings about each lane, such as untrained exits.

    Raises HsdError, naming the lane, for one that the pair has no models for.
    """
    return {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "version": __version__,
        "pair": pair.name,
        "target": pair.target.parameters,
        "draft": pair.draft.parameters,
        "machine": machine(pair),
        "notes": [_notes(pair, case, number) for number, case in enumerate(cases, start=1)],
    }


def _notes(pair: Pair, case: Case, number: int) -> list[str]:
    try:
        system = make_system(pair, RunOptions(**case.options))
    except HsdError as error:
        raise HsdError(f"lane {number}: {error}") from None
    if len(system.levels.stack) == 2:
        return [*system.notes, "A stack of two models is ordinary speculative decoding."]
    return list(system.notes)


def rounds(
    pair: Pair, prompt: str, cases: Sequence[Case], seed: int, repetitions: int
) -> Iterator[list[Event]]:
    """Run all cases `repetitions` times after one warm-up, in turn, and yield their new events.

    They are those of `_lane`, in lists. The last events of a round come together, when it has
    ended. Closing the iterator ends the race and frees all caches.
    """
    for repetition in range(repetitions + 1):
        lengths = list[int]()
        held = list[Event]()
        sent = time.monotonic()
        for lane, case in enumerate(cases):
            for event in _lane(pair, prompt, case, seed, {"lane": lane, "repetition": repetition}):
                lengths += [event["record"]["new_tokens"]] if "record" in event else []
                if held and held[-1]["lane"] == lane:  # steps of the same run
                    event["steps"] = held.pop()["steps"] + event["steps"]
                held.append(event)
                if time.monotonic() - sent >= (SELDOM_SECONDS if repetition else NEWS_SECONDS):
                    yield held
                    held = []
                    time.sleep(PAUSE_SECONDS if repetition else 0)
                    sent = time.monotonic()
        yield held
        time.sleep(PAUSE_SECONDS)
        if not repetition:  # no lane is timed on a longer text than another
            most = max(min(lengths), 1)
            cases = [_of_length(case, most) for case in cases]


def _of_length(case: Case, new_tokens: int) -> Case:
    return replace(case, options={**case.options, "max_new_tokens": new_tokens})


def _lane(pair: Pair, prompt: str, case: Case, seed: int, which: Event) -> Iterator[Event]:
    """Run one lane once: yield an event per step, and a last one with its text and its record.

    `end` of a step is in seconds of decoding: what passes here between two steps does not count.
    """
    known = {"case": case.name, "prompt": 0, "repetition": which["repetition"]}
    system = make_system(pair, RunOptions(seed=seed, **case.options))
    decoding = Decoding(system, prompt)
    calls = decoding.time_calls()
    with closing(decoding):
        for step in decoding:
            yield {**which, "steps": [_step(step, decoding.seconds)]}
    trace = decoding.trace()
    record = {**known, **sums(trace), "calls": calls()}
    yield {
        **which,
        "steps": [],
        "text": trace.text,
        "finish": trace.result.finish,
        "record": record,
    }


def _step(step: Step, end: float) -> Event:
    parts = [committed.bytes for committed in step.committed]
    return {
        "end": round(end, 6),
        "calls": step.target_calls,
        "kept": step.kept,
        "last": step.committed[-1].origin,
        "tokens": step.tokens,
        "pieces": [committed.piece for committed in step.committed],
        **({"bytes": parts} if any(parts) else {}),  # of tokens that are not whole characters
    }
