"""The Measure screen's components and handlers: settings, a batch and its progress, files, links."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import gradio as gr

from hsd.bench.report import read as read_report
from hsd.errors import HsdError
from hsd.models.loading.registry import draft_lengths
from hsd.paths import EXAMPLES
from hsd.space import Space
from hsd.ui import form, static
from hsd.ui.controls import NAMES as SIDEBAR
from hsd.ui.controls import Sidebar
from hsd.ui.fetch import answer, answered
from hsd.ui.jobs import MODEL, QUICK, QUIET, Function, Job, Jobs
from hsd.ui.measure.batch import Batch, read
from hsd.ui.measure.controls import FIELDS, NAMES, build
from hsd.ui.measure.job import Measuring, benchmark
from hsd.ui.measure.opened import opened
from hsd.ui.measure.published import NOTES, PUBLISHED, SOURCE, all_systems, systems_here
from hsd.ui.measure.results import CHARTS, RECORDED, Results, Shown
from hsd.ui.measure.snippets import note, snippets
from hsd.ui.request import Request
from hsd.ui.request import read as read_request

Values = dict[str, Any]
FILES = {"smollm2": "bench-smollm2.jsonl", "tiny": "bench.jsonl"}
"""The benchmarks that travel with the project, by their pair; the screen opens on the first."""

SERVED = tuple(field.name for field in form.SERVER)  # what a link cannot set
PAUSE = 3.0  # seconds between two drawings while a batch goes on, at least: drawing takes from the visitor's time


class Measure:
    """What the screen works with. Messages to the page's script are numbered, so that it can tell an old one."""

    def __init__(self, space: Space, jobs: Jobs) -> None:
        self.space, self.jobs, self.results = space, jobs, Results()

    # ---- what is shown

    def _recorded(self, pair: str) -> Shown:
        return self.results.show(read_report(EXAMPLES / "results" / FILES[pair]), RECORDED, f"{RECORDED} {pair}")

    def recorded(self, pair: str) -> list[Any]:
        """The plan's message, the results and all charts of a benchmark that travels with the project."""
        return self._show(partial(self._recorded, pair))

    def recorded_view(self, pair: str) -> Values:
        """The results alone, as the page's script draws them."""
        return {"view": self._recorded(pair).view}

    def open_file(self, path: str) -> list[Any]:
        """The same for a visitor's file; only the plan changes when it cannot be shown."""
        return self._show(lambda: self.results.show(opened(Path(path)), "file", secrets.token_urlsafe(16)))

    def _show(self, make: Callable[[], Shown]) -> list[Any]:
        reply = answer(lambda: {"shown": make()})
        if "error" in reply:
            return [self.jobs.message(problem=reply["error"]), *[gr.skip()] * (1 + len(CHARTS))]
        return [self.jobs.message(problem=""), self.jobs.message(view=reply["shown"].view), *reply["shown"].updates()]

    # ---- what is asked for

    def _read(self, values: Sequence[Any]) -> Batch:
        return read(self.space, dict(zip([*NAMES, *form.MODELS], values, strict=True)))

    def plan(self, *values: Any) -> Values:
        """What the settings come to: how many runs, the command line, the link. values: settings, then the pair."""
        reply = answer(lambda: self._plan(self._read(values)))
        return self.jobs.message(problem=reply["error"], words="") if "error" in reply else self.jobs.message(**reply)

    def _plan(self, batch: Batch) -> Values:
        words = batch.estimate(self.jobs.limits.run_seconds)
        return {"words": words, "problem": "", "command": batch.command(), "link": batch.query()}

    def programs(self, *values: Any) -> Values:
        """The snippets for the sidebar's values."""
        asked = dict(zip(SIDEBAR, values, strict=True))
        return self.jobs.message(**answer(lambda: self._programs(read_request(self.space, asked))))

    def _programs(self, request: Request) -> Values:
        return {"snippets": snippets(request), "note": note(request)}

    def submit(self, ticket: str, *values: Any) -> tuple[Any, ...]:
        """Put a batch into the line: the new ticket, the plan, and the two buttons."""
        reply = answer(lambda: {"job": self.jobs.submit(self.work(self._read(values)))})
        if "error" in reply:
            return gr.skip(), self.jobs.message(problem=reply["error"]), gr.skip(), gr.skip()
        self.jobs.cancel(ticket)
        key = reply["job"].key
        return key, self.jobs.message(problem=""), gr.Button(interactive=False), gr.Button(interactive=True)

    def follow(self, key: str) -> Iterator[list[Any]]:
        """Run what `submit` put into the line; show what there is now and then, and at the end.

        Yields the two buttons, the results and all charts. How it ended the page asks for itself.
        """
        unchanged = [gr.skip()] * (1 + len(CHARTS))
        last, drawn = unchanged, time.monotonic()
        with suppress(HsdError):  # where it is no longer known, the page is told so when it asks
            job = self.jobs.get(key)
            for _ in self.jobs.follow(job):
                if time.monotonic() - drawn > PAUSE:
                    yield [gr.skip(), gr.skip(), *(self._drawn(job) or unchanged)]
                    drawn = time.monotonic()
            last = self._drawn(job) or unchanged
        yield [gr.Button(interactive=True), gr.Button(interactive=False), *last]

    def _drawn(self, job: Job) -> list[Any] | None:
        """What has been measured so far; None before the first round of all cases."""
        found = benchmark(job)
        if found is None:
            return None
        shown = self.results.show(found, "live", job.key)
        return [self.jobs.message(view=shown.view), *shown.updates()]

    def open_link(self, request: gr.Request) -> list[Any]:
        """The settings and the pair that a link to this screen asks for; a wrong one is told by the plan.

        Last the pair that its draft lengths are for: they stay as the link has them.
        """
        query = {name: value for name, value in request.query_params.items() if name not in SERVED}
        if query.get("tab") != "measure":
            query = {}
        fields = [*FIELDS, *(field for field in form.RUN if field.name in form.MODELS)]
        found = [f.from_link(query[f.name], self.space) if f.name in query else gr.skip() for f in fields]
        return [*found, query["pair"] if {"pair", "gammas"} <= set(query) else gr.skip()]

    # ---- what the page's script asks

    def work(self, batch: Batch) -> Measuring:
        return Measuring(batch, self.jobs.limits.run_seconds)

    def functions(self) -> list[Function]:
        """The functions that the page's script can call, by these names, with one argument each."""
        return [answered(self.results.download), *self.jobs.functions(lambda asked: self.work(read(self.space, asked)))]

    # ---- building

    def build(self, sidebar: Sidebar, demo: gr.Blocks) -> None:
        """All components in the current Gradio context, and their handlers."""
        settings = build(self.space, sidebar.controls["pair"].value)
        with gr.Row(elem_id="hsd-measure-buttons"):
            start = gr.Button("Measure", variant="primary", elem_id="hsd-measure-start", min_width=90)
            cancel = gr.Button("Cancel", interactive=False, elem_id="hsd-measure-cancel", min_width=90)
            upload = gr.UploadButton("Open a file", file_types=[".jsonl"], elem_id="hsd-measure-open", min_width=90)
            recorded = {pair: self._button(pair) for pair in FILES}
        pair = [sidebar.controls[name] for name in form.MODELS]
        plan = self._html("plan", self.plan(*(box.value for box in [*settings, *pair])))
        reply = answer(lambda: {"shown": self._recorded(next(iter(FILES)))})
        first: Shown | None = reply.get("shown")
        known: Values = {"view": first.view} if first else {"none": reply["error"]}
        results = self._html("results", self.jobs.message(**known))
        plots = _plots(first.charts if first else [{"visible": False}] * len(CHARTS))
        with gr.Accordion("All systems in three domains, recorded, beside the claims", open=False) as systems:
            gr.render(triggers=[systems.expand], show_progress="hidden")(_all_systems)
        foot = self._html("foot", self.programs(*(box.value for box in sidebar.components())))
        ticket = gr.Textbox(visible="hidden", elem_id="hsd-measure-ticket", label="ticket")
        fitted = gr.Textbox(sidebar.controls["pair"].value, visible="hidden", label="the pair that γ is for")

        shown, boxes = [results, *plots], [*settings, *pair]
        _keep_in_step(plan, self.plan, boxes)
        _keep_in_step(foot, self.programs, sidebar.components())
        demo.load(self.open_link, None, [*boxes, fitted], **QUICK)
        gammas, named = settings[NAMES.index("gammas")], sidebar.controls["pair"]
        named.change(usual_lengths, [named, fitted, gammas], [gammas, fitted], preprocess=False, **QUICK)
        upload.upload(self.open_file, upload, [plan, *shown], concurrency_limit=1, **QUIET)
        for name, button in recorded.items():
            button.click(partial(self.recorded, name), None, [plan, *shown], **QUICK)

        buttons = [start, cancel]
        start.click(self.submit, [ticket, *boxes], [ticket, plan, *buttons], preprocess=False, **QUICK)
        cancel.click(self.jobs.cancel, ticket, None, **QUICK)
        ticket.change(None, ticket, js="(key) => window.hsdPage.call('measure', 'follow', key)", **QUICK)
        ticket.change(self.follow, ticket, [*buttons, *shown], **MODEL)

    def _button(self, pair: str) -> gr.Button:
        """Shows the benchmark of that pair."""
        title = next((spec.short_title for spec in self.space.pairs if spec.name == pair), pair)
        return gr.Button(f"Recorded: {title}", elem_id=f"hsd-measure-recorded-{pair}", min_width=90)

    def _html(self, name: str, value: Values) -> gr.HTML:
        """One of the three parts that the page's script draws."""
        foot: Values = {"published": PUBLISHED, "notes": NOTES, "source": SOURCE, "systems": systems_here([])}
        more = foot if name == "foot" else {}
        return gr.HTML(
            value=value,
            html_template=f'<div class="hsd-kit hm hm-{name}"></div>',
            js_on_load=static.start("measure", name),
            server_functions=self.functions(),
            apply_default_css=False,
            padding=False,
            elem_id=f"hsd-measure-{name}",
            **more,
        )


