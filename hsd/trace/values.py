"""The kinds of values in a trace, each with its limits.

A trace that comes from outside is untrusted.
"""

import math
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainSerializer

MAX_BYTES = 32_000_000


class Most:
    """The largest numbers of entries in the lists of a trace."""

    STEPS = 65_536
    NODES = 1_024
    TOP = 64
    EVENTS = 16_384
    GROWTH = 131_072
    LEVELS = 8
    TOKENS = 1_000_000


def _a_number(value: float) -> float:
    if math.isnan(value):
        raise ValueError("Input should be a number")
    return value


Written = float | Literal["Infinity", "-Infinity"]
# as JSON can have them
INFINITE: dict[float, Written] = {math.inf: "Infinity", -math.inf: "-Infinity"}
_as_written = PlainSerializer(
    lambda value: INFINITE.get(value, value), return_type=Written, when_used="json"
)
Real = Annotated[float, AfterValidator(_a_number), _as_written]
"""A number that may be infinite, in JSON the text "Infinity"; never NaN."""
Probability = Annotated[float, Field(ge=0, le=1.0001, allow_inf_nan=False)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Positive = Annotated[Real, Field(ge=0)]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Coin = Annotated[float, Field(ge=0, lt=1)]
Count = Annotated[int, Field(ge=0, le=2**31)]
TokenId = Annotated[int, Field(ge=0, le=2**31)]
# a limit also refuses half a character, which no file can hold
Text = Annotated[str, Field(max_length=MAX_BYTES)]
Piece = Annotated[str, Field(max_length=400)]
Name = Annotated[str, Field(max_length=200)]
Hex = Annotated[str, Field(pattern="^([0-9A-F]{2})+$", max_length=400)]
Origin = Literal["draft", "correction", "bonus"]


class Record(BaseModel):
    """Base of all parts: frozen, and unknown fields are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Token(Record):
    """A token: its number, its text by itself, and its bytes.

    The bytes are in hexadecimal, and only there where the token is not whole characters.
    """

    token: TokenId
    piece: Piece
    bytes: Annotated[Hex | None, Field(exclude_if=lambda found: found is None)] = None
