"""A benchmark from a file that a visitor brings: every field checked before anything is computed from it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from hsd.bench.report import Benchmark, parse
from hsd.errors import HsdError

MAX_BYTES = 24_000_000
MAX_RECORDS = 20_000
MAX_CASES = 64
LONGEST = 320  # positions in a draft, entries of a histogram, widths of calls: the longest block of a stack, and more
MAX_LEVELS = 8
HUGE = 1e12

Text = Annotated[str, Field(min_length=1, max_length=200)]
Number = Annotated[float, Field(ge=0, le=HUGE)]
Positive = Annotated[float, Field(gt=0, le=HUGE)]
Count = Annotated[int, Field(ge=0, le=int(HUGE))]
Small = Annotated[int, Field(ge=1, le=64)]
Call = Annotated[tuple[Positive, Number, Positive], Field(strict=False)]
Positions = Annotated[list[Annotated[list[Count], Field(min_length=2, max_length=2)]], Field(max_length=LONGEST)]
Digits = Annotated[str, Field(pattern=r"^[0-9]{1,6}$")]


class Part(BaseModel):
    """A part of a file. Further fields, of other versions, are let be."""

    model_config = ConfigDict(strict=True, allow_inf_nan=False)


class Options(Part):
    """How a case decodes."""

    system: Literal["speculative", "plain", "stack", "hispec"] = "speculative"
    rule: Text | None = None
    temperature: Annotated[float, Field(ge=0, le=100)]
    gamma: Small | None = None
    drafts: Small = 1
    tree: Text = "paths"
    nodes: Annotated[int, Field(ge=0, le=10_000)] = 0
    proposer: Text = "model"
    divergence: Text = "kl"
    tolerance: Annotated[float, Field(ge=-HUGE, le=HUGE)] = 0.0
    thresholds: Annotated[list[Small], Field(max_length=MAX_LEVELS)] = []
    exits: Annotated[list[Annotated[int, Field(ge=1, le=10_000)]], Field(max_length=MAX_LEVELS)] = []


class Case(Part):
    """One way to decode; peer: by another library."""

    name: Text
    peer: bool
    options: Options

    @model_validator(mode="after")
    def _complete(self) -> Case:
        drafts = self.options.system != "plain" and not self.peer
        if drafts and (self.options.rule is None or (self.options.system, self.options.gamma) == ("speculative", None)):
            raise ValueError("a case that drafts needs a rule, and one of a draft model its length")
        return self


class Calls(Part):
    """The forward passes of one model: seconds of the first, and by width how many, their seconds and the median."""

    first: Number
    widths: Annotated[dict[Digits, Call], Field(max_length=LONGEST)]


class Times(Part):
    """Seconds of the parts of all steps."""

    draft: Number
    target: Number
    verify: Number


class PeerRun(Part):
    """What every run has, also one of another library; of drafts, what is known."""

    case: str
    prompt: Count
    repetition: Count
    new_tokens: Count
    target_calls: Positive = 1.0
    seconds: Positive
    calls: Annotated[dict[str, Calls], Field(max_length=MAX_LEVELS + 1)]
    drafts: Count = 0
    drafted: Count = 0
    kept: Count = 0
    positions: Positions = []

    @model_validator(mode="after")
    def _complete(self) -> PeerRun:
        if not {"target", "draft"} <= set(self.calls):
            raise ValueError("calls of target and draft are missing")
        return self


class Run(PeerRun):
    """One of our own."""

    new_tokens: Annotated[int, Field(ge=1, le=int(HUGE))]
    target_calls: Positive
    steps: Annotated[int, Field(ge=1, le=int(HUGE))]
    drafted: Count
    kept: Count
    time: Times
    positions: Positions
    kept_histogram: Annotated[dict[Digits, Count], Field(max_length=LONGEST)]


CASES: TypeAdapter[list[Case]] = TypeAdapter(Annotated[list[Case], Field(min_length=1, max_length=MAX_CASES)])


def opened(path: Path) -> Benchmark:
    """The benchmark in that file. Raises HsdError, one line, for anything that is none."""
    name = path.name[:60]
    try:
        if path.stat().st_size > MAX_BYTES:
            raise HsdError(f"{name!r} has over {MAX_BYTES / 1e6:.0f} MB: choose a smaller file of `hsd bench`")
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        raise HsdError(f"{name!r} is not a text file: choose a file written by `hsd bench`") from None
    try:
        benchmark = parse(lines, name)
    except RecursionError:
        raise HsdError(f"{name!r} is nested too deeply: choose a file written by `hsd bench`") from None
    check(benchmark, name)
    return benchmark


def check(benchmark: Benchmark, name: str) -> None:
    """Raise HsdError for the first line that no benchmark can have."""
    peers = _cases(benchmark.header, name)
    if len(benchmark.records) > MAX_RECORDS:
        raise HsdError(f"{name!r} has over {MAX_RECORDS:,} runs: open it with `python -m hsd bench --report` instead")
    for number, record in enumerate(benchmark.records, start=2):
        case = record["case"]
        known = isinstance(case, str) and case in peers
        try:
            (PeerRun if not known or peers[case] else Run).model_validate(record)
        except ValidationError:
            known = False
        if not known:
            raise HsdError(f"line {number} of {name!r} is not a run of this benchmark: choose another file")


def _cases(header: dict[str, Any], name: str) -> dict[str, bool]:
    """Case → whether it is of another library."""
    try:
        found = CASES.validate_python(header.get("cases"))
    except ValidationError:
        raise HsdError(
            f"the first line of {name!r} does not name its cases: choose a file written by `hsd bench`"
        ) from None
    if found[0].options.system != "plain":
        raise HsdError(f"{name!r} does not begin with plain decoding: choose a file written by `hsd bench`")
    if len({case.name for case in found}) < len(found):
        raise HsdError(f"{name!r} names a case twice: choose a file written by `hsd bench`")
    return {case.name: case.peer for case in found}
