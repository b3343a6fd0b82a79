"""The Race screen's component, and the handlers that put a race into the line and run it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import gradio as gr

from hsd import facts
from hsd.decoding.systems import HISPEC_THRESHOLDS
from hsd.errors import HsdError
from hsd.space import Space
from hsd.ui import static
from hsd.ui.controls import Controls
from hsd.ui.fetch import answer
from hsd.ui.race import recorded
from hsd.ui.race.plan import LANE, MOST_LANES, ROUNDS, SHARED, divergence_facts, read_plan, rule_facts
from hsd.ui.race.store import RaceRunner
from hsd.ui.request import DEFAULTS
from hsd.ui.runner import Runner

Values = dict[str, Any]

NOT_UNDERSTOOD = "the page asked for a race in a way that is not understood: reload it"


@dataclass(frozen=True)
class Race:
    """What the screen works with. Its component's value is a small message about the race, as on Watch."""

    space: Space
    runner: RaceRunner
    _serial: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    @staticmethod
    def of(space: Space, runner: Runner) -> Race:
        """The screen, in the line of the app's own runner."""
        return Race(space, RaceRunner(runner))

    def functions(self) -> list[Callable[[Any], Values]]:
        """The functions that the page's script can call, by these names, with one argument each."""

        def read_recorded(_: Any) -> Values:
            return answer(recorded.read)

        def read_race(asked: Any) -> Values:
            return answer(self.read, asked)

        def cancel(key: Any) -> Values:
            return answer(lambda: self._cancel(key))

        return [read_recorded, read_race, cancel]

    def read(self, asked: Any) -> Values:
        """What is new of a race: asked = {"key": …, "start": the number of events that the page has}."""
        start = asked.get("start") if isinstance(asked, dict) else None
        if not isinstance(start, int) or start < 0:
            raise HsdError(NOT_UNDERSTOOD)
        run = self.runner.store.get(str(asked.get("key")))
        return {**run.since(start), "place": self.runner.line.place(run.key)}

    def _cancel(self, key: Any) -> Values:
        self.runner.cancel(str(key))
        return {}

    def enter(self, ticket: str, asked: Any, *values: Any) -> tuple[Any, Any]:
        """Check what is asked and put the race into the line. Returns the ticket, and a message for the page.

        ticket: the key of the race that this page asked for before; it is ended. values: the sidebar's controls; a
        link brings its own instead, as asked["link"].
        """
        sidebar = dict(zip(Controls.names(), values, strict=True))
        linked = asked.get("link") if isinstance(asked, dict) else None
        shared = {n: str(v) for n, v in linked.items() if n in SHARED} if isinstance(linked, dict) else sidebar
        reply = answer(lambda: {"run": self.runner.enter(read_plan(self.space, asked, shared))})
        if "error" in reply:
            return gr.skip(), self._message(alert=reply["error"])
        self.runner.cancel(ticket)
        return reply["run"].key, self._message(key=reply["run"].key)

    def follow(self, key: str) -> Iterator[Values]:
        """Run what `enter` put into the line; the page is told that there is more, and fetches it."""
        try:
            run = self.runner.store.get(key)
            for count in self.runner.follow(run):
                yield self._message(key=key, count=count)
            yield self._message(key=key, ended=True)
        except HsdError as error:
            yield self._message(key=key, alert=str(error))

    def _message(self, **content: Any) -> Values:
        return {"serial": next(self._serial), **content}

    def build(self, controls: Controls) -> gr.HTML:
        """The component in which the screen draws, in the current Gradio context, and its handlers."""
        stage = gr.HTML(
            value={"serial": 0},
            html_template=static.read("race/race.html"),
            js_on_load="window.hsdRace.start(element, props, server, watch, () => trigger('submit'))",
            server_functions=self.functions(),
            apply_default_css=False,
            elem_id="hsd-race",
            systems=[{"name": name, "title": facts.system_title(name)} for name in LANE],
            rules=rule_facts(),
            divergences=divergence_facts(),
            defaults={"gamma": DEFAULTS["gamma"], "tolerance": DEFAULTS["tolerance"], "hispec": HISPEC_THRESHOLDS},
            trees=[{"name": name, "title": title} for title, name in facts.tree_menu()],
            most=MOST_LANES,
            rounds=list(ROUNDS),
            limits={"gamma": self.space.limits.gamma, "drafts": self.space.limits.drafts},
        )
        ticket = gr.Textbox(visible="hidden", elem_id="hsd-race-ticket", label="ticket")
        # raw values, as on Watch; what the page asks for takes the place of the component's own value
        stage.submit(
            self.enter,
            [ticket, stage, *controls.components()],
            [ticket, stage],
            js="(ticket, stage, ...rest) => [ticket, window.hsdRace.plan(), ...rest]",
            preprocess=False,
            queue=False,
            show_progress="hidden",
            api_visibility="private",
        )
        ticket.change(
            self.follow,
            ticket,
            stage,
            show_progress="hidden",
            api_visibility="private",
            concurrency_id="model",
            concurrency_limit=1,
        )
        return stage
