"""Bytes as a reader sees them: the characters that they make, and bytes that make none in hexadecimal."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

_LOOSE = re.compile("[\udc80-\udcff]+")


def spell(data: bytes) -> str:
    """Return UTF-8 as text, with bytes that make no character in hexadecimal: "F0 9F", and beside text "a⟨F0 9F⟩"."""
    text = data.decode("utf-8", "surrogateescape")
    around = "{}" if _LOOSE.fullmatch(text) else "⟨{}⟩"
    return _LOOSE.sub(lambda match: around.format(" ".join(f"{ord(byte) - 0xDC00:02X}" for byte in match[0])), text)


def together(tokens: Iterable[Any]) -> str:
    """Return the text of a trace's neighbouring tokens: characters that several of them spell are whole."""
    return spell(b"".join(bytes.fromhex(one.bytes) if one.bytes else one.piece.encode() for one in tokens))
