"""Generation settings of `transformers`, by what decoding makes of them.

There are those that decoding follows, those that change no token, and all others.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from transformers import GenerationConfig

from hsd.paths import read_yaml
from hsd.sampling import Sampling

LISTED: dict[str, Any] = read_yaml(Path(__file__).with_suffix(".yaml"))
SAMPLED, OUTPUTS, HARMLESS = (
    set(LISTED[kind]) - {*vars(Sampling())} for kind in ("sampled", "outputs", "harmless")
)
OFF: dict[str, Any] = LISTED["usual"]
FOLLOWED = {"do_sample", *vars(Sampling()), "max_length", "max_new_tokens", "eos_token_id"}


def unmet(settings: Mapping[str, Any], sampled: bool) -> dict[str, Any]:
    """Return the settings that decoding does not follow, unknown ones too.

    sampled: whether tokens are drawn.
    """
    met = FOLLOWED | HARMLESS | (set() if sampled else SAMPLED)
    met |= set() if settings.get("return_dict_in_generate") else OUTPUTS
    asked = {
        name: value
        for name, value in sorted(settings.items())
        if name not in met and not name.startswith("_")
    }
    return {name: value for name, value in asked.items() if not _off(name, value)}


def not_applied(settings: Mapping[str, Any], sampling: Sampling) -> list[str]:
    """Return the model's settings that a run with this sampling does not apply.

    Each is given as "name value".
    """
    known = {name: value for name, value in settings.items() if name in vars(GenerationConfig())}
    found = unmet(known | {"return_dict_in_generate": False}, not sampling.greedy)
    drawn = {} if sampling.greedy else vars(sampling)
    found |= {
        name: known[name] for name, used in drawn.items() if known.get(name) not in (None, used)
    }
    return [f"{name} {str(value)[:40]}" for name, value in found.items()]


def sampling_of(config: Any) -> dict[str, Any]:
    """Return the options of a run that draws tokens as `config` of `generate` does.

    The defaults of `config` are filled in.
    """
    given = {name: value for name, value in vars(config).items() if value is not None}
    return vars(Sampling.of(given)) if config.do_sample else {"temperature": 0.0}


def _off(name: str, value: Any) -> bool:
    empty = (
        value is None or value is False or (isinstance(value, (list, tuple, dict)) and not value)
    )
    usual = isinstance(value, (int, float, str)) and value == OFF.get(name)
    return empty or usual or (name == "cache_implementation" and value in LISTED["caches"])
