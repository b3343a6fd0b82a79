"""What is said of the arguments of endpoints, to people who read about them and to models that choose them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from hsd import facts
from hsd.decoding.options import PROPOSERS
from hsd.ui import form

LEVELS = "for systems stack and hispec, separated by commas; empty for the usual ones"
WORDS = {  # what the table of the page's controls does not say as a program needs it
    "rule": f"Who decides what is kept of a draft: {facts.listed(facts.rule_names())}; some are for several drafts",
    "other": "The rule to compare with, one of the same names",
    "shadow": "The rule that judges the same drafts and coins to compare with; empty for tokenwise, the classic one",
    "mode": "paired: one run, and the other rule judges its drafts; free: two runs, each goes on with its own text",
    "gamma": "How many tokens are drafted per step; 0 for what suits the pair",
    "max_new_tokens": "How many new tokens to write, at most",
    "temperature": "0 takes the likeliest token always, 1 samples from the target as it is",
    "top_p": "Sample from the likeliest tokens up to this mass only",
    "top_k": "Sample from so many of the likeliest tokens only; 0 for all",
    "seed": "Any whole number; equal seeds give equal runs, and equal coins to different rules",
    "system": "speculative, plain (no draft), stack (models that draft for each other) or hispec (early exits)",
    "pair": "Target and draft model, by name, such as smollm2 or tiny, a toy; empty for the app's first",
    "drafts": "How many drafts per step; from 2 on they form a tree",
    "tree": f"How several drafts are arranged: {facts.listed(facts.TREE_NAMES)}",
    "proposer": f"Where drafts come from: {facts.listed(PROPOSERS)}; ngram copies them from the text",
    "prompt_as": "chat for a question to answer, text for a text to continue; empty for what suits the pair",
    "divergence": f"Of rule fuzzy, how far apart two rows are: {facts.listed(facts.DIVERGENCE_NAMES)}",
    "tolerance": "Of rule fuzzy: up to this divergence a token passes; below 0 it is exact",
    "fuzzy_mode": f"Of rule fuzzy: {facts.listed(facts.MODE_NAMES)}",
    "divergence_on": f"Of rule fuzzy, whose rows are compared: {facts.listed(facts.GROUND_NAMES)}",
    "nodes": "How large a grown tree is, the text's last token counted; 0 for drafts times gamma, and 1",
    "stack": "Places of the models of a stack, smallest first, the target last, separated by commas",
    "exits": "After how many layers HiSpec drafts and checks, separated by commas",
    "thresholds": f"How many tokens each level hands up at least, {LEVELS}",
    "level_rules": f"How the levels between draft and target verify, {LEVELS}",
    "with_trace": "false leaves out the trace, which is long: best for a language model, as explain_step takes the key",
}


def described(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with a line in its docstring for each argument, where Gradio looks for what to say of them."""
    rules = facts.rule_names()
    table = {f.name: f"Of rule {f.place}: {f.info}" if f.place in rules else f.info for f in form.RUN}
    names = inspect.signature(function).parameters
    lines = [f"    {name}: {WORDS.get(name) or table[name]}" for name in names]
    function.__doc__ = "\n".join([inspect.cleandoc(function.__doc__ or ""), "", "Args:", *lines])
    return function
