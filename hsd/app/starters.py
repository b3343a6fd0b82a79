"""Prompts to start from: those that the page offers beside the prompt, for each pair its own."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path

import yaml

from hsd.app.presets import Preset, recorded
from hsd.decoding.options import PROMPTS
from hsd.errors import HsdError
from hsd.paths import ASSETS

FILE = ASSETS / "presets" / "starters.yaml"
LABEL = 36  # characters that are shown of a long text


@dataclass(frozen=True)
class Starter:
    """A prompt. prompt_as: the option of that name, see `hsd.options.run`."""

    prompt: str
    prompt_as: str = ""

    @property
    def label(self) -> str:
        """A question as it is; the end of a text to continue."""
        text = " ".join(self.prompt.split())
        if self.prompt_as == "chat":
            return text
        return f"{text} …" if len(text) <= LABEL else f"… {text[-LABEL:].partition(' ')[2]} …"

    def shown(self) -> dict[str, str]:
        """Return the starter as plain data for the page."""
        return {**asdict(self), "label": self.label}


@lru_cache(maxsize=4)
def listed(file: Path = FILE) -> dict[str, tuple[Starter, ...]]:
    """Return the prompts of the file, by pair. Raises HsdError, one line, when it cannot be read."""
    try:
        data = yaml.safe_load(file.read_text(encoding="utf-8"))
        prompts = {p: tuple(Starter(text, how) for one in of for how, text in one.items()) for p, of in data.items()}
    except (OSError, yaml.YAMLError, AttributeError, TypeError) as error:
        raise HsdError(f"cannot read {file.name}: {' '.join(str(error).split())[:200]}") from None
    if odd := {starter.prompt_as for of in prompts.values() for starter in of} - {*PROMPTS}:
        raise HsdError(f"{file.name}: a prompt cannot be read as {min(odd)!r}: choose {' or '.join(PROMPTS)}")
    return prompts


def starters(pair: str, presets: Iterable[Preset]) -> tuple[Starter, ...]:
    """Return the prompts for a pair: what the file lists, else those of its recorded runs. May be none."""
    if pair in listed():
        return listed()[pair]
    own = (preset.prompt for preset in presets if recorded(preset).setup.pair == pair)
    return tuple(Starter(prompt) for prompt in dict.fromkeys(own))
