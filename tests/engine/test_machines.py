"""Every machine that can run the engine gives the same bits, and what cannot be had is replaced by
the module.
"""

from __future__ import annotations

import platform
import subprocess
import sys
from hashlib import sha256
from itertools import product
from pathlib import Path
from random import Random

import pytest
import torch
from gguf_blocks import TYPES
from loops import for_each
from random_models import FAMILIES, write_model
from small_gguf import TAPS, VOCAB, numbers, save_small, states_of, tree_view
from torch import Tensor

from hsd.engine import machine, sums
from hsd.engine.machine import LIBRARIES, Native, Wasm, open_machine, usable
from hsd.models.exits import EarlyExits
from hsd.models.loading.portable import load_folder, load_small, load_small_head
from hsd.models.small.engine import Engine
from hsd.models.small.gguf import read_gguf
from hsd.paths import ASSETS
from hsd.sampling import Sampling, draw

NOISE = torch.Generator().manual_seed(11)
IDS = torch.randint(0, VOCAB, (200,), generator=NOISE)
NAMES = [name for _, name in usable()]
needs_library = pytest.mark.skipif(not NAMES, reason="no library for this processor")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_small(tmp_path_factory.mktemp("machines"))


def rows_by(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, threads: int) -> list[Tensor]:
    """What a random model and its head give on one machine: texts, drafts, trees, what is read
    after a roll-back.
    """
    monkeypatch.setattr(machine, "usable", lambda: [one for one in USABLE if one[1] == name])
    model = load_small(read_gguf(folder / "model.gguf"), "small", None, TAPS)
    assert model.engine.machine.name == name
    head = load_small_head(folder, model, "head", None)
    model.use_threads(threads)
    text = model.start()
    draft = head.start()
    draft.follow(text)
    rows = [text.forward(IDS[:100], 100)]
    rows += [draft.forward(IDS[:100], 100), draft.forward(IDS[7:8], 1), draft.forward(IDS[8:9], 1)]
    for n in range(1, 9):
        text.crop(90 - n)
        draft.crop(90 - n)
        rows += [text.forward(IDS[n : 2 * n], n), draft.forward(IDS[n : 2 * n], n)]
    tree = [-1, -1, 0, 0, 1, 2, 4, 4, 3, 8, 5]
    rows.append(text.forward(IDS[40:51], 11, tree_view(text.length, tree)))
    text.select([*range(text.length - 11), text.length - 10, text.length - 7])
    rows.append(text.forward(IDS[60:62], 2))
    return [*rows, states_of(text, 0, 63, 64, text.length - 1)]


USABLE = usable()


@needs_library
@pytest.mark.parametrize(("name", "threads"), [*zip(NAMES, (2, 1), strict=False)])
def test_a_library_gives_the_bits_of_the_module(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, threads: int
):
    pytest.importorskip("wasmtime")
    wanted = rows_by(Wasm.name, folder, monkeypatch, 1)
    found = rows_by(name, folder, monkeypatch, threads)
    assert len({row.shape for row in wanted}) > 5
    assert all(torch.equal(a, b) for a, b in zip(wanted, found, strict=True))


@needs_library
def test_floats_have_the_bits_of_the_module_too(monkeypatch: pytest.MonkeyPatch):
    """The smallest toy, in bfloat16: a text, drafts, a tree, and an early exit."""
    pytest.importorskip("wasmtime")

    def rows(name: str) -> bytes:
        monkeypatch.setattr(machine, "usable", lambda: [one for one in USABLE if one[1] == name])
        model = load_folder(ASSETS / "tiny" / "draft", "toy")
        assert (model.engine.machine.name, model.dtype) == (name, "float32")
        text = model.start()
        found = [text.forward(IDS[:70], 70)]
        for n in range(1, 9):
            text.crop(70 - n)
            found.append(text.forward(IDS[n : 2 * n], n))
        found.append(text.forward(IDS[40:45], 5, tree_view(text.length, [-1, -1, 0, 1, 1])))
        found.append(EarlyExits(model, [1]).models[0].start().forward(IDS[:9], 9))
        return b"".join(row.numpy().tobytes() for row in found)

    wanted = rows(Wasm.name)
    assert all(rows(name) == wanted for name in NAMES)


