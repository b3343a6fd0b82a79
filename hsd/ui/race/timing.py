"""The race itself: every lane in turn, each forward pass timed, everything that happens as plain data.

Every lane runs once more than is asked for. That first run warms up and is shown as it goes on; it counts for nothing.
The runs that count are disturbed as little as can be: no tracing, and news of them is sent seldom and in a pause.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from typing import Any

from hsd.bench import Case, machine
from hsd.bench.measure import sums
from hsd.decoding.loop import Decoding
from hsd.decoding.options import RunOptions
from hsd.decoding.systems import levels_of
from hsd.errors import HsdError
from hsd.models import Pair
from hsd.models.timing import call_summaries, timed
from hsd.trace import Step
from hsd.ui import pairs, servers
from hsd.ui.jobs import LOAD_SECONDS, TOKEN_SECONDS, Job
from hsd.ui.machine import lent_gpu
from hsd.ui.race.plan import Plan, described
from hsd.ui.race.report import report
from hsd.ui.runs import UPDATE_SECONDS
from hsd.version import __version__

Event = dict[str, Any]
SELDOM_SECONDS = 0.5  # between two pieces of news while runs that count are under way
TWO_LEVELS = "A stack of two models is ordinary speculative decoding."
PAUSE_SECONDS = 0.1  # for the page to fetch its news while nothing is timed


@dataclass(frozen=True)
class Race:
    """A plan as work."""

    plan: Plan

    @property
    def pair(self) -> pairs.PairChoice:
        return self.plan.request.pair

    def pieces(self, lent: bool) -> Iterator[Event]:
        for piece in (race_on_lent_gpu if lent else race)(*arguments(self.plan)):
            known = described(self.plan) if "header" in piece else {}
            yield {**piece, "header": {**known, **piece["header"]}} if known else piece

    def told(self, job: Job, start: int, fresh: list[Event]) -> Event:
        """The report comes with the last event of a round, and at the end."""
        counted = job.finished or any("record" in event for event in fresh)
        records = [event["record"] for event in job.items if "record" in event] if counted else []
        return {"result": report(self.plan.cases, records) if counted else None}


def race(pair: dict[str, Any], prompt: str, lanes: list[dict[str, Any]], seed: int, rounds: int) -> Iterator[Event]:
    """Run all lanes and yield plain data: first {"header": facts}, then {"items": events}, each as `_lane` makes them.

    lanes: {"name", "options"} each, and of a server's "address". Arguments are plain data too, because on ZeroGPU this
    runs in another process. Closing the iterator ends the race and frees all caches. Raises HsdError, before anything
    runs, for a lane that the pair has no models for, or whose server is not there.
    """
    cases = [_case(lane, number) for number, lane in enumerate(lanes, start=1)]
    loaded = pairs.load(pairs.PairChoice(**pair))
    yield {"header": {**facts(loaded), "notes": notes(loaded, cases)}}
    for repetition in range(rounds + 1):
        yield from _round(loaded, prompt, cases, seed, repetition)


def _case(lane: Event, number: int) -> Case:
    """The lane as a case; a server is reached."""
    if "address" not in lane:
        return Case(lane["name"], lane["options"])
    try:
        server = servers.Address(**lane["address"]).reach()
    except HsdError as error:
        raise HsdError(f"lane {number}: {error}") from None
    return Case(lane["name"], {"model": server.model}, server.case(lane["options"]).runner)


def notes(pair: Pair, cases: Sequence[Case]) -> list[list[str]]:
    """What a reader must know of each lane, such as exits that were not trained. Raises HsdError, naming the lane."""
    found = []
    for number, case in enumerate(cases, start=1):
        if case.runner:
            found.append([f"Model {case.options['model'][:60]}; {servers.COUNTS_ONLY}."])
            continue
        try:
            levels = levels_of(pair, RunOptions(**case.options))
        except HsdError as error:
            raise HsdError(f"lane {number}: {error}") from None
        found.append(levels.notes + ([TWO_LEVELS] if len(levels.stack) == 2 else []))
    return found


def _round(pair: Pair, prompt: str, cases: Sequence[Case], seed: int, repetition: int) -> Iterator[Event]:
    """One run of every lane; events are held back until it is time for news, and until the round ends."""
    held: list[Event] = []
    sent = time.monotonic()
    for lane, case in enumerate(cases):
        for event in _lane(pair, prompt, case, seed, {"lane": lane, "repetition": repetition}):
            held = _added(held, event)
            if time.monotonic() - sent >= (SELDOM_SECONDS if repetition else UPDATE_SECONDS):
                yield {"items": held}
                held = []
                time.sleep(PAUSE_SECONDS if repetition else 0)
                sent = time.monotonic()
    yield {"items": held}
    time.sleep(PAUSE_SECONDS)


def _added(held: list[Event], event: Event) -> list[Event]:
    """With one more event; steps of the same run are put together."""
    last = held[-1] if held else None
    if last and not last.get("record") and all(last[name] == event[name] for name in ("lane", "repetition")):
        return [*held[:-1], {**event, "steps": last["steps"] + event["steps"]}]
    return [*held, event]


def _lane(pair: Pair, prompt: str, case: Case, seed: int, which: Event) -> Iterator[Event]:
    """One run of one lane: an event per step, and a last one with its text and the record that numbers come from.

    `end` of a step is in seconds of decoding: what passes here between two steps does not count. A server has no steps.
    """
    known = {"case": case.name, "prompt": 0, "repetition": which["repetition"]}
    if case.runner:
        yield {**which, "steps": [], "record": {**known, **case.runner(pair, prompt, seed)}}
        return
    watched, times = timed(pair)
    decoding = Decoding(watched, prompt, RunOptions(seed=seed, **case.options))
    spent = 0.0
    try:
        while True:
            begin = time.perf_counter()
            step = next(decoding, None)
            spent += time.perf_counter() - begin
            if step is None:
                break
            yield {**which, "steps": [_step(step, spent)]}
    finally:
        decoding.close()
    trace = decoding.trace()
    record = {**known, **sums(trace), "calls": call_summaries(times)}
    yield {**which, "steps": [], "text": trace.text, "finish": trace.result.finish, "record": record}


def _step(step: Step, end: float) -> Event:
    return {
        "end": round(end, 6),
        "calls": step.target_calls,
        "kept": step.kept,
        "last": step.committed[-1].origin,
        "tokens": step.tokens,
        "pieces": [committed.piece for committed in step.committed],
    }


def facts(pair: Pair) -> dict[str, Any]:
    """What the race is run on."""
    return {
        "created": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "version": __version__,
        "pair": pair.name,
        "target": pair.target.parameters,
        "draft": pair.draft.parameters,
        "machine": machine(pair),
    }


def gpu_seconds(pair: dict[str, Any], prompt: str, lanes: list[dict[str, Any]], seed: int, rounds: int) -> int:
    """How long a GPU is needed, at most: every lane runs once more than it is timed."""
    tokens = sum(lane["options"]["max_new_tokens"] for lane in lanes)
    return LOAD_SECONDS + round(TOKEN_SECONDS * tokens * (rounds + 1))


race_on_lent_gpu = lent_gpu(gpu_seconds)(race)


def arguments(plan: Plan) -> tuple[dict[str, Any], str, list[dict[str, Any]], int, int]:
    """What `race` is called with, as plain data."""
    lanes = [{"name": case.name, "options": case.options, **_address(plan, case)} for case in plan.cases]
    return asdict(plan.request.pair), plan.request.prompt, lanes, plan.seed, plan.rounds


def _address(plan: Plan, case: Case) -> Event:
    return {"address": asdict(plan.addresses[case.name])} if case.name in plan.addresses else {}
