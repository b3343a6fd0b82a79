"""Every name, title and look that several parts of the project use, gathered from the registries.

Menus, tables, figures, the command line's help and the page take them from here; the page as
`facts.json`. Nothing in here decides anything: an entry in `hsd.rules.RULES`,
`hsd.rules.TREE_RULES` or `hsd.draft.LAYOUTS` appears by itself.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hsd.decoding.options import AUTO, LEVELLED, PROPOSERS, SYSTEMS, RunOptions
from hsd.draft import COPIERS, LAYOUTS
from hsd.options.schema import schema
from hsd.paths import GLOSSARY, cached_by_file, read_yaml
from hsd.rules import RULES, TREE_RULES, USUAL, VANILLA, TreeRule
from hsd.rules.forms import LETTERS, Form, Letter
from hsd.rules.fuzzy import DIVERGENCES, MODES, ROWS
from hsd.rules.relaxed import AFTER
from hsd.rules.rule import OTHER_LOOK, Look, Rule
from hsd.trace.sentences import SENTENCES

Facts = dict[str, Any]

NAMES: dict[str, dict[str, Facts]] = read_yaml(Path(__file__).with_name("names.yaml"))
PROPOSER_NAMES = {
    "model": "Draft model",
    **{name: one.title for name, one in COPIERS.items()},
    "none": "None",
}


def named(kind: str, name: str, **unknown: Any) -> Facts:
    """Return the names of a choice in `names.yaml`.

    For a choice not listed, return those in `unknown`, and `name` for all others.
    """
    known = NAMES[kind]
    own = {what: name for entry in known.values() for what in entry}
    return {"name": name, **known.get(name, own | unknown)}


# ---- rules


def chain_name(name: str) -> str:
    """Return the name by which a rule is requested.

    It is `hsd` for `recursive-hsd` too, the rule's form for several drafts.
    """
    bare = name.removeprefix("recursive-")
    return bare if bare in RULES else name


def short(name: str) -> str:
    """Return a rule's name inside a sentence: "vanilla", "HSD", "block verification"."""
    rule = RULES.get(name) or TREE_RULES.get(name)
    return rule.short if rule else name


def capitalised_name(name: str) -> str:
    """Return a rule's name at the start of a sentence or cell: "Vanilla"."""
    words = short(name)
    return words[:1].upper() + words[1:]


def rule_names() -> list[str]:
    """Return every rule that can be requested, in the order of all menus and tables."""
    return [
        *RULES,
        *(name for name in TREE_RULES if chain_name(name) == name and name not in RULES),
    ]


def rule_menu() -> Iterator[tuple[str, str]]:
    """Yield label and name of every rule.

    Labels mark rules that are not lossless or need several drafts.
    """
    return (
        (rule_title(name) + " (several drafts)" * (name not in RULES), name)
        for name in rule_names()
    )


def rule_title(name: str) -> str:
    """Return a rule's title in a menu or the head of a table, with its warning."""
    rule = find_any_rule(name)
    return f"{rule.title} ({rule.mark})" if rule.mark else rule.title


def find_any_rule(name: str) -> Rule | TreeRule:
    """Return the registry's entry of a rule, for one draft or for trees."""
    return RULES[name] if name in RULES else TREE_RULES[name]


def trees_of(name: str) -> list[str]:
    """Return the layouts of several drafts that a rule fits."""
    rule = TREE_RULES.get(f"recursive-{name}") or TREE_RULES.get(name)
    fitting = [
        tree for tree, layout in LAYOUTS.items() if rule and layout.siblings in rule.siblings
    ]
    return [*fitting, AUTO] if rule else []


def rule_look(name: str) -> Look:
    """Return the look of a rule.

    An unknown name, perhaps from a later version, gets the default look.
    """
    return find_any_rule(name).look if name in {*RULES, *TREE_RULES} else OTHER_LOOK


def _rule(order: int, name: str) -> Facts:
    rule = find_any_rule(name)
    law = RULES.get(chain_name(name))
    own = rule if isinstance(rule, Rule) else None
    resamples = own is not None and own.resamples
    levels = own is not None and not resamples and not own.recipe.coupled
    knob = cold = None
    if own and own.knob:
        knob = {name: value for name, value in asdict(own.knob).items() if name != "open"}
    if own and own.cold:
        cold = {"recipe": own.cold.recipe.as_data(), "loses": own.cold.loses}
    return {
        "order": order,
        "name": name,
        "title": rule_title(name),
        "mark": rule.mark,
        "short": short(name),
        "capitalised_name": capitalised_name(name),
        "lossless": rule.lossless,
        "greedy": rule.greedy,
        "forward": rule.forward,
        "asked": chain_name(name),
        "recursive": f"recursive-{name}" if own and f"recursive-{name}" in TREE_RULES else None,
        "single": own is not None,
        "trees": trees_of(name),
        "levels": levels,
        "below": levels and rule.lossless,
        "resamples": resamples,
        "law": (law.equals or law.name) if law else name,
        "loses": own.loses if own else "",
        "term": next((key for key, entry in glossary().items() if entry.get("rule") == name), None),
        "knob": knob,
        "recipe": own.recipe.as_data() if own else None,
        "modes": {mode: recipe.as_data() for mode, recipe in own.modes.items()} if own else {},
        "cold": cold,
        "by_divergence": own is not None and own.recipe.by_divergence,
    }


