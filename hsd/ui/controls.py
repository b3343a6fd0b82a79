"""The sidebar: everything a visitor can set for a run, each with one line that says what it does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

import gradio as gr

from hsd import facts
from hsd.draft import LAYOUTS
from hsd.rules import RULES
from hsd.space import Space
from hsd.ui import machine
from hsd.ui.presets import Preset
from hsd.ui.request import DEFAULTS, OPTION_NAMES

START = {"independent": "hsd", "distinct": "traversal", "chosen": "one-hot"}  # a rule for each kind of tree


@dataclass(frozen=True)
class Controls:
    """The components of a request; `names` and `components` go through them in the same order."""

    prompt: gr.Textbox
    rule: gr.Dropdown
    gamma: gr.Slider
    drafts: gr.Slider
    temperature: gr.Slider
    length: gr.Slider
    seed: gr.Number
    tree: gr.Dropdown
    shadow: gr.Dropdown
    system: gr.Radio
    top_p: gr.Slider
    top_k: gr.Slider
    pair: gr.Dropdown
    target: gr.Textbox
    draft: gr.Textbox
    divergence: gr.Dropdown
    tolerance: gr.Number
    fuzzy_mode: gr.Dropdown
    divergence_on: gr.Dropdown

    @staticmethod
    def names() -> list[str]:
        return [field.name for field in fields(Controls)]

    def components(self) -> list[gr.components.Component]:
        return [getattr(self, name) for name in self.names()]


@dataclass(frozen=True)
class Sidebar:
    """The sidebar's parts that handlers are attached to."""

    controls: Controls
    preset: gr.Dropdown
    run: gr.Button
    cancel: gr.Button


def build(space: Space, presets: Mapping[str, Preset], start: Mapping[str, Any]) -> Sidebar:
    """Create the components in the current Gradio context. start: the first values, as in `DEFAULTS`."""
    value = {**DEFAULTS, "pair": space.pairs[0].name, **start}
    preset = gr.Dropdown(
        [(p.title, name) for name, p in presets.items()],
        value=next(iter(presets)),
        label="Preset",
        info="Opens a recorded run at once.",
        filterable=False,
        elem_id="hsd-preset",
    )
    prompt = gr.Textbox(
        value["prompt"],
        label="Prompt",
        info="The text that the models continue.",
        lines=3,
        max_lines=8,
        elem_id="hsd-prompt",
    )
    with gr.Row(elem_id="hsd-buttons"):
        run = gr.Button("Run", variant="primary", elem_id="hsd-run", min_width=80)
        cancel = gr.Button("Cancel", interactive=False, elem_id="hsd-cancel", min_width=80)
    main = _main_controls(space, value)
    with gr.Accordion("FSD settings", visible=_fuzzy_shown(value["rule"], value["shadow"]), elem_id="hsd-fuzzy") as box:
        fuzzy = _fuzzy_controls(value)
    with gr.Accordion("More options", open=False, elem_id="hsd-more"):
        folded = _folded_controls(space, value)
    controls = Controls(prompt=prompt, **main, **folded, **fuzzy)
    for rule in (controls.rule, controls.shadow):
        rule.change(
            lambda *rules: gr.update(visible=_fuzzy_shown(*rules)),
            [controls.rule, controls.shadow],
            box,
            preprocess=False,
            queue=False,
            show_progress="hidden",
            api_visibility="private",
        )
    return Sidebar(controls, preset, run, cancel)


def _fuzzy_shown(*rules: str) -> bool | Literal["hidden"]:
    """The settings of the fuzzy rule are there for runs that judge by it, or compare with it, and else out of sight."""
    return True if "fuzzy" in rules else "hidden"


def _main_controls(space: Space, value: Mapping[str, Any]) -> dict[str, Any]:
    limits = space.limits
    return {
        "rule": gr.Dropdown(
            list(facts.rule_menu()), value=value["rule"], label="Rule", info="Who decides what is kept of a draft.",
            filterable=False, elem_id="hsd-rule",
        ),
        "gamma": _slider("Draft length γ", "Tokens drafted per step.", 1, limits.gamma, 1, value["gamma"], "gamma"),
        "drafts": _slider(
            "Drafts", "From 2 on they form a tree.", 1, limits.drafts, 1, value["drafts"], "drafts"
        ),
        "temperature": _slider(
            "Temperature", "0: always the likeliest.", 0, 2, 0.05, value["temperature"], "temperature"
        ),
        "length": _slider("Length", "New tokens, at most.", 1, limits.max_new_tokens, 1, value["length"], "length"),
        "seed": gr.Number(
            value["seed"], label="Seed", info="Same seed, same run.", precision=0, elem_id="hsd-seed"
        ),
    }  # fmt: skip


