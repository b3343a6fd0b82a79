"""Decoding: draft, score, verify, commit, roll back.

End of text and budgets live here and nowhere else.

One loop serves every combination of a proposer and a rule; plain decoding is the one that proposes
nothing.
"""

import time
from collections.abc import Callable, Generator, Iterator
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from itertools import count
from typing import Any, Literal

import torch

from hsd.decoding.describe import Describer
from hsd.decoding.options import PROPOSERS, RunOptions
from hsd.decoding.players import open_rounds
from hsd.decoding.record import Recorder
from hsd.decoding.system import System, make_system
from hsd.decoding.unrecorded import UnrecordedRounds
from hsd.errors import HsdError
from hsd.models.base import LanguageModel, Pair, Prompt, reach
from hsd.models.loading.registry import draft_length
from hsd.models.machine import computing
from hsd.models.reading import timed
from hsd.rng import Numbers, RecordedNumbers, RoundNumbers, Streams
from hsd.rules.law import run_with_cache
from hsd.trace import ModelInfo, Result, Setup, Step, Times, Trace, Work
from hsd.values import shown
from hsd.version import __version__


class _Clock:
    """Adds up where a step's time goes."""

    def __init__(self) -> None:
        self.start = self._last = time.perf_counter()
        self.laps = dict.fromkeys(("draft", "target", "verify"), 0.0)

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.laps[name] += now - self._last
        self._last = now

    def times(self) -> Times:
        rest = time.perf_counter() - self.start - sum(self.laps.values())
        return Times(**self.laps, rest=max(rest, 0.0))


