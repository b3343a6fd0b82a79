"""A head that begins with another one's numbers predicts the same tokens alike, and feeds back what
is as long.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from hsd.paths import ROOT

# The scripts there import each other, as they do when one is started.
sys.path.append(str(ROOT / "examples" / "reproduce" / "smollm2"))

from train_head import SCALE, Head, load, save, start_from

HIDDEN = 24
OLD = torch.tensor([0, 2, 3, 5, 8, 9])
NEW = torch.tensor([0, 1, 3, 4, 8, 9, 11])
SHARED = torch.tensor([0, 3, 8, 9])
CONFIG = SimpleNamespace(
    hidden_size=HIDDEN,
    intermediate_size=32,
    num_attention_heads=2,
    num_key_value_heads=1,
    vocab_size=12,
    rms_norm_eps=1e-5,
    rope_parameters={"rope_theta": 1e4},
)


def head(vocab: int, norm_output: bool) -> Head:
    made = Head(HIDDEN, 32, 2, 1, 3, 1e4, 1e-5, vocab, norm_output)
    with torch.no_grad():
        for number in made.parameters():
            number.copy_(torch.randn_like(number) * 0.3 + (1.7 if number.ndim == 1 else 0))
    return made


@pytest.fixture
def before(tmp_path: Path) -> Head:
    """The head that is in `tmp_path`, rounded as its file is."""
    torch.manual_seed(0)
    made = head(len(OLD), False)
    save(made, OLD, CONFIG, tmp_path)
    load(made, tmp_path)
    return made


@pytest.mark.parametrize("fed_normed", [False, True])
@torch.no_grad()
def test_shared_tokens_keep_their_logits_and_others_their_beginning(
    before: Head, tmp_path: Path, fed_normed: bool
):
    after = head(len(NEW), fed_normed)
    own = after.lm_head.clone()
    start_from(after, NEW, tmp_path)
    embedded = torch.randn(2, 5, HIDDEN)
    states = torch.randn(2, 5, 3, HIDDEN)
    (known,), (found,) = (one.unroll(embedded, states, 1) for one in (before, after))
    places = [[vocab.tolist().index(token) for token in SHARED.tolist()] for vocab in (OLD, NEW)]
    wanted, got = (
        one.logits(rows)[..., place]
        for one, rows, place in zip((before, after), (known, found), places, strict=True)
    )
    assert torch.allclose(got, wanted, atol=1e-4)
    added = [i for i, token in enumerate(NEW.tolist()) if token not in OLD.tolist()]
    size = float(before.norm.square().mean().sqrt())
    factor = SCALE / size if fed_normed else 1.0
    assert factor != pytest.approx(1.0, abs=0.1) or not fed_normed
    shared = [NEW.tolist().index(token) for token in SHARED.tolist()]
    # as they were; the rows of new tokens are as long on average
    kept = after.lm_head[shared] * factor
    assert torch.allclose(
        after.lm_head[added] * factor, own[added] * kept.norm() / own[shared].norm(), atol=1e-5
    )
    assert torch.allclose(after.norm, before.norm * factor, atol=1e-5)


@torch.no_grad()
def test_a_head_that_was_fed_back_normed_already_is_taken_up_as_it_is(tmp_path: Path):
    torch.manual_seed(1)
    made = head(len(OLD), True)
    save(made, OLD, CONFIG, tmp_path)
    after = head(len(OLD), True)
    start_from(after, OLD, tmp_path)
    for name, number in after.state_dict().items():
        assert torch.equal(number, made.state_dict()[name].half().float()), name
