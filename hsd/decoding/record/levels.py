"""The record of what happened below the target: drafts and verifications of the levels of a stack, in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hsd.decoding.record.parts import decisions
from hsd.decoding.rounds import ChainRound
from hsd.draft import Draft, Visit
from hsd.models.base import Codec
from hsd.models.reading import Spent
from hsd.trace import Committed, Event, Origin, Tested, Work


def work_of(spent: Spent) -> Work:
    """What was computed, as a trace has it."""
    return Work(calls=spent.calls, layers=spent.layers, computed=spent.computed, heads=spent.heads)


class LevelRecorder:
    """Describes the events that made a draft."""

    def __init__(self, codec: Codec) -> None:
        self._piece = codec.piece

    def events(self, draft: Draft) -> Iterator[Event]:
        """Everything that led to a draft, in the order in which it was done."""
        for visit in draft.visits:
            if visit.played is None:
                tokens = draft.tokens.tolist()
                yield self._event(visit, "draft", [], len(tokens), self._committed(tokens, ["draft"] * len(tokens)))
            else:
                yield from self.events(visit.played.draft)
                yield self._verification(visit, visit.played)

    def _verification(self, visit: Visit, played: ChainRound) -> Event:
        after: Origin = "bonus" if played.bonus else "correction"
        origins: list[Origin] = ["draft" if i < played.kept else after for i in range(len(played.committed))]
        committed = self._committed(played.committed, origins)
        return self._event(visit, "verify", self._tested(played), played.kept, committed)

    def _event(self, visit: Visit, kind: str, tested: list[Tested], kept: int, committed: list[Committed]) -> Event:
        return Event(
            level=visit.level,
            kind=kind,  # type: ignore[arg-type]
            position=visit.position,
            asked=visit.asked,
            held=visit.held,
            tested=tested,
            kept=kept,
            committed=committed,
            work=work_of(visit.spent),
            seconds=visit.seconds,
        )

    def _tested(self, played: ChainRound) -> list[Tested]:
        """The tokens that came from the level below, each with its test."""
        tokens, index = played.draft.tokens.tolist(), range(played.drafted)
        made = {
            decision.node: decision.accepted for decision in decisions(played.law, played.draft.tokens, played.coins)
        }
        p, q = played.p[list(index), tokens].tolist(), played.draft.q[list(index), tokens].tolist()
        thresholds, coins = played.law.threshold.tolist(), played.coins.tolist()
        return [
            Tested(
                token=tokens[i],
                piece=self._piece(tokens[i]),
                p=p[i],
                q=q[i],
                threshold=thresholds[i],
                coin=coins[i],
                accepted=made.get(i + 1),
            )
            for i in index
        ]

    def _committed(self, tokens: Sequence[int], origins: Sequence[Origin]) -> list[Committed]:
        return [
            Committed(token=token, piece=self._piece(token), origin=origin)
            for token, origin in zip(tokens, origins, strict=True)
        ]
