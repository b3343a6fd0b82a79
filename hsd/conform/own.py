"""A verifier of one's own as the rule of a run: judged once, and checked at every call."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NoReturn

import torch
from torch import Tensor

from hsd.conform.adapter import Adapter, fault, in_a_line, load_adapter
from hsd.conform.causes import OWN
from hsd.conform.judge import LETTERS, format_apart
from hsd.conform.recover import Differs
from hsd.conform.report import conform
from hsd.conform.words import rows_in_words
from hsd.errors import HsdError
from hsd.rules import RULES, TREE_RULES
from hsd.rules.rule import RuleInfo

# seconds, for the judgement as a whole and for one call in a run
JUDGING = 30.0
CALLING = 10.0
LONGEST = 400  # characters of a reason
TAKE = OWN.partition(",")[0]  # what else `hsd conform` offers, no run has
FEW = 40  # numbers that a message lists
BELOW_ONE = {"float64": 1 - 2.0**-53, "float32": 1 - 2.0**-24}


class OutOfTime(BaseException):
    """Raised in code that takes too long, past what that code catches."""


@dataclass(frozen=True)
class OwnVerdict:
    """How a rule of one's own was judged.

    lossless: whether it is, by exact enumeration on small pairs of models; None where it could not
    be judged. words: the reason, unless it is lossless. example: of a token that comes too often,
    {"p", "q", "after", "token", "probability"} as `hsd.conform.report.conform` has them, or None.
    kept: on the random pair; total_variation: the largest; None where they were not found.
    """

    lossless: bool | None
    words: str = ""
    example: dict[str, Any] | None = None
    kept: float | None = None
    total_variation: float | None = None

    def __str__(self) -> str:
        if self.lossless:
            return "judged lossless"
        return f"{'not judged' if self.lossless is None else 'not lossless'}: {self.words}"


@dataclass(frozen=True, eq=False)
class OwnRule(RuleInfo):
    """A rule of which nothing is known but what it answers, and how it was judged."""

    adapter: Adapter
    verdict: OwnVerdict

    def __str__(self) -> str:
        return self.name

    def __call__(self, *given: Any) -> Any:
        return self.adapter.verify(*given)

    @property
    def coupled(self) -> bool:
        return self.adapter.shared

    def answer(
        self,
        p: Tensor,
        q: Tensor,
        tokens: Tensor,
        *numbers: Tensor,
        first: list[int] | None = None,
    ) -> list[int]:
        """Return the tokens that it commits for one draft: the kept ones and one more.

        p (γ+1, V), q (γ, V), tokens (γ,), on any device. numbers: uniforms and noise, or the noise
        alone, as the file asks for them (`hsd.conform.adapter`). first: what it returned for the
        same before. Raises HsdError, with the call in the message, if it fails, takes more than
        `CALLING` seconds, changes what it is given, or returns an invalid text or not `first`.
        """
        what = ""
        with torch.inference_mode(False):  # as it was judged
            given = [self._rows(p), self._rows(q), tokens.to("cpu", copy=True)]
            given += [self._numbers(x) for x in numbers]
            copies = [x.clone() for x in given]
            try:
                with limited(CALLING):
                    answer = self._call(given)
            except OutOfTime:
                what = f"does not return within {CALLING:g} seconds"
            except (Exception, SystemExit) as error:
                what = f"raises {in_a_line(error)}"
        what = what or fault(answer, tokens.tolist(), p.shape[-1])
        if not what and not all(map(torch.equal, given, copies)):
            what = "changes its arguments: work on copies"
        committed = [] if what else [*map(int, answer)]
        if first and committed and committed != first:
            what = f"returns {first} and then {committed} for the same numbers: {TAKE}"
        if what:
            raise HsdError(f"{self.adapter.name}: verify {what}; sent {_sent(copies)}")
        return committed

    def _call(self, given: list[Tensor]) -> Any:
        if not self.adapter.batched:
            return self.adapter.verify(*given)
        return self.adapter.verify(*(x.unsqueeze(0) for x in given))[0]

    def _rows(self, rows: Tensor) -> Tensor:
        """Return rows on the CPU, in the adapter's precision, that sum to 1 in it."""
        rows = rows.to("cpu", torch.float64)
        return (rows / rows.sum(-1, keepdim=True)).to(getattr(torch, self.adapter.dtype))

    def _numbers(self, numbers: Tensor) -> Tensor:
        """Return numbers in the adapter's precision, in which none of [0, 1) becomes 1."""
        numbers = numbers.cpu()
        rounded = numbers.to(getattr(torch, self.adapter.dtype))
        return torch.where(numbers < 1, rounded.clamp(max=BELOW_ONE[self.adapter.dtype]), rounded)


