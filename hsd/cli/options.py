"""The options of a run as flags of a command, and back."""

import argparse
from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any

from hsd import facts
from hsd.cli.arguments import names, rule_of
from hsd.decoding.options import RunOptions
from hsd.errors import HsdError
from hsd.options import Option
from hsd.options.schema import words
from hsd.trace.format import listed

GAMMA = "the pair's best, else 5"


def flag(option: str) -> str:
    """Return the flag of an option: "--max-new-tokens"."""
    return f"--{option.replace('_', '-')}"


def add_flags(
    parser: argparse.ArgumentParser,
    without: Container[str] = (),
    lists: bool = False,
    also: Mapping[str, str] | None = None,
    **usual: str,
) -> None:
    """Add a flag for every option of a run.

    lists: each takes several values with commas, lists with semicolons. without: options that the
    command has no flag for. also: a further name of a flag, by option. usual: help texts for
    defaults that differ from the option's own.
    """
    titles = {
        name: f"{title[:1].lower()}{title[1:]}"
        for name, title in RunOptions.groups.items()
        if title
    }
    groups = {name: parser.add_argument_group(title) for name, title in titles.items()}
    for name, option in RunOptions.options().items():
        if name not in without:
            names_of = [flag(name), *([also[name]] if also and name in also else [])]
            help_ = words(RunOptions, name, facts.menus(), usual.get(name, "")).replace("%", "%%")
            if option.code:
                help_ += "; or a Python file of your own, FILE.py, such as hsd conform judges"
            if option.group in ("rule", "levels"):
                help_ = f"for {' and '.join(homes(name))}: {help_}"
            groups.get(option.group, parser).add_argument(
                *names_of, dest=name, type=_reader(option, lists), help=help_
            )


def homes(option: str) -> list[str]:
    """Return the flags beside which an option has an effect, each with its values.

    A flag of a stack has ["--system stack or hispec"].
    """
    return [
        f"{flag(of.partition('|')[0])} {listed(values, 'or')}"
        for of, values in RunOptions.when(option).items()
    ]


def _reader(option: Option, lists: bool) -> Callable[[str], Any]:
    """Return the function that parses the value of an option's flag."""

    def one(text: str) -> Any:
        try:
            return option.number(text, "value")
        except HsdError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    def several(text: str) -> tuple[Any, ...]:
        return tuple(map(one, names(text) or [""]))

    if option.several and lists:
        return lambda text: tuple(several(part) for part in text.split(";"))
    return several if option.several or lists else one


def given(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the options of a run that were given by a flag, by name.

    A rule in a file is judged at the first call. Raises HsdError for a file that has none.
    """
    rule = arguments.rule
    arguments.rule = tuple(map(rule_of, rule)) if isinstance(rule, tuple) else rule_of(rule)
    return {n: v for n in RunOptions.options() if (v := getattr(arguments, n, None)) is not None}


def check_flags(values: Mapping[str, Any], cases: Sequence[Mapping[str, Any]] = ()) -> None:
    """Raise HsdError for an option in `values` without effect.

    It has none beside the other values or, given cases, in all of these.
    """
    used = {"system", "drafts", *(name for options in cases for name in options)}
    for name in values:
        needed = homes(name)
        if name in ("tree", "nodes") and values.get("drafts", 1) in (1, (1,)):
            needed = ["--drafts of 2 or more"]
        elif name in used if cases else RunOptions.applies(name, values):
            continue
        home = " and ".join(needed)
        raise HsdError(f"{flag(name)} is for {home}: choose it, or leave the option out")
