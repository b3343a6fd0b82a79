"""For verifiers that sample the target on the numbers with which the draft was picked.

They compare the two tokens. So a text is what plain decoding says on these numbers, whatever was
drafted: a position's number picks the draft's token from q and the target's from p, and what is
committed must be a prefix of the target's own. That is checked at random numbers and on either side
of every threshold, so no law has to be recovered.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from hsd.audit import TableModels
from hsd.conform.adapter import Adapter, BlackBox, limit_candidates
from hsd.conform.battery import BatteryCase
from hsd.conform.boxes import Outcome
from hsd.rules import RULES

Pick = Callable[[Tensor, Tensor], int]
SAYS = "a text follows from its numbers alone, whatever was drafted"
KEYS = (
    "keep its numbers with the places of the text: "
    "a target that draws its own only samples and compares"
)


def pick(adapter: Adapter) -> Pick:
    """Return the function by which the adapter's numbers pick a token.

    Its arguments are a row (V,) and a number, or with exponential noise one number per token (V,).
    """

    def fastest(row: Tensor, numbers: Tensor) -> int:
        return int((row / numbers).argmax())

    def by_cdf(row: Tensor, number: Tensor) -> int:
        place = int(torch.searchsorted(row.cumsum(0), number, right=True))
        return min(place, len(row) - 1)

    return fastest if adapter.exponential else by_cdf


def judge_shared(adapter: Adapter, cases: list[BatteryCase]) -> dict[str, Any]:
    """Return the verdict on all pairs, with the fields of an exact one.

    Raises HsdError as `BlackBox` does.

    A lossless verifier with exponential noise has the law of the coupled rule.
    """
    calls = 0
    points = 0
    wrong = {}
    covered = {}
    for case in cases:
        models = limit_candidates(adapter, case.models)
        generator = torch.Generator().manual_seed(1)
        box = BlackBox(adapter, models, models.drafts())
        numbers = _numbers(adapter, models, max(case.points, 100), generator)
        drafts = [_text(models.draft, models.gamma, one, pick(adapter)) for one in numbers]
        places = {x: i for i, x in enumerate(models.drafts())}
        points_ = [tuple(one.flatten().tolist()) for one in numbers]
        outputs = box.ask([places[x] for x in drafts], points_)
        for one, draft, output in zip(numbers, drafts, outputs, strict=True):
            text = _text(models.target, models.gamma + 1, one, pick(adapter))
            if output != text[: len(output)] and case.name not in wrong:
                rounded = [round(x, 6) for x in one.flatten().tolist()]
                wrong[case.name] = (
                    f"draft {list(draft)}, whose numbers make the target say {list(text)}: "
                    f"returns {list(output)}; numbers {rounded}"
                )
        calls = calls + box.calls
        points = points + len(numbers)
        covered[case.name] = {
            "covers": case.covers,
            "total_variation": None,
            "wrong": case.name in wrong,
        }
    tried = f"{points:,} random numbers on {len(cases)} pairs"
    verdict = {
        "lossless": not wrong,
        "claim": [f"{tried}, and either side of every threshold"],
        "pairs": covered,
        "calls": calls,
    }
    if wrong:
        first = next(iter(wrong))
        where = f"wrong on {len(wrong)} of {len(cases)} pairs, first on {first!r}"
        return verdict | {
            "cause": f"{where}: what is committed is not what plain decoding says on the same "
            "numbers",
            "counterexample": {"words": wrong[first], "p": [], "q": []},
        }
    if not adapter.exponential:
        return verdict | {"notes": [SAYS]}
    equals = [name for name, rule in RULES.items() if rule.recipe.coupled]
    return verdict | {"notes": [SAYS, KEYS], "equals": equals}


def _numbers(
    adapter: Adapter, models: TableModels, count: int, generator: torch.Generator
) -> Tensor:
    """Return numbers (n, γ+1) or (n, γ+1, V).

    `count` of them are random, and the others near a threshold at one position.
    """
    places = models.gamma + 1
    width = 4 * adapter.width
    shape = (count, places, models.vocab) if adapter.exponential else (count, places)
    numbers = torch.rand(shape, generator=generator, dtype=torch.float64, device="cpu")
    numbers = -torch.log1p(-numbers) if adapter.exponential else numbers
    near: list[Tensor] = []
    for path, row in [*models.target.items(), *models.draft.items()]:
        if len(path) == places:
            continue
        for k, share in enumerate(row.cumsum(0)[:-1].tolist()):
            for side in (-width, width) if row[k] or not k else ():
                one = numbers[(len(near) + k) % count].clone()
                if adapter.exponential:
                    # the next token comes as early as this one, but for very little
                    tie = one[len(path), k] * row[k + 1] / max(float(row[k]), 1e-9)
                    one[len(path), k + 1] = tie * (1 + side)
                else:
                    one[len(path)] = min(max(share + side, 0.0), 1 - width)
                near.append(one)
    whole = torch.cat([numbers, torch.stack(near).clamp_min(1e-12 if adapter.exponential else 0)])
    return whole.to(getattr(torch, adapter.dtype)).double()


def _text(rows: dict[Outcome, Tensor], length: int, numbers: Tensor, chosen: Pick) -> Outcome:
    """Return the text that `rows` give on these numbers.

    It has at most `length` tokens, and goes no further than `rows` do.
    """
    text: Outcome = ()
    while len(text) < length and text in rows:
        text = (*text, chosen(rows[text], numbers[len(text)]))
    return text
