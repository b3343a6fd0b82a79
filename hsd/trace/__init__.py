"""The trace of a run: what was drafted, how it was judged and what came of it.

This package knows data only: no tensors, no models, no random numbers. Everything that shows,
measures or stores a run reads a `Trace`. A trace that comes from outside is untrusted: sizes, types
and references are checked here, and text is plain text that every consumer must escape.

Positions: `t` counts drafted tokens. Node 0 of a step is its root, the last committed token; the
drafted tokens are nodes 1, 2, …; a *branch* is a node together with all its possible next tokens.
Units: probabilities are plain numbers in [0, 1]; times are seconds.
"""

from hsd.trace.explain import step_in_words
from hsd.trace.options import SetupOptions
from hsd.trace.run import ModelInfo, Prompt, Result, Scores, Setup, Trace, statistics
from hsd.trace.step import Event, Step, Tested, Times, Work, replay_step
from hsd.trace.values import MAX_BYTES, Origin
from hsd.trace.verdict import (
    Committed,
    Decision,
    GroundsRecord,
    Node,
    PathRecord,
    Residual,
    Verdict,
)

__all__ = [
    "MAX_BYTES",
    "Committed",
    "Decision",
    "Event",
    "GroundsRecord",
    "ModelInfo",
    "Node",
    "Origin",
    "PathRecord",
    "Prompt",
    "Residual",
    "Result",
    "Scores",
    "Setup",
    "SetupOptions",
    "Step",
    "Tested",
    "Times",
    "Trace",
    "Verdict",
    "Work",
    "replay_step",
    "statistics",
    "step_in_words",
]
