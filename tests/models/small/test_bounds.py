"""Nothing is written into the portable engine's memory beyond what it is written into; other texts
go on unharmed.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import torch
from loops import for_each
from safetensors.torch import save_file
from small_gguf import (
    HEAD,
    HIDDEN,
    TAPS,
    VOCAB,
    head_weights,
    numbers,
    save_small,
    tree_view,
    write_gguf,
)

import hsd
from hsd import HsdError
from hsd.engine.machine import FOLDER
from hsd.models.base import IdCodec, Pair, View
from hsd.models.loading.portable import load_small, load_small_head
from hsd.models.small.engine import (
    BLOCKS,
    INPUTS,
    KINDS,
    LONGEST,
    MOST_THREADS,
    ROWS,
    WIDEST,
    Engine,
)
from hsd.models.small.gguf import read_gguf
from hsd.models.small.head import SmallHead
from hsd.models.small.model import DEEPEST, MOST_TAPS, SmallModel

pytest.importorskip("wasmtime")
IDS = torch.randint(0, VOCAB, (90,), generator=torch.Generator().manual_seed(5))
TREES = {
    "paths": {"drafts": 4, "gamma": 5},
    "comb": {"drafts": 3, "gamma": 5, "tree": "comb"},
    "distinct": {"drafts": 4, "gamma": 3, "tree": "distinct", "rule": "recursive-tokenwise"},
    "grown": {"drafts": 4, "gamma": 5, "tree": "grown", "rule": "one-hot"},
    "nodes": {"drafts": 3, "gamma": 4, "tree": "grown", "rule": "one-hot", "nodes": 9},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_small(tmp_path_factory.mktemp("bounds"))


@pytest.fixture(scope="module")
def model(folder: Path) -> SmallModel:
    return load_small(read_gguf(folder / "model.gguf"), "small", None, TAPS)


@pytest.fixture(scope="module")
def head(folder: Path, model: SmallModel) -> SmallHead:
    return load_small_head(folder, model, "head", None)


@pytest.fixture
def context(model: SmallModel, head: SmallHead, monkeypatch: pytest.MonkeyPatch) -> int:
    """A context that ends, as the engine's does, with its last column."""
    for module in ("model", "engine"):
        monkeypatch.setattr(f"hsd.models.small.{module}.LONGEST", 64)
    for part in (model, head):
        monkeypatch.setattr(part, "context", 64)
    return 64


def test_sizes_here_are_those_of_the_engine():
    source = (FOLDER / "engine.c").read_text(encoding="utf-8")
    told = {name: int(size) for name, size in re.findall(r"(\w+) = (\d+)[,} ]", source)}
    assert (told["ROWS"], told["MAX_COLUMNS"]) == (ROWS, LONGEST)
    assert (told["MAX_LAYERS"], told["MAX_TAPS"]) == (DEEPEST, MOST_TAPS)
    assert told["MAX_THREADS"] >= MOST_THREADS
    most = 4 * told["PAGE"] * WIDEST * (2 * DEEPEST + MOST_TAPS)  # bytes of a page, counted in ints
    assert most < 1 << 31
    assert (
        dict.fromkeys(("tokens", "positions", "before"), 4 * ROWS) | {"visible": ROWS * LONGEST}
        == INPUTS
    )


@for_each(
    "tree, left",
    [
        (tree, left)
        for tree, options in TREES.items()
        for left in (1, 3, 7, 20, 21)
        if left >= options.get("nodes", 0)  # others are refused before anything is decoded
    ],
    every=3,
)
def test_a_tree_at_the_end_of_the_context_ends_the_run_as_a_chain_does(
    model: SmallModel, head: SmallHead, context: int, tree: str, left: int
):
    pair = Pair("small", model, head, IdCodec(VOCAB))
    prompt = " ".join(map(str, IDS[: context - left].tolist()))
    other = model.start()
    other.forward(IDS[:20], 1)
    trace = hsd.run(pair, prompt, temperature=0, max_new_tokens=100, **TREES[tree])
    plain = hsd.run(pair, prompt, temperature=0, max_new_tokens=100, system="plain")
    assert trace.result.finish == plain.result.finish == "context"
    assert trace.tokens == plain.tokens
    assert len(trace.tokens) == left
    fresh = model.start()
    assert torch.equal(other.forward(IDS[20:24], 4), fresh.forward(IDS[:24], 24)[-4:])


