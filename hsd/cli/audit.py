"""`python -m hsd audit`: the exact law of every rule on a random small pair of models."""

import argparse
import json
import sys

from hsd.audit import audit as exact_laws
from hsd.cli.arguments import progress, rule_of, show
from hsd.errors import HsdError

LOSSLESS = {True: "yes", False: "no", None: "not judged"}


def main(arguments: argparse.Namespace) -> int:
    """Print the exact law of every rule, as a table or as JSON. Returns the exit status."""
    patience = "; trees take a minute" if arguments.drafts > 1 else ""
    progress(f"adding up every outcome{patience}\n")
    sizes = {name: getattr(arguments, name) for name in ("vocab", "gamma", "seed")}
    own = rule_of(arguments.rule, **sizes)
    if isinstance(own, str):
        raise HsdError(f"--rule {own}: the rules here are all listed: give a Python file, FILE.py")
    result = exact_laws(**sizes, drafts=arguments.drafts)
    if own:
        verdict = own.verdict
        result["rules"][own.name] = {
            "expected_accepted": verdict.kept,
            "total_variation": verdict.total_variation,
            "lossless": verdict.lossless,
            "verdict": str(verdict),
            "counterexample": verdict.example,
        }
    if arguments.json:
        show(json.dumps(result))
        return 0
    most = {f"optimum, {layout}": kept for layout, kept in result.get("optimum", {}).items()}
    width = max(len(name) for name in (*result["rules"], *most, "ideal, one draft"))
    show(f"{'rule':{width}} {'E[kept]':>9} {'total variation':>16}  lossless")
    for name, row in result["rules"].items():
        verdict = LOSSLESS[row["lossless"]]
        kept = _number(row["expected_accepted"], ".4f")
        off = _number(row["total_variation"], ".2e")
        show(f"{name:{width}} {kept:>9} {off:>16}  {verdict}")
    show(f"{'ideal, one draft':{width}} {result['ideal']:9.4f}")
    for name, kept in most.items():
        show(f"{name:{width}} " + ("too many trees" if kept is None else f"{kept:9.4f}"))
    if arguments.drafts > 1 and not most:
        show("the optimum needs scipy: pip install scipy", sys.stderr)
    for name in result.get("skipped", ()):
        show(f"too many trees to enumerate: {name}", sys.stderr)
    return 0


def _number(value: float | None, form: str) -> str:
    """Return a number as text, "–" for one that is not known."""
    return "–" if value is None else format(value, form)
