"""The fuzzy rule on the embedded pair: its gain and cost by divergence, mode and tolerance.

    python examples/reproduce/measure_fuzzy.py                  # generated sums and stories
    python examples/reproduce/measure_fuzzy.py --data FOLDER    # GSM8K's test questions

Training did not use them; the questions are read from FOLDER/gsm8k/test.jsonl. Tolerances are
calibrated on prompts of their own: "accept 20 % of what would be rejected". Beside them: exact
decoding, and accepting as large a share of the rejected tokens at random. Writes
assets/results/fuzzy.json (or --out) and prints the same numbers as Markdown. Of stories a quarter
as many are decoded as of sums, and to half their length.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import torch
from measuring import interval, options, save
from pages import table
from torch import Tensor
from trade_off import Point, counts, point, rounded

import hsd
from hsd.bench import Record, machine
from hsd.bench.fuzzy import Calibration, calibrate
from hsd.decoding.loop import Decoding
from hsd.decoding.options import RunOptions
from hsd.decoding.system import make_system
from hsd.rules import DIVERGENCES, RULES, Law, Rule
from hsd.rules.fuzzy import MODES, ROWS
from hsd.version import __version__

SHARES = (0.2, 0.4, 0.6, 0.8, 1.0)
GRID = tuple(round(0.05 * i, 2) for i in range(21))  # the shares whose tolerances are written down
SETTING = {"gamma": 5, "temperature": 1.0}
# by what wrote training text for v0.1.0, other seeds
GENERATED = Path(__file__).with_name("fuzzy_prompts.json")


@dataclass(frozen=True)
class Text:
    """A kind of text: prompts to calibrate on, other prompts to measure on, and the answers where
    they are known.
    """

    name: str
    source: str
    calibration: list[str]
    prompts: list[str]
    answers: list[str] | None
    new_tokens: int


def main() -> None:
    given = options(__doc__, "fuzzy.json", prompts=60).parse_args()
    torch.set_num_threads(1)
    pair = hsd.load_pair("tiny")
    result: dict[str, Any] = {
        "what": "embedded pair, rule fuzzy: gain and cost by divergence, mode and tolerance",
        "date": date.today().isoformat(),
        "version": __version__,
        "machine": machine(pair),
        "setting": SETTING,
        "shares": GRID,
        "texts": {text.name: measured(pair, text) for text in texts(given)},
    }
    save(rounded(result), given.out)
    print(markdown(result))


# ---- what is decoded


def texts(given: argparse.Namespace) -> list[Text]:
    """The sums and the stories; a third of the prompts, at least 20, are there to calibrate on."""
    generated = json.loads(GENERATED.read_text(encoding="utf-8"))
    words = "with seeds that training did not use"
    if given.data:
        source = "GSM8K test"
        rows = gsm8k(given.data)
    else:
        source = f"generated sums of two steps and more, {words}"
        rows = generated["sums"]
    questions = [row["question"] for row in rows]
    answers = [row["answer"] for row in rows]
    openings = f"openings of generated stories, {words}"
    return [
        text("sums", source, questions, given.prompts, 2 * given.new_tokens, answers),
        text(
            "stories", openings, generated["stories"], max(given.prompts // 4, 1), given.new_tokens
        ),
    ]


def text(
    name: str,
    source: str,
    prompts: list[str],
    count: int,
    new_tokens: int,
    answers: list[str] | None = None,
) -> Text:
    calibration = prompts[count : count + max(count // 2, 20)]
    return Text(name, source, calibration, prompts[:count], answers and answers[:count], new_tokens)


def gsm8k(data: Path) -> list[dict[str, str]]:
    file = data / "gsm8k" / "test.jsonl"
    if not file.is_file():
        raise SystemExit(f"no file {str(file)!r}: give a folder that holds gsm8k/test.jsonl")
    rows = (json.loads(line) for line in file.read_text(encoding="utf-8").splitlines())
    return [
        {"question": f"Question: {row['question']}\nAnswer:", "answer": final(row["answer"])}
        for row in rows
    ]


def final(answer: str) -> str:
    """Return the final result of an answer: the part after ####, "" if there is none."""
    _, mark, last = answer.rpartition("####")
    return last.strip().replace(",", "") if mark else ""


# ---- accepting at random, to compare with


def at_random(share: float, spent: Callable[[dict[str, Tensor]], None]) -> Rule:
    """A rule that accepts a share of what the exact test rejects, whatever its divergence.

    spent: is given, for each draft, what every divergence of its positions is (see `random_law`).
    """
    law = partial(random_law, share, spent)
    recipe = RULES["ensemble"].recipe
    return Rule("random", "random (not lossless)", "random", "", False, recipe, law)


def random_law(
    share: float, spent: Callable[[dict[str, Tensor]], None], p: Tensor, q: Tensor, tokens: Tensor
) -> Law:
    """The exact tests, with `share` of their rejections accepted: a position then follows (1 -
    share) p + share q.

    That is the test of `ensemble`, by which a step is told. What each visited position costs is its
    divergence from p.
    """
    exact = RULES["tokenwise"].law(p, q, tokens)
    mixture = (1 - share) * p[: len(tokens)] + share * q
    spent({name: divergence(p[: len(tokens)], mixture) for name, divergence in DIVERGENCES.items()})
    threshold = exact.threshold + share * (1 - exact.threshold)
    return Law(
        p, q, threshold, forward=True, a=torch.ones_like(threshold), numbers={"draft_weight": share}
    )


