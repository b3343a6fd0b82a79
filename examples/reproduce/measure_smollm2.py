"""Measure the real model beyond what `python -m hsd bench` does: passes, rules without luck, trees.

    python -m hsd fetch smollm2
    python examples/reproduce/measure_smollm2.py --data FOLDER

FOLDER has GSM8K, HumanEval and Spec-Bench, see hsd/bench/prompts.py.

passes  the time of a pass of the target over several tokens
steps   the thread time of a step beside its passes, recorded and not, by draft length
law     what HSD and the token-wise rule keep of the same drafts, on average over all coins, by
        draft length
kept    what every rule that fits keeps of the same sampled trees, and what a grown tree of as many
        tokens keeps
groups  tokens per pass over all coins of trees of one size: chosen, mixed (one of each group
        drawn), and drawn
trees   plain decoding, chains, trees that are grown and chosen, trees that are sampled, and early
        exits (HiSpec)
shapes  the seconds of trees of one size, chosen, mixed and drawn, in turn with plain decoding.
        Under 5 minutes by
        --parts shapes --temperatures 0.7,1 --prompts 2 --new-tokens 40 --repetitions 2

Writes assets/results/smollm2.json and prints tables. `--parts` names what is measured; the rest
stays as it is there.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice, product
from math import inf
from operator import itemgetter
from typing import Any
from unittest.mock import patch

import torch
from converted import converted
from measuring import in_turn, interval, options, save
from pages import table

import hsd
from hsd.bench import Case, machine, rows
from hsd.bench.prompts import PromptSet, prompt_set
from hsd.bench.summary import ratio_interval
from hsd.draft import LAYOUTS
from hsd.models.exits import EarlyExits, default_exits
from hsd.models.small.engine import Engine

RULES = ("tokenwise", "hsd")
PROMPT = "Explain in a few sentences why the sky is blue."  # of the part "steps"
LENGTHS = (2, 5, 10)
HOT = 0.7  # draft lengths and temperature of the part "law"
DOMAINS = {"stories": "stories", "sums": "gsm8k", "code": "humaneval", "questions": "spec_bench:qa"}
WIDTHS = (1, 2, 3, 4, 5, 6, 8, 11)
CHOSEN = ((2, 2, 5), (3, 3, 7), (3, 3, 10))  # drafts, γ, nodes of grown trees
SAMPLED = ((2, 2), (2, 3))  # drafts, γ of combs whose siblings differ: 5 and 9 tokens
TREE_RULES = ("top-down", "recursive-hsd", "traversal")
GROUPS = tuple(product((2, 3, 4), (2, 3)))
HEATS = (0.7, 1.0)  # siblings and levels; temperatures of the part "groups"
TIMED = ((2, 2), (2, 3))  # siblings and levels of the part "shapes"
GROUPED = {
    "chosen": ("grown", ("one-hot",)),
    "mixed": ("mixed", TREE_RULES),
    "drawn": ("distinct-comb", TREE_RULES),
}


def main() -> None:
    parser = options(__doc__, "smollm2.json", repetitions=2, new_tokens=96)
    parser.add_argument("--temperatures", default="0,0.7", help="with commas (default 0,0.7)")
    parser.add_argument("--parts", default=",".join(PARTS), help="with commas (default: all)")
    given = parser.parse_args()
    pair = hsd.load_pair("smollm2")
    known = json.loads(given.out.read_text(encoding="utf-8")) if given.out.exists() else {}
    result: dict[str, Any] = {
        **{part: known[part] for part in PARTS if part in known},
        "what": "SmolLM2-135M-Instruct with its head: a pass over several tokens, what is kept, "
        "and trees by domain",
        "machine": {**known.get("machine", {})},
    }
    for part in given.parts.split(","):
        result["machine"][part] = machine(pair)
        for found in PARTS[part](pair, given):
            result[part] = found
            save(result, given.out)
    print(markdown(result))


def texts(given: argparse.Namespace) -> Iterator[tuple[str, PromptSet]]:
    """Domain and prompts."""
    return (
        (domain, prompt_set(name, given.data, given.prompts)) for domain, name in DOMAINS.items()
    )


def steps(pair: hsd.Pair, _: argparse.Namespace) -> Iterator[dict[str, dict[str, float]]]:
    """Milliseconds of thread time of a step beside its passes, medians: {"recorded", "unrecorded"}
    by draft length.

    Thread time does not count what other processes take, so that a machine with work gives nearly
    the same.
    """
    found: dict[str, dict[str, float]] = {"recorded": {}, "unrecorded": {}}
    for gamma, trace in product(LENGTHS[:2], (True, False)):
        passes = [0.0]
        beside = []
        call = Engine.call

        def timed(
            *given: Any, passes: list[float] = passes, call: Callable[..., int] = call
        ) -> int:
            begin = time.thread_time()
            result = call(*given)
            passes[0] += time.thread_time() - begin
            return result

        with patch.object(Engine, "call", timed):
            decoding = hsd.decode(pair, PROMPT, gamma=gamma, max_new_tokens=120, trace=trace)
            for _step in islice(decoding, 3):  # what is made once
                pass
            while True:
                begin = time.thread_time()
                before = passes[0]
                if next(decoding, None) is None:
                    break
                beside.append(time.thread_time() - begin - (passes[0] - before))
        found["recorded" if trace else "unrecorded"][str(gamma)] = 1e3 * statistics.median(beside)
    print({name: {gamma: round(ms, 2) for gamma, ms in row.items()} for name, row in found.items()})
    yield found


def passes(pair: hsd.Pair, _: argparse.Namespace) -> Iterator[dict[str, float]]:
    """Milliseconds of a pass over so many tokens after 100 others, one step of the head, one of the
    exit: medians.

    Beside it the same model in float32, whose pass is that of `transformers`.
    """
    folder = converted()
    if folder is None:
        raise SystemExit("the converted model is not here: run examples/reproduce/converted.py")
    library = hsd.load_pair(target=folder, draft=folder)
    target = pair.target.start()
    head = pair.draft.start()
    plain = library.target.start()
    head.follow(target)  # type: ignore[attr-defined]
    exit, whole = EarlyExits(pair.target, default_exits(pair.target)).open()
    ids = torch.arange(1_000, 1_120)
    target.forward(ids[:100], 1)
    whole.forward(ids[:100], 1)
    plain.forward(ids[:100], 1)
    head.forward(ids[:101], 1)
    times: dict[str, list[float]] = defaultdict(list)
    for _ in range(15):
        for width, (name, session) in product(WIDTHS, (("", target), ("library ", plain))):
            begin = time.perf_counter()
            session.forward(ids[100 : 100 + width], width)
            times[f"{name}{width}"].append(time.perf_counter() - begin)
            session.crop(100)
        for name, session, length in (("head", head, 101), ("exit", exit, 100)):
            begin = time.perf_counter()
            session.forward(ids[length : length + 1], 1)
            times[name].append(time.perf_counter() - begin)
            session.crop(length)
    yield {name: round(1e3 * statistics.median(found), 2) for name, found in times.items()}


def law(pair: hsd.Pair, given: argparse.Namespace) -> Iterator[list[dict[str, Any]]]:
    """What two rules keep of a draft over all coins, summed over the drafts of runs by HSD: no
    coin's luck is in it.
    """
    found = []
    for domain, prompts in texts(given):
        for gamma in LENGTHS:
            kept = dict.fromkeys(RULES, 0.0)
            calls = 0
            for prompt in prompts.prompts:
                options = {"temperature": HOT, "gamma": gamma, "max_new_tokens": given.new_tokens}
                steps = [s for s in hsd.run(pair, prompt, **options).steps if s.drafted == gamma]
                kept = {
                    rule: kept[rule] + sum(step.expected_kept[rule] for step in steps)
                    for rule in RULES
                }
                calls += len(steps)
            means = {rule: round(total / calls, 3) for rule, total in kept.items()}
            found.append({"domain": domain, "T": HOT, "gamma": gamma, "drafts": calls, **means})
            yield found


def kept(pair: hsd.Pair, given: argparse.Namespace) -> Iterator[list[dict[str, Any]]]:
    """Tokens kept of a tree over all coins, by every rule that fits it, and how much more than by
    top-down rejection.

    The drafts are those of runs by HSD, draft after draft; intervals are over prompts. Beside them
    Σ p(path) of grown trees of as many tokens, which every lossless rule is bound by there.
    """
    found = []
    for domain, prompts in texts(given):
        for drafts, gamma in SAMPLED:
            common = {
                "drafts": drafts,
                "gamma": gamma,
                "temperature": HOT,
                "max_new_tokens": given.new_tokens,
            }
            records = []
            for number, prompt in enumerate(prompts.prompts):
                sampled = hsd.run(pair, prompt, rule="hsd", tree="distinct-comb", **common).steps
                size = max(step.drafted for step in sampled)
                whole = [step for step in sampled if step.drafted == size and step.expected_kept]
                sums = {
                    rule: sum(step.expected_kept[rule] for step in whole)
                    for rule in whole[0].expected_kept
                }
                tree = {"rule": "one-hot", "tree": "grown", "nodes": size + 1}
                grown = [
                    step
                    for step in hsd.run(pair, prompt, **common | tree).steps
                    if step.drafted == size
                ]
                chosen = {
                    "grown": sum(step.expected_kept["one-hot"] for step in grown),
                    "trees": len(grown),
                }
                records.append({"prompt": number, "drafts": len(whole), **sums, **chosen})
            line = {"domain": domain, "T": HOT, "drafts": drafts, "gamma": gamma, "tokens": size}
            line |= {
                "prompts": prompts.source,
                "count": len(prompts.prompts),
                "new_tokens": given.new_tokens,
            }
            line["trees"] = sum(record["drafts"] for record in records)
            for rule in sums:
                line[rule] = _rounded(
                    ratio_interval(records, itemgetter(rule), itemgetter("drafts"))
                )
                if rule != "top-down":
                    line[f"{rule} more"] = _rounded(
                        ratio_interval(records, partial(_further, rule), itemgetter("drafts"), -inf)
                    )
            line["grown"] = _rounded(
                ratio_interval(records, itemgetter("grown"), itemgetter("trees"))
            )
            found.append(line)
            yield found


def _further(rule: str, record: dict[str, Any]) -> float:
    """How many more tokens of a prompt's trees a rule keeps than top-down rejection."""
    return float(record[rule] - record["top-down"])


