"""How a rule judges a single draft, as data: the forms of its tests in order, and the factors of its residual.

The grounds of a law's tests, the page's judging, formulas and sentences are made from this record. `Recipe.law` makes
the law itself from it, slowly and literally: a rule that is new, or seldom run, needs no more. The others have a
function of their own, on tensors and in logarithms; a test holds both to the same law.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from hsd.expression import Numbers, evaluate, parse
from hsd.rules.coupled import CoupledLaw, leads
from hsd.rules.forms import Form, Grounds
from hsd.rules.law import Law, PrefixRatios, both_masses, of_tokens


@dataclass(frozen=True)
class Recipe:
    """How a rule judges a single draft.

    each: the forms of its tests; of several the first applies whose `when` holds. whole: the form of the test of the
    whole draft, for a rule that steps back from it; None for one that goes forward. a, b: after t kept tokens the
    residual is max(a p - b q, 0). inner: the threshold before the whole draft as the rule's source states it, where
    that is not the form's own expression. residual: what is said of that residual, where it needs words of its own.
    follow: the row whose likeliest token follows the kept ones, with no draw from a residual: "target", or "mixture" of
    both rows (the target's where all are kept); "" for the residual. clipped: p stands for the target's rows clipped to
    the draft's (see `hsd.rules.clipped`), which a law has in its own place of p.
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
        """Whether the first token is tested first, and the first failure stops; else the whole draft comes first."""
        return self.whole is None

    @property
    def forms(self) -> tuple[Form, ...]:
        """Every form that a test of it may have."""
        return (*self.each, self.whole) if self.whole else self.each

    @property
    def certain(self) -> bool:
        """Whether the draft counts as certain of its tokens."""
        return any(form.certain for form in self.forms)

    @property
    def coupled(self) -> bool:
        """Whether draft and target pick with equal numbers."""
        return any(form.coupled for form in self.forms)

    @property
    def by_divergence(self) -> bool:
        """Whether it judges by how far the two rows are apart."""
        return any("divergence" in form.along for form in self.forms)

    def as_data(self) -> dict[str, Any]:
        """Return the record as plain data, its forms by name."""
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
        """Return the law for one draft, test by test. numbers: settings that the forms name. Waits for the device."""
        along = Along(self, p, q, tokens, numbers)
        thresholds = [test.threshold for test in along.grounds()]
        if self.inner:
            thresholds[:-1] = [float(evaluate(parse(self.inner), along.at(t))) for t in range(1, along.gamma)]
        threshold, a, b = (p.new_tensor(x, dtype=torch.float64) for x in (thresholds, *along.factors))
        if self.coupled:
            return CoupledLaw(p, q, threshold, True, a, numbers=numbers, tokens=tokens)
        return Law(p, along.q, threshold, self.forward, a, b, numbers)

    def grounds(self, law: Law, tokens: Tensor) -> list[Grounds]:
        """Return what the thresholds of a law at positions 1 … γ were computed from, for the drafted tokens (γ,)."""
        return list(Along(self, law.p, law.q, tokens, law.numbers).grounds())


class Along:
    """The numbers along a draft, by their names in `LETTERS`, for each t = 0 … γ; each is made when it is asked for.

    known: settings, and what a law worked out on its way, (γ+1,) or (γ,) from t = 0 on. Where a number has no meaning,
    at one of the ends, it is 0 or 1.
    """

    def __init__(self, recipe: Recipe, p: Tensor, q: Tensor, tokens: Tensor, known: Mapping[str, Any]) -> None:
        self.recipe, self.p, self.tokens, self.gamma = recipe, p, tokens, len(tokens)
        self.q = torch.zeros_like(q).scatter_(-1, tokens.unsqueeze(-1), 1.0) if recipe.certain else q
        self.lists = {name: [*x.tolist(), 0.0] if isinstance(x, Tensor) else x for name, x in known.items()}

    def grounds(self) -> Iterator[Grounds]:
        """Yield the numbers behind the tests at positions 1 … γ."""
        for t in range(1, self.gamma + 1):
            here, whole = self.at(t), self.recipe.whole if t == self.gamma else None
            *most, last = (whole,) if whole else self.recipe.each
            form = next((form for form in most if evaluate(parse(form.when), here)), last)
            yield Grounds(form, **{name: evaluate(parse(text), here) for name, text in form.along.items()})

    @property
    def factors(self) -> tuple[list[float], list[float]]:
        """Return the factors a and b after 0 … γ-1 kept tokens, each (γ,)."""
        a, b = parse(self.recipe.a), parse(self.recipe.b)
        here = [self.at(t) for t in range(self.gamma)]
        return [float(evaluate(a, one)) for one in here], [float(evaluate(b, one)) for one in here]

    def at(self, t: int) -> Numbers:
        """Return all numbers along the draft for one t."""
        return _At(self, t)

    def column(self, name: str) -> Any:
        """Return one of the numbers for every t; a setting, which does not depend on t, as one value."""
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
class _At:
    """The numbers along a draft for one t."""

    along: Along
    t: int

    def __getitem__(self, name: str) -> Any:
        column = self.along.column(name)
        return column[self.t] if isinstance(column, list) else column
