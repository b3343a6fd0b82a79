"""What follows from recovered laws.

These are the distance from the target, equal known rules, and the smallest counterexample.
"""

import itertools
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from hsd.audit import TableModels
from hsd.audit.chains import prefixes
from hsd.conform.adapter import Adapter, limit_candidates
from hsd.conform.boxes import Outcome
from hsd.conform.recover import RecoveredLaw, Repeats, recover, rows_along
from hsd.errors import HsdError
from hsd.rules import RULES, Fuzzy, fuzzy_rule
from hsd.rules.fuzzy import DIVERGENCES, MODES, relative_entropy
from hsd.rules.law import token_tests
from hsd.rules.relaxed import ENSEMBLE, TYPICAL

# V ** (γ+1): beyond, recovering the law of every draft takes more than half a minute
MOST_OUTCOMES = 1_500
MET = 1e-3  # the least chance of a prefix at which a rule's tolerance is read off
SHRINKS = 2  # small pairs of models that are tried for each size
# of the vocabularies tried, and in all, in the search for a small counterexample
MOST_TOKENS = 6
MOST_CALLS = 20_000
LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True)
class Judgement:
    """The result for a verifier on one pair of models.

    laws: the law of each draft; the rest follows from them. again: repeated points.
    total_variation: of the first γ+1 output tokens from the target's law. kept: the expected number
    of kept tokens.
    """

    models: TableModels
    laws: dict[Outcome, RecoveredLaw]
    again: Repeats
    total_variation: float
    kept: float

    @property
    def calls(self) -> int:
        return self.again.box.calls


def judge(
    adapter: Adapter, models: TableModels, sweep: bool = False, points: int = 0, repeats: int = 0
) -> Judgement:
    """Judge a verifier on all drafts of these models.

    sweep, points, repeats, errors: see `recover`.
    """
    models = limit_candidates(adapter, models)
    laws, again = recover(adapter, models, sweep, points, repeats)
    return Judgement(models, laws, again, *distance_and_kept(models, laws))


def distance_and_kept(
    models: TableModels, laws: dict[Outcome, RecoveredLaw]
) -> tuple[float, float]:
    """Return the distance of the output from the target's law, and the expected number kept.

    The distance is the total variation of the first γ+1 tokens. Where a text leaves all drafts
    the target continues alone, so texts are distinguished only up to there.
    """
    off = 0.0
    drafts = [(x, models.joint(models.draft, x)) for x in laws]
    # A text, the drafts that begin so, and how likely it is: with the target alone already, and by
    # the target's law
    todo: list[tuple[Outcome, list[tuple[Outcome, float]], float, float]] = [((), drafts, 0.0, 1.0)]
    while todo:
        path, begins, free, wanted = todo.pop()
        t = len(path)
        row = models.target[path]
        ends = sum(
            (w * laws[x].stop[t] * laws[x].next(t) for x, w in begins), torch.zeros_like(row)
        )
        output = (free * row + ends).tolist()
        right = (wanted * row).tolist()
        drafted = {}
        if t < models.gamma:
            drafted = {x[t]: [one for one in begins if one[0][t] == x[t]] for x, _ in begins}
        gaps = [abs(a - b) for a, b in zip(output, right, strict=True)]
        off += sum(gap for token, gap in enumerate(gaps) if token not in drafted)
        todo += [((*path, token), of, output[token], right[token]) for token, of in drafted.items()]
    return off / 2, sum(w * float(laws[x].expected_kept) for x, w in drafts)


# Which rule it is


def equal_rules(judged: list[Judgement], tolerance: float) -> list[str]:
    """Return the names of the rules that have the same law on every draft of all these models.

    The same: to `tolerance`, drafts weighted by probability. Settings, in brackets, are fitted on
    the first models, or else the defaults.
    """
    names = [name for name, rule in RULES.items() if _equal(judged, rule.law, tolerance)]
    fitted = (fit(judged[:1], tolerance) for fit in (_fuzzy, _typical, _ensemble, _clipped))
    return [name for name in names if not RULES[name].knob] or next(filter(None, fitted), names)


def _equal(judged: list[Judgement], law, tolerance: float) -> bool:  # type: ignore[no-untyped-def]
    for one in judged:
        for draft, mine in one.laws.items():
            wanted = law(*rows_along(one.models, draft))
            drafted = one.models.joint(one.models.draft, draft)
            if drafted * float((mine.stop - wanted.stop).abs().max()) > tolerance:
                return False
            for t, stop in enumerate(mine.stop.tolist()):
                if not stop:
                    continue
                apart = float((mine.next(t) - wanted.next(t)).abs().max())
                if drafted * stop * apart > tolerance:
                    return False
    return True


