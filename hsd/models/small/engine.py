"""One engine of `engine.c`: its memory, functions and threads.

Weights go in as a file has them.

Nothing here knows what is computed; the browser drives the same code by the same calls.
"""

import ctypes
from array import array
from threading import RLock
from typing import Any

import torch
from torch import Tensor

from hsd.engine.machine import Machine, open_machine
from hsd.errors import HsdError

MOST_THREADS = 4  # more have not been measured
ROWS = 8  # tokens of one pass, at most
LONGEST = 8192  # tokens of a text, at most
WIDEST = 32_768  # numbers of a row, at most
STAGED = 1 << 20  # bytes of a tensor that are handed over at once
# what can be packed, as GGUF numbers it
KINDS = {
    0: "F32",
    1: "F16",
    2: "Q4_0",
    3: "Q4_1",
    6: "Q5_0",
    7: "Q5_1",
    8: "Q8_0",
    12: "Q4_K",
    13: "Q5_K",
    14: "Q6_K",
    30: "BF16",
}
# weights and bytes of a block of each
BLOCKS = {
    0: (1, 4),
    1: (1, 2),
    2: (32, 18),
    3: (32, 20),
    6: (32, 22),
    7: (32, 24),
    8: (32, 34),
    12: (256, 144),
    13: (256, 176),
    14: (256, 210),
    30: (1, 2),
}
F32 = 0
F16 = 1
IN_8_BITS = 8
BF16 = 30
SIDE = 32  # outputs that lie beside each other in a library; the module needs 8
# bytes of each
INPUTS = {"tokens": 4 * ROWS, "positions": 4 * ROWS, "before": 4 * ROWS, "visible": ROWS * LONGEST}


class Engine:
    """One instance of the engine: what is put into it stays until the instance is let go.

    lock: to be held from telling the inputs of a pass to fetching its results, as texts share both;
    a single call holds it by itself. machine: what runs it, by default the fastest here. Raises
    HsdError where there is none.
    """

    def __init__(self, machine: Machine | None = None) -> None:
        self.lock = RLock()
        self.machine = machine or open_machine()
        self._helpers = 0
        self._staging = self.take(STAGED)
        self._staged = STAGED
        self._inputs = {name: self.call(name) for name in INPUTS}

    def call(self, name: str, *arguments: float) -> int:
        """Call a function of the engine; return its result, 0 if it has none."""
        with self.lock:
            return self.machine.call(name, *arguments)

    def made(self, name: str, *arguments: float) -> int:
        """Call a function that allocates memory, and return the place of its result.

        Raises HsdError when none is left.
        """
        place = self.call(name, *arguments)
        if not place:
            raise HsdError(
                "the portable engine has no memory left: close other texts, or choose a shorter "
                "context"
            )
        return place

    def share(self, threads: int) -> None:
        """Compute with this many threads, at least 1, from now on. Results stay the same."""
        with self.lock:
            for _ in range(self._helpers, threads - 1):
                self.machine.helper()
                self._helpers += 1
            self.call("share", threads)

    def take(self, size: int) -> int:
        """Reserve this many bytes of the module's memory, for good; returns their place."""
        return self.made("take", size)

    def write(self, place: int, room: int, data: Any) -> None:
        """Copy bytes (any buffer) to address `place`.

        Raises HsdError, and writes none, if they exceed `room` bytes.
        """
        held = bytes(data)
        if len(held) > room:
            raise HsdError(
                f"{len(held):,} bytes for {room:,} of the portable engine: choose a smaller tree "
                "or model"
            )
        ctypes.memmove(self.machine.address(place), held, len(held))

    def tell(self, name: str, values: Any) -> None:
        """Write one of `INPUTS`.

        These are whole numbers, at most `ROWS`, or for "visible" a bool tensor (n, columns).
        """
        held = values.contiguous().numpy().data if name == "visible" else array("i", values)
        self.write(self._inputs[name], INPUTS[name], held)

    def vector(self, numbers: Tensor) -> int:
        """Copy float32 numbers (n,) into the module's memory, for good; return their place."""
        held = numbers.detach().float().contiguous().numpy()
        place = self.take(held.nbytes)
        self.write(place, held.nbytes, held.data)
        return place

    def floats(self, numbers: Tensor) -> int:
        """Pack a matrix (rows, columns) of float16, or of other floats as float32.

        Return its place, see `matrix`.
        """
        kind = F16 if numbers.dtype == torch.float16 else F32
        held = numbers if kind == F16 else numbers.float()
        rows, columns = numbers.shape
        return self.matrix(kind, rows, columns, memoryview(held.contiguous().numpy().tobytes()))

    def matrix(
        self,
        kind: int,
        rows: int,
        columns: int,
        data: memoryview,
        width: int = 0,
        form: int | None = None,
    ) -> int:
        """Pack a matrix (rows, columns), in `data` as GGUF's type `kind`, a key of `KINDS`.

        Return its place.

        width: of an attention head, if rows that are rotated together lie side by side in the file;
        else 0. form: the type that it is packed as, `kind` or, for floats, `IN_8_BITS`. Raises
        HsdError for sizes that cannot be packed, or that are not those of the data.
        """
        weights, size = BLOCKS[kind]
        row = columns // weights * size
        whole = columns % max(weights, 32) == 0 and rows % SIDE == 0 and rows % (width or 1) == 0
        if not whole or columns > WIDEST:
            raise HsdError(
                f"the portable engine packs no matrix of {rows:,} by {columns:,}: choose another "
                "engine"
            )
        if len(data) != rows * row:
            raise HsdError(
                f"a matrix of {rows:,} by {columns:,} has {len(data):,} bytes: fetch it again"
            )
        group = row * (width or 1)
        if group > self._staged:
            self._staging = self.take(group)
            self._staged = group
        place = self.made("matrix", kind if form is None else form, rows, columns)
        part = self._staged // group * (width or 1)
        for first in range(0, rows, part):
            count = min(part, rows - first)
            self.write(self._staging, self._staged, data[first * row : (first + count) * row])
            self.call("pack", place, first, count, kind, self._staging, width)
        return place
