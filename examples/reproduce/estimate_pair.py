"""What every rule keeps with Qwen2.5-Coder 1.5B and 0.5B, without drafting: some ten minutes.

    python -m hsd fetch qwen-coder
    python examples/reproduce/estimate_pair.py

The target writes texts of four kinds at two temperatures, and both models score them
(`hsd.estimate`). Writes assets/results/pair_estimate.json, and the calculator's rows of this pair,
lengths-qwen-coder.json, whose passes are those of pair.json (engines/measure_pair.py).
"""

from __future__ import annotations

import argparse
import json
from typing import Any

from measuring import RESULTS, save
from record_race import PROMPTS

import hsd
from hsd.bench.score import scored_texts
from hsd.estimate import HSD, VANILLA, Estimate, as_json, estimate
from hsd.models.machine import machine

PAIR = "qwen-coder"
TITLE = "Qwen2.5-Coder 1.5B with 0.5B"
TEMPERATURES = (0.7, 1.0)
SHOWN = TEMPERATURES[0]  # in the calculator
LONGEST = 8


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--prompts", type=int, default=6, help="of each kind")
    parser.add_argument("--new-tokens", type=int, default=64)
    given = parser.parse_args()
    pair = hsd.load_pair(PAIR)
    prompts = [
        (prompt, kind) for kind, texts in PROMPTS.items() for prompt in texts[: given.prompts]
    ]
    about = {"pair": PAIR, "title": TITLE, "version": hsd.__version__, "machine": machine(pair)}
    by_temperature: dict[str, Any] = {}
    for temperature in TEMPERATURES:
        options = {"max_new_tokens": given.new_tokens, "temperature": temperature}
        texts = []
        for text in scored_texts(pair, prompts, options):
            texts.append(text)
            print(f"T = {temperature:g}: {len(texts)} of {len(prompts)}", flush=True)
        kinds = {
            kind: estimate([text for text in texts if text.kind == kind], LONGEST)
            for kind in PROMPTS
        }
        whole = estimate(texts, LONGEST)
        by_temperature[f"{temperature:g}"] = {
            "all": as_json(whole),
            **{kind: as_json(found) for kind, found in kinds.items()},
        }
        if temperature == SHOWN:
            rows = lengths(whole)
    asked = {"prompts": given.prompts, "new_tokens": given.new_tokens}
    save({**about, "asked": asked, "temperatures": by_temperature}, RESULTS / "pair_estimate.json")
    head = {"format": "hsd-lengths-2", **about, "temperature": SHOWN}
    file = RESULTS / f"lengths-{PAIR}.json"
    file.write_text(
        json.dumps({**head, "samples": rows, "passes": passes()}) + "\n", encoding="utf-8"
    )
    print(f"written: {file}")


def lengths(found: Estimate) -> list[dict[str, Any]]:
    """Return a sample of each rule at each draft length on each text."""
    return [
        {
            "kind": text.kind,
            "gamma": gamma,
            "text": text.name,
            "passes": round(float(found.rules[rule].passes[number, gamma - 1]), 6),
            "rule": rule,
            "tokens": len(text),
        }
        for number, text in enumerate(found.texts)
        for gamma in range(1, LONGEST + 1)
        for rule in (VANILLA, HSD)
    ]


def passes() -> dict[str, dict[str, float]]:
    """Return what passes of the pair cost on this machine, in milliseconds."""
    measured = json.loads((RESULTS / "pair.json").read_text(encoding="utf-8"))
    [case] = [
        case for case in measured["engines"] if (case["engine"], case["threads"]) == ("native", 2)
    ]
    widths = {width: times[0] for width, times in case["passes"]["target"].items()}
    return {"here": {**widths, "draft": case["passes"]["cut draft"]["1"][0]}}


if __name__ == "__main__":
    main()
