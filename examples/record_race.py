"""Record the race that the Race screen shows before the first click, with the code that the page itself runs.

    python examples/record_race.py                    on the real model, once it has been fetched
    python examples/record_race.py --pair tiny        on the embedded pair
    python examples/record_race.py --pair qwen2.5-7b  on another pair of the Spacefile

Writes examples/results/race.json (or --out) and prints the page's own sentences. Do this on a quiet machine.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # so that this runs without installing the package

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")

from hsd import space
from hsd.errors import HsdError
from hsd.models.registry import draft_length
from hsd.ui.race import recorded
from hsd.ui.race.plan import read_plan

PROMPT = "Write a Python function that reverses a string."


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pair", default="smollm2", help="name of a pair in the Spacefile")
    parser.add_argument("--prompt", default=PROMPT)
    parser.add_argument("--length", type=int, default=128, help="new tokens, at most")
    parser.add_argument("--temperature", type=float, default=0.7)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=5, help="timed runs per lane: 1, 3 or 5")
    parser.add_argument("--out", type=Path, default=recorded.FILE)
    parser.add_argument("--prompt-as", default="", help="chat or text (default: as the pair was made for)")
    options = parser.parse_args()
    names = ("pair", "prompt", "prompt_as", "length", "temperature", "seed")
    lanes = [{"rule": rule, "gamma": draft_length(options.pair)} for rule in ("tokenwise", "hsd")]
    asked = {"lanes": lanes, "rounds": options.rounds}
    try:
        found = recorded.record(read_plan(space.load(), asked, {name: getattr(options, name) for name in names}))
    except HsdError as error:
        print(error, file=sys.stderr)
        return 2
    options.out.write_text(json.dumps(found, ensure_ascii=False) + "\n", encoding="utf-8")
    told = recorded.read(options.out)["report"]
    print(*[told["lead"], *(f"{row['case']}: {row['sentence']}" for row in told["rows"]), told["basis"]], sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