def groups(pair: hsd.Pair, given: argparse.Namespace) -> Iterator[list[dict[str, Any]]]:
    """Tokens per pass of trees of one size over all coins, on texts of their own, and the gain over
    chosen ones.

    Every prompt counts the same: its number is the mean over its steps with a whole tree. Intervals
    are over prompts.
    """
    found = []
    prompts = [prompt for _, one in texts(given) for prompt in one.prompts]
    for heat, (drafts, gamma) in product(HEATS, GROUPS):
        size = LAYOUTS["distinct-comb"].needed(drafts, gamma)
        common = {
            "drafts": drafts,
            "gamma": gamma,
            "temperature": heat,
            "max_new_tokens": given.new_tokens,
        }
        records: list[dict[str, Any]] = []
        for number, prompt in enumerate(prompts):
            records.append({"prompt": number, "one": 1})
            for way, (tree, rules) in GROUPED.items():
                nodes = {"nodes": size + 1} if LAYOUTS[tree].grown else {}
                steps = hsd.run(pair, prompt, rule=rules[0], tree=tree, **common, **nodes).steps
                whole = [step.expected_kept for step in steps if step.drafted == size]
                records[-1] |= {
                    f"{way}, {rule}": 1 + statistics.mean(kept[rule] for kept in whole)
                    for rule in rules
                }
        line: dict[str, Any] = {
            "T": heat,
            "drafts": drafts,
            "gamma": gamma,
            "tokens": size,
            "prompts": len(prompts),
        }
        line["new_tokens"] = given.new_tokens
        chosen, *others = [name for name in records[0] if ", " in name]
        line[chosen] = _rounded(ratio_interval(records, itemgetter(chosen), itemgetter("one")))
        for name in others:
            line[name] = _rounded(ratio_interval(records, itemgetter(name), itemgetter("one")))
            more = ratio_interval(records, partial(_gain, name, chosen), itemgetter(chosen), -inf)
            line[f"{name} more"] = _rounded(more)
        found.append(line)
        yield found


