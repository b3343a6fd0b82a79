"""Describing a step in detail for the trace: the draft tree, every branch's masses, every decision.

Only called when tracing is on. It reads what the round computed anyway and changes nothing.
"""

from typing import Any, Protocol

from hsd.decoding.record.chain import ChainRecorder
from hsd.decoding.record.levels import work_of
from hsd.decoding.record.tree import TreeRecorder


class Recorder(Protocol):
    """Describes the rounds of one run; it is given those that its own kind of rounds plays."""

    def details(self, played: Any) -> dict[str, Any]: ...


__all__ = ["ChainRecorder", "Recorder", "TreeRecorder", "work_of"]