def rows_in_many_ways(file: Path, threads: int) -> list[Tensor]:
    """What a model gives of a text that is read at once, alone, in drafts, as a tree, and after
    parts of it are forgotten.
    """
    model = load_small(read_gguf(file), "random", None)
    model.use_threads(threads)
    text = model.start()
    rows = [text.forward(IDS[:70], 70)]
    text.crop(60)  # across two pages of the cache
    alone = torch.cat([text.forward(IDS[i : i + 1], 1) for i in range(60, 70)])
    assert torch.equal(alone, rows[0][60:])
    for n in range(1, 9):
        text.crop(60)
        rows.append(text.forward(IDS[60 : 60 + n], n))
        assert torch.equal(rows[-1], alone[:n])
    tree = [-1, -1, 0, 0, 1, 2, 4, 4, 3, 8, 5]
    text.crop(60)
    rows.append(text.forward(IDS[[60, 99, 61, *range(90, 98)]], 11, tree_view(60, tree)))
    assert torch.equal(rows[-1][[0, 2]], alone[:2])
    text.select([*range(61), 62])
    rows.append(text.forward(IDS[62:64], 2))
    assert torch.equal(rows[-1], alone[2:4])
    return rows


@needs_library
@for_each(
    ("kind", "family"),
    product(TYPES, FAMILIES),
    [" ".join(c) for c in product(TYPES, FAMILIES)],
    every=3,
)
def test_every_type_and_family_has_the_bits_of_the_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, family: str
):
    pytest.importorskip("wasmtime")
    file = tmp_path / "model.gguf"
    write_model(file, FAMILIES[family], kind, known=False)
    monkeypatch.setattr(machine, "usable", list)
    wanted = rows_in_many_ways(file, 1)
    assert not torch.equal(wanted[0][0], wanted[0][1])
    for library, threads in product(USABLE, (1, 2)):
        monkeypatch.setattr(machine, "usable", lambda library=library: [library])
        rows = rows_in_many_ways(file, threads)
        assert all(torch.equal(a, b) for a, b in zip(wanted, rows, strict=True)), library[1]