@pytest.mark.slow
def test_a_tree_past_the_last_of_all_columns_ends_with_context_and_harms_no_other_text(
    tmp_path: Path,
):
    write_gguf(tmp_path / "long.gguf", llama__context_length=LONGEST)
    model = load_small(read_gguf(tmp_path / "long.gguf"), "small", None)
    pair = Pair("small", model, model, IdCodec(VOCAB))
    other = model.start()
    other.forward(IDS[:20], 1)
    ids = torch.randint(
        0, VOCAB, (LONGEST - 12,), generator=torch.Generator().manual_seed(1)
    ).tolist()
    trace = hsd.run(
        pair, " ".join(map(str, ids)), drafts=4, gamma=5, max_new_tokens=40, trace=False
    )
    assert (trace.result.finish, len(trace.tokens)) == ("context", 12)
    assert torch.equal(other.forward(IDS[20:24], 4), model.start().forward(IDS[:24], 24)[-4:])


def refused(call, *arguments, **named) -> None:
    with pytest.raises(HsdError) as error:
        call(*arguments, **named)
    assert "\n" not in str(error.value)


def test_what_does_not_fit_is_refused_before_it_is_written(model: SmallModel, head: SmallHead):
    other = model.start()
    text = model.start()
    draft = head.start()
    draft.follow(text)
    other.forward(IDS[:20], 1)
    text.forward(IDS[:20], 1)
    draft.forward(IDS[:20], 1)
    for session in (text, draft):
        session.length = LONGEST - 4  # as after so long a text
        refused(session.forward, IDS[:8], 1)
        refused(session.forward, IDS[:8], 1, tree_view(LONGEST - 4, [-1] * 8))
        session.length = 20
        refused(session.forward, torch.tensor([VOCAB]), 1)
        refused(session.forward, torch.tensor([-1]), 1)
        wide = View(torch.ones(2, LONGEST * 5, dtype=torch.bool), torch.tensor([20, 21]))
        assert len(session.forward(IDS[:2], 1, wide)) == 1  # cut to the columns that there are
        session.crop(20)
        refused(
            session.forward,
            IDS[:2],
            1,
            View(torch.ones(2, 21, dtype=torch.bool), torch.tensor([20, 21])),
        )
    refused(text.select, [0, 25])
    refused(text.select, [3, 2])
    refused(text.select, [-1])
    text.crop(-5)
    assert text.length == 0
    assert torch.equal(other.forward(IDS[20:24], 4), model.start().forward(IDS[:24], 24)[-4:])


def test_a_closed_text_is_not_read_into_another_that_has_its_place(model: SmallModel):
    closed = model.start()
    closed.forward(IDS[:8], 1)
    closed.close()
    other = model.start()
    other.forward(IDS[:20], 1)
    refused(closed.forward, IDS[8:12], 1)
    assert torch.equal(other.forward(IDS[20:24], 4), model.start().forward(IDS[:24], 24)[-4:])


@pytest.mark.parametrize("name", INPUTS)
def test_an_input_takes_no_more_than_it_holds(name: str):
    engine = Engine()
    wide = name == "visible"
    engine.tell(name, torch.zeros(ROWS, LONGEST, dtype=torch.bool) if wide else [0] * ROWS)
    refused(
        engine.tell,
        name,
        torch.zeros(ROWS + 1, LONGEST, dtype=torch.bool) if wide else [0] * (ROWS + 1),
    )
    refused(engine.write, engine.take(8), 8, bytes(9))


def test_large_rows_are_staged_where_they_have_room():
    engine = Engine()
    rows = 64
    data = torch.randn(rows, WIDEST, generator=torch.Generator().manual_seed(2))
    # a head of 64 rows is larger than the part
    engine.matrix(0, rows, WIDEST, memoryview(data.numpy().tobytes()), 64)
    assert engine._staged >= 64 * 4 * WIDEST
    place = engine.take(64)
    engine.write(place, 64, bytes(range(64)))
    engine.matrix(0, rows, WIDEST, memoryview(data.numpy().tobytes()), 32)
    assert bytes(numbers(engine, place, 16).numpy().data) == bytes(range(64))


