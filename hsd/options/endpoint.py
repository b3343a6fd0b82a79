"""An endpoint that takes options: a typed signature with a line on each of them, as Gradio and its tools read it."""

import inspect
from collections.abc import Callable, Container, Mapping
from functools import wraps
from typing import Any

from hsd.options.option import Model
from hsd.options.schema import Menus, words


def takes(
    model: type[Model], menus: Menus, without: Container[str] = (), unset: Mapping[str, tuple[Any, str]] | None = None
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that replaces a function's `**options` by a typed, described parameter per option.

    without: options of `model` to leave out. unset: by option, the default that stands for "not given", and words for
    it; such options are not passed on. Lists are passed as text. The docstring's last section must be "Args:"; it is
    continued with the options.
    """
    unset = unset or {}
    options = {name: one for name, one in model.options().items() if name not in without}

    def usual(name: str) -> Any:
        option = options[name]
        return unset[name][0] if name in unset else option.text(option.default) if option.several else option.default

    def decorated(function: Callable[..., Any]) -> Callable[..., Any]:
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        own = [
            one for one in inspect.signature(function, eval_str=True).parameters.values() if one.kind != one.VAR_KEYWORD
        ]
        types = {n: str if one.several else one.kind | str if one.words else one.kind for n, one in options.items()}
        more = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=usual(name), annotation=types[name])
            for name in options
        ]
        parameters = sorted((p.replace(kind=kind) for p in (*own, *more)), key=lambda p: p.default is not p.empty)
        signature = inspect.Signature(parameters, return_annotation=dict)

        @wraps(function)
        def endpoint(*values: Any, **named: Any) -> Any:
            given = signature.bind(*values, **named).arguments
            return function(**{n: v for n, v in given.items() if n not in unset or v != unset[n][0]})

        lines = [f"    {n}: {words(model, n, menus)}" + (f"; {unset[n][1]}" if n in unset else "") for n in options]
        endpoint.__signature__ = signature  # type: ignore[attr-defined]
        endpoint.__annotations__ = {p.name: p.annotation for p in parameters} | {"return": dict}
        endpoint.__doc__ = "\n".join([inspect.cleandoc(function.__doc__ or ""), *lines])
        return endpoint

    return decorated
