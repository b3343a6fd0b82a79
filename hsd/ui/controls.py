"""What a visitor can set for a run: the strip with preset, prompt and Run, and the options behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import gradio as gr

from hsd import facts
from hsd.draft import COPIERS, LAYOUTS
from hsd.models.loading.registry import draft_length
from hsd.rules import RULES
from hsd.space import Space
from hsd.trace import Setup
from hsd.ui import arrivals, form, machine
from hsd.ui.pairs import chats
from hsd.ui.presets import Preset, recorded
from hsd.ui.request import OPTIONS, field_name
from hsd.ui.starters import Starter, starters

START = {"independent": "hsd", "distinct": "traversal", "chosen": "one-hot"}  # a rule for each kind of tree
SETTLED = tuple(rule for rule in RULES.values() if rule.knob)
PLACES = ("top", "main", *(rule.name for rule in SETTLED), "more")
NAMES = tuple(field.name for place in PLACES for field in form.RUN if field.place == place)
"""The controls of a run, in the order in which handlers get their values."""


@dataclass(frozen=True)
class Strip:
    """What stands above all screens: a recorded run to open, a prompt, and its two buttons."""

    preset: gr.Dropdown
    prompt: Any
    run: gr.Button
    cancel: gr.Button


@dataclass(frozen=True)
class Sidebar:
    """The parts that handlers are attached to. controls: by the names of `form.RUN`; starters: chips with prompts."""

    controls: dict[str, Any]
    preset: gr.Dropdown
    starters: gr.Dataset
    run: gr.Button
    cancel: gr.Button

    def components(self) -> list[gr.components.Component]:
        """The controls in the order of `NAMES`."""
        return [self.controls[name] for name in NAMES]


def strip(space: Space, presets: Mapping[str, Preset], start: Mapping[str, Any]) -> Strip:
    """The row above all screens, in the current Gradio context. start: the first values, by the names of `form.RUN`."""
    value = form.with_defaults(form.RUN, space, start)
    with gr.Row(elem_id="hsd-strip"):
        preset = gr.Dropdown(
            [(p.title, name) for name, p in presets.items()],
            value=next(iter(presets)),
            label="Preset",
            filterable=False,
            elem_id="hsd-preset",
            min_width=120,
        )
        field = next(field for field in form.RUN if field.name == "prompt")
        prompt = field.component(space, value["prompt"], "hsd", lines=1, max_lines=3, info=None, min_width=160)
        run = gr.Button("Run", variant="primary", elem_id="hsd-run", min_width=64)
        cancel = gr.Button("Cancel", interactive=False, elem_id="hsd-cancel", min_width=64)
    return Strip(preset, prompt, run, cancel)


def build(space: Space, presets: Mapping[str, Preset], start: Mapping[str, Any], above: Strip) -> Sidebar:
    """The options, in the current Gradio context. start: as for `strip`, which made `above`."""
    value = form.with_defaults(form.RUN, space, start)
    own: dict[str, Any] = {"visible": machine.own_pairs_allowed(space)}
    switch = {"visible": _switch_shown(space, value["pair"])}
    more: dict[str, dict[str, Any]] = {"prompt_as": switch, "target": own, "draft": own}

    def made(place: str) -> dict[str, Any]:
        return {
            f.name: f.component(space, value[f.name], "hsd", **more.get(f.name, {}))
            for f in form.RUN
            if f.place == place and f.name != "prompt"
        }

    controls = {"prompt": above.prompt, **made("top")}
    chips = gr.Dataset(
        components=[gr.Textbox(visible=False, label="prompt")],
        label="Prompts to start from",
        type="index",
        samples_per_page=12,
        elem_id="hsd-starters",
        **_shown_starters(starters(value["pair"], presets.values())),
    )
    controls |= made("main")
    boxes: list[Any] = []
    for rule, shown in zip(SETTLED, _settings_shown(value["rule"], value["shadow"]), strict=True):
        title = f"{facts.head(rule.name)} settings"
        with gr.Accordion(title, visible=shown, elem_id=f"hsd-{rule.name}") as box:
            controls |= made(rule.name)
        boxes.append(box)
    with gr.Accordion("More options", open=False, elem_id="hsd-more"):
        controls |= made("more")
    rules: list[Any] = [controls["rule"], controls["shadow"]]
    for menu in rules:
        menu.change(
            lambda *rules: [gr.update(visible=shown) for shown in _settings_shown(*rules)],
            rules,
            boxes,
            preprocess=False,
            queue=False,
            show_progress="hidden",
            api_visibility="private",
        )
    return Sidebar(controls, above.preset, chips, above.run, above.cancel)


def _settings_shown(*rules: str) -> list[bool | Literal["hidden"]]:
    """A rule's settings are there for runs that judge by it, or compare with it, and else out of sight."""
    return [True if rule.name in rules else "hidden" for rule in SETTLED]


