"""A Llama by the portable engine, and texts that it reads. See `hsd.models.base`."""

import ctypes
import mmap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any
from weakref import finalize

import numpy as np
import torch
from torch import Tensor

from hsd.engine.memory import address, room
from hsd.errors import HsdError
from hsd.models.base import View
from hsd.models.following import spread
from hsd.models.small.engine import (
    BF16,
    BLOCKS,
    IN_8_BITS,
    LONGEST,
    MOST_THREADS,
    ROWS,
    SIDE,
    WIDEST,
    Engine,
)

DTYPE = "int16, 4bit weights"  # but of a model that is all bfloat16, which is computed in floats
# bits of a float of a type, else of half precision
EXPONENTS = {0: ("<u4", 0x7F80_0000), BF16: ("<u2", 0x7F80)}
# where a block has its scales and minima, counted in halves; else it has one at its beginning
SCALES = {3: [0, 1], 7: [0, 1], 12: [0, 1], 13: [0, 1], 14: [104]}
# types whose minimum is computed from the scale, which must leave room for it
CENTRED = (2, 6)
LARGEST = 0x6C00  # the half-precision number 4,096
DEEPEST = 64  # layers, at most
MOST_TAPS = 8  # layers whose states are kept for a head, at most
# whose rows a Llama's file has in the order of its own rotary positions
TURNED = ("attn_q", "attn_k")
PRODUCTS = (*TURNED, "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")
BIASES = tuple(f"attn_{part}.bias" for part in "qkv")  # of a Qwen2's layer
HEAD_NORMS = tuple(f"attn_{part}_norm.weight" for part in "qk")  # of a Qwen3's layer
OUTPUT = "output.weight"  # where it is not the table of the tokens
FACTORS = "rope_freqs.weight"  # of a Llama 3: what its rates of rotation are divided by


