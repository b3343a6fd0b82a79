"""The options of a run as a trace has them, in groups."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from hsd.trace.values import MAX_LEVELS, MAX_NODES, Count, Name, Probability, Real, Record

GROUPS = {
    "draft": {"proposer": "proposer", "gamma": "gamma", "drafts": "drafts", "tree": "tree", "nodes": "nodes"},
    "sampling": {"temperature": "temperature", "top_k": "top_k", "top_p": "top_p"},
    "levels": {"stack": "stack", "exits": "exits", "thresholds": "thresholds", "rules": "level_rules"},
    "fuzzy": {"divergence": "divergence", "tolerance": "tolerance", "mode": "fuzzy_mode", "on": "divergence_on"},
    "knobs": {"draft_weight": "draft_weight", "epsilon": "epsilon"},
}
"""Every option that is in a group: group, its name there, the keyword of `hsd.run`."""


class Drafting(Record):
    """Who proposes ("model", "ngram", or "none": plain decoding), how many tokens, and how several drafts lie.

    gamma is 0 where nothing is drafted, or levels with thresholds of their own do it. nodes: the size of a grown tree,
    0 for drafts · gamma + 1.
    """

    proposer: Name = "model"
    gamma: Annotated[int, Field(ge=0, le=32)]
    drafts: Annotated[int, Field(ge=1, le=64)] = 1
    tree: Name = "paths"
    nodes: Annotated[int, Field(ge=0, le=MAX_NODES)] = 0


class Sampled(Record):
    """How logits became probabilities."""

    temperature: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    top_k: Count
    top_p: Probability


class Stacked(Record):
    """The levels of a system that has more than draft and target, smallest first; all empty where there are none.

    `stack` says which models of the pair they are, `exits` after how many of the target's layers they end.
    `thresholds` say how many tokens each level below the target hands up at least, `rules` how those between the ends
    verify.
    """

    stack: Annotated[list[Count], Field(max_length=MAX_LEVELS)] = []
    exits: Annotated[list[Count], Field(max_length=MAX_LEVELS)] = []
    thresholds: Annotated[list[Count], Field(max_length=MAX_LEVELS)] = []
    rules: Annotated[list[Name], Field(max_length=MAX_LEVELS)] = []


class Fuzziness(Record):
    """The settings of the rule "fuzzy"; they matter where the run's rule, or the one compared with, is that."""

    divergence: Name = "kl"
    tolerance: Real = 0.3
    mode: Name = "exact-first"
    on: Name = "warped"


class Knobs(Record):
    """The numbers of the rules "ensemble" and "typical"; they matter where one of them takes part."""

    draft_weight: Probability = 0.5
    epsilon: Probability = 0.09


class Asked(Record):
    """The options of a run, in groups.

    prompt_as: "chat" for a prompt in the chat template, "text" for one as it is, "" for what the pair was loaded for.
    """

    system: Name
    rule: Name
    shadow: Name = ""
    seed: int
    max_new_tokens: Count
    engine: Name = "eager"
    prompt_as: Name = ""
    draft: Drafting
    sampling: Sampled
    levels: Stacked = Stacked()
    fuzzy: Fuzziness = Fuzziness()
    knobs: Knobs = Knobs()

    def flat(self) -> dict[str, Any]:
        """All of them without groups, by the keywords of `hsd.run`."""
        found = {name: value for name, value in self if name not in GROUPS}
        for group, names in GROUPS.items():
            found |= {keyword: getattr(getattr(self, group), name) for name, keyword in names.items()}
        return found
