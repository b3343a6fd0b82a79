"""What a new head keeps more than the one before, by the token-wise rule and HSD, over all coins.

    python examples/reproduce/smollm2/compare_heads.py --data DATA --before FOLDER

This compares the shipped head with that of FOLDER.

Both heads draft `--gamma` tokens at a time for runs by HSD of the same prompts, which neither was
trained on. Each draft tells what either rule keeps of it on average over all coins, so no coin's
luck is in the numbers; intervals are over prompts, paired. Counts alone: no time is measured.
Writes assets/results/heads.json.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from measuring import interval, save, table

import hsd
from hsd.bench.prompts import prompt_set
from hsd.models.loading import fetch
from hsd.models.loading.portable import small_pair
from hsd.paths import ASSETS, RESULTS

KINDS = {"stories": "stories", "sums": "gsm8k", "code": "humaneval", "questions": "spec_bench:qa"}
RULES = ("tokenwise", "hsd")
TIMES = 2000  # resamples of the prompts
ENDS = (2.5, 97.5)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data",
        type=Path,
        required=True,
        help="folder with benchmark prompts: hsd/bench/prompts.py",
    )
    parser.add_argument(
        "--before", type=Path, required=True, help="folder of the head to compare with"
    )
    parser.add_argument(
        "--draft", type=Path, default=ASSETS / "smollm2" / "draft", help="folder of the new head"
    )
    parser.add_argument("--prompts", type=int, default=12, help="of each kind (default 12)")
    parser.add_argument("--gamma", default="4", help="lengths of drafts, with commas (default 4)")
    parser.add_argument("--temperatures", default="0.7", help="with commas (default 0.7)")
    parser.add_argument("--new-tokens", type=int, default=96)
    parser.add_argument("--out", type=Path, default=RESULTS / "heads.json")
    given = parser.parse_args()
    file = fetch.fetched_file("smollm2")
    if file is None:
        sys.exit("the model is not on this machine: run python -m hsd fetch smollm2")
    heads = {"before": given.before, "after": given.draft}
    pairs = {name: small_pair(file, folder, True, name) for name, folder in heads.items()}
    lines: list[dict[str, Any]] = []
    for heat in map(float, given.temperatures.split(",")):
        for gamma in map(int, given.gamma.split(",")):
            records = list(_records(pairs, given, heat, gamma))
            for kind in (*KINDS, "all"):
                part = [r for r in records if kind in (r["kind"], "all")]
                lines.append(
                    {"kind": kind, "T": heat, "gamma": gamma, "prompts": len(part)} | _figures(part)
                )
            save(
                {"what": __doc__.split("\n")[0], "new_tokens": given.new_tokens, "lines": lines},
                given.out,
            )
            print(json.dumps(lines[-1]), flush=True)
    print(markdown(lines))


def _records(pairs: dict[str, hsd.Pair], given: argparse.Namespace, heat: float, gamma: int) -> Any:
    """For each prompt: by head, the number of whole drafts and what each rule keeps of them
    together.
    """
    options = {"temperature": heat, "gamma": gamma, "max_new_tokens": given.new_tokens}
    for kind, name in KINDS.items():
        for prompt in prompt_set(name, given.data, given.prompts).prompts:
            record: dict[str, Any] = {"kind": kind}
            for head, pair in pairs.items():
                steps = [s for s in hsd.run(pair, prompt, **options).steps if s.drafted == gamma]
                kept = {rule: sum(step.expected_kept[rule] for step in steps) for rule in RULES}
                record[head] = [len(steps), *kept.values()]
            yield record


def _figures(records: list[dict[str, Any]]) -> dict[str, Any]:
    """Tokens per target call by head and rule, and ratios, each with its 95 % interval."""
    sums = np.array([[record["before"], record["after"]] for record in records], dtype=float)
    drawn = np.random.default_rng(0).integers(len(records), size=(TIMES, len(records)))
    means = [_calls(sums.sum(0)), *(_calls(sums[rows].sum(0)) for rows in drawn)]
    found: dict[str, Any] = {"drafts": sums[:, :, 0].sum(0).astype(int).tolist()}
    for head, name in enumerate(("before", "after")):
        found[name] = {rule: _interval([m[head, i] for m in means]) for i, rule in enumerate(RULES)}
    found["after / before"] = {
        rule: _interval([m[1, i] / m[0, i] for m in means]) for i, rule in enumerate(RULES)
    }
    found["hsd / tokenwise"] = {
        name: _interval([m[i, 1] / m[i, 0] for m in means])
        for i, name in enumerate(("before", "after"))
    }
    return found


def _calls(sums: np.ndarray) -> np.ndarray:
    """(heads, rules) tokens per target call, the target's own token included, of sums (heads,
    drafts and kept).
    """
    return 1 + sums[:, 1:] / sums[:, :1]


def _interval(values: list[float]) -> list[float]:
    low, high = np.percentile(values[1:], ENDS)
    return [round(float(x), 4) for x in (values[0], low, high)]


def markdown(lines: list[dict[str, Any]]) -> str:
    """The lines as a table."""
    head = (
        "kind",
        "T",
        "γ",
        "token-wise, before",
        "HSD, before",
        "token-wise",
        "HSD",
        "HSD, times before",
        "HSD / token-wise",
    )
    rows = [
        [
            line["kind"],
            f"{line['T']:g}",
            str(line["gamma"]),
            *(f"{line[name][rule][0]:.2f}" for name in ("before", "after") for rule in RULES),
            interval(line["after / before"]["hsd"]),
            interval(line["hsd / tokenwise"]["after"], ".3f"),
        ]
        for line in lines
    ]
    return table(head, rows)


if __name__ == "__main__":
    main()
