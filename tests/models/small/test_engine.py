"""The portable engine on a random model: its arithmetic, and that a row does not know what is read
beside it.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import enumerate as enumerate_threads
from time import sleep
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from small_gguf import (
    HEAD,
    HIDDEN,
    TAPS,
    VOCAB,
    head_weights,
    save_small,
    states_of,
    torch_model,
    tree_view,
    write_gguf,
)
from torch import Tensor

from hsd import HsdError
from hsd.engine.machine import HELPER
from hsd.models.causal import CausalModel
from hsd.models.loading.heads import load_head
from hsd.models.loading.hub import Source
from hsd.models.loading.portable import load_small, load_small_head
from hsd.models.small.gguf import read_gguf
from hsd.models.small.head import SmallHead
from hsd.models.small.model import SmallModel

pytest.importorskip("wasmtime")
IDS = torch.randint(0, VOCAB, (90,), generator=torch.Generator().manual_seed(5))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_small(tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="module")
def weights(folder: Path) -> dict[str, Tensor]:
    return write_gguf(folder / "model.gguf")


@pytest.fixture(scope="module")
def model(folder: Path) -> SmallModel:
    return load_small(read_gguf(folder / "model.gguf"), "small", None, TAPS)


@pytest.fixture(scope="module")
def head(folder: Path, model: SmallModel) -> SmallHead:
    return load_small_head(folder, model, "head", None)


@pytest.fixture(scope="module")
def reference(weights: dict[str, Tensor]) -> CausalModel:
    return CausalModel(torch_model(weights), "reference")


def alone(model: SmallModel, ids: Tensor) -> Tensor:
    """Logits of rows that were read one at a time."""
    session = model.start()
    return torch.cat([session.forward(ids[i : i + 1], 1) for i in range(len(ids))])


def test_logits_and_states_are_those_of_the_same_model_in_float32(
    model: SmallModel, reference: CausalModel
):
    ours = model.start()
    theirs = reference.start()
    theirs.taps = TAPS  # type: ignore[attr-defined]
    logits = ours.forward(IDS, 90)
    wanted = theirs.forward(IDS, 90)
    assert torch.allclose(logits, wanted, atol=0.02)
    assert not torch.equal(logits[1], logits[0])
    states = states_of(ours, *range(90))
    assert torch.allclose(states, theirs.states, atol=0.02)  # type: ignore[attr-defined]


@pytest.mark.parametrize("n", range(1, 9))
def test_rows_in_a_draft_have_the_bits_of_rows_alone(model: SmallModel, n: int):
    session = model.start()
    ids = IDS[:48]
    parts = [session.forward(ids[i : i + n], min(n, 48 - i)) for i in range(0, 48, n)]
    assert torch.equal(torch.cat(parts), alone(model, ids))


def test_an_interpreter_that_knows_no_processor_gives_the_same_bits(
    folder: Path, model: SmallModel, head: SmallHead, monkeypatch: pytest.MonkeyPatch
):
    wasmtime = pytest.importorskip("wasmtime")
    made = wasmtime.Config.__init__

    def interpreted(config: Any) -> None:
        made(config)
        config.target = "pulley64"

    monkeypatch.setattr(wasmtime.Config, "__init__", interpreted)
    again = load_small(read_gguf(folder / "model.gguf"), "small", None, TAPS)
    heads = [head, load_small_head(folder, again, "head", None)]
    rows = []
    for target, drafting in zip((model, again), heads, strict=True):
        text = target.start()
        draft = drafting.start()
        draft.follow(text)
        found = [
            text.forward(IDS[:21], 21),
            draft.forward(IDS[:21], 3),
            draft.forward(IDS[21:22], 1),
        ]
        rows.append([*found, text.forward(IDS[30:33], 3, tree_view(21, [-1, -1, 0]))])
    assert all(torch.equal(a, b) for a, b in zip(*rows, strict=True))


@pytest.fixture(params=[2, 3, 4])
def threads(request: pytest.FixtureRequest, model: SmallModel) -> Iterator[int]:
    model.use_threads(request.param)
    yield request.param
    model.use_threads(1)


def test_several_threads_give_the_bits_of_one(model: SmallModel, head: SmallHead, threads: int):
    def rows() -> list[Tensor]:
        text = model.start()
        draft = head.start()
        draft.follow(text)
        found = [text.forward(IDS[:70], 70), *(text.forward(IDS[i : i + 1], 1) for i in range(30))]
        found += [draft.forward(IDS[:70], 70), draft.forward(IDS[:1], 1)]
        return [*found, text.forward(IDS[30:35], 5, tree_view(100, [-1, -1, 0, 1, 1]))]

    several = [rows() for _ in range(5)]
    model.use_threads(1)
    alone = rows()
    assert all(torch.equal(a, b) for found in several for a, b in zip(found, alone, strict=True))


def test_threads_that_helped_are_gone_with_the_engine(folder: Path):
    model = load_small(read_gguf(folder / "model.gguf"), "small", None, TAPS)
    before = set(enumerate_threads())  # beside those of other engines and tests, which come and go
    model.use_threads(4)
    helpers = [thread for thread in set(enumerate_threads()) - before if thread.name == HELPER]
    assert len(helpers) == 3
    model.start().forward(IDS[:8], 1)
    sleep(0.05)  # they look no longer, and have to be woken
    del model
    gc.collect()
    for thread in helpers:
        thread.join(600)
    assert not any(thread.is_alive() for thread in helpers)


def test_a_long_text_in_one_call_has_the_bits_of_rows_alone(model: SmallModel):
    assert torch.equal(model.start().forward(IDS, 3), alone(model, IDS)[-3:])


def test_rows_of_a_tree_have_the_bits_of_their_own_texts(model: SmallModel):
    parents = [-1, -1, 0, 0, 1, 2, 4, 4, 3, 8, 5]
    tokens = IDS[40:51]
    session = model.start()
    session.forward(IDS[:20], 1)
    rows = session.forward(tokens, 11, tree_view(20, parents))
    for node in range(11):
        path = []
        at = node
        while at >= 0:
            path = [at, *path]
            at = parents[at]
        text = torch.cat([IDS[:20], tokens[path]])
        assert torch.equal(rows[node], alone(model, text)[-1])
    session.select([*range(20), 21, 24, 27])  # nodes 1, 4 and 7
    text = torch.cat([IDS[:20], tokens[[1, 4, 7]], IDS[60:61]])
    assert torch.equal(session.forward(IDS[60:61], 1)[0], alone(model, text)[-1])


def test_a_text_that_is_cut_back_goes_on_as_if_nothing_else_had_been_read(model: SmallModel):
    session = model.start()
    session.forward(IDS[:70], 1)  # across two pages of the cache
    session.crop(60)
    session.forward(IDS[:5], 5)
    session.crop(62)
    text = torch.cat([IDS[:60], IDS[:2], IDS[80:84]])
    assert session.length == 62
    assert torch.equal(session.forward(IDS[80:84], 4), alone(model, text)[-4:])


def test_texts_do_not_know_each_other_and_memory_is_used_again(model: SmallModel):
    first = model.start()
    second = model.start()
    first.forward(IDS[:10], 1)
    second.forward(IDS[10:20], 1)
    assert torch.equal(first.forward(IDS[10:12], 2), alone(model, IDS[:12])[-2:])
    for session in (first, second):
        session.close()
    before = model.engine.take(0)
    for _ in range(20):
        session = model.start()
        session.forward(IDS, 1)
        session.close()
    assert model.engine.take(0) - before < 2 * 64 * 4 * (6 * 64 + 2 * HIDDEN) + 4096


def test_texts_that_several_threads_read_at_once_have_their_own_bits(
    model: SmallModel, head: SmallHead
):
    texts = [torch.roll(IDS, 7 * i)[:40] for i in range(4)]

    def read(ids: Tensor) -> Tensor:
        target = model.start()
        draft = head.start()
        draft.follow(target)
        rows = [target.forward(ids[i : i + 2], 2) for i in range(0, 40, 2)]
        return torch.cat([*rows, draft.forward(ids, 40)])

    wanted = [read(ids) for ids in texts]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(3):
            assert all(
                torch.equal(a, b) for a, b in zip(wanted, pool.map(read, texts), strict=True)
            )


@pytest.mark.parametrize("fed_normed", [False, True])
def test_the_head_reads_as_the_one_by_torch_does(
    folder: Path, model: SmallModel, reference: CausalModel, tmp_path: Path, fed_normed: bool
):
    save_file(head_weights(), tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(json.dumps(HEAD | {"norm_output": fed_normed}))
    head = load_small_head(tmp_path, model, "head", None)
    theirs = load_head(Source(str(tmp_path)), reference, "head")
    ours_target = head.target.start()
    theirs_target = reference.start()
    ours = head.start()
    other = theirs.start()
    ours.follow(ours_target)
    other.follow(theirs_target)
    for session in (ours_target, theirs_target):
        session.forward(IDS[:20], 1)

    def same(tokens: Tensor, keep: int, view: Any = None) -> Tensor:
        mine = ours.forward(tokens, keep, view)
        wanted = other.forward(tokens, keep, view)
        known = wanted.isfinite()
        assert torch.equal(known, mine.isfinite())
        # weights of 8 bits against float32
        assert torch.allclose(mine[known], wanted[known], atol=0.06)
        return mine

    known = same(IDS[:20], 20)
    same(IDS[30:31], 1)  # the token after the text, where the target knows the one before
    guessed = same(IDS[31:32], 1)
    same(IDS[32:35], 3)
    for session in (ours, other):
        session.crop(20)
    assert ours.length == other.length == 20
    same(IDS[30:31], 1)
    assert torch.equal(same(IDS[31:32], 1), guessed)
    same(IDS[40:45], 5, tree_view(22, [-1, -1, 0, 1, 2]))
    again = head.start()
    again.follow(ours_target)
    rows = torch.cat([again.forward(IDS[i : i + 1], 1) for i in range(20)])
    assert torch.equal(rows, known)


def test_a_head_for_another_target_is_refused(folder: Path, model: SmallModel, tmp_path: Path):
    save_file(head_weights(), tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(json.dumps(HEAD | {"target_layers": [0, 1]}))
    with pytest.raises(
        HsdError, match=r"it is not for .*: choose the target that it was trained for"
    ):
        load_small_head(tmp_path, model, "head", None)
    del (config := dict(HEAD))["target_layers"]
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(HsdError, match="it lacks 'target_layers'"):
        load_small_head(tmp_path, model, "head", None)


@pytest.mark.parametrize("share", [0.0, 0.001, 0.01, 0.05, 0.2, 0.9, 0.9999])
def test_a_file_that_is_cut_short_is_told_in_one_line(folder: Path, tmp_path: Path, share: float):
    whole = (folder / "model.gguf").read_bytes()
    (tmp_path / "cut.gguf").write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(HsdError, match=r"cut\.gguf .*fetch it again") as told:
        read_gguf(tmp_path / "cut.gguf")
    assert "\n" not in str(told.value)


def test_other_files_are_told_in_one_line(tmp_path: Path):
    (tmp_path / "x.gguf").write_bytes(b"PK\3\4" + bytes(1000))
    with pytest.raises(HsdError, match="no GGUF file"):
        read_gguf(tmp_path / "x.gguf")
    with pytest.raises(HsdError, match="cannot be read"):
        read_gguf(tmp_path / "none.gguf")
    write_gguf(tmp_path / "x.gguf", general__architecture="mamba")
    with pytest.raises(HsdError, match=r"of the kind 'mamba', and .* reads llama, qwen2, qwen3"):
        load_small(read_gguf(tmp_path / "x.gguf"), "x", None)
    write_gguf(tmp_path / "x.gguf", llama__attention__head_count_kv=4)
    with pytest.raises(HsdError, match=r"no model of this shape \(heads 6\)"):
        load_small(read_gguf(tmp_path / "x.gguf"), "x", None)
    write_gguf(tmp_path / "x.gguf", llama__block_count=4)
    with pytest.raises(HsdError, match=r"blk\.3\..* is missing"):
        load_small(read_gguf(tmp_path / "x.gguf"), "x", None)
