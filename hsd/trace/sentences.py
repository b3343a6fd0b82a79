"""Says the sentences of `sentences.yaml`: puts facts into the slots of their templates.

The head of that file explains how a template is written, and `facts.py` declares the facts that it
may name. `web/step/sentences.js` is the same for the page.
"""

import re
from collections import ChainMap
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from hsd.paths import read_yaml
from hsd.trace.facts import SAID_OF, Item
from hsd.trace.format import plural, quoted
from hsd.trace.values import Token

Sentences = Mapping[str, Mapping[str, str]]
Scope = Mapping[str, Any]
Records = tuple[type, ...]
Said = tuple[str, Records]
"""A sentence, and the records of facts around it, the innermost last."""

ELSE = "else"
_CONDITION = re.compile(r"(not )?([\w.]+)(?: (=|>) (.+))?")
_MARK = re.compile(r"\*\*|\[|\]\([\w-]+\)|\{([\w.]+)(?:([|?])([^{}]*))?\}")


def say(name: str, facts: object) -> str:
    """Return the sentence `name` with these facts, a record of `facts.py`.

    It is the first wording whose conditions hold, or "" where none does.
    """
    return _say(name, vars(facts))


def filled(text: str, scope: Scope) -> str:
    """Return a template with the facts in place of its slots, and without its other marks."""
    return _MARK.sub(lambda mark: _put(mark, scope) if mark[1] else "", text)


def _say(name: str, scope: Scope) -> str:
    for conditions, text in SENTENCES[name].items():
        if all(_holds(*condition, scope) for condition in _conditions(conditions)):
            return filled(text, scope)
    return ""


def _conditions(text: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield what precedes a wording: "not " or "", the path of a fact, a sign or "", a value."""
    for condition in text.split(", ") if text != ELSE else []:
        match = _CONDITION.fullmatch(condition)
        if not match:
            raise ValueError(f"{condition!r} is no condition")
        yield match.groups("")  # type: ignore[misc]


def _holds(negated: str, path: str, sign: str, value: str, scope: Scope) -> bool:
    inner, name = _reach(path, scope)
    fact = inner.get(name)
    if sign == "=":
        held = _text(fact) == value
    elif sign == ">":
        held = (fact or 0) > float(value)
    else:
        held = bool(fact)
    return held is not bool(negated)


def _reach(path: str, scope: Scope) -> tuple[Scope, str]:
    """Return the facts that a dotted path leads to, laid over the outer ones, and its last name.

    There are none where a record on the way is missing.
    """
    *way, name = path.split(".")
    for step in way:
        record = scope.get(step)
        scope = {**scope, **vars(record)} if record else {}
    return scope, name


def _put(slot: re.Match[str], scope: Scope) -> str:
    """Return the text for the slot {path}, {path|noun} or {path?singular:plural}."""
    path, sign, words = slot.groups()
    scope, name = _reach(path, scope)
    fact = scope.get(name)
    if sign == "|":
        return plural(fact or 0, words)
    if sign == "?":
        return words.split(":")[fact != 1]
    if isinstance(fact, list):
        items = [{**scope, **vars(item), "last": item is fact[-1]} for item in fact]
        return "".join(_say(name, item) for item in items)
    if name in SENTENCES:
        return _say(name, scope) if scope else ""
    return _text(fact)


def _text(fact: Any) -> str:
    if fact is None:
        return ""
    if isinstance(fact, float):
        return str(fact).removesuffix(".0")
    return quoted(fact.piece) if isinstance(fact, Token) else str(fact)


# ---- templates, held to the facts that are declared


def check(sentences: Sentences, said_of: Mapping[str, type]) -> list[Said]:
    """Return every sentence with the records of facts that it is said with.

    said_of: each sentence that is said by itself → the record of its facts. Raises ValueError where
    a sentence names a fact or a sentence that does not exist.
    """
    todo: list[Said] = [(name, (record,)) for name, record in said_of.items()]
    for name, records in todo:  # which grows
        if name not in sentences:
            raise ValueError(f"no sentence is called {name!r}")
        for conditions, text in sentences[name].items():
            try:
                _check_conditions(conditions, records)
                more = _named_by(text, records, sentences)
                todo += [said for said in more if said not in todo]
            except ValueError as error:
                raise ValueError(f"sentence {name!r}, {conditions!r}: {error}") from None
    if unsaid := sentences.keys() - {name for name, _ in todo}:
        raise ValueError(f"nothing says the sentence {min(unsaid)!r}")
    return todo


def _check_conditions(conditions: str, records: Records) -> None:
    for _, path, sign, value in _conditions(conditions):
        kind, _ = _kind(path, records)
        if kind is None:
            raise ValueError(f"{path!r} is no fact")
        if sign == "=" and get_origin(kind) is Literal and value not in get_args(kind):
            raise ValueError(f"{path!r} is never {value!r}")


def _named_by(text: str, records: Records, sentences: Sentences) -> Iterator[Said]:
    """Yield the sentences that a template names, each with the records of facts around it."""
    if re.search("[{}]", _MARK.sub("", text)):
        raise ValueError("has a slot that cannot be read")
    for path, sign, _ in _MARK.findall(text):
        if not path:
            continue
        kind, around = _kind(path, records)
        name = path.rpartition(".")[2]
        several = get_origin(kind) is list
        if several:
            around = (*around, Item, *get_args(kind))
        if kind is bool:
            raise ValueError(f"{path!r} is no text")
        if name in sentences and kind is not None and not several:
            raise ValueError(f"{path!r} is a fact and a sentence")
        if name in sentences and not sign:
            yield name, around
        elif kind is None or several:
            raise ValueError(f"{path!r} is no fact and no sentence")


def _kind(path: str, records: Records) -> tuple[Any, Records]:
    """Return the type of the fact at a path, None if there is none, and the records around it."""
    *way, name = path.split(".")
    for step in way:
        kind, _ = _kind(step, records)
        if not isinstance(kind, type):
            raise ValueError(f"{step!r} is no record of facts")
        records = (*records, kind)
    kind = ChainMap(*map(_kinds, reversed(records))).get(name)
    possible = [part for part in get_args(kind) if part is not NoneType]
    return (possible[0] if len(possible) < len(get_args(kind)) else kind), records


_kinds = cache(get_type_hints)


def _read() -> Sentences:
    sentences = read_yaml(Path(__file__).with_suffix(".yaml"))
    return {
        name: ways if isinstance(ways, dict) else {ELSE: ways} for name, ways in sentences.items()
    }


SENTENCES = _read()
check(SENTENCES, SAID_OF)
