"""The recorded runs of the Systems screen: what they are goes to the page at the start, their traces on demand."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from hsd.app.presets import Preset, definitions, recorded
from hsd.decoding.options import RunOptions
from hsd.errors import HsdError
from hsd.paths import EXAMPLES
from hsd.trace import Trace

Values = dict[str, Any]
FILE = EXAMPLES / "presets_systems.yaml"


@lru_cache(maxsize=1)
def presets() -> dict[str, Preset]:
    """All of them by name; those that were not recorded are left out."""
    return {name: preset for name, preset in definitions(FILE).items() if preset.file.is_file()}


def find(name: Any) -> Preset:
    """The preset of that name. Raises HsdError when there is none."""
    preset = presets().get(str(name))
    if preset is None:
        raise HsdError(f"there is no recorded run {str(name)[:40]!r}: choose another")
    return preset


def listed(preset: Preset) -> Values:
    """A preset without its trace. asked: the request that makes the run again."""
    return {"name": preset.name, "title": preset.title, "why": preset.why, "asked": asked(preset)}


def asked(preset: Preset) -> Values:
    """The options of a preset as a request has them, its prompt and its pair included."""
    options = {name: RunOptions.default(name) for name in RunOptions.options()} | dict(preset.options)
    return {**options, "prompt": preset.prompt, "pair": preset.pair}


def recorded_run(name: Any) -> Values:
    """The preset of that name with its trace, and the seed that was kept. Raises HsdError when there is none."""
    preset = find(name)
    trace = recorded(preset)
    seed = {**asked(preset), "seed": trace.setup.options.seed}
    return {**listed(preset), "asked": seed, "trace": trace.model_dump(mode="json")}


def trace_of(name: str) -> Trace:
    """The recorded run of that name. Raises HsdError when there is none."""
    return recorded(find(name))
