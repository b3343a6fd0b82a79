"""Facts in YAML files are what they say, whichever of PyYAML's parsers reads them."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from loops import for_each

from hsd.paths import ASSETS, GLOSSARY, read_yaml

FILES = [*GLOSSARY.parent.rglob("*.yaml"), *ASSETS.rglob("*.yaml")]


@for_each("file", FILES, ids=lambda file: file.stem)
def test_both_parsers_read_the_same(file: Path, monkeypatch: pytest.MonkeyPatch):
    found = read_yaml(file)
    assert found
    with monkeypatch.context() as patch:
        patch.delattr(yaml, "CSafeLoader", raising=False)
        assert read_yaml(file) == found
