"""A head that is stored in 8 bits computes, by the portable engine, what it computed before, to the
last bit.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from hsd.models.loading.heads import _tensors
from hsd.models.loading.tensors import in_full
from hsd.paths import ROOT

sys.path.insert(0, str(ROOT / "examples" / "reproduce" / "smollm2"))

import pack_head


def test_blocks_hold_the_largest_weight_exactly_and_the_others_in_127ths_of_it(tmp_path: Path):
    torch.manual_seed(0)
    held = torch.randn(32, 64).half()
    held[3] = 0
    back = in_full({"fc.weight": pack_head.in_blocks(held)})["fc.weight"]
    parts = held.float().unflatten(-1, (-1, 32))
    stored = back.unflatten(-1, (-1, 32))
    most = parts.abs().amax(-1)
    assert torch.equal(stored.abs().amax(-1), most)
    assert ((stored - parts).abs() <= most[..., None] / 254 * 1.001).all()
    # as an engine packs it again
    assert torch.equal(pack_head.in_blocks(back), pack_head.in_blocks(held))
    save_file({"fc.weight": pack_head.in_blocks(held)}, tmp_path / "model.safetensors")
    assert torch.equal(_tensors(tmp_path / "model.safetensors")["fc.weight"], back)


def test_a_file_is_packed_once_and_stays_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    torch.manual_seed(1)
    file = tmp_path / "model.safetensors"
    weights = {"fc.weight": torch.randn(32, 96).half(), "norm.weight": torch.ones(96).half()}
    save_file(
        weights
        | {"d2t": torch.zeros(32, dtype=torch.int64), "t2d": torch.ones(32, dtype=torch.bool)},
        file,
    )
    monkeypatch.setattr(sys, "argv", ["pack_head.py", str(tmp_path)])
    pack_head.main()
    once = load_file(file)
    assert once.keys() == {"fc.weight", "norm.weight", "d2t"}
    assert (once["fc.weight"].dtype, once["norm.weight"].dtype) == (torch.uint8, torch.float16)
    pack_head.main()
    assert all(torch.equal(held, once[name]) for name, held in load_file(file).items())


def test_bytes_that_are_no_blocks_are_refused():
    with pytest.raises(RuntimeError):
        in_full({"fc.weight": torch.zeros(32, 60, dtype=torch.uint8)})