def test_a_wider_matrix_of_any_type_harms_no_text_that_is_being_read(
    tmp_path: Path, subtests: pytest.Subtests
):
    """Rows get more room when a wider matrix comes; what was read before is there as it was."""
    write_gguf(tmp_path / "model.gguf")
    model = load_small(read_gguf(tmp_path / "model.gguf"), "small", None)
    wanted = model.start().forward(IDS[:44], 44)
    for i, (kind, name) in enumerate(KINDS.items()):
        with subtests.test(name):
            text = model.start()
            text.forward(IDS[:20], 1)
            columns = 1024 * (2 + i)
            weights, size = BLOCKS[kind]
            data = memoryview(bytes(32 * columns // weights * size))
            model.engine.matrix(kind, 32, columns, data)
            assert torch.equal(text.forward(IDS[20:44], 24), wanted[20:])
            assert torch.equal(model.start().forward(IDS[:44], 44), wanted)


@for_each(("kind", "size"), BLOCKS.items())
def test_a_matrix_of_any_type_is_packed_from_its_own_bytes_only(kind: int, size: tuple[int, int]):
    weights, length = size
    engine = Engine()
    columns = max(weights, 32)
    data = memoryview(bytes(32 * columns // weights * length))
    assert engine.matrix(kind, 32, columns, data) > 0
    refused(engine.matrix, kind, 32, columns, data[:-1])
    refused(engine.matrix, kind, 32, columns, memoryview(bytes(data) + bytes(length)))
    refused(engine.matrix, kind, 32, columns + max(weights // 2, 16), data)
    refused(engine.matrix, kind, 31, columns, data[: 31 * len(data) // 32])


@pytest.mark.parametrize(
    ("kind", "rows", "columns", "size"),
    [
        (8, 8, 31, 8 * 34),
        (8, 7, 32, 7 * 34),
        (8, 8, 32, 8 * 34 - 1),
        (8, 8, 32, 8 * 34 + 34),
        (0, 8, 2 * WIDEST, 0),
    ],
)
def test_a_matrix_of_other_sizes_than_its_bytes_is_refused(
    kind: int, rows: int, columns: int, size: int
):
    assert kind in BLOCKS
    refused(Engine().matrix, kind, rows, columns, memoryview(bytes(size or 4 * rows * columns)))


@pytest.mark.parametrize("taps", [tuple(range(9)), (3,), (-1,), (0, 1, 2, 0, 1, 2, 0, 1, 2)])
def test_a_head_of_layers_that_there_are_not_is_refused(folder: Path, taps: tuple[int, ...]):
    refused(load_small, read_gguf(folder / "model.gguf"), "small", None, taps)


HEADS = {
    "inner": {"intermediate_size": 32 * 1024},
    "heads": {"num_attention_heads": 12},
    "width": {"head_dim": 128},
    "groups": {"num_key_value_heads": 4},
    "nothing": {"num_attention_heads": 0},
    "text": {"intermediate_size": "64"},
    "eps": {"rms_norm_eps": float("nan")},
    "base": {"rope_theta": -1.0},
}


@pytest.mark.parametrize("change", HEADS)
def test_a_head_whose_numbers_do_not_fit_is_refused(
    folder: Path, model: SmallModel, tmp_path: Path, change: str
):
    save_file(head_weights(), tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(json.dumps(HEAD | HEADS[change]))
    refused(load_small_head, tmp_path, model, "head", None)


@for_each("name", head_weights())
@for_each("how", ["missing", "shorter", "longer", "flat"])
def test_a_head_whose_weights_have_other_shapes_is_refused(
    model: SmallModel, tmp_path: Path, name: str, how: str
):
    weights = head_weights()
    shapes = {
        "shorter": weights[name][:-1],
        "longer": torch.cat([weights[name]] * 2),
        "flat": weights[name].view(1, -1),
    }
    if how == "missing":
        del weights[name]
    else:
        weights[name] = shapes[how].contiguous()
    save_file(weights, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(json.dumps(HEAD))
    refused(load_small_head, tmp_path, model, "head", None)


def test_a_head_that_drafts_tokens_which_there_are_not_is_refused(
    model: SmallModel, tmp_path: Path
):
    save_file(head_weights() | {"d2t": torch.full((32,), VOCAB)}, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(json.dumps(HEAD))
    refused(load_small_head, tmp_path, model, "head", None)
    assert model.shape.hidden == HIDDEN