def _gain(name: str, chosen: str, record: dict[str, Any]) -> float:
    """How many more tokens per pass a prompt's trees bring than the chosen ones."""
    return float(record[name] - record[chosen])


def trees(pair: hsd.Pair, given: argparse.Namespace) -> Iterator[list[dict[str, Any]]]:
    """Plain decoding and every way of `tree_ways`, in turn on the prompts of a domain."""
    found = []
    for (domain, prompts), heat in product(texts(given), map(float, given.temperatures.split(","))):
        about = {"domain": domain, "prompts": prompts.source}
        found += timed(pair, given, tree_ways(), prompts.prompts, heat, about)
        yield found


def shapes(pair: hsd.Pair, given: argparse.Namespace) -> Iterator[list[dict[str, Any]]]:
    """Seconds of trees of one size in three shapes, in turn with plain decoding: chosen, mixed, and
    drawn.
    """
    ways: dict[str, dict[str, Any]] = {}
    for (drafts, gamma), (name, (tree, rules)) in product(TIMED, GROUPED.items()):
        rule = "recursive-hsd" if "recursive-hsd" in rules else rules[0]
        way = {"rule": rule, "tree": tree, "drafts": drafts, "gamma": gamma}
        nodes = (
            {"nodes": LAYOUTS["distinct-comb"].needed(drafts, gamma) + 1}
            if LAYOUTS[tree].grown
            else {}
        )
        ways[f"{name} {drafts} × {gamma}"] = way | nodes
    found = []
    prompts = [prompt for _, one in texts(given) for prompt in one.prompts]
    for heat in map(float, given.temperatures.split(",")):
        found += timed(pair, given, ways, prompts, heat, {})
        yield found