def _fuzzy(judged: list[Judgement], tolerance: float) -> list[str]:
    """Return the fuzzy rules that fit, as words, with tolerances.

    One tolerance is tried between each two neighbouring divergences.
    """
    fitting = []
    for name, divergence in DIVERGENCES.items():
        met = [float(d) for p, q, _ in _rows(judged) for d in divergence(p[:-1], q)]
        for mode, (low, high) in itertools.product(MODES, _between(met, float("inf"))):
            rule = fuzzy_rule(Fuzzy(name, min((low + high) / 2, low + 1), mode))
            if _equal(judged, rule.law, tolerance):
                fitting.append(f"fuzzy ({mode}, {name}, a tolerance from {low:.3g} to {high:.3g})")
    return fitting


def _typical(judged: list[Judgement], tolerance: float) -> list[str]:
    """Return typical acceptance with the ε that fit, as words.

    A token of probability p is kept, p > min(ε, √ε exp(-H)), if and only if
    ε < max(p, (p exp(H))²).
    """
    met = [
        max(float(row[x]), float(row[x] * torch.special.entr(row).sum().exp()) ** 2)
        for p, _, tokens in _rows(judged)
        for row, x in zip(p, tokens.tolist(), strict=False)
    ]
    ranges = [*_between([0.0, *met], 1.0)]
    fitting = [x for x in ranges if _equal(judged, TYPICAL.tuned(sum(x) / 2).law, tolerance)]
    if not fitting:
        return []
    return [f"typical (an epsilon from {fitting[0][0]:.3g} to {fitting[-1][1]:.3g})"]


def _rows(judged: list[Judgement]) -> list[tuple[Tensor, Tensor, Tensor]]:
    return [rows_along(one.models, draft) for one in judged for draft in one.laws]


def _between(met: list[float], top: float) -> Iterator[tuple[float, float]]:
    """Return intervals (low, high) between neighbours in `met` below `top`, the last to `top`."""
    return itertools.pairwise([*sorted({round(x, 12) for x in met if x < top}), top])


def _ensemble(judged: list[Judgement], tolerance: float) -> list[str]:
    """Return the ensemble rule if it fits, as words.

    Its weight follows from the first draft that may be rejected.
    """
    laws = [law for one in judged for law in one.laws.values()]
    for rows, law in zip(_rows(judged), laws, strict=True):
        missing = 1 - float(token_tests(*rows)[0])
        if missing > 0.05:
            weight = 1 - float(law.stop[0]) / missing
            fits = 0 < weight <= 1 and _equal(judged, ENSEMBLE.tuned(weight).law, 100 * tolerance)
            return [f"ensemble (draft weight {weight:.4g})"] if fits else []
    return []


def _clipped(judged: list[Judgement], tolerance: float) -> list[str]:
    """Return the clipped rules that fit, as words.

    Their tolerance is the largest KL(output ‖ target) of any row, in nats.
    """
    models = judged[0].models
    rows = defaultdict[Outcome, Tensor](
        lambda: torch.zeros(models.vocab, dtype=torch.float64, device="cpu")
    )
    for draft, law in judged[0].laws.items():
        weight = models.joint(models.draft, draft)
        for t, token in enumerate(draft):  # A(X, x) + C(X) r(x), as in `counterexample`
            rows[draft[:t]] += weight * law.stop[t] * law.next(t)
            rows[draft[:t]][token] += weight * law.stop[t + 1 :].sum()
    written = {x: row / row.sum() for x, row in rows.items() if row.sum() > MET}
    spent = max(float(relative_entropy(row, models.target[x])) for x, row in written.items())
    if spent <= tolerance:
        return []
    return [
        f"{rule.name} (tolerance {spent:.4g})"
        for rule in RULES.values()
        if rule.recipe.clipped and _equal(judged, rule.tuned(spent).law, 100 * tolerance)
    ]


# Why it is wrong


