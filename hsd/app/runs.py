"""Runs for pages and programs.

Requests are read and checked, decoded as messages, and the last runs kept for a while.
"""

import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Protocol, cast

from pydantic_core import to_jsonable_python

from hsd.app import device, downloads, pairs
from hsd.app.pairs import OWN, PairChoice, choose
from hsd.app.presets import telling_step
from hsd.app.replies import unexpected
from hsd.bench.score import with_scores
from hsd.decoding.loop import Decoding
from hsd.decoding.options import RunOptions
from hsd.decoding.system import make_system
from hsd.errors import HsdError
from hsd.models.loading.registry import draft_length
from hsd.space import Space
from hsd.trace import Step, Trace

Message = dict[str, Any]
UPDATE_SECONDS = 0.05  # at most 20 messages a second
LOAD_SECONDS = 40  # asked of ZeroGPU on top of the work itself: moving a pair to the GPU
TOKEN_SECONDS = 0.15  # asked of ZeroGPU for each new token
BESIDE = ("prompt", "pair", "target", "draft")
"""Parts of a request beside options.

target, draft: models of the visitor's own, in place of the pair.
"""


@dataclass(frozen=True)
class RunRequest:
    """A run that may be made: all of it is within the manifest's limits."""

    pair: PairChoice
    prompt: str
    options: RunOptions


def read(space: Space, values: Mapping[str, Any]) -> RunRequest:
    """Return the request in `values`: `BESIDE` and options by name, former names too.

    Numbers may be text, lists "3, 5". What is missing or null takes the default; γ is then the
    pair's own. A run is always recorded. Raises HsdError, one line, for the first thing that is
    wrong.
    """
    options = {
        RunOptions.old.get(name, name): value for name, value in values.items() if value is not None
    }
    prompt, pair, target, draft = (str(options.pop(name, "")) for name in BESIDE)
    most = space.limits.prompt_characters
    if not prompt.strip():
        raise HsdError("the prompt is empty: type some text to continue")
    if len(prompt) > most:
        raise HsdError(
            f"the prompt has {len(prompt):,} characters, at most {most:,} are allowed: shorten it"
        )
    pair = pair or downloads.first(space).name
    options = {"gamma": draft_length(None if target or draft else pair)} | options | {"trace": True}
    return RunRequest(
        choose(space, pair, target, draft),
        prompt,
        RunOptions.read(options, space.limits.model_dump()),
    )


def query(request: RunRequest) -> dict[str, str]:
    """Return the parameters of the link that asks for this run again."""
    pair = request.pair
    models = (
        {"target": str(pair.target), "draft": str(pair.draft)}
        if pair.name == OWN
        else {"pair": pair.name}
    )
    return {**models, "prompt": request.prompt, **request.options.query()}


# ---- runs

Decoder = Callable[[RunRequest, float], Iterator[Any]]


class Watched(Protocol):
    """Runs that grow elsewhere, such as the requests that a server records while it answers."""

    def runs(self) -> list[Message]:
        """Return the newest runs, the latest first: of each name, title and finished."""

    def follow(self, name: str) -> Iterator[Any]:
        """Yield a run from its beginning until it ends, as `decode` does.

        Raises HsdError for a name that is not known.
        """


