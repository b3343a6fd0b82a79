"""Record the presets: decode what the files of assets/presets describe, save the traces that the
page shows.

    python examples/reproduce/record.py                  all presets, each on its pair
    python examples/reproduce/record.py story sum        some of them
    python examples/reproduce/record.py --search 1       seed 0 for all, no search: takes seconds

The portable engine decodes them, so that they come out the same on every machine.

For a preset with `seeds: N`, seeds 0 to N-1 are tried and the run with the most telling step is
kept: the one where the rule keeps most beyond vanilla of the same draft, on average over all coins
and this time as well (`hsd.app.presets.interest` says it in full). Such a run is chosen to explain
something. It is no measurement.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

# so that this runs without installing the package
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import hsd
from hsd.app.presets import Preset, definitions, gain, interest, telling_step
from hsd.bench.score import with_scores
from hsd.paths import ASSETS
from hsd.writing import write_file


def record(preset: Preset, pair: hsd.Pair, seeds: int) -> hsd.Trace:
    """The most telling run of `preset` among `seeds` seeds; the first of equals."""
    runs = (
        hsd.run(pair, preset.prompt, **{"seed": seed, **preset.options}) for seed in range(seeds)
    )
    return max(runs, key=lambda trace: interest(trace.steps[telling_step(trace)]))


def main() -> int:
    arguments = _arguments()
    presets = definitions() | definitions(ASSETS / "presets" / "systems.yaml")
    unknown = [name for name in arguments.names if name not in presets]
    if unknown:
        print(f"no preset {unknown[0]!r}: choose from {', '.join(presets)}", file=sys.stderr)
        return 2
    for name in arguments.names or presets:
        preset = presets[name]
        pair = hsd.load_pair(preset.pair)
        trace = record(preset, pair, min(preset.seeds, arguments.search or preset.seeds))
        preset.file.parent.mkdir(exist_ok=True)
        write_file(preset.file, with_scores(pair, trace).to_json() + "\n")
        print(_line(preset, trace), flush=True)
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="presets to record (default: all)")
    parser.add_argument(
        "--search",
        type=int,
        metavar="N",
        help="try at most N seeds instead of what presets.yaml says",
    )
    return parser.parse_args()


def _line(preset: Preset, trace: hsd.Trace) -> str:
    index = telling_step(trace)
    step = trace.steps[index]
    stats = trace.stats()
    beside = (
        f", vanilla {step.shadow.kept}, over all coins {gain(step):+.2f}" if step.shadow else ""
    )
    return (
        f"{preset.name:16} seed {trace.setup.options.seed:2}  step {index + 1}/{len(trace.steps)}: "
        f"kept {step.kept}"
        f" of {step.drafted}{beside}; {stats['block_efficiency']:.2f} tokens per target call; "
        f"{preset.file.stat().st_size / 1e3:.0f} kB  {trace.text[:50]!r}"
    )


if __name__ == "__main__":
    sys.exit(main())
