"""Record the races that the Race screen shows before the first click, with the code that the page itself runs.

    python examples/record_race.py                    on the real model, once it has been fetched
    python examples/record_race.py --pair tiny        on the embedded pair
    python examples/record_race.py --pair qwen2.5-7b  on another pair of the Spacefile

Plain decoding, vanilla, HSD and n-grams of the text race on one prompt of each domain. γ of each lane is the one that
was fastest over all domains in a short measurement before. Writes examples/results/race.json (or --out) and prints the
page's own sentences. Takes a few minutes; times are worth keeping only where nothing else runs.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # so that this runs without installing the package

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")

from hsd import space
from hsd.bench import Measurement, measure
from hsd.errors import HsdError
from hsd.ui import pairs
from hsd.ui.race import recorded
from hsd.ui.race.plan import Plan, read_plan

PROMPTS = {
    "Stories": "Write a short story about a fox who cannot sleep.",
    "Sums": "Anna has 12 pencils and gives 5 to Ben. How many pencils does she have left?",
    "Code": "Write a Python function that reverses a string.",
    "Questions": "Why is the sky blue?",
}
LANES = (  # what drafts and who decides, and the draft lengths that are tried
    ({"rule": "tokenwise"}, (1, 2, 3, 4)),
    ({"rule": "hsd"}, (1, 2, 3, 4)),
    ({"rule": "tokenwise", "proposer": "ngram"}, (1, 2, 3, 4, 5, 8)),
)
SHORT = 32  # new tokens of a run that only chooses γ
Lane = dict[str, Any]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pair", default="smollm2", help="name of a pair in the Spacefile")
    parser.add_argument("--length", type=int, default=96, help="new tokens, at most")
    parser.add_argument("--temperature", type=float, default=0.7)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=5, help="timed runs per lane: 1, 3 or 5")
    parser.add_argument("--out", type=Path, default=recorded.FILE)
    parser.add_argument("--prompt-as", default="", help="chat or text (default: as the pair was made for)")
    options = parser.parse_args()
    values = {name: getattr(options, name) for name in ("pair", "length", "temperature", "seed", "prompt_as")}
    try:
        lanes = [fastest(lane, gammas, values) for lane, gammas in LANES]
        races = [race(domain, lanes, options.rounds, values) for domain in PROMPTS]
    except HsdError as error:
        print(error, file=sys.stderr)
        return 2
    recorded.write(races, options.out)
    found = recorded.read(options.out)
    for domain, told in [*((one["domain"], one["result"]) for one in found["races"]), ("All domains", found["all"])]:
        lead = [f"Target calls saved: {told['lead']['calls']}", f"Seconds here: {told['lead']['seconds']}"]
        print(f"\n{domain}", *lead, *(f"{row['case']}: {row['sentence']}" for row in told["rows"]), sep="\n")
    return 0


def plan(domain: str, lanes: list[Lane], rounds: int, values: Lane) -> Plan:
    return read_plan(space.load(), {"lanes": lanes, "rounds": rounds}, {**values, "prompt": PROMPTS[domain]})


def fastest(lane: Lane, gammas: tuple[int, ...], values: Lane) -> Lane:
    """The lane with the draft length that makes most tokens a second over one short run of every prompt."""
    lanes = [{**lane, "gamma": gamma} for gamma in gammas]
    short = {**values, "length": SHORT}
    asked = [plan("Stories", [one], 1, short) for one in lanes]
    cases = [one.cases[1] for one in asked]
    pair = pairs.load(asked[0].request.pair)
    prompts = list(enumerate(PROMPTS.values()))
    list(measure(pair, cases[:1], prompts[:1], 0, warm=True))  # the first run of all is slower
    records = list(measure(pair, cases, prompts, 0, warm=True))
    speeds = [Measurement(c, tuple(r for r in records if r["case"] == c.name)).tokens_per_second()[0] for c in cases]
    for case, speed in zip(cases, speeds, strict=True):
        print(f"{case.name}: {speed:.1f} tokens a second", flush=True)
    return lanes[speeds.index(max(speeds))]


def race(domain: str, lanes: list[Lane], rounds: int, values: Lane) -> Lane:
    """The recorded race on the prompt of a domain; prints every run."""

    def heard(event: Lane) -> None:
        if "record" in event:
            run, number = event["record"], event["repetition"]
            speed = f"{run['new_tokens'] / run['seconds']:.1f} tokens a second"
            print(f"{domain}, {f'round {number}' if number else 'warm-up'}, {run['case']}: {speed}", flush=True)

    return recorded.record(plan(domain, lanes, rounds, values), domain, heard)


if __name__ == "__main__":
    sys.exit(main())
