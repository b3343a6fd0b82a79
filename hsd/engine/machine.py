"""What runs `engine.c`: a library for this processor, or the module by `wasmtime`.

The library is compiled for this processor, the module is WebAssembly. Both give the same bits.

Libraries are tried in the order of `LIBRARIES`; where none fits or loads, the module is taken.
"""

import ctypes
import mmap
import platform
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from threading import Thread
from typing import Any
from weakref import finalize

from hsd.errors import HsdError

FOLDER = Path(__file__).parent
MODULE = FOLDER / "engine.wasm"  # for one thread, with its own memory: for browsers
THREADED = FOLDER / "engine_threads.wasm"  # for several, on a memory that they share
PAGES = 64, 65_535  # of 64 KiB: what the module's memory has at first, and at most
HELPER = "portable engine"  # the name of a thread that helps

MEMORY = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_size_t)  # gives so many bytes of memory
# What each function of engine.c returns, and its arguments: e the engine, p a place, n a size, i an
# int, f a float, d a double, m what gives memory, v nothing.
SIGNATURES = {
    "engine": "p:m",
    "take": "p:en",
    "matrix": "p:eiii",
    "pack": "v:piiipi",
    "model": "p:eiiiiiidfpp",
    "layer": "v:pippppppppp",
    "bias": "v:pippp",
    "level": "v:pipp",
    "untie": "v:ppi",
    "slow": "v:pp",
    "tap": "v:pi",
    "head": "p:piiiidfippppppp",
    "text": "p:p",
    "follow": "p:p",
    "cut": "v:pi",
    "move": "v:pii",
    "shut": "v:p",
    "mark": "v:pi",
    "leave": "p:ppppp",
    "climb": "i:ppiiiiii",
    "state": "p:pii",
    "forward": "i:piii",
    "guess": "i:pppiii",
    "soften": "v:pifpp",
    "surplus": "v:ppiddp",
    "pick": "i:pidp",
    "tokens": "p:e",
    "positions": "p:e",
    "before": "p:e",
    "visible": "p:e",
    "logits": "p:e",
    "help": "v:ep",
    "stack": "p:e",
    "share": "v:ei",
    "dismiss": "v:e",
}
LETTERS: dict[str, Any] = {
    **dict.fromkeys("epn", ctypes.c_size_t),
    "i": ctypes.c_int,
    "f": ctypes.c_float,
}
LETTERS |= {"d": ctypes.c_double, "m": MEMORY, "v": None}

V3 = ("avx2", "bmi1", "bmi2", "f16c", "fma", "movbe")
V4 = (*V3, "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", "avx512_vnni")
# By system and processor: a library's file, what is shown for it, and which features of the
# processor it needs.
LIBRARIES: dict[tuple[str, str], list[tuple[str, str, tuple[str, ...]]]] = {
    ("Linux", "x86_64"): [
        ("engine-linux-x86_64-avx512.so", "AVX-512", V4),
        ("engine-linux-x86_64-avx2.so", "AVX2", V3),
    ],
    ("Linux", "aarch64"): [("engine-linux-aarch64.so", "NEON", ("asimddp",))],
    ("Darwin", "arm64"): [("engine-macos-arm64.dylib", "NEON", ())],
    ("Windows", "AMD64"): [("engine-windows-x86_64.dll", "AVX2", ("avx2",))],
}
# for large pages
PRIVATE: dict[str, Any] = (
    {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}
)
WINDOWS_AVX2 = 40  # of IsProcessorFeaturePresent


class Native:
    """The engine as a library in this process.

    name: of its machine code. functions: of the library, by name.
    """

    def __init__(self, functions: dict[str, Any], name: str) -> None:
        """Start an engine. Raises HsdError if there is no memory for it."""
        self.name = name
        self._functions = functions
        rooms: list[Any] = []

        def more(size: int) -> int:
            try:
                room = mmap.mmap(-1, size, **PRIVATE)
            except (OSError, ValueError, OverflowError):
                return 0
            with suppress(AttributeError, OSError):  # large pages, where the system has them
                room.madvise(mmap.MADV_HUGEPAGE)
            rooms.append(ctypes.c_char.from_buffer(room))  # and keeps it
            return ctypes.addressof(rooms[-1])

        self._more = MEMORY(more)
        self._engine: int = self._functions["engine"](self._more)
        if not self._engine:
            raise HsdError("no memory is left for the portable engine: close other programs")
        self._kept = rooms, self._more
        finalize(self, self._functions["dismiss"], self._engine)

    def call(self, function: str, *arguments: float) -> int:
        """Call a function of `SIGNATURES`, without its first argument where that is the engine.

        Return 0 for a function without a result.
        """
        first = (self._engine,) if SIGNATURES[function][2:3] == "e" else ()
        return self._functions[function](*first, *arguments) or 0

    def address(self, place: int) -> int:
        """Return the address in this process of a place in the engine's memory.

        It is valid until the next call.
        """
        return place

    def helper(self) -> None:
        """Start one more thread that helps. It ends when the machine is let go."""
        stack = self.call("stack")
        if stack:
            _start(self._functions["help"], self._engine, stack, kept=self._kept)