class Decoding(Iterator[Step]):
    """A run in progress: an iterator of steps.

    `trace()` returns the trace of the steps so far at any time.

    prompt_ids: the encoded prompt, if known. numbers: random numbers in place of the seed's. notes:
    sentences for the reader, such as that the rule is not lossless. seconds: spent decoding so far,
    without the time between steps. The models' caches are freed when the run ends, fails or is
    closed. Raises HsdError for a prompt that does not fit.
    """

    def __init__(
        self,
        system: System,
        prompt: Prompt,
        numbers: Numbers | None = None,
        prompt_ids: list[int] | None = None,
    ) -> None:
        ids = prompt_ids or system.pair.encode(prompt)
        self.system = system
        self._prompt = [*ids, *system.forced]
        self._numbers = numbers or Streams(system.seed)
        self._text = list(self._prompt)
        self._created = datetime.now(UTC).isoformat(timespec="seconds")
        self._begin = time.perf_counter()
        self.seconds = 0.0
        self.steps: list[Step] = []
        self.finish: Literal["length", "end", "context", "cancelled"] = "cancelled"
        self.notes = [*system.notes, *_check_prompt(system, self._prompt)]
        self._prompt_text = prompt if isinstance(prompt, str) else system.pair.codec.decode(ids)
        self._rounds = open_rounds(system, len(self._prompt))
        self._describe = Describer(system.pair.codec)
        self._recorder = _recorder(system)
        self._steps = self._decode()

    def __next__(self) -> Step:
        begin = time.perf_counter()
        try:
            by_torch = not isinstance(self._rounds, UnrecordedRounds)
            with torch.inference_mode(by_torch), computing(self.system.pair):
                return next(self._steps)
        except torch.OutOfMemoryError:
            count = sum(len(step.committed) for step in self.steps)
            raise HsdError(
                f"out of memory after {count} new tokens: choose a smaller gamma, fewer drafts or "
                "a smaller pair"
            ) from None
        finally:
            # what the consumer does between steps does not count
            self.seconds += time.perf_counter() - begin

    def time_calls(self) -> Callable[[], dict[str, Any]]:
        """Time every forward call from now on, and return a function that gives the times.

        See `hsd.models.reading.timed`.
        """
        return timed(self._rounds.readers)

    def close(self) -> None:
        """End the run and free the models' caches; steps so far stay."""
        self._steps.close()
        self._rounds.close()

    def trace(self) -> Trace:
        """Return the trace of all steps so far."""
        system = self.system
        setup = Setup(
            options=system.settings,
            pair=system.pair.name,
            models=[model_info(model) for model in system.models],
            device=str(system.pair.target.device),
            vocab_size=system.pair.vocab_size,
            versions={"torch": torch.__version__, "transformers": version("transformers")},
            notes=self.notes,
        )
        return Trace(
            app_version=__version__,
            created=self._created,
            setup=setup,
            prompt=self._describe.prompt(self._prompt_text, self._prompt, len(system.forced)),
            steps=self.steps,
            result=self.result(),
        )

    def result(self) -> Result:
        """Return the text so far, why the run ended (or would, if closed now), and its seconds."""
        new = [token for step in self.steps for token in step.tokens]
        return Result(text=self._new_text(new), finish=self.finish, seconds=self.seconds)

    def _decode(self) -> Generator[Step, None, None]:
        try:
            self._rounds.prefill(self._prompt)
            while (room := self._room()) > 0:
                if self._recorder:
                    step = run_with_cache(partial(self._step, room))
                else:
                    step = self._step(room)
                self.steps.append(step)
                self._note_finish(step)
                yield step
                if self.finish == "end":
                    return
        finally:
            self._rounds.close()

    def _step(self, room: int) -> Step:
        """Play one round, which commits at most `room` tokens, so that no budget is overrun."""
        rounds = self._rounds
        clock = _Clock()
        length = len(self._text)
        before = [reader.work() for reader in rounds.readers]
        dice = rounds.throw(self._numbers, self._text, min(self.system.block, room - 1))
        draft = rounds.draft(self._text, dice)
        clock.lap("draft")
        rows = rounds.score(self._text, draft)
        clock.lap("target")
        played = rounds.verify(draft, rows, dice)
        clock.lap("verify")
        played = rounds.resample(self._text, played, self._numbers)
        clock.lap("target")
        self._text += played.committed
        rounds.roll_back(len(self._text) - 1, played)  # the last token is read in the next round
        work = [
            Work(**(reader.work() - start))
            for reader, start in zip(rounds.readers, before, strict=True)
        ]
        return self._record(played, length, work, clock)

    def _record(self, played: Any, length: int, work: list[Work], clock: "_Clock") -> Step:
        """Return the record of a round. length: of the text before it. work: of each reader."""
        detail = self._recorder.details(played) if self._recorder else {}
        # a step without details has nothing to check
        make = Step if self._recorder else Step.model_construct
        return make(
            index=len(self.steps),
            context_length=length,
            drafted=played.drafted,
            depth=played.depth,
            kept=played.kept,
            target_calls=played.target_calls,
            work=work[-1] if work else Work(calls=played.target_calls),
            below=work[:-1],
            committed=self._describe.committed(
                played.committed, played.kept, played.bonus, self._text[length - 1]
            ),
            times=clock.times(),
            start=clock.start - self._begin,
            **detail,
        )

    def _produced(self) -> int:
        """Return the number of new tokens so far."""
        return len(self._text) - len(self._prompt)

    def _room(self) -> int:
        """Return how many more tokens may come: what is left of the budget and of the context."""
        budget = self.system.max_new_tokens - self._produced()
        return min(budget, self.system.context - len(self._text))

    def _note_finish(self, step: Step) -> None:
        if step.committed[-1].token in self.system.end_ids:
            self.finish = "end"
        elif self._produced() >= self.system.max_new_tokens:
            self.finish = "length"
        elif self._room() <= 0:
            self.finish = "context"

    def _new_text(self, new: list[int]) -> str:
        """Return the new text as it continues the prompt.

        Both are decoded together, so that spaces between them survive.
        """
        decode_ids = self.system.pair.codec.decode
        before = decode_ids(self._prompt)
        whole = decode_ids(self._prompt + new)
        return whole[len(before) :] if whole.startswith(before) else decode_ids(new)


def _check_prompt(system: System, prompt: list[int]) -> list[str]:
    """Return notes on a prompt. Raises HsdError where it, or a tree after it, does not fit."""
    size = len(prompt)
    context, limit = reach(system.models)
    rows = system.pair.target.vocab_size
    unknown = next((token for token in (min(prompt), max(prompt)) if not 0 <= token < rows), None)
    if unknown is not None:
        raise HsdError(
            f"the prompt has token {unknown}: give ids that the target knows, 0 to {rows - 1:,}"
        )
    if size >= context:
        raise HsdError(
            f"the prompt has {size:,} tokens, the context {context:,}{limit}: shorten the prompt"
        )
    room = context - size
    if system.nodes > room:
        raise HsdError(
            f"a tree of {system.nodes:,} nodes does not fit into the {room:,} tokens that the "
            "context has left: choose fewer nodes, or shorten the prompt"
        )
    if system.max_new_tokens <= room:
        return []
    target = system.models[-1]
    if not limit and context < target.context:
        drafting = min(system.models, key=lambda model: model.context).name
        limit = f", as {drafting} reads no more; {target.name} alone reads {target.context:,}"
    return [f"The text ends at {context:,} tokens{limit}."] if limit else []


