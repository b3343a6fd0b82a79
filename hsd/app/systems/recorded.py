"""The recorded runs of the Systems screen as requests, for its panels."""

from typing import Any

from hsd.app.presets import Preset, recorded
from hsd.app.presets import of_systems as presets
from hsd.decoding.options import RunOptions
from hsd.trace import Trace


def listed(preset: Preset) -> dict[str, Any]:
    """A preset without its trace. asked: the what a request needs to make the run again."""
    options = {name: RunOptions.default(name) for name in RunOptions.options()} | dict(preset.options)
    asked = {**options, "prompt": preset.prompt, "pair": preset.pair}
    return {"name": preset.name, "title": preset.title, "why": preset.why, "asked": asked}


def trace_of(name: str) -> Trace:
    """The recorded run of that name."""
    return recorded(presets()[name])
