"""What a visitor asks a run to be, checked: from the page, from a link or from a program, and back into a link."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hsd.space import Space
from hsd.ui.request import Request
from hsd.ui.request import read as read_former

EARLIER = {"max_new_tokens": "length"}


def read(space: Space, values: Mapping[str, Any]) -> Request:
    return read_former(space, {EARLIER.get(name, name): value for name, value in values.items()})


def query(request: Request) -> dict[str, str]:
    back = {new: old for old, new in EARLIER.items()}
    return {back.get(name, name): value for name, value in request.query().items()}


__all__ = ["Request", "query", "read"]
