"""Exits that were trained for a model whose layers stay as they are: from file to logits, and in use."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from joint_law import chi_square_p, first_tokens, token_law
from safetensors.torch import load_file, save_file
from small_models import bytes_tokenizer, save_deep
from torch import Tensor

import hsd
from hsd import HsdError, Pair, load_pair
from hsd.models.exits import EarlyExits, default_exits, trained_exits
from hsd.models.loading import fetch
from hsd.models.packed import packs
from hsd.paths import ASSETS

DRAFTED = torch.tensor([*range(32, 127), 256])
PROMPT = "Abc, de"
REAL = fetch.find("smollm2")  # every test has an empty home of its own
needs_packing = pytest.mark.skipif(not packs(), reason="this torch or processor has no FBGEMM")
WEIGHTS = [None, pytest.param("16bit", marks=needs_packing)]


def exit_weights(**instead: Tensor) -> dict[str, Tensor]:
    """Of a random exit for a target of `small_models.SHAPE`."""
    noise = torch.Generator().manual_seed(3)
    into, out = (0.5 * torch.randn(shape, generator=noise) for shape in ((4, 32), (32, 4)))
    offsets = (DRAFTED - torch.arange(len(DRAFTED))).to(torch.uint16)
    return {"norm": 1 + 0.1 * torch.arange(32) / 32, "into": into, "out": out, "d2t": offsets} | instead


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a random Llama with six layers, and an exit after two of them."""
    here = Path(save_deep(tmp_path_factory.mktemp("exits"), "smollm2", bytes_tokenizer()))
    save_file(exit_weights(), here / "exit-2.safetensors")
    return here


def load(folder: Path, quantize: str | None = None) -> Pair:
    """The model as its own draft."""
    return load_pair(target=folder, draft=folder, device="cpu", dtype="float32", quantize=quantize)


@pytest.mark.parametrize("quantize", WEIGHTS)
def test_a_trained_exit_is_its_own_arithmetic(folder: Path, quantize: str | None):
    """Norm, adapter and rows of the embedding, and no chance for what it does not know; other depths are as before."""
    model: Any = load(folder, quantize).target
    ids, weights = torch.arange(60, 80), exit_weights()
    own, other, _ = EarlyExits(model, (2, 4)).open()
    logits, deeper = own.forward(ids, 20), other.forward(ids, 20)
    with torch.inference_mode():
        states = model.model(input_ids=ids[None], output_hidden_states=True).hidden_states
        y = F.rms_norm(states[2][0], (32,), weights["norm"], model.model.config.rms_norm_eps)
        y = y + F.silu(y @ weights["into"].T) @ weights["out"].T
        torch.testing.assert_close(logits[:, DRAFTED], y @ model.embedding[DRAFTED].T, atol=0.02, rtol=1e-3)
        torch.testing.assert_close(deeper, model.model.lm_head(model.model.model.norm(states[4]))[0], atol=1e-3, rtol=0)
    unknown = torch.ones(model.vocab_size, dtype=torch.bool)
    unknown[DRAFTED] = False
    assert torch.isneginf(logits[:, unknown]).all()


def test_one_trained_exit_drafts_for_the_whole_model(folder: Path):
    pair = load(folder)
    assert (trained_exits(pair.target), default_exits(pair.target)) == ((2,), (2,))
    trace = hsd.run(pair, PROMPT, system="hispec", max_new_tokens=8)
    assert (trace.setup.options.levels.exits, trace.setup.options.levels.thresholds) == ([2], [1])
    assert [model.drafted for model in trace.setup.models] == [len(DRAFTED), None]
    assert not any("trained" in note for note in trace.setup.notes)
    with pytest.raises(HsdError, match="give one for each of the exits 2, or name other exits"):
        hsd.run(pair, PROMPT, system="hispec", thresholds=(2, 4))


@pytest.mark.parametrize("quantize", WEIGHTS)
@pytest.mark.parametrize("how", [{}, {"thresholds": (3,)}, {"exits": (2, 4)}, {"exits": (1, 5), "thresholds": (2, 3)}])
def test_greedy_text_is_the_plain_one(folder: Path, quantize: str | None, how: dict[str, Any]):
    pair, asked = load(folder, quantize), {"temperature": 0.0, "max_new_tokens": 40}
    plain = hsd.run(pair, PROMPT, system="plain", **asked)
    assert hsd.run(pair, PROMPT, system="hispec", **asked, **how).tokens == plain.tokens


@pytest.mark.slow
@pytest.mark.parametrize("rule", [pytest.param("tokenwise", marks=pytest.mark.slow), "hsd"])
def test_three_tokens_follow_the_target(folder: Path, rule: str):
    """Those that the exit cannot draft included; it drafts two at a time."""
    pair = load(folder)
    options = {"system": "hispec", "rule": rule, "thresholds": (2,), "top_k": 4, "max_new_tokens": 6}
    counts = first_tokens(pair, 3, range(300), prompt=PROMPT, **options)
    assert chi_square_p(counts, token_law(pair, PROMPT, 3, top_k=4)) > 1e-4


@pytest.mark.parametrize(
    ("name", "weights", "message"),
    [
        ("exit-6", exit_weights(), "^exit-6.safetensors is for another target: .* has 6 layers$"),
        ("exit-2", exit_weights(norm=torch.ones(16)), r"another target: norm is \(16,\), where \(32,\) is needed$"),
        (
            "exit-2",
            exit_weights(out=torch.ones(32, 5)),
            r"another target: out is \(32, 5\), where \(32, 4\) is needed$",
        ),
        ("exit-2", {"norm": torch.ones(32)}, r"another target: into is missing, where \(0, 32\) is needed$"),
        ("exit-2", exit_weights(d2t=torch.tensor([7, 300])), "another target: d2t leads out of a vocabulary of 257$"),
        ("exit-2", exit_weights(d2t=torch.tensor([7, 6])), "another target: d2t leads out of a vocabulary of 257$"),
        ("exit-2", None, "^exit-2.safetensors cannot be read: .+$"),
    ],
)
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
        load(tmp_path)
    assert "\n" not in str(error.value)


def test_the_shipped_exit_knows_as_many_tokens_as_the_head():
    """It was trained beside the head before, whose tokens were chosen from less text; most are the same."""
    own, head = ASSETS / "smollm2" / "exit-4.safetensors", ASSETS / "smollm2" / "draft" / "model.safetensors"
    assert own.stat().st_size < 130_000
    exit, drafted = (load_file(file)["d2t"].long() + torch.arange(6144) for file in (own, head))
    assert len(exit.unique()) == len(drafted.unique()) == 6144
    assert torch.isin(exit, drafted).float().mean() > 0.7


def test_the_real_model_drafts_from_its_fourth_layer(monkeypatch: pytest.MonkeyPatch):
    if REAL is None:
        pytest.skip("python -m hsd fetch smollm2 has not been run here")
    monkeypatch.setattr(fetch, "find", lambda name: REAL)
    pair = load_pair("smollm2", device="cpu")
    assert default_exits(pair.target) == trained_exits(pair.target) == (4,)
    asked = {"temperature": 0.0, "max_new_tokens": 40, "trace": False}
    prompt = "Tell me a story about a dog."
    plain, drafted = (hsd.run(pair, prompt, system=system, **asked) for system in ("plain", "hispec"))
    assert drafted.tokens == plain.tokens
    assert len(drafted.steps) < len(plain.steps)
