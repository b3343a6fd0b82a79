"""`python -m hsd plan`: the best stack of models, for costs and acceptances that are given or measured."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from hsd.arguments import add_json, add_models, whole
from hsd.bench.measure import machine
from hsd.bench.plan_measure import Measured, load_stack, measure_stack
from hsd.bench.prompts import prompt_set
from hsd.errors import HsdError
from hsd.models.threads import settle_threads
from hsd.planner import LONGEST, Models, Plan, Stack, as_json, plan, read_acceptance, read_numbers

GIVEN, MEASURED = ("costs", "acceptance", "per_token"), ("pair", "target", "draft")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("--costs", help="time of one call of each model, any unit, smallest model first: 1,4,12,60")
    parser.add_argument("--acceptance", help='row i: a_ij for the models j > i: "0.80,0.72,0.62;0.85,0.75;0.90"')
    parser.add_argument("--per-token", help="time that each further token adds to a call of each model (default: 0)")
    parser.add_argument("--longest", type=whole, default=LONGEST, help="largest threshold to consider")
    add_models(parser, "measure the models of this pair instead: tiny, or a name from the Hub", "measure: ")
    parser.add_argument("--prompts", default="shipped", help="measure: shipped, stories, sums, functions, … or a file")
    parser.add_argument("--limit", type=whole, default=12, help="measure: at most so many prompts")
    parser.add_argument(
        "--new-tokens", type=whole, default=48, help="measure: tokens that the target writes per prompt"
    )
    parser.add_argument("--temperature", type=float, default=1.0, help="measure: temperature of all models")
    add_json(parser)


def main(arguments: argparse.Namespace) -> int:
    """Plan and print. Returns the exit status."""
    given = [f"--{n.replace('_', '-')}" for n in GIVEN if getattr(arguments, n) is not None]
    measured = any(getattr(arguments, n) is not None for n in MEASURED)
    if measured and given:
        raise HsdError(f"give either a pair to measure or {' and '.join(given)}, not both")
    if not measured and (arguments.costs is None or arguments.acceptance is None):
        raise HsdError("a plan needs --costs and --acceptance, or --pair tiny to measure them")
    facts: dict[str, Any] = {}
    if measured:
        models, names, facts = _measure(arguments)
    else:
        further = read_numbers(arguments.per_token) if arguments.per_token else ()
        models = Models(read_numbers(arguments.costs), read_acceptance(arguments.acceptance), further)
        names = [*(f"model {i}" for i in range(models.target)), "target"]
    found = plan(models, arguments.longest)
    for line in models.warnings():
        print(f"hsd: warning: {line}", file=sys.stderr)
    words = json.dumps({**as_json(models, found), **facts}) if arguments.json else None
    print(words or report(found, names, arguments.longest, facts))
    return 0


def _measure(arguments: argparse.Namespace) -> tuple[Models, list[str], dict[str, Any]]:
    """The models as measured, their names, and what else there is to say about the measurement."""
    for name in ("limit", "new_tokens"):
        if getattr(arguments, name) < 1:
            raise HsdError(f"{name.replace('_', '-')} {getattr(arguments, name)}: choose at least 1")
    prompts = prompt_set(arguments.prompts, limit=arguments.limit)
    pair, models = load_stack(
        arguments.pair, arguments.target, arguments.draft, device=arguments.device, dtype=arguments.dtype
    )
    settle_threads(pair)
    names, stack = [name for name, _ in models], [model for _, model in models]
    found = measure_stack(pair, stack, prompts.prompts, arguments.new_tokens, arguments.temperature)
    return found.models, names, {"measured": _facts(found, names, prompts.name, machine(pair))}


def _facts(found: Measured, names: list[str], prompts: str, where: dict[str, Any]) -> dict[str, Any]:
    """The measurement as plain data: what was found, on which text, on which machine."""
    models = found.models
    return {
        "names": names,
        "unit": "ms",
        "costs": list(models.costs),
        "per_token": list(models.per_token),
        "acceptance": [list(row) for row in models.acceptance],
        "positions": found.positions,
        "prompts": prompts,
        "temperature": found.temperature,
        "machine": where,
    }


def report(found: Plan, names: list[str], longest: int, facts: dict[str, Any]) -> str:
    """The plan in words. longest: the largest threshold that was considered."""
    unit = " ms" if facts else ""
    lines = [f"best: {_in_words(found.best, names)}"]
    rows = [("best", found.best), ("best single draft", found.single), ("no draft", found.plain)]
    for what, stack in rows:
        speed = found.plain.latency / stack.latency
        way = f"  {_in_words(stack, names)}" if stack is found.single else ""
        lines.append(f"  {what:18} {stack.latency:9.3f}{unit} per token  {speed:5.2f}×{way}")
    lines.append(f"  no stack with thresholds up to {longest} is computed below {found.bound:.3f}{unit} per token")
    return "\n".join([*lines, *_measurement(facts.get("measured"))])


def _in_words(stack: Stack, names: list[str]) -> str:
    """`draft (5 tokens) → target`."""
    parts = [f"{names[m]} ({t} tokens)" for m, t in zip(stack.models, stack.thresholds, strict=False)]
    return " → ".join([*parts, names[stack.models[-1]]])


def _measurement(facts: dict[str, Any] | None) -> list[str]:
    """What was measured, and where."""
    if facts is None:
        return []
    where, names = facts["machine"], facts["names"]
    lines = ["", f"measured on {facts['positions']} tokens the target wrote, temperature {facts['temperature']:g}:"]
    for i, (name, cost, further) in enumerate(zip(names, facts["costs"], facts["per_token"], strict=True)):
        row = facts["acceptance"][i] if i < len(facts["acceptance"]) else []
        kept = [f"{names[j]} {value:.3f}" for j, value in enumerate(row, i + 1)]
        call = f"  {name}: {cost:.2f} ms a call, {further:.3f} ms more per further token"
        lines.append(call + (f"; kept by {', '.join(kept)}" if kept else ""))
    place = f"{where['processor']}, {where['device']}, {where['threads']} threads, {where['dtype']}"
    return [*lines, f"  {place}, load {where['load']}, torch {where['torch']}; only forward passes are timed"]
