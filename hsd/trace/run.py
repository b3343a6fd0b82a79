"""A whole run: what made it, its steps, how it ended; to JSON and back."""

import json
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, model_validator
from pydantic_core import from_json

from hsd.errors import HsdError, first_line, one_line
from hsd.trace.format import plural
from hsd.trace.options import SetupOptions
from hsd.trace.step import Step, replay_step
from hsd.trace.table import as_frame
from hsd.trace.values import (
    MAX_BYTES,
    Count,
    Hex,
    Most,
    Name,
    Piece,
    Probability,
    Record,
    Seconds,
    Text,
    TokenId,
)
from hsd.values import shown, whole_between

TRACE_VERSION: Literal[2] = 2
SCHEMA_ID = f"urn:hsd-speculative-decoding:trace:{TRACE_VERSION}"


class ModelInfo(Record):
    """A model that took part: `parameters` counts numbers, shared ones once.

    drafted: how many tokens it can propose, None for all; the others have q = 0. layers: how many
    it has, if known. head_cost: of a row of an exit's output head, in layers. taps: after how many
    of the target's layers a head reads.
    """

    name: Name
    revision: Name | None = None
    parameters: Annotated[int, Field(ge=0)]
    dtype: Name
    drafted: Count | None = None
    layers: Count | None = None
    head_cost: Annotated[float, Field(ge=0)] | None = None
    taps: Annotated[list[Count], Field(max_length=16)] = []


class Setup(Record):
    """What made the run: enough to run it again.

    models: all that took part, smallest first and the target last. notes: what a reader of this run
    has to know, such as that its rule is not lossless.
    """

    options: SetupOptions
    pair: Name
    models: Annotated[list[ModelInfo], Field(min_length=1, max_length=Most.LEVELS)]
    device: Name
    vocab_size: Annotated[int, Field(ge=1, le=2**31)]
    versions: dict[Name, Name] = {}
    notes: Annotated[list[Piece], Field(max_length=64)] = []

    @property
    def target(self) -> ModelInfo:
        return self.models[-1]


class Prompt(Record):
    """The prompt as tokens.

    bytes: by place, of parts of characters; forced: how many of the last begin the text.
    """

    text: Annotated[Text, Field(max_length=1_000_000)]
    ids: Annotated[list[TokenId], Field(max_length=1_000_000)]
    pieces: Annotated[list[Piece], Field(max_length=1_000_000)]
    bytes: Annotated[
        dict[Count, Hex], Field(exclude_if=lambda found: not found, max_length=1_000_000)
    ] = {}
    forced: Annotated[Count, Field(exclude_if=lambda count: not count)] = 0


class Result(Record):
    """The text of a run, and how it ended.

    finish: `length` budget used up, `end` end of text, `context` no room left, `cancelled`.
    """

    text: Text
    finish: Literal["length", "end", "context", "cancelled"]
    seconds: Seconds


class Scores(Record):
    """Of each new token the probability under target and draft, given the text before it.

    Both are of the distributions that are sampled from. With them a reader knows what any rule
    would have kept of drafts of this text (`hsd.estimate`), also of plain decoding.
    """

    p: Annotated[list[Probability], Field(max_length=Most.TOKENS)]
    q: Annotated[list[Probability], Field(max_length=Most.TOKENS)]


MOST_INDENT = 16  # spaces
# the page is above this room, and loaded only where a notebook shows a run
PAGE = "hsd.app.element"


