"""Races under way and ended, kept for their pages, and run in the same line as every other use of the model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from hsd.bench import Record
from hsd.ui import machine, pairs
from hsd.ui.race.plan import Plan, lossless
from hsd.ui.race.report import report
from hsd.ui.race.timing import Event, arguments, race, race_on_lent_gpu
from hsd.ui.runner import Runner
from hsd.ui.store import Run, RunStore, new_key

SPARE = 4  # ended races that are kept beside those that may wait


@dataclass
class RaceRun(Run):
    """A race as its page sees it. events: what happened, in order; records: of the runs that have ended."""

    plan: Plan = field(kw_only=True)
    events: list[Event] = field(default_factory=list)

    @property
    def progress(self) -> int:
        return len(self.events)

    @property
    def begun(self) -> bool:
        return bool(self.events)

    @property
    def records(self) -> list[Record]:
        """Of all runs that have ended, warm-ups included."""
        return [event["record"] for event in self.events if "record" in event]

    def add(self, delta: dict[str, Any]) -> None:
        """Take in what the race yielded: its header, or events."""
        if "header" in delta:
            self.header = {**described(self.plan), **delta["header"]}
        self.events.extend(delta.get("events", ()))

    def end(self, state: str) -> None:
        self.state = state

    def since(self, start: int) -> dict[str, Any]:
        """What a page that has `start` events is missing; the report comes with the last event of a round."""
        finished = self.finished  # read first: what is appended after this line is fetched next time
        events = self.events[start:]
        counted = finished or any("record" in event for event in events)
        return {
            "state": self.state,
            "header": self.header if start == 0 else None,
            "start": start,
            "events": events,
            "report": report(self.plan.cases, self.records) if counted else None,
            "message": self.message,
        }


def described(plan: Plan) -> dict[str, Any]:
    """What a page must know about a plan. The seed is text: JavaScript's numbers lose digits of a large one."""
    o = plan.request.options
    sampling = {"temperature": o.temperature, "top_p": o.top_p, "top_k": o.top_k, "length": o.max_new_tokens}
    lanes = [{"name": c.name, "options": c.options, "lossless": lossless(c)} for c in plan.cases]
    shared = {"prompt": plan.request.prompt, "sampling": sampling, "seed": str(o.seed), "rounds": plan.rounds}
    return {**shared, "lanes": lanes, "link": plan.link()}


class RaceStore(RunStore):
    """The last races; the one that was not looked at for longest goes first."""

    def admit(self, plan: Plan) -> RaceRun:
        """An empty race under a fresh key."""
        run = RaceRun(new_key(), plan.request, plan=plan)
        self.add(run)
        return run


class RaceRunner(Runner):
    """Runs races in the line of `runner`, one at a time with everything else."""

    store: RaceStore

    def __init__(self, runner: Runner) -> None:
        self.limits, self.line = runner.limits, runner.line
        self.store = RaceStore(self.limits.queue_size + SPARE)

    def enter(self, plan: Plan) -> RaceRun:
        """Put a race into the line. Raises HsdError when the line is full."""
        run = self.store.admit(plan)
        self.line.join(run.key)
        return run

    def pieces(self, run: Run) -> Iterator[dict[str, Any]]:
        """Where a race's plain data comes from: this process, or one with a GPU that is lent for it."""
        assert isinstance(run, RaceRun)
        lent = machine.zero_gpu() and not run.request.pair.embedded
        if lent:
            pairs.load(run.request.pair)  # here, where it stays: the process with the GPU ends with the race
        return (race_on_lent_gpu if lent else race)(*arguments(run.plan))
