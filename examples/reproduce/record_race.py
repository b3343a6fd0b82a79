"""Record what the tab Speed opens on: races, and what each rule keeps at every draft length.

    python examples/reproduce/record_race.py              the races, into race.json: 8 minutes
    python examples/reproduce/record_race.py --lengths    the rows of the calculator: 10 minutes
    python examples/reproduce/record_race.py --pair tiny  the embedded pair; needs --out FILE

The rows are written to lengths.json, and both files are in assets/results. The races of qwen-coder
(race-qwen-coder.json, 15 minutes) were recorded with --prompts 4 --seeds 2 --max-new-tokens 64
--temperatures 0.7 --gamma 3.

A race: plain decoding, vanilla, HSD and n-grams of the text take turns on eight prompts of a kind
with four seeds, at temperature 0.7 (--temperatures), and at 0, where both rules decide alike, with
one seed. Each drafting lane has the draft length of --gamma, "3" or one a lane as "2,3,2"; by
default the one with which it was fastest in a short measurement before, from 2 on, as vanilla and
HSD are one rule at 1. Beside the timed runs the same prompts are decoded with their records, for
the tokens that a call of both rules gives over all coins. Times are worth keeping only where
nothing else runs.

The rows of the calculator: for γ = 1, 2, … the tokens that both rules keep of the same drafts on
average over all coins, by prompt, and what passes over several tokens and drafted tokens cost here,
as a library and as WebAssembly.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

# so that this runs without installing the package
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")

import torch
from measuring import milliseconds

import hsd
from hsd import space
from hsd.app import pairs, race
from hsd.app.site import LENGTHS
from hsd.bench import Measurement, machine, measure
from hsd.bench import race as timing
from hsd.engine import machine as engines
from hsd.engine import sums
from hsd.errors import HsdError
from hsd.models import Pair
from hsd.models.loading import fetch
from hsd.models.loading.portable import named_pair
from hsd.models.machine import threads_of
from hsd.version import __version__
from hsd.writing import write_file

PROMPTS = {
    "Stories": [
        "Write a short story about a fox who cannot sleep.",
        "Tell me a story about a lighthouse keeper and a whale.",
        "Write the beginning of a story about a girl who finds a map.",
        "Tell a short story about two brothers who build a boat.",
        "Write a fairy tale about a dragon who is afraid of fire.",
        "Tell me a story about the last train of the night.",
        "Write a short story about an old clock that runs backwards.",
        "Tell a story about a cat who wants to be a baker.",
    ],
    "Sums": [
        "Anna has 12 pencils and gives 5 to Ben. How many pencils does she have left?",
        "A ticket costs 4 dollars. How much do 7 tickets cost? Explain each step.",
        "A train travels 60 miles in one hour. How far does it travel in 3 hours?",
        "There are 24 apples in 4 boxes. How many apples are in each box?",
        "Tom reads 15 pages a day. How many days does he need for 90 pages?",
        "A shirt costs 20 dollars and is 5 dollars cheaper today. What do two shirts cost today?",
        "Lucy has 3 bags with 8 marbles each and loses 6. How many marbles does she have?",
        "A recipe needs 2 eggs for 6 cookies. How many eggs are needed for 18 cookies?",
    ],
    "Code": [
        "Write a Python function that reverses a string.",
        "Write a Python function that returns the largest number of a list.",
        "Write a Python function that counts the vowels in a text.",
        "Write a Python function that checks whether a number is prime.",
        "Write a Python function that removes duplicates from a list.",
        "Write a Python function that computes the factorial of n.",
        "Write a Python class for a stack with push and pop.",
        "Write a Python function that reads a file and counts its lines.",
    ],
    "Questions": [
        "Why is the sky blue?",
        "What do plants need to grow?",
        "Why does the moon change its shape in the sky?",
        "How do bees make honey?",
        "What causes the seasons of the year?",
        "Why do we need to sleep?",
        "How does a refrigerator keep food cold?",
        "What is the difference between weather and climate?",
    ],
}
RULES = ("tokenwise", "hsd")
LANES: list[dict[str, Any]] = [
    *({"rule": rule} for rule in RULES),
    {"rule": "tokenwise", "proposer": "ngram"},
]
GAMMAS = (2, 3, 4, 5)  # that are tried
SHORT = 32  # new tokens of a run that only chooses γ
SOURCE = 48  # and of one whose drafts both rules judge
TITLE = "SmolLM2 135M with a head"
EVERY = (1, 2, 3, 4, 5, 6, 8, 10)  # draft lengths of the calculator
WIDTHS = (1, 2, 3, 4, 6, 9, 11)
BEFORE = 100
TIMES = 15  # tokens of a pass, those before it, and how often it is timed
Values = dict[str, Any]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pair", default="smollm2", help="name of a pair in the Spacefile")
    parser.add_argument(
        "--lengths", action="store_true", help="the rows of the calculator instead of races"
    )
    parser.add_argument("--prompts", type=int, default=8, help="of each kind")
    parser.add_argument("--seeds", type=int, default=4, help="of each prompt, above temperature 0")
    parser.add_argument("--max-new-tokens", type=int, default=96, help="new tokens, at most")
    parser.add_argument(
        "--temperatures", default="0.7,0", help="with commas; the first is shown first"
    )
    parser.add_argument(
        "--gamma",
        default="",
        help="draft length of all lanes, or one for each (default: the fastest)",
    )
    parser.add_argument(
        "--prompt-as", default="", help="chat or text (default: as the pair was made for)"
    )
    parser.add_argument("--out", type=Path, help="default: in assets/results")
    options = parser.parse_args()
    heats = [float(text) for text in options.temperatures.split(",")]
    shared = {name: getattr(options, name) for name in ("pair", "max_new_tokens", "prompt_as")}
    began = time.monotonic()
    try:
        if options.lengths:
            write(
                options.out or LENGTHS[-1],
                lengths(shared | {"temperature": heats[0]}, options.prompts),
            )
        else:
            races(shared, options, heats, options.out or race.FILE)
    except HsdError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{(time.monotonic() - began) / 60:.1f} minutes")
    return 0


def write(out: Path, result: Values) -> None:
    write_file(out, json.dumps(result, ensure_ascii=False) + "\n")
    print(f"written: {out}")


# ---- races


def races(shared: Values, options: argparse.Namespace, heats: Sequence[float], out: Path) -> None:
    """Record a race of every kind at every temperature, as raw timings."""
    given = [int(text) for text in options.gamma.split(",") if text]
    gammas = (given * len(LANES) if len(given) == 1 else given) or fastest(
        shared | {"temperature": heats[0]}
    )
    found = []
    for heat in heats:
        own = (
            gammas if heat else [gammas[1], *gammas[1:]]
        )  # at 0 both rules draft alike, so that they are seen to agree
        lanes = [lane | {"gamma": gamma} for lane, gamma in zip(LANES, own, strict=True)]
        seeds = options.seeds if heat else 1
        for kind, prompts in PROMPTS.items():
            asked = {**shared, "temperature": heat, "lanes": lanes}
            found.append({"domain": kind, **record(kind, asked, prompts[: options.prompts], seeds)})
    write(out, {"format": race.FORMAT, "races": found})


def plan_of(asked: Values, prompt: str) -> tuple[race.RacePlan, Pair]:
    """Return the plan of a race on one prompt, and the pair it runs on."""
    plan = race.read_plan(space.load(), {**asked, "prompt": prompt})
    return plan, pairs.load(plan.request.pair)


def fastest(asked: Values) -> list[int]:
    """Return the draft length with which each lane makes most tokens a second, on two prompts of a
    kind.
    """
    prompts = list(enumerate(prompt for own in PROMPTS.values() for prompt in own[:2]))
    ways = [lane | {"gamma": gamma} for lane in LANES for gamma in GAMMAS]
    plans = [
        plan_of({**asked, "max_new_tokens": SHORT, "lanes": [way]}, prompts[0][1]) for way in ways
    ]
    cases = [plan.cases[1] for plan, _ in plans]
    pair = plans[0][1]
    records = list(measure(pair, cases, prompts, 1))
    best = []
    for own in (cases[i : i + len(GAMMAS)] for i in range(0, len(cases), len(GAMMAS))):
        speeds = [
            Measurement(c, tuple(r for r in records if r["case"] == c.name)).tokens_per_second()[0]
            for c in own
        ]
        print(
            *(
                f"{c.name}: {speed:.1f} tokens a second"
                for c, speed in zip(own, speeds, strict=True)
            ),
            sep="\n",
        )
        best.append(GAMMAS[speeds.index(max(speeds))])
    return best


def record(kind: str, asked: Values, prompts: Sequence[str], seeds: int) -> Values:
    """Return the race on all prompts of a kind: header, events, and what both rules keep over all
    coins.

    One run of every lane, on the first prompt, has its steps, for the replay; of all others the
    record alone is kept.
    """
    plan, pair = plan_of(asked, prompts[0])
    numbered = list(enumerate(prompts))
    lanes = {case.name: lane for lane, case in enumerate(plan.cases)}
    events = shown(pair, plan)
    for one in measure(pair, plan.cases, numbered, seeds):
        events.append(
            {
                "lane": lanes[one["case"]],
                "repetition": one["repetition"],
                "steps": [],
                "record": short(one),
            }
        )
        if one["prompt"] == 0:
            speed = one["new_tokens"] / one["seconds"]
            print(
                f"{kind}, seed {one['repetition']}, {one['case']}: {speed:.1f} tokens a second",
                flush=True,
            )
    more = {**timing.facts(pair, plan.cases), "prompts": len(prompts), "rounds": seeds}
    return {
        "header": {**plan.as_data(), **more},
        "events": events,
        "coins": coins(pair, plan, numbered),
    }


def shown(pair: Pair, plan: race.RacePlan) -> list[Values]:
    """Return the steps of every lane's run on the plan's prompt, an event each, of one length."""
    runs: dict[int, Values] = {}
    for news in timing.rounds(pair, plan.request.prompt, plan.cases, plan.request.options.seed, 1):
        for event in news:
            if event["repetition"]:
                own = runs.setdefault(
                    event["lane"], {"lane": event["lane"], "repetition": 1, "steps": []}
                )
                own["steps"] += event["steps"]
    return list(runs.values())


def short(one: Any) -> Any:
    """Return a record with its seconds to a microsecond."""
    if isinstance(one, dict):
        return {name: short(value) for name, value in one.items()}
    return (
        [short(value) for value in one]
        if isinstance(one, list)
        else round(one, 6)
        if isinstance(one, float)
        else one
    )


def coins(pair: Pair, plan: race.RacePlan, prompts: Sequence[tuple[int, str]]) -> list[Values]:
    """Return by lane and prompt the tokens that both rules keep over all coins, and of how many
    drafts.
    """
    if plan.request.options.sampling.temperature == 0:
        return []
    found = []
    for number, prompt in prompts:
        known: dict[int, Values] = {}
        for case in plan.cases[1 : 1 + len(RULES)]:
            gamma = case.options["gamma"]
            known[gamma] = known.get(gamma) or over_coins(pair, prompt, gamma, case.options)
            own = {"kept": known[gamma][case.options["rule"]], "drafts": known[gamma]["drafts"]}
            found.append({"case": case.name, "prompt": number, **own})
    return found


def over_coins(pair: Pair, prompt: str, gamma: int, options: Values) -> Values:
    """Return how many drafts of γ tokens a run by each rule makes, and what either rule keeps of
    all of them.

    What is kept is summed over drafts, each on average over all coins, so the luck of no coin is in
    it.
    """
    sampling = {
        name: options[name]
        for name in ("temperature", "top_p", "top_k", "prompt_as")
        if name in options
    }
    runs = [
        hsd.run(pair, prompt, rule=rule, gamma=gamma, max_new_tokens=SOURCE, seed=seed, **sampling)
        for seed, rule in enumerate(RULES)
    ]
    steps = [step for run in runs for step in run.steps if step.drafted == gamma]
    return {
        "drafts": len(steps),
        **{rule: round(sum(s.expected_kept[rule] for s in steps), 6) for rule in RULES},
    }


# ---- the rows of the calculator


def lengths(asked: Values, count: int) -> Values:
    """Return what each rule gives at each draft length on each prompt (samples), and what passes
    cost.
    """
    plan, pair = plan_of(asked, PROMPTS["Stories"][0])
    samples: list[Values] = []
    for kind, prompts in PROMPTS.items():
        for gamma in EVERY:
            for number, prompt in enumerate(prompts[:count]):
                own = over_coins(pair, prompt, gamma, plan.cases[0].options)
                about = {
                    "kind": kind,
                    "gamma": gamma,
                    "text": f"{kind} {number}",
                    "passes": own["drafts"],
                }
                samples += (
                    {**about, "rule": rule, "tokens": round(own[rule] + own["drafts"], 6)}
                    for rule in RULES
                )
            print(f"{kind}, γ = {gamma}", flush=True)
    about = {
        "pair": pair.name,
        "title": TITLE,
        "temperature": asked["temperature"],
        "version": __version__,
        "machine": machine(pair),
    }
    return {
        "format": "hsd-lengths-2",
        **about,
        "samples": samples,
        "passes": passes(asked["pair"], pair),
    }


def passes(name: str, pair: Pair) -> dict[str, dict[str, float]]:
    """Return the milliseconds of a pass over so many tokens, and of a drafted token, here and by
    WebAssembly.

    """
    found = {"here": times(pair)}
    if name in fetch.MODELS:
        found["browser"] = times(by_webassembly(name))
    return found


def by_webassembly(name: str) -> Pair:
    """Return a fetched pair that is loaded anew, so that its engine is the WebAssembly module in
    place of a library.
    """
    engines.usable = sums.usable = list  # no library
    return named_pair(name, fetch.fetched_file(name), None)


def times(pair: Pair) -> dict[str, float]:
    """Return the medians for one pair, in turn, after `BEFORE` other tokens."""
    pair.target.use_threads(threads_of(pair.target))
    ids = torch.arange(BEFORE + max(WIDTHS)) % 200 + 20
    target = pair.target.start()
    draft = pair.draft.start()
    if hasattr(draft, "follow"):
        draft.follow(target)
    target.forward(ids[:BEFORE], 1)
    draft.forward(ids[:BEFORE], 1)

    def read(session: Any, width: int) -> None:
        session.forward(ids[BEFORE : BEFORE + width], width)
        session.crop(BEFORE)

    known = {
        str(width): milliseconds(lambda width=width: read(target, width), TIMES) for width in WIDTHS
    }
    return {
        name: round(ms, 3)
        for name, ms in (known | {"draft": milliseconds(lambda: read(draft, 1), TIMES)}).items()
    }


if __name__ == "__main__":
    sys.exit(main())
