"""A small text grammar: templates with choices, fresh words and remembered words.

Syntax of a template
    [a|b|c]   one of the alternatives, which may nest and may be empty
    <rule>    one template of that rule, drawn afresh each time
    {word}    the value remembered under that name in this document; at its first use it is drawn from the
              rule of the same name. {toy2} and {toy3} are drawn from rule `toy`, each unlike the others.
A rule missing under its own name is looked up with the document's kind added: <opening> in a document of
kind "kid" means the rule `opening_kid`.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

TEXT, CHOICE, RULE, MEMORY = range(4)
Node = tuple[int, Any]  # a string, or for CHOICE the alternatives, each a sequence of nodes
_TOKEN = re.compile(r"[\[\]|]|<\w+>|\{\w+\}|[^\[\]|<{]+")
_AN = re.compile(r"\b([Aa]) (?=[aeio]|u(?!ni|se|su)|honest|hour)(?!one\b|once\b|eu)")
_TWICE = re.compile(r"\b(\w+) \1\b")
_SPACES = re.compile(r" {2,}| +(?=[.,!?])")
# A capital opens the text, a paragraph, and what follows a full stop.
_CAPITAL = re.compile(r'((?:\A|\n|[.!?] |[.!?]" (?="))"?)([a-z])')


@cache
def parse(template: str) -> tuple[Node, ...]:
    """Turn a template into nodes; raises ValueError where brackets do not match."""
    tokens = _TOKEN.findall(template)
    if "".join(tokens) != template:
        raise ValueError(f"stray bracket in template: {template!r}")
    nodes, rest = _parse_sequence(tokens, 0, depth=0)
    if rest != len(tokens):
        raise ValueError(f"unbalanced ] in template: {template!r}")
    return nodes


def _parse_sequence(tokens: Sequence[str], at: int, depth: int) -> tuple[tuple[Node, ...], int]:
    nodes: list[Node] = []
    while at < len(tokens):
        token = tokens[at]
        if depth and token in "|]":
            return tuple(nodes), at
        if token == "[":
            choices, at = _parse_choice(tokens, at + 1, depth + 1)
            nodes.append((CHOICE, choices))
            continue
        if token[0] == "<":
            nodes.append((RULE, token[1:-1]))
        elif token[0] == "{":
            nodes.append((MEMORY, token[1:-1]))
        elif token == "]":
            return tuple(nodes), at
        else:
            nodes.append((TEXT, token))
        at += 1
    if depth:
        raise ValueError(f"missing ] in template: {''.join(tokens)!r}")
    return tuple(nodes), at


def _parse_choice(tokens: Sequence[str], at: int, depth: int) -> tuple[tuple[tuple[Node, ...], ...], int]:
    choices = []
    while True:
        nodes, at = _parse_sequence(tokens, at, depth)
        choices.append(nodes)
        at += 1
        if tokens[at - 1] == "]":
            return tuple(choices), at


class Writer:
    """Expands templates for one document: holds its random numbers, its kind and what it remembers."""

    def __init__(self, rules: Mapping[str, Sequence[str]], rng: random.Random, kind: str, memory: dict[str, str]):
        self.rules, self.rng, self.kind, self.memory = rules, rng, kind, memory

    def expand(self, template: str) -> str:
        """Return the template with every choice made; a/an and capitals are left to `tidy`."""
        out: list[str] = []
        self._emit(parse(template), out)
        return "".join(out)

    def _emit(self, nodes: tuple[Node, ...], out: list[str]) -> None:
        for sort, value in nodes:
            if sort == TEXT:
                out.append(value)
            elif sort == CHOICE:
                self._emit(value[int(self.rng.random() * len(value))], out)
            elif sort == RULE:
                self._emit(parse(self._draw(value)), out)
            else:
                out.append(self.recall(value))

    def _draw(self, rule: str) -> str:
        options = self.rules.get(rule) or self.rules[f"{rule}_{self.kind}"]
        return options[int(self.rng.random() * len(options))]

    def recall(self, name: str) -> str:
        """Return what the document remembers under `name`, drawing it first if it is new."""
        value = self.memory.get(name)
        if value is None:
            rule = name.rstrip("23456789")
            taken = {v for k, v in self.memory.items() if k.rstrip("23456789") == rule}
            value = self.expand(self._draw(rule))
            while value in taken:
                value = self.expand(self._draw(rule))
            self.memory[name] = value
        return value


def tidy(text: str) -> str:
    """Drop doubled words, put a/an right and give every sentence and every quotation its capital letter."""
    text = _AN.sub(r"\1n ", _SPACES.sub(lambda m: "" if text[m.end() : m.end() + 1] in ".,!?" else " ", text))
    text = _TWICE.sub(r"\1", text)
    return _CAPITAL.sub(lambda m: m.group(1) + m.group(2).upper(), text)