def forms() -> dict[str, Form]:
    """Return all forms of tests of all rules, by name and by the former names in old traces."""
    rules = [one for rule in RULES.values() for one in (rule, rule.cold) if one]
    recipes = [recipe for rule in rules for recipe in (rule.recipe, *rule.modes.values())]
    every = [form for recipe in recipes for form in recipe.forms]
    every += [form for rule in TREE_RULES.values() for form in rule.forms]
    return {name: form for form in every for name in (form.name, form.former) if name}


# ---- all of it


def facts() -> Facts:
    """Return all names, rules and options as plain data.

    Lists are in the order of menus and tables.

    rules: all that can be asked for, then the tree rules that several drafts of a chain rule are
    judged by. Of each: title (heads of tables, with what these must warn of), mark (that warning
    alone, for a menu of short names), short and head (in a sentence, and at its start), lossless,
    greedy (exact at temperature 0), forward (tests the first token first), asked (the name in a
    request), recursive (the tree rule it stands for with several drafts), single (judges one
    draft), trees (layouts it fits), levels (fits the target of a stack), below (fits levels below
    the target), resamples, law (the same for two rules that are one law), loses (see `Rule`), term
    (its entry in the glossary), knob, recipe and modes (see `hsd.rules.recipe`), cold (recipe and
    loses at temperature 0, where these are others), by_divergence. usual: the rule where nobody
    says which, vanilla: the one that others are compared with. forms: of tests, and letters: of the
    numbers in them, both by name, see `hsd.rules.forms`. glossary: see `glossary`. sentences: see
    `hsd/trace/sentences.yaml`. options: of a run, as `hsd.options.schema` has them.
    """
    knobs = [rule.knob for rule in RULES.values() if rule.knob]
    letters = {knob.option: Letter(knob.sign, knob.title.lower()) for knob in knobs} | LETTERS
    names = [*rule_names(), *(name for name in TREE_RULES if chain_name(name) != name)]
    return {
        "rules": [_rule(order, name) for order, name in enumerate(names)],
        "usual": USUAL,
        "vanilla": VANILLA["single"],
        "layouts": [
            layout_names(name) | {"siblings": layout.siblings} for name, layout in LAYOUTS.items()
        ],
        "divergences": [named("divergences", name, unit="", most=None) for name in DIVERGENCES],
        "modes": [named("modes", name) for name in MODES],
        "systems": [named("systems", name) | {"levels": name in LEVELLED} for name in SYSTEMS],
        "proposers": [
            {
                "name": n,
                "title": title,
                "copies": n in COPIERS,
                "longest": getattr(COPIERS.get(n), "longest", 0),
            }
            for n, title in PROPOSER_NAMES.items()
        ],
        "forms": {name: form.as_data() for name, form in forms().items()},
        "letters": {name: asdict(letter) for name, letter in letters.items()},
        "glossary": {
            key: {k: v for k, v in entry.items() if k != "rule"}
            for key, entry in glossary().items()
        },
        "sentences": SENTENCES,
        "options": schema(RunOptions, menus()),
    }


def facts_json() -> str:
    """Return `facts` as JSON, as the page fetches it."""
    return json.dumps(facts(), ensure_ascii=False, separators=(",", ":"))


def glossary() -> dict[str, dict[str, str]]:
    """Every word and sign that is explained to a reader.

    key → label, words and, where it has one, sign or rule.
    """
    return _entries(GLOSSARY)


@cached_by_file()
def _entries(file: Path) -> dict[str, dict[str, str]]:
    entries: dict[str, dict[str, str]] = read_yaml(file)
    return entries


def layout_names(name: str) -> Facts:
    """Return the title of a layout in a menu, and its words in a sentence."""
    return named("layouts", name, title=LAYOUTS[name].title if name in LAYOUTS else name)


def menus() -> dict[str, list[tuple[str, str]]]:
    """Return label and name of each choice of an option, by the menus of `RunOptions`."""
    kinds: dict[str, Iterable[str]] = {
        "divergences": DIVERGENCES,
        "modes": MODES,
        "grounds": ROWS,
        "afters": AFTER,
        "prompts": NAMES["prompts"],
        "systems": SYSTEMS,
    }
    return {
        "rules": list(rule_menu()),
        "trees": [(layout_names(name)["title"], name) for name in (*LAYOUTS, AUTO)],
        "proposers": [(PROPOSER_NAMES[name], name) for name in PROPOSERS],
        **{
            kind: [(named(kind, name)["title"], name) for name in names]
            for kind, names in kinds.items()
        },
    }
