"""A verification rule: its record, its law as a function, and its names and marks.

The names are for menus, tables and figures.
"""

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from functools import partial
from typing import Any

from torch import Tensor

from hsd.errors import HsdError
from hsd.rules.law import Law
from hsd.rules.recipe import RuleRecord
from hsd.rules.rows import check_draft, check_raw
from hsd.values import real, shown


@dataclass(frozen=True)
class RuleSetting:
    """The one setting that says how far a rule may deviate from the target.

    option: its keyword in `hsd.run`. sign: in formulas. title, words: its label, and one line of
    help. low, high: the range of a control, and all that is allowed unless `open`. exact: the rule
    is lossless up to this value.
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
        """Return a number as Python's own. Raises HsdError unless it is in the allowed range."""
        number = real(value)
        if number is None or not (self.open or self.low <= number <= self.high):
            raise HsdError(
                f"{self.option} {shown(value)}: choose a number from {self.low:g} to {self.high:g}"
            )
        return number


@dataclass(frozen=True)
class Look:
    """How a rule is drawn in every figure: its colour (Okabe and Ito), marker and hatch.

    The marker and the hatch are for prints without colour.
    """

    colour: str
    symbol: str = "circle"
    hatch: str = ""


# of rules that give up exactness, or have no look of their own
OTHER_LOOK = Look("#8a5a9e", "hexagon", "|")


@dataclass(frozen=True)
class RuleInfo:
    """The names and properties that rules for one draft and for trees have in common.

    title: in menus and heads of tables. short: inside a sentence. citation: its source. lossless:
    whether the output follows the target exactly, as `hsd.audit` proves. look: its style in
    figures. knob: the setting that changes its law, None without one. greedy: exact at temperature
    0, though not lossless. exactly: the sentence for values of its knob that make it exact.
    """

    name: str
    title: str
    short: str
    citation: str
    lossless: bool
    _: KW_ONLY
    look: Look = OTHER_LOOK
    knob: RuleSetting | None = None
    greedy: bool = False
    exactly: str = ""

    @property
    def coupled(self) -> bool:
        """Whether draft and target pick with equal random numbers."""
        return False

    @property
    def info(self) -> dict[str, Any]:
        """The fields of `RuleInfo` by name, from which a rule for trees can be made."""
        return {one.name: getattr(self, one.name) for one in fields(RuleInfo)}

    @property
    def mark(self) -> str:
        """A short warning beside the title.

        It is "not lossless", "extra target calls", or "" if there is none.
        """
        costs = "extra target calls" if getattr(self, "resamples", False) else ""
        return costs if self.lossless else "not lossless"


@dataclass(frozen=True)
class Rule(RuleInfo):
    """A verification rule for one draft.

    recipe: the rule as data. build(p, q, tokens), or with `raw` as fourth argument: a faster
    function that returns its law; None: `recipe.law`. drafts: the citation for verifying several
    drafts one after another; "" where that is not offered. resamples: after a rejection all further
    positions of the block are drawn again, with one target call each. raw: the law needs the
    distributions before temperature, top-k and top-p, too. equals: another rule with the same law,
    derived otherwise. loses: what a rule that is not lossless gives up, in words that follow "Not
    lossless:"; {value} is its knob's value, {divergence} the measure, {drift} how much of it a step
    used up. modes: its recipes by the value of a setting. cold: the rule to use at temperature 0,
    where that is another one.
    """

    recipe: RuleRecord
    build: Callable[..., Law] | None = None
    drafts: str = ""
    resamples: bool = False
    raw: bool = False
    equals: str = ""
    loses: str = ""
    modes: Mapping[str, RuleRecord] = field(default_factory=dict)
    cold: "Rule | None" = None

    @property
    def coupled(self) -> bool:
        return self.recipe.coupled

    @property
    def forward(self) -> bool:
        """Whether tests go from position 1 up until the first failure.

        Otherwise they go from γ down until the first success.
        """
        return self.recipe.forward

    def tuned(self, value: float) -> "Rule":
        """Return this rule with its knob set to `value`.

        Raises HsdError for a value that is not allowed.
        """
        assert self.knob
        return replace(self, build=partial(self._law, **{self.knob.option: self.knob.check(value)}))

    @property
    def _law(self) -> Callable[..., Law]:
        usual: dict[str, Any] = {self.knob.option: self.knob.default} if self.knob else {}
        return self.build or partial(self.recipe.law, **usual)

    def law(
        self, p: Tensor, q: Tensor, tokens: Tensor, raw: tuple[Tensor, Tensor] | None = None
    ) -> Law:
        """Return the law for one draft.

        p (γ+1, V) and q (γ, V) with rows summing to 1, tokens (γ,) int64.

        raw: p and q before temperature, top-k and top-p; the last row of p may be missing. Used by
        rules with `Rule.raw` alone; by default p and q. Cost: at most O(γ V), see
        `hsd.rules.chain`. Raises HsdError for anything else.
        """
        check_draft(p, q, tokens)
        if self.raw and raw:
            check_raw(raw, p, q)
        return self.unchecked_law(p, q, tokens, raw)

    def unchecked_law(
        self, p: Tensor, q: Tensor, tokens: Tensor, raw: tuple[Tensor, Tensor] | None = None
    ) -> Law:
        """Return `law` for arguments that are known to be right. Does not wait for a device."""
        given = (p, q, tokens, raw) if self.raw and raw else (p, q, tokens)
        return replace(self._law(*given), explain=self.recipe.grounds)
