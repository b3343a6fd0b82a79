"""What happened in a step, in plain sentences: a pure function of its record, for every system, rule and layout.

No sentence credits a rule for what a coin did: what holds over all coins is told apart from what was kept this time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from hsd.errors import HsdError
from hsd.trace.run import Trace
from hsd.trace.verdict import Committed, Decision, Node, Verdict
from hsd.trace.why import because, letters, number

SHOWN = 12  # tests, and drafted tokens or drafts, that are told one by one
CUT = 80  # characters of a token, and of a draft's text
SAME = 0.005  # kept tokens; a smaller difference is not seen in two digits
CERTAIN = 1 - 1e-9

Named = Callable[[str], str]


def step_in_words(trace: Trace, index: int, named: Named = str) -> str:
    """Some lines about step `index`, counted from 0. named: how a rule is called in a sentence.

    What was drafted; each test with its coin and threshold, and where the threshold comes from; what was kept and what
    was drawn after it; what the rule to compare with would have kept; and what is luck in that, and what law.
    Raises HsdError where the trace has no such step.
    """
    if not 0 <= index < len(trace.steps):
        there = f"its steps are 0 to {len(trace.steps) - 1}" if trace.steps else "it has none"
        raise HsdError(f"this trace has no step {index}: {there}")
    return "\n".join(
        [f"Step {index} (the steps are 0 to {len(trace.steps) - 1}).", *_Telling(trace, index, named).lines()]
    )


class _Telling:
    """One step, told line by line."""

    def __init__(self, trace: Trace, index: int, named: Named) -> None:
        self.step, self.named, self.setup = trace.steps[index], named, trace.setup
        self.places = {0: 0}  # node → how deep it lies
        for node in self.step.nodes:
            self.places[node.id] = self.places[node.parent] + 1
        self.tree = len(self.step.paths) > 1

    def lines(self) -> list[str]:
        step = self.step
        if not step.drafted:
            return [f"Nothing was drafted: the target wrote {_text(step.committed)} by itself."]
        if not step.nodes or step.verdict is None:
            kept = f"{_many(step.drafted, 'token')} were drafted and {step.kept} kept. The text went on with "
            return [f"{kept}{_text(step.committed)}.", "How that came about was not recorded."]
        told = [self._drafted(), *self._tests(step.verdict), self._kept(step.verdict), self._after(step.verdict)]
        if step.shadow and step.shadow.rule != step.verdict.rule:
            told.append(self._other(step.shadow))
        notes = [f"Note: {_one_line(note)}" for note in self.setup.notes]
        return [line for line in [*told, self._law(step.verdict, step.shadow), *notes] if line]

    # ---- the draft

    def _drafted(self) -> str:
        step, options = self.step, self.setup.options
        who = "The draft model" if options.draft.proposer == "model" else f"The proposer {options.draft.proposer}"
        if step.events:
            who = "The levels below the target"
        if not self.tree:
            tokens = [f"{_quoted(n.piece)} (q {number(n.q)}, p {number(n.p)})" for n in step.nodes[:SHOWN]]
            what = f"{_many(step.drafted, 'token')}: {', '.join(tokens)}{_more(len(step.nodes) - SHOWN)}"
            return f"{who} proposed {what}. q is what the draft gave a token, p what the target gives it."
        drafts = [_text([self._node(n) for n in path.nodes]) for path in step.paths[:SHOWN]]
        listed = "; ".join(f"draft {i}: {words}" for i, words in enumerate(drafts, start=1))
        what = f"{_many(step.drafted, 'token')} on {_many(len(step.paths), 'draft')} that form a tree"
        most = f"Only one path can be kept, of at most {_many(step.depth, 'token')}."
        return f"{who} proposed {what}: {listed}{_more(len(step.paths) - SHOWN)}. {most}"

    def _node(self, node: int) -> Node:
        return self.step.nodes[node - 1]

    # ---- the tests

    def _tests(self, verdict: Verdict) -> list[str]:
        made = verdict.decisions
        if not made:
            return [f"{self._name(verdict, start=True)} made no test."]
        told = [f"- {self._test(verdict, d)}." for d in made]
        if len(made) > SHOWN:
            left = made[SHOWN - 3 : -3]
            told[SHOWN - 3 : -3] = [f"- {_many(len(left), 'further test')}, {sum(d.accepted for d in left)} passed."]
        way = "one by one"
        if not self.tree:
            token = made[0].test == "token"
            way = "token by token up to the first that fails" if token else "from the whole draft back to what passes"
        opening = f"{self._name(verdict, start=True)} tests {way}. A test passes if its coin is below its threshold:"
        legend = letters({decision.grounds.form for decision in made})
        if verdict.changes:
            legend.append("After a rejection p is of what that left.")
        return [opening, *told, " ".join(legend)]

    def _test(self, verdict: Verdict, decision: Decision) -> str:
        coin, threshold = _pair(decision.coin, decision.threshold)
        why = because(decision.grounds)
        outcome = "passed" if decision.accepted else "failed"
        return f"{self._tested(verdict, decision)} {outcome}: coin {coin}, threshold {threshold}{why}"

    def _tested(self, verdict: Verdict, decision: Decision) -> str:
        place, piece = self.places[decision.node], _quoted(self._node(decision.node).piece)
        several = len({d.draft for d in verdict.decisions}) > 1
        of = f" of draft {decision.draft + 1}" if several else ""
        if decision.test == "token":
            return f"token {place}{of}, {piece},"
        whole = f"the whole draft of {place} tokens" if place > 1 else "the only token"
        part = f"the first {_many(place, 'token') if place > 1 else 'token'}"
        return f"{whole if decision.test == 'draft' else part}{of}, up to {piece},"

    # ---- what came of it

    def _kept(self, verdict: Verdict) -> str:
        tokens = self.step.committed[: self.step.kept]
        most = f"at most {self.step.depth}" if self.tree else str(self.step.drafted)
        return f"Kept: {self.step.kept} of {most}" + (f", {_text(tokens)}." if tokens else ".")

    def _after(self, verdict: Verdict) -> str:
        drawn, left = verdict.next, verdict.residual
        if drawn is None or left is None:
            return "The kept tokens end the text, so nothing was drawn after them."
        chance = next((o.probability for o in left.top if o.token == drawn.token), None)
        had = "" if chance is None else f", where it had probability {number(chance)}"
        more = len(verdict.extra_draws)
        extra = f" {_many(more, 'further token')} followed, each from one more target call." if more else ""
        if left.origin == "bonus":
            return f"Then {_quoted(drawn.piece)} was drawn from the target itself{had}.{extra}"
        tried = {n.piece: None for n in self.step.nodes if n.parent == left.node and n.token != drawn.token}
        instead = f" instead of {', '.join(map(_quoted, list(tried)[:SHOWN]))}" if tried else ""
        source = "what the rejections left of the target there" if self.tree else "what the draft gave too little of"
        if left.weight is not None and math.isinf(left.weight):
            source = "all of the target"
        return f"Then {_quoted(drawn.piece)} was drawn{instead}, from {source}{had}.{extra}"

    def _other(self, shadow: Verdict) -> str:
        same = "as many" if shadow.kept == self.step.kept else str(shadow.kept)
        told = f"On the same draft and coins {self._name(shadow)} would have kept {same}"
        if not shadow.decisions:
            return f"{told}, without a test."
        return f"{told}. Its last test: {self._test(shadow, shadow.decisions[-1])}."

    # ---- luck or law

    def _law(self, own: Verdict, shadow: Verdict | None) -> str:
        mine, name = self.step.expected_kept.get(own.rule), self._name(own)
        if mine is None:
            return "What is kept of this draft over all coins was not worked out: one step does not tell luck from law."
        told, luck = f"Tokens kept of this draft on average over all coins: {name} ", ""
        theirs = self.step.expected_kept.get(shadow.rule) if shadow and shadow.rule != own.rule else None
        if shadow is None or theirs is None:
            told += f"{number(mine)}."
        else:
            a, b = _pair(mine, theirs)
            told += f"{a}, {self._name(shadow)} {b}."
            luck = self._luck(own, shadow, mine - theirs)
        return " ".join(filter(None, [told, luck, self._chance(own)]))

    def _luck(self, own: Verdict, shadow: Verdict, gap: float) -> str:
        """What the difference between two rules is due to. gap: how much more the run's own keeps over all coins."""
        more = own.kept - shadow.kept
        if abs(gap) < SAME:
            level = f"By law the two are level, less than {SAME} apart"
            return f"{level}: that they part here is luck." if more else f"{level}."
        ahead = f"By law {self._name(own if gap > 0 else shadow)} keeps {abs(gap):.2g} more of this draft"
        if not more:
            return f"{ahead}; both kept {own.kept} this time, as the coins fell."
        if (gap > 0) != (more > 0):
            return f"{ahead}; that it kept {abs(more)} fewer this time is luck."
        if not self.step.kept_law.keys() >= {own.rule, shadow.rule}:
            return f"{ahead}."
        sure = all(self._certain(verdict) for verdict in (own, shadow))
        return f"{ahead}, whatever the coins." if sure else f"{ahead}; this time the coins made it {abs(more)}."

    def _certain(self, verdict: Verdict) -> bool:
        law = self.step.kept_law.get(verdict.rule, [])
        return verdict.kept < len(law) and law[verdict.kept] >= CERTAIN

    def _chance(self, own: Verdict) -> str:
        """How likely it was to keep just as many of this draft."""
        law = self.step.kept_law.get(own.rule, [])
        if own.kept >= len(law):
            return ""
        if self._certain(own):
            return f"That {self._name(own)} keeps {own.kept} of this draft no coin could change."
        return f"That it would be {own.kept} for {self._name(own)} had probability {_pair(law[own.kept], 1.0)[0]}."

    def _name(self, verdict: Verdict, start: bool = False) -> str:
        name = _one_line(self.named(verdict.rule))
        return name[:1].upper() + name[1:] if start else name


# ---- words


def _text(tokens: Sequence[Node | Committed]) -> str:
    return _quoted("".join(token.piece for token in tokens))


def _quoted(piece: str) -> str:
    """Text on one line, its ends visible."""
    shown = piece.replace("\n", "⏎").replace("\r", "⏎").replace("\t", "⇥")
    return f"“{shown[:CUT]}…”" if len(shown) > CUT else f"“{shown}”"


def _one_line(words: str) -> str:
    return " ".join(words.split())


def _many(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def _more(count: int) -> str:
    return f" and {count} more" if count > 0 else ""


def _pair(a: float, b: float) -> tuple[str, str]:
    """Two numbers with as many digits as it takes to tell them apart."""
    for digits in range(3, 17):
        told = f"{a:.{digits}g}", f"{b:.{digits}g}"
        if told[0] != told[1] or a == b:
            break
    return told
