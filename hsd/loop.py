"""Decoding: draft, score, verify, commit, roll back. End of text and budgets live here and nowhere else.

One loop serves every combination of a proposer and a rule; plain decoding is the one that proposes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from importlib.metadata import version
from typing import Literal

import torch
from torch import Tensor

from hsd.draft import Draft, ModelProposer, NoProposer, Proposer
from hsd.errors import HsdError
from hsd.models.base import LanguageModel, Pair
from hsd.record import Judgement, StepRecorder
from hsd.rng import Numbers, Recorded, Round, Streams
from hsd.sampling import Sampling, draw
from hsd.trace import Committed, ModelInfo, Origin, Prompt, Result, Setup, Step, Times, Trace
from hsd.verify import Rule, find_rule
from hsd.verify.law import residual_row
from hsd.version import __version__

MAX_GAMMA = 32
MAX_NEW_TOKENS = 65_536
SYSTEMS = ("speculative", "plain")
Finish = Literal["length", "end", "context", "cancelled"]


@dataclass(frozen=True)
class Options:
    """What a run is asked to do. Raises HsdError when a value is out of range.

    system: "speculative" (a draft model proposes) or "plain" (the target alone). rule: a name in `hsd.RULES`.
    gamma: drafted tokens per step, 1 to 32. temperature, top_k, top_p: see `hsd.sampling.Sampling`.
    seed: any integer. trace: record every step in detail; False computes none of it.
    """

    rule: str = "hsd"
    gamma: int = 5
    max_new_tokens: int = 64
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    seed: int = 0
    system: str = "speculative"
    trace: bool = True

    def __post_init__(self) -> None:
        find_rule(self.rule)
        if self.system not in SYSTEMS:
            raise HsdError(f"unknown system {self.system!r}: choose one of {', '.join(SYSTEMS)}")
        for name, low, high in (("gamma", 1, MAX_GAMMA), ("max_new_tokens", 1, MAX_NEW_TOKENS)):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
                raise HsdError(f"{name} {value!r}: choose a whole number from {low} to {high:,}")
        if not isinstance(self.seed, int):
            raise HsdError(f"seed {self.seed!r}: choose a whole number")
        _ = self.sampling

    @property
    def sampling(self) -> Sampling:
        return Sampling(self.temperature, self.top_k, self.top_p)


@dataclass
class _Clock:
    """Adds up where a step's time goes."""

    start: float = field(default_factory=time.perf_counter)
    laps: dict[str, float] = field(default_factory=lambda: dict.fromkeys(("draft", "target", "verify"), 0.0))

    def __post_init__(self) -> None:
        self._last = self.start

    def skip(self) -> None:
        """What passed since the last lap belongs to nothing that is named."""
        self._last = time.perf_counter()

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.laps[name] += now - self._last
        self._last = now

    def times(self) -> Times:
        rest = time.perf_counter() - self.start - sum(self.laps.values())
        return Times(**self.laps, rest=max(rest, 0.0))


