"""`python -m hsd plan`: the best stack of models, or tree, for given or measured costs."""

import argparse
import json
import sys
from typing import Any

from hsd.bench.prompts import prompt_set
from hsd.cli.arguments import load, refuse, show
from hsd.draft.tree_plans import tree_plans
from hsd.errors import HsdError, one_line
from hsd.models.machine import machine
from hsd.planner import (
    LONGEST,
    Models,
    Stack,
    StackPlan,
    as_json,
    plan,
    read_acceptance,
    read_numbers,
)
from hsd.planner.measure import measure_stack
from hsd.planner.measure_trees import LARGEST, measure_trees
from hsd.sampling import Sampling

WORDS = {"about": "measure: ", "longest": str(LONGEST)}
GIVEN = ("costs", "acceptance", "per_token")
MEASURED = ("pair", "target", "draft")


def main(arguments: argparse.Namespace) -> int:
    """Print the best stack of models, or the best grown tree. Returns the exit status."""
    given = [f"--{n.replace('_', '-')}" for n in GIVEN if getattr(arguments, n) is not None]
    measured = any(getattr(arguments, n) is not None for n in MEASURED)
    if measured and given:
        raise HsdError(f"give either a pair to measure or {' and '.join(given)}, not both")
    if arguments.tree:
        refuse(arguments, "--longest", "a stack")
        return _plan_tree(arguments, measured)
    if not measured and (arguments.costs is None or arguments.acceptance is None):
        raise HsdError("a plan needs --costs and --acceptance, or --pair tiny to measure them")
    measurement: dict[str, Any] = {}
    if measured:
        models, measurement = _measure(arguments)
        names = measurement["names"]
    else:
        refuse(
            arguments,
            "--device --dtype --prompts --limit --new-tokens --temperature",
            "a pair to measure, --pair",
        )
        further = read_numbers(arguments.per_token) if arguments.per_token else ()
        models = Models(
            read_numbers(arguments.costs), read_acceptance(arguments.acceptance), further
        )
        names = [*(f"model {i}" for i in range(models.target)), "target"]
    best_plan = plan(models, arguments.longest)
    for line in models.warnings():
        show(f"hsd: warning: {line}", sys.stderr)
    plain = as_json(models, best_plan) | ({"measured": measurement} if measured else {})
    if arguments.json:
        show(json.dumps(plain))
    else:
        show(report(best_plan, names, arguments.longest, measurement))
    return 0


def _plan_tree(arguments: argparse.Namespace, measured: bool) -> int:
    """Measure a pair and print the grown tree that is best for it. Returns the exit status."""
    if not measured:
        raise HsdError("--tree is measured on a pair: give --pair, or --target and --draft")
    prompts = prompt_set(arguments.prompts, limit=arguments.limit)
    pair = load(arguments, arguments.pair)
    trees, costs, steps = measure_trees(
        pair, prompts.prompts, arguments.new_tokens, Sampling(arguments.temperature)
    )
    ranking = sorted(tree_plans(trees, costs, LARGEST), key=lambda tree: tree.per_token)
    where = machine(pair)
    about = {
        "prompts": prompts.name,
        "steps": steps,
        "temperature": arguments.temperature,
        "machine": where,
    }
    if arguments.json:
        plain = {"target": costs.target, "level": costs.level, "around": costs.around}
        names = ("drafts", "gamma", "nodes", "kept", "step")
        tree = {name: getattr(ranking[0], name) for name in names}
        tree["speedup"] = costs.target[1] / ranking[0].per_token
        show(json.dumps({"best": tree, "unit": "ms", "costs": plain, **about}))
        return 0
    flags = f"--drafts {ranking[0].drafts} --gamma {ranking[0].gamma} --nodes {ranking[0].nodes}"
    show(f"best grown tree: {flags}")
    for drafts in trees:
        best = next(tree for tree in ranking if tree.drafts == drafts)
        shape = f"{best.drafts} a level, {best.gamma} levels, {best.nodes} nodes"
        speed = costs.target[1] / best.per_token
        numbers = f"{1 + best.kept:5.2f} tokens a call  {best.step:7.2f} ms a step"
        show(f"  {shape:34} {numbers}  {speed:5.2f}× plain")
    source = f"{steps} steps with large trees"
    show(f"\ncomputed from {source}, temperature {arguments.temperature:g}, {prompts.name}; ")
    widths = ", ".join(f"{width}: {ms:.1f}" for width, ms in costs.target.items())
    levels = ", ".join(f"{drafts}: {ms:.2f}" for drafts, ms in costs.level.items())
    show(f"  ms of a pass of the target over so many tokens: {widths}")
    around = f"around them {costs.around:.2f} ms a step"
    show(f"  ms of a level of the draft, so many nodes broad: {levels}; {around}")
    show(_place(where))
    return 0


