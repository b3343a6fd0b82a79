"""The facts about a step that fill its sentences, for every system, rule and layout.

`sentences.yaml` has the words. `web/step/sentences.js` has the same facts for the page. No sentence
credits a rule for what a coin did: what holds over all coins is kept apart from what happened this
time.
"""

import math
import operator
from itertools import accumulate, zip_longest
from typing import Any

from hsd.errors import HsdError
from hsd.expression import evaluate
from hsd.trace.fill import (
    Facts,
    apart,
    filled,
    listed,
    number,
    pair,
    quoted,
    same,
    say,
    shortest,
    together,
)
from hsd.trace.run import Trace
from hsd.trace.verdict import Decision, Verdict

LINES = [
    "opening",
    "drafting",
    "own.testing",
    "lead",
    "detail",
    "other testing",
    "why",
    "likelihood",
    "warning",
    "remarks",
    "levels below",
]
CERTAIN = 1 - 1e-9  # chances that are 1 but for rounding
SURE = 1 - 1e-12  # thresholds that are


def step_in_words(trace: Trace, index: int, known: Facts | None = None) -> str:
    """Return lines about `trace.steps[index]`, numbered from 1 there.

    known: `hsd.facts.facts()`, for names of rules. The lines say what was drafted; each test with
    its coin and threshold, and where the threshold comes from; what was kept and what was drawn
    after it; what the rule to compare with would have kept; what is luck in that, and what law; and
    what happened at each level below the target. Raises HsdError where the trace has no such step.
    """
    if not 0 <= index < len(trace.steps):
        there = f"its steps are 1 to {len(trace.steps)}" if trace.steps else "it has none"
        raise HsdError(f"this trace has no step {index + 1}: {there}")
    facts = Reading(trace, index, known or {}).facts()
    return "\n".join(filter(None, (filled(f"{{{name}}}", facts) for name in LINES)))


