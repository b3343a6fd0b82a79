"""Steps of a request that another engine decodes, described as this project describes its own."""

from __future__ import annotations

import time
from copy import copy
from datetime import UTC, datetime
from typing import Any, Literal

import torch
from torch import Tensor

from hsd.decoding.describe import Describer
from hsd.decoding.judge import ByLaw, judge
from hsd.decoding.record import Recorder
from hsd.decoding.rounds import Round
from hsd.draft import Draft
from hsd.models.base import Codec
from hsd.models.reading import Rows
from hsd.rules import RULES, find_rule
from hsd.trace import Prompt, Result, Setup, Step, Times, Trace, Work
from hsd.version import __version__

UNUSED = 0.5  # stands for a coin that was not thrown, and for a number that draws nothing of what is recorded
PRIVATE = "The prompt is not recorded; lengths count from its end."


class Recording:
    """A request that is recorded, step by step.

    setup: of its trace. prompt: its tokens; where `private` only their number matters. context: tokens that the engine
    can hold. finish: how it ended, None while it goes on.
    """

    def __init__(
        self, codec: Codec, end_ids: frozenset[int], setup: Setup, prompt: list[int], private: bool, context: int
    ) -> None:
        self._codec = copy(codec)
        self._codec.end_ids = end_ids  # type: ignore[misc]
        self._setup, self._prompt, self._private = setup, prompt, private
        most = setup.options.max_new_tokens
        self._room, self._limit = (
            min(most, context - len(prompt)),
            "length" if most <= context - len(prompt) else "context",
        )
        self._rule = find_rule(setup.options.rule)
        others = [one for one in RULES.values() if one.lossless and not one.resamples and not one.recipe.coupled]
        self._recorder = Recorder(self._codec, self._rule, find_rule(setup.options.shadow), others)
        self._describe = Describer(self._codec)
        self.tokens: list[int] = []
        self.steps = 0
        self.finish: Literal["length", "end", "context", "cancelled"] | None = None
        self._begin = self._last = time.perf_counter()

    @property
    def header(self) -> dict[str, Any]:
        """Return the trace without its steps and result, as plain data."""
        ids = [] if self._private else self._prompt
        fields = [self._describe.token_fields(*one) for one in zip(ids, [None, *ids], strict=False)]
        parts = {at: one["bytes"] for at, one in enumerate(fields) if one["bytes"]}
        notes = [*self._setup.notes, PRIVATE] if self._private else self._setup.notes
        trace = Trace(
            app_version=__version__,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            setup=self._setup.model_copy(update={"notes": notes}),
            prompt=Prompt(text=self._codec.decode(ids), ids=ids, pieces=[one["piece"] for one in fields], bytes=parts),
            steps=[],
            result=self.result(),
        )
        return trace.model_dump(mode="json", exclude={"steps", "result"})

    def step(self, draft: Draft, p: Tensor, committed: list[int], number: float | None, known: bool = True) -> Step:
        """Return the next step, without what stands after the end of the text; sets `finish` where it ends.

        draft: n tokens in a chain, on the CPU. p: (n+1, V), the target's rows; the last may be anything if not `known`.
        committed: the kept tokens and the one after them. number: what drew that one, None for a race.
        """
        begin, self._last = self._last, time.perf_counter()
        kept, committed = len(committed) - 1, self._until_end(committed)
        if len(committed) <= kept:  # the text ends among the kept tokens: so does the draft, and nothing is drawn
            kept = n = len(committed)
            draft = Draft.chain(draft.tokens[:n], draft.q[:n], draft.draws[:n], draft.coins[:n])
        detail = self._details(draft, p[: draft.depth + 1], kept, committed[kept:], number, known)
        last = self.tokens[-1] if self.tokens else None
        step = Step(
            index=self.steps,
            context_length=len(self.tokens) + (0 if self._private else len(self._prompt)),
            drafted=draft.depth,
            depth=draft.depth,
            kept=kept,
            work=Work(calls=1),
            committed=self._describe.committed(committed, kept, kept == draft.depth, last),
            times=Times(draft=0, target=0, verify=0, rest=self._last - begin),
            start=begin - self._begin,
            **detail,
        )
        self.tokens, self.steps = self.tokens + committed, self.steps + 1
        return step

    def result(self) -> Result:
        """Return how it stands, or how it ended: "cancelled" where no token shows why."""
        return Result(
            text=self._codec.decode(self.tokens), finish=self.finish or "cancelled", seconds=self._last - self._begin
        )

    def _until_end(self, committed: list[int]) -> list[int]:
        """Return those of these tokens that belong to the text."""
        committed = committed[: max(self._room - len(self.tokens), 1)]
        end = next((at for at, token in enumerate(committed, 1) if token in self._codec.end_ids), 0)
        if end:
            self.finish = "end"
        elif len(self.tokens) + len(committed) >= self._room:
            self.finish = "context" if self._room < self._setup.options.max_new_tokens else "length"
        return committed[:end] if end else committed

    def _details(
        self, draft: Draft, p: Tensor, kept: int, after: list[int], number: float | None, known: bool
    ) -> dict[str, Any]:
        """Return the parts of a step that tell the draft and its tests, without numbers that nobody drew.

        after: the token after the kept ones, if there is one. {} where the rule would have kept another part.
        """
        rows = Rows(p, p.log())
        ruling = judge(self._rule, draft, rows)
        if not isinstance(ruling, ByLaw) or len(ruling.path) != kept:
            return {}
        by = torch.tensor([UNUSED if number is None else number], dtype=torch.float64)
        detail = self._recorder.details(Round(draft, rows, ruling, by, after[0] if after else None))
        own, shadow = detail["verdict"], detail["shadow"]
        if own.residual:
            drawn = own.residual.model_copy(update={"draw": number})
            own = own.model_copy(update={"residual": drawn if known or drawn.origin == "correction" else None})
        if number is None:
            shadow = shadow.model_copy(update={"residual": None, "next": None})
        nodes = [node.model_copy(update={"draw": None}) for node in detail["nodes"]]
        return {**detail, "nodes": nodes, "verdict": own, "shadow": shadow}
