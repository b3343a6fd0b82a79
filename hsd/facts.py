"""Every name, title and look that several parts of the project use, gathered from the registries.

Menus, tables, figures, the command line's help and the page take them from here; the page as `facts.json`. Nothing in
here decides anything: an entry in `hsd.rules.RULES`, `hsd.rules.TREE_RULES` or `hsd.draft.LAYOUTS` appears by itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from functools import cache
from typing import Any

import yaml

from hsd.decoding.options import LEVELLED, PROPOSERS, SYSTEMS, RunOptions
from hsd.draft import COPIERS, LAYOUTS
from hsd.errors import HsdError
from hsd.options.schema import schema
from hsd.paths import GLOSSARY
from hsd.rules import (
    COMPARED,
    DIVERGENCES,
    LETTERS,
    RULES,
    TREE_RULES,
    USUAL,
    VANILLA,
    Form,
    Look,
    Rule,
    TreeRule,
    find_tree_rule,
)
from hsd.rules.fuzzy import MODES, ROWS
from hsd.rules.relaxed import AFTER
from hsd.rules.rule import OTHER_LOOK
from hsd.trace.fill import SENTENCES

Facts = dict[str, Any]

# ---- names and titles that are in no registry

TREE_NAMES = {  # layout → (in menus, in sentences)
    "paths": ("Independent drafts", "independent"),
    "comb": ("One draft with spares", "with spares"),
    "distinct": ("First tokens differ", "first tokens differ"),
    "distinct-comb": ("Spares that differ", "with spares that differ"),
    "top": ("Likeliest first tokens", "likeliest first"),
    "grown": ("Likeliest, grown (EAGLE-2)", "grown where it is surest"),
}
DIVERGENCE_NAMES = {  # divergence → (formula, in menus, unit, largest value)
    "kl": ("KL(q‖p)", "KL(q‖p), draft from target", "nats", None),
    "reverse-kl": ("KL(p‖q)", "KL(p‖q), target from draft", "nats", None),
    "js": ("JS", "Jensen–Shannon", "nats", 0.6931471805599453),
    "tv": ("TV", "Total variation", "", 1.0),
}
MODE_NAMES = {"exact-first": "Exact test first", "divergence-only": "Divergence only"}
AFTER_NAMES = {"drawn": "Drawn from the target", "likeliest": "The target’s likeliest (Medusa)"}
GROUND_NAMES = {"warped": "As sampled from", "raw": "Raw, temperature 1"}
SYSTEM_NAMES = {  # system → (in menus, short, what it is)
    "speculative": ("Draft model", "speculative", "a draft model proposes, the target verifies"),
    "plain": ("Plain decoding", "plain", "the target alone"),
    "stack": ("Model stack", "stack", "every model drafts for the next larger one"),
    "hispec": ("HiSpec (early exits)", "HiSpec", "early exits of the target draft and check"),
}
PROMPT_NAMES = {"chat": "Answer it (chat)", "text": "Continue it (text)"}
PROPOSER_NAMES = {"model": "Draft model", **{name: one.title for name, one in COPIERS.items()}, "none": "None"}


# ---- rules


def chain_name(name: str) -> str:
    """The name by which a rule is requested: `hsd` for `recursive-hsd`, its form for several drafts."""
    bare = name.removeprefix("recursive-")
    return bare if bare in RULES else name


def short(name: str) -> str:
    """A rule inside a sentence: "vanilla", "HSD", "block verification"."""
    rule = RULES.get(name) or TREE_RULES.get(name)
    return rule.short if rule else name


def head(name: str) -> str:
    """The same at the start of a sentence or a cell: "Vanilla"."""
    words = short(name)
    return words[:1].upper() + words[1:]


def rule_names() -> list[str]:
    """Every rule that can be requested, in the order of all menus and tables."""
    return [*RULES, *(name for name in TREE_RULES if chain_name(name) == name)]


def rule_menu() -> Iterator[tuple[str, str]]:
    """Label and name of every rule; those that are not lossless, and those that need several drafts, say so."""
    for name in rule_names():
        yield rule_title(name) if name in RULES else f"{rule_title(name)} (several drafts)", name


def rule_title(name: str) -> str:
    """A rule's title in a menu or the head of a table, with its warning."""
    title, mark = find(name).title, rule_mark(name)
    return f"{title} ({mark})" if mark else title