def _recorder(system: System) -> Recorder | None:
    """Return what describes a run's steps in detail, None for a run without details."""
    if not system.traced:
        return None
    levelled = bool(system.levels.thresholds)
    return Recorder(system.pair.codec, system.judges, levelled)


def decode(pair: Pair, prompt: Prompt, **options: Any) -> Decoding:
    """Return an iterator that decodes `prompt` step by step.

    prompt: a text, or token ids as they are, without a chat template. options: the fields of
    `RunOptions`, by keyword; `rule` may also be a function verify(p, q, tokens, uniforms, noise),
    as `hsd.conform.adapter` describes it, which is judged before its first run.

    gamma is by default the pair's own (`draft_length`), and seed is 0: a call gives the same text
    again unless another seed is given. Raises HsdError for bad options here,
    before anything is computed. Stop early with `.close()`; `.trace()` returns the trace so far.
    """
    _check_pair(pair)
    chosen = RunOptions(**{"gamma": draft_length(pair.name), **options})
    return Decoding(make_system(pair, chosen), prompt)


def _check_pair(pair: Pair) -> None:
    if not isinstance(pair, Pair):
        raise HsdError(f"pair {shown(pair)}: give what hsd.load_pair returns")


def run(pair: Pair, prompt: Prompt, **options: Any) -> Trace:
    """Decode to the end and return the `Trace`. Options and errors as for `decode`."""
    decoding = decode(pair, prompt, **options)
    for _ in decoding:
        pass
    return decoding.trace()


def rerun(pair: Pair, trace: Trace, rule: Any = None) -> Trace:
    """Return the trace of decoding again with the random numbers in `trace`.

    The same models give the same tokens. rule: in place of the trace's, to the end of the text and
    with its seed's numbers. Raises HsdError for anything else than a pair and a trace, and for a
    trace by a rule of one's own without `rule`.
    """
    _check_pair(pair)
    if not isinstance(trace, Trace):
        raise HsdError(f"trace {shown(trace)}: give a hsd.Trace, as hsd.run returns one")
    o = trace.setup.options
    # Two drafts may draw the same node, each with a number of its own, and levels below the target
    # have numbers of their own: such records do not hold them all, nor do those of another engine,
    # or made with tracing off.
    held = [one for one in map(_numbers_of, trace.steps) if one]
    recorded = o.draft.drafts == 1 and not o.levels.thresholds and len(held) == len(trace.steps)
    numbers = RecordedNumbers(held) if recorded else Streams(o.seed)
    proposer = o.draft.proposer if o.draft.proposer in PROPOSERS else "model"
    ids = trace.prompt.ids
    at = len(trace.prompt.ids) - trace.prompt.forced
    chosen = {
        "gamma": o.draft.gamma or 1,
        "proposer": proposer,
        "engine": "eager",
        "forced": ids[at:],
    }
    if rule is not None:
        chosen["rule"] = rule
        numbers = Streams(o.seed)
    system = make_system(pair, RunOptions(**o.flat() | chosen))
    decoding = Decoding(system, trace.prompt.text, numbers, ids[:at])
    # by the same rule no further than the record, which may have been stopped early
    for _ in zip(trace.steps if rule is None else count(), decoding, strict=False):
        pass
    decoding.close()
    return decoding.trace()


def _numbers_of(step: Step) -> RoundNumbers | None:
    residual = step.verdict.residual if step.verdict else None
    draws = [node.draw for node in step.nodes]
    after = [residual.draw] if residual else []
    if step.verdict is None or None in (*draws, *after):
        return None
    after += step.verdict.extra_draws
    return RoundNumbers(draws, [node.coin for node in step.nodes], after)  # type: ignore[arg-type]


def model_info(model: LanguageModel) -> ModelInfo:
    """Return a trace's description of a model."""
    # of heads and exits
    about = {name: getattr(model, name, None) for name in ("drafted", "layers", "head_cost")}
    return ModelInfo(
        name=model.name,
        revision=model.revision,
        parameters=model.parameters,
        dtype=model.dtype,
        taps=list(getattr(model, "taps", ())),
        **about,
    )
