"""Explains a step in words: makes the facts of its sentences, for every system, rule and layout.

`facts.py` declares the facts, and `sentences.yaml` has the words. `web/step/explain.js` is the same
for the page. No sentence credits a rule for what a coin did: what holds over all coins is kept
apart from what happened this time.
"""

import math
import operator
from collections.abc import Mapping
from dataclasses import replace
from itertools import accumulate
from typing import Any

from hsd.errors import HsdError
from hsd.expression import evaluate
from hsd.trace.facts import (
    ChangeFacts,
    DraftedFacts,
    DraftFacts,
    EventFacts,
    LevelFacts,
    NoteFacts,
    PieceFacts,
    StepFacts,
    TestFacts,
    VerdictFacts,
)
from hsd.trace.format import apart, listed, number, pair, quoted, same, shortest, together
from hsd.trace.run import Trace
from hsd.trace.sentences import filled, say
from hsd.trace.step import Event
from hsd.trace.verdict import ChangeRecord, Decision, Verdict

Known = Mapping[str, Any]

CERTAIN = 1 - 1e-9  # chances that are 1 but for rounding
SURE = 1 - 1e-12  # thresholds that are
UNKNOWN_FORM = {
    "words": "",
    "coin": True,
    "along": {},
    "when": None,
    "threshold": 0,
}


def step_in_words(trace: Trace, index: int, known: Known | None = None) -> str:
    """Return lines about `trace.steps[index]`, numbered from 1 there.

    known: `hsd.facts.facts()`, for names of rules. The lines say what was drafted; each test with
    its coin and threshold, and where the threshold comes from; what was kept and what was drawn
    after it; what the rule to compare with would have kept; what is luck in that, and what law; and
    what happened at each level below the target. Raises HsdError where the trace has no such step.
    """
    if not 0 <= index < len(trace.steps):
        there = f"its steps are 1 to {len(trace.steps)}" if trace.steps else "it has none"
        raise HsdError(f"this trace has no step {index + 1}: {there}")
    facts = step_facts(trace, index, known or {})
    lines = say("explained", facts).split("\n")
    return "\n".join(filter(None, lines))


def step_facts(trace: Trace, index: int, known: Known) -> StepFacts:
    """Return the facts about `trace.steps[index]`; known: as `step_in_words` takes it."""
    return _StepReader(trace, index, known).facts()


