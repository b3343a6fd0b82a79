"""How a rule judges a single draft, as data.

That is the forms of its tests in order, and the factors of its residual.

The grounds of a law's tests, the page's judging, formulas and sentences are made from this record.
`Recipe.law` makes the law itself from it, slowly and literally: a rule that is new, or seldom run,
needs no more. The others have a function of their own, on tensors and in logarithms; a test holds
both to the same law.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from hsd.expression import evaluate, parse
from hsd.rules.coupled import CoupledLaw, leads
from hsd.rules.forms import Form, Grounds
from hsd.rules.law import Law, PrefixRatios, both_masses, of_tokens


@dataclass(frozen=True)
class RuleRecord:
    """A rule for one draft as data: the forms of its tests, and the factors of its residual.

    each: forms of the tests; of several the first applies whose `when` holds. whole: the form for
    the whole draft in a rule that tests from γ down; None in one that tests from 1 up. a, b:
    expressions of the residual max(a p - b q, 0) after t kept tokens. inner: the threshold for t <
    γ as the rule's paper states it, where that is not the form's own expression. residual: a
    sentence on the residual, where it needs its own. follow: the row whose likeliest token follows
    the kept ones without a draw: "target", or "mixture" of both rows (the target's where all are
    kept); "" for the residual. clipped: p stands for the target's rows clipped to the draft's
    (`hsd.rules.clipped`), which the law has as its p.
    """

    each: tuple[Form, ...]
    whole: Form | None = None
    a: str = "1"
    b: str = "1"
    inner: str = ""
    residual: str = ""
    follow: str = ""
    clipped: bool = False

    @property
    def forward(self) -> bool:
        """Whether tests go from position 1 up until the first failure.

        Otherwise they go from γ down until the first success.
        """
        return self.whole is None

    @property
    def forms(self) -> tuple[Form, ...]:
        """All forms that a test of the rule may have."""
        return (*self.each, self.whole) if self.whole else self.each

    @property
    def certain(self) -> bool:
        """Whether drafted tokens count as proposed with q = 1."""
        return any(form.certain for form in self.forms)

    @property
    def coupled(self) -> bool:
        """Whether draft and target pick with equal random numbers."""
        return any(form.coupled for form in self.forms)

    @property
    def by_divergence(self) -> bool:
        """Whether the rule compares the divergence of rows p and q with a tolerance."""
        return any("divergence" in form.along for form in self.forms)

    def as_data(self) -> dict[str, Any]:
        """Return the fields as JSON data: forms by name, expressions parsed to nested lists."""
        texts = {"a": self.a, "b": self.b, "inner": self.inner}
        return {
            "each": [form.name for form in self.each],
            "whole": self.whole.name if self.whole else None,
            "certain": self.certain,
            "coupled": self.coupled,
            "clipped": self.clipped,
            "residual": self.residual,
            "follow": self.follow,
            **{name: parse(text) if text else None for name, text in texts.items()},
        }

    def law(self, p: Tensor, q: Tensor, tokens: Tensor, **numbers: float) -> Law:
        """Return the law of one draft, arguments as of `Rule.law`; synchronises often.

        numbers: settings by name.
        """
        along = DraftNumbers(self, p, q, tokens, numbers)
        thresholds = [test.threshold for test in along.grounds()]
        if self.inner:
            thresholds[:-1] = [
                float(evaluate(parse(self.inner), NumbersAt(along, t)))
                for t in range(1, along.gamma)
            ]
        threshold, a, b = (
            p.new_tensor(x, dtype=torch.float64) for x in (thresholds, *along.factors)
        )
        if self.coupled:
            return CoupledLaw(p, q, threshold, True, a, numbers=numbers, tokens=tokens)
        return Law(p, along.q, threshold, self.forward, a, b, numbers)

    def grounds(self, law: Law, tokens: Tensor) -> list[Grounds]:
        """Return what the thresholds of `law` at t = 1 … γ were computed from.

        tokens: (γ,), the drafted ones.
        """
        return list(DraftNumbers(self, law.p, law.q, tokens, law.numbers).grounds())


class DraftNumbers:
    """All numbers of `LETTERS` along one draft, for each t = 0 … γ, computed on demand.

    known: settings, and intermediate results of a law, (γ+1,) or (γ,) from t = 0 on. A number that
    is undefined at t = 0 or t = γ is 0 or 1 there.
    """

    def __init__(
        self, recipe: RuleRecord, p: Tensor, q: Tensor, tokens: Tensor, known: Mapping[str, Any]
    ) -> None:
        self.recipe = recipe
        self.p = p
        self.tokens = tokens
        self.gamma = len(tokens)
        self.q = (
            torch.zeros_like(q).scatter_(-1, tokens.unsqueeze(-1), 1.0) if recipe.certain else q
        )
        self.lists = {
            name: [*x.tolist(), 0.0] if isinstance(x, Tensor) else x for name, x in known.items()
        }

    def grounds(self) -> Iterator[Grounds]:
        """Yield a `Grounds` for each test t = 1 … γ.

        It has the form that applies there, with the values of its fields.
        """
        for t in range(1, self.gamma + 1):
            here = NumbersAt(self, t)
            whole = self.recipe.whole if t == self.gamma else None
            *most, last = (whole,) if whole else self.recipe.each
            form = next((form for form in most if evaluate(parse(form.when), here)), last)
            yield Grounds(
                form, **{name: evaluate(parse(text), here) for name, text in form.along.items()}
            )

    @property
    def factors(self) -> tuple[list[float], list[float]]:
        """Return the residual's factors a and b after 0 … γ-1 kept tokens, as lists of γ floats."""
        places = [NumbersAt(self, t) for t in range(self.gamma)]
        a, b = (
            [float(evaluate(parse(text), numbers)) for numbers in places]
            for text in (self.recipe.a, self.recipe.b)
        )
        return a, b

    def column(self, name: str) -> Any:
        """Return the values of a number for every t, as a list.

        A setting does not depend on t and is given as one value.
        """
        if name not in self.lists:
            self.lists[name] = self._made(name)
        return self.lists[name]

    def _made(self, name: str) -> Any:
        above, _, of = name.partition("above_")
        if of and not above:
            return [1.0, *self.column(of)[:-1]]
        match name:
            case "p" | "q" | "clipped":
                return [1.0, *of_tokens(self.q if name == "q" else self.p, self.tokens).tolist()]
            case "ratio":
                return self._ratios.log.exp().tolist()
            case "capped":
                return self._ratios.log_capped.exp().tolist()
            case "starred":
                log = self._ratios.log
                return (log - torch.cat([log[:1], log[:-1].cummax(0).values])).exp().tolist()
            case "deficient" | "excess":
                factors = (self.p.new_tensor(x, dtype=torch.float64) for x in self.factors)
                return [*both_masses(self.p[:-1], self.q, *factors)[name == "excess"].tolist(), 0.0]
            case "lead":
                return [0.0, *leads(self.p[:-1], self.q, self.tokens).tolist()]
            case "entropy":
                return [0.0, *torch.special.entr(self.p[:-1]).sum(-1).tolist()]
        raise KeyError(name)

    @cached_property
    def _ratios(self) -> PrefixRatios:
        return PrefixRatios.of(self.p, self.q, self.tokens)


@dataclass(frozen=True)
class NumbersAt:
    """A mapping from names of `LETTERS` to their values at position t."""

    along: DraftNumbers
    t: int

    def __getitem__(self, name: str) -> Any:
        column = self.along.column(name)
        return column[self.t] if isinstance(column, list) else column