class Decoding(Iterator[Step]):
    """A run under way: iterate to decode step by step; `trace()` gives what there is so far at any time.

    Models' caches are freed when the run ends, fails or is closed.
    """

    def __init__(self, pair: Pair, prompt: str, options: Options, numbers: Numbers | None = None) -> None:
        self.pair, self.options = pair, options
        self._prompt_text, self._prompt = prompt, pair.encode(prompt)
        self._rule: Rule = find_rule(options.rule)
        self._numbers = numbers or Streams(options.seed)
        self._text = list(self._prompt)
        self._created = datetime.now(timezone.utc).isoformat(timespec="seconds")
        self._begin = time.perf_counter()
        self._seconds = 0.0
        self.steps: list[Step] = []
        self.finish: Finish = "cancelled"
        self._target = pair.target.start()
        self._proposer = self._make_proposer()
        self._recorder = StepRecorder(pair.codec, self._rule) if options.trace else None
        self._steps = self._decode()

    def __next__(self) -> Step:
        begin = time.perf_counter()
        try:
            with torch.inference_mode():
                return next(self._steps)
        finally:
            self._seconds += time.perf_counter() - begin  # what the consumer does between steps does not count

    def close(self) -> None:
        """End the run now; what was decoded stays."""
        self._steps.close()
        self._release()

    def trace(self) -> Trace:
        """The trace of all steps so far."""
        new = [token for step in self.steps for token in step.tokens]
        return Trace(
            app_version=__version__,
            created=self._created,
            setup=self.setup(),
            prompt=self.prompt(),
            steps=self.steps,
            result=Result(text=self._new_text(new), finish=self.finish, seconds=self._seconds),
        )

    def setup(self) -> Setup:
        """What made this run."""
        options = {k: v for k, v in asdict(self.options).items() if k != "trace"}
        speculative = self.options.system != "plain"
        return Setup(
            **(options if speculative else options | {"gamma": 0}),
            pair=self.pair.name,
            target=model_info(self.pair.target),
            draft=model_info(self.pair.draft) if speculative else None,
            device=str(self.pair.target.device),
            vocab_size=self.pair.vocab_size,
            versions={"torch": torch.__version__, "transformers": version("transformers")},
        )

    def prompt(self) -> Prompt:
        """The prompt as the target reads it."""
        piece = self.pair.codec.piece
        return Prompt(text=self._prompt_text, ids=self._prompt, pieces=[piece(t) for t in self._prompt])

    def _decode(self) -> Generator[Step, None, None]:
        try:
            self._prefill()
            while (room := self._room()) > 0:
                step = self._step(room)
                self.steps.append(step)
                self._note_finish(step)
                yield step
                if self.finish == "end":
                    return
        finally:
            self._release()

    def _step(self, room: int) -> Step:
        """One round. Never commits more than `room` tokens, so no budget is ever overrun."""
        clock, length = _Clock(), len(self._text)
        width = min(self.options.gamma, room - 1)
        draws, coins = self._numbers.draft(width), self._numbers.coins(width)
        clock.skip()
        draft = self._proposer.propose(self._text, draws).until_end(self.pair.codec.end_ids)
        clock.lap("draft")
        p = self._score(draft)
        clock.lap("target")
        judged = self._verify(p, draft, coins)
        clock.lap("verify")
        extra, extra_draws = self._resample(p, draft, judged) if self._rule.resamples else ([], [])
        clock.lap("target" if extra else "verify")
        committed = [*draft.tokens[: judged.kept].tolist(), *judged.after, *extra]
        self._commit(committed)
        detail = self._recorder.details(p, draft, judged, extra_draws) if self._recorder else {}
        return Step(
            index=len(self.steps),
            context_length=length,
            drafted=len(draft.tokens),
            kept=judged.kept,
            target_calls=1 + len(extra),
            committed=self._origins(committed, judged, len(draft.tokens)),
            times=clock.times(),
            start=clock.start - self._begin,
            **detail,
        )

    def _score(self, draft: Draft) -> Tensor:
        """(γ+1, V): the target's distributions along the draft, by one forward pass."""
        unread = torch.tensor(self._text[self._target.length :], device=draft.tokens.device)
        logits = self._target.forward(torch.cat([unread, draft.tokens]), keep=len(draft.tokens) + 1)
        return self.options.sampling.probabilities(logits[:, : self.pair.vocab_size])

    def _verify(self, p: Tensor, draft: Draft, coins: Tensor) -> Judgement:
        """Judge the draft and draw the token that follows what is kept."""
        coins = coins[: len(draft.tokens)].to(p.device)
        number = self._numbers.after(1)
        law = self._rule.law(p, draft.q.to(p.device), draft.tokens.to(p.device))
        kept = int(law.kept(coins))
        if kept and kept == len(draft.tokens) and int(draft.tokens[-1]) in self.pair.codec.end_ids:
            return Judgement(law, coins, number, kept, None)  # the text has ended: nothing may follow
        return Judgement(law, coins, number, kept, int(draw(law.next(kept), number.to(p.device))))

    def _resample(self, p: Tensor, draft: Draft, judged: Judgement) -> tuple[list[int], list[float]]:
        """Naive HSD after a rejection: draw the block's other positions from residuals, one target call each."""
        kept, start = judged.kept, len(self._text)
        missing = len(draft.tokens) - kept - 1
        path = draft.tokens[:kept]
        log_ratio = (_token_logs(p, path) - _token_logs(draft.q, path)).sum()
        token, extra, draws = judged.token, list[int](), list[float]()
        p_row, q_row = p[kept], draft.q[kept] if missing > 0 else p[kept]
        while token is not None and len(extra) < missing and token not in self.pair.codec.end_ids:
            log_ratio = log_ratio + p_row[token].double().log() - q_row[token].double().log()
            p_row, q_row = self._reread(token, start + kept + len(extra))
            row = residual_row(p_row, q_row, log_ratio.clamp_max(0).exp(), (-log_ratio).clamp_max(0).exp())
            number = self._numbers.after(1)
            token = int(draw(row, number.to(p.device)))
            extra.append(token)
            draws.append(float(number))
        return extra, draws

    def _reread(self, token: int, position: int) -> tuple[Tensor, Tensor]:
        """The distributions of target and draft after `token` at `position`, one call of each: (V,), (V,)."""
        self._target.crop(position)
        self._proposer.rollback(position)
        read = torch.tensor([token], device=self.pair.target.device)
        logits = self._target.forward(read, keep=1)[:, : self.pair.vocab_size]
        return self.options.sampling.probabilities(logits)[0], self._proposer.extend(read)

    def _commit(self, tokens: list[int]) -> None:
        """Append `tokens`. Both models keep what they have read of the new text, except for its last token."""
        self._text.extend(tokens)
        self._target.crop(len(self._text) - 1)
        self._proposer.rollback(len(self._text) - 1)

    def _origins(self, tokens: list[int], judged: Judgement, drafted: int) -> list[Committed]:
        last: Origin = "bonus" if judged.kept == drafted else "correction"
        piece = self.pair.codec.piece
        return [
            Committed(token=token, piece=piece(token), origin="draft" if i < judged.kept else last)
            for i, token in enumerate(tokens)
        ]

    def _prefill(self) -> None:
        """Read the prompt but for its last token, which the first step feeds: no step is wider than the others."""
        if len(self._prompt) > 1:
            ids = torch.tensor(self._prompt[:-1], device=self.pair.target.device)
            self._target.forward(ids, keep=1)

    def _room(self) -> int:
        """How many tokens may still be committed."""
        produced = len(self._text) - len(self._prompt)
        return min(self.options.max_new_tokens - produced, self._context() - len(self._text))

    def _context(self) -> int:
        return self.pair.target.context if self.options.system == "plain" else self.pair.context

    def _note_finish(self, step: Step) -> None:
        if step.committed[-1].token in self.pair.codec.end_ids:
            self.finish = "end"
        elif self._room() <= 0:
            self.finish = "length" if len(self._text) - len(self._prompt) >= self.options.max_new_tokens else "context"

    def _make_proposer(self) -> Proposer:
        if self.options.system == "plain":
            return NoProposer(self.pair.vocab_size, self.pair.target.device)
        return ModelProposer(self.pair.draft, self.options.sampling, self.pair.vocab_size)

    def _new_text(self, new: list[int]) -> str:
        """The new text as it continues the prompt: decoded together, so that spaces between them survive."""
        before, whole = self.pair.codec.decode(self._prompt), self.pair.codec.decode(self._prompt + new)
        return whole[len(before) :] if whole.startswith(before) else self.pair.codec.decode(new)

    def _release(self) -> None:
        self._target.close()
        self._proposer.close()


