"""How much each tolerance of the fuzzy rule lets pass.

A tolerance means little by itself: published ones do not carry over to other models or texts.
`calibrate` finds one for a pair and a text from a goal that has a meaning: "accept 20 % of what
would be rejected".
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from hsd.decoding.loop import run
from hsd.errors import HsdError
from hsd.models import Pair
from hsd.rules.fuzzy import NAME
from hsd.trace import Trace

EXACT = -1.0  # a tolerance that lets nothing pass


@dataclass(frozen=True)
class Calibration:
    """What exact decoding tested on some prompts.

    tests: how many tests it made. rejected: the divergence D of each rejection, smallest first.
    """

    tests: int
    rejected: tuple[float, ...]

    def tolerance(self, share: float) -> float:
        """Return the smallest tolerance that accepts this share of what exact decoding rejected.

        It is a quantile of the D of these rejections.

        A share of 0.2 means "accept 20 % of what would be rejected". Share 0 gives -1, exact
        decoding; share 1 the largest D. Raises HsdError for a share outside 0 to 1, and where
        nothing was rejected.
        """
        if not isinstance(share, (int, float)) or not 0 <= share <= 1:
            wanted = "choose a number from 0 to 1, such as 0.2 to accept 20 % of the rejected"
            raise HsdError(f"share {share!r}: {wanted}")
        if not self.rejected:
            raise HsdError(
                "exact decoding rejected nothing on these prompts: "
                "give more of them, or longer runs"
            )
        return self.rejected[math.ceil(share * len(self.rejected)) - 1] if share > 0 else EXACT


def calibrate(
    pair: Pair,
    prompts: Iterable[str],
    divergence: str = "kl",
    on: str = "warped",
    **options: object,
) -> Calibration:
    """Decode the prompts exactly, token by token, and record D wherever a drafted token was tested.

    Prompt i has seed i. options: further keywords of `hsd.run`, the same as in the runs that the
    tolerance is for.
    """
    fuzzy = {"rule": NAME, "divergence": divergence, "divergence_on": on, "tolerance": EXACT}
    fuzzy["fuzzy_mode"] = "exact-first"  # mode "divergence-only" makes no exact tests
    traces = (
        run(pair, prompt, **{**options, **fuzzy, "seed": seed})
        for seed, prompt in enumerate(prompts)
    )
    tests = [test for trace in traces for test in exact_tests(trace)]
    rejected = sorted(divergence for divergence, failed in tests if failed)
    return Calibration(len(tests), tuple(rejected))


def exact_tests(trace: Trace) -> list[tuple[float, bool]]:
    """Return (divergence D, rejected or not) for each test of a run.

    It is a run by the rule "fuzzy", with the tolerance `EXACT`.
    """
    judged = ((step, step.verdict.decisions) for step in trace.steps if step.verdict)
    return [
        (step.divergences[d.node - 1], not d.accepted)
        for step, decisions in judged
        for d in decisions
    ]
