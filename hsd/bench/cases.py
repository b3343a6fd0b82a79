"""What a benchmark compares: plain decoding, and every combination of what was asked for, as cases."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hsd.bench.measure import Case
from hsd.decoding.options import LEVELLED, RunOptions
from hsd.draft import COPIERS, LAYOUTS
from hsd.errors import HsdError
from hsd.rules import RULES, TREE_RULES, VANILLA, Fuzzy

SYSTEMS = ("speculative", *COPIERS, *LEVELLED)  # those that draft
Named = Iterator[tuple[str, dict[str, Any]]]


@dataclass(frozen=True)
class Asked:
    """Lists of which every combination is measured, each at the target of every system.

    systems: of `SYSTEMS`. thresholds, exits: of systems with levels, () for the usual ones; tolerances, divergence: of
    the fuzzy rule. trees: further drafts, as `tree_of` reads them, each by all of `rules_on`.
    peers(gammas, options): the cases of another library, measured too.
    """

    rules: Sequence[str]
    gammas: Sequence[int] = (5,)
    temperatures: Sequence[float] = (1.0,)
    drafts: Sequence[int] = (1,)
    tree: str = "paths"
    trees: Sequence[str] = ()
    systems: Sequence[str] = ("speculative",)
    thresholds: Sequence[int] = ()
    exits: Sequence[int] = ()
    tolerances: Sequence[float] = (Fuzzy.tolerance,)
    divergence: str = Fuzzy.divergence
    max_new_tokens: int = 64
    peers: Callable[[Sequence[int], dict[str, Any]], list[Case]] | None = None

    def cases(self) -> list[Case]:
        """Plain decoding, then every combination, at each temperature. Raises HsdError for one that cannot be."""
        if self.max_new_tokens < 1:
            raise HsdError(f"max-new-tokens {self.max_new_tokens}: choose at least 1")
        wrong = [system for system in self.systems if system not in SYSTEMS]
        if wrong or not self.systems:
            raise HsdError(f"unknown system {', '.join(wrong) or 'none'}: choose from {', '.join(SYSTEMS)}")
        cases = []
        for temperature in self.temperatures:
            at = f", T={temperature:g}" if len(self.temperatures) > 1 else ""
            common = {"max_new_tokens": self.max_new_tokens, "trace": False, "temperature": temperature}
            cases.append(Case(f"plain{at}", {**common, "system": "plain"}))
            for system in self.systems:
                own = self._levelled if system in LEVELLED else self._copied if system in COPIERS else self._speculative
                made = own(system)
                cases += [Case(name + at, {**common, **options}) for name, options in made]
            cases += [Case(name + at, {**common, **options}) for name, options in self._on_trees()]
            peers = self.peers(self.gammas, common) if self.peers else []
            cases += [Case(case.name + at, case.options, case.runner) for case in peers]
        for case in cases:
            RunOptions(**case.options)
        return cases

    def _speculative(self, _: str) -> Named:
        """Name and options of every rule with every draft length and number of drafts."""
        for gamma, drafts, rule in itertools.product(self.gammas, self.drafts, self.rules):
            several = {"drafts": drafts, "tree": self.tree} if drafts > 1 else {}
            tail = f", γ={gamma}" + (f", {self.tree} K={drafts}" if several else "")
            for name, settings in self._tuned(rule):
                yield name + tail, {"rule": rule, "gamma": gamma, **several, **settings}

    def _on_trees(self) -> Named:
        """Name and options of every tree, by each rule that fits."""
        for words in self.trees:
            tree = tree_of(words)
            form = f"{tree['tree']} {tree['drafts']}×{tree['gamma']}"
            form += f", {tree['nodes']} nodes" if "nodes" in tree else ""
            for rule in rules_on(tree["tree"]):
                yield f"{rule.removeprefix('recursive-')}, {form}", {"rule": rule, **tree}

    def _copied(self, proposer: str) -> Named:
        """Name and options of drafts copied from the text, for every draft length.

        Each is certain, q = 1, and of such drafts all lossless rules keep equally many: the first one stands for all.
        """
        lossless = (name for name in self.rules if name in RULES and RULES[name].lossless)
        rule = next(lossless, "tokenwise")
        for gamma in self.gammas:
            yield f"{COPIERS[proposer].short}, γ={gamma}", {"proposer": proposer, "rule": rule, "gamma": gamma}

    def _levelled(self, system: str) -> Named:
        """Name and options of a stack, or of early exits, with every rule at the target."""
        thresholds, exits = tuple(self.thresholds), tuple(self.exits) if system == "hispec" else ()
        handed = {name: value for name, value in (("thresholds", thresholds), ("exits", exits)) if value}
        tail = f", exits {'/'.join(map(str, exits))}" if exits else ""
        tail += f", T={'/'.join(map(str, thresholds))}" if thresholds else ""
        lengths = self.gammas if system == "stack" and not thresholds else [None]
        for rule, gamma in itertools.product(self.rules, lengths):
            more, levels = (f", T={gamma}", {"gamma": gamma}) if gamma else ("", {})
            for name, settings in self._tuned(rule):
                yield f"{system}, {name}{tail}{more}", {"system": system, "rule": rule, **handed, **levels, **settings}

    def _tuned(self, rule: str) -> Named:
        """A rule once, or once for each of its tolerances."""
        if rule != "fuzzy":
            yield rule, {}
            return
        for tolerance in self.tolerances:
            settings = {"tolerance": tolerance, "divergence": self.divergence}
            yield f"fuzzy {self.divergence}≤{tolerance:g}", settings


def tree_of(words: str) -> dict[str, Any]:
    """The options of a tree given as layout:drafts:γ, or layout:drafts:γ:nodes for a grown one. Raises HsdError."""
    layout, *numbers = words.split(":")
    if layout not in LAYOUTS or not 2 <= len(numbers) <= 3 or not all(n.isdecimal() for n in numbers):
        raise HsdError(
            f"tree {words[:40]!r}: give layout:drafts:gamma, such as comb:2:3, or grown:3:3:10 with its nodes"
        )
    return {"tree": layout, **dict(zip(("drafts", "gamma", "nodes"), map(int, numbers), strict=False))}


def rules_on(layout: str) -> list[str]:
    """The rules that a tree is measured with: the vanilla one, HSD draft after draft, and traversal, if they fit it."""
    siblings = LAYOUTS[layout].siblings
    names = dict.fromkeys((VANILLA[siblings], "recursive-hsd", "traversal"))
    return [name for name in names if siblings in TREE_RULES[name].siblings]