class Kept:
    """The latest finished runs, by keys that nobody can guess.

    The least recently used is dropped first.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._traces: dict[str, Trace] = {}
        self._lock = threading.Lock()

    def add(self, trace: Trace) -> str:
        """Keep a trace and return its key."""
        key = secrets.token_urlsafe(16)
        with self._lock:
            self._traces[key] = trace
            while len(self._traces) > self._most:
                del self._traces[next(iter(self._traces))]
        return key

    def get(self, key: str) -> Trace | None:
        """Return the trace of that key, None if it is not kept any more."""
        with self._lock:
            trace = self._traces.pop(key, None)  # put back as the latest
            return self._traces.setdefault(key, trace) if trace else None


def messages(
    request: RunRequest, kept: Kept, seconds: float, decoder: Decoder | None = None
) -> Iterator[Message]:
    """Decode a request and yield the run's messages, see `as_messages`.

    The last steps come with "message", one line, where the run was stopped after `seconds`.
    decoder: in place of `decode`. Closing the iterator ends the run and frees its caches.
    """
    run = decoder or (decode_on_lent_gpu if pairs.needs_lent_gpu(request.pair) else decode)
    yield from as_messages(run(request, seconds), query(request), kept)


def as_messages(run: Iterator[Any], link: Mapping[str, str], kept: Kept) -> Iterator[Message]:
    """Yield a run as it goes on, as plain data.

    First {"header", "link"}: the trace without steps and result, and the parameters that ask for it
    again. Then {"steps"}, new ones, at most 20 times a second; with the last of them "result". At
    the end {"key", "telling", "finish"}: its key in `kept`, the step to show first, and why it
    ended; and "scores" of a run that has any.

    run: what `decode` yields; closing the iterator closes it. Raises HsdError, once all that was
    decoded before has been yielded.
    """
    with closing(run) as pieces:  # type: ignore[type-var]
        trace = next(pieces)
        header = trace.model_dump(mode="json", exclude={"steps", "result"})
        yield {"header": header, "link": link}
        steps: list[Step] = []
        for piece in pieces:
            if "scores" in piece:
                trace = trace.model_copy(update=piece)
                continue
            steps += piece["steps"]
            trace = trace.model_copy(update={"result": piece.get("result", trace.result)})
            yield to_jsonable_python(piece)
    trace = trace.model_copy(update={"steps": steps})
    about = {"telling": telling_step(trace), "finish": trace.result.finish}
    scores = {"scores": trace.scores.model_dump()} if trace.scores else {}
    yield {"key": kept.add(trace), **about, **scores}


def run_to_end(
    request: RunRequest, kept: Kept, seconds: float, decoder: Decoder | None = None
) -> tuple[Trace, str]:
    """Decode to the end and return the run's trace and its key, see `messages`. Raises HsdError."""
    *_, last = messages(request, kept, seconds, decoder)
    return cast(Trace, kept.get(last["key"])), last["key"]  # it was kept a moment ago


def decode(request: RunRequest, seconds: float) -> Iterator[Any]:
    """Decode and yield the trace without steps, then steps and result: `messages` as objects.

    On ZeroGPU this runs in another process, so all that is given and yielded can be pickled.
    Closing the iterator ends the run and frees its caches.
    """
    system = make_system(pairs.load(request.pair), request.options)
    with closing(Decoding(system, request.prompt)) as decoding:
        begun = decoding.trace()
        yield begun
        made: list[Step] = []
        steps: list[Step] = []
        ending: dict[str, str] = {}
        failure: HsdError | None = None
        began = sent = time.monotonic()
        try:
            for step in decoding:
                made.append(step)
                steps.append(step)
                now = time.monotonic()
                if now - began > seconds:
                    words = f"stopped after {seconds:g} s, the longest time here: ask for less"
                    ending = {"message": words}
                    break
                if now - sent >= UPDATE_SECONDS:
                    yield {"steps": steps}
                    steps = []
                    sent = now
        except HsdError as error:
            failure = error  # what was decoded before it goes out first
        except Exception as error:
            failure = HsdError(unexpected(error, "try again, or with other options"))
        yield {"steps": steps, "result": decoding.result(), **ending}
        if failure:
            raise failure
        whole = begun.model_copy(update={"steps": made})
        if not ending and (scores := with_scores(system.pair, whole).scores):
            yield {"scores": scores}


def gpu_seconds(tokens: int) -> int:
    """Return the seconds of GPU time to ask for, to load a pair and decode so many tokens."""
    return LOAD_SECONDS + round(TOKEN_SECONDS * tokens)


decode_on_lent_gpu = device.lent_gpu(
    lambda request, _: gpu_seconds(request.options.max_new_tokens)
)(decode)