class Reading:
    """The step `trace.steps[index]`, read for the facts that its sentences name.

    known: as `step_in_words` takes it.
    """

    def __init__(self, trace: Trace, index: int, known: Facts) -> None:
        self.trace = trace
        self.step = trace.steps[index]
        self.options = trace.setup.options
        # what a rule is there, if it is another one
        cold = "cold" if self.options.sampling.temperature == 0 else ""
        self.rules = {
            rule["name"]: rule | (rule.get(cold) or {}) for rule in known.get("rules", [])
        }
        self.forms = known.get("forms", {})
        self.flat = self.options.flat()
        self.nodes = {node.id: node for node in self.step.nodes}
        self.tree = len(self.step.paths) > 1 or self.options.draft.drafts > 1

    def facts(self) -> dict[str, Any]:
        """Return all facts about the step by name.

        Those of verdicts, tests and events are nested in them, or lists.
        """
        step = self.step
        options = self.options
        rule = options.rule
        if options.draft.drafts > 1:
            rule = self.rules.get(rule, {}).get("recursive") or rule
        # of a run that was recorded without details
        verdict = step.verdict or Verdict(rule=rule, kept=step.kept)
        own = self.verdict(verdict)
        other = self.verdict(step.shadow) if step.shadow else None
        texts = [quoted(together(map(self.nodes.__getitem__, path.nodes))) for path in step.paths]
        facts = {
            **step.model_dump(include={"drafted", "depth", "kept", "target_calls"}),
            "step": step.index + 1,
            "steps": len(self.trace.steps),
            "extra": len(step.committed) - step.kept - 1,
            "details": bool(step.nodes),
            "tree": self.tree,
            "leaves": len({path.nodes[-1] for path in step.paths if path.nodes}),
            "listed": len(step.paths),
            "copies": options.draft.proposer not in ("model", "none"),
            "levels": bool(step.events),
            "cold": options.sampling.temperature == 0,
            "own": own,
            "other": other,
            "tokens": [
                {"piece": node, "q": number(node.q), "p": number(node.p)} for node in step.nodes
            ],
            "drafts": [{"number": i, "words": text} for i, text in enumerate(texts, 1)],
            "head": bool(self.trace.setup.models[0].taps),
            "candidates": len(step.growth),
            "events": self.events(),
            "remarks": [{"note": " ".join(note.split())} for note in self.trace.setup.notes],
        }
        if step.shadow and other:
            facts |= self.between(verdict, step.shadow, own, other)
        return facts

    def events(self) -> list[dict[str, Any]]:
        """Return the values of the sentences about each event below the target, in their order."""
        events = self.step.events
        count = max(len(self.trace.setup.models), 2)
        shared = {"levels": count, "exits": bool(self.options.levels.exits)}
        names = [
            say("level name", {**shared, "level": level, "top": level == count - 1})
            for level in range(count)
        ]
        return [
            {
                **event.model_dump(include={"kind", "asked", "kept"}),
                "Who": names[event.level].capitalize(),
                "Above": names[event.level + 1].capitalize(),
                "below": names[event.level - 1],
                "level tokens": [{"piece": token} for token in event.committed],
                "made": len(event.committed),
                "drafted": len(event.tested),
                "all": event.kept == len(event.tested),
                "added": next(iter(event.committed[event.kept :]), None),
                "replaced": next(iter(event.tested[event.kept :]), None),
                "settled": event.held + len(event.committed),
                "missing": event.asked - event.held - len(event.committed),
                "up": following is None or following.level > event.level,
            }
            for event, following in zip_longest(events, events[1:])
        ]

    # ---- one verdict

    def verdict(self, judged: Verdict) -> dict[str, Any]:
        step = self.step
        decisions = judged.decisions
        rule = self.rules.get(judged.rule, {})
        name = " ".join(rule.get("short", judged.rule).split())
        forward = all(decision.test == "token" for decision in decisions)
        passed = [decision for decision in decisions if decision.accepted]
        last = passed[-1].node if passed else 0
        ended = self.tree and bool(last) and all(node.parent != last for node in step.nodes)
        kind = "forward" if forward else "backward"
        stops = [d for d in decisions if d.accepted is not forward][:1]
        if self.tree:
            kind = "root" if forward else "leaves"
            if rule.get("asked", judged.rule) != judged.rule:
                kind = "drafts"
            stops = decisions[-1:]
            if kind != "root" or ended:
                stops = passed[-1:] or stops
        elif not forward:
            stops = stops or decisions[:1]
        law = step.kept_law.get(judged.rule, [])
        mean = step.expected_kept.get(judged.rule)
        knob = self.knob(judged.rule)
        modes = rule.get("modes", {})  # other recipes, by settings
        recipe = (
            modes.get(self.options.fuzzy.mode)
            or modes.get(self.options.typical.after_kept)
            or rule.get("recipe")
        )
        tests = [self.test(judged, decision) for decision in decisions]
        kept = step.nodes[: judged.kept]
        # those which min(1, p/q) would not have let pass
        spared = [
            str(node.id) for node in kept if node.q and node.coin >= min(1.0, node.p / node.q)
        ]
        drafts = [str(i) for i, path in enumerate(step.paths, 1) if last in path.nodes]
        return {
            **knob,
            "name": name,
            "Name": name[:1].upper() + name[1:],
            "link": name,
            "lossless": rule.get("lossless", True),
            "forward": forward,
            "kind": kind,
            "coupled": (recipe or {}).get("coupled", False),
            "resamples": rule.get("resamples", False),
            "kept": judged.kept,
            "after": judged.kept + 1,
            "all": not self.tree and judged.kept == step.drafted,
            "ended": ended,
            "unseen": step.drafted - judged.kept - 1,
            "made": len(decisions),
            "tests": tests,
            "first": tests[0] if tests else None,
            "end": self.test(judged, stops[0]) if stops else None,
            "back": len(decisions) - 1,
            "tries": len(decisions) - (decisions.index(passed[-1]) + 1 if passed else 0),
            "tried": len({decision.draft for decision in decisions}),
            "failures": len(decisions) - len(passed),
            "drafts through": len(drafts),
            "through every": len(drafts) == len(step.paths),
            "their numbers": listed(drafts),
            "spared": "" if knob["exact"] or self.tree else listed(spared),
            "overrules": len(spared),
            "mean": None if mean is None else number(mean),
            "odds": None if judged.kept >= len(law) else number(law[judged.kept]),
            "certain": judged.kept < len(law) and law[judged.kept] >= CERTAIN,
            **self.best(judged),
            **self.followed(judged),
            "follows": (recipe or {}).get("follow", ""),
        }

    def test(self, judged: Verdict, decision: Decision) -> dict[str, Any]:
        grounds = decision.grounds
        several = any(one.draft for one in judged.decisions)
        form = self.forms.get(
            grounds.form, {"words": "", "coin": True, "along": {}, "when": None, "threshold": 0}
        )
        numbers = grounds.model_dump(exclude={"form"})
        sides = decision.coin, decision.threshold
        if not form["coin"]:  # two numbers are compared, the lower first where the test passes
            sign, *compared = form["when"]
            left, right = (float(evaluate(side, self.flat | numbers)) for side in compared)
            sides = (right, left) if sign in (">", "<=") else (left, right)
        digits = apart(*sides, 3)
        texts, holds = shortest(
            numbers, lambda rounded: self.holds(form, rounded, decision.threshold, digits)
        )
        words = filled(form["words"], texts)
        if not holds:
            words = words.replace(" = ", " ≈ ", 1)
        order = judged.decisions.index(decision) + 1
        changes = [self.change(judged, i) for i, c in enumerate(judged.changes) if c.after == order]
        empty = grounds.form in ("share", "naive") and grounds.mass == 0
        return {
            **decision.model_dump(include={"test", "accepted"}),
            "coinless": not form["coin"],
            "whose": form.get("whose", "target"),
            "always": decision.threshold >= SURE,
            "never": decision.threshold <= 0,
            "place": len(self.step.path(decision.node)),
            "piece": self.nodes[decision.node],
            "draft": decision.draft + 1,
            "several": several,
            **dict(zip(("low", "high"), pair(*sides), strict=True)),
            **dict(zip(("coin", "threshold"), pair(*sides, 3), strict=True)),
            "form": grounds.form,
            "p": number(grounds.p),
            "q": number(grounds.q),
            "nothing": empty and decision.threshold == 1,
            "form words": words or None,
            "changes": changes,
        }

    def change(self, judged: Verdict, i: int) -> dict[str, Any]:
        """Return the values of the sentence about a change that a rejection made to p.

        It is judged.changes[i].
        """
        change = judged.changes[i]
        decisions = judged.decisions
        cause = decisions[change.after - 1]
        since = [other.after for other in judged.changes[:i] if other.node == change.node]
        again = any(
            all(d.node != change.node for d in decisions[after : change.after]) for after in since
        )
        several = any(decision.draft for decision in decisions)
        return {
            "cause": None if several else self.nodes[cause.node],
            "draft": cause.draft + 1,
            "after piece": self.nodes.get(change.node),
            "strikes": self.forms.get(cause.grounds.form, {}).get("certain", False),
            "weight": number(change.weight, 4, 4),
            "mass": number(change.mass, 4, 4),
            "p": "p′" if again else "p",
            "q": "q′" if again and self.options.draft.tree.startswith("distinct") else "q",
        }

    def holds(
        self,
        form: dict[str, Any],
        numbers: dict[str, Any],
        threshold: float,
        digits: tuple[int, int],
    ) -> bool:
        """Return whether a test's numbers as printed give the threshold as it is printed.

        They must meet the test's condition as well.
        """
        if any(numbers.get(name) is None for name in form["along"]):
            return True
        met = not form["when"] or bool(evaluate(form["when"], self.flat | numbers))
        derived = evaluate(form["threshold"], numbers)
        return met and number(derived, *digits) == number(threshold, *digits)

    def knob(self, name: str) -> dict[str, Any]:
        """Return facts about a rule's setting.

        These are its sign and value, whether it is exact, and what the rule gives up.
        """
        rule = self.rules.get(name, {})
        knob = rule.get("knob") or {"option": "", "sign": "", "exact": None}
        value: float = self.flat.get(knob["option"], 0.0)
        kept = self.step.kept
        apart = self.step.divergences
        verdict = self.step.verdict
        passed = (
            [test.node for test in verdict.decisions if test.accepted] if verdict and apart else []
        )
        spent = sum(
            D for node in self.step.path(max(passed, default=0)) if value >= (D := apart[node - 1])
        )
        texts, _ = shortest(
            {"value": value},
            lambda rounded: number(rounded["value"] * kept) == number(value * kept),
        )
        put = {
            "drift": number(spent),
            "bound": number(value * kept),
            "divergence": self.options.fuzzy.divergence,
        }
        exact = rule.get("lossless", True) or (knob["exact"] is not None and value <= knob["exact"])
        return {
            "sign": knob["sign"],
            **texts,
            "exact": exact,
            "loses": filled(rule.get("loses", ""), {**texts, **put}),
        }

    def best(self, judged: Verdict) -> dict[str, Any]:
        """Return facts about p/q of the whole draft: its value and its peak before.

        There are none, {}, if no test begins with it.
        """
        decision = next(iter(judged.decisions), None)
        if self.tree or not decision or decision.grounds.form not in ("capped", "ratio"):
            return {}
        path = [self.nodes[node] for node in self.step.path(decision.node)]
        *before, r = accumulate(
            (n.p / n.q if n.q else math.inf for n in path), operator.mul, initial=1.0
        )
        peak = before.index(max(before)) if decision.grounds.form == "capped" else 0
        h = decision.threshold
        digits = apart(decision.coin, decision.threshold)
        parts = {"times": r, "best": before[peak]}
        share = number(h, *digits)
        texts, _ = shortest(
            parts, lambda n: number(min(1.0, n["times"] / n["best"]), *digits) == share, 2
        )
        return {**texts, "capped": decision.grounds.form == "capped", "peak": peak}

    def followed(self, judged: Verdict) -> dict[str, Any]:
        """Return facts about the token after the kept ones.

        These are what it was drawn from, and its chance there.
        """
        drawn = judged.next
        left = judged.residual
        outcomes = left.top if left and drawn else []
        chance = next((o.probability for o in outcomes if drawn and o.token == drawn.token), None)
        children = [n for n in self.step.nodes if left and n.parent == left.node]
        tried = {node.token for node in children}
        weight = left.weight if left else None
        return {
            "next": drawn,
            "bonus": left is not None and left.origin == "bonus",
            "weight": None if weight is None else number(weight, 2),
            "chance": None if chance is None else number(chance),
            "replaced": children[0] if children and not self.tree else None,
            "repeated": drawn is not None and not self.tree and drawn.token in tried,
        }

    # ---- two verdicts

    def between(
        self, one: Verdict, two: Verdict, own: dict[str, Any], other: dict[str, Any]
    ) -> dict[str, Any]:
        """Return facts about how two verdicts differ, and what of that is luck.

        This also adds "mean" to `own` and `other`.
        """
        means = [self.step.expected_kept.get(verdict.rule) for verdict in (one, two)]
        known = [mean for mean in means if mean is not None]
        level = same(*known) if len(known) == 2 else None
        if len(known) == 2:
            own["mean"], other["mean"] = (level, level) if level else pair(known[0], known[1], 3)
        gap = (means[0] or 0.0) - (means[1] or 0.0)
        more = one.kept - two.kept
        ends = [next((d.node for d in reversed(v.decisions) if d.accepted), 0) for v in (one, two)]
        parted = one.next is not None and two.next is not None and one.next.token != two.next.token
        laws = [self.rules.get(verdict.rule, {}).get("law", verdict.rule) for verdict in (one, two)]
        difference = "next" if parted else ""
        if more:
            difference = "kept"
        elif ends[0] != ends[1]:
            difference = "path"
        return {
            "same": one.rule == two.rule,
            "alike": one.rule != two.rule and laws[0] == laws[1],
            "difference": difference,
            "level": bool(level),
            "against": gap * more < 0,
            "fewer": more < 0,
            "by": abs(more),
        }
