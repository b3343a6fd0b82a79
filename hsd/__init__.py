"""Speculative decoding that people can see.

It has real decoders, exact rules, and a trace of every decision.

import hsd
pair = hsd.load_pair("tiny")
trace = hsd.run(pair, "Once upon a time", rule="hsd", gamma=5, seed=0)
print(trace.text, trace.stats()["block_efficiency"])

Rules, audit and conformance need torch alone; all that decodes is imported on its first use.
"""

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

# torch's threads look for work so long, and then sleep
WAITING = {"GOMP_SPINCOUNT": "10000", "KMP_BLOCKTIME": "1"}
if "torch" not in sys.modules and not {"OMP_WAIT_POLICY", *WAITING} & {*os.environ}:
    os.environ.update(WAITING)  # both are read while torch is loaded, and by nobody else
    import torch

    torch.get_num_threads()
    for name in WAITING:
        del os.environ[name]

from hsd.audit import audit  # noqa: E402
from hsd.errors import HsdError  # noqa: E402
from hsd.rules import RULES  # noqa: E402
from hsd.version import __version__  # noqa: E402

if TYPE_CHECKING:
    from hsd.decoding.loop import Decoding, decode, rerun, run
    from hsd.decoding.options import RunOptions
    from hsd.generate import custom_generate
    from hsd.models import Pair
    from hsd.models.loading import load_pair
    from hsd.trace import Step, Trace

__all__ = [
    "RULES",
    "Decoding",
    "HsdError",
    "Pair",
    "RunOptions",
    "Step",
    "Trace",
    "__version__",
    "audit",
    "custom_generate",
    "decode",
    "load_pair",
    "rerun",
    "run",
    "show",
]
LATER = {
    **dict.fromkeys(("Decoding", "decode", "rerun", "run"), "hsd.decoding.loop"),
    **dict.fromkeys(("Step", "Trace"), "hsd.trace"),
    "Pair": "hsd.models",
    "RunOptions": "hsd.decoding.options",
    "custom_generate": "hsd.generate",
    "load_pair": "hsd.models.loading",
    "show": "hsd.app.element",
}


def __getattr__(name: str) -> Any:
    if name not in LATER:
        raise AttributeError(f"module 'hsd' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(LATER[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
