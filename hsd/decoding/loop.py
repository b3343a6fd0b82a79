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
from typing import Any, Literal

import torch

from hsd.decoding.describe import Describer
from hsd.decoding.options import PROPOSERS, RunOptions
from hsd.decoding.systems import (
    Levels,
    engine_of,
    levels_of,
    longest_block,
    make_recorder,
    make_rounds,
)
from hsd.decoding.unrecorded import UnrecordedRounds
from hsd.errors import HsdError
from hsd.models.base import LanguageModel, Pair, reach
from hsd.models.loading.registry import draft_length
from hsd.models.machine import computing
from hsd.models.reading import timed
from hsd.rng import Numbers, RecordedNumbers, RoundNumbers, Streams
from hsd.rules.law import run_with_cache
from hsd.trace import ModelInfo, Result, Setup, SetupOptions, Step, Times, Trace, Work
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
        pair: Pair,
        prompt: str,
        options: RunOptions,
        numbers: Numbers | None = None,
        prompt_ids: list[int] | None = None,
    ) -> None:
        if options.prompt_as:
            from hsd.models.loading.text import with_prompts_as  # here, as it imports transformers

            pair = with_prompts_as(pair, options.prompt_as)
        self.pair = pair
        self.options = options
        self._prompt_text = prompt
        self._prompt = [*(prompt_ids or pair.encode(prompt)), *options.forced]
        self._numbers = numbers or Streams(options.seed)
        self._text = list(self._prompt)
        self._created = datetime.now(UTC).isoformat(timespec="seconds")
        self._begin = time.perf_counter()
        self.seconds = 0.0
        self.steps: list[Step] = []
        self.finish: Literal["length", "end", "context", "cancelled"] = "cancelled"
        self._levels = levels_of(pair, options)
        self.notes = self._levels.notes
        size = len(self._prompt)
        context, limit = reach(self._levels.models)
        rows = pair.target.vocab_size
        least = min(self._prompt)
        most = max(self._prompt)
        if least < 0 or most >= rows:
            raise HsdError(
                f"the prompt has token {least if least < 0 else most}, the target tokens 0 to "
                f"{rows - 1:,}"
            )
        if size >= context:
            raise HsdError(
                f"the prompt has {size:,} tokens, the context {context:,}{limit}: shorten the "
                "prompt"
            )
        if limit and size + options.max_new_tokens > context:
            self.notes = [*self.notes, f"The text ends at {context:,} tokens{limit}."]
        if options.nodes > (room := self._levels.context - len(self._prompt)):
            raise HsdError(
                f"a tree of {options.nodes:,} nodes does not fit into the {room:,} tokens that "
                "the context has left: choose fewer nodes, or shorten the prompt"
            )
        self._rounds = make_rounds(pair, options, self._levels, len(self._prompt))
        self._longest = longest_block(options, self._levels)
        self._describe = Describer(pair.codec)
        self._recorder = make_recorder(pair, options, self._levels) if options.trace else None
        self._steps = self._decode()

    def __next__(self) -> Step:
        begin = time.perf_counter()
        try:
            with (
                torch.inference_mode(not isinstance(self._rounds, UnrecordedRounds)),
                computing(self.pair),
            ):
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
        setup = Setup(
            options=_recorded(self.pair, self.options, self._levels),
            pair=self.pair.name,
            models=[model_info(model) for model in self._levels.models],
            device=str(self.pair.target.device),
            vocab_size=self.pair.vocab_size,
            versions={"torch": torch.__version__, "transformers": version("transformers")},
            notes=self.notes,
        )
        return Trace(
            app_version=__version__,
            created=self._created,
            setup=setup,
            prompt=self._describe.prompt(self._prompt_text, self._prompt, len(self.options.forced)),
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
                step = (
                    run_with_cache(partial(self._step, room))
                    if self._recorder
                    else self._step(room)
                )
                self.steps.append(step)
                self._note_finish(step)
                yield step
                if self.finish == "end":
                    return
        finally:
            self._rounds.close()

    def _step(self, room: int) -> Step:
        """Play one round, which commits at most `room` tokens, so that no budget is overrun."""
        clock = _Clock()
        length = len(self._text)
        before = [reader.work() for reader in self._rounds.readers]
        played = self._rounds.play(
            self._text, min(self._longest, room - 1), self._numbers, clock.lap
        )
        self._text.extend(played.committed)
        detail = self._recorder.details(played) if self._recorder else {}
        work = [
            Work(**(r.work() - start))
            for r, start in zip(self._rounds.readers, before, strict=True)
        ]
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

    def _room(self) -> int:
        produced = len(self._text) - len(self._prompt)
        return min(self.options.max_new_tokens - produced, self._levels.context - len(self._text))

    def _note_finish(self, step: Step) -> None:
        if step.committed[-1].token in self.pair.codec.end_ids:
            self.finish = "end"
        elif self._room() <= 0:
            self.finish = (
                "length"
                if len(self._text) - len(self._prompt) >= self.options.max_new_tokens
                else "context"
            )

    def _new_text(self, new: list[int]) -> str:
        """Return the new text as it continues the prompt.

        Both are decoded together, so that spaces between them survive.
        """
        before = self.pair.codec.decode(self._prompt)
        whole = self.pair.codec.decode(self._prompt + new)
        return whole[len(before) :] if whole.startswith(before) else self.pair.codec.decode(new)


def decode(pair: Pair, prompt: str, **options: Any) -> Decoding:
    """Return an iterator that decodes `prompt` step by step.

    options: the fields of `RunOptions`, by keyword.

    gamma is by default the pair's own (`draft_length`). Raises HsdError for bad options here,
    before anything is computed. Stop early with `.close()`; `.trace()` returns the trace so far.
    """
    return Decoding(pair, prompt, RunOptions(**{"gamma": draft_length(pair.name), **options}))


def run(pair: Pair, prompt: str, **options: Any) -> Trace:
    """Decode to the end and return the `Trace`. Options and errors as for `decode`."""
    decoding = decode(pair, prompt, **options)
    for _ in decoding:
        pass
    return decoding.trace()


def rerun(pair: Pair, trace: Trace) -> Trace:
    """Return the trace of decoding again with the random numbers in `trace`.

    The same models give the same tokens.
    """
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
    decoding = Decoding(pair, trace.prompt.text, RunOptions(**o.flat() | chosen), numbers, ids[:at])
    # no further than the record, which may have been stopped early
    for _ in zip(trace.steps, decoding, strict=False):
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


def _recorded(pair: Pair, options: RunOptions, levels: Levels) -> Any:
    """Return a trace's record of a run's options.

    It has the models, exits and thresholds that were chosen for them.
    """
    proposer = "none" if options.system == "plain" else options.proposer
    gamma = 0 if proposer == "none" or options.levelled else options.gamma
    confidence = levels.stopping.least if levels.stopping else 0.0
    own = {
        name: list(getattr(levels, name))
        for name in ("stack", "exits", "thresholds", "level_rules")
    }
    drafting = {
        "proposer": proposer,
        "gamma": gamma,
        "confidence": confidence,
        "engine": engine_of(pair, options),
    }
    return SetupOptions.of({**dict(options), "tree": options.shape[0], **drafting, **own})
