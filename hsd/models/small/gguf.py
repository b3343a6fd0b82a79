"""A GGUF file as it lies on the disk: what it says about itself, and its tensors' bytes, without a library.

Only the types that the portable engine packs are known (`hsd.models.small.engine.KINDS`).
"""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from hsd.errors import HsdError
from hsd.models.small.engine import KINDS
from hsd.models.small.model import Packed

FORMATS = "BbHhIif?  QqdB"  # struct's letters for GGUF's types of values; 8 is a text, 9 a list
TEXT, LIST = 8, 9
BLOCKS = {0: (1, 4), 1: (1, 2), 3: (32, 20), 8: (32, 34)}  # weights and bytes of a block, by the type of a tensor
ALIGNMENT = 32


@dataclass(frozen=True)
class Gguf:
    """fields: what the file says, lists as lists. tensors: by name. The bytes stay on the disk until they are read."""

    fields: dict[str, Any]
    tensors: dict[str, Packed]


def read_gguf(file: Path) -> Gguf:
    """Read a file's head and find its tensors. Raises HsdError, one line, for one that is cut short or no GGUF."""
    try:
        with file.open("rb") as stream:
            data = memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError) as error:
        raise HsdError(f"{file.name} cannot be read ({error}): fetch it again") from None
    if bytes(data[:4]) != b"GGUF":
        raise HsdError(f"{file.name} is no GGUF file: name another, or fetch it again")
    try:
        return _Reader(data).file()
    except (struct.error, IndexError, UnicodeDecodeError, MemoryError, OverflowError):
        raise HsdError(f"{file.name} is cut short or damaged: fetch it again") from None


class _Reader:
    def __init__(self, data: memoryview) -> None:
        self.data, self.at = data, 4

    def file(self) -> Gguf:
        version, tensors, fields = self.values("I")[0], *self.values("QQ")
        if version not in (2, 3):
            raise HsdError(f"this GGUF file has version {version}, and 2 and 3 can be read: choose another file")
        told = {self.text(): self.value(self.values("I")[0]) for _ in range(fields)}
        places = [self.place() for _ in range(tensors)]
        alignment = told.get("general.alignment", ALIGNMENT)
        begin = -(-self.at // alignment) * alignment
        return Gguf(told, {name: self.tensor(name, sizes, kind, begin + at) for name, sizes, kind, at in places})

    def values(self, letters: str) -> tuple[Any, ...]:
        layout = struct.Struct("<" + letters)
        found = layout.unpack_from(self.data, self.at)
        self.at += layout.size
        return found

    def text(self) -> str:
        (length,) = self.values("Q")
        begin, self.at = self.at, self.at + length
        if self.at > len(self.data):
            raise IndexError
        return str(self.data[begin : self.at], "utf-8")

    def value(self, kind: int) -> Any:
        if kind == TEXT:
            return self.text()
        if kind != LIST:
            return self.values(FORMATS[kind])[0]
        inner, length = self.values("IQ")
        if length > len(self.data):
            raise IndexError
        if inner in (TEXT, LIST):
            return [self.value(inner) for _ in range(length)]
        return list(self.values(f"{length}{FORMATS[inner]}"))

    def place(self) -> tuple[str, tuple[int, ...], int, int]:
        """Name, sizes (innermost first), type and offset of a tensor."""
        name, (dimensions,) = self.text(), self.values("I")
        sizes = self.values(f"{min(dimensions, 8)}Q")
        return name, sizes, *self.values("IQ")

    def tensor(self, name: str, sizes: tuple[int, ...], kind: int, begin: int) -> Packed:
        if kind not in KINDS:
            can = ", ".join(KINDS.values())
            raise HsdError(f"{name} is stored as GGUF's type {kind}, and the portable engine reads {can}")
        weights, size = BLOCKS[kind]
        end = begin + prod(sizes) // weights * size
        if end > len(self.data):
            raise IndexError
        return Packed(kind, prod(sizes[1:]), sizes[0], self.data[begin:end])
