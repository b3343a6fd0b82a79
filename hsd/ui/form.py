"""Every option that a visitor can set, once: its name, words, kind, limits and default.

The sidebar's and Measure's controls, what links and programs send, the checks and their messages are all made from
these tables. A field without a place has no control: links and programs set it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import gradio as gr

from hsd import facts
from hsd.bench.prompts import offered
from hsd.decoding.options import MAX_LEVELS, MAX_TREE_NODES, RunOptions
from hsd.errors import HsdError
from hsd.models.loading.registry import draft_length, draft_lengths
from hsd.rules import RULES, Knob
from hsd.space import Limits, Space
from hsd.ui import arrivals

Values = dict[str, Any]
SEPARATED = ("wholes", "numbers", "levels", "names")
MOST = 48  # numbers that one field may list, more than can be measured


@dataclass(frozen=True)
class Field:
    """One option. `low` and `high` limit numbers and every number of a list; a high one may be named as in `Limits`.

    label, info: of its control. what: in messages, the label if left out. kind: "text", "name" (of a menu), "whole",
    "number", "wholes" or "numbers" (at least one), "levels" (whole numbers, at most one per level, or none), "names"
    (any). step: of a slider, which shows low to high; shown: where the slider's range is not the limit. place: the part
    of the page it stands in. menu: labels and names. said: always in a link, and not only where it is not the default.
    """

    name: str
    label: str = ""
    info: str = ""
    kind: str = "text"
    default: Any = ""
    low: float | None = None
    high: float | str | None = None
    step: float | None = None
    shown: tuple[float, float] | None = None
    place: str = ""
    menu: Callable[[Space], list[Any]] | None = None
    shape: str = ""
    what: str = ""
    example: str = ""
    said: bool = False

    # ---- reading

    def read(self, value: Any, limits: Limits) -> Any:
        """`value`, from a control, a link or a program, as the option needs it. Raises HsdError, one line."""
        if self.kind in ("text", "name"):
            return str(value or "")
        if self.kind in ("whole", "number"):
            return self._number(value, limits)
        entries = self._entries(value)
        if self.kind in ("wholes", "numbers") and not entries:
            raise HsdError(
                f"{self.label[:1].lower()}{self.label[1:]} is empty: give one number, or several with commas"
            )
        if self.kind == "levels" and len(entries) > MAX_LEVELS:
            raise HsdError(f"{len(entries)} {self.what_}s: give at most {MAX_LEVELS}, one for each level")
        if self.kind == "names":
            names = tuple(str(entry).strip()[:100] for entry in entries)
            return tuple(dict.fromkeys(names)) if self.menu else names
        found = tuple(self._number(entry, limits) for entry in entries[:MOST])
        return tuple(dict.fromkeys(found)) if self.kind != "levels" else found

    @property
    def what_(self) -> str:
        return self.what or self.label.lower()

    def _entries(self, value: Any) -> list[Any]:
        if value is None:
            return []
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            value = [value]
        found = [part for part in re.split(r"[\s,;_]+", value) if part] if isinstance(value, str) else value
        if not isinstance(found, (list, tuple)) or (self.kind == "names" and any(type(e) is not str for e in found)):
            kind = "names" if self.kind == "names" else "numbers"
            raise HsdError(f"{self.what_}s {str(value)[:40]!r}: give {kind} separated by commas{self._such_as}")
        return list(found)

    @property
    def _such_as(self) -> str:
        return f", such as {self.example}" if self.example else ""

    def _high(self, limits: Limits) -> float | None:
        return getattr(limits, self.high) if isinstance(self.high, str) else self.high

    def _number(self, value: Any, limits: Limits) -> Any:
        whole = self.kind in ("whole", "wholes", "levels")
        high = self._high(limits)
        kind = "a whole number" if whole else "a number"
        need = f"give {kind}{self._such_as}" if high is None else f"choose {kind} from {self.low:g} to {high:,}"
        said = " is empty" if value in (None, "") else f" {str(value).strip()[:40]}"
        wrong = HsdError(f"{self.what_}{said}: {need}")
        try:
            number = float("nan" if isinstance(value, bool) else value)
        except (TypeError, ValueError):
            raise wrong from None
        inside = high is None or float(self.low or 0) <= number <= float(high)
        if not math.isfinite(number) or not inside or (whole and number != int(number)):
            raise wrong
        if not whole:
            return float(f"{number:.12g}")
        text = str(value).strip()
        return int(text) if re.fullmatch(r"[+-]?\d+", text) else int(number)  # all digits of a large seed

    # ---- links

    def linked(self, value: Any) -> str:
        """A value as a link has it: lists as "3_5"."""
        if isinstance(value, (list, tuple)):
            return "_".join(self.linked(entry) for entry in value)
        return f"{value:.12g}" if isinstance(value, float) else str(value)

    def from_link(self, text: Any, space: Space) -> Any:
        """What its control shows for a value from a link; the default where it can show none."""
        if self.menu:
            names = {entry if isinstance(entry, str) else entry[1] for entry in self.menu(space)}
            if self.kind == "names":
                return [name for name in self.read(text, space.limits) if name in names]
            return text if text in names else self.default
        if self.kind in SEPARATED:
            return ", ".join(map(str, self._entries(text)))[:100]
        if self.kind == "text":
            return text
        try:
            return self.read(text, space.limits)
        except HsdError:
            return self.default

    # ---- controls

    def component(self, space: Space, value: Any, prefix: str, **more: Any) -> gr.components.Component:
        """Its control, in the current Gradio context."""
        own: Values = {
            "label": self.label,
            "info": self.info,
            "elem_id": f"{prefix}-{self.name.replace('_', '-')}",
            **more,
        }
        if self.menu:
            choices = self.menu(space)
            if self.kind == "names":
                return gr.CheckboxGroup(choices, value=value, **own)
            if self.shape == "radio":
                return gr.Radio(choices, value=value or None, **own)
            return gr.Dropdown(choices, value=value, filterable=False, **own)
        if self.step is not None and self.shape != "box":
            low, high = self.shown or (self.low or 0, self._high(space.limits) or 0)
            return gr.Slider(low, high, value=value, step=self.step, buttons=[], **own)
        if self.kind in ("whole", "number") and self.shape == "box":
            whole: Values = {"precision": 0} if self.kind == "whole" else {"step": self.step}
            return gr.Number(value, **whole, **own)
        text = ", ".join(map(self.linked, value)) if self.kind in SEPARATED else value
        return gr.Textbox(text, **{"max_lines": 1, **own})


def _option(name: str, label: str = "", info: str = "", **more: Any) -> Field:
    """A field whose default is that of a run."""
    return Field(name, label, info, default=RunOptions.default(name), **more)


def _knob(rule: str, knob: Knob) -> Field:
    """The slider of a rule's one number."""
    label, low, high = f"{knob.title} {knob.sign}", knob.low, knob.high
    return _option(knob.option, label, knob.words, kind="number", low=low, high=high, step=0.01, place=rule)


