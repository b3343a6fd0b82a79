"""The settings of a batch, each with one line that says what it does."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import gradio as gr

from hsd import facts
from hsd.decoding.options import LEVELLED
from hsd.draft import LAYOUTS
from hsd.space import Space
from hsd.ui.measure.batch import DEFAULTS, MAX_PROMPTS, MAX_REPETITIONS, offered_sets

NUMBERS = ("prompts", "repetitions", "tokens")


@dataclass(frozen=True)
class Settings:
    """The components of a batch; their names are those of `batch.DEFAULTS`, in the same order."""

    set: gr.Dropdown
    rules: gr.CheckboxGroup
    gammas: gr.Textbox
    temperatures: gr.Textbox
    several: gr.Textbox
    arranged: gr.Dropdown
    systems: gr.CheckboxGroup
    thresholds: gr.Textbox
    exits: gr.Textbox
    tolerance: gr.Textbox
    prompts: gr.Slider
    repetitions: gr.Slider
    tokens: gr.Slider

    @staticmethod
    def names() -> list[str]:
        return [field.name for field in fields(Settings)]

    def components(self) -> list[gr.components.Component]:
        return [getattr(self, name) for name in self.names()]

    @staticmethod
    def values() -> list[Any]:
        """The first values, in order."""
        return [DEFAULTS[name] for name in Settings.names()]

    @staticmethod
    def shown(name: str, value: str) -> Any:
        """What the control of that name shows for a value from a link."""
        if name == "rules":
            return [rule for rule in value.split(",") if rule in facts.rule_names()]
        if name == "systems":
            return [system for system in value.split(",") if system in LEVELLED]
        if name in NUMBERS:
            return int(value) if value.isascii() and value.isdigit() and len(value) < 6 else DEFAULTS[name]
        if name in ("set", "arranged"):
            return value if value in (offered_sets() if name == "set" else LAYOUTS) else DEFAULTS[name]
        return value[:100]


def build(space: Space) -> Settings:
    """Create the components in the current Gradio context."""
    limits = space.limits
    with gr.Row(elem_id="hsd-measure-what"):
        prompt_set = gr.Dropdown(
            offered_sets(),
            value=DEFAULTS["set"],
            label="Prompts from",
            info="“shipped” mixes stories, sums, functions.",
            filterable=False,
            min_width=150,
            elem_id="hsd-measure-set",
        )
        gammas = _text("gammas", "Draft lengths γ", "One, or several with commas.")
        temperatures = _text("temperatures", "Temperatures", "One, or several with commas.")
        prompts = _slider("prompts", "Prompts", "At most so many.", MAX_PROMPTS)
        repetitions = _slider("repetitions", "Repetitions", "One more warms up.", MAX_REPETITIONS)
        tokens = _slider("tokens", "New tokens", "Per prompt, at most.", limits.max_new_tokens)
    rules = gr.CheckboxGroup(
        list(facts.rule_menu()),
        value=DEFAULTS["rules"],
        label="Rules",
        info="Each is measured in turn on the same prompts and seeds, beside plain decoding.",
        elem_id="hsd-measure-rules",
    )
    with gr.Accordion("Several drafts", open=False, elem_id="hsd-measure-more"), gr.Row():
        several = _text("several", "Drafts", "Per step; one, or several with commas.")
        arranged = gr.Dropdown(
            facts.tree_menu(),
            value=DEFAULTS["arranged"],
            label="Tree",
            info="How several drafts are arranged.",
            filterable=False,
            min_width=150,
            elem_id="hsd-measure-arranged",
        )
    with gr.Accordion("Further systems", open=False, elem_id="hsd-measure-further"):
        systems = gr.CheckboxGroup(
            [(facts.system_title(name), name) for name in LEVELLED],
            value=DEFAULTS["systems"],
            label="Also measure",
            info="Each with every rule above. A stack takes all models of the pair; HiSpec the target's early exits.",
            elem_id="hsd-measure-systems",
        )
        with gr.Row():
            thresholds = _text(
                "thresholds", "Thresholds T", "Each level hands up so many. Empty: first γ; HiSpec 2, 4."
            )
            exits = _text("exits", "Exits of HiSpec", "After how many layers. Empty: the trained ones.")
            tolerance = _text("tolerance", "Tolerance of FSD", "Largest KL(q‖p) that passes, if FSD is chosen above.")
    return Settings(
        prompt_set, rules, gammas, temperatures, several, arranged, systems, thresholds, exits, tolerance, prompts,
        repetitions, tokens,
    )  # fmt: skip


def _text(name: str, label: str, info: str) -> gr.Textbox:
    return gr.Textbox(DEFAULTS[name], label=label, info=info, max_lines=1, min_width=130, elem_id=f"hsd-measure-{name}")


def _slider(name: str, label: str, info: str, most: int) -> gr.Slider:
    return gr.Slider(
        1, most, value=DEFAULTS[name], step=1, label=label, info=info, buttons=[], min_width=130,
        elem_id=f"hsd-measure-{name}",
    )  # fmt: skip
