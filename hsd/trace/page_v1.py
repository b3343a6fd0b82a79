"""A trace as the page's scripts read it: the layout of version 1, as plain data."""

from __future__ import annotations

from typing import Any

from hsd.trace.asked import GROUPS
from hsd.trace.upgrade import Data


def page_v1(trace: Data) -> Data:
    """A trace of version 2, or some of its parts (setup, steps), in the layout of version 1."""
    made = dict(trace)
    if "trace_version" in made:
        made["trace_version"] = 1
    if "setup" in made:
        made["setup"] = _setup(made["setup"])
    if "steps" in made:
        made["steps"] = [_step(dict(step)) for step in made["steps"]]
    return made


def _setup(setup: Data) -> Data:
    options, models = dict(setup["options"]), setup["models"]
    groups = {group: options.pop(group) for group in GROUPS}
    options.pop("engine", None)
    flat = {old: _finite(groups[group][new]) for group, names in GROUPS.items() for new, old in names.items()}
    flat.pop("proposer")
    if "fuzzy" not in (options["rule"], options["shadow"]):
        flat |= {"divergence": "", "tolerance": None, "fuzzy_mode": "", "divergence_on": ""}
    levelled = options["system"] in ("stack", "hispec")
    known = {name: setup[name] for name in setup if name not in ("options", "models")}
    draft = models[0] if len(models) > 1 else None
    return {**known, **options, **flat, "target": models[-1], "draft": draft, "models": models if levelled else []}


def _step(step: Data) -> Data:
    own, shadow = step.pop("verdict"), step.pop("shadow")
    paths = step.pop("paths")
    told = own or {"decisions": [], "changes": [], "residual": None, "extra_draws": []}
    step["shadow"] = shadow and {name: value for name, value in shadow.items() if name != "extra_draws"}
    step |= {name: told[name] for name in ("decisions", "changes", "residual", "extra_draws")}
    chain = len(paths) < 2
    step["depth"] = None if chain else step["depth"]
    for part in (step, step["shadow"]):
        if part:
            kept = ("node", "test", "threshold", "coin", "accepted", "draft")
            part["decisions"] = [
                {**{k: d[k] for k in kept}, "grounds": None if chain else d["grounds"]} for d in part["decisions"]
            ]
            part["residual"] = part["residual"] and _residual(part["residual"], chain)
    step["divergences"] = [_finite(value) for value in step["divergences"]]
    step["branches"] = [{**branch, "ratio": _finite(branch["ratio"])} for branch in step["branches"]]
    return step


def _residual(residual: Data, chain: bool) -> Data:
    weight = _finite(residual["weight"]) if chain else None
    return {**{k: v for k, v in residual.items() if k != "mass"}, "weight": weight}


def _finite(value: Any) -> Any:
    return {"Infinity": 1e300, "-Infinity": -1e300}.get(value, value) if isinstance(value, str) else value
