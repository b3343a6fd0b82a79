"""Every option of a run, once.

Registries of names, and which options fit together, are in `hsd.decoding`.
"""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal

from pydantic.json_schema import SkipJsonSchema

from hsd.options.option import Model, option

MAX_GAMMA = 32
AUTO = 8  # tokens that a draft has at most which chooses its length itself
MAX_NEW_TOKENS = 65_536
MAX_DRAFTS = 64
MAX_TREE_NODES = 512
MAX_LEVELS = 8
MAX_LAYERS = 1_000
DRAFTING = {"system": "systems that draft"}
LEVELLED = {"system": "systems with levels"}
TREES = {"system": "systems with trees", "proposer": "proposers of trees"}
FUZZY = {"rule|shadow": "rules by divergence"}


class Options(Model):
    """The options of a run.

    `RunOptions` adds one for each rule's own setting, and checks that they fit together.
    """

    groups: ClassVar[Mapping[str, str]] = {
        "prompt": "",
        "system": "",
        "levels": "",
        "main": "",
        "rule": "The rule's own settings",
        "drafts": "Drafts",
        "sampling": "Sampling",
        "more": "More options",
    }
    old: ClassVar[Mapping[str, str]] = {"length": "max_new_tokens", "several": "drafts"}

    prompt_as: str = option(
        "",
        "With the prompt",
        "Answer a question, or go on writing; left out, as suits the pair.",
        "prompt",
        menu="prompts",
        unset="As suits the pair",
        scope="shared",
    )
    system: str = option(
        "speculative",
        "System",
        "Speculative: a draft model; plain: none; stack: models that draft for each other; "
        "hispec: early exits.",
        "system",
        menu="systems",
    )
    rule: str | SkipJsonSchema[Callable[..., Any]] = option(
        "hsd",
        "Rule",
        "Who decides what is kept of a draft.",
        "main",
        menu="rules",
        open=True,
        code=True,
        when=DRAFTING,
        always=True,
    )
    gamma: int | Literal["auto"] = option(
        5,
        "Draft length γ",
        "Tokens drafted per step, levels of a tree; auto: as long as it pays, by how sure the "
        "draft is and what was kept so far.",
        "main",
        low=1,
        high=MAX_GAMMA,
        step=1,
        words={"auto": AUTO},
        when={"system": "systems with γ"},
        always=True,
        place="draft",
    )
    temperature: float = option(
        1.0,
        "Temperature",
        "0: always the likeliest token; 1: the target's own law.",
        "main",
        low=0,
        high=100,
        step=0.05,
        shown=(0, 2),
        scope="shared",
        always=True,
        place="sampling",
    )
    max_new_tokens: int = option(
        64,
        "Length",
        "New tokens, at most.",
        "main",
        low=1,
        high=MAX_NEW_TOKENS,
        step=1,
        scope="shared",
        always=True,
    )
    seed: int = option(
        0, "Seed", "Same seed, same run; any whole number.", "main", scope="shared", always=True
    )
    divergence: str = option(
        "kl",
        "Divergence",
        "The measure of how far rows differ.",
        "rule",
        menu="divergences",
        when=FUZZY,
        place="fuzzy",
    )
    tolerance: float = option(
        0.3,
        "Tolerance",
        "How far from the target a token's law may be; below 0: exact.",
        "rule",
        step=0.05,
        shown=(-0.1, 3),
        when={"rule|shadow": "rules with tolerance"},
        place="fuzzy",
    )
    fuzzy_mode: str = option(
        "exact-first",
        "Mode",
        "Above the tolerance: an exact test, or the draft ends.",
        "rule",
        menu="modes",
        when=FUZZY,
        place="fuzzy.mode",
    )
    divergence_on: str = option(
        "warped",
        "Divergence of",
        "Which rows are compared: warped, as sampled from; raw, at temperature 1.",
        "rule",
        menu="grounds",
        when=FUZZY,
        place="fuzzy.on",
    )
    after_kept: str = option(
        "drawn",
        "After the kept ones",
        "The next token: drawn from the target, or its likeliest, as in Medusa's code.",
        "rule",
        menu="afters",
        when={"rule|shadow": "rules with epsilon"},
        place="typical",
    )
    proposer: str = option(
        "model",
        "Drafts come from",
        "A draft model, or the text itself: what followed its last words.",
        "drafts",
        menu="proposers",
        when={"system": ["speculative"]},
        place="draft",
    )
    confidence: float = option(
        0.0,
        "Confidence",
        "With γ auto: the least chance to be kept at which the draft goes on; 0: the usual one.",
        "drafts",
        low=0,
        high=1,
        step=0.05,
        when={"system": ["speculative"], "gamma": ["auto"]},
        place="draft",
    )
    drafts: int = option(
        1,
        "Drafts",
        "From 2 on a tree; of a grown one (EAGLE-2), the children of a node.",
        "drafts",
        low=1,
        high=MAX_DRAFTS,
        step=1,
        when=TREES,
        place="draft",
    )
    tree: str = option(
        "paths",
        "Tree",
        "How several drafts are arranged; auto: the fastest.",
        "drafts",
        menu="trees",
        when=TREES,
        place="draft",
    )
    nodes: int = option(
        0,
        "Nodes",
        "Size of a grown tree, the text's last token counted; 0: drafts · γ + 1.",
        "drafts",
        low=0,
        high=MAX_TREE_NODES,
        when={**TREES, "tree": "trees that grow"},
        place="draft",
    )
    top_p: float = option(
        1.0,
        "Top-p",
        "Sample from the likeliest tokens up to this mass; 1: all.",
        "sampling",
        low=0,
        high=1,
        step=0.05,
        shown=(0.05, 1),
        scope="shared",
        always=True,
        place="sampling",
    )
    top_k: int = option(
        0,
        "Top-k",
        "Sample from so many of the likeliest tokens; 0: all.",
        "sampling",
        low=0,
        high=2**31,
        step=1,
        shown=(0, 200),
        scope="shared",
        always=True,
        place="sampling",
    )
    shadow: str = option(
        "",
        "Compared with",
        "A second rule, which judges the same drafts and coins; left out, vanilla, token-wise.",
        "more",
        menu="rules",
        open=True,
        unset="Vanilla",
        when=DRAFTING,
        scope="record",
    )
    stack: tuple[int, ...] = option(
        (),
        "Models",
        "Which models take part, counted from 0, the target last; left empty, all.",
        "levels",
        low=0,
        high=MAX_LEVELS,
        each="place",
        when={"system": ["stack"]},
        place="levels",
    )
    exits: tuple[int, ...] = option(
        (),
        "Exits",
        "Layers after which HiSpec drafts, and checks; left empty, the trained ones.",
        "levels",
        low=1,
        high=MAX_LAYERS,
        each="exit",
        when={"system": ["hispec"]},
        place="levels",
    )
    thresholds: tuple[int, ...] = option(
        (),
        "Thresholds T",
        "How many tokens each level hands up at least; "
        "left empty, γ in a stack, 2 and 4 in HiSpec.",
        "levels",
        low=1,
        high=MAX_GAMMA,
        limit="gamma",
        each="threshold",
        when=LEVELLED,
        place="levels",
    )
    level_rules: tuple[str, ...] = option(
        (),
        "Rules of levels",
        "How levels in the middle verify; "
        "left empty, by the rule if it is lossless, else token by token.",
        "levels",
        each="level rule",
        when=LEVELLED,
        place="levels.rules",
    )
    engine: str = option(
        "eager",
        "Engine",
        "eager; captured: steps of fixed shape as CUDA graphs, for one draft without a trace; "
        "portable: for the pairs smollm2 and tiny, which always have it, with the same bits on "
        "every machine.",
        menu="engines",
        when={"system": ["speculative", "plain"]},
    )
    trace: bool = option(True, "Trace", "Record every step in detail.", scope="record", place=None)
    forced: tuple[int, ...] = option(
        (),
        "Forced tokens",
        "Token ids that the text begins with, given and not decoded.",
        low=0,
        high=2**31,
        each="forced token",
        scope="record",
        place=None,
    )
