"""What an option is, how a program or a text gives its value, and errors for wrong values."""

import math
import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, ClassVar, Self, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError, ValidationInfo, field_validator
from pydantic.fields import FieldInfo

from hsd.errors import HsdError
from hsd.values import listed, real, shown, truth, whole

# the ends of the whole numbers that JSON's readers and writers take
LEAST = -(2**63)
MOST = 2**64 - 1
LONGEST = 4_096  # entries of a list, more than any option takes


@dataclass(frozen=True)
class Option:
    """The description of a field of `Model`, from which forms, flags, links and messages are made.

    title: label of its control, and its name in messages to readers of the page. help: one line.
    group: where its control stands, a name in `Model.groups`; "" for none.
    low, high: limits of a number, or of each number of a list.
    each: the name of one entry of a list, in messages.
    limit: the option whose cap applies, see `below`; by default its own.
    menu: the key in `Model.menus` of the names it takes; open: other names are checked elsewhere.
    code: a program may also give a function, which no text, form or link can.
    unset: label of "".
    words: words allowed in place of a number, each with the largest number that it can stand for.
    when: {option: values} with which this one has an effect, all of which must hold; "a|b" is
        either option, and in place of values there may be a key of `Model.menus`.
    step: of its slider; shown: the slider's ends, where they are not the limits.
    scope: "lane" may differ between lanes of a run or race, "shared" may not, "record" says what is
        recorded and how.
    always: links and traces state it even if it has its default value.
    place: in the setup of a trace: "" at its top, "draft" in that group, "fuzzy.mode" there by
        another name; None not.
    name, kind (of one entry), several (a list), default: taken from the field, and `place`
        completed to "draft.gamma" by its name; see `Model.options`.
    """

    title: str
    help: str
    group: str = ""
    low: float | None = None
    high: float | None = None
    each: str = ""
    menu: str = ""
    open: bool = False
    code: bool = False
    unset: str = ""
    words: Mapping[str, int] = field(default_factory=dict)
    when: Mapping[str, Sequence[str] | str] = field(default_factory=dict)
    step: float | None = None
    shown: tuple[float, float] | None = None
    scope: str = "lane"
    always: bool = False
    limit: str = ""
    place: str | None = ""
    name: str = ""
    kind: type = str
    several: bool = False
    default: Any = None

    # ---- values from a program

    def check(self, value: Any, known: Iterable[str] = (), called: str = "") -> Any:
        """Return `value`, lists as tuples.

        Raises HsdError, one line, for a value that this option does not allow. known: the names
        allowed, if it has a menu. called: its name in the message, by default `name`.
        """
        called = called or self.name
        known = tuple(known)
        if not self.several:
            return self._one(value, known, called)
        entries = listed(value)
        if entries is None:
            raise HsdError(f"{called} {shown(value, 40)}: give a list")
        return tuple(self._one(entry, known, self.each) for entry in entries)

    def _one(self, value: Any, known: tuple[str, ...], called: str) -> Any:
        if self.kind is bool:
            known_truth = truth(value)
            if known_truth is None:
                raise HsdError(f"{called} {shown(value, 40)}: choose true or false")
            return known_truth
        if self.code and callable(value) and isinstance(value, Hashable):
            return value
        if self.kind is str:
            if not isinstance(value, str):
                wanted = "names" if self.several else "a name"
                raise HsdError(f"unknown {called} {shown(value, 40)}: give {wanted}")
            if known and value not in known and value != self.default:
                raise HsdError(f"unknown {called} {value[:40]!r}: choose one of {', '.join(known)}")
            return value
        if isinstance(value, str) and self._within(self.words.get(value)):
            return value
        number = whole(value) if self.kind is int else real(value)
        if not self._within(number):
            raise HsdError(f"{called} {shown(value, 40)}: {self.need}")
        return number

    def largest(self, value: Any) -> Any:
        """Return the largest number that `value` can stand for: a word's, else `value` itself."""
        return self.words.get(value, value) if isinstance(value, str) else value

    def _within(self, value: float | None) -> bool:
        if value is None:
            return False
        low, high = (LEAST, MOST) if self.kind is int else (-math.inf, math.inf)
        if self.low is not None:
            low = self.low
        if self.high is not None:
            high = self.high
        return low <= value <= high

    def below(self, most: Mapping[str, int]) -> "Option":
        """Return this option with the upper limit lowered to `most` of its `limit` or name."""
        high = most.get(self.limit or self.name)
        if high is None or self.high is None:
            return self
        return replace(self, high=min(high, self.high))

    @property
    def within(self) -> dict[str, int]:
        """The words that stand for no more than the upper limit."""
        return {
            word: most
            for word, most in self.words.items()
            if self.high is None or most <= self.high
        }

    @property
    def need(self) -> str:
        """The allowed numbers in words, for messages."""
        kind = "a whole number" if self.kind is int else "a number"
        if self.low is None or self.high is None:
            return f"choose {kind}" + (" of at most 64 bits" if self.kind is int else "")
        return " or ".join([f"choose {kind} from {self.low:g} to {self.high:,}", *self.within])

    # ---- values from text

    def read(self, value: Any, known: Iterable[str] = ()) -> Any:
        """Return the value in a form, link or program: numbers may be text, lists "3, 5" or "3_5".

        Raises HsdError.
        """
        called = self.title[:1].lower() + self.title[1:]
        if self.kind is str:
            called = self.name.replace("_", " ")
        if not self.several:
            return self.check(self.number(value, called), known, called)
        entries = [self.number(entry, self.each) for entry in self._entries(value)]
        return self.check(entries, known, called)

    def _entries(self, value: Any) -> list[Any]:
        if value is None:
            return []
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return [value]
        parts = value
        if isinstance(value, str):
            parts = [part for part in re.split(r"[\s,;_]+", value) if part]
        listed = isinstance(parts, (list, tuple))
        if not listed or (self.kind is str and any(type(part) is not str for part in parts)):
            kind = "names" if self.kind is str else "numbers"
            raise HsdError(f"{self.each}s {str(value)[:40]!r}: give {kind} separated by commas")
        if len(parts) > LONGEST:
            raise HsdError(f"{len(parts)} {self.each}s: give fewer")
        return list(parts)

    def number(self, value: Any, called: str) -> Any:
        """Convert text and whole floats (5.0) to int.

        Leave named values such as 'auto' as they are.
        """
        if self.kind is str:
            return str(value or "")
        if self.kind is bool:
            return {"true": True, "false": False}.get(str(value).lower(), value)
        if value in (None, ""):
            raise HsdError(f"{called} is empty: {self.need}")
        text = str(value).strip()
        if text in self.words:
            return text
        if isinstance(value, bool):
            return value
        if self.kind is int and re.fullmatch(r"[+-]?\d{1,400}", text):
            return int(text)  # with all digits
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            raise HsdError(f"{called} {text[:40]}: {self.need}") from None
        if not math.isfinite(number):
            raise HsdError(f"{called} {text[:40]}: {self.need}")
        if self.kind is int:
            return int(number) if number == int(number) else number
        return float(f"{number:.12g}")

    def text(self, value: Any) -> str:
        """Return a value as text for a link, which `read` takes: lists as "3_5"."""
        if isinstance(value, (list, tuple)):
            return "_".join(map(self.text, value))
        if isinstance(value, bool):
            return str(value).lower()
        return f"{value:.12g}" if isinstance(value, float) else str(value)


