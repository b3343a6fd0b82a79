"""A verification rule: its record, its law as a function, and what is said of it in menus, tables and figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
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
class Rule:
    """A verification rule.

    title: in menus and heads of tables, without what these must warn of, see `mark`. short: inside a sentence.
    citation: where it comes from. drafts: that of verifying several drafts one after another by it; empty where that
    is not offered.
    lossless: the output follows the target exactly; proved by enumeration in `hsd.audit`.
    recipe: how it judges a draft, as data. build(p, q, tokens), and raw as a fourth where `raw` is set: makes the law;
    without it the recipe does. `law` checks what it is given. modes: its recipes, for a rule that has a setting.
    cold: the rule that it is at temperature 0, where that is another one.
    resamples: after a rejection every further position of the block is drawn anew, one target call each.
    knob: the number that changes its law, so that its name alone does not say what it keeps; see `tuned`.
    raw: it needs the raw distributions as well. look: how it is drawn in every figure.
    equals: another rule with the same law derived otherwise. greedy: exact at temperature 0, though it is not lossless.
    loses: what a rule that is not lossless gives up, in words that follow "Not lossless:"; {value} is its knob's
    value, {divergence} the measure, {drift} how much of it a step used up. exactly: what is said where its knob makes
    it exact, if that is more than the fact.
    """

    name: str
    title: str
    short: str
    citation: str
    lossless: bool
    recipe: Recipe
    build: Callable[..., Law] | None = None
    drafts: str = ""
    resamples: bool = False
    knob: Knob | None = None
    raw: bool = False
    equals: str = ""
    greedy: bool = False
    loses: str = ""
    exactly: str = ""
    modes: Mapping[str, Recipe] = field(default_factory=dict)
    cold: Rule | None = None
    look: Look = OTHER_LOOK

    @property
    def named(self) -> dict[str, Any]:
        """What it shares with a rule for trees that is made from it."""
        own = vars(self)
        return {
            name: own[name] for name in ("name", "title", "short", "citation", "lossless", "look", "knob", "exactly")
        }

    @property
    def forward(self) -> bool:
        """Whether the first token is tested first, and the first failure stops; else the whole draft comes first."""
        return self.recipe.forward

    @property
    def mark(self) -> str:
        """What a menu or a table must warn of."""
        return "not lossless" if not self.lossless else "extra target calls" if self.resamples else ""

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
        if not self.raw or raw is None:
            return replace(self._law(p, q, tokens), explain=self.recipe.grounds)
        if raw[0].shape not in (p.shape, q.shape) or raw[1].shape != q.shape:
            shapes = " and ".join(str(tuple(rows.shape)) for rows in raw)
            raise HsdError(f"raw rows {shapes} do not fit p and q: they must be (γ or γ+1, V) and (γ, V)")
        return replace(self._law(p, q, tokens, raw), explain=self.recipe.grounds)