class Wasm:
    """An engine, as `Native` is, by the WebAssembly module and `wasmtime`.

    Raises HsdError without `wasmtime`.
    """

    name = "WebAssembly"

    def __init__(self) -> None:
        try:
            import wasmtime
        except ImportError:
            raise HsdError(
                "the portable engine needs wasmtime: run `python -m pip install wasmtime`"
            ) from None
        config = wasmtime.Config()
        # "speed" loads a whole block before it computes: too few registers
        config.cranelift_opt_level = "none"
        config.shared_memory = True
        core = wasmtime.Engine(config)
        module = wasmtime.Module.from_file(core, str(THREADED))
        memory = _shared_memory(core)

        def instance() -> tuple[Any, dict[str, Any]]:
            store = wasmtime.Store(core)
            return store, dict(wasmtime.Instance(store, module, [memory]).exports(store).items())

        self._store, self._functions = instance()
        self._instance = instance
        self._memory = memory
        self._engine: int = self._functions["engine"](self._store)
        finalize(self, self._functions["dismiss"], self._store, self._engine)

    def call(self, function: str, *arguments: float) -> int:
        first = (self._engine,) if SIGNATURES[function][2:3] == "e" else ()
        return self._functions[function](self._store, *first, *arguments) or 0

    def address(self, place: int) -> int:
        base = ctypes.cast(self._memory.data_ptr(), ctypes.c_void_p).value
        assert base is not None
        return base + place

    def helper(self) -> None:
        stack = self.call("stack")
        if stack:
            store, functions = self._instance()
            _start(functions["help"], store, self._engine, stack)


Machine = Native | Wasm


def load_library(file: Path) -> dict[str, Any]:
    """Return the functions of a library by name.

    Raises OSError if it cannot be loaded, AttributeError if a function is missing.
    """
    library = ctypes.CDLL(str(file))
    functions = dict[str, Any]()
    for name, letters in SIGNATURES.items():
        functions[name] = getattr(library, name)
        functions[name].argtypes = [LETTERS[letter] for letter in letters[2:]]
        functions[name].restype = LETTERS[letters[0]]
    return functions


def open_machine() -> Machine:
    """Return an engine on the fastest library that this processor can run, else the module."""
    return Native(*usable()[0]) if usable() else Wasm()


@cache
def usable() -> list[tuple[dict[str, Any], str]]:
    """Return the libraries that load here and that this processor can run, the fastest first.

    Each is given as its functions and its name.
    """
    known = LIBRARIES.get((platform.system(), platform.machine()), [])
    found = list[tuple[dict[str, Any], str]]()
    able = _features() if any(needed for *_, needed in known) else frozenset[str]()
    for file, name, needed in known:
        with suppress(OSError, AttributeError):
            if able.issuperset(needed):
                found.append((load_library(FOLDER / file), name))
    return found


def _features() -> frozenset[str]:
    """Return the processor's features by the system's names for them.

    None where the system does not tell.
    """
    with suppress(OSError, AttributeError):
        if platform.system() == "Linux":
            text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
            found = re.search(r"^(?:flags|Features)\s*:(.*)", text, re.MULTILINE)
            return frozenset(found[1].split() if found else ())
        if sys.platform == "win32":
            has_feature = ctypes.windll.kernel32.IsProcessorFeaturePresent
            return frozenset(["avx2"] if has_feature(WINDOWS_AVX2) else [])
    return frozenset()


def _start(function: Callable[..., Any], *arguments: Any, kept: Any = None) -> None:
    """Run function(*arguments) in a daemon thread of its own.

    `kept` stays alive as long as it runs.
    """

    def run(_: Any) -> None:
        function(*arguments)

    Thread(target=run, args=(kept,), name=HELPER, daemon=True).start()


def _shared_memory(core: Any) -> Any:
    """Return memory that threads share.

    wasmtime's own class passes a pointer to the handle in place of the handle.
    """
    import wasmtime
    from wasmtime import _ffi

    class Shared(wasmtime.SharedMemory):
        def _as_extern(self) -> Any:
            held = _ffi.wasmtime_extern_union(sharedmemory=self.ptr())
            return _ffi.wasmtime_extern_t(_ffi.WASMTIME_EXTERN_SHAREDMEMORY, held)

    return Shared(core, wasmtime.MemoryType(wasmtime.Limits(*PAGES), shared=True))
