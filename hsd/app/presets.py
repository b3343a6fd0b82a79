"""Recorded runs that the page shows at once, the step each opens at, and prompts to start from."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from hsd.decoding.options import PROMPTS
from hsd.errors import HsdError
from hsd.paths import ASSETS, TRACES, cached_by_file, read_yaml
from hsd.rules import VANILLA
from hsd.trace import Step, Trace

SYSTEMS = ASSETS / "presets" / "systems.yaml"
STARTERS = ASSETS / "presets" / "starters.yaml"
SYSTEM_WORDS: dict[str, dict[str, Any]] = read_yaml(Path(__file__).with_name("systems.yaml"))
"""Title, words, source and shown presets of every system, by name."""
CLEAR = 0.05  # tokens that are a gain
SURE = 1e-6  # tokens: rounding
LABEL = 36  # characters that are shown of a long text
ENOUGH = 1.0  # tokens: a larger gain over all coins makes a step no clearer


@dataclass(frozen=True)
class Preset:
    """A run worth looking at.

    options: of `hsd.run`; seeds: how many are tried, 1 takes seed 0; pair: by name; system: what it
    is an example of, as systems.yaml names it, "" for one draft judged by an exact rule.
    """

    name: str
    title: str
    why: str
    prompt: str
    options: dict[str, Any] = field(default_factory=dict)
    seeds: int = 1
    pair: str = "tiny"
    system: str = ""

    @property
    def file(self) -> Path:
        """The path of the file that has its recorded trace."""
        return TRACES / f"{self.name}.json"


def _from_yaml(path: Path, make: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
    """Return what `make` makes of a file's data.

    Raises HsdError, one line, where the file has other data or none.
    """
    try:
        return make(read_yaml(path))
    except (OSError, yaml.YAMLError, AttributeError, TypeError) as error:
        raise HsdError(f"cannot read {path.name}: {' '.join(str(error).split())[:200]}") from None


@cached_by_file()
def _presets(path: Path) -> dict[str, Preset]:
    return _from_yaml(
        path, lambda entries: {name: Preset(name, **entry) for name, entry in entries.items()}
    )


def definitions(path: Path = ASSETS / "presets" / "watch.yaml") -> dict[str, Preset]:
    """Return all presets by name.

    Raises HsdError, one line, for a file that cannot be read or has other keys.
    """
    return _presets(path)


@cached_by_file()
def from_json(file: Path) -> Any:
    """Return the data of a JSON file that ships with the app."""
    return json.loads(file.read_text(encoding="utf-8"))


def of_systems() -> dict[str, Preset]:
    """Return the presets of stacks, HiSpec, FSD and EAGLE-3 by name.

    Those that were not recorded are left out.
    """
    return {name: preset for name, preset in definitions(SYSTEMS).items() if preset.file.is_file()}


def trace_of(preset: Preset) -> Trace:
    """Return the trace of a preset. Raises HsdError when it has not been recorded."""
    if not preset.file.is_file():
        remedy = "run `python examples/reproduce/record.py`"
        raise HsdError(f"preset {preset.name!r} has no recorded trace: {remedy}")
    return _read(preset.file)


@cached_by_file()
def _read(file: Path) -> Trace:
    return Trace.from_json(file.read_bytes())


def telling_step(trace: Trace) -> int:
    """Return the step to open a run at, from 0: the one of most `interest`.

    It is 0 for a run without steps.
    """
    return max(range(len(trace.steps)), key=lambda i: interest(trace.steps[i]), default=0)


def interest(step: Step) -> tuple[float, ...]:
    """Return nine numbers that say how telling a step is, to be compared from left to right.

    cut: 1 if levels below the target test too, and the target keeps some tokens and rejects others.
    whole: 1 if `law` is, and a single draft's first test fails and its last passes. sure: the
    draft's size, if the rule keeps all of it whatever its coins, its `gain` is at least `ENOUGH`,
    and it keeps more than the other rule here. law: 1 if its gain is above `CLEAR`, and it keeps
    more here. Then the gain up to `ENOUGH`, in tenths; 1 if the first test failed and the last
    passed; the gain; kept tokens; drafted tokens. All but cut and the last two are 0 without both
    verdicts.
    """
    size = (float(step.kept), float(step.drafted))
    cut = float(0 < step.kept < step.drafted and any(event.tested for event in step.events))
    if step.shadow is None or step.verdict is None or not step.verdict.decisions:
        return (cut, *(0.0,) * 6, *size)
    stepped_back = (
        step.kept > 0
        and step.verdict.decisions[-1].accepted
        and not step.verdict.decisions[0].accepted
    )
    gained = gain(step)
    more = _side(step) * (step.kept - step.shadow.kept) > 0
    certain = step.expected_kept.get(step.verdict.rule, 0.0) > step.drafted - SURE
    sure = step.drafted * float(certain and gained >= ENOUGH and more)
    law = float(gained > CLEAR and more)
    capped = round(min(gained, ENOUGH), 1)
    whole = law * float(stepped_back and len(step.paths) == 1)
    return (cut, whole, sure, law, capped, float(stepped_back), gained, *size)


def gain(step: Step) -> float:
    """Return how many more tokens of its draft the rule keeps on average than the other rule.

    The average is over all coins. For a vanilla run: how many fewer. 0 if the step does not record
    it.
    """
    if step.verdict is None or step.shadow is None:
        return 0.0
    own, other = (step.expected_kept.get(verdict.rule) for verdict in (step.verdict, step.shadow))
    return 0.0 if own is None or other is None else _side(step) * (own - other)


def _side(step: Step) -> int:
    """Return the sign that a difference between rules gets.

    It is -1 if the step's own rule is vanilla, else 1.
    """
    return -1 if step.verdict and step.verdict.rule in VANILLA.values() else 1


def player_data(trace: Trace) -> dict[str, Any]:
    """Return a trace and the step to open it at, from 0, as plain data."""
    return {"trace": trace.model_dump(mode="json"), "step": telling_step(trace)}


# ---- prompts to start from


@dataclass(frozen=True)
class Starter:
    """A prompt that the page offers. prompt_as: the option of that name, see `hsd.options.run`."""

    prompt: str
    prompt_as: str = ""

    @property
    def label(self) -> str:
        """What the page shows of it.

        A question is shown in full, of a long text to continue the last `LABEL` characters.
        """
        text = " ".join(self.prompt.split())
        if self.prompt_as == "chat":
            return text
        return f"{text} …" if len(text) <= LABEL else f"… {text[-LABEL:].partition(' ')[2]} …"


def prompts_by_pair(file: Path = STARTERS) -> dict[str, tuple[Starter, ...]]:
    """Return the starter prompts in a YAML file, by pair.

    Raises HsdError, one line, for an invalid file.
    """
    return _prompts(file)


@cached_by_file()
def _prompts(file: Path) -> dict[str, tuple[Starter, ...]]:
    def read(data: Any) -> dict[str, Any]:
        return {
            p: tuple(Starter(text, how) for one in of for how, text in one.items())
            for p, of in data.items()
        }

    prompts = _from_yaml(file, read)
    if odd := {starter.prompt_as for of in prompts.values() for starter in of} - {*PROMPTS}:
        raise HsdError(
            f"{file.name}: a prompt cannot be read as {min(odd)!r}: choose {' or '.join(PROMPTS)}"
        )
    return prompts


def starters(pair: str, presets: Iterable[Preset]) -> tuple[Starter, ...]:
    """Return the prompts for a pair: what the file lists, else those of its recorded runs.

    There may be none.
    """
    own = dict.fromkeys(preset.prompt for preset in presets if trace_of(preset).setup.pair == pair)
    return prompts_by_pair().get(pair) or tuple(map(Starter, own))