def _switch_shown(space: Space, pair: str) -> bool | Literal["hidden"]:
    """Answer or continue: only for a pair that can do both."""
    return True if chats(space, pair) else "hidden"


def _shown_starters(found: Sequence[Starter]) -> dict[str, Any]:
    """Properties of the chips."""
    shown = {"samples": [[one.prompt] for one in found], "sample_labels": [one.label for one in found]}
    return {**shown, "visible": bool(found)}


def for_pair(
    space: Space, presets: Mapping[str, Preset], values: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """What else changes when `values` names another pair: updates of controls, and of the chips."""
    pair = values["pair"]
    switch = {"value": values.get("prompt_as") or ("chat" if chats(space, pair) else None)}
    return {
        "pair": gr.update(choices=form.pair_menu(space), value=pair),
        "gamma": values.get("gamma") or draft_length(pair),
        "prompt_as": gr.update(visible=_switch_shown(space, pair), **switch),
    }, gr.update(**_shown_starters(starters(pair, presets.values())))


def start_values(space: Space, presets: Mapping[str, Preset]) -> dict[str, Any]:
    """What the controls begin with: the pair to start with, and what it is good at, or the preset that is shown."""
    pair, first = arrivals.first(space).name, next(iter(presets.values()))
    found = starters(pair, presets.values())
    setup = recorded(first).setup
    if setup.pair == pair or not found:
        return preset_values(first, setup) | {"pair": pair}
    begin = {**form.defaults(form.RUN), "pair": pair, "gamma": draft_length(pair)}
    return {**begin, "prompt": found[0].prompt, "prompt_as": found[0].prompt_as}


MATCHING = ("rule", "shadow", "drafts", "tree", "proposer")
"""The controls that have to fit each other, in the order of `fit`."""


def fit(
    changed: str, rule: str, shadow: str, drafts: float, tree: str, proposer: str
) -> tuple[str, str, int, str, str]:
    """The values of `MATCHING` that fit each other after one of them, `changed`, was set by the visitor.

    What was set stays as it is; the others change only where they must.
    """
    count = int(drafts or 1)
    if count == 1 and (changed == "tree" or (changed == "rule" and rule not in RULES)):
        count = 4
    if proposer in COPIERS and changed == "proposer":
        count = 1  # there is one continuation to copy
    if count > 1 and tree not in facts.trees_of(rule):
        layouts = facts.trees_of(rule)
        if changed != "rule":
            rule = START[LAYOUTS[tree].siblings]
        elif layouts:
            tree = layouts[0]
        else:
            count = 1  # the rule is for single drafts
    if count == 1 and rule not in RULES:
        rule = START["independent"]
    usable = shadow in RULES if count == 1 else tree in facts.trees_of(shadow)
    return rule, (shadow if usable else ""), count, tree, proposer if count == 1 else "model"


def enabled(system: str, proposer: str) -> dict[str, bool]:
    """Which controls mean something: those about drafts where there is one, those about several where there can be."""
    drafts = system != "plain"
    return {
        **dict.fromkeys(("rule", "gamma", "shadow", "proposer"), drafts),
        **dict.fromkeys(("drafts", "tree"), drafts and proposer == "model"),
    }


def preset_values(preset: Preset, setup: Setup) -> dict[str, Any]:
    """The controls' values that repeat a preset's recorded run. setup: of its trace."""
    options = {field_name(name): value for name, value in preset.options.items()}
    made_by = {"pair": setup.pair, "seed": setup.options.seed}
    return {**form.defaults(OPTIONS), "prompt": preset.prompt, **made_by, **options}