def _measure(arguments: argparse.Namespace) -> tuple[Models, dict[str, Any]]:
    """Measure the pair; return its models, and the measurement as plain data."""
    prompts = prompt_set(arguments.prompts, limit=arguments.limit)
    pair = load(arguments, arguments.pair)
    how = arguments.new_tokens, Sampling(arguments.temperature)
    measurement = measure_stack(pair, pair.models, prompts.prompts, *how)
    models = measurement.models
    return models, {
        "names": [one_line(model.name) for model in pair.models],
        "unit": "ms",
        "costs": list(models.costs),
        "per_token": list(models.per_token),
        "acceptance": [list(row) for row in models.acceptance],
        "positions": measurement.positions,
        "prompts": prompts.name,
        "temperature": arguments.temperature,
        "machine": machine(pair),
    }


def report(plan_: StackPlan, names: list[str], longest: int, measured: dict[str, Any]) -> str:
    """Return the plan in words.

    longest: the largest threshold considered; measured: empty for given numbers.
    """
    unit = " ms" if measured else ""
    lines = [f"best: {_in_words(plan_.best, names)}"]
    rows = [("best", plan_.best), ("best single draft", plan_.single), ("no draft", plan_.plain)]
    for what, stack in rows:
        speed = plan_.plain.latency / stack.latency
        way = f"  {_in_words(stack, names)}" if stack is plan_.single else ""
        lines.append(f"  {what:18} {stack.latency:9.3f}{unit} per token  {speed:5.2f}×{way}")
    bound = f"{plan_.bound:.3f}{unit} per token"
    lines.append(f"  no stack with thresholds up to {longest} is computed below {bound}")
    return "\n".join([*lines, *(_measurement(measured) if measured else [])])


def _in_words(stack: Stack, names: list[str]) -> str:
    """Return a stack in words: `draft (5 tokens) → target`."""
    parts = [
        f"{names[m]} ({t} tokens)" for m, t in zip(stack.models, stack.thresholds, strict=False)
    ]
    return " → ".join([*parts, names[stack.models[-1]]])


def _measurement(facts: dict[str, Any]) -> list[str]:
    """Return the lines about the measurement."""
    where = facts["machine"]
    names = facts["names"]
    source = f"{facts['positions']} tokens the target wrote"
    lines = ["", f"measured on {source}, temperature {facts['temperature']:g}:"]
    costs = zip(names, facts["costs"], facts["per_token"], strict=True)
    for i, (name, cost, further) in enumerate(costs):
        row = facts["acceptance"][i] if i < len(facts["acceptance"]) else []
        kept = [f"{names[j]} {value:.3f}" for j, value in enumerate(row, i + 1)]
        call = f"  {name}: {cost:.2f} ms a call, {further:.3f} ms more per further token"
        lines.append(call + (f"; kept by {', '.join(kept)}" if kept else ""))
    return [*lines, f"{_place(where)}; only forward passes are timed"]


def _place(where: dict[str, Any]) -> str:
    """Return a line about the machine."""
    place = f"{where['processor']}, {where['device']}, {where['threads']} threads, {where['dtype']}"
    load = "" if where["load"] is None else f", load {where['load']}"
    return f"  {place}{load}, torch {where['torch']}"
