"""A verification rule: its record, its law as a function, and what is said of it in menus, tables and figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any

from torch import Tensor

from hsd.errors import HsdError
from hsd.rules.law import Law
from hsd.rules.recipe import Recipe


@dataclass(frozen=True)
class Knob:
    """The one number that says how far a rule may go from the target.

    option: its keyword of `hsd.run`. sign: in formulas. title, words: in menus, and what it does. low, high: the range
    that is offered, and all that is allowed unless `open`. exact: up to this number the rule is exact after all.
    """

    option: str
    sign: str
    title: str
    words: str
    default: float
    low: float = 0
    high: float = 1
    exact: float | None = None
    open: bool = False

    def check(self, value: Any) -> Any:
        """Return the value. Raises HsdError where it is not allowed."""
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not number or not (self.open or self.low <= value <= self.high):
            raise HsdError(f"{self.option} {value!r}: choose a number from {self.low:g} to {self.high:g}")
        return value


@dataclass(frozen=True)
class Look:
    """How something is drawn in every figure: its colour (Okabe and Ito), and marker and hatch, which need none."""

    colour: str
    symbol: str = "circle"
    hatch: str = ""


OTHER_LOOK = Look("#8a5a9e", "hexagon", "|")  # of rules that give up exactness, or have no look of their own


@dataclass(frozen=True)
class Named:
    """What is said of a rule, for one draft or for trees.

    title: in menus and heads of tables, without what these must warn of, see `mark`. short: inside a sentence.
    citation: where it comes from. lossless: the output follows the target exactly; proved in `hsd.audit`. look: how it
    is drawn in every figure. knob: the number that changes its law, so that its name alone does not say what it keeps.
    greedy: exact at temperature 0, though it is not lossless. exactly: said where its knob makes it exact.
    """

    name: str
    title: str
    short: str
    citation: str
    lossless: bool
    look: Look = field(default=OTHER_LOOK, kw_only=True)
    knob: Knob | None = field(default=None, kw_only=True)
    greedy: bool = field(default=False, kw_only=True)
    exactly: str = field(default="", kw_only=True)

    @property
    def named(self) -> dict[str, Any]:
        """What it shares with a rule for trees that is made from it."""
        return {one.name: getattr(self, one.name) for one in fields(Named)}

    @property
    def mark(self) -> str:
        """What a menu or a table must warn of."""
        costs = "extra target calls" if getattr(self, "resamples", False) else ""
        return costs if self.lossless else "not lossless"


@dataclass(frozen=True)
class Rule(Named):
    """A verification rule for one draft.

    drafts: the citation of verifying several drafts one after another by it; empty where that is not offered.
    recipe: how it judges a draft, as data. build(p, q, tokens), and raw as a fourth where `raw` is set: makes the law;
    without it the recipe does. `law` checks what it is given. modes: its recipes, for a rule that has a setting.
    cold: the rule that it is at temperature 0, where that is another one.
    resamples: after a rejection every further position of the block is drawn anew, one target call each.
    raw: it needs the raw distributions as well. equals: another rule with the same law derived otherwise.
    loses: what a rule that is not lossless gives up, in words that follow "Not lossless:"; {value} is its knob's
    value, {divergence} the measure, {drift} how much of it a step used up.
    """

    recipe: Recipe
    build: Callable[..., Law] | None = None
    drafts: str = ""
    resamples: bool = False
    raw: bool = False
    equals: str = ""
    loses: str = ""
    modes: Mapping[str, Recipe] = field(default_factory=dict)
    cold: Rule | None = None

    @property
    def forward(self) -> bool:
        """Whether the first token is tested first, and the first failure stops; else the whole draft comes first."""
        return self.recipe.forward

    def tuned(self, value: float) -> Rule:
        """Return this rule with its knob at `value`, which `build` takes by the option's name."""
        assert self.knob
        return replace(self, build=partial(self._law, **{self.knob.option: self.knob.check(value)}))

    @property
    def _law(self) -> Callable[..., Law]:
        return self.build or self.recipe.law

    def law(self, p: Tensor, q: Tensor, tokens: Tensor, raw: tuple[Tensor, Tensor] | None = None) -> Law:
        """Return the law for one draft: p (γ+1, V) and q (γ, V) with rows summing to 1, tokens (γ,) int64.

        raw: p and q before temperature, top-k and top-p; the last row of p may be missing. Only rules with `Rule.raw`
        use it; left out, they take p and q. Cost: at most O(γ V), see `hsd.rules.chain`.
        Raises HsdError if the shapes do not fit each other.
        """
        gamma = tokens.shape[0]
        if tokens.ndim != 1 or p.shape[:1] != (gamma + 1,) or q.shape != (gamma, p.shape[-1]):
            shapes = f"p {tuple(p.shape)}, q {tuple(q.shape)}, tokens {tuple(tokens.shape)}"
            raise HsdError(f"{shapes} do not fit: they must be (γ+1, V), (γ, V) and (γ,)")
        if self.raw and raw and (raw[0].shape not in (p.shape, q.shape) or raw[1].shape != q.shape):
            shapes = " and ".join(str(tuple(rows.shape)) for rows in raw)
            raise HsdError(f"raw rows {shapes} do not fit p and q: they must be (γ or γ+1, V) and (γ, V)")
        given = (p, q, tokens, raw) if self.raw and raw else (p, q, tokens)
        return replace(self._law(*given), explain=self.recipe.grounds)