def timed(
    pair: hsd.Pair,
    given: argparse.Namespace,
    ways: dict[str, dict[str, Any]],
    prompts: Sequence[str],
    heat: float,
    about: dict[str, Any],
) -> Iterator[dict[str, Any]]:
    """Plain decoding and all `ways` in turn on these prompts: a line each, which begins with what
    it is `about`.
    """
    names = (
        "tokens_per_second",
        "speedup",
        "efficiency",
        "limit",
        "target_call_ms",
        "draft_call_ms",
    )
    common = {"temperature": heat, "max_new_tokens": given.new_tokens, "trace": False}
    cases = [
        Case(name, {**common, **way})
        for name, way in {"plain": {"system": "plain"}, **ways}.items()
    ]
    about |= {
        "count": len(prompts),
        "T": heat,
        "new_tokens": given.new_tokens,
        "repetitions": given.repetitions,
    }
    for row in rows(in_turn(pair, cases, prompts, given.repetitions)):
        numbers = {name: _rounded(row[name]) for name in names if name in row}
        yield {
            **about,
            "case": row["case"],
            "tokens_per_call": _rounded(row["block_efficiency"]),
            **numbers,
        }


def tree_ways() -> dict[str, dict[str, Any]]:
    """Name and options of all that are timed beside plain decoding in the part "trees"."""
    ways: dict[str, dict[str, Any]] = {f"{rule} 2": {"rule": rule, "gamma": 2} for rule in RULES}
    for drafts, gamma, nodes in CHOSEN:
        tree = {
            "rule": "one-hot",
            "tree": "grown",
            "drafts": drafts,
            "gamma": gamma,
            "nodes": nodes,
        }
        ways[f"grown {drafts} × {gamma}, {nodes} nodes"] = tree
    for rule in TREE_RULES:
        sampled = {"rule": rule, "tree": "distinct-comb", "drafts": 2, "gamma": 2}
        ways[f"sampled 2 × 2, {rule}"] = sampled
    ways["hispec"] = {"system": "hispec"}  # its trained exit drafts for the whole model
    return ways


PARTS: dict[str, Callable[[hsd.Pair, argparse.Namespace], Iterator[Any]]] = {
    "passes": passes,
    "steps": steps,
    "law": law,
    "kept": kept,
    "groups": groups,
    "trees": trees,
    "shapes": shapes,
}


def _rounded(value: Any) -> Any:
    return [round(x, 3) for x in value] if isinstance(value, list | tuple) else round(value, 3)


def markdown(result: dict[str, Any]) -> str:
    """The result as tables."""
    widths = result.get("passes", {})
    parts = []
    passing = [
        [name, f"{ms:.1f} ms", f"×{ms / widths[_one(name)]:.2f}"] for name, ms in widths.items()
    ]
    parts.append(table(["pass over", "time", "of one token"], passing))
    same = [
        [
            row["domain"],
            str(row["gamma"]),
            *(f"{row[rule]:.3f}" for rule in RULES),
            f"{_more(row):+.1%}",
        ]
        for row in result.get("law", [])
    ]
    parts.append(
        table(["domain", "γ", *(f"{rule} keeps" for rule in RULES), "tokens per call"], same)
    )
    told = ("tokens", *TREE_RULES, "recursive-hsd more", "traversal more", "grown")
    whole = [
        [row["domain"], *(_cell(row[name]) for name in told)] for row in result.get("kept", [])
    ]
    parts.append(table(["domain", *told], whole))
    kept = [
        [
            row["domain"],
            f"{row['T']:g}",
            row["case"],
            interval(row["tokens_per_call"]),
            _number(row.get("speedup")),
        ]
        for row in result.get("trees", [])
    ]
    parts.append(table(["domain", "T", "way", "tokens per target call", "times plain"], kept))
    shaped = [
        [
            f"{row['T']:g}",
            row["case"],
            interval(row["tokens_per_call"]),
            _number(row.get("speedup")),
        ]
        for row in result.get("shapes", [])
    ]
    parts.append(
        table(["T", "shape, siblings × levels", "tokens per target call", "times plain"], shaped)
    )
    return "\n\n".join(parts)


def _more(row: dict[str, Any]) -> float:
    """How many more tokens a target call gives by HSD than token by token."""
    classic, hierarchical = (1 + row[rule] for rule in RULES)
    return float(hierarchical / classic - 1)


def _one(name: str) -> str:
    """The pass over one token that a pass of that name is compared with."""
    return "library 1" if name.startswith("library") else "1"


def _cell(value: Any) -> str:
    return interval(value, ".3f") if isinstance(value, list) else str(value)


def _number(value: Any) -> str:
    return interval(value) if isinstance(value, list) else f"{value or 1.0:.2f}"


if __name__ == "__main__":
    main()
