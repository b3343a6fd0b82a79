"""`python -m hsd audit`: the exact law of every rule on a random small pair of models."""

import argparse
import json
import sys

from hsd.audit import audit as exact_laws
from hsd.cli.arguments import progress, show


def main(arguments: argparse.Namespace) -> int:
    """Print the exact law of every rule, as a table or as JSON. Returns the exit status."""
    patience = "; trees take a minute" if arguments.drafts > 1 else ""
    progress(f"adding up every outcome{patience}\n")
    result = exact_laws(
        vocab=arguments.vocab, gamma=arguments.gamma, seed=arguments.seed, drafts=arguments.drafts
    )
    if arguments.json:
        show(json.dumps(result))
        return 0
    most = {f"optimum, {layout}": kept for layout, kept in result.get("optimum", {}).items()}
    width = max(len(name) for name in (*result["rules"], *most, "ideal, one draft"))
    show(f"{'rule':{width}} {'E[kept]':>9} {'total variation':>16}  lossless")
    for name, row in result["rules"].items():
        verdict = "yes" if row["lossless"] else "no"
        numbers = f"{row['expected_accepted']:9.4f} {row['total_variation']:16.2e}"
        show(f"{name:{width}} {numbers}  {verdict}")
    show(f"{'ideal, one draft':{width}} {result['ideal']:9.4f}")
    for name, kept in most.items():
        show(f"{name:{width}} " + ("too many trees" if kept is None else f"{kept:9.4f}"))
    if arguments.drafts > 1 and not most:
        show("the optimum needs scipy: pip install scipy", sys.stderr)
    for name in result.get("skipped", ()):
        show(f"too many trees to enumerate: {name}", sys.stderr)
    return 0
