"""The models that can be asked for by name, as published.yaml lists them: data, of which others make what they need."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

PUBLISHED: dict[str, dict[str, Any]] = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
