"""A GGUF file as it lies on the disk, read without a library.

It gives what the file says about itself, and its tensors' bytes.

Only the types that the portable engine packs are known (`hsd.models.small.engine.KINDS`).
"""

import mmap
import struct
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from hsd.errors import HsdError
from hsd.models.small.engine import BLOCKS, KINDS
from hsd.models.small.model import Packed

FORMATS = "BbHhIif?  QqdB"  # struct's letters for GGUF's types of values; 8 is a text, 9 a list
TEXT = 8
LIST = 9
ALIGNMENT = 32
# types that are not read, by name
OTHERS = {
    9: "Q8_1",
    10: "Q2_K",
    11: "Q3_K",
    15: "Q8_K",
    16: "IQ2_XXS",
    17: "IQ2_XS",
    18: "IQ3_XXS",
    19: "IQ1_S",
    20: "IQ4_NL",
    21: "IQ3_S",
    22: "IQ2_S",
    23: "IQ4_XS",
    29: "IQ1_M",
    34: "TQ1_0",
    35: "TQ2_0",
    39: "MXFP4",
}
LONGEST_LIST = 1 << 20  # a list of a field is no longer: more than any vocabulary has


@dataclass(frozen=True)
class Gguf:
    """A GGUF file.

    fields: its metadata, arrays as lists. tensors: by name; their bytes are read when needed. path:
    where it lies.
    """

    fields: dict[str, Any]
    tensors: dict[str, Packed]
    path: Path


def read_gguf(file: Path) -> Gguf:
    """Read a file's head and find its tensors.

    Raises HsdError, one line, for a file that is damaged or no GGUF.
    """
    try:
        with file.open("rb") as stream:
            data = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        raise HsdError(f"{file.name} cannot be read ({error}): fetch it again") from None
    if data[:4] != b"GGUF":
        raise HsdError(f"{file.name} is no GGUF file: name another, or fetch it again")
    try:
        return _Reader(data, file).file()
    except (struct.error, UnicodeDecodeError) as error:
        raise HsdError(f"{file.name} is cut short or damaged ({error}): fetch it again") from None


class _Reader:
    def __init__(self, data: mmap.mmap, path: Path) -> None:
        self.data = data
        self.path = path
        self.at = 4

    def file(self) -> Gguf:
        version, tensors, fields = self.values("I")[0], *self.values("QQ")
        if version not in (2, 3):
            raise HsdError(
                f"this GGUF file has version {version}, and 2 and 3 can be read: choose another "
                "file"
            )
        told = _by_name((self.texts(1)[0], self.value(self.values("I")[0])) for _ in range(fields))
        places = _by_name(self.place() for _ in range(tensors))
        alignment = told.get("general.alignment", ALIGNMENT)
        if type(alignment) is not int or alignment not in (8 << i for i in range(16)):
            raise struct.error(f"its alignment is {str(alignment)[:40]}")
        begin = -(-self.at // alignment) * alignment
        ends = [(0, 0, "")]
        found = {}
        for name, (columns, rows, kind, at) in places.items():
            found[name] = self.tensor(name, rows, columns, kind, begin + at)
            ends.append((at, at + len(found[name].data), name))
            if at % alignment:
                raise struct.error(f"{name} begins at {at:,}, between two places of tensors")
        for (_, end, one), (start, _, other) in pairwise(sorted(ends)):
            if start < end:
                raise struct.error(f"{other} begins before {one} ends")
        return Gguf(told, found, self.path)

    def values(self, letters: str) -> tuple[Any, ...]:
        layout = struct.Struct("<" + letters)
        found = layout.unpack_from(self.data, self.at)
        self.at += layout.size
        return found

    def texts(self, count: int) -> list[str]:
        """Read texts, each after its length; a vocabulary has tens of thousands of them."""
        found = []
        data = self.data
        end = len(self.data)
        length_at = struct.Struct("<Q").unpack_from
        for _ in range(count):
            begin = self.at + 8
            self.at = begin + length_at(data, self.at)[0]
            if self.at > end:
                raise struct.error(f"a text of {self.at - begin:,} bytes is longer than the file")
            found.append(data[begin : self.at].decode())
        return found

    def value(self, kind: int) -> Any:
        if kind != LIST:
            return self.values_of(kind, 1)[0]
        kind, length = self.values("IQ")
        if kind == LIST:
            raise struct.error("a list of lists")
        if length > LONGEST_LIST:
            raise struct.error(f"a list of {length:,} values")
        return self.values_of(kind, length)

    def values_of(self, kind: int, length: int) -> list[Any]:
        if kind >= len(FORMATS):
            raise struct.error(f"a value of type {kind}")
        return self.texts(length) if kind == TEXT else [*self.values(f"{length}{FORMATS[kind]}")]

    def place(self) -> tuple[str, tuple[int, int, int, int]]:
        """Return a tensor's name; its columns, rows, type and offset."""
        (name,) = self.texts(1)
        (dimensions,) = self.values("I")
        if dimensions not in (1, 2):
            raise struct.error(f"{name} has {dimensions:,} dimensions")
        columns, rows = (*self.values(f"{dimensions}Q"), 1)[:2]
        return name, (columns, rows, *self.values("IQ"))

    def tensor(self, name: str, rows: int, columns: int, kind: int, begin: int) -> Packed:
        if kind not in KINDS:
            called = OTHERS.get(kind, f"GGUF's type {kind}")
            raise HsdError(
                f"{name} is stored as {called}: choose a file of {', '.join(KINDS.values())}"
            )
        weights, size = BLOCKS[kind]
        end = begin + rows * columns // weights * size
        if not rows or not columns or columns % weights or end > len(self.data):
            raise struct.error(f"{name}, {rows:,} by {columns:,}, does not fit")
        return Packed(kind, rows, columns, memoryview(self.data)[begin:end])


def _by_name(pairs: Any) -> dict[str, Any]:
    """Return a dictionary of (name, value) pairs.

    Raises struct.error where two have the same name.
    """
    held = list(pairs)
    if len({name for name, _ in held}) < len(held):
        raise struct.error("a name is there twice")
    return dict(held)
