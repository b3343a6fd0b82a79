"""The one exception that users are meant to read."""

from __future__ import annotations


class HsdError(ValueError):
    """Bad input. The message is one line that says what is wrong and what to do about it."""
