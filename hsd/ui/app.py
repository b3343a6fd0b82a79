"""The app: frame and screens put together, and served."""

from __future__ import annotations

import threading
from contextlib import suppress
from importlib.util import find_spec
from typing import Any

import gradio as gr
from starlette.middleware import Middleware

from hsd.errors import HsdError
from hsd.space import Space
from hsd.trace import MAX_BYTES, Trace
from hsd.ui import api, arrivals, controls, lab, learn, machine, pairs, static
from hsd.ui.compare import Compare
from hsd.ui.guard import Page, guarded
from hsd.ui.jobs import Jobs
from hsd.ui.measure import Measure
from hsd.ui.presets import definitions
from hsd.ui.race import Race
from hsd.ui.systems import Systems
from hsd.ui.watch import Watch

THREADS = 40  # for all that is done at once
SESSIONS = 200  # that Gradio keeps, 0.3 MB each; a page that it has dropped goes on, as nothing of ours is in there
SYSTEM_FONTS = ["system-ui", "-apple-system", "Segoe UI", "Roboto", "Helvetica Neue", "Noto Sans", "sans-serif"]
MONO_FONTS = ["ui-monospace", "SF Mono", "Cascadia Mono", "Menlo", "Consolas", "DejaVu Sans Mono", "monospace"]


def serve(
    space: Space,
    trace_file: str | None,
    host: str | None,
    port: int | None,
    open_browser: bool,
    download: bool,
) -> None:
    """Build the app and serve it until interrupted. What it needs from the package index comes meanwhile."""
    opened = Trace.from_file(trace_file) if trace_file else None
    demo = build(space, opened)
    threading.Thread(target=_preload, args=[space], daemon=True).start()
    if download:
        arrivals.begin(space, lambda name: pairs.describe(space, name))
    try:
        _, address, _ = demo.launch(
            server_name=host,
            server_port=port,
            inbrowser=open_browser,
            prevent_thread_lock=True,
            quiet=True,
            theme=theme(),
            head=static.head(),
            app_kwargs={"routes": [static.route()], "middleware": [Middleware(guarded), Middleware(static.compressed)]},
            ssr_mode=False,
            mcp_server=find_spec("mcp") is not None,  # the endpoints as tools of a language model
            run_history=False,
            footer_links=["api", "settings"],
            max_file_size=MAX_BYTES,
            max_threads=THREADS + space.limits.queue_size,  # whoever waits for the model holds one
            state_session_capacity=SESSIONS,
        )
    except OSError:
        which = f"port {port} is taken" if port else "no free port was found"
        raise HsdError(f"{which}: choose another with --port") from None
    print(f"The app is ready: {address}", flush=True)
    demo.block_thread()


def build(space: Space, opened: Trace | None = None) -> gr.Blocks:
    """The whole page. opened: a trace to show first instead of a preset."""
    known = definitions()
    missing = [name for name in space.presets if name not in known]
    if missing:
        raise HsdError(f"the Spacefile names a preset that examples/presets.yaml has not: {missing[0]!r}")
    presets = {name: known[name] for name in space.presets}
    jobs = Jobs(space.limits)
    watch = Watch(space, presets, jobs, opened)
    with Page(title=space.title, fill_width=True, analytics_enabled=False) as demo:
        static.head_component()
        strip = controls.strip(space, presets, watch.start)
        with gr.Row(elem_id="hsd-layout", equal_height=False, elem_classes="is-folded"):
            with gr.Column(elem_id="hsd-side", min_width=0):
                sidebar = controls.build(space, presets, watch.start, strip)
            with gr.Column(elem_id="hsd-main", min_width=0), gr.Tabs(elem_id="hsd-tabs") as tabs:
                with _tab("Watch"):
                    stage = watch.stage()
                with _tab("Learn"):
                    learn.build()
                with _tab("Compare"):
                    Compare(space, jobs).build()
                with _tab("Race"):
                    Race(space, jobs).build(sidebar)
                with _tab("Systems"):
                    Systems(space, jobs).build()
                with _tab("Lab"):
                    lab.build()
                with _tab("Measure"):
                    Measure(space, jobs).build(sidebar, demo)
        watch.connect(sidebar, stage, demo)
        demo.load(_asked_tab, None, tabs, queue=False, show_progress="hidden", api_visibility="private")
        api.add_endpoints(space, presets, jobs)
    return demo.queue()  # as long as it likes: what waits for the model is in a line of our own, which is limited


def _tab(title: str) -> gr.Tab:
    """A tab that tells the page's script when it is opened."""
    name = title.lower()
    tab = gr.Tab(title, id=name, elem_id=f"hsd-tab-{name}")
    with tab:
        gr.HTML(f"<h2>{title}</h2>", apply_default_css=False, elem_classes="hp-unseen")
    tab.select(None, js=f"() => window.hsdPage.open('{name}')", queue=False, api_visibility="private")
    return tab


def _asked_tab(request: gr.Request) -> Any:
    """The tab that a link asks for; a link to a lesson need not name it."""
    query = dict(request.query_params)
    name = query.get("tab", "learn" if "lesson" in query else "")
    return gr.Tabs(selected=name) if name in static.SCREENS else gr.skip()


def theme() -> gr.themes.Base:
    """Gradio's default with the system's own fonts, so that nothing is fetched from anywhere."""
    base = gr.themes.Default(primary_hue="blue", neutral_hue="slate", font=SYSTEM_FONTS, font_mono=MONO_FONTS)
    readable = "*neutral_500"  # the default grey is too faint for small text on white
    return base.set(
        body_text_color_subdued=readable,
        block_info_text_color=readable,
        button_primary_background_fill="*primary_600",  # white words on a lighter blue are hard to read
        button_primary_background_fill_hover="*primary_700",
    )


def _preload(space: Space) -> None:
    """Load what the manifest wants loaded; a pair that cannot be loaded says so in its chip."""
    for pair in arrivals.available(space):
        if pair.preload and machine.zero_gpu() and pair.from_hub:
            with suppress(HsdError):  # whoever runs it is told why
                pairs.bring(pairs.choose(space, pair.name))
        elif pair.preload:
            pairs.describe(space, pair.name)
