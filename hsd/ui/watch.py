"""The Watch screen: the stage, in which the player draws, and the handlers of the sidebar."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import gradio as gr

from hsd.errors import HsdError
from hsd.space import Space
from hsd.trace import MAX_BYTES, Trace
from hsd.ui import arrivals, form, static
from hsd.ui.controls import MATCHING, NAMES, Sidebar, enabled, fit, for_pair, preset_values, start_values
from hsd.ui.fetch import Fetch, answer
from hsd.ui.jobs import MODEL, Function, Job, Jobs
from hsd.ui.pairs import credits
from hsd.ui.presets import Preset, recorded
from hsd.ui.request import read
from hsd.ui.runs import Run
from hsd.ui.starters import starters

Values = dict[str, Any]
LINK_NAMES = {"preset", *(field.name for field in form.RUN)}


@dataclass(frozen=True)
class Watch:
    """What the screen works with. opened: a trace given on the command line, shown first.

    The stage's value is a small message to the page's script; see watch.js. Messages are numbered in order, so that
    the page can tell an old one.
    """

    space: Space
    presets: Mapping[str, Preset]
    jobs: Jobs
    opened: Trace | None = None

    @cached_property
    def start(self) -> Values:
        """What the controls are built with, before any visitor comes."""
        return start_values(self.space, self.presets)

    def submit(self, ticket: str, *values: Any) -> tuple[Any, ...]:
        """Check the controls and put a run into the line.

        ticket: the key of the run that this page asked for before; it is ended. Returns the new ticket, the stage,
        the two buttons, and the preset menu, which no longer tells what is shown.
        """
        return self._submit(dict(zip(NAMES, values, strict=True)), ticket)

    def _submit(self, values: Values, ticket: str = "") -> tuple[Any, ...]:
        reply = answer(lambda: {"job": self.jobs.submit(Run(read(self.space, values)))})
        if "error" in reply:
            return gr.skip(), self.jobs.message(alert=reply["error"]), gr.skip(), gr.skip(), gr.skip()
        self.jobs.cancel(ticket)
        job: Job = reply["job"]
        return job.key, job.news(), gr.Button(interactive=False), gr.Button(interactive=True), None

    def follow(self, key: str) -> Iterator[tuple[Any, Any, Any]]:
        """Run what `submit` put into the line; the page is told how many steps there are, and fetches them."""
        for message in self.jobs.messages(key):
            yield message, gr.skip(), gr.skip()
        yield gr.skip(), gr.Button(interactive=True), gr.Button(interactive=False)

    def open_preset(self, name: str) -> tuple[Any, ...]:
        """Show a preset and set the controls to what made it: the stage, then what `_updates` gives."""
        reply = answer(self._preset_values, name)
        if "error" in reply:
            return self.jobs.message(alert=reply["error"]), *self._updates({})
        return self.jobs.message(preset=name, pair=reply["pair"]), *self._updates(reply)

    def _preset_values(self, name: str) -> Values:
        if name not in self.presets:
            raise HsdError(f"unknown preset {name!r}: choose {', '.join(self.presets)}")
        preset = self.presets[name]
        return preset_values(preset, recorded(preset).setup)

    def open_link(self, request: gr.Request) -> tuple[Any, ...]:
        """What the address asks for: a preset's settings, or a run, which is put into the line at once.

        Returns what `_updates` gives, and then what `submit` returns. The page's script opens presets by itself.
        """
        query = {key: value for key, value in dict(request.query_params).items() if key in LINK_NAMES}
        name = query.get("preset", "")
        if "prompt" not in query:
            known = name in self.presets
            start = self._preset_values(name) if known else start_values(self.space, self.presets)
            asked = set(query) & set(form.MODELS)  # by a link to Measure, which sets them: never to be undone here
            news = {name for name in start if start[name] != self.start.get(name)}  # the rest may be typed over already
            news = set(start) if "pair" in news else news  # which decides what others mean
            values = {name: start[name] for name in news - asked}
            return *self._updates(values), *(gr.skip(),) * 4, name if known else gr.skip()
        submitted = self._submit(query)
        values = query if submitted[0] == gr.skip() else form.with_defaults(form.RUN, self.space, query)
        shown = {f.name: f.from_link(values[f.name], self.space) for f in form.RUN if f.name in values}
        shown["pair"] = shown.get("pair") or arrivals.first(self.space).name
        return *self._updates(shown), *submitted

    def open_pair(self, name: str) -> tuple[Any, ...]:
        """Another pair is chosen: a message to the stage, then what `_updates` gives."""
        return self.jobs.message(pair=name), *self._updates({"pair": name})

    def open_starter(self, number: int, pair: str) -> tuple[str, str | None]:
        """The prompt of a chip, and what is to be done with it."""
        chosen = starters(pair, self.presets.values())[number]
        return chosen.prompt, chosen.prompt_as or None

    def _updates(self, values: Values) -> list[Any]:
        """One update per control, and one for the chips; those that `values` does not name stay as they are."""
        fitting, chips = for_pair(self.space, self.presets, values) if "pair" in values else ({}, gr.skip())
        shown = {**values, **fitting}
        return [*(shown.get(name, gr.skip()) for name in NAMES), chips]

    def pair_menu(self) -> Any:
        """The pair control with the pairs that can be run now."""
        return gr.update(choices=form.pair_menu(self.space))

    def functions(self) -> list[Function]:
        """The functions that the page's script can call, by their names, with one argument each."""
        fetch = Fetch(self.space, self.presets, self.opened)
        return [*fetch.functions(), *self.jobs.functions(lambda asked: Run(read(self.space, asked)))]

    def stage(self) -> gr.HTML:
        """The component in which the page draws."""
        return gr.HTML(
            value={"serial": 0},
            html_template=static.stage(credits(self.space)),
            js_on_load=static.start("watch"),
            server_functions=self.functions(),
            apply_default_css=False,
            elem_id="hsd-stage",
            title=self.space.title,
            first=next(iter(self.presets)),
            opened=self.opened is not None,
            bytes=MAX_BYTES,
        )

    def connect(self, sidebar: Sidebar, stage: gr.HTML, demo: gr.Blocks) -> None:
        """Attach the handlers. A new ticket starts a run, one at a time; everything else is done at once."""
        quick: Values = {"queue": False, "show_progress": "hidden", "api_visibility": "private"}
        controls, buttons = sidebar.controls, [sidebar.run, sidebar.cancel]
        changed = [*sidebar.components(), sidebar.starters]  # what `_updates` is for
        ticket = gr.Textbox(visible="hidden", elem_id="hsd-ticket", label="ticket")
        submitted = [ticket, stage, *buttons, sidebar.preset]
        # raw values, because Gradio would reject a number out of range by itself, in a box that soon disappears
        asked: Values = {"inputs": [ticket, *sidebar.components()], "outputs": submitted, "preprocess": False}
        sidebar.run.click(self.submit, **asked, **quick)
        controls["prompt"].submit(self.submit, **asked, **quick)
        demo.load(self.open_link, None, [*changed, *submitted], **quick)
        ticket.change(self.follow, ticket, [stage, *buttons], **MODEL)
        sidebar.cancel.click(self.jobs.cancel, ticket, None, **quick)
        sidebar.preset.input(self.open_preset, sidebar.preset, [stage, *changed], **quick)
        stage.submit(self.pair_menu, None, controls["pair"], **quick)  # another pair has come
        controls["pair"].input(self.open_pair, controls["pair"], [stage, *changed], preprocess=False, **quick)
        for name, control in controls.items():
            said = f"(value) => window.hsdPage.call('watch', 'changed', '{name}', value)"
            control.input(None, control, js=said, queue=False, api_visibility="private")
        prompt = [controls["prompt"], controls["prompt_as"]]
        sidebar.starters.click(
            self.open_starter, [sidebar.starters, controls["pair"]], prompt, preprocess=False, **quick
        )
        deciding = [controls[name] for name in ("system", "proposer")]
        for control in deciding:
            control.change(_enable, deciding, [controls[name] for name in enabled("", "")], **quick)
        matching = [controls[name] for name in MATCHING]
        for name in ("rule", "drafts", "tree", "proposer"):
            controls[name].input(partial(_fit, name), matching, matching, preprocess=False, **quick)


def _fit(changed: str, *values: Any) -> list[Any]:
    """Updates of those controls that have to give way; the others may have been set again meanwhile."""
    fitting = fit(changed, *values)
    return [gr.skip() if new == old else new for new, old in zip(fitting, values, strict=True)]


def _enable(system: str, proposer: str) -> list[Any]:
    return [gr.update(interactive=on) for on in enabled(system, proposer).values()]
