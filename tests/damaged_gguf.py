"""A small GGUF file in hundreds of wrong ways, and some harmless ones, for the readers in Python
and in the browser.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from small_gguf import FIELDS, GROUPS, HEADS, HIDDEN, INNER, LAYERS, VOCAB, WIDTH

U8, I8, U16, I16, U32, I32, F32, BOOL, TEXT, LIST, U64, I64, F64 = range(13)
FORMATS = "BbHhIif?  QqdB"
ALIGNMENT = 32
NAN = float("nan")
INF = float("inf")
Change = Callable[["Parts"], None]


class Parts:
    """A file taken apart: what stands in its head, tensor by tensor, to be changed and written
    again.
    """

    def __init__(self, whole: bytes) -> None:
        self.magic = whole[:4]
        (self.version, self.count, self.told) = struct.unpack_from("<IQQ", whole, 4)
        self.at = 24
        self.whole = whole
        self.fields: list[list[Any]] = [[self._text(), *self._value()] for _ in range(self.told)]
        self.tensors: list[dict[str, Any]] = [self._place() for _ in range(self.count)]
        self.data = whole[-(-self.at // ALIGNMENT) * ALIGNMENT :]

    def _take(self, letters: str) -> tuple[Any, ...]:
        found = struct.unpack_from(f"<{letters}", self.whole, self.at)
        self.at += struct.calcsize(f"<{letters}")
        return found

    def _text(self) -> bytes:
        (length,) = self._take("Q")
        self.at += length
        return self.whole[self.at - length : self.at]

    def _value(self) -> tuple[int, Any]:
        (kind,) = self._take("I")
        return kind, self._text() if kind == TEXT else self._take(FORMATS[kind])[0]

    def _place(self) -> dict[str, Any]:
        name = self._text()
        (dimensions,) = self._take("I")
        sizes = list(self._take(f"{dimensions}Q"))
        kind, offset = self._take("IQ")
        return {
            "name": name,
            "dimensions": dimensions,
            "sizes": sizes,
            "kind": kind,
            "offset": offset,
        }

    def field(self, name: str) -> list[Any]:
        return next(one for one in self.fields if one[0] == name.encode())

    def tensor(self, name: str) -> dict[str, Any]:
        return next(one for one in self.tensors if one["name"] == f"{name}.weight".encode())

    def bytes(self) -> bytes:
        """The file again. Counts are as they were told, whatever there is."""
        head = self.magic + struct.pack("<IQQ", self.version, self.count, self.told)
        for name, kind, value in self.fields:
            head += struct.pack("<Q", len(name)) + name + struct.pack("<I", kind)
            head += value if kind == LIST else packed(kind, value)
        for one in self.tensors:
            head += struct.pack("<Q", len(one["name"])) + one["name"]
            head += struct.pack(
                f"<I{len(one['sizes'])}QIQ",
                one["dimensions"],
                *one["sizes"],
                one["kind"],
                one["offset"],
            )
        return head + bytes(-len(head) % ALIGNMENT) + self.data


def packed(kind: int, value: Any) -> bytes:
    if isinstance(value, bytes):
        return (struct.pack("<Q", len(value)) if kind == TEXT else b"") + value
    return struct.pack(f"<{FORMATS[kind]}", value)


def listed(inner: int, count: int, held: bytes = b"") -> bytes:
    return struct.pack("<IQ", inner, count) + held


def damages(file: Path) -> Iterator[tuple[str, bytes]]:
    """Name and bytes of every damaged file."""
    whole = file.read_bytes()
    for name, change in changes():
        parts = Parts(whole)
        change(parts)
        yield name, parts.bytes()
    yield from raw(whole)


def harmless(file: Path) -> Iterator[tuple[str, bytes]]:
    """Files that say the same in another way."""
    for name, change in {
        "another field": lambda p: added(p, b"general.name", TEXT, b"x"),
        "a list": lambda p: added(
            p, b"general.tags", LIST, listed(TEXT, 2, (struct.pack("<Q", 1) + b"x") * 2)
        ),
        "an empty list": lambda p: added(p, b"general.tags", LIST, listed(U32, 0)),
        "its alignment": lambda p: added(p, b"general.alignment", U32, 32),
        "its vocabulary": lambda p: added(p, b"llama.vocab_size", U32, VOCAB),
        "its turning numbers": lambda p: added(p, b"llama.rope.dimension_count", U32, WIDTH),
        "wider whole numbers": lambda p: p.field("llama.block_count").__setitem__(
            slice(1, 3), [U64, LAYERS]
        ),
        "version 2": lambda p: setattr(p, "version", 2),
        "a name that is written in more bytes": lambda p: added(
            p, "general.näme".encode(), TEXT, "ü".encode()
        ),
        "other order": lambda p: p.tensors.reverse(),
        "more at the end": lambda p: setattr(p, "data", p.data + bytes(64)),
    }.items():
        parts = Parts(file.read_bytes())
        change(parts)
        yield name, parts.bytes()


def added(parts: Parts, name: bytes, kind: int, value: Any) -> None:
    parts.fields.append([name, kind, value])
    parts.told += 1


def changes() -> Iterator[tuple[str, Change]]:
    """Names, and what is changed."""
    numbers = [name for name, value in FIELDS.items() if not isinstance(value, str)]
    whole = [name for name in numbers if isinstance(FIELDS[name], int)]
    for name in FIELDS:
        yield (
            f"{name} lacks",
            lambda p, name=name: (p.fields.remove(p.field(name)), setattr(p, "told", p.told - 1)),
        )
        yield f"{name} twice", lambda p, name=name: added(p, *p.field(name))
        yield (
            f"{name} a list",
            lambda p, name=name: setitem(p.field(name), LIST, listed(U32, 1, bytes(4))),
        )
        yield f"{name} of no type", lambda p, name=name: setitem(p.field(name), 13, bytes(4))
        yield (
            f"{name} of the largest type",
            lambda p, name=name: setitem(p.field(name), 2**32 - 1, bytes(4)),
        )
    for name in numbers:
        yield f"{name} a text", lambda p, name=name: setitem(p.field(name), TEXT, b"12")
        yield f"{name} true", lambda p, name=name: setitem(p.field(name), BOOL, True)
        for value in (NAN, INF, -INF, -1.0, 0.0):
            yield (
                f"{name} {value}",
                lambda p, name=name, value=value: setitem(p.field(name), F32, value),
            )
        for kind, value in ((I32, -1), (U32, 0), (I64, -(2**63)), (U64, 2**64 - 1)):
            yield (
                f"{name} {value}",
                lambda p, name=name, k=kind, v=value: setitem(p.field(name), k, v),
            )
    for name in whole:
        if name != "llama.context_length":
            for factor in (2, 3, 2**20):
                value = FIELDS[name] * factor % 2**32
                yield f"{name} {value}", lambda p, n=name, v=value: setitem(p.field(n), U32, v)
            for other in (FIELDS[name] - 1, FIELDS[name] + 1):
                yield f"{name} {other}", lambda p, n=name, v=other: setitem(p.field(n), U32, v)
    yield "architecture a number", lambda p: setitem(p.field("general.architecture"), U32, 7)
    yield "another architecture", lambda p: setitem(p.field("general.architecture"), TEXT, b"mamba")
    yield (
        "name without letters",
        lambda p: setitem(p.field("general.architecture"), TEXT, b"\xff\xfe\xfd"),
    )
    for name, kind, value in (
        ("vocab_size", U32, VOCAB - 8),
        ("rope.dimension_count", U32, WIDTH // 2),
        ("rope.scaling.type", TEXT, b"yarn"),
        ("expert_count", U32, 8),
        ("attention.key_length", U32, 2 * WIDTH),
        ("attention.value_length", U32, 2 * WIDTH),
        ("attention.sliding_window", U32, 4),
        ("vocab_size", TEXT, b"64"),
    ):
        yield (
            f"{name} {value!r}",
            lambda p, n=name, k=kind, v=value: added(p, f"llama.{n}".encode(), k, v),
        )
    for value in (0, 1, 7, 48, 2**31, 2**32 - 1):
        yield f"alignment {value}", lambda p, v=value: added(p, b"general.alignment", U32, v)
    yield "alignment a text", lambda p: added(p, b"general.alignment", TEXT, b"32")
    yield "alignment a float", lambda p: added(p, b"general.alignment", F32, 32.0)
    for count in (2**20 + 1, 2**32, 2**60, 2**64 - 1):
        for inner in (TEXT, U8, F64, LIST):
            yield (
                f"{count} values {inner}",
                lambda p, c=count, i=inner: added(p, b"x", LIST, listed(i, c)),
            )
    yield "lists in lists", lambda p: added(p, b"x", LIST, listed(LIST, 1, listed(LIST, 1) * 3000))
    yield (
        "a text that is too long",
        lambda p: added(p, b"x", LIST, listed(TEXT, 1, struct.pack("<Q", 2**62))),
    )
    yield from places()
    for number in (0, 1, 4, 2**31):
        yield f"version {number}", lambda p, n=number: setattr(p, "version", n)
    for number in (0, 1, 10, 1000, 2**40, 2**60, 2**64 - 1):
        yield f"{number} fields", lambda p, n=number: setattr(p, "told", n)
        yield f"{number} tensors", lambda p, n=number: setattr(p, "count", n)
    for end in (0, 1, 100, 10_000):
        yield f"{end} bytes of tensors", lambda p, e=end: setattr(p, "data", p.data[:e])
    yield "a byte too few", lambda p: setattr(p, "data", p.data[:-32])
    for magic in (b"GGML", b"gguf", b"FUGG", b"\0\0\0\0", b"PK\3\4"):
        yield f"{magic!r}", lambda p, m=magic: setattr(p, "magic", m)


def places() -> Iterator[tuple[str, Change]]:
    """Changes of where tensors are said to be, and of what form."""
    for name in (
        "token_embd",
        "output_norm",
        "blk.0.attn_q",
        "blk.1.attn_k",
        "blk.2.ffn_down",
        "blk.0.ffn_norm",
    ):
        for key, values in (
            ("dimensions", (0, 3, 4, 9, 2**31)),
            ("kind", (0, 1, 2, 3, 8, 14, 255, 2**32 - 1)),
            ("offset", (1, 16, 2**31, 2**63, 2**64 - 32)),
        ):
            for value in values:
                yield (
                    f"{name} {key} {value}",
                    lambda p, n=name, k=key, v=value: other(p.tensor(n), k, v),
                )
        for i in range(1 if "norm" in name else 2):
            for size in (0, 1, 31, 32, HIDDEN + 32, 2 * INNER, 2**32, 2**63, 2**64 - 1):
                yield (
                    f"{name} size {i} {size}",
                    lambda p, n=name, i=i, s=size: other(p.tensor(n)["sizes"], i, s),
                )
        yield (
            f"{name} elsewhere",
            lambda p, n=name: p.tensor(n).update(offset=p.tensors[3]["offset"] + 32),
        )
        yield f"{name} turned", lambda p, n=name: turned(p.tensor(n))
        yield f"{name} of another name", lambda p, n=name: p.tensor(n).update(name=b"x.weight")
        yield (
            f"{name} lacks",
            lambda p, n=name: (p.tensors.remove(p.tensor(n)), setattr(p, "count", p.count - 1)),
        )
        yield (
            f"{name} twice",
            lambda p, n=name: (p.tensors.append(p.tensor(n)), setattr(p, "count", p.count + 1)),
        )
        yield f"{name} not finite", lambda p, n=name: spoil(p, n)
    for name in (
        b"output.weight",
        b"rope_freqs.weight",
        b"blk.3.attn_q.weight",
        b"blk.0.attn_q.bias",
        b"",
    ):
        yield f"{name!r} too", lambda p, n=name: another(p, n)
    assert HEADS * WIDTH == GROUPS * WIDTH * 3 == HIDDEN


def setitem(field: list[Any], kind: int, value: Any) -> None:
    field[1:] = [kind, value]


def other(held: Any, key: Any, value: int) -> None:
    """Another value than it has."""
    held[key] = value if held[key] != value else value + 1


def turned(tensor: dict[str, Any]) -> None:
    tensor["sizes"] = (
        tensor["sizes"][::-1] if len(set(tensor["sizes"])) > 1 else [tensor["sizes"][0] * 2]
    )


def spoil(parts: Parts, name: str) -> None:
    """A float that is none: of a norm, or the scale of a block."""
    at = parts.tensor(name)["offset"]
    none = struct.pack("<f", NAN) if "norm" in name else struct.pack("<e", INF)
    parts.data = parts.data[:at] + none + parts.data[at + len(none) :]


def another(parts: Parts, name: bytes) -> None:
    """One more tensor, behind all others."""
    end = -(-len(parts.data) // ALIGNMENT) * ALIGNMENT
    parts.tensors.append({"name": name, "dimensions": 1, "sizes": [8], "kind": 0, "offset": end})
    parts.count += 1
    parts.data += bytes(end + 32 - len(parts.data))


def raw(whole: bytes) -> Iterator[tuple[str, bytes]]:
    """The file cut off at many places, and single bytes of its head that are others."""
    parts = Parts(whole)
    for share in (0, 0.0001, 0.001, 0.003, 0.006, 0.01, 0.02, 0.3, 0.7, 0.9999):
        yield f"cut at {share}", whole[: int(share * len(whole))]
    for at in range(0, parts.at, 11):
        if not any(
            name in whole[at - 60 : at + 60]
            for name in (b"freq_base", b"epsilon", b"context_length")
        ):
            yield f"byte {at}", whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :]
