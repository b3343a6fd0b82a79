"""The Race screen's component, and the handlers that put a race into the line and run it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import gradio as gr

from hsd import facts
from hsd.decoding.options import RunOptions
from hsd.models.loading.registry import draft_length
from hsd.space import Space
from hsd.ui import arrivals, servers, static
from hsd.ui.controls import NAMES, Sidebar
from hsd.ui.fetch import answer, answered
from hsd.ui.jobs import MODEL, QUICK, Function, Jobs
from hsd.ui.race import recorded
from hsd.ui.race.plan import (
    MOST_LANES,
    ROUNDS,
    SHARED,
    USUAL_ROUNDS,
    Plan,
    divergence_facts,
    drafters,
    read_plan,
    rule_facts,
)
from hsd.ui.race.timing import Race as RaceWork

Values = dict[str, Any]


@dataclass(frozen=True)
class Race:
    """What the screen works with. Its component's value is a small message about the race, see jobs.py."""

    space: Space
    jobs: Jobs

    def functions(self) -> list[Function]:
        """The functions that the page's script can call, by these names, with one argument each."""

        @answered
        def read_recorded(_: Any) -> Values:
            return recorded.read()

        return [read_recorded, *self.jobs.functions(lambda asked: RaceWork(self.plan(asked)))]

    def plan(self, asked: Any, sidebar: Mapping[str, Any] | None = None) -> Plan:
        """What the page asks for, checked; a link brings what lanes share as asked["link"]. Raises HsdError."""
        linked = asked.get("link") if isinstance(asked, dict) else None
        shared = {n: str(v) for n, v in linked.items() if n in SHARED} if isinstance(linked, dict) else sidebar
        return read_plan(self.space, asked, shared or {})

    def enter(self, ticket: str, asked: Any, *values: Any) -> tuple[Any, Any]:
        """Check what is asked and put the race into the line. Returns the ticket, and a message for the page.

        ticket: the key of the race that this page asked for before; it is ended. values: the sidebar's controls; a
        link brings its own instead, as asked["link"].
        """
        sidebar = dict(zip(NAMES, values, strict=True))
        reply = answer(lambda: {"job": self.jobs.submit(RaceWork(self.plan(asked, sidebar)))})
        if "error" in reply:
            return gr.skip(), self.jobs.message(alert=reply["error"])
        self.jobs.cancel(ticket)
        return reply["job"].key, reply["job"].news()

    def build(self, sidebar: Sidebar) -> gr.HTML:
        """The component in which the screen draws, in the current Gradio context, and its handlers."""
        stage = static.screen(
            "race",
            self.functions(),
            value={"serial": 0},
            drafters=drafters(self.space),
            rules=rule_facts(),
            divergences=divergence_facts(),
            defaults={"tolerance": RunOptions.default("tolerance"), "rounds": USUAL_ROUNDS, "url": servers.EXAMPLE},
            gammas={pair.name: draft_length(pair.name) for pair in self.space.pairs},
            pair=arrivals.first(self.space).name,
            trees=[{"name": name, "title": title} for title, name in facts.tree_menu()],
            most=MOST_LANES,
            rounds=list(ROUNDS),
            limits={"gamma": self.space.limits.gamma, "drafts": self.space.limits.drafts},
        )
        ticket = gr.Textbox(visible="hidden", elem_id="hsd-race-ticket", label="ticket")
        # raw values, as on Watch; what the page asks for takes the place of the component's own value
        stage.submit(
            self.enter,
            [ticket, stage, *sidebar.components()],
            [ticket, stage],
            js="(ticket, stage, ...rest) => [ticket, window.hsdPage.call('race', 'plan'), ...rest]",
            preprocess=False,
            **QUICK,
        )
        ticket.change(self.jobs.messages, ticket, stage, **MODEL)
        return stage
