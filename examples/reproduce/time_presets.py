"""Time every recorded run beside plain decoding, in turn, for the line at the top of the page.

    python examples/reproduce/time_presets.py               all presets; a few minutes
    python examples/reproduce/time_presets.py lighthouse    some; the others keep their numbers

Each round decodes the preset's run and then, with the same target, prompt, sampling and seed, plain
decoding of as many tokens, neither with its record. The first round is dropped; what is written to
assets/results/presets.json are medians over the others, with the machine and its load beside them.
Times are worth keeping only where nothing else runs.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from typing import Any

from measuring import RESULTS, save

import hsd
from hsd.app.presets import Preset, definitions, trace_of
from hsd.models.machine import machine

OUT = RESULTS / "presets.json"
SHARED = ("temperature", "top_p", "top_k", "prompt_as")


def main() -> int:
    arguments = _arguments()
    presets = definitions()
    unknown = [name for name in arguments.names if name not in presets]
    if unknown:
        print(f"no preset {unknown[0]!r}: choose from {', '.join(presets)}", file=sys.stderr)
        return 2
    found = json.loads(OUT.read_text(encoding="utf-8")) if OUT.is_file() else {}
    for name in arguments.names or presets:
        if presets[name].options.get("system") == "plain":
            continue
        found[name] = timed(presets[name], arguments.rounds)
        save(found, OUT)
        print(
            f"{name:16} {found[name]['times']:.2f} x plain, {found[name]['tokens_per_second']:.1f} "
            "tokens/s",
            flush=True,
        )
    return 0


def timed(preset: Preset, rounds: int) -> dict[str, Any]:
    """tokens_per_second, plain: medians over rounds; times: of their ratios, round by round, and
    spread: its ends.
    """
    pair = hsd.load_pair(preset.pair)
    seed = trace_of(preset).setup.options.seed
    shared = {name: preset.options[name] for name in SHARED if name in preset.options}
    speeds = []
    for _ in range(rounds + 1):
        own = hsd.run(
            pair, preset.prompt, **preset.options | {"seed": seed, "trace": False}
        ).stats()
        plain = {**shared, "system": "plain", "max_new_tokens": int(own["new_tokens"])}
        other = hsd.run(pair, preset.prompt, seed=seed, trace=False, **plain).stats()
        speeds.append((own["tokens_per_second"], other["tokens_per_second"]))
    counted = speeds[1:]
    ratios = [own / plain for own, plain in counted]
    return {
        "tokens_per_second": round(statistics.median(own for own, _ in counted), 2),
        "plain": round(statistics.median(plain for _, plain in counted), 2),
        "times": round(statistics.median(ratios), 3),
        "spread": [round(min(ratios), 3), round(max(ratios), 3)],
        "rounds": rounds,
        **machine(pair),
    }


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="presets to time (default: all)")
    parser.add_argument("--rounds", type=int, default=5)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
