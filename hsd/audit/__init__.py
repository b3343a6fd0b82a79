"""Exact enumeration of the law that a rule's output follows, without sampling."""

from typing import Any

from hsd.audit.chains import (
    TableModels,
    audit_rules,
    context_free_models,
    ideal_kept,
    output_law,
    random_models,
    step_law,
    target_law,
    total_variation,
)
from hsd.audit.optimum import optima
from hsd.audit.trees import audit_tree_rules
from hsd.errors import HsdError
from hsd.values import shown, whole, whole_between

MAX_OUTCOMES = 20_000
MAX_NODES = 2_000

__all__ = [
    "TableModels",
    "audit",
    "audit_rules",
    "audit_tree_rules",
    "context_free_models",
    "ideal_kept",
    "output_law",
    "random_models",
    "step_law",
    "target_law",
    "total_variation",
]


def audit(vocab: int = 3, gamma: int = 3, seed: int = 0, drafts: int = 1) -> dict[str, Any]:
    """Judge every rule exactly on one random pair of models.

    Returns {"vocab", "gamma", "seed", "drafts", "rules": {name: {"expected_accepted",
    "total_variation", "lossless"}}, "ideal"}. "expected_accepted" is in tokens per draft;
    `lossless` means a total variation below 1e-12. With several drafts the rules for trees are
    judged too, and "skipped" names those with too many trees to enumerate; "optimum" has the most
    that any lossless rule keeps on each layout (`hsd.audit.optimum`), None if there are too many
    trees, and is empty without scipy. The cost grows like vocab ** (gamma + 1), and with the number
    of trees. Raises HsdError if that is too much.
    """
    vocab = whole_between("vocab", vocab, 1)
    gamma = whole_between("gamma", gamma, 1)
    drafts = whole_between("drafts", drafts, 1)
    number = whole(seed)
    if number is None:
        raise HsdError(f"seed {shown(seed)}: choose a whole number")
    if gamma > 12 or vocab ** (gamma + 1) > MAX_OUTCOMES:
        raise HsdError(
            f"{vocab}^{gamma + 1} outcomes are over the limit of {MAX_OUTCOMES:,}: "
            "reduce vocab or gamma"
        )
    if drafts > 1 and drafts ** min(gamma, 12) > MAX_NODES:
        raise HsdError(
            f"trees of {drafts}^{gamma} leaves are over the limit of {MAX_NODES:,}: "
            "reduce drafts or gamma"
        )
    models = random_models(vocab, gamma, number)
    result: dict[str, Any] = {
        "vocab": vocab,
        "gamma": gamma,
        "seed": number,
        "drafts": drafts,
        "rules": audit_rules(models),
    }
    if drafts > 1:
        of_trees, result["skipped"] = audit_tree_rules(models, drafts)
        result["rules"] |= of_trees
        result["optimum"] = optima(models, drafts)
    return {**result, "ideal": ideal_kept(models)}
