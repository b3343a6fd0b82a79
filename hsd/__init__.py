"""Speculative decoding that people can see: real decoders, exact rules, and a trace of every decision.

import hsd
pair = hsd.load_pair("tiny")
trace = hsd.run(pair, "Once upon a time", rule="hsd", gamma=5, seed=0)
print(trace.text, trace.stats()["block_efficiency"])
"""

from hsd.audit import audit
from hsd.decoding.loop import Decoding, decode, rerun, run
from hsd.decoding.options import Options
from hsd.errors import HsdError
from hsd.generate import custom_generate
from hsd.models import Pair, load_pair, table_pair
from hsd.rules import RULES
from hsd.trace import Step, Trace
from hsd.version import __version__

__all__ = [
    "RULES",
    "Decoding",
    "HsdError",
    "Options",
    "Pair",
    "Step",
    "Trace",
    "__version__",
    "audit",
    "custom_generate",
    "decode",
    "load_pair",
    "rerun",
    "run",
    "table_pair",
]
