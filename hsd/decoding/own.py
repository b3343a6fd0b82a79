"""A draft judged by a rule of one's own: what it answers, and nothing about its reasons."""

from dataclasses import replace
from functools import partial

import torch

from hsd.conform.own import OwnRule
from hsd.decoding.judge import OwnDecision, Ruling, judge
from hsd.draft import Draft
from hsd.models.reading import Rows
from hsd.rng import Dice
from hsd.rules import RULES, VANILLA
from hsd.rules.coupled import race_winners


def decide(rule: OwnRule, draft: Draft, rows: Rows, dice: Dice) -> Ruling:
    """Return the rule's decision on a chain of n tokens. rows: of the target, (n+1, V).

    Without a draft the rule is not asked: the target picks alone, in a race if the rule is coupled.
    One that could not be judged is asked twice, as equal numbers may give other tokens. Raises
    HsdError as `OwnRule.answer` does.
    """
    count = len(draft.tokens)
    none = torch.empty(0, dtype=torch.float64, device="cpu")
    number = dice.after if dice.times is None else none
    made = replace(draft, draws=none) if rule.coupled else draft
    if not count:
        if not rule.coupled or dice.times is None:
            return judge(RULES[VANILLA["single"]], draft, rows)
        winner = int(race_winners(rows.p, dice.times[:1].to(rows.p.device)))
        return OwnDecision(range(1, 1), winner, made, number)
    if dice.times is None:
        numbers = [draft.coins, dice.after[0]]
    else:
        numbers = [dice.times[: count + 1]] if rule.coupled else [draft.coins, dice.times[0]]
    given = (rows.p, draft.q, draft.tokens, *numbers)
    answer = rule.answer(*given)
    again = partial(rule.answer, *given, first=answer)
    if rule.verdict.lossless is None:
        again()
    return OwnDecision(range(1, len(answer)), answer[-1], made, number, again)
