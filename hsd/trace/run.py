"""A whole run: what made it, its steps, how it ended; to JSON and back."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from hsd.errors import HsdError
from hsd.trace.statistics import statistics
from hsd.trace.step import Step, replay_step
from hsd.trace.values import (
    MAX_BYTES,
    MAX_LEVELS,
    MAX_STEPS,
    Count,
    Finite,
    Name,
    Piece,
    Probability,
    Record,
    Text,
    TokenId,
)

TRACE_VERSION: Literal[1] = 1


class ModelInfo(Record):
    """A model that took part: `parameters` counts numbers, shared ones once."""

    name: Name
    revision: Name | None = None
    parameters: Annotated[int, Field(ge=0)]
    dtype: Name


class Setup(Record):
    """What made the run: enough to run it again.

    models: every level of a system that has more than two, smallest first and the target last; `stack` says which
    models of the pair they are, `exits` after how many of the target's layers they end. `thresholds` say how many
    tokens each level below the target hands up at least, `level_rules` how those between the ends verify.
    divergence, tolerance, fuzzy_mode, divergence_on: of the rule "fuzzy", empty without it. notes: what a reader of
    this run has to know, such as that its rule is not lossless.
    """

    system: Name
    rule: Name
    gamma: Annotated[int, Field(ge=0, le=32)]
    drafts: Annotated[int, Field(ge=1, le=64)] = 1
    tree: Name = "paths"
    shadow: Name = ""
    temperature: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    top_k: Count
    top_p: Probability
    max_new_tokens: Count
    seed: int
    pair: Name
    target: ModelInfo
    draft: ModelInfo | None = None
    device: Name
    vocab_size: Annotated[int, Field(ge=1, le=2**31)]
    versions: dict[Name, Name] = {}
    models: Annotated[list[ModelInfo], Field(max_length=MAX_LEVELS)] = []
    stack: Annotated[list[Count], Field(max_length=MAX_LEVELS)] = []
    exits: Annotated[list[Count], Field(max_length=MAX_LEVELS)] = []
    thresholds: Annotated[list[Count], Field(max_length=MAX_LEVELS)] = []
    level_rules: Annotated[list[Name], Field(max_length=MAX_LEVELS)] = []
    divergence: Name = ""
    tolerance: Finite | None = None
    fuzzy_mode: Name = ""
    divergence_on: Name = ""
    notes: Annotated[list[Piece], Field(max_length=64)] = []


class Prompt(Record):
    """The text given, as the target's tokens."""

    text: Annotated[Text, Field(max_length=1_000_000)]
    ids: Annotated[list[TokenId], Field(max_length=1_000_000)]
    pieces: Annotated[list[Piece], Field(max_length=1_000_000)]


class Result(Record):
    """How the run ended: `length` budget used up, `end` end of text, `context` no room left, `cancelled`."""

    text: Text
    finish: Literal["length", "end", "context", "cancelled"]
    seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Trace(Record):
    """A whole run. Pass it on with `to_json`, read it back with `from_json`."""

    trace_version: Literal[1] = TRACE_VERSION
    app_version: Name
    created: Name
    setup: Setup
    prompt: Prompt
    steps: Annotated[list[Step], Field(max_length=MAX_STEPS)]
    result: Result

    @property
    def text(self) -> str:
        """The new text, without the prompt."""
        return self.result.text

    @property
    def tokens(self) -> list[int]:
        """The ids of the new tokens."""
        return [token for step in self.steps for token in step.tokens]

    def stats(self) -> dict[str, Any]:
        """All numbers that are quoted about this run; see `statistics`."""
        return statistics(self.steps, self.result.seconds)

    def replay(self) -> list[int]:
        """The new tokens, derived once more from drafts, coins and thresholds alone.

        Raises HsdError when the record contradicts itself or was made with tracing off.
        """
        return [token for step in self.steps for token in replay_step(step)]

    def to_json(self, indent: int | None = None) -> str:
        return self.model_dump_json(indent=indent)

    @staticmethod
    def from_json(text: str | bytes) -> Trace:
        """Read an untrusted trace. Raises HsdError, one line, for anything that is not a valid one."""
        if len(text) > MAX_BYTES:
            raise HsdError(f"trace of {len(text) / 1e6:.0f} MB: at most {MAX_BYTES / 1e6:.0f} MB can be opened")
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise HsdError(f"this file is not JSON ({_short(error)}): choose a trace saved by hsd") from None
        if not isinstance(data, dict) or "trace_version" not in data:
            raise HsdError("this JSON is not a trace (no trace_version): choose a file saved by hsd")
        if data["trace_version"] != TRACE_VERSION:
            found = str(data["trace_version"])[:20]
            raise HsdError(f"trace version {found} cannot be read, only {TRACE_VERSION}: record the run again")
        return _validated(data)


def _validated(data: dict[str, Any]) -> Trace:
    try:
        return Trace.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part)[:40] for part in first["loc"]) or "trace"
        raise HsdError(f"not a valid trace: {where}: {_short(first['msg'])}") from None


def _short(message: object) -> str:
    return " ".join(str(message).split())[:160]
