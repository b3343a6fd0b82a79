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

from hsd.draft import LAYOUTS, Layout, ModelProposer, NoProposer, numbers_needed
from hsd.errors import HsdError
from hsd.models.base import LanguageModel, Pair
from hsd.record import ChainRecorder, Recorder, TreeRecorder
from hsd.rng import Numbers, Recorded, RoundNumbers, Streams
from hsd.rounds import ChainRounds, Round, Rounds, TreeRounds
from hsd.sampling import Sampling
from hsd.trace import Committed, ModelInfo, Origin, Prompt, Result, Setup, Step, Times, Trace
from hsd.verify import RULES, TREE_RULES, VANILLA, Rule, TreeRule, check_fit, find_rule, find_tree_rule
from hsd.version import __version__

MAX_GAMMA = 32
MAX_NEW_TOKENS = 65_536
MAX_TREE_NODES = 512
LIMITS = (("gamma", 1, MAX_GAMMA), ("max_new_tokens", 1, MAX_NEW_TOKENS), ("drafts", 1, 64))
SYSTEMS = ("speculative", "plain")
ENGINES = ("eager", "captured")
Finish = Literal["length", "end", "context", "cancelled"]


@dataclass(frozen=True)
class Options:
    """What a run is asked to do. Raises HsdError when a value is out of range.

    system: "speculative" (a draft model proposes) or "plain" (the target alone). rule: a name in `hsd.RULES`.
    gamma: drafted tokens per step, 1 to 32. temperature, top_k, top_p: see `hsd.sampling.Sampling`.
    drafts: how many drafts per step; from 2 on they form a tree, and `rule` may also name a tree rule.
    tree: "paths" (independent drafts), "comb" (one draft with drafts - 1 spare continuations at each of its nodes),
    "distinct" and "top" let the first tokens differ, drawn without replacement or chosen as the likeliest.
    seed: any integer. trace: record every step in detail; False computes none of it. shadow: the rule that a trace
    compares with, on the same drafts and coins; "" is the vanilla rule for such drafts. engine: "eager", or "captured":
    steps of fixed shape that wait for the device only once, as CUDA graphs on a GPU; one draft, without a trace.
    """

    rule: str = "hsd"
    gamma: int = 5
    max_new_tokens: int = 64
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    seed: int = 0
    system: str = "speculative"
    drafts: int = 1
    tree: str = "paths"
    shadow: str = ""
    trace: bool = True
    engine: str = "eager"

    def __post_init__(self) -> None:
        if self.system not in SYSTEMS:
            raise HsdError(f"unknown system {self.system!r}: choose one of {', '.join(SYSTEMS)}")
        for name, low, high in LIMITS:
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
                raise HsdError(f"{name} {value!r}: choose a whole number from {low} to {high:,}")
        if self.tree not in LAYOUTS:
            raise HsdError(f"unknown tree {self.tree!r}: choose one of {', '.join(LAYOUTS)}")
        self._check_rules()
        self._check_engine()
        if not isinstance(self.seed, int):
            raise HsdError(f"seed {self.seed!r}: choose a whole number")
        _ = self.sampling

    def _check_rules(self) -> None:
        if self.drafts > 1:
            nodes = numbers_needed(self.layout.forks(self.drafts, self.gamma), self.gamma)
            if nodes > MAX_TREE_NODES:
                raise HsdError(
                    f"a tree of {nodes:,} nodes is over the limit of {MAX_TREE_NODES}: reduce drafts or gamma"
                )
        for name in (self.rule, self.shadow_rule):
            self.find(name)

    def _check_engine(self) -> None:
        if self.engine not in ENGINES:
            raise HsdError(f"unknown engine {self.engine!r}: choose one of {', '.join(ENGINES)}")
        if self.engine == "eager":
            return
        rule = self.find(self.rule)
        if self.trace or self.system == "plain" or not isinstance(rule, Rule) or rule.resamples:
            raise HsdError("engine 'captured' is for one draft, without a trace, by a rule that needs no further calls")

    def find(self, name: str) -> Rule | TreeRule:
        """The rule of that name, for one draft or for trees. Raises HsdError when there is none, or it does not fit."""
        if self.drafts == 1:
            if name in TREE_RULES:
                raise HsdError(f"rule {name} is for several drafts: choose drafts of 2 or more")
            return find_rule(name)
        rule = find_tree_rule(name)
        check_fit(rule, self.tree, self.layout.siblings)
        return rule

    @property
    def layout(self) -> Layout:
        return LAYOUTS[self.tree]

    @property
    def shadow_rule(self) -> str:
        """The name of the rule to compare with."""
        return self.shadow or ("tokenwise" if self.drafts == 1 else VANILLA[self.layout.siblings])

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

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.laps[name] += now - self._last
        self._last = now

    def times(self) -> Times:
        rest = time.perf_counter() - self.start - sum(self.laps.values())
        return Times(**self.laps, rest=max(rest, 0.0))