def many_rows(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A hash of 10,000 rows of logits and as many of the head, from texts that grow, are cut back
    and have trees.
    """
    monkeypatch.setattr(machine, "usable", lambda: [one for one in USABLE if one[1] == name])
    model = load_small(read_gguf(folder / "model.gguf"), "small", None, TAPS)
    chance = Random(5)
    found = sha256()
    assert model.engine.machine.name == name
    head = load_small_head(folder, model, "head", None)
    rows = 0
    while rows < 10_000:
        text = model.start()
        draft = head.start()
        draft.follow(text)
        while text.length < 300:
            ids = torch.tensor([chance.randrange(VOCAB) for _ in range(chance.randint(1, 20))])
            for session in (text, draft):
                found.update(session.forward(ids, len(ids)).numpy().tobytes())
            tree = [-1, *(chance.randint(-1, i) for i in range(chance.randint(0, 11)))]
            found.update(
                text.forward(ids[:1].expand(len(tree)), len(tree), tree_view(text.length, tree))
                .numpy()
                .tobytes()
            )
            rows += len(ids) + len(tree)
            length = text.length - len(tree) - chance.randint(0, len(ids) - 1)
            text.crop(length)
            draft.crop(length)
    return found.hexdigest()


@needs_library
@pytest.mark.slow
def test_ten_thousand_rows_have_the_same_bits_on_every_machine_here(
    folder: Path, monkeypatch: pytest.MonkeyPatch
):
    pytest.importorskip("wasmtime")
    assert len({many_rows(name, folder, monkeypatch) for name in (Wasm.name, *NAMES)}) == 1


@pytest.mark.parametrize("broken", ["missing", "damaged", "foreign"])
def test_a_library_that_does_not_load_leaves_the_next_one_or_the_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
):
    pytest.importorskip("wasmtime")
    file = tmp_path / "engine.so"
    known = LIBRARIES.get((platform.system(), platform.machine()), [])
    if broken != "missing":
        file.write_bytes(b"\x7fELF" + bytes(100) if broken == "damaged" else b"text")
    found = {}
    for others in ([], known):
        libraries = [(str(file), "AVX-512", ()), *others]
        monkeypatch.setitem(LIBRARIES, (platform.system(), platform.machine()), libraries)
        usable.cache_clear()
        found[len(libraries)] = open_machine().name
    assert found == {1: Wasm.name, 1 + len(known): NAMES[0] if NAMES else Wasm.name}
    monkeypatch.setattr(machine, "usable", list)
    engine = Engine()
    assert engine.machine.name == Wasm.name
    assert engine.vector(torch.ones(4)) > 0


def test_a_processor_without_what_a_library_needs_gets_none_of_it(monkeypatch: pytest.MonkeyPatch):
    usable.cache_clear()
    for needed, count in (
        (frozenset(machine.V4), 2),
        (frozenset(machine.V3), 1),
        (frozenset(["sse2"]), 0),
    ):
        monkeypatch.setattr(machine, "_features", lambda needed=needed: needed)
        monkeypatch.setattr(machine.platform, "system", lambda: "Linux")
        monkeypatch.setattr(machine.platform, "machine", lambda: "x86_64")
        assert len(usable()) == count
        usable.cache_clear()


def test_every_library_of_the_table_is_here():
    files = [file for libraries in LIBRARIES.values() for file, *_ in libraries]
    assert sorted(files) == sorted(path.name for path in machine.FOLDER.glob("engine-*"))


@needs_library
def test_softmax_has_the_bits_of_double_precision_by_torch():
    logits = 4 * torch.randn(5, 8192, generator=NOISE)
    logits[3, 100:8000] = -torch.inf
    for temperature in (0.05, 0.7, 1.0, 3.0):
        found = sums.soften(logits, temperature)
        wanted = (logits / temperature).softmax(-1, dtype=torch.float64).float()
        assert found is not None
        assert torch.equal(found, wanted)
    assert torch.equal(
        Sampling(0.7).probabilities(logits, exact=True),
        Sampling(0.7).probabilities(logits.double(), True),
    )


@needs_library
def test_masses_and_draws_are_those_of_double_precision():
    p, q = ((3 * torch.randn(4, 8192, generator=NOISE)).softmax(-1) for _ in range(2))
    a = torch.rand(4, generator=NOISE, dtype=torch.float64)
    b = torch.rand(4, generator=NOISE, dtype=torch.float64)
    gap = p.double() * a[:, None] - q.double() * b[:, None]
    found = sums.surplus(p, q, a, b)
    assert found is not None
    for one, wanted in zip(
        found, (gap.clamp_min(0).sum(-1), -gap.clamp_max(0).sum(-1)), strict=True
    ):
        assert torch.allclose(one, wanted, rtol=1e-12, atol=0)
    row = p[0].clone()
    row[:2000] = row[5000:] = 0
    cumulative = row.double().cumsum(-1)
    for number in [
        *torch.rand(300, generator=NOISE, dtype=torch.float64),
        torch.tensor(0.0),
        torch.tensor(1 - 2**-53),
    ]:
        token = int(draw(row, number))
        assert row[token] > 0
        share = cumulative[-1] * number.double()
        assert cumulative[token] - row[token].double() - 1e-12 <= share <= cumulative[token] + 1e-12


def test_short_rows_and_other_numbers_are_left_to_torch():
    for row in (
        torch.ones(1, 64),
        torch.ones(1, 8192, dtype=torch.float64),
        torch.ones(8192, 2).t(),
        torch.ones(1, 8193),
    ):
        assert sums.soften(row, 1.0) is None


def test_rows_of_other_shapes_are_never_read_by_the_library():
    p = torch.ones(2, 8192)
    q = torch.ones(2, 8192)
    one = torch.ones(2)
    for wrong in (
        (p, torch.ones(2, 4096), one),
        (p[:1], q, one),
        (p, q, one[:1]),
        (p, q, one, one[:1]),
    ):
        assert sums.surplus(*wrong) is None


@needs_library
def test_an_engine_that_is_let_go_leaves_no_thread_and_no_crash():
    program = (
        "import torch; from hsd.models.small.engine import Engine\n"
        "for _ in range(20):\n"
        "    engine = Engine(); engine.share(4); engine.vector(torch.ones(100_000))\n"
        "del engine\n"
        "print('left')"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=600
    )
    assert (done.returncode, done.stdout.strip()) == (0, "left"), done.stderr
    assert isinstance(open_machine(), Native)


@pytest.mark.parametrize("name", [Wasm.name, *NAMES])
def test_memory_of_any_size_is_all_there_and_nobody_elses(
    monkeypatch: pytest.MonkeyPatch, name: str
):
    pytest.importorskip("wasmtime")
    monkeypatch.setattr(machine, "usable", lambda: [one for one in USABLE if one[1] == name])
    engine = Engine()
    sizes = [
        5_000_000,
        100,
        1_040_000,
        70_000,
        3_000_000,
        1_048_500,
        64,
        2_100_000,
        1_000_000,
        65_536,
    ]
    places = [engine.take(size) for size in sizes]
    for i, (place, size) in enumerate(zip(places, sizes, strict=True)):
        engine.write(place, size, bytes([i + 1]) * size)
    for i, (place, size) in enumerate(zip(places, sizes, strict=True)):
        held = numbers(engine, place, size // 4).view(torch.uint8)
        assert bool((held == i + 1).all())