@dataclass(frozen=True)
class Counterexample:
    """The first prefix after which the output leaves the target's law.

    draft: the drafted tokens. found, allowed: one number each, the probability that they are kept
    and its upper limit for a lossless rule; or, where that is right, rows (V,): the law of the next
    token, and the target's. token: one that the output has too often there, with this probability.
    """

    models: TableModels
    draft: Outcome
    found: list[float]
    allowed: list[float]
    total_variation: float
    token: int
    probability: float

    def words(self) -> str:
        letters = ", ".join(map(self._name, self.draft))
        t = len(self.draft)
        if len(self.found) == 1:
            which = f"its first {t} tokens are kept" if t > 1 else "token 1 is kept"
            probability, allowed = format_apart(self.found[0], self.allowed[0])
            most = f"at most {allowed} keeps the target"
            more = ", …" if t < self.models.gamma else ""
            return f"draft ({letters}{more}): {which} with {probability} where {most}"
        if t == 0:
            after = "after a draft of which nothing is kept"
        elif t == self.models.gamma:
            after = f"after the whole draft ({letters})"
        else:
            after = f"after ({letters}) and no more"
        probability = row(self.found)
        allowed = row(self.allowed)
        if probability == allowed or len(self.found) > len(LETTERS):
            x = max(range(len(self.found)), key=lambda x: abs(self.found[x] - self.allowed[x]))
            probability, allowed = format_apart(self.found[x], self.allowed[x])
            follows = f"token {self._name(x)} follows with {probability}"
            return f"{after}: {follows} where {allowed} keeps the target"
        return f"{after}: the next token follows {probability} where {allowed} keeps the target"

    def too_often(self) -> dict[str, Any]:
        """Return {"after", "token", "probability"}: a token that comes too often after a text."""
        after = self.draft[:-1] if len(self.found) == 1 else self.draft
        return {"after": list(after), "token": self.token, "probability": self.probability}

    def _name(self, token: int) -> str:
        return LETTERS[token] if self.models.vocab <= len(LETTERS) else str(token)

    def rows(self) -> dict[str, list[list[float]]]:
        """Return {"p", "q"}, the rows along the draft, one more of p.

        Both are empty lists for a large vocabulary.
        """
        if self.models.vocab > len(LETTERS):
            return {"p": [], "q": []}
        models = self.models
        count = len(self.draft) + 1
        p = models.rows(models.target, self.draft, count)
        q = models.rows(models.draft, self.draft, min(count, models.gamma))
        return {"p": p.tolist(), "q": q.tolist()}


def format_apart(probability: float, allowed: float) -> tuple[str, str]:
    """Return both numbers as text, with as many digits as show that they differ, at least four."""
    differ = (n for n in range(4, 17) if f"{probability:.{n}f}" != f"{allowed:.{n}f}")
    digits = next(differ, 4)
    return f"{probability:.{digits}f}", f"{allowed:.{digits}f}"


def row(values: list[float]) -> str:
    """Format the probabilities of tokens a, b, c, … as "(0.5, 0.3, 0.2)"."""
    return f"({', '.join(f'{abs(round(x, 4)):g}' for x in values)})"


def counterexample(judged: Judgement, tolerance: float) -> Counterexample | None:
    """Return the shortest prefix after which the output leaves the target, or None.

    It leaves it where it is off by more than `tolerance`.

    Let A(X) be the probability that X is drafted and kept, A(X, x) the same one token on, and C(X)
    = that it is kept and no more is. As long as all shorter prefixes are right, the output is right
    at (X, x) if and only if A(X, x) + C(X) r(x) = A(X) p(x|X), r being the law of what follows. So
    A(X, x) ≤ A(X) p(x|X), and r is fixed.
    """
    models = judged.models
    for length in range(models.gamma + 1):
        paths = dict.fromkeys(draft[:length] for draft in judged.laws)
        candidates = [candidate for path in paths for candidate in _at(judged, path)]
        wrong = [(gap, one) for gap, one in candidates if gap > tolerance]
        if wrong:
            # What is kept too often comes first: a law of what follows cannot mend it.
            return max(wrong, key=lambda pair: (len(pair[1].found) == 1, pair[0]))[1]
    return None


def _at(judged: Judgement, path: Outcome) -> Iterator[tuple[float, Counterexample]]:
    """Yield (probability that it moves, counterexample) for all that may be wrong after `path`."""
    models = judged.models
    t = len(path)
    begins = {x: law for x, law in judged.laws.items() if x[:t] == path}
    weight = {x: models.joint(models.draft, x) for x in begins}
    kept = sum(weight[x] * float(law.stop[t:].sum()) for x, law in begins.items())
    if kept < 1e-12:
        return
    ends = sum(weight[x] * float(law.stop[t]) for x, law in begins.items())
    follows = sum(
        (weight[x] * law.stop[t] * law.next(t) for x, law in begins.items()),
        torch.zeros(models.vocab, dtype=torch.float32, device="cpu"),
    )
    off = judged.total_variation
    row = models.target[path]
    wanted = kept * row
    passes = torch.zeros_like(row)  # A(X, x)
    for x, law in begins.items() if t < models.gamma else ():
        passes[x[t]] += weight[x] * law.stop[t + 1 :].sum()
    written = row + (passes + follows - wanted) / models.joint(models.target, path)
    if t < models.gamma:
        for token, on in enumerate(passes.tolist()):
            drafted = sum(weight[x] for x in begins if x[t] == token)
            if drafted:
                shown = [on / drafted], [float(wanted[token]) / drafted]
                comes = token, float(written[token])
                yield (
                    on - float(wanted[token]),
                    Counterexample(models, (*path, token), *shown, off, *comes),
                )
            wanted[token] -= on
    if ends > 1e-12:
        rows = (follows / ends).tolist(), (wanted / ends).tolist()
        token = int((written - row).argmax())
        example = Counterexample(models, path, *rows, off, token, float(written[token]))
        yield float((follows - wanted).abs().sum() / 2), example