def decode(pair: Pair, prompt: str, **options: object) -> Decoding:
    """Decode `prompt` step by step: an iterator of `Step`, with the keyword options of `Options`.

    Bad options raise HsdError here, before anything is computed. Stop early with `.close()`; `.trace()` gives
    what was decoded so far.
    """
    return Decoding(pair, prompt, make_options(**options))


def run(pair: Pair, prompt: str, **options: object) -> Trace:
    """Decode to the end and return the `Trace`. Options as for `decode`."""
    decoding = decode(pair, prompt, **options)
    for _ in decoding:
        pass
    return decoding.trace()


def rerun(pair: Pair, trace: Trace) -> Trace:
    """Decode again with the random numbers recorded in `trace`: on the same models it gives the same tokens."""
    s = trace.setup
    numbers = Recorded([_numbers_of(step) for step in trace.steps])
    options = Options(s.rule, max(s.gamma, 1), s.max_new_tokens, s.temperature, s.top_p, s.top_k, s.seed, s.system)
    decoding = Decoding(pair, trace.prompt.text, options, numbers)
    for _ in decoding:
        pass
    return decoding.trace()


def _numbers_of(step: Step) -> Round:
    after = [step.residual.draw, *step.extra_draws] if step.residual else []
    return Round([n.draw for n in step.nodes], [n.coin for n in step.nodes], after)


def make_options(**options: object) -> Options:
    """`Options` from keywords. Raises HsdError for a name that does not exist."""
    known = Options.__dataclass_fields__
    unknown = [name for name in options if name not in known]
    if unknown:
        raise HsdError(f"unknown option {unknown[0]!r}: choose from {', '.join(known)}")
    return Options(**options)  # type: ignore[arg-type]


def model_info(model: LanguageModel) -> ModelInfo:
    """What a trace says about a model."""
    return ModelInfo(name=model.name, revision=model.revision, parameters=model.parameters, dtype=model.dtype)


def _token_logs(rows: Tensor, tokens: Tensor) -> Tensor:
    """log rows[t, tokens[t]] for the first len(tokens) rows, float64."""
    return rows[: len(tokens)].gather(-1, tokens.unsqueeze(-1)).squeeze(-1).double().log()
