"""Which siblings a tree should have: chosen, drawn, or all but one of them chosen.

Shapes differ in what is kept of them, by temperature and rule, and in what a step costs: a comb has
more nodes than a tree that grows, and a level of the draft reads more of them. Both were measured,
on SmolLM2 and its head. No clock is read, so that a seeded run has the same tree every time.
"""

import json
from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import Any

from hsd.draft import LAYOUTS
from hsd.draft.tree_plans import TreeCosts, interpolate
from hsd.paths import RESULTS, cached_by_file
from hsd.rules import VANILLA, TreeRule

KINDS = {"grown": "chosen", "mixed": "mixed", "distinct-comb": "drawn"}  # of siblings, by layout
Known = tuple[Sequence[Mapping[str, Any]], TreeCosts]


def measurements() -> Known:
    """Return tokens per pass by shape, and costs in ms.

    They are from `measure_smollm2.py`, part "groups", and from `hsd plan --tree`.
    """
    return _measured(RESULTS / "smollm2.json", RESULTS / "tree_plans.jsonl")


@cached_by_file()
def _measured(passes: Path, plans: Path) -> Known:
    groups = json.loads(passes.read_text(encoding="utf-8"))["groups"]
    costs = json.loads(plans.read_text(encoding="utf-8").splitlines()[0])["costs"]
    target, level = (
        {int(width): ms for width, ms in costs[name].items()} for name in ("target", "level")
    )
    return groups, TreeCosts(target, level, costs["around"])


def best_shape(
    heat: float,
    rule: TreeRule,
    siblings: Set[str],
    drafts: int,
    gamma: int,
    nodes: int = 0,
    known: Known | None = None,
) -> tuple[str, tuple[str, ...]]:
    """Return the layout with the most tokens per second, and (a sentence that says why,).

    heat: the temperature. siblings: kinds on which all rules of the run are lossless. nodes: size
    of a grown tree; 0: each layout's own. known: in place of `measurements`, of which the nearest
    temperature, breadth and size count.
    """
    fitting = [
        x for x in KINDS if LAYOUTS[x].siblings in siblings and (LAYOUTS[x].grown or not nodes)
    ]
    if rule.name == VANILLA["chosen"]:
        # this rule takes a draw for a chosen token, and keeps less of it
        fitting = fitting[:1]
    found = dict.fromkeys(fitting[:1], (0.0, 1.0))
    if len(fitting) == 1:
        why = f"the run's rules{' and number of nodes' if nodes else ''} allow no others"
    elif heat == 0:
        why = "at temperature 0 all of this tree is chosen, and drawn siblings would be a chain"
    else:
        found = {
            x: _tokens_and_step(heat, rule, x, drafts, gamma, nodes, known or measurements())
            for x in fitting
        }
        words = [
            f"{KINDS[x]} {1e3 * one / ms:.1f} ({one:.2f} in {ms:.1f} ms)"
            for x, (one, ms) in found.items()
        ]
        why = f"tokens a second, as measured on SmolLM2: {', '.join(words)}"
    best = max(found, key=lambda x: found[x][0] / found[x][1])
    return best, (f"Tree auto takes {KINDS[best]} siblings: {why}.",)


def _tokens_and_step(
    heat: float, rule: TreeRule, name: str, drafts: int, gamma: int, nodes: int, known: Known
) -> tuple[float, float]:
    """Return tokens per pass of layout `name`, and the milliseconds of a step.

    The arguments are those of `best_shape`.
    """
    groups, costs = known
    size = nodes - 1 if nodes else LAYOUTS[name].needed(drafts, gamma)

    def distance(group: Mapping[str, Any]) -> tuple[float, int, int]:
        breadth = abs(group["drafts"] - drafts)
        return abs(group["T"] - heat), breadth, abs(group["tokens"] - size)

    row = min(groups, key=distance)
    rules = [f"{KINDS[name]}, {one}" for one in (rule.name, VANILLA[LAYOUTS[name].siblings])]
    # what a level reads beside one node
    wider = range(gamma) if not LAYOUTS[name].grown else [0] + [1] * (gamma - 1)
    levels = sum(interpolate(costs.level, 1 + (drafts - 1) * more) for more in wider)
    tokens = next(row[name][0] for name in rules if name in row)
    return tokens, costs.target_pass(size + 1) + levels + costs.around