def smallest_counterexample(adapter: Adapter, judged: Judgement) -> Counterexample | None:
    """Return a counterexample with as few drafted tokens and as small a vocabulary as possible.

    Tries small pairs with rows of multiples of 0.1, first with equal rows after every token, then
    the judged models.
    """
    models = judged.models
    calls = 0
    vocabularies = range(2, min(models.vocab, MOST_TOKENS) + 1)
    sizes = itertools.product(range(1, models.gamma + 1), vocabularies)
    for gamma, vocab in sorted(sizes, key=lambda size: size[1] ** size[0]):
        if (gamma, vocab) == (models.gamma, models.vocab) or calls > MOST_CALLS:
            break
        for changing, seed in itertools.product((False, True), range(SHRINKS)):
            try:
                small = judge(adapter, _tenths(vocab, gamma, changing, seed))
            except HsdError:  # what fits no such size is shown on the models that were judged
                continue
            calls += small.calls
            if small.total_variation > max(1e-4, 100 * adapter.tolerance):
                return counterexample(small, small.total_variation / 100)
    return counterexample(judged, adapter.tolerance / 10)


def check_size(vocab: int, gamma: int) -> None:
    """Raise HsdError for a pair that is too small, or too large to judge exactly.

    Allowed are 2 ≤ vocab ≤ 26, 1 ≤ gamma ≤ 12, and vocab ** (gamma + 1) ≤ MOST_OUTCOMES.
    """
    for name, value, least in (("vocab", vocab, 2), ("gamma", gamma, 1)):
        if value < least:
            raise HsdError(f"{name} {value}: choose at least {least}")
    if vocab > 26 or gamma > 12 or vocab ** (gamma + 1) > MOST_OUTCOMES:
        raise HsdError(
            f"{vocab}^{gamma + 1} outcomes are over the limit of {MOST_OUTCOMES:,}: "
            "reduce vocab (26 at most) or gamma"
        )


def rows_models(p: list[list[float]], q: list[list[float]]) -> TableModels:
    """Return a pair whose rows depend on the position alone.

    p: γ+1 rows of V numbers each. q: γ such rows.

    Raises HsdError where their shapes do not match, or a row is no distribution.
    """
    if not q or len(p) != len(q) + 1 or len({len(one) for one in (*p, *q)}) != 1:
        raise HsdError(
            f"{len(p)} rows p and {len(q)} rows q do not fit: give γ+1 and γ rows of V numbers each"
        )
    for name, rows in (("p", p), ("q", q)):
        for t, one in enumerate(rows):
            if not all(0 <= x <= 1 for x in one) or abs(sum(one) - 1) > 1e-9:
                raise HsdError(
                    f"row {t} of {name} {one} sums to {sum(one):.6g}: "
                    "give probabilities that sum to 1"
                )
    vocab = len(p[0])
    gamma = len(q)
    check_size(vocab, gamma)
    paths = prefixes(vocab, gamma)
    target, draft = (
        torch.tensor(rows, dtype=torch.float64, device="cpu") for rows in (p, [*q, q[-1]])
    )
    return TableModels(
        {x: target[len(x)] for x in paths}, {x: draft[len(x)] for x in paths}, vocab, gamma
    )


def _tenths(vocab: int, gamma: int, changing: bool, seed: int) -> TableModels:
    """Return a pair with rows of tenths (hundredths for many tokens) above 0.

    changing: whether each position has rows of its own.
    """
    generator = torch.Generator().manual_seed(seed % 2**64)
    if changing:
        pairs = [_telling(vocab, generator) for _ in range(gamma + 1)]
    else:
        pairs = [_telling(vocab, generator)] * (gamma + 1)
    return rows_models([p.tolist() for p, _ in pairs], [q.tolist() for _, q in pairs[:-1]])


def _telling(vocab: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Return random rows p and q that tell rules for whole drafts from those for single tokens.

    For some c = p(x)/q(x) the residual max(c p - q, 0) has another shape on them than max(p - q,
    0). No rows of two tokens have that.
    """
    parts = 10 if vocab <= 5 else 100
    for _ in range(100):
        drawn = (
            torch.randint(vocab, (parts - vocab,), generator=generator, device="cpu") for _ in "pq"
        )
        p, q = ((one.bincount(minlength=vocab) + 1).double() / parts for one in drawn)
        shapes = torch.stack([(c * p - q).clamp_min(0) for c in [1.0, *(p / q)[p < q].tolist()]])
        shapes = shapes[shapes.sum(1) > 0.01]
        if vocab < 3:
            break
        if len(shapes) > 1:
            spread = (shapes / shapes.sum(1, keepdim=True)).std(0)
            if float(spread.max()) > 0.1:
                break
    return p, q
