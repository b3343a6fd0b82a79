"""Fuzz the portable engine in a build that an address sanitiser watches: `make sanitize`.

Texts, trees, roll-backs, heads and exits are read at random, and files are damaged at random. A
file is refused in one line, or what it gives is read; whatever touches memory that is not its own
ends the process with a report.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tempfile
from itertools import product
from pathlib import Path
from random import Random

import torch
from gguf_blocks import TYPES
from random_models import FAMILIES, write_model
from safetensors.torch import save_file
from small_gguf import TAPS, VOCAB, exit_weights, save_small, tree_view, with_exits

from hsd import HsdError
from hsd.engine import machine, sums
from hsd.models.exits import EarlyExits
from hsd.models.loading.portable import load_small, load_small_head
from hsd.models.small.gguf import read_gguf
from hsd.models.small.model import SmallModel

SOURCE = machine.FOLDER / "engine.c"
COMPILED = (
    "-c",
    "-O1",
    "-g",
    "-fPIC",
    "-DWITH_ROWS",
    "-ffp-contract=off",
    "-fsanitize=address",
    "-fno-sanitize=undefined",
)
PROCESSORS = {"AVX-512": "x86_64_v4+avx512vnni", "AVX2": "x86_64_v3"}
TEXTS = 40
DAMAGED = 400
TEXTS_OF_TYPE = 2
DAMAGED_OF_TYPE = 12
# what rows.h has beside what the libraries have, as machine.SIGNATURES says it
ROWS = {
    "hold": "i:pi",
    "total": "d:pi",
    "residual": "v:ppiffp",
    "entropy": "d:pi",
    "largest": "i:piip",
}
TAKE = "EXPORT(take)\nvoid *take(Engine *e, Size bytes) {\n"
# each piece with its ends
ALONE = "void *watched_memory(Size bytes);\n" + TAKE + "  return watched_memory(bytes);\n"
MEMORY = """#include <stdlib.h>
#include <string.h>
void *watched_memory(size_t bytes) {
  void *piece = 0;
  return posix_memalign(&piece, 64, bytes) ? 0 : memset(piece, 0, bytes);
}
"""


def build(folder: Path, name: str) -> Path:
    """Compile the engine with a sanitiser, for the processor that goes by this name; return the
    library.
    """
    source = SOURCE.read_text(encoding="utf-8")
    object_ = folder / "engine.o"
    if source.count(TAKE) != 1:
        raise SystemExit("engine.c has another take: write it here as it is there")
    (folder / "engine.c").write_text(source.replace(TAKE, ALONE), encoding="utf-8")
    target = (
        "-target",
        "x86_64-linux-gnu",
        f"-mcpu={PROCESSORS[name]}",
        f"-I{SOURCE.parent}",
        "-o",
        str(object_),
    )
    command = [sys.executable, "-m", "ziglang", "cc", *COMPILED, *target, str(folder / "engine.c")]
    subprocess.run(command, check=True)
    library = folder / f"{name}.so"
    memory = folder / "memory.c"
    memory.write_text(MEMORY)
    parts = [str(memory), str(object_), "-o", str(library), "-lpthread", "-lm"]
    subprocess.run(["gcc", "-shared", "-fPIC", "-fsanitize=address", *parts], check=True)
    return library


def read_at_random(model: SmallModel, folder: Path, chance: Random) -> None:
    """Read one text and guess along, with cuts, trees, choices of columns, and what must be
    refused.
    """
    head = load_small_head(folder, model, "head", None)
    model.use_threads(chance.choice([1, 2]))
    text = model.start()
    draft = head.start()
    draft.follow(text)
    for _ in range(12):
        ids = torch.tensor([chance.randrange(VOCAB) for _ in range(chance.randint(1, 70))])
        keep = chance.randint(0, len(ids))
        text.forward(ids, keep)
        draft.forward(ids[: text.length - draft.length], min(keep, 1))
        tree = [-1, *(chance.randint(-1, i) for i in range(chance.randint(0, 11)))]
        begin = text.length
        text.forward(ids[:1].expand(len(tree)), len(tree), tree_view(begin, tree))
        text.select(
            [
                *range(begin),
                *sorted(chance.sample(range(begin, text.length), chance.randint(0, len(tree)))),
            ]
        )
        for wrong in (torch.tensor([VOCAB]), torch.tensor([-1])):
            try:
                text.forward(wrong, 1)
            except HsdError:
                continue
            raise AssertionError(f"{wrong} was read")
        length = chance.randint(0, begin)
        text.crop(length)
        draft.crop(min(length, draft.length))
    levels = EarlyExits(model, chance.choice([(1,), (1, 2), (2, 3), (3, 3)])).open()
    ids = list[int]()
    for _ in range(12):
        level = chance.choice(levels)
        end = level.length + chance.randint(1, 40)
        ids += [chance.randrange(VOCAB) for _ in range(end - len(ids))]
        level.forward(torch.tensor(ids[level.length : end]), chance.randint(0, end - level.length))
        level.crop(chance.randint(0, level.length))
        ids = ids[: levels[0].length]
    width = 8 * chance.randint(600, 900)
    p, q = (torch.randn(2, width).softmax(-1) for _ in range(2))
    sums.soften(p, 0.5)
    sums.surplus(p, q, torch.ones(2))
    sums.pick(p[0], torch.tensor(chance.random()))
    read_rows(p[0], q[0], chance)
    if chance.random() < 0.5:
        draft.close()
        text.close()


def read_rows(p: torch.Tensor, q: torch.Tensor, chance: Random) -> None:
    """Have all made of two rows that a page has made of them, see rows.h."""
    width = len(p)
    places = torch.empty(chance.choice([1, 8, width]), dtype=torch.int32)
    left = torch.empty(width)
    at = [row.data_ptr() for row in (p, q)]
    sums.library()["residual"](*at, width, chance.random(), chance.random(), left.data_ptr())
    for row in (*at, left.data_ptr()):
        assert math.isfinite(sums.library()["total"](row, width))
        assert math.isfinite(sums.library()["entropy"](row, width))
        count = sums.library()["largest"](row, width, len(places), places.data_ptr())
        assert 0 < count <= len(places)
        assert 0 <= int(places[:count].min()) <= int(places[:count].max()) < width


def read_type_at_random(file: Path, vocab: int, chance: Random) -> None:
    """Read one text by a model of any type and family, with cuts, trees and choices of columns, and
    with wider rows from somewhere on.
    """
    model = load_small(read_gguf(file), "random", None)
    model.use_threads(chance.choice([1, 2]))
    text = model.start()
    for _ in range(6):
        ids = torch.tensor([chance.randrange(vocab) for _ in range(chance.randint(1, 40))])
        text.forward(ids, chance.randint(0, len(ids)))
        begin = text.length
        tree = [-1, *(chance.randint(-1, i) for i in range(chance.randint(0, 11)))]
        text.forward(ids[:1].expand(len(tree)), len(tree), tree_view(begin, tree))
        chosen = chance.sample(range(begin, text.length), chance.randint(0, len(tree)))
        text.select([*range(begin), *sorted(chosen)])
        text.crop(chance.randint(0, text.length))
        if chance.random() < 0.2:
            model.engine.floats(torch.randn(32, 32 * chance.randint(1, 64)))


def read_damaged(folder: Path, chance: Random, whole: bytes, taps: tuple[int, ...] = TAPS) -> bool:
    """Load a file with some bytes changed, or cut short, and read with it; return whether it was
    refused.
    """
    data = bytearray(whole[: chance.randint(0, len(whole))] if chance.random() < 0.3 else whole)
    for _ in range(chance.randint(1, 6)):
        if data:
            where = (
                chance.randrange(min(len(data), 2500))
                if chance.random() < 0.5
                else chance.randrange(len(data))
            )
            data[where] = chance.choice([0, 1, 32, 127, 255])
    (folder / "damaged.gguf").write_bytes(data)
    try:
        model = load_small(read_gguf(folder / "damaged.gguf"), "damaged", None, taps)
        model.start().forward(torch.arange(3), 2)
    except HsdError as error:
        if "\n" in str(error):
            raise
        return True
    return False


def main(library: str, name: str, seed: int) -> None:
    machine.SIGNATURES.update(ROWS)
    machine.usable = sums.usable = lambda: [(machine.load_library(Path(library)), name)]
    chance = Random(seed)
    with tempfile.TemporaryDirectory() as temporary:
        folder = save_small(Path(temporary))
        save_file(exit_weights(), folder / "exit-1.safetensors")
        model = with_exits(folder)
        assert model.engine.machine.name == name
        for _ in range(TEXTS):
            read_at_random(model, folder, chance)
        whole = (folder / "model.gguf").read_bytes()
        refused = sum(read_damaged(folder, chance, whole) for _ in range(DAMAGED))
        texts, files = TEXTS, DAMAGED
        for kind, family in product(TYPES, FAMILIES.values()):
            file = folder / "of_type.gguf"
            write_model(file, family, kind, seed, known=False)
            whole = file.read_bytes()
            for _ in range(TEXTS_OF_TYPE):
                read_type_at_random(file, family.vocab, chance)
            for _ in range(DAMAGED_OF_TYPE):
                refused += read_damaged(folder, chance, whole, ())
            texts += TEXTS_OF_TYPE
            files += DAMAGED_OF_TYPE
    print(
        f"{name}: {texts} texts read, {files} damaged files, {refused} of them refused, no fault "
        f"(seed {seed})"
    )


if __name__ == "__main__":
    if len(sys.argv) > 2:
        main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
    else:
        asan = subprocess.run(
            ["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True
        ).stdout
        known = {**os.environ, "LD_PRELOAD": asan.strip(), "ASAN_OPTIONS": "detect_leaks=0"}
        seed = sys.argv[1] if len(sys.argv) > 1 else "1"
        with tempfile.TemporaryDirectory() as built:
            for _, processor in machine.usable():
                command = [
                    sys.executable,
                    __file__,
                    str(build(Path(built), processor)),
                    processor,
                    seed,
                ]
                subprocess.run(command, check=True, env=known)
