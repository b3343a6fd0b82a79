"""Traces of version 1 as traces of version 2, both as plain data from JSON.

What version 1 left out is worked out from what it had: the grounds of a chain's thresholds from its nodes and branches,
the drafts of a tree from its leaves and from the tests that name a draft. Two drafts that shared all their tokens
cannot be told apart there: a draft that is not seen counts as a repetition of the first.
"""

from __future__ import annotations

from typing import Any

from hsd.errors import HsdError
from hsd.trace.asked import GROUPS
from hsd.trace.values import MAX_NODES

Data = dict[str, Any]
LARGEST = 1e299  # from here on a number of version 1 stood for infinity
WRONG = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)


def upgraded(trace: Data) -> Data:
    """A trace of version 1 as one of version 2, which is still to be validated. Raises HsdError, one line."""
    try:
        setup = _setup(trace["setup"])
        steps = [_step(dict(step), setup["options"]) for step in trace["steps"][:]]
        return {**trace, "trace_version": 2, "setup": setup, "steps": steps}
    except WRONG:
        raise HsdError("not a valid trace: version 1 is read, but this one lacks parts of it") from None


def _setup(old: Data) -> Data:
    setup = dict(old)
    options = {name: setup.pop(name) for name in ("system", "rule", "seed", "max_new_tokens")}
    options["shadow"] = setup.pop("shadow", "")
    for group, names in GROUPS.items():
        given = {new: setup.pop(name) for new, name in names.items() if name in setup}
        if group != "fuzzy" or given.get("divergence"):
            options[group] = {name: _infinite(value) for name, value in given.items()}
    if options["system"] == "plain":
        options["draft"]["proposer"] = "none"
    target, draft, models = setup.pop("target"), setup.pop("draft", None), setup.pop("models", [])
    return {**setup, "options": options, "models": models or ([draft, target] if draft else [target])}


def _step(step: Data, options: Data) -> Data:
    own: Data = {"rule": _rule(options), "kept": step["kept"]}
    own |= {name: step.pop(name, []) for name in ("decisions", "changes", "extra_draws")}
    own["residual"], shadow = step.pop("residual", None), step.get("shadow")
    step["depth"] = step["drafted"] if step.get("depth") is None else step["depth"]
    step["divergences"] = [_infinite(value) for value in step.get("divergences", [])]
    if not (own["decisions"] or own["residual"] or shadow):
        return step  # tracing was off
    if len(step.get("nodes", [])) > MAX_NODES:
        return step  # too many, as will be said
    after = step["committed"][step["kept"] : step["kept"] + 1]
    own["next"] = after[0] if after and own["residual"] else None
    step["verdict"], step["shadow"] = own, dict(shadow) if shadow else None
    chain = options["draft"]["drafts"] == 1
    step["paths"] = _one_path(step["nodes"]) if chain else _paths(step, options["draft"])
    for verdict in (own, step["shadow"]):
        if verdict and chain:
            made = verdict["decisions"]
            verdict["decisions"] = [{**d, "grounds": _grounds(d, step, verdict["rule"], options)} for d in made]
        if verdict and verdict["residual"]:
            verdict["residual"] = _residual(verdict, step["branches"])
    return step


def _rule(options: Data) -> str:
    """The run's rule by the name of its verdicts: version 1 had the bare name of one that judges draft after draft."""
    rule: str = "tokenwise" if options["system"] == "plain" else options["rule"]
    several = options["draft"]["drafts"] > 1 and rule in ("tokenwise", "blockwise", "hsd")
    return f"recursive-{rule}" if several else rule


def _one_path(nodes: list[Data]) -> list[Data]:
    return [{"nodes": [node["id"] for node in nodes]}] if nodes else []


