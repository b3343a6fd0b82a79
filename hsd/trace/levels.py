"""What happened at the levels below the target, in systems that have more than a draft and a target."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from hsd.trace.values import MAX_LEVELS, MAX_NODES, Coin, Count, Probability, Record, Seconds, Token
from hsd.trace.verdict import Committed


class Tested(Token):
    """A token that a level below the target was handed, and what that level made of it.

    `p` and `q` are what the level and the one below gave it. `threshold` and `coin` are those of its own test, and
    `accepted` is None where that test was not made.
    """

    p: Probability
    q: Probability
    threshold: Probability
    coin: Coin
    accepted: bool | None = None


class Work(Record):
    """Counts of what a level computed: forward calls, and for the exits of one model its layers too.

    layers: layer passes. computed: the tokens of each, summed. heads: rows of the output head.
    """

    calls: Count = 0
    layers: Count = 0
    computed: Count = 0
    heads: Count = 0


class Event(Record):
    """Something that happened at a level below the target before it was asked: a draft, or a verification.

    `level` counts from 0, the smallest model. `position` is the length of the text that the block continues, `asked`
    how many tokens the level above wanted, `held` how many the level had settled for it before this event. `tested`
    are the tokens that came from the level below; the first `kept` of them were kept. `committed` is what the level
    settled thereby: every token of it is distributed as the level's own model. `seconds` include the levels below.
    """

    level: Annotated[int, Field(ge=0, le=MAX_LEVELS)]
    kind: Literal["draft", "verify"]
    position: Count
    asked: Count
    held: Count
    tested: Annotated[list[Tested], Field(max_length=MAX_NODES)] = []
    kept: Count
    committed: Annotated[list[Committed], Field(max_length=MAX_NODES)]
    work: Work = Work()
    seconds: Seconds

    @model_validator(mode="after")
    def _kept_is_committed(self) -> Event:
        if self.kept > len(self.committed) or (self.kind == "verify" and self.kept > len(self.tested)):
            raise ValueError(f"an event of level {self.level} keeps {self.kept} tokens that it does not have")
        return self
