"""The module of `engine.c` by `wasmtime`: its memory, functions and threads, and weights that go in as a file has them.

Nothing here knows what is computed; the browser drives the same module by the same calls.
"""

from __future__ import annotations

import ctypes
from functools import partial
from pathlib import Path
from threading import RLock, Thread
from typing import Any
from weakref import finalize

import torch
from torch import Tensor

from hsd.errors import HsdError

MODULE = Path(__file__).with_name("engine.wasm")  # for one thread, with its own memory
THREADED = MODULE.with_name("engine_threads.wasm")  # for several, on a memory that they share: the same bits
PAGES = 64, 65_535  # of 64 KiB: what there is at first, and at most
HELPER = "portable engine"  # the name of a thread that helps
MOST_THREADS = 4  # more have not been measured
ROWS, LONGEST, WIDEST = 8, 8192, 8192  # at most: tokens of one pass, tokens of a text, numbers of a row
STAGED = 1 << 20  # bytes of a tensor that are handed over at once
KINDS = {0: "F32", 1: "F16", 3: "Q4_1", 8: "Q8_0"}  # what can be packed, as GGUF numbers it
BLOCKS = {0: (1, 4), 1: (1, 2), 3: (32, 20), 8: (32, 34)}  # weights and bytes of a block of each
WEIGHTS_IN_4_BITS = 3
PACKED = 288, 192  # bytes of a block of 8 rows by 32 columns, by whether its weights have 4 bits
INPUTS = {"tokens": 4 * ROWS, "positions": 4 * ROWS, "before": 4 * ROWS, "visible": ROWS * LONGEST}  # bytes of each


class Engine:
    """One instance of the module: what is put into it stays until the instance is let go.

    lock: to be held from telling the inputs of a pass to fetching its results, as texts share both; a single call holds
    it by itself. Raises HsdError where `wasmtime` is not installed.
    """

    def __init__(self) -> None:
        try:
            import wasmtime
        except ImportError:
            raise HsdError("the portable engine needs wasmtime: run `python -m pip install wasmtime`") from None
        self.lock = RLock()
        config = wasmtime.Config()
        config.cranelift_opt_level = "none"  # "speed" loads a whole block before it computes: too few registers
        config.shared_memory = True
        core = wasmtime.Engine(config)
        try:
            module, shared = wasmtime.Module.from_file(core, str(THREADED)), [_shared_memory(core)]
        except wasmtime.WasmtimeError:  # no threads on processors for which wasmtime interprets
            module, shared = wasmtime.Module.from_file(core, str(MODULE)), []

        def instance() -> tuple[Any, dict[str, Any]]:
            store = wasmtime.Store(core)
            return store, dict(wasmtime.Instance(store, module, shared).exports(store).items())

        self._store, self._functions = instance()
        self._instance = instance if shared else None
        self._helpers = 0
        if shared:
            self._begin: Any = shared[0].data_ptr
            finalize(self, self._functions["dismiss"], self._store)
        else:
            self._begin = partial(self._functions["memory"].data_ptr, self._store)
        self._staging, self._staged = self.take(STAGED), STAGED
        self._inputs = {name: self.call(name) for name in INPUTS}

    def call(self, name: str, *arguments: float) -> int:
        """Call a function of the module; return its result, 0 if it has none."""
        with self.lock:
            return self._functions[name](self._store, *arguments) or 0

    def made(self, name: str, *arguments: float) -> int:
        """Call a function that allocates memory; returns the place of its result. Raises HsdError when none is left."""
        place = self.call(name, *arguments)
        if not place:
            raise HsdError("the portable engine has no memory left: close other texts, or choose a shorter context")
        return place

    def share(self, threads: int) -> None:
        """Compute with this many threads, at least 1, from now on, if the module has threads. Results stay the same."""
        if not self._instance:
            return
        with self.lock:
            for _ in range(self._helpers, threads - 1):
                store, functions = self._instance()
                stack = self.made("stack")
                Thread(target=functions["help"], args=(store, stack), name=HELPER, daemon=True).start()
                self._helpers += 1
            self.call("share", threads)

    def take(self, size: int) -> int:
        """Reserve this many bytes of the module's memory, for good; returns their place."""
        return self.made("take", size)

    def address(self, place: int) -> int:
        """Return the address in this process of a place in the module's memory; valid until the next call."""
        base = ctypes.cast(self._begin(), ctypes.c_void_p).value
        assert base is not None
        return base + place

    def write(self, place: int, room: int, data: Any) -> None:
        """Copy bytes (any buffer) to a place of `room` bytes. Raises HsdError, before it writes, if they are more."""
        held = bytes(data)
        if len(held) > room:
            raise HsdError(f"{len(held):,} bytes for {room:,} of the portable engine: choose a smaller tree or model")
        ctypes.memmove(self.address(place), held, len(held))

    def tell(self, name: str, values: Any) -> None:
        """Write one of `INPUTS`: whole numbers, at most `ROWS`, or for "visible" (n, columns) bool."""
        numbers = torch.as_tensor(values, dtype=torch.bool if name == "visible" else torch.int32)
        self.write(self._inputs[name], INPUTS[name], numbers.contiguous().numpy().data)

    def numbers(self, place: int, *shape: int) -> Tensor:
        """Return a copy of float32 numbers at `place` in the module's memory, in this shape."""
        found = torch.empty(shape)
        ctypes.memmove(found.data_ptr(), self.address(place), 4 * found.numel())
        return found

    def vector(self, numbers: Tensor) -> int:
        """Copy float32 numbers (n,) into the module's memory, for good; return their place."""
        place = self.take(4 * numbers.numel())
        self.write(place, 4 * numbers.numel(), numbers.detach().to(torch.float32).contiguous().numpy().data)
        return place

    def matrix(self, kind: int, rows: int, columns: int, data: memoryview, width: int = 0) -> int:
        """Pack a matrix (rows, columns) that lies in `data` as GGUF's type `kind`, a key of `KINDS`.

        width: of attention's heads where the file has the numbers that turn together beside each other. Raises HsdError
        for sizes that cannot be packed, or that are not those of the data.
        """
        (weights, size), four = BLOCKS[kind], kind == WEIGHTS_IN_4_BITS
        row, packed = columns // weights * size, rows // 8 * (columns // 32) * PACKED[four]
        if rows % (width or 8) or rows % 8 or columns % 32 or columns > WIDEST or packed >= 1 << 31:
            raise HsdError(f"the portable engine packs no matrix of {rows:,} by {columns:,}: choose another engine")
        if len(data) != rows * row:
            raise HsdError(f"a matrix of {rows:,} by {columns:,} has {len(data):,} bytes: fetch it again")
        group = row * (width or 1)
        if group > self._staged:
            self._staging, self._staged = self.take(group), group
        place, part = self.made("matrix", int(four), rows, columns), self._staged // group * (width or 1)
        for first in range(0, rows, part):
            count = min(part, rows - first)
            self.write(self._staging, self._staged, data[first * row : (first + count) * row])
            self.call("pack", place, first, count, kind, self._staging, width)
        return place


def _shared_memory(core: Any) -> Any:
    """Memory for instances on several threads. wasmtime's own class hands over a pointer to what is wanted."""
    import wasmtime
    from wasmtime import _ffi

    class Shared(wasmtime.SharedMemory):
        def _as_extern(self) -> Any:
            held = _ffi.wasmtime_extern_union(sharedmemory=self.ptr())
            return _ffi.wasmtime_extern_t(_ffi.WASMTIME_EXTERN_SHAREDMEMORY, held)

    return Shared(core, wasmtime.MemoryType(wasmtime.Limits(*PAGES), shared=True))
