"""Runs for pages and programs: decoding as messages, one after another, and the last runs kept for a while."""

from __future__ import annotations

import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict
from typing import Any

from hsd.app import device, pairs
from hsd.app.presets import telling_step
from hsd.app.replies import unexpected
from hsd.app.request import Request, query
from hsd.decoding.loop import Decoding
from hsd.decoding.options import RunOptions
from hsd.errors import HsdError
from hsd.trace import Trace

Message = dict[str, Any]
UPDATE_SECONDS = 0.05  # at most 20 messages a second
LOAD_SECONDS = 40  # asked of ZeroGPU on top of the work itself: moving a pair to the GPU
TOKEN_SECONDS = 0.15  # asked of ZeroGPU for each new token


class Kept:
    """The latest finished runs, by keys that nobody can guess; the least recently used is dropped first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._traces: OrderedDict[str, Trace] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, trace: Trace) -> str:
        """Keep it; returns its key."""
        key = secrets.token_urlsafe(16)
        with self._lock:
            self._traces[key] = trace
            while len(self._traces) > self._most:
                self._traces.popitem(last=False)
        return key

    def get(self, key: str) -> Trace | None:
        with self._lock:
            if key in self._traces:
                self._traces.move_to_end(key)
            return self._traces.get(key)


def messages(request: Request, kept: Kept, seconds: float) -> Iterator[Message]:
    """A run as it goes on.

    First {"header", "link"}: the trace without steps and result, and the parameters that ask for it again. Then
    {"steps"}, new ones, at most 20 times a second; with the last of them "result", and "message", one line, where the
    run was stopped after `seconds`. At the end {"key", "telling", "finish"}: its key in `kept`, the step to show first,
    and why it ended. Closing it ends the run and frees its caches. Raises HsdError, after what was decoded before.
    """
    whole: Message = {"steps": []}
    lent = device.zero_gpu() and request.pair.from_hub
    if lent:
        pairs.bring(request.pair)
    given = asdict(request.pair), request.prompt, request.option_dict(), seconds
    with closing((decode_on_lent_gpu if lent else decode)(*given)) as pieces:  # type: ignore[type-var]
        for piece in pieces:
            whole |= piece.get("header", {}) | {name: piece[name] for name in ("result",) if name in piece}
            whole["steps"] += piece.get("steps", ())
            yield {**piece, "link": query(request)} if "header" in piece else piece
    trace = Trace.model_validate(whole)
    yield {"key": kept.add(trace), "telling": telling_step(trace), "finish": trace.result.finish}


def finished(request: Request, kept: Kept, seconds: float) -> tuple[Trace, str]:
    """Decode to the end, for callers that want everything at once: the run's trace and its key. Raises HsdError."""
    for message in messages(request, kept, seconds):
        last = message
    trace = kept.get(last["key"])
    assert trace is not None, "it was kept a moment ago"
    return trace, last["key"]


def decode(pair: Message, prompt: str, options: Message, seconds: float) -> Iterator[Message]:
    """Decode and yield, as plain data, all that `messages` yields except the last message.

    The arguments are plain data as well, because on ZeroGPU this runs in another process. Closing the iterator ends the
    run and frees its caches.
    """
    loaded = pairs.load(pairs.PairChoice(**pair), options["engine"])
    with closing(Decoding(loaded, prompt, RunOptions(**options))) as decoding:
        yield {"header": decoding.trace().model_dump(mode="json", exclude={"steps", "result"})}
        steps: list[Message] = []
        ending: Message = {}
        failure: HsdError | None = None
        began = sent = time.monotonic()
        try:
            for step in decoding:
                steps.append(step.model_dump(mode="json"))
                now = time.monotonic()
                if now - began > seconds:
                    ending = {"message": f"stopped after {seconds:g} s, the longest time here: ask for less"}
                    break
                if now - sent >= UPDATE_SECONDS:
                    yield {"steps": steps}
                    steps, sent = [], now
        except HsdError as error:
            failure = error  # what was decoded before it goes out first
        except Exception as error:
            failure = HsdError(unexpected(error, "try again, or with other options"))
        yield {"steps": steps, "result": decoding.result().model_dump(mode="json"), **ending}
        if failure:
            raise failure


def gpu_seconds(pair: Message, prompt: str, options: Message, seconds: float) -> int:
    """How long a GPU is needed for this run, at most."""
    return LOAD_SECONDS + round(TOKEN_SECONDS * int(options["max_new_tokens"]))


decode_on_lent_gpu = device.lent_gpu(gpu_seconds)(decode)
