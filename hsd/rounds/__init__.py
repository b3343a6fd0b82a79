"""One round of decoding: draft, score in one target pass, verify, commit, roll back. With one draft or with several."""

from hsd.rounds.chain import ChainRound, ChainRounds
from hsd.rounds.tree import TreeRound, TreeRounds, TreeVerdict, ancestors

Round = ChainRound | TreeRound

__all__ = ["ChainRound", "ChainRounds", "Round", "TreeRound", "TreeRounds", "TreeVerdict", "ancestors"]
