"""An endpoint that takes options.

It has a typed signature with a line on each of them, as Gradio and its tools read it.
"""

import inspect
from collections.abc import Callable, Container, Mapping
from functools import wraps
from types import MappingProxyType
from typing import Any

from hsd.options.option import Model, Option
from hsd.options.schema import Menus, words


def takes(
    model: type[Model],
    menus: Menus,
    without: Container[str] = (),
    unset: Mapping[str, tuple[Any, str]] = MappingProxyType({}),
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that replaces a function's `**options` by a parameter per option.

    Each parameter has a type and a description. without: options of `model` to leave out. unset: by
    option, the default that stands for "not given", and words for it; such options are not passed
    on. Lists are passed as text. The docstring's last section must be "Args:"; it is continued with
    the options.
    """
    options = {name: one for name, one in model.options().items() if name not in without}

    def usual(name: str) -> Any:
        option = options[name]
        if name in unset:
            return unset[name][0]
        return option.text(option.default) if option.several else option.default

    def type_of(option: Option) -> Any:
        if option.several:
            return str
        return option.kind | str if option.words else option.kind

    def decorated(function: Callable[..., Any]) -> Callable[..., Any]:
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        own = [
            one
            for one in inspect.signature(function, eval_str=True).parameters.values()
            if one.kind != one.VAR_KEYWORD
        ]
        more = [
            inspect.Parameter(name, kind, default=usual(name), annotation=type_of(option))
            for name, option in options.items()
        ]
        parameters = [parameter.replace(kind=kind) for parameter in (*own, *more)]
        parameters.sort(key=lambda parameter: parameter.default is not parameter.empty)
        signature = inspect.Signature(parameters, return_annotation=dict)

        @wraps(function)
        def endpoint(*values: Any, **named: Any) -> Any:
            given = signature.bind(*values, **named).arguments
            passed = {n: v for n, v in given.items() if n not in unset or v != unset[n][0]}
            return function(**passed)

        notes = {name: f"; {note}" for name, (_, note) in unset.items()}
        lines = [f"    {n}: {words(model, n, menus)}{notes.get(n, '')}" for n in options]
        endpoint.__signature__ = signature  # type: ignore[attr-defined]
        endpoint.__annotations__ = {p.name: p.annotation for p in parameters} | {"return": dict}
        endpoint.__doc__ = "\n".join([inspect.cleandoc(function.__doc__ or ""), *lines])
        return endpoint

    return decorated