class Trace(Record):
    """A whole run. Pass it on with `to_json`, read it back with `from_json`."""

    trace_version: Literal[2] = TRACE_VERSION
    app_version: Name
    created: Name
    setup: Setup
    prompt: Prompt
    steps: Annotated[list[Step], Field(max_length=Most.STEPS)]
    result: Result
    scores: Annotated[Scores | None, Field(exclude_if=lambda scores: scores is None)] = None

    @model_validator(mode="after")
    def _known_to_its_steps(self) -> "Trace":
        for step in self.steps:
            object.__setattr__(step, "_run", self)
        return self

    @model_validator(mode="after")
    def _scores_fit(self) -> "Trace":
        """Raise ValueError unless scores are of all new tokens; of more where steps were cut."""
        count = len(self.tokens)
        if self.scores and min(len(self.scores.p), len(self.scores.q)) < count:
            raise ValueError(f"the scores are of fewer than {count:,} tokens")
        return self

    @model_validator(mode="after")
    def _steps_follow(self) -> "Trace":
        """Raise ValueError where steps contradict each other or prompt, vocabulary or models."""
        under = len(self.setup.models) - 1
        length = len(self.prompt.ids)
        begun = 0.0
        if len(self.prompt.pieces) != length:
            raise ValueError(f"the prompt has {length} tokens and {len(self.prompt.pieces)} pieces")
        if {len(step.below) for step in self.steps} not in (set(), {0}, {under}):
            raise ValueError(f"not every step tells of the {under} levels below the target")
        for place, step in enumerate(self.steps):
            levels = {event.level for event in step.events} <= {*range(max(under, 1))}
            follows = (step.index, step.context_length) == (place, length)
            if not follows or step.start < begun or not levels:
                parts = "its index, context, start or a level"
                raise ValueError(f"step {place} does not follow the one above: {parts}")
            length = length + len(step.committed)
            begun = step.start
        drafted = (node.token for step in self.steps for node in step.nodes)
        if max([0, *self.prompt.ids, *self.tokens, *drafted]) >= self.setup.vocab_size:
            raise ValueError(f"a token is outside the vocabulary of {self.setup.vocab_size:,}")
        return self

    def __repr__(self) -> str:
        options = self.setup.options
        made_by = options.system if options.system == "plain" else options.rule
        counts = f"{plural(len(self.tokens), 'token')} in {plural(len(self.steps), 'step')}"
        return one_line(f"<Trace: {self.setup.pair}, {made_by}, {counts}>")

    __str__ = __repr__

    def _html(self, step: int | None = None) -> str:
        """Return a step as HTML for a notebook, from 1; by default the most telling one."""
        return str(import_module(PAGE).show(self, step)._repr_html_())

    def _repr_html_(self) -> str:
        return self._html()

    @property
    def text(self) -> str:
        """The new text, without the prompt."""
        return self.result.text

    @property
    def tokens(self) -> list[int]:
        """The ids of the new tokens."""
        return [token for step in self.steps for token in step.tokens]

    def stats(self) -> dict[str, Any]:
        """Return all numbers that are quoted about this run, by name.

        See `statistics` for definitions and units.
        """
        return statistics(self.steps, self.result.seconds)

    def replay(self) -> list[int]:
        """Derive the new tokens again from the recorded coins and thresholds.

        Raises HsdError if these do not fit.
        """
        own = self.setup.options.own is not None
        return [token for step in self.steps for token in replay_step(step, own)]

    def to_pandas(self) -> Any:
        """Return a pandas DataFrame with a row per drafted token.

        `hsd.trace.table.COLUMNS` says what each column means. Raises HsdError where pandas is not
        installed, and for a run without its drafts.
        """
        return as_frame(self.steps)

    def to_json(self, indent: int | None = None) -> str:
        """Return this trace as JSON, in lines if `indent` says by how many spaces.

        Raises HsdError for another indent than a whole number.
        """
        if indent is not None:
            indent = whole_between("indent", indent, 0, MOST_INDENT)
        return self.model_dump_json(indent=indent)

    @staticmethod
    def schema_for_others() -> dict[str, Any]:
        """The JSON Schema of a saved trace, which names itself.

        `SCHEMA_ID` changes with `TRACE_VERSION` only.
        """
        schema = Trace.model_json_schema(mode="serialization")
        return {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$id": SCHEMA_ID,
            **schema,
        }

    @staticmethod
    def from_file(file: str | Path) -> "Trace":
        """Read a saved trace.

        Raises HsdError, one line, when it cannot be read or is no valid one.
        """
        if not isinstance(file, str | Path):
            raise HsdError(f"file {shown(file)}: give the path of a trace saved by hsd")
        try:
            with Path(file).expanduser().open("rb") as stream:
                content = stream.read(MAX_BYTES + 1)
        # also for a home that is unknown, and a path with a null byte
        except (OSError, RuntimeError, ValueError) as error:
            reason = getattr(error, "strerror", None) or first_line(error)
            raise HsdError(
                f"cannot read {str(file)[-200:]!r}: {reason}: choose a trace saved by hsd"
            ) from None
        return Trace.from_json(content)

    @staticmethod
    def from_json(text: str | bytes) -> "Trace":
        """Read an untrusted trace. Raises HsdError, one line, for what is not a valid one."""
        if isinstance(text, bytearray | memoryview):
            text = bytes(text)
        if not isinstance(text, str | bytes):
            raise HsdError(f"{shown(text)} is no trace: give the text or bytes of a saved one")
        if len(text) > MAX_BYTES:
            raise HsdError(
                f"a trace of over {MAX_BYTES / 1e6:.0f} MB cannot be opened: record fewer tokens"
            )
        try:
            known = text if isinstance(text, str) else text.decode(json.detect_encoding(text))
            data = from_json(known, allow_inf_nan=False)
        except (TypeError, ValueError) as error:  # TypeError: of a lone surrogate
            raise HsdError(
                f"this file is not JSON ({first_line(error)}): choose a trace saved by hsd"
            ) from None
        if not isinstance(data, dict) or "trace_version" not in data:
            raise HsdError(
                "this JSON is not a trace (no trace_version): choose a file saved by hsd"
            )
        if (version := data["trace_version"]) != TRACE_VERSION:
            what = f"trace version {shown(version)} cannot be read, only {TRACE_VERSION}"
            raise HsdError(f"{what}: record the run again")
        try:
            return Trace.model_validate(data)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(str(part)[:40] for part in first["loc"]) or "trace"
            raise HsdError(
                f"not a valid trace: {where}: {' '.join(first['msg'].split())[:160]}"
            ) from None