def _folded_controls(space: Space, value: Mapping[str, Any]) -> dict[str, Any]:
    own = machine.own_pairs_allowed(space)
    return {
        "shadow": gr.Dropdown(
            [("Vanilla", ""), *facts.rule_menu()], value=value["shadow"], label="Compared with",
            info="Judges the same drafts and coins.", filterable=False, elem_id="hsd-shadow",
        ),
        "tree": gr.Dropdown(
            facts.tree_menu(), value=value["tree"], label="Tree",
            info="How several drafts are arranged.", filterable=False, elem_id="hsd-tree",
        ),
        "system": gr.Radio(
            [("Speculative", "speculative"), ("Plain", "plain")], value=value["system"], label="System",
            info="Plain: target alone, no draft.", elem_id="hsd-system",
        ),
        "top_p": _slider("Top-p", "Up to this much mass.", 0.05, 1, 0.05, value["top_p"], "top-p"),
        "top_k": _slider("Top-k", "0: all tokens.", 0, 200, 1, value["top_k"], "top-k"),
        "pair": gr.Dropdown(
            [(pair.title, pair.name) for pair in machine.offered(space)], value=value["pair"], label="Pair",
            info="Target and draft model.", filterable=False, elem_id="hsd-pair",
        ),
        "target": gr.Textbox(
            value["target"], label="Own target", info="Folder or Hub id, instead of the pair.", visible=own,
            elem_id="hsd-target",
        ),
        "draft": gr.Textbox(
            value["draft"], label="Own draft", info="Needs the target's tokenizer.", visible=own, elem_id="hsd-draft"
        ),
    }  # fmt: skip


def _fuzzy_controls(value: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "divergence": gr.Dropdown(
            facts.divergence_menu(), value=value["divergence"], label="Divergence",
            info="How far apart the two rows are.", filterable=False, elem_id="hsd-divergence",
        ),
        "tolerance": gr.Number(
            value["tolerance"], label="Tolerance", info="Up to this a token passes; below 0: exact.", step=0.1,
            elem_id="hsd-tolerance",
        ),
        "fuzzy_mode": gr.Dropdown(
            facts.menu(facts.MODE_NAMES), value=value["fuzzy_mode"], label="Mode",
            info="What decides above the tolerance.", filterable=False, elem_id="hsd-fuzzy-mode",
        ),
        "divergence_on": gr.Dropdown(
            facts.menu(facts.GROUND_NAMES), value=value["divergence_on"], label="Divergence of",
            info="Which rows are compared.", filterable=False, elem_id="hsd-divergence-on",
        ),
    }  # fmt: skip


def _slider(label: str, info: str, low: float, high: float, step: float, value: float, name: str) -> gr.Slider:
    return gr.Slider(low, high, value=value, step=step, label=label, info=info, buttons=[], elem_id=f"hsd-{name}")


def fit(changed: str, rule: str, shadow: str, drafts: float, tree: str) -> tuple[str, str, int, str]:
    """Rule, shadow, drafts and tree that fit each other after one of them, `changed`, was set by the visitor.

    What was set stays as it is; the others change only where they must.
    """
    count = int(drafts or 1)
    if count == 1 and (changed == "tree" or (changed == "rule" and rule not in RULES)):
        count = 4
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
    return rule, (shadow if usable else ""), count, tree


def preset_values(preset: Preset, seed: int) -> dict[str, Any]:
    """The controls' values that repeat a preset's recorded run."""
    options = {("length" if k == "max_new_tokens" else k): v for k, v in preset.options.items()}
    sampling = {name: DEFAULTS[name] for name in OPTION_NAMES}
    return {**sampling, "prompt": preset.prompt, "seed": seed, **options}