@dataclass(frozen=True)
class Packed:
    """A tensor as a GGUF file stores it.

    kind: number of its GGML type. rows: 1 for a vector. data: its bytes.
    """

    kind: int
    rows: int
    columns: int
    data: memoryview

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows, self.columns

    def with_rows(self, count: int) -> "Packed":
        """Return the first `count` rows, with rows of zeros where there are fewer."""
        row = len(self.data) // self.rows
        data = self.data[: count * row]
        if count > self.rows:
            data = memoryview(bytes(data) + bytes((count - self.rows) * row))
        return Packed(self.kind, count, self.columns, data)

    def finite(self) -> bool:
        """Return whether all its numbers are finite.

        These are a float's values, or the scales and minima of quantised blocks.
        """
        bits, exponent = EXPONENTS.get(self.kind, ("<u2", 0x7C00))
        blocks = np.frombuffer(self.data, bits).reshape(len(self.data) // BLOCKS[self.kind][1], -1)
        most = LARGEST if self.kind in CENTRED else exponent
        return bool((blocks[:, SCALES.get(self.kind, [0])] & exponent < most).all())

    def drop(self) -> None:
        """Let the system take back the pages of the file, which can be read again."""
        file = self.data.obj
        if isinstance(file, mmap.mmap) and hasattr(file, "madvise"):
            file.madvise(mmap.MADV_DONTNEED)


@dataclass(frozen=True)
class ModelShape:
    """Sizes of a model.

    layers, hidden, inner (between gate and down), heads, groups (of keys), width of a head; family:
    "llama", "qwen2" or "qwen3".
    """

    layers: int
    hidden: int
    inner: int
    heads: int
    groups: int
    width: int
    vocab: int
    context: int
    base: float
    eps: float
    family: str = "llama"

    @property
    def queries(self) -> int:
        """Numbers of all heads' queries."""
        return self.heads * self.width

    def check(self) -> "ModelShape":
        """Return this shape. Raises HsdError, naming the sizes, if the engine cannot compute it."""
        for name, value in vars(self).items():
            if name == "family":
                continue
            kinds = (int, float) if name in ("base", "eps") else (int,)
            if type(value) not in kinds or not 0 < value < 1 << 31:
                raise HsdError(
                    f"the model's {name} is {str(value)[:40]}: fetch it again, or choose another "
                    "file"
                )
        can = {
            "width": self.width in (32, 64, 128) and self.queries <= WIDEST,
            "heads": self.heads % self.groups == 0,
            "hidden": self.hidden % 32 == 0 and self.hidden <= WIDEST,
            "inner": self.inner % 32 == 0 and self.inner <= WIDEST,
            "layers": self.layers <= DEEPEST,
        }
        wrong = ", ".join(
            f"{name} {getattr(self, name):,}" for name, fits in can.items() if not fits
        )
        if wrong:
            raise HsdError(
                f"the portable engine reads no model of this shape ({wrong}): choose another "
                "engine, or another file"
            )
        return self


class SmallModel:
    """A model in an engine of its own, from the tensors of a GGUF file by their names.

    layers: how many it has. parts: these, for early exits (`hsd.models.small.exits`). tapped: after
    how many layers hidden states are kept for a head, fixed here. known: of the shape's vocabulary,
    how many tokens may be drawn; `vocab_size` is the multiple of `SIDE` above that. drafted: how
    many of the first tokens have logits, 0: all; the attribute is None for all.
    """

    device = torch.device("cpu")
    portable = True
    file: Path | None = None  # the GGUF file that it was read from

    def __init__(
        self,
        shape: ModelShape,
        tensors: dict[str, Packed],
        name: str,
        revision: str | None,
        tapped: Sequence[int] = (),
        known: int | None = None,
        drafted: int = 0,
    ) -> None:
        matrices = [tensor for tensor in tensors.values() if tensor.rows > 1]
        self._floats = all(tensor.kind == BF16 for tensor in matrices)
        self.dtype = "float32" if self._floats else DTYPE
        self.shape = shape.check()
        self.name = name
        self.revision = revision
        self.tapped = tuple(tapped)
        self.layers = shape.layers
        self.threads = 1
        self.parts: Any = None
        known = known or shape.vocab
        self.vocab_size = -(-known // SIDE) * SIDE
        self.drafted = drafted or None
        rows = -(-drafted // SIDE) * SIDE or self.vocab_size
        self.vocab = torch.arange(rows, device="cpu") if drafted else None
        self.context = min(shape.context, LONGEST)
        self.parameters = sum(tensor.rows * tensor.columns for tensor in tensors.values())
        self.engine = Engine()
        norms = [f"blk.{i}.{part}_norm" for i in range(shape.layers) for part in ("attn", "ffn")]
        places = {name: self._vector(tensors[f"{name}.weight"]) for name in (*norms, "output_norm")}
        embeddings = tensors["token_embd.weight"].with_rows(self.vocab_size)
        table = self._matrix(embeddings)
        self.place = self.engine.made(
            "model",
            shape.hidden,
            shape.inner,
            shape.heads,
            shape.groups,
            shape.width,
            shape.layers,
            shape.base,
            shape.eps,
            table,
            places["output_norm"],
        )
        turned = TURNED if shape.family == "llama" else ()
        for i in range(shape.layers):
            products = (
                self._matrix(tensors[f"blk.{i}.{part}.weight"], part in turned) for part in PRODUCTS
            )
            self.engine.call(
                "layer",
                self.place,
                i,
                places[f"blk.{i}.attn_norm"],
                places[f"blk.{i}.ffn_norm"],
                *products,
            )
            for function, parts in (("bias", BIASES), ("level", HEAD_NORMS)):
                own = [tensors[name] for part in parts if (name := f"blk.{i}.{part}") in tensors]
                if own:
                    self.engine.call(function, self.place, i, *map(self._vector, own))
        output = table
        if OUTPUT in tensors or drafted:
            output = self._matrix(tensors.get(OUTPUT, embeddings).with_rows(rows))
        self.engine.call("untie", self.place, output, min(known, drafted or known))
        if FACTORS in tensors:
            self.engine.call("slow", self.place, self._vector(tensors[FACTORS]))
        known = all(0 <= layer < shape.layers for layer in self.tapped)
        if not known or len(self.tapped) > MOST_TAPS:
            raise HsdError(
                f"a head reads {name} after layers {self.tapped}: choose one for its "
                f"{shape.layers} layers"
            )
        for layer in self.tapped:
            self.engine.call("tap", self.place, layer)

    def use_threads(self, count: int) -> None:
        """Compute with this many threads, at most `MOST_THREADS`; by default one.

        Results stay the same.
        """
        self.threads = min(count, MOST_THREADS)
        self.engine.share(self.threads)

    def start(self) -> "Text":
        place = self.engine.made("text", self.place)
        return Text(self.engine, place, self.vocab_size, self.vocab)

    def _matrix(self, tensor: Packed, turned: bool = False) -> int:
        """Pack a matrix. bfloat16 stays so where all matrices have it, else it is rounded."""
        width = self.shape.width if turned else 0
        form = IN_8_BITS if tensor.kind == BF16 and not self._floats else None
        place = self.engine.matrix(
            tensor.kind, tensor.rows, tensor.columns, tensor.data, width, form
        )
        tensor.drop()
        return place

    def _vector(self, tensor: Packed) -> int:
        return self.engine.vector(torch.frombuffer(bytearray(tensor.data), dtype=torch.float32))


class Text:
    """A text in an engine, read by a model, see `hsd.models.base.Session`.

    Its memory is given back when it is let go.

    exact: its logits become probabilities in double precision, the same on every machine and in a
    browser. vocab: how many tokens it can read; width: of the engine's logits, those of all tokens
    or of `ids`.
    """

    exact = True

    def __init__(self, engine: Engine, place: int, vocab: int, ids: Tensor | None = None) -> None:
        self.engine = engine
        self.place = place
        self.length = 0
        self.vocab = vocab
        self._drafted = ids
        self.ids = None if ids is None else ids.numpy()
        self.width = vocab if ids is None else len(ids)
        self._shut = finalize(self, engine.call, "shut", place)
        self._shut.atexit = False

    def crop(self, length: int) -> None:
        """Forget all tokens from position `length` on."""
        if length < self.length:
            self.length = max(length, 0)
            self.engine.call("cut", self.place, self.length)

    def select(self, columns: list[int]) -> None:
        """Keep only these of the tokens read, in ascending order, and forget the others."""
        if columns and any(one >= other for one, other in pairwise([-1, *columns, self.length])):
            raise HsdError(
                f"the text has {self.length:,} tokens: keep some of these, in ascending order"
            )
        for to, column in enumerate(columns):
            if to != column:
                self.engine.call("move", self.place, column, to)
        self.crop(len(columns))

    def close(self) -> None:
        """Free what the text holds."""
        self._shut()
        self.length = 0

    def passes(
        self, tokens: Sequence[int], keep: int, view: View | None = None
    ) -> Iterator[tuple[int, int]]:
        """Read tokens, `ROWS` at a time.

        After each pass yield the address of its logits and their number of rows.

        Until the next pass nobody else uses the engine. keep: of how many tokens at the end there
        are logits.
        """
        for begin in range(0, len(tokens), ROWS):
            with self.engine.lock:
                yield self._pass(*self._reader(), tokens, slice(begin, begin + ROWS), keep, view)

    def _reader(self) -> tuple[str, Sequence[int]]:
        """Return the engine's function that reads the next tokens, and its first arguments."""
        return "forward", (self.place,)

    def _pass(
        self,
        by: str,
        places: Sequence[int],
        tokens: Sequence[int],
        part: slice,
        keep: int,
        view: View | None,
    ) -> tuple[int, int]:
        """Read the tokens in `part` in one pass by the engine's function `by`.

        Return what `passes` yields.

        Raises HsdError, before anything is written, for tokens without room in the text, or unknown
        to the model.
        """
        read = tokens[part]
        seen = view and view.part(part, self.length)
        n = len(read)
        end = self.length + n
        if not self._shut.alive:
            raise HsdError("this text was closed: start another one")
        if end > LONGEST:
            raise HsdError(
                f"the portable engine holds {LONGEST:,} tokens of a text: shorten it, or draft "
                "fewer"
            )
        if unknown := [token for token in read if not 0 <= token < self.vocab]:
            raise HsdError(f"token {unknown[0]}: the model knows 0 to {self.vocab - 1:,}")
        if seen is not None and (len(seen.positions) != n or tuple(seen.visible.shape) != (n, end)):
            raise HsdError(
                f"a tree of {n} tokens after {self.length:,} needs as many positions, and {n} by "
                f"{end:,} sights"
            )
        self.engine.tell("tokens", read)
        self.engine.tell(
            "positions", range(self.length, end) if seen is None else seen.positions.tolist()
        )
        if seen is not None:
            self.engine.tell("visible", seen.visible)
        wanted = max(0, min(n, part.start + n - (len(tokens) - keep)))
        self.engine.made(by, *places, n, wanted, int(seen is not None))
        self.length = end
        return self.engine.machine.address(self.engine.call("logits")), wanted

    def forward(self, tokens: Tensor, keep: int, view: View | None = None) -> Tensor:
        """Read `tokens` (n,); return logits after the last `keep` of them, (keep, vocab).

        They are -inf for tokens that are not in `ids`.
        """
        rows = room(min(keep, len(tokens)), self.width)
        self.fill(address(rows), tokens.tolist(), keep, view)
        return rows if self._drafted is None else spread(rows, self._drafted, self.vocab)

    def fill(self, to: int, tokens: Sequence[int], keep: int, view: View | None = None) -> None:
        """Read tokens, and write the logits after the last `keep` of them to address `to`.

        The logits are (keep, width) float32.
        """
        for logits_at, count in self.passes(tokens, keep, view):
            ctypes.memmove(to, logits_at, 4 * self.width * count)
            to += 4 * self.width * count
