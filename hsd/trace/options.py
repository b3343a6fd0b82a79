"""The options of a run as a trace has them: those of `hsd.options`, in groups."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, create_model

from hsd.options import MAX_LEVELS, Option, Options
from hsd.paths import read_yaml
from hsd.trace.values import Count, Most, Name, Piece, Probability, Real, Record

ABOUT: dict[str, str] = read_yaml(Path(__file__).with_suffix(".yaml"))
Row = Annotated[list[Probability], Field(max_length=Most.TOP)]
PLACES = {
    name: one.place.rpartition(".")[::2] for name, one in Options.options().items() if one.place
}
"""Option → its group in a trace, "" for the top, and its name there."""


def _field(option: Option) -> tuple[Any, Any]:
    """Return type and default of an option in a trace, where 0 may also say: not given."""
    low = None if option.low is None else min(option.low, 0)
    kind: Any = {str: Name, float: Real, int: int, bool: bool}[option.kind]
    kind = Annotated[kind, Field(ge=low, le=option.high)]
    kind = kind | Literal[tuple(option.words)] if option.words else kind
    if option.several:
        kinds = Annotated[list[kind], Field(max_length=MAX_LEVELS)]
        return kinds, Field([], description=option.help)
    return kind, Field(... if option.always else option.default, description=option.help)


def _fields(group: str) -> dict[str, Any]:
    return {
        inner: _field(Options.options()[name])
        for name, (of, inner) in PLACES.items()
        if of == group
    }


def _group(group: str) -> tuple[Any, Any]:
    """Return type and default of a group; it may be left out where everything in it may be."""
    model = create_model(
        group.capitalize(), __base__=Record, __doc__=ABOUT.get(group), **_fields(group)
    )
    globals()[model.__name__] = model  # so that a run can be pickled on its way to another process
    needed = any(field.is_required() for field in model.model_fields.values())
    return model, ... if needed else model()


_parts: dict[str, Any] = _fields("") | {
    group: _group(group) for group, _ in PLACES.values() if group
}
_Groups: Any = create_model("Groups", __base__=Record, **_parts)


class TooOften(Record):
    """A token that a rule writes too often after a text, on a small pair of models.

    p, q: the rows along that text, of a vocabulary of a few tokens. The rule's output has the token
    with this `probability`, and the target gives it p[len(after)][token].
    """

    p: Annotated[list[Row], Field(min_length=1, max_length=Most.TOP)]
    q: Annotated[list[Row], Field(max_length=Most.TOP)]
    after: Annotated[list[Count], Field(max_length=Most.TOP)]
    token: Count
    probability: Probability


class OwnRecord(Record):
    """How the run's rule was judged, if it is a verifier of one's own.

    Nothing else is known of such a rule but what it kept: its verdicts have no tests, and their
    residuals list no tokens. lossless: None where it could not be judged. words: the reason, unless
    it is lossless. coins: whether it was given the coins, and not the times of a race alone.
    """

    lossless: bool | None
    words: Piece = ""
    coins: bool = True
    example: TooOften | None = None


class SetupOptions(_Groups):
    """The options of a run, in groups; `own` is there where the rule is one of one's own."""

    knobs: Annotated[
        dict[Name, Real], Field(max_length=64, description="Numbers of rules that have one.")
    ] = {}
    own: Annotated[OwnRecord | None, Field(exclude_if=lambda own: own is None)] = None

    @classmethod
    def of(cls, values: Mapping[str, Any], own: Mapping[str, Any] | None = None) -> "SetupOptions":
        """Return the options of a trace by groups, from {option: value}.

        Unknown names are numbers of rules. own: the fields of `OwnRecord`.
        """
        grouped: dict[str, Any] = {group: {} for group, _ in PLACES.values()}
        for name, (group, inner) in PLACES.items():
            grouped[group][inner] = values[name]
        knobs = {name: value for name, value in values.items() if name not in Options.model_fields}
        return cls(**grouped.pop(""), **grouped, knobs=knobs, own=own)

    def flat(self) -> dict[str, Any]:
        """Return the options of all groups as one dictionary, by option."""
        top = self.model_dump()
        flat = {
            name: (top[group] if group else top)[inner] for name, (group, inner) in PLACES.items()
        }
        return flat | self.knobs