def _paths(step: Data, draft: Data) -> list[Data]:
    """Every leaf is a draft's end. First come those whose number a test names, then the others as they were drawn."""
    parents = {node["id"]: node["parent"] for node in step["nodes"]}
    lines = [_line(parents, leaf) for leaf in parents.keys() - set(parents.values())]
    longest = max(map(len, lines), default=0)
    lines.sort(key=lambda line: (line + [0] * longest)[:longest])
    named: dict[int, list[int]] = {}
    for verdict in (step["verdict"], step["shadow"]):
        for decision in verdict["decisions"] if verdict else []:
            through = [line for line in lines if decision["node"] in line]
            if len(through) == 1 or decision["draft"] == 0:
                named.setdefault(decision["draft"], through[0])
    others = iter([line for line in lines if line not in named.values()])
    count = max(0 if draft["tree"] == "comb" else draft["drafts"], len(lines), *(n + 1 for n in named)) if lines else 0
    found = [named.get(number) or next(others, lines[0]) for number in range(count)]
    found += others
    shared = [sum(a == b for a, b in zip(line, found[0], strict=False)) for line in found]
    comb = draft["tree"] == "comb"
    return [
        {"nodes": line, "fork": fork if comb and i else 0}
        for i, (line, fork) in enumerate(zip(found, shared, strict=True))
    ]


def _line(parents: dict[int, int], node: int) -> list[int]:
    """The nodes from depth 1 down to `node`."""
    line = []
    while node:
        line.append(node)
        node = min(parents[node], node - 1)  # parents come first; what does not is refused later
    return line[::-1]


def _grounds(decision: Data, step: Data, rule: str, options: Data) -> Data:
    """What a chain's threshold was computed from."""
    at, threshold = decision["node"], decision["threshold"]
    node = step["nodes"][at - 1]
    rates = {"p": node["p"], "q": node["q"]}
    if decision["test"] == "token":
        return {**rates, **(_fuzzy(at, threshold, step, options) if rule == "fuzzy" else {"form": "token"})}
    uncapped = rule in ("naive-hsd", "hsd-released")
    if decision["test"] == "draft":
        before = step["branches"][at - 1]
        return {**rates, "form": "ratio" if uncapped else "capped", "before": before["ratio" if uncapped else "capped"]}
    branch = step["branches"][at]
    if rule != "naive-hsd":
        return {"form": "share", "before": branch["capped"], "mass": branch["deficient"]}
    missing = max(1 - branch["ratio"], 0.0)
    mass = missing * threshold / (1 - threshold) if threshold < 1 else max(branch["deficient"], missing)
    return {"form": "naive", "before": branch["ratio"], "mass": mass}


def _fuzzy(at: int, threshold: float, step: Data, options: Data) -> Data:
    """The form of a fuzzy test. Version 1 kept divergences for the run's own rule only."""
    known = options["rule"] == "fuzzy"
    divergence = step["divergences"][at - 1] if known else None
    passed = divergence <= options["fuzzy"]["tolerance"] if known else threshold >= 1
    far = "far" if options["fuzzy"]["mode"] == "divergence-only" else "beyond"
    return {"form": "near" if passed else far, "divergence": divergence}


def _residual(verdict: Data, branches: list[Data]) -> Data:
    residual: Data = dict(verdict["residual"])
    change = next((c for c in reversed(verdict["changes"]) if c["node"] == residual["node"]), None)
    weight = residual.get("weight")
    if residual["origin"] == "correction" and change:
        return {**residual, "weight": change["weight"], "mass": change["mass"]}
    if residual["origin"] == "bonus" or weight is None:
        return residual
    branch = next(branch for branch in branches if branch["node"] == residual["node"])
    masses = {1.0: branch["distance"], branch["capped"]: branch["deficient"]}
    return {**residual, "weight": _infinite(weight), "mass": masses.get(weight)}


def _infinite(value: Any) -> Any:
    """A number of version 1 that stood for infinity as what it stood for."""
    if isinstance(value, float) and abs(value) >= LARGEST:
        return float("inf") if value > 0 else float("-inf")
    return value
