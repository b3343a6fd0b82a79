"""Early exits by the portable engine: their arithmetic, the same rows in any order of reading,
files, and in use.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from exit_programs import counts, reads
from joint_law import chi_square_p, first_tokens, token_law
from safetensors.torch import load_file, save_file
from small_gguf import (
    DRAFTED,
    EPS,
    HIDDEN,
    INNER,
    LAYERS,
    VOCAB,
    exit_weights,
    save_small,
    torch_model,
    with_exits,
    write_gguf,
)
from torch import Tensor

import hsd
from hsd import HsdError, Pair, load_pair
from hsd.engine import machine
from hsd.engine.machine import Wasm, usable
from hsd.models.base import IdCodec, View
from hsd.models.exits import EarlyExits, default_exits, parts_of
from hsd.models.loading import fetch
from hsd.models.small.model import SmallModel
from hsd.paths import ASSETS

FILE = fetch.fetched_file("smollm2")  # every test has an empty home of its own
IDS = torch.randint(0, VOCAB, (200,), generator=torch.Generator().manual_seed(4))
USABLE = usable()
NAMES = [name for _, name in USABLE]
SPLITS = [(1, 2), (1,), (1, 1), (2, 3), (3, 3), ()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    here = save_small(tmp_path_factory.mktemp("exits"))
    save_file(exit_weights(), here / "exit-1.safetensors")
    return here


@pytest.fixture(scope="module")
def model(folder: Path) -> SmallModel:
    return with_exits(folder)


@pytest.fixture(scope="module")
def pair(model: SmallModel) -> Pair:
    return Pair("small", model, model, IdCodec(VOCAB))


def fresh(model: SmallModel, text: Tensor, depth: int) -> Tensor:
    """Logits after every token at a depth, read alone."""
    return EarlyExits(model, (depth,)).models[0].start().forward(text, len(text))


def test_every_exit_computes_what_torch_does(model: SmallModel, folder: Path, tmp_path: Path):
    """Norm, adapter and rows of the embedding where it was trained; the model's own norm and head
    elsewhere.
    """
    theirs = torch_model(write_gguf(tmp_path / "same.gguf"))
    weights = exit_weights()
    with torch.inference_mode():
        states = theirs(input_ids=IDS[None, :90], output_hidden_states=True).hidden_states
        y = F.rms_norm(states[1][0], (HIDDEN,), weights["norm"], EPS)
        y = y + F.silu(y @ weights["into"].T) @ weights["out"].T
        own = y @ theirs.get_input_embeddings().weight[DRAFTED].T
        later = theirs.lm_head(theirs.model.norm(states[2][0]))
    first = fresh(model, IDS[:90], 1)
    second = fresh(model, IDS[:90], 2)
    assert (first[:, DRAFTED] - own).abs().max() < 0.05 * own.std()
    assert (second - later).abs().max() < 0.01 * later.std()
    assert torch.isneginf(first[:, 1::2]).all()


@pytest.mark.parametrize("split", SPLITS)
def test_the_last_exit_has_the_bits_of_the_model(model: SmallModel, split: tuple[int, ...]):
    plain = model.start()
    sessions = EarlyExits(model, split).open()
    for begin, end in ((0, 70), (70, 71), (71, 90)):
        for session in sessions:
            rows = session.forward(IDS[begin:end], min(3, end - begin))
        assert torch.equal(rows, plain.forward(IDS[begin:end], min(3, end - begin)))
    assert [session.length for session in sessions] == [90] * (len(split) + 1)


@pytest.mark.parametrize("split", SPLITS)
def test_a_text_that_exits_take_further_and_roll_back_stays_true(
    model: SmallModel, split: tuple[int, ...]
):
    """Random programs: any level reads on or forgets. Every row has the bits of a fresh start, all
    work is counted.
    """
    exits = EarlyExits(model, split)
    sessions = exits.open()
    for level, text, before, lengths in reads(sessions, Random(len(split)), 25, 12, VOCAB):
        tokens = torch.tensor(text[before[level] :])
        work = sum((one.work for one in sessions), Counter[str]())
        depths = list(zip((0, *exits.depths), exits.depths, before, strict=False))[: level + 1]
        computed = sum((to - since) * max(0, len(text) - length) for since, to, length in depths)
        rows = sessions[level].forward(tokens, len(tokens))
        done = sum((one.work for one in sessions), Counter[str]()) - work
        assert (done["computed"], done["heads"]) == (computed, len(tokens))
        assert [session.length for session in sessions] == lengths
        assert torch.equal(
            rows, fresh(model, torch.tensor(text), exits.depths[level])[-len(tokens) :]
        )


@pytest.mark.skipif(not NAMES, reason="no library is made for this processor")
def test_exits_have_the_same_bits_on_every_machine_here(
    folder: Path, monkeypatch: pytest.MonkeyPatch
):
    pytest.importorskip("wasmtime")
    rows = []
    for name in (Wasm.name, *NAMES):
        monkeypatch.setattr(
            machine, "usable", lambda name=name: [one for one in USABLE if one[1] == name]
        )
        there = with_exits(folder)
        assert there.engine.machine.name == name
        low, middle, top = EarlyExits(there, (1, 2)).open()
        rows.append(
            torch.cat(
                [s.forward(IDS[:30], 30) for s in (low, middle, top)] + [low.forward(IDS[30:31], 1)]
            )
        )
    assert all(torch.equal(rows[0], other) for other in rows[1:])


def test_an_exit_alone_forgets_in_all_its_layers(model: SmallModel):
    alone = EarlyExits(model, (1, 2)).models[1].start()
    other = torch.cat([IDS[:5], IDS[100:107]])
    alone.forward(IDS[:12], 1)
    alone.crop(5)
    assert torch.equal(alone.forward(other[5:], 7), fresh(model, other, 2)[5:])
    assert alone.work == counts(4, 12 * 2 + 7 * 2, 8)


def test_an_exit_describes_itself(model: SmallModel):
    low, same, whole = EarlyExits(model, (1, 2)).models
    assert (low.name, whole.name) == ("small, exit after 1 of 3 layers", "small")
    assert (low.drafted, same.drafted, whole.drafted) == (len(DRAFTED), None, None)
    layer = 2 * HIDDEN * (HIDDEN + HIDDEN // 3) + 3 * HIDDEN * INNER
    assert whole.parameters == model.parameters == same.parameters + layer + 2 * HIDDEN
    assert low.parameters == same.parameters - layer - 2 * HIDDEN + HIDDEN + 2 * 20 * HIDDEN
    assert parts_of(model).head_cost == VOCAB * HIDDEN / layer
    assert (parts_of(model).trained, default_exits(model)) == ((1,), (1,))


def test_what_cannot_be_is_refused(model: SmallModel):
    low, top = EarlyExits(model, (1,)).open()
    for exits in ((4,), (0,), (2, 1)):
        with pytest.raises(HsdError, match="choose them from shallow to deep, 1 to 3"):
            EarlyExits(model, exits)
    with pytest.raises(HsdError, match="choose a single draft"):
        top.forward(IDS[:1], 1, View(torch.ones(1, 1, dtype=torch.bool), torch.tensor([0])))
    low.forward(IDS[:3], 1)
    with pytest.raises(AssertionError, match="other tokens"):
        top.forward(IDS[1:4], 1)
    low.close()
    with pytest.raises(HsdError, match="was closed"):
        top.forward(IDS[:3], 1)


# In use


def test_one_trained_exit_drafts_for_the_whole_model(pair: Pair):
    trace = hsd.run(pair, "1 2 3", system="hispec", max_new_tokens=8)
    assert (trace.setup.options.levels.exits, trace.setup.options.levels.thresholds) == ([1], [1])
    assert [one.drafted for one in trace.setup.models] == [len(DRAFTED), None]
    assert not any("trained" in note for note in trace.setup.notes)
    with pytest.raises(HsdError, match="give one for each of the exits 1, or name other exits"):
        hsd.run(pair, "1 2 3", system="hispec", thresholds=(2, 4))


@pytest.mark.parametrize(
    "how", [{}, {"thresholds": (3,)}, {"exits": (1, 2)}, {"exits": (2, 3), "thresholds": (2, 3)}]
)
def test_greedy_text_is_the_plain_one(pair: Pair, how: dict[str, Any]):
    asked = {"temperature": 0.0, "max_new_tokens": 40}
    plain = hsd.run(pair, "1 2 3", system="plain", **asked)
    for trace in (True, False):
        assert (
            hsd.run(pair, "1 2 3", system="hispec", trace=trace, **asked, **how).tokens
            == plain.tokens
        )


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["tokenwise", "hsd"])
def test_three_tokens_follow_the_target(pair: Pair, rule: str):
    """Those that the exit cannot draft included; it drafts two at a time."""
    options = {
        "system": "hispec",
        "rule": rule,
        "thresholds": (2,),
        "top_k": 4,
        "max_new_tokens": 6,
    }
    counts = first_tokens(pair, 3, range(300), prompt="1 2 3", **options)
    assert chi_square_p(counts, token_law(pair, "1 2 3", 3, top_k=4)) > 1e-4


# Files

WRONG = [
    (
        f"exit-{LAYERS}",
        exit_weights(),
        f"exit of small from 'exit-{LAYERS}.safetensors': small has {LAYERS} layers: choose",
    ),
    (
        "exit-1",
        exit_weights(norm=torch.ones(16)),
        rf"norm has shape \(16,\), where \({HIDDEN},\) is needed",
    ),
    (
        "exit-1",
        exit_weights(out=torch.ones(HIDDEN, 5)),
        rf"out has shape \({HIDDEN}, 5\), where \({HIDDEN}, 20\)",
    ),
    ("exit-1", {"norm": torch.ones(HIDDEN)}, "the tensor into is missing"),
    (
        "exit-1",
        exit_weights(d2t=torch.tensor([7, 300])),
        f"d2t does not lead to 2 tokens of a vocabulary of {VOCAB}: choose",
    ),
    ("exit-1", exit_weights(d2t=torch.tensor([7, 6])), "d2t does not lead to 2 tokens"),
    (
        "exit-1",
        exit_weights(d2t=torch.zeros(3, dtype=torch.int64)),
        "drafts 3 tokens: train one for a multiple of 32$",
    ),
    ("exit-1", exit_weights(other=torch.ones(1)), "the tensor other is no part of the model"),
    (
        "exit-1",
        exit_weights(into=torch.full((20, HIDDEN), torch.nan)),
        "has numbers that are not finite",
    ),
    ("exit-1", None, "cannot load an exit of small from 'exit-1.safetensors': .+$"),
]


@pytest.mark.parametrize(("name", "weights", "message"), WRONG)
def test_a_bad_file_is_named_in_one_line(
    tmp_path: Path, folder: Path, name: str, weights: dict[str, Tensor] | None, message: str
):
    for file in folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    file = tmp_path / f"{name}.safetensors"
    if weights is None:
        file.write_bytes(file.read_bytes()[:-100])
    else:
        save_file(weights, file)
    with pytest.raises(HsdError, match=message) as error:
        with_exits(tmp_path)
    assert "\n" not in str(error.value)


def test_the_shipped_exit_knows_as_many_tokens_as_the_head():
    """It was trained beside the head before, whose tokens were chosen from less text; most are the
    same.
    """
    own = ASSETS / "smollm2" / "exit-4.safetensors"
    head = ASSETS / "smollm2" / "draft" / "model.safetensors"
    assert own.stat().st_size < 130_000
    exit, drafted = (load_file(file)["d2t"].long() + torch.arange(6144) for file in (own, head))
    assert len(exit.unique()) == len(drafted.unique()) == 6144
    assert torch.isin(exit, drafted).float().mean() > 0.7


@pytest.fixture(scope="module")
def real() -> Iterator[Pair]:
    if FILE is None:
        pytest.skip("python -m hsd fetch smollm2 has not been run here")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fetch, "fetched_file", lambda name: FILE)
        yield load_pair("smollm2")


@pytest.mark.parametrize("how", [{}, {"exits": (4, 12)}])
def test_the_real_model_drafts_from_its_fourth_layer(real: Pair, how: dict[str, Any]):
    assert default_exits(real.target) == parts_of(real.target).trained == (4,)
    asked = {"temperature": 0.0, "max_new_tokens": 16, "trace": False}
    prompt = "Tell me a story about a dog."
    plain = hsd.run(real, prompt, system="plain", **asked)
    drafted = hsd.run(replace(real, draft=real.target), prompt, system="hispec", **asked, **how)
    assert drafted.tokens == plain.tokens
    assert how or len(drafted.steps) < len(plain.steps)
