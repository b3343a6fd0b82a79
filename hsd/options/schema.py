"""Options as a JSON Schema that a form can be made from."""

from collections.abc import Mapping, Sequence
from typing import Any

from hsd.options.option import Model, Option

Menus = Mapping[str, Sequence[tuple[str, str]]]
JSON_TYPES = {int: "integer", float: "number", str: "string", bool: "boolean"}


def schema(model: type[Model], menus: Menus) -> dict[str, Any]:
    """Return the JSON Schema of `model`, with all that a form needs in each property.

    menus: key of `Model.menus` → (label, name) of each choice; a menu that is not in it shows the
    names.

    Of a property: title; description, one line of help; type, default, minimum, maximum; oneOf,
    choices as {const, title}, of the items where it is a list; and the extra keys

    group: where its control stands, a name in `groups` of the schema; missing where it has no
        control.
    when: {option: [values]}, all of which must hold for it to have an effect; "a|b" is either
        option.
    step: of its slider; shown: [from, to], the slider's ends where they are not the limits.
    scope: "lane", "shared" or "record", see `Option`.
    always: a link states it even if it has its default value.
    anyOf: of a number that may be a word: the number's type and limits, then {const: the word,
        maximum: its number}.
    at: its place in the setup of a trace, "draft.gamma"; missing where it has none.

    Of the schema: groups, [{name, title}] in the order of a form; old, former names in links.
    """
    whole = model.model_json_schema()
    properties = {n: _property(model, one, menus) for n, one in model.options().items()}
    groups = [{"name": name, "title": title} for name, title in model.groups.items()]
    about = {"title": model.__name__, "description": whole["description"].partition("\n")[0]}
    return {**whole, **about, "properties": properties, "groups": groups, "old": dict(model.old)}


def _property(model: type[Model], option: Option, menus: Menus) -> dict[str, Any]:
    entry: dict[str, Any] = {"type": JSON_TYPES[option.kind]}
    if option.menu:
        choices = list(menus.get(option.menu, ()))
        choices = choices or [(name, name) for name in model.menus()[option.menu]]
        choices = [(option.unset, ""), *choices] if option.unset else choices
        entry["oneOf"] = [{"const": name, "title": label} for label, name in choices]
    limits = {"minimum": option.low, "maximum": option.high}
    entry |= {name: limit for name, limit in limits.items() if limit is not None}
    more: dict[str, Any] = {
        "group": option.group,
        "when": model.when(option.name),
        "step": option.step,
        "shown": list(option.shown or ()),
        "always": option.always,
        "at": option.place,
    }
    extra = {name: value for name, value in more.items() if value}
    default = list(option.default) if option.several else option.default
    if option.words:
        entry = {
            "anyOf": [
                entry,
                *({"const": word, "maximum": most} for word, most in option.within.items()),
            ]
        }
    whole = {"type": "array", "items": entry} if option.several else entry
    about = {
        "title": option.title,
        "description": option.help,
        "default": default,
        "scope": option.scope,
    }
    return {**whole, **about, **extra}


def words(model: type[Model], name: str, menus: Menus, usual: str = "") -> str:
    """Return a line about an option for programs.

    It has the option's help, allowed values, and default, or `usual` instead.
    """
    option = model.options()[name]
    choices = [name for _, name in menus.get(option.menu, ()) if name] or (
        model.menus()[option.menu] if option.menu else []
    )
    parts = [", ".join(choices)] if choices else []
    if option.low is not None and option.high is not None:
        parts.append(" or ".join([f"{option.low:g} to {option.high:,}", *option.words]))
    parts += ["with commas"] if option.several else []
    usual = usual or ("" if option.several else option.text(option.default))
    parts += [f"default {usual}"] if usual else []
    return f"{option.help.rstrip('.')} ({'; '.join(parts)})" if parts else option.help.rstrip(".")