def own_rule(verify: Callable[..., Any] | Adapter, **sizes: Any) -> OwnRule:
    """Return a function `verify(p, q, tokens, uniforms, noise)`, or an adapter, as a judged rule.

    Its name is the function's, or the file's without its ending. sizes: see `judge_own`. Raises
    HsdError for the name of a rule that is known here, for an adapter that cannot judge one given
    draft by given numbers, and where equal numbers give different tokens.
    """
    if not isinstance(verify, Adapter):
        verify = Adapter(str(getattr(verify, "__name__", type(verify).__name__)), verify)
    name = verify.name.removesuffix(".py")
    if name in RULES or name in TREE_RULES:
        raise HsdError(f"{verify.name}: {name} is the name of a rule here: choose another one")
    if verify.text or verify.sampled or verify.candidates:
        raise HsdError(
            f"{verify.name}: a run needs verify(p, q, tokens, uniforms, noise) on whole rows: "
            "leave generate, SAMPLED and CANDIDATES to hsd conform"
        )
    if verify.shared and not verify.exponential:
        raise HsdError(
            f"{verify.name}: in a run SHARED numbers are those of a race: "
            'set NOISE = "exponential-race"'
        )
    verdict = judge_own(verify, **sizes)
    return OwnRule(name, name, name, "", verdict.lossless is True, verify, verdict)


@lru_cache(maxsize=16)
def function_rule(verify: Callable[..., Any]) -> OwnRule:
    """Return `own_rule(verify)`, judged once however many runs there are."""
    return own_rule(verify)


def load_own_rule(file: str, **sizes: Any) -> OwnRule:
    """Return the rule in a file such as `python -m hsd conform` judges. Runs the file's code.

    Raises HsdError as `load_adapter` and `own_rule` do.
    """
    return own_rule(load_adapter(file), **sizes)


def judge_own(adapter: Adapter, **sizes: Any) -> OwnVerdict:
    """Judge a verifier on a random pair of models and on one with zeros.

    sizes: vocab, gamma and seed of the random pair, as of `hsd.conform.report.conform`. Raises
    HsdError if equal numbers give different tokens.
    """
    try:
        with limited(JUDGING):
            result = conform(adapter, **sizes, quick=True)
    except OutOfTime:
        return OwnVerdict(None, f"that takes more than {JUDGING:g} seconds")
    except Differs as error:
        raise HsdError(str(error).replace(OWN, TAKE)) from None
    except HsdError as error:
        return OwnVerdict(None, str(error)[:LONGEST])
    numbers = result["expected_kept"], result["total_variation"]
    if result["lossless"]:
        return OwnVerdict(True, "", None, *numbers)
    shown = result["counterexample"] or {"words": result["cause"], "p": []}
    words = shown.pop("words")
    example = shown if shown["p"] else None
    words = _in_words(**example) if example else words
    return OwnVerdict(False, words[:LONGEST], example, *numbers)


def _in_words(
    p: list[list[float]], q: list[list[float]], after: list[int], token: int, probability: float
) -> str:
    """Return a counterexample in words, with a, b, c, … for tokens."""
    place = f"after {' '.join(LETTERS[x] for x in after)}" if after else "at the start"
    often, allowed = format_apart(probability, p[len(after)][token])
    rows = f"p = {rows_in_words(p)} and q = {rows_in_words(q)}"
    comes = f"{place}, token {LETTERS[token]} comes with probability {often}"
    return f"{comes} where the target gives it {allowed}, for {rows}"


def _sent(given: list[Tensor]) -> str:
    """Return the arguments of a call as text, of large ones the shapes."""
    names = ["p", "q", "tokens", *["uniforms"] * (len(given) > 4), "noise"]
    return ", ".join(f"{name} {_few(x)}" for name, x in zip(names, given, strict=True))


def _few(numbers: Tensor) -> Any:
    if numbers.ndim > 1 or len(numbers.view(-1)) > FEW:
        return tuple(numbers.shape)
    texts = [f"{x:.6g}" for x in numbers.view(-1).tolist()]
    return f"[{', '.join(texts)}]" if numbers.ndim else texts[0]


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise OutOfTime in this block after so many seconds.

    Only in the main thread, and not on Windows, which has no such signal.
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "SIGALRM"):
        yield
        return

    def stop(*_: object) -> NoReturn:
        raise OutOfTime

    handler = signal.signal(signal.SIGALRM, stop)
    timer = signal.setitimer(signal.ITIMER_REAL, seconds, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, *timer)
        signal.signal(signal.SIGALRM, handler)