def _rules(space: Space) -> list[Any]:
    return list(facts.rule_menu())


def pair_menu(space: Space) -> list[Any]:
    """The pairs that can be run at this moment."""
    return [(pair.title, pair.name) for pair in arrivals.available(space)]


RUN = (
    Field("pair", "Pair", "Target and draft model.", "name", place="top", menu=pair_menu),
    Field("prompt", "Prompt", "What the models answer or continue.", place="top", said=True),
    _option("prompt_as", "With the prompt", "Answer a question, or go on writing.", kind="name", shape="radio",
            place="top", menu=lambda _: facts.menu(facts.PROMPT_NAMES)),
    _option("rule", "Rule", "Who decides what is kept of a draft.", kind="name", menu=_rules, place="main", said=True),
    _option("gamma", "Draft length γ", "Tokens drafted per step.", kind="whole", low=1, high="gamma", step=1,
            place="main", what="draft length γ", said=True),
    _option("drafts", "Drafts", "From 2 on they form a tree.", kind="whole", low=1, high="drafts", step=1,
            place="main"),
    Field("temperature", "Temperature", "0: always the likeliest.", "number", 0.7, step=0.05, shown=(0, 2),
          place="main", said=True),
    Field("length", "Length", "New tokens, at most.", "whole", 64, 1, "max_new_tokens", 1, place="main", said=True),
    _option("seed", "Seed", "Same seed, same run.", kind="whole", shape="box", place="main", said=True),
    _option("shadow", "Compared with", "Judges the same drafts and coins.", kind="name", place="more",
            menu=lambda space: [(facts.head("tokenwise"), ""), *_rules(space)]),
    _option("tree", "Tree", "How several drafts are arranged.", kind="name", menu=lambda _: facts.tree_menu(),
            place="more"),
    _option("system", "System", "Plain: target alone, no draft.", kind="name", shape="radio", place="more",
            menu=lambda _: [("Speculative", "speculative"), ("Plain", "plain")]),
    _option("proposer", "Drafts come from", "The text: what followed its last words.", kind="name", shape="radio",
            place="more", menu=lambda _: facts.proposer_menu()),
    _option("top_p", "Top-p", "Up to this much mass.", kind="number", step=0.05, shown=(0.05, 1), place="more",
            said=True),
    _option("top_k", "Top-k", "0: all tokens.", kind="whole", step=1, shown=(0, 200), place="more", said=True),
    Field("target", "Own target", "Folder or Hub id, instead of the pair.", place="more"),
    Field("draft", "Own draft", "Needs the target's tokenizer.", place="more"),
    _option("divergence", "Divergence", "How far apart the two rows are.", kind="name", place="fuzzy",
            menu=lambda _: facts.divergence_menu()),
    _option("tolerance", "Tolerance", "Up to this a token passes; below 0: exact.", kind="number", step=0.1,
            shape="box", place="fuzzy", example="0.3"),
    _option("fuzzy_mode", "Mode", "What decides above the tolerance.", kind="name", place="fuzzy",
            menu=lambda _: facts.menu(facts.MODE_NAMES)),
    _option("divergence_on", "Divergence of", "Which rows are compared.", kind="name", place="fuzzy",
            menu=lambda _: facts.menu(facts.GROUND_NAMES)),
    *(_knob(rule.name, rule.knob) for rule in RULES.values() if rule.knob and not rule.knob.open),
    _option("nodes", kind="whole", what="nodes", low=0, high=MAX_TREE_NODES),
    _option("stack", kind="levels", what="place", low=0, high=MAX_LEVELS, example="0, 1, 2"),
    _option("exits", kind="levels", what="exit", low=1, high=1_000, example="2, 4"),
    _option("thresholds", kind="levels", what="threshold", low=1, high="gamma", example="3, 5"),
    _option("level_rules", kind="names", what="level rule", example="tokenwise, hsd"),
)  # fmt: skip
"""The options of one run, the sidebar's first and in their order there."""