def rule_mark(name: str) -> str:
    """The warning beside a rule's name: that it is not lossless, or what it costs; "" for most."""
    rule = find(name)
    return rule.mark if isinstance(rule, Rule) else "" if rule.lossless else "not lossless"


def find(name: str) -> Rule | TreeRule:
    """The registry's entry."""
    return RULES[name] if name in RULES else TREE_RULES[name]


def trees_of(name: str) -> list[str]:
    """The layouts of several drafts that a rule fits."""
    try:
        fitting = find_tree_rule(name).siblings
    except HsdError:
        return []
    return [tree for tree, layout in LAYOUTS.items() if layout.siblings in fitting]


def rule_look(name: str) -> Look:
    """How a rule is drawn; an unknown name, perhaps from a later version, gets the default look."""
    return find(name).look if name in {*RULES, *TREE_RULES} else OTHER_LOOK


def _rule(order: int, name: str) -> Facts:
    rule, tree = find(name), TREE_RULES.get(f"recursive-{name}")
    law = RULES.get(chain_name(name))
    own = rule if isinstance(rule, Rule) else None
    chain, resamples = own is not None, own is not None and own.resamples
    levels = own is not None and not resamples and not own.recipe.coupled
    return {
        "order": order,
        "name": name,
        "title": rule_title(name),
        "label": {n: label for label, n in rule_menu()}.get(name, rule.title),
        "mark": rule_mark(name),
        "short": short(name),
        "head": head(name),
        "lossless": rule.lossless,
        "greedy": own is not None and own.greedy,
        "forward": rule.forward,
        "vanilla": name == VANILLA["single"],
        "kind": "chain" if chain else "tree",
        "asked": chain_name(name),
        "recursive": tree.name if chain and tree else None,
        "single": chain,
        "trees": trees_of(name),
        "levels": levels,
        "below": levels and rule.lossless,
        "resamples": resamples,
        "law": (law.equals or law.name) if law else name,
        "loses": own.loses if own else "",
        "term": next((key for key, entry in glossary().items() if entry.get("rule") == name), None),
        "knob": asdict(own.knob) if own and own.knob else None,
        "recipe": own.recipe.told() if own else None,
        "modes": {mode: recipe.told() for mode, recipe in own.modes.items()} if own else {},
        "cold": {"recipe": own.cold.recipe.told(), "loses": own.cold.loses} if own and own.cold else None,
        "by_divergence": own is not None and own.recipe.by_divergence,
        "look": asdict(rule_look(name)),
    }


def forms() -> dict[str, Form]:
    """Every form that the test of a rule may have, by its name and by its former one."""
    rules = [one for rule in RULES.values() for one in (rule, rule.cold) if one]
    recipes = [recipe for rule in rules for recipe in (rule.recipe, *rule.modes.values())]
    found = [form for recipe in recipes for form in recipe.forms]
    return {name: form for form in found for name in (form.name, form.former) if name}


# ---- all of it