def statistics(steps: list[Step], seconds: float) -> dict[str, Any]:
    """Return the numbers that are quoted about a run.

    Block efficiency is committed tokens per target call, correction and bonus included, prefill not
    counted. Acceptance at position i: of the steps that drafted at least i tokens, the share that
    kept at least i. `calls_below` are the forward calls of each level under the target, smallest
    first, where they were counted. `tokens_per_second` counts the whole run, prefill included.
    """
    tokens = sum(len(s.committed) for s in steps)
    calls = sum(s.target_calls for s in steps)
    drafted = sum(s.drafted for s in steps)
    kept = sum(s.kept for s in steps)
    places = range(1, 1 + max((s.depth for s in steps), default=0))
    return {
        "new_tokens": tokens,
        "steps": len(steps),
        "target_calls": calls,
        "drafted": drafted,
        "kept": kept,
        "block_efficiency": tokens / calls if calls else 0.0,
        "acceptance_rate": kept / drafted if drafted else 0.0,
        "acceptance_by_position": [
            sum(s.kept >= i for s in steps) / sum(s.depth >= i for s in steps) for i in places
        ],
        "kept_histogram": dict(sorted(Counter(s.kept for s in steps).items())),
        "calls_below": [
            sum(calls) for calls in zip(*([w.calls for w in s.below] for s in steps), strict=True)
        ],
        "origins": dict(Counter(c.origin for s in steps for c in s.committed)),
        "seconds": seconds,
        "tokens_per_second": tokens / seconds if seconds else 0.0,
        "time": {
            k: sum(getattr(s.times, k) for s in steps)
            for k in ("draft", "target", "verify", "rest")
        },
    }
