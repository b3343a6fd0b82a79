"""The options of a run, each once, and what is made of them.

These are flags, links, a form, endpoints, and a trace's setup.
"""

from hsd.options.option import Model, Option, option
from hsd.options.run import MAX_GAMMA, MAX_LEVELS, MAX_NEW_TOKENS, MAX_TREE_NODES, Options

__all__ = [
    "MAX_GAMMA",
    "MAX_LEVELS",
    "MAX_NEW_TOKENS",
    "MAX_TREE_NODES",
    "Model",
    "Option",
    "Options",
    "option",
]
