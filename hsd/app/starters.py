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
    """A prompt, and what is to be done with it: `RunOptions.prompt_as`."""

    prompt: str
    prompt_as: str = ""

    @property
    def label(self) -> str:
        """A question as it is; of a text to continue, its end."""
        whole = " ".join(self.prompt.split())
        if self.prompt_as == "chat":
            return whole
        return f"{whole} …" if len(whole) <= LABEL else f"… {whole[-LABEL:].partition(' ')[2]} …"

    def shown(self) -> dict[str, str]:
        """As the page has it."""
        return {**asdict(self), "label": self.label}


@lru_cache(maxsize=4)
def listed(file: Path = FILE) -> dict[str, tuple[Starter, ...]]:
    """The prompts of the file, by pair. Raises HsdError, one line, when it cannot be read."""
    try:
        data = yaml.safe_load(file.read_text(encoding="utf-8"))
        found = {
            pair: tuple(Starter(text, how) for one in of for how, text in one.items()) for pair, of in data.items()
        }
    except (OSError, yaml.YAMLError, AttributeError, TypeError) as error:
        raise HsdError(f"cannot read {file.name}: {' '.join(str(error).split())[:200]}") from None
    odd = next((s.prompt_as for of in found.values() for s in of if s.prompt_as not in PROMPTS), None)
    if odd is not None:
        raise HsdError(
            f"{file.name}: {odd!r} is nothing to do with a prompt: choose {', '.join(filter(None, PROMPTS))}"
        )
    return found


def starters(pair: str, presets: Iterable[Preset]) -> tuple[Starter, ...]:
    """What is offered for a pair: what the file lists, else the prompts of its recorded runs. May be none."""
    if pair in listed():
        return listed()[pair]
    own = (preset.prompt for preset in presets if recorded(preset).setup.pair == pair)
    return tuple(Starter(prompt) for prompt in dict.fromkeys(own))