def random_record(
    pair: hsd.Pair, share: float, prompt: str, asked: dict[str, Any]
) -> tuple[hsd.Trace, Record]:
    """One run with random acceptance, and its drift by divergence."""
    laws: list[dict[str, Tensor]] = []
    system = make_system(pair, RunOptions(**asked))
    decoding = Decoding(system.judged_by(at_random(share, laws.append)), prompt)
    steps = [step for step in decoding if step.drafted]
    trace = decoding.trace()
    drifts = {
        f"drift_{name}": sum(
            float(law[name][: len(step.verdict.decisions)].sum())
            for step, law in zip(steps, laws, strict=True)
        )
        for name in DIVERGENCES
    }
    return trace, {**counts(trace), **drifts}


# ---- measuring


def measured(pair: hsd.Pair, text: Text) -> dict[str, Any]:
    """Calibration, baselines and every point of the curve."""
    asked = {**SETTING, "max_new_tokens": text.new_tokens}
    found = {
        (on, name): calibrate(pair, text.calibration, name, on, **asked)
        for on in ROWS
        for name in DIVERGENCES
    }
    records = {case: [] for case in cases()}
    # cases take turns, so that a slow minute hits all of them
    for number, prompt in enumerate(text.prompts):
        for case in records:
            trace, record = one_run(pair, case, prompt, {**asked, "seed": 10_000 + number}, found)
            right = (
                {}
                if text.answers is None
                else {"right": int(final(trace.text) == text.answers[number])}
            )
            records[case].append({"prompt": number, **record, **right})
    return {
        "source": text.source,
        "prompts": len(text.prompts),
        "new_tokens": asked["max_new_tokens"],
        "calibration": calibrated(found, len(text.calibration)),
        "exact": point(records["exact", "", "", 0.0]),
        "random": [random_point(records[case], case[3]) for case in records if case[0] == "random"],
        "curve": curve(records, found),
    }


Case = tuple[str, str, str, float]  # kind, divergence, mode, share


def cases() -> list[Case]:
    fuzzy = [
        ("fuzzy", name, mode, share) for name in DIVERGENCES for mode in MODES for share in SHARES
    ]
    return [("exact", "", "", 0.0), *(("random", "", "", share) for share in SHARES), *fuzzy]


Calibrations = dict[tuple[str, str], Calibration]


def one_run(
    pair: hsd.Pair, case: Case, prompt: str, asked: dict[str, Any], found: Calibrations
) -> tuple[hsd.Trace, Record]:
    kind, divergence, mode, share = case
    if kind == "random":
        return random_record(pair, share, prompt, asked)
    fuzzy: dict[str, Any] = {"rule": "tokenwise"}
    if kind == "fuzzy":
        tolerance = tolerance_of(found["warped", divergence], share)
        fuzzy = {
            "rule": "fuzzy",
            "divergence": divergence,
            "fuzzy_mode": mode,
            "tolerance": tolerance,
        }
    trace = hsd.run(pair, prompt, **asked, **fuzzy)
    return trace, counts(trace)


def calibrated(found: Calibrations, prompts: int) -> dict[str, Any]:
    """The tolerances of all shares, by rows and divergence; how many tests exact decoding made and
    failed.
    """
    first = next(iter(found.values()))
    tolerances = {
        on: {n: [tolerance_of(found[on, n], s) for s in GRID] for n in DIVERGENCES} for on in ROWS
    }
    return {
        "prompts": prompts,
        "tests": first.tests,
        "rejected": len(first.rejected),
        "tolerances": tolerances,
    }


def random_point(records: Sequence[Record], share: float) -> Point:
    """A point of random acceptance; its drift is one number per divergence."""
    drift = {
        name: point([{**r, "drift": r[f"drift_{name}"]} for r in records])["drift"]
        for name in DIVERGENCES
    }
    return {"share": share, **point(records), "drift": drift}


def curve(
    records: dict[Case, list[Record]], found: Calibrations
) -> dict[str, dict[str, list[Point]]]:
    def points(name: str, mode: str) -> list[Point]:
        calibration = found["warped", name]
        return [
            {
                "share": s,
                "tolerance": tolerance_of(calibration, s),
                **point(records["fuzzy", name, mode, s]),
            }
            for s in SHARES
        ]

    return {name: {mode: points(name, mode) for mode in MODES} for name in DIVERGENCES}


# ---- telling


def tolerance_of(calibration: Calibration, share: float) -> float:
    """Four significant digits, rounded up, so that the very divergence it was read from still
    passes.
    """
    exact = calibration.tolerance(share)
    nearest = float(f"{exact:.4g}")
    return nearest if nearest >= exact else float(f"{exact * (1 + 5e-4):.4g}")


def markdown(result: dict[str, Any]) -> str:
    """The result as tables, one per text."""
    parts = [f"Machine: {result['machine']}"]
    for name, text in result["texts"].items():
        points = {"exact": text["exact"]}
        points |= {
            f"random {p['share']:.0%}": {**p, "drift": p["drift"]["kl"]} for p in text["random"]
        }
        for divergence, modes in text["curve"].items():
            points |= {
                f"{divergence} {mode} {p['share']:.0%}": p
                for mode, found in modes.items()
                for p in found
            }
        head = ("setting", "T", *SHOWN)
        rows = [
            [setting, f"{p.get('tolerance', 0):.3g}", *cells(p)] for setting, p in points.items()
        ]
        parts += [f"{name}: {text['source']}, {text['prompts']} prompts", table(head, rows)]
    return "\n\n".join(parts)


SHOWN = ("tokens_per_call", "drift", "overruled", "right", "length", "seconds")


def cells(found: Point) -> list[str]:
    return [interval(found[key], ".3g") if key in found else "–" for key in SHOWN]


if __name__ == "__main__":
    main()