def option(default: Any, title: str, help: str, group: str = "", **more: Any) -> Any:
    """Return a field of a `Model` with this default and description.

    more: further fields of `Option`.
    """
    info = FieldInfo(default=default)
    info.metadata.append(Option(title, help, group, **more))
    return info


def _complete(name: str, info: FieldInfo) -> Option:
    """Return the option of a field, completed by the field's name, type and default."""
    option = next(one for one in info.metadata if isinstance(one, Option))
    several = get_origin(info.annotation) is tuple
    # of a list, and of a number or a word
    kind: Any = next(iter(get_args(info.annotation)), info.annotation)
    place = option.place
    if place is not None and "." not in place:
        place = f"{place}.{name}".lstrip(".")
    return replace(option, name=name, kind=kind, several=several, default=info.default, place=place)


class Model(BaseModel):
    """Base class of models whose fields are options.

    It is frozen; an invalid value raises HsdError with one line.

    groups: name → title, in the order of a form; a group without a title is always open. old:
    former names in links.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    groups: ClassVar[Mapping[str, str]] = {}
    old: ClassVar[Mapping[str, str]] = {}

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            first = error.errors()[0]
            if first["type"] == "extra_forbidden":
                known = ", ".join(type(self).options())
                raise HsdError(
                    f"unknown option {str(first['loc'][0])!r}: choose from {known}"
                ) from None
            raise HsdError(str(first.get("ctx", {}).get("error", first["msg"]))) from None

    @field_validator("*", mode="before")
    @classmethod
    def _checked(cls, value: Any, info: ValidationInfo) -> Any:
        option = cls.options()[str(info.field_name)]
        return option.check(value, cls.names(option))

    @classmethod
    def menus(cls) -> Mapping[str, Sequence[str]]:
        """Return lists of names by key.

        They are the values of an option, or names that share a property, for `Option.when`.
        """
        return {}

    @classmethod
    def names(cls, option: Option) -> Sequence[str]:
        """Return the only names that an option takes; () where others are allowed, too."""
        return cls.menus()[option.menu] if option.menu and not option.open else ()

    @classmethod
    @cache
    def options(cls) -> dict[str, Option]:
        """Return all options by name."""
        return {name: _complete(name, info) for name, info in cls.model_fields.items()}

    @classmethod
    def default(cls, name: str) -> Any:
        """Return the default value of an option."""
        return cls.model_fields[name].default

    @classmethod
    def when(cls, name: str) -> dict[str, list[str]]:
        """Return the {options: values} of `Option.when`, with menus replaced by their names."""
        menus = cls.menus()
        return {
            others: list(menus[wanted] if isinstance(wanted, str) else wanted)
            for others, wanted in cls.options()[name].when.items()
        }

    @classmethod
    def applies(cls, name: str, values: Mapping[str, Any]) -> bool:
        """Return whether an option has an effect beside `values`.

        Options not among them have their defaults.
        """
        return all(
            any(values.get(other, cls.default(other)) in wanted for other in others.split("|"))
            for others, wanted in cls.when(name).items()
        )

    @classmethod
    def scoped(cls, *scopes: str) -> tuple[str, ...]:
        """Return the names of the options with one of these scopes, see `Option`."""
        return tuple(name for name, option in cls.options().items() if option.scope in scopes)

    @classmethod
    def known(cls, query: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options among the parameters of a link, under their present names."""
        named = {cls.old.get(name, name): value for name, value in query.items()}
        return {name: value for name, value in named.items() if name in cls.options()}

    def given(self) -> dict[str, Any]:
        """Return the options that differ from their defaults, by name."""
        return {name: value for name, value in self if value != self.default(name)}

    def query(self) -> dict[str, str]:
        """Return the parameters of a link to these options, which `read` takes, as text."""
        options = self.options()
        given = self.given()
        return {n: options[n].text(value) for n, value in self if n in given or options[n].always}

    @classmethod
    def read(cls, values: Mapping[str, Any], most: Mapping[str, int] | None = None) -> Self:
        """Return the options given by a form, a link or a program, each converted by `Option.read`.

        most: upper limits below the options' own, by name. Raises HsdError, one line, for the first
        invalid value.
        """
        known = cls.options()
        if unknown := [name for name in values if name not in known]:
            return cls(**{unknown[0]: ""})  # which says what there is
        read = {
            name: known[name].below(most or {}).read(value, cls.names(known[name]))
            for name, value in values.items()
        }
        return cls(**read)