class Decoding(Iterator[Step]):
    """A run under way: iterate to decode step by step; `trace()` gives what there is so far at any time.

    prompt_ids: the prompt as tokens, where it is not to be encoded here. Models' caches are freed when the run ends,
    fails or is closed.
    """

    def __init__(
        self,
        pair: Pair,
        prompt: str,
        options: Options,
        numbers: Numbers | None = None,
        prompt_ids: list[int] | None = None,
    ) -> None:
        self.pair, self.options = pair, options
        self._prompt_text, self._prompt = prompt, list(prompt_ids) if prompt_ids else pair.encode(prompt)
        self._numbers = numbers or Streams(options.seed)
        self._text = list(self._prompt)
        self._created = datetime.now(timezone.utc).isoformat(timespec="seconds")
        self._begin = time.perf_counter()
        self._seconds = 0.0
        self.steps: list[Step] = []
        self.finish: Finish = "cancelled"
        self._rounds = self._make_rounds()
        self._recorder = self._make_recorder() if options.trace else None
        self._steps = self._decode()

    def __next__(self) -> Step:
        begin = time.perf_counter()
        try:
            with torch.inference_mode():
                return next(self._steps)
        except torch.OutOfMemoryError:
            made = sum(len(step.committed) for step in self.steps)
            raise HsdError(
                f"out of memory after {made} new tokens: choose a smaller gamma, fewer drafts or a smaller pair"
            ) from None
        finally:
            self._seconds += time.perf_counter() - begin  # what the consumer does between steps does not count

    def close(self) -> None:
        """End the run now; what was decoded stays."""
        self._steps.close()
        self._rounds.close()

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
        options = {k: v for k, v in asdict(self.options).items() if k not in ("trace", "engine")}
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
            self._rounds.prefill(self._prompt)
            while (room := self._room()) > 0:
                step = self._step(room)
                self.steps.append(step)
                self._note_finish(step)
                yield step
                if self.finish == "end":
                    return
        finally:
            self._rounds.close()

    def _step(self, room: int) -> Step:
        """One round. Never commits more than `room` tokens, so no budget is ever overrun."""
        clock, length = _Clock(), len(self._text)
        played = self._rounds.play(self._text, min(self.options.gamma, room - 1), self._numbers, clock.lap)
        self._text.extend(played.committed)
        detail = self._recorder.details(played) if self._recorder else {}
        return Step(
            index=len(self.steps),
            context_length=length,
            drafted=played.drafted,
            depth=played.depth,
            kept=played.kept,
            target_calls=played.target_calls,
            committed=self._origins(played),
            times=clock.times(),
            start=clock.start - self._begin,
            **detail,
        )

    def _origins(self, played: Round) -> list[Committed]:
        last: Origin = "bonus" if played.bonus else "correction"
        piece = self.pair.codec.piece
        return [
            Committed(token=token, piece=piece(token), origin="draft" if i < played.kept else last)
            for i, token in enumerate(played.committed)
        ]

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

    def _context_used(self) -> int:
        """How many tokens are read at most: prompt, new ones, and a draft that is thrown away."""
        return len(self._prompt) + self.options.max_new_tokens + self.options.gamma + 1

    def _make_rounds(self) -> Rounds:
        """Who proposes and which rule verifies, as the options say."""
        pair, options = self.pair, self.options
        if options.system == "plain":
            nothing = NoProposer(pair.vocab_size, pair.target.device)
            return ChainRounds(pair, options.sampling, RULES["tokenwise"], nothing)
        rule = options.find(options.rule)
        if isinstance(rule, Rule) and options.engine == "captured" and len(self._prompt) > 1:
            from hsd.rounds.captured import CapturedRounds

            return CapturedRounds(pair, options.sampling, rule, self._context_used())
        if isinstance(rule, TreeRule):
            return TreeRounds(pair, options.sampling, rule, options.drafts, options.tree)
        return ChainRounds(pair, options.sampling, rule, ModelProposer(pair.draft, options.sampling, pair.vocab_size))

    def _make_recorder(self) -> Recorder:
        """Who describes the steps."""
        options, codec = self.options, self.pair.codec
        if options.system == "plain":
            return ChainRecorder(codec, "tokenwise", "tokenwise")
        rule, shadow = options.find(options.rule), options.find(options.shadow_rule)
        if isinstance(rule, TreeRule):
            assert isinstance(shadow, TreeRule)
            return TreeRecorder(codec, rule, shadow)
        return ChainRecorder(codec, rule.name, shadow.name)

    def _new_text(self, new: list[int]) -> str:
        """The new text as it continues the prompt: decoded together, so that spaces between them survive."""
        before, whole = self.pair.codec.decode(self._prompt), self.pair.codec.decode(self._prompt + new)
        return whole[len(before) :] if whole.startswith(before) else self.pair.codec.decode(new)


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
    # Two drafts may draw the same node, each with a number of its own, so a tree's record does not hold them all.
    numbers = Recorded([_numbers_of(step) for step in trace.steps]) if s.drafts == 1 else Streams(s.seed)
    names = [name for name in Options.__dataclass_fields__ if name not in ("gamma", "trace", "engine")]
    options = Options(gamma=max(s.gamma, 1), **{name: getattr(s, name) for name in names})
    decoding = Decoding(pair, trace.prompt.text, options, numbers, trace.prompt.ids)
    for _ in zip(trace.steps, decoding, strict=False):  # no further than the record, which may have been stopped early
        pass
    decoding.close()
    return decoding.trace()


def _numbers_of(step: Step) -> RoundNumbers:
    after = [step.residual.draw, *step.extra_draws] if step.residual else []
    return RoundNumbers([n.draw for n in step.nodes], [n.coin for n in step.nodes], after)


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
