"""Record the races that the tab Speed shows before the first click, with the code that the page itself runs.

    python examples/reproduce/record_race.py                    on the real model, once it has been fetched
    python examples/reproduce/record_race.py --pair tiny        on the embedded pair
    python examples/reproduce/record_race.py --pair qwen2.5-7b  on another pair of the Spacefile

Plain decoding, vanilla, HSD and n-grams of the text race on one prompt of each domain, at temperature 0, where all of
them write the same text, and all with the same γ: the one with which vanilla and HSD together were fastest over all
domains in a short measurement before. Writes
assets/results/race.json (or --out) and prints the page's own sentences. Takes a few minutes; times are worth keeping
only where nothing else runs.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # so that this runs without installing the package

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")

from hsd import space
from hsd.app import pairs, race
from hsd.bench import Measurement, measure
from hsd.errors import HsdError

PROMPTS = {
    "Stories": "Write a short story about a fox who cannot sleep.",
    "Sums": "Anna has 12 pencils and gives 5 to Ben. How many pencils does she have left?",
    "Code": "Write a Python function that reverses a string.",
    "Questions": "Why is the sky blue?",
}
DRAFTED = [{"rule": "tokenwise"}, {"rule": "hsd"}]
LANES = [*DRAFTED, {"rule": "tokenwise", "proposer": "ngram"}]
GAMMAS = (1, 2, 3, 4)  # that are tried
SHORT = 32  # new tokens of a run that only chooses γ
Values = dict[str, Any]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pair", default="smollm2", help="name of a pair in the Spacefile")
    parser.add_argument("--max-new-tokens", type=int, default=96, help="new tokens, at most")
    parser.add_argument("--temperature", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=5, help="timed runs per lane: 1, 3 or 5")
    parser.add_argument("--gamma", type=int, help="the draft length of all lanes (default: the fastest)")
    parser.add_argument("--prompt-as", default="", help="chat or text (default: as the pair was made for)")
    parser.add_argument("--out", type=Path, default=race.FILE)
    options = parser.parse_args()
    shared = {name: value for name, value in vars(options).items() if name not in ("out", "gamma")}
    try:
        shared["gamma"] = options.gamma or fastest(shared)
        races = [record(domain, shared) for domain in PROMPTS]
    except HsdError as error:
        print(error, file=sys.stderr)
        return 2
    options.out.write_text(json.dumps({"format": race.FORMAT, "races": races}, ensure_ascii=False) + "\n", "utf-8")
    found = race.recorded(options.out)
    for domain, told in [*((one["domain"], one["report"]) for one in found["races"]), ("All", found["all"])]:
        sentences = [f"{row['case']}: {row['sentence']}" for row in told["rows"]]
        print(f"\n{domain}", told["verdict"], told["calls"], *sentences, sep="\n")
    return 0


def fastest(shared: Values) -> int:
    """The draft length with which vanilla and HSD make most tokens a second over one short run of every prompt."""
    lanes = [{**lane, "gamma": gamma} for gamma in GAMMAS for lane in DRAFTED]
    short = {**shared, "max_new_tokens": SHORT, "prompt": next(iter(PROMPTS.values()))}
    plans = [race.read_plan(space.load(), {**short, "lanes": [lane]}) for lane in lanes]
    cases = [plan.cases[1] for plan in plans]
    pair = pairs.load(plans[0].request.pair)
    prompts = list(enumerate(PROMPTS.values()))
    list(measure(pair, cases[:1], prompts[:1], 0, warm=True))  # the first run of all is slower
    records = list(measure(pair, cases, prompts, 0, warm=True))
    speeds = [Measurement(c, tuple(r for r in records if r["case"] == c.name)).tokens_per_second()[0] for c in cases]
    for case, speed in zip(cases, speeds, strict=True):
        print(f"{case.name}: {speed:.1f} tokens a second", flush=True)
    both = {gamma: statistics.harmonic_mean(speeds[2 * i : 2 * i + 2]) for i, gamma in enumerate(GAMMAS)}
    return max(both, key=lambda gamma: both[gamma])


def record(domain: str, shared: Values) -> Values:
    """The race on the prompt of a domain, and what it takes to show it again; prints every run."""
    plan = race.read_plan(space.load(), {**shared, "prompt": PROMPTS[domain], "lanes": LANES})
    header: Values = {}
    events: list[Values] = []
    for piece in race.pieces(plan, float("inf")):
        header |= piece.get("header", {})
        events += piece.get("events", ())
        for run in (event["record"] for event in piece.get("events", ()) if "record" in event):
            number, speed = run["repetition"], run["new_tokens"] / run["seconds"]
            which = f"round {number}" if number else "warm-up"
            print(f"{domain}, {which}, {run['case']}: {speed:.1f} tokens a second", flush=True)
    return {"domain": domain, "header": header, "events": list(trimmed(events))}


def trimmed(events: Sequence[Values]) -> Iterator[Values]:
    """One event per timed run; steps only of the run of median length of each lane, which is the one replayed."""
    runs: dict[tuple[int, int], Values] = {}
    for event in events:
        known = runs.get((event["lane"], event["repetition"]), {"steps": []})
        runs[event["lane"], event["repetition"]] = {**event, "steps": known["steps"] + event["steps"]}
    timed = [run for run in runs.values() if run["repetition"] and "record" in run]
    for run in timed:
        lengths = [one["record"]["seconds"] for one in timed if one["lane"] == run["lane"]]
        shown = run["record"]["seconds"] == statistics.median_low(lengths)
        yield {**run, "steps": run["steps"] if shown else []}


if __name__ == "__main__":
    sys.exit(main())