def facts(most: Mapping[str, int] | None = None) -> Facts:
    """Everything, as plain data. Lists are in the order of menus and tables.

    rules: all that can be asked for, then the tree rules that several drafts of a chain rule are judged by. Of each:
    title (heads of tables, with what these must warn of), mark (that warning alone, for a menu of short names), label
    (the title, and whether it takes several drafts), short and head (in a sentence, and at its start), lossless, greedy
    (exact at temperature 0), forward (tests the first token first), vanilla, kind "chain" or "tree", asked (the name in
    a request), recursive (the tree rule it stands for with several drafts), single (judges one draft), trees (layouts
    it fits), levels (fits the target of a stack), below (fits levels below the target), resamples, law (the same for
    two rules that are one law), loses (see `Rule`), term (its entry in the glossary), knob, recipe and modes (see
    `hsd.rules.recipe`), cold (recipe and loses at temperature 0, where these are others), by_divergence, look. usual:
    the rule where nobody says which, vanilla: the one that others are compared with, compared: for trees, the others.
    forms: of tests, and letters: of the numbers in them, both by name, see `hsd.rules.forms`.
    glossary: see `glossary`. sentences: see `hsd/trace/sentences.yaml`.
    options: of a run, as `hsd.options.schema` has them; most: a Space's lower limits of them.
    """
    names = [*rule_names(), *(name for name in TREE_RULES if chain_name(name) != name)]
    return {
        "rules": [_rule(i, name) for i, name in enumerate(names)],
        "usual": USUAL,
        "vanilla": VANILLA["single"],
        "compared": COMPARED,
        "layouts": [
            {
                "name": name,
                "title": tree_title(name),
                "words": tree_words(name),
                "about": layout.title,
                "siblings": layout.siblings,
                "vanilla": VANILLA[layout.siblings],
            }
            for name, layout in LAYOUTS.items()
        ],
        "divergences": [
            {"name": name, **dict(zip(("formula", "title", "unit", "most"), _divergence(name), strict=True))}
            for name in DIVERGENCES
        ],
        "modes": [{"name": name, "title": MODE_NAMES.get(name, name)} for name in MODES],
        "grounds": [{"name": name, "title": GROUND_NAMES.get(name, name)} for name in ROWS],
        "systems": [
            {"name": name, **dict(zip(("title", "short", "words"), _system(name), strict=True))}
            | {"levels": name in LEVELLED}
            for name in SYSTEMS
        ],
        "proposers": [{"name": n, "title": title, "copies": n in COPIERS} for n, title in PROPOSER_NAMES.items()],
        "forms": {name: form.told() for name, form in forms().items()},
        "letters": {name: asdict(letter) for name, letter in LETTERS.items()},
        "glossary": {key: {k: v for k, v in entry.items() if k != "rule"} for key, entry in glossary().items()},
        "sentences": SENTENCES,
        "options": schema(RunOptions, menus(), most),
    }


def facts_json(most: Mapping[str, int] | None = None) -> str:
    """`facts` as the page fetches it."""
    return json.dumps(facts(most), ensure_ascii=False, separators=(",", ":"))


@cache
def glossary() -> dict[str, dict[str, str]]:
    """Every word and sign that is explained to a reader: key → label, words and, where it has one, sign or rule."""
    entries: dict[str, dict[str, str]] = yaml.safe_load(GLOSSARY.read_text(encoding="utf-8"))
    return entries


def tree_title(name: str) -> str:
    """A layout in a menu."""
    return TREE_NAMES[name][0] if name in TREE_NAMES else LAYOUTS[name].title


def tree_words(name: str) -> str:
    """A layout in a sentence."""
    return TREE_NAMES[name][1] if name in TREE_NAMES else name


def menus() -> dict[str, list[tuple[str, str]]]:
    """Label and name of each choice of an option, by the menus of `RunOptions`."""
    return {
        "rules": list(rule_menu()),
        "trees": [(tree_title(name), name) for name in LAYOUTS],
        "divergences": [(_divergence(name)[1], name) for name in DIVERGENCES],
        "modes": [(title, name) for name, title in MODE_NAMES.items()],
        "grounds": [(title, name) for name, title in GROUND_NAMES.items()],
        "afters": [(AFTER_NAMES.get(name, name), name) for name in AFTER],
        "proposers": [(PROPOSER_NAMES[name], name) for name in PROPOSERS],
        "prompts": [(title, name) for name, title in PROMPT_NAMES.items()],
        "systems": [(system_title(name), name) for name in SYSTEMS],
    }


def system_title(name: str) -> str:
    """A system in a menu."""
    return _system(name)[0]


def system_short(name: str) -> str:
    """A system in a legend."""
    return _system(name)[1]


def _system(name: str) -> tuple[str, str, str]:
    return SYSTEM_NAMES.get(name, (name, name, ""))


def formula(divergence: str) -> str:
    """A divergence in a sentence."""
    return _divergence(divergence)[0]


def _divergence(name: str) -> tuple[str, str, str, float | None]:
    return DIVERGENCE_NAMES.get(name, (name, name, "", None))


def listed(names: Any) -> str:
    """Names for a help text or an error: "tokenwise, blockwise or hsd"."""
    *most, last = names
    return f"{', '.join(most)} or {last}" if most else str(last)