class _StepReader:
    """Reads the step `trace.steps[index]` for the facts about it."""

    def __init__(self, trace: Trace, index: int, known: Known) -> None:
        self.trace = trace
        self.step = trace.steps[index]
        self.options = trace.setup.options
        self.is_cold = self.options.sampling.temperature == 0
        # what a rule is at temperature 0, if it is another one there
        cold = "cold" if self.is_cold else ""
        self.rules = {
            rule["name"]: rule | (rule.get(cold) or {}) for rule in known.get("rules", [])
        }
        if own := self.options.own:
            self.rules[self.options.rule] = {
                "opaque": True,
                "lossless": own.lossless is True,
                "unjudged": own.lossless is None,
                "words": own.words,
            }
        self.forms = known.get("forms", {})
        self.usual_law = self.law_of(known.get("usual", ""))
        self.vanilla = known.get("vanilla", "")
        self.flat = self.options.flat()
        self.nodes = {node.id: node for node in self.step.nodes}
        self.is_tree = len(self.step.paths) > 1 or self.options.draft.drafts > 1

    def facts(self) -> StepFacts:
        step = self.step
        rule = self.options.rule
        if self.options.draft.drafts > 1:
            rule = self.rules.get(rule, {}).get("recursive") or rule
        # a run that was recorded without details has no verdict
        verdict = step.verdict or Verdict(rule=rule, kept=step.kept)
        drafts = [[self.nodes[node] for node in path.nodes] for path in step.paths]
        texts = [quoted(together(nodes)) for nodes in drafts]
        notes = map(_on_one_line, self.trace.setup.notes)
        facts = StepFacts(
            step=step.index + 1,
            steps=len(self.trace.steps),
            drafted=step.drafted,
            depth=step.depth,
            kept=step.kept,
            target_calls=step.target_calls,
            extra=len(step.committed) - step.kept - 1,
            details=bool(step.nodes),
            tree=self.is_tree,
            leaves=len({nodes[-1].id for nodes in drafts if nodes}),
            listed=len(step.paths),
            copies=self.options.draft.proposer not in ("model", "none"),
            levels=bool(step.events),
            cold=self.is_cold,
            head=bool(self.trace.setup.models[0].taps),
            candidates=len(step.growth),
            own=self.verdict(verdict),
            other=self.verdict(step.shadow) if step.shadow else None,
            drafted_tokens=[
                DraftedFacts(piece=node, q=number(node.q), p=number(node.p)) for node in step.nodes
            ],
            listed_drafts=[DraftFacts(i, text) for i, text in enumerate(texts, 1)],
            events=self.events(),
            remarks=[NoteFacts(note) for note in notes],
        )
        return self.compared(facts, verdict, step.shadow) if step.shadow else facts

    def events(self) -> list[EventFacts]:
        """Return the facts about each event below the target, in their order."""
        count = max(len(self.trace.setup.models), 2)
        exits = bool(self.options.levels.exits)
        names = [
            say("level_name", LevelFacts(count, exits, level, top=level == count - 1))
            for level in range(count)
        ]
        levels = [event.level for event in self.step.events]
        following = [*levels[1:], count]
        return [
            self.event(event, names, up=after > event.level)
            for event, after in zip(self.step.events, following, strict=False)
        ]

    def event(self, event: Event, names: list[str], up: bool) -> EventFacts:
        """Return the facts about an event; names: of all levels, up: the level above is next."""
        settled = event.held + len(event.committed)
        added = event.committed[event.kept :]
        dropped = event.tested[event.kept :]
        return EventFacts(
            kind=event.kind,
            asked=event.asked,
            kept=event.kept,
            who_at_start=names[event.level].capitalize(),
            above_at_start=names[event.level + 1].capitalize(),
            below=names[event.level - 1],
            level_tokens=[PieceFacts(token) for token in event.committed],
            made=len(event.committed),
            drafted=len(event.tested),
            all=event.kept == len(event.tested),
            added=added[0] if added else None,
            replaced=dropped[0] if dropped else None,
            settled=settled,
            missing=event.asked - settled,
            up=up,
        )

    # ---- one verdict

    def verdict(self, judged: Verdict) -> VerdictFacts:
        step = self.step
        decisions = judged.decisions
        rule = self.rules.get(judged.rule, {})
        name = _on_one_line(rule.get("short", judged.rule))
        forward = all(decision.test == "token" for decision in decisions)
        passed = [decision for decision in decisions if decision.accepted]
        last = _last_kept(judged)
        parents = {node.parent for node in step.nodes}
        ended = self.is_tree and last > 0 and last not in parents
        kind: Any = "forward" if forward else "backward"
        stops = [decision for decision in decisions if decision.accepted is not forward][:1]
        if self.is_tree:
            kind = "root" if forward else "leaves"
            if rule.get("asked", judged.rule) != judged.rule:
                kind = "drafts"
            stops = decisions[-1:]
            if kind != "root" or ended:
                stops = passed[-1:] or stops
        elif not forward:
            stops = stops or decisions[:1]
        law = step.kept_law.get(judged.rule, [])
        chance = law[judged.kept] if judged.kept < len(law) else None
        mean = step.expected_kept.get(judged.rule)
        modes = rule.get("modes", {})  # other recipes, by settings
        recipe = (
            modes.get(self.options.fuzzy.mode)
            or modes.get(self.options.typical.after_kept)
            or rule.get("recipe")
            or {}
        )
        tests = [self.test(judged, decision) for decision in decisions]
        drafts = [str(i) for i, path in enumerate(step.paths, 1) if last in path.nodes]
        until = decisions.index(passed[-1]) + 1 if passed else 0
        setting = self.setting(judged.rule)
        spared = self.spared(judged)
        return VerdictFacts(
            **setting,
            **self.best(judged),
            **self.followed(judged),
            name=name,
            name_at_start=name[:1].upper() + name[1:],
            link=name,
            lossless=rule.get("lossless", True),
            opaque=rule.get("opaque", False),
            unjudged=rule.get("unjudged", False),
            forward=forward,
            kind=kind,
            coupled=recipe.get("coupled", False),
            resamples=rule.get("resamples", False),
            follows=recipe.get("follow", ""),
            kept=judged.kept,
            after=judged.kept + 1,
            all=not self.is_tree and judged.kept == step.drafted,
            ended=ended,
            unseen=step.drafted - judged.kept - 1,
            made=len(decisions),
            tests=tests,
            first=tests[0] if tests else None,
            end=self.test(judged, stops[0]) if stops else None,
            back=len(decisions) - 1,
            tries=len(decisions) - until,
            tried=len({decision.draft for decision in decisions}),
            failures=len(decisions) - len(passed),
            listed=len(step.paths),
            drafts_through=len(drafts),
            through_every=len(drafts) == len(step.paths),
            their_numbers=listed(drafts),
            spared="" if setting["exact"] or self.is_tree else listed(spared),
            overrules=len(spared),
            mean=_text(mean),
            odds=_text(chance),
            certain=chance is not None and chance >= CERTAIN,
        )

    def spared(self, judged: Verdict) -> list[str]:
        """Return the kept tokens of a draft that min(1, p/q) would not have let pass."""
        opaque = self.rules.get(judged.rule, {}).get("opaque")
        kept = [node for node in self.step.nodes[: judged.kept] if node.q and not opaque]
        return [str(node.id) for node in kept if node.coin >= min(1.0, node.p / node.q)]

    def test(self, judged: Verdict, decision: Decision) -> TestFacts:
        grounds = decision.grounds
        form = self.forms.get(grounds.form, UNKNOWN_FORM)
        numbers = grounds.model_dump(exclude={"form"})
        sides = (decision.coin, decision.threshold)
        if not form["coin"]:  # two numbers are compared, the lower first where the test passes
            sign, *compared = form["when"]
            known = self.flat | numbers
            left, right = (float(evaluate(side, known)) for side in compared)
            sides = (right, left) if sign in (">", "<=") else (left, right)
        digits = apart(*sides, 3)
        texts, holds = shortest(
            numbers, lambda rounded: self.holds(form, rounded, decision.threshold, digits)
        )
        words = filled(form["words"], texts)
        if not holds:
            words = words.replace(" = ", " ≈ ", 1)
        low, high = pair(*sides)
        coin, threshold = pair(*sides, 3)
        order = judged.decisions.index(decision) + 1
        empty = grounds.form in ("share", "naive") and grounds.mass == 0
        return TestFacts(
            test=decision.test,
            accepted=decision.accepted,
            coinless=not form["coin"],
            whose=form.get("whose", "target"),
            always=decision.threshold >= SURE,
            never=decision.threshold <= 0,
            place=len(self.step.path(decision.node)),
            piece=self.nodes[decision.node],
            draft=decision.draft + 1,
            several=_is_of_several(judged),
            low=low,
            high=high,
            coin=coin,
            threshold=threshold,
            form=grounds.form,
            p=number(grounds.p),
            q=number(grounds.q),
            nothing=empty and decision.threshold == 1,
            form_words=words or None,
            changes=[
                self.change(judged, change) for change in judged.changes if change.after == order
            ],
        )

    def change(self, judged: Verdict, change: ChangeRecord) -> ChangeFacts:
        """Return the facts about what a rejection made of p at one place."""
        decisions = judged.decisions
        cause = decisions[change.after - 1]
        form = self.forms.get(cause.grounds.form, {})
        before = judged.changes[: judged.changes.index(change)]
        since = [earlier.after for earlier in before if earlier.node == change.node]
        tested = [{test.node for test in decisions[after : change.after]} for after in since]
        again = any(change.node not in nodes for nodes in tested)
        distinct = self.options.draft.tree.startswith("distinct")
        return ChangeFacts(
            cause=None if _is_of_several(judged) else self.nodes[cause.node],
            draft=cause.draft + 1,
            after_piece=self.nodes.get(change.node),
            strikes=form.get("certain", False),
            weight=number(change.weight, 4, 4),
            mass=number(change.mass, 4, 4),
            p="p′" if again else "p",
            q="q′" if again and distinct else "q",
        )

    def holds(
        self, form: Known, numbers: dict[str, Any], threshold: float, digits: tuple[int, int]
    ) -> bool:
        """Return whether a test's numbers as printed give the threshold as it is printed.

        They must meet the test's condition as well.
        """
        if any(numbers.get(name) is None for name in form["along"]):
            return True
        if form["when"] and not evaluate(form["when"], self.flat | numbers):
            return False
        derived = evaluate(form["threshold"], numbers)
        return number(derived, *digits) == number(threshold, *digits)

    def setting(self, name: str) -> dict[str, Any]:
        """Return the facts about a rule's setting: its sign, its value, and what is lost by it."""
        rule = self.rules.get(name, {})
        knob = rule.get("knob") or {"option": "", "sign": "", "exact": None}
        value: float = self.flat.get(knob["option"], 0.0)
        kept = self.step.kept
        divergences = self.step.divergences
        verdict = self.step.verdict
        tests = verdict.decisions if verdict and divergences else []
        last = max((test.node for test in tests if test.accepted), default=0)
        tolerated = [divergences[node - 1] for node in self.step.path(last)]
        spent = sum(divergence for divergence in tolerated if divergence <= value)
        texts, _ = shortest(
            {"value": value},
            lambda rounded: number(rounded["value"] * kept) == number(value * kept),
        )
        put = {
            **texts,
            "drift": number(spent),
            "bound": number(value * kept),
            "divergence": self.options.fuzzy.divergence,
        }
        limit = knob["exact"]
        exact = rule.get("lossless", True) or (limit is not None and value <= limit)
        loses = _on_one_line(rule.get("words") or filled(rule.get("loses", ""), put))
        return {
            **texts,
            "sign": knob["sign"],
            "exact": exact,
            "loses": loses,
        }

    def best(self, judged: Verdict) -> dict[str, Any]:
        """Return the facts about p/q of the whole draft: its value and its peak before.

        There are none, {}, if no test begins with it.
        """
        decision = next(iter(judged.decisions), None)
        if self.is_tree or decision is None:
            return {}
        if decision.grounds.form not in ("capped", "ratio"):
            return {}
        path = [self.nodes[node] for node in self.step.path(decision.node)]
        ratios = (node.p / node.q if node.q else math.inf for node in path)
        *before, whole = accumulate(ratios, operator.mul, initial=1.0)
        capped = decision.grounds.form == "capped"
        peak = before.index(max(before)) if capped else 0
        digits = apart(decision.coin, decision.threshold)
        share = number(decision.threshold, *digits)
        texts, _ = shortest(
            {"times": whole, "best": before[peak]},
            lambda n: number(min(1.0, n["times"] / n["best"]), *digits) == share,
            2,
        )
        return {**texts, "capped": capped, "peak": peak}

    def followed(self, judged: Verdict) -> dict[str, Any]:
        """Return the facts about the token after the kept ones, and what it was drawn from."""
        drawn = judged.next
        left = judged.residual
        token = drawn.token if drawn else -1
        chances = {outcome.token: outcome.probability for outcome in left.top} if left else {}
        place = left.node if left and not self.is_tree else None
        children = [node for node in self.step.nodes if node.parent == place]
        weight = left.weight if left else None
        return {
            "next": drawn,
            "bonus": left is not None and left.origin == "bonus",
            "weight": None if weight is None else number(weight, 2),
            "chance": _text(chances.get(token)),
            "replaced": children[0] if children else None,
            "repeated": token in [node.token for node in children],
        }

    # ---- two verdicts

    def law_of(self, rule: str) -> str:
        """Return the name of a rule's law, which several rules may share."""
        law: str = self.rules.get(rule, {}).get("law", rule)
        return law

    def compared(self, facts: StepFacts, own: Verdict, other: Verdict) -> StepFacts:
        """Return the facts with how both verdicts differ, and what of that is luck."""
        assert facts.other
        rules = [own.rule, other.rule]
        means = [self.step.expected_kept.get(rule) for rule in rules]
        known = [mean for mean in means if mean is not None]
        texts = [facts.own.mean, facts.other.mean]
        level = same(*known) if len(known) == 2 else None
        if level:
            texts = [level, level]
        elif len(known) == 2:
            texts = [*pair(known[0], known[1], 3)]
        gap = (means[0] or 0.0) - (means[1] or 0.0)
        more = own.kept - other.kept
        laws = [self.law_of(rule) for rule in rules]
        of_one_draft = not self.is_tree and laws[0] == self.usual_law
        return replace(
            facts,
            own=replace(facts.own, mean=texts[0]),
            other=replace(facts.other, mean=texts[1]),
            same=own.rule == other.rule,
            alike=own.rule != other.rule and laws[0] == laws[1],
            difference=_difference(own, other),
            level=bool(level),
            against=gap * more < 0,
            lower=gap < 0 and of_one_draft and other.rule == self.vanilla,
            fewer=more < 0,
            by=abs(more),
        )


def _difference(own: Verdict, other: Verdict) -> Any:
    """Return in what two verdicts differ: "kept", "path" (as many, but others), "next", or ""."""
    if own.kept != other.kept:
        return "kept"
    if _last_kept(own) != _last_kept(other):
        return "path"
    tokens = {verdict.next.token for verdict in (own, other) if verdict.next}
    return "next" if len(tokens) == 2 else ""


def _last_kept(judged: Verdict) -> int:
    """Return the deepest node that a verdict keeps, 0 for none."""
    if not judged.decisions:  # of a rule of one's own, for one draft
        return judged.kept
    return next((test.node for test in reversed(judged.decisions) if test.accepted), 0)


def _is_of_several(judged: Verdict) -> bool:
    """Return whether a rule has tested tokens of other drafts than the first."""
    return any(decision.draft for decision in judged.decisions)


def _text(x: float | None) -> str | None:
    return None if x is None else number(x)


def _on_one_line(text: str) -> str:
    return " ".join(text.split())
