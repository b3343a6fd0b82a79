"""Scripts of the folder examples, as modules that a test can ask."""

from __future__ import annotations

import importlib.util
import itertools
import sys
import tokenize
from pathlib import Path
from types import ModuleType

EXAMPLES = Path(__file__).parents[1] / "examples"
BREAKS = {tokenize.ENCODING, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
LAYOUT = {*BREAKS, tokenize.ENDMARKER}


def example_script(name: str) -> ModuleType:
    """Load the script `examples/{name}.py`; a name may begin with a folder."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where dataclasses look for it
    spec.loader.exec_module(module)
    return module


def code_tokens(file: Path) -> int:
    """Return how many tokens the code of a file has, without layout, comments and docstrings."""
    with file.open("rb") as stream:
        tokens = [
            token
            for token in tokenize.tokenize(stream.readline)
            if token.type not in (tokenize.COMMENT, tokenize.NL)
        ]
    count = 0
    for before, token in itertools.pairwise(tokens):
        docstring = token.type == tokenize.STRING and before.type in BREAKS
        count += token.type not in LAYOUT and not docstring
    return count
