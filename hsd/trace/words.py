"""What happened in a step, in plain sentences: a pure function of its record, for every system, rule and layout.

No sentence credits a rule for what a coin did: what holds over all coins is told apart from what was kept this time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from hsd.errors import HsdError
from hsd.trace.run import Trace
from hsd.trace.verdict import Committed, Decision, Grounds, Node, Verdict

SHOWN = 12  # tests, and drafted tokens or drafts, that are told one by one
CUT = 40  # characters of a token, and of a draft's text
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
        notes = [f"Note: {note}" for note in self.setup.notes]
        return [line for line in [*told, self._law(step.verdict, step.shadow), *notes] if line]

    # ---- the draft

    def _drafted(self) -> str:
        step, options = self.step, self.setup.options
        who = "The draft model" if options.draft.proposer == "model" else f"The proposer {options.draft.proposer}"
        if step.events:
            who = "The levels below the target"
        if not self.tree:
            tokens = [f"{_quoted(n.piece)} (q {_number(n.q)}, p {_number(n.p)})" for n in step.nodes[:SHOWN]]
            what = f"{_many(step.drafted, 'token')}: {', '.join(tokens)}{_more(len(step.nodes) - SHOWN)}"
            return f"{who} proposed {what}. q is what the draft gave a token, p what the target gives it."
        drafts = [_text([self._node(n) for n in path.nodes]) for path in step.paths[:SHOWN]]
        listed = "; ".join(f"draft {i}: {words}" for i, words in enumerate(drafts, start=1))
        what = f"{_many(step.drafted, 'token')} on {_many(len(step.paths), 'draft')}, which share their beginnings"
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
        forms = {decision.grounds.form for decision in made}
        legend = [f"{words}." for words, used in _LETTERS if forms & used]
        return [opening, *told, " ".join(legend)]

    def _test(self, verdict: Verdict, decision: Decision) -> str:
        coin, threshold = _pair(decision.coin, decision.threshold)
        why = _FORMS.get(decision.grounds.form, _any)(decision.grounds)
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
        had = "" if chance is None else f", where it had probability {_number(chance)}"
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
            told += f"{_number(mine)}."
        else:
            a, b = _pair(mine, theirs)
            told += f"{a}, {self._name(shadow)} {b}."
            luck = self._luck(own, shadow, mine - theirs)
        return " ".join(filter(None, [told, luck, self._chance(own)]))

    def _luck(self, own: Verdict, shadow: Verdict, gap: float) -> str:
        """What the difference between two rules is due to. gap: how much more the run's own keeps over all coins."""
        more = own.kept - shadow.kept
        if abs(gap) < SAME:
            return "Neither is ahead by law" + (", so that they part in this step is luck." if more else ".")
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
        name = self.named(verdict.rule)
        return name[:1].upper() + name[1:] if start else name


# ---- where a threshold comes from, after its number


def _rates(g: Grounds) -> str:
    return f"p = {_number(g.p)}, q = {_number(g.q)}"


def _far(g: Grounds) -> str:
    return "" if g.divergence is None else f": divergence {_number(g.divergence)}"


def _sure(g: Grounds) -> str:
    entropy = "" if g.entropy is None else f", entropy of its row {_number(g.entropy)}"
    return f": p = {_number(g.p)}{entropy}"


def _any(g: Grounds) -> str:
    """Of a form that has no words here: its name, and the numbers that every form has."""
    return f", by the test {g.form!r} with {_rates(g)}"


_FORMS: dict[str, Callable[[Grounds], str]] = {
    "token": lambda g: f" = min(1, p/q) with {_rates(g)}",
    "capped": lambda g: f" = min(1, c·p/q) with {_rates(g)}, c = {_number(g.before)} before it",
    "ratio": lambda g: f" = min(1, r·p/q) with {_rates(g)}, r = {_number(g.before)} before it",
    "share": lambda g: f" = S/(S + 1 − c) with S = {_number(g.mass)}, c = {_number(g.before)}",
    "naive": lambda g: f" = S/max(S, S + 1 − r) with S = {_number(g.mass)}, r = {_number(g.before)}",
    "chosen": lambda g: " = p, as the draft's choice counts as certain",
    "near": lambda g: f", as the rows of target and draft are near{_far(g)}",
    "far": lambda g: f", as the rows of target and draft are too far apart{_far(g)}",
    "beyond": lambda g: f" = min(1, p/q) with {_rates(g)}, as the rows are too far apart to pass{_far(g)}",
    "mixed": lambda g: f" = w + (1 − w)·min(1, p/q) with {_rates(g)}, the draft's share w = {_number(g.weight)}",
    "likely": lambda g: f", as the target finds the token likely enough{_sure(g)}",
    "unlikely": lambda g: f", as the target does not find the token likely enough{_sure(g)}",
}
_LETTERS = (  # what a letter stands for, and the forms that have it
    ("c is p/q of the whole path, never above 1 on the way", {"capped", "share"}),
    ("r is p/q of the whole path", {"ratio", "naive"}),
    ("S is how much the draft gives too little, in all, to what may follow", {"share", "naive"}),
)


# ---- words


def _text(tokens: Sequence[Node | Committed]) -> str:
    return _quoted("".join(token.piece for token in tokens))


def _quoted(piece: str) -> str:
    """Text on one line, its ends visible."""
    shown = piece.replace("\n", "⏎").replace("\r", "⏎").replace("\t", "⇥")
    return f"“{shown[:CUT]}…”" if len(shown) > CUT else f"“{shown}”"


def _many(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def _more(count: int) -> str:
    return f" and {count} more" if count > 0 else ""


def _number(value: float) -> str:
    return f"{value:.3g}".replace("inf", "infinity")


def _pair(a: float, b: float) -> tuple[str, str]:
    """Two numbers with as many digits as it takes to tell them apart."""
    for digits in range(3, 17):
        told = f"{a:.{digits}g}", f"{b:.{digits}g}"
        if told[0] != told[1] or a == b:
            break
    return told