def _all_systems() -> None:
    """Drawn when it is opened: what shows Markdown weighs 36 kB, which the page would fetch when it is first loaded."""
    gr.Markdown(all_systems(), elem_id="hsd-measure-all")


def usual_lengths(pair: str, before: str, gammas: str) -> tuple[Any, str]:
    """The draft lengths after another pair was chosen: its usual ones where those of the pair `before` stood.

    Returns them, and the pair that they are for.
    """
    usual, old = (", ".join(map(str, draft_lengths(name))) for name in (pair, before))
    return (usual if gammas == old else gr.skip()), pair


def _keep_in_step(part: gr.HTML, function: Callable[..., Values], boxes: list[Any]) -> None:
    """Call `function` when boxes have changed. The page's script collects changes, and asks once for all of them."""
    name = str(part.elem_id).rpartition("-")[2]
    changed = f"() => window.hsdPage.call('measure', 'changed', '{name}')"
    gr.on([box.change for box in boxes], None, js=changed, trigger_mode="multiple", **QUICK)
    part.submit(function, boxes, part, preprocess=False, trigger_mode="multiple", **QUICK)


def _plots(charts: Sequence[Values]) -> list[gr.Plot]:
    """The charts, two in a row where there is room."""
    with gr.Row(elem_id="hsd-measure-charts"):
        return [
            gr.Plot(label=chart.title, show_label=True, min_width=300, **values)
            for chart, values in zip(CHARTS, charts, strict=True)
        ]