MODELS = ("pair", "target", "draft")
BATCH = (
    Field("set", "Prompts from", "“shipped” mixes the next three; “chat” asks.", "name", "shipped", place="what",
          menu=lambda _: offered()),
    Field("rules", "Rules", "Each is measured in turn on the same prompts and seeds, beside plain decoding.", "names",
          ("tokenwise", "hsd"), menu=_rules, place="rules"),
    Field("gammas", "Draft lengths γ", "One, or several with commas.", "wholes", (3, 5, 10), 1, "gamma", place="what",
          what="draft length γ", said=True),
    Field("temperatures", "Temperatures", "One, or several with commas.", "numbers", (1.0,), 0, 2, place="what",
          what="temperature"),
    Field("several", "Drafts", "Per step; one, or several with commas.", "wholes", (1,), 1, "drafts", place="several",
          what="draft"),
    Field("arranged", "Tree", "How several drafts are arranged.", "name", "paths", place="several",
          menu=lambda _: facts.tree_menu()),
    Field("trees", "Trees", "Layout:drafts:γ, or :nodes as well; by all rules for them.", "names", (),
          place="several", what="tree", example="grown:3:3:10"),
    Field("systems", "Also measure",
          "N-grams are copied from the text, for every γ. The others with every rule above: a stack of all the pair's "
          "models; HiSpec, the target's early exits.", "names", (), menu=lambda _: facts.drafting_menu(),
          place="systems"),
    Field("thresholds", "Thresholds T", "Each level hands up so many. Empty: first γ; HiSpec 2, 4, of one exit 1.",
          "levels", (), 1, "gamma", place="levels", what="threshold"),
    Field("exits", "Exits of HiSpec", "After how many layers. Empty: the trained ones.", "levels", (), 1, 1_000,
          place="levels", what="exit"),
    Field("tolerance", "Tolerance of FSD", "Largest KL(q‖p) that passes, if FSD is chosen above.", "number",
          RunOptions.default("tolerance"), place="levels", what="tolerance", example="0.3"),
    Field("prompts", "Prompts", "At most so many.", "whole", 4, 1, 36, 1, place="what"),
    Field("repetitions", "Repetitions", "One more warms up.", "whole", 2, 1, 10, 1, place="what"),
    Field("tokens", "New tokens", "Per prompt, at most.", "whole", 48, 1, "max_new_tokens", 1, place="what"),
)  # fmt: skip
"""The settings of a batch; every combination of its lists is measured."""

SERVER = (
    Field("server", "URL of a server", "OpenAI-compatible: vLLM, llama.cpp, LM Studio. Empty: none.", place="server"),
    Field("server_model", "Its model", "Empty: the only one it has.", place="server"),
)
"""The server that a batch measures beside. No link carries it."""


def defaults(table: Iterable[Field]) -> Values:
    """What a request means by leaving something out."""
    return {field.name: field.default for field in table}


def with_defaults(table: Iterable[Field], space: Space, values: Mapping[str, Any]) -> Values:
    """`values` completed; the pair is the manifest's first that can be run, and γ the pair's own."""
    given = {**defaults(table), "pair": arrivals.first(space).name, "target": "", "draft": "", **values}
    own = given["target"] or given["draft"]
    return {**given, **lengths(None if own else str(given["pair"])), **values}


def lengths(pair: str | None) -> Values:
    """The fields whose default depends on the pair, with that default. pair: None for models of the visitor's own."""
    return {"gamma": draft_length(pair), "gammas": draft_lengths(pair)}


def read(table: Iterable[Field], space: Space, values: Mapping[str, Any]) -> Values:
    """All fields of `values`, checked one by one. Raises HsdError, one line, for the first thing that is wrong."""
    given = with_defaults(table, space, values)
    return {field.name: field.read(given[field.name], space.limits) for field in table}


def said(table: Iterable[Field], values: Mapping[str, Any]) -> dict[str, str]:
    """The parameters of a link that says these values."""
    told = [f for f in table if f.name in values and (f.said or values[f.name] != f.default)]
    return {field.name: field.linked(values[field.name]) for field in told}
