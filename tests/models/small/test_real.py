"""The portable engine on the real model's published file: what it writes, and that it is the model
that torch reads.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest
import torch
from small_gguf import tree_view
from torch import Tensor

import hsd
from hsd.models.loading import fetch, load_pair
from hsd.models.loading.portable import load_small, load_small_head
from hsd.models.small.gguf import read_gguf
from hsd.models.small.head import SmallHead
from hsd.models.small.model import SmallModel
from hsd.paths import ASSETS

FILE = fetch.fetched_file("smollm2")  # every test has an empty home of its own
HEAD = ASSETS / "smollm2" / "draft"
pytest.importorskip("wasmtime")
pytestmark = pytest.mark.skipif(FILE is None, reason="run python -m hsd fetch smollm2")
FOLDER = FILE.with_suffix("") if FILE else Path("none")
needs_converted = pytest.mark.skipif(
    not FOLDER.is_dir(), reason="run examples/reproduce/converted.py"
)
IDS = torch.randint(0, 49_152, (200,), generator=torch.Generator().manual_seed(7))
CHAT = [  # "What is the capital of France?" in the chat template
    1,
    9690,
    198,
    2683,
    359,
    253,
    5356,
    5646,
    11173,
    3365,
    3511,
    308,
    34519,
    28,
    7018,
    411,
    407,
    19712,
    8182,
    2,
    198,
    1,
    4093,
    198,
    1780,
    314,
    260,
    3575,
    282,
    4649,
    47,
    2,
    198,
    1,
    520,
    9531,
    198,
]
# as x86 and WebAssembly gave them
BITS = ["305c3461ba8c3677", "8e57c5adb00375ab", "3231770cee56d368"]
PARIS = [504, 3575, 282, 4649, 314, 7042, 30, 2]


@pytest.fixture(scope="module")
def model() -> SmallModel:
    assert FILE is not None
    return load_small(read_gguf(FILE), "SmolLM2-135M-Instruct", None, (4, 16, 28))


@pytest.fixture(scope="module")
def head(model: SmallModel) -> SmallHead:
    return load_small_head(HEAD, model, "smollm2 draft", None)


def divergence(p: Tensor, q: Tensor) -> Tensor:
    """KL of rows of logits."""
    p, q = (rows.double().log_softmax(-1) for rows in (p, q))
    return (p.exp() * (p - q)).nan_to_num().sum(-1)


def test_it_knows_the_capital_of_france(model: SmallModel):
    session = model.start()
    tokens = list[int]()
    row = session.forward(torch.tensor(CHAT), 1)
    while not tokens or (tokens[-1] != 2 and len(tokens) < 20):
        tokens.append(int(row[-1].argmax()))
        row = session.forward(torch.tensor(tokens[-1:]), 1)
    assert tokens == PARIS


def test_the_bits_are_those_of_every_other_machine(model: SmallModel, head: SmallHead):
    target = model.start()
    draft = head.start()
    draft.follow(target)
    rows = [
        target.forward(torch.tensor(CHAT), len(CHAT)),
        draft.forward(torch.tensor([*CHAT, PARIS[0]]), 2),
    ]
    rows.append(draft.forward(torch.tensor(PARIS[1:2]), 1))  # a guess, on the head's own output
    assert not any(row.isnan().any() for row in rows)
    assert [sha256(row.numpy().tobytes()).hexdigest()[:16] for row in rows] == BITS


def test_rows_have_the_same_bits_alone_in_drafts_and_in_a_tree(model: SmallModel):
    session = model.start()
    alone = torch.cat([session.forward(IDS[i : i + 1], 1) for i in range(24)])
    for n in range(2, 9):
        session.crop(0)
        rows = torch.cat(
            [session.forward(IDS[i : min(i + n, 24)], min(n, 24 - i)) for i in range(0, 24, n)]
        )
        assert torch.equal(rows, alone), n
    session.crop(16)
    tokens = torch.stack([IDS[16], IDS[99], IDS[17], IDS[98], IDS[18]])
    rows = session.forward(tokens, 5, tree_view(16, [-1, -1, 0, 1, 2]))
    assert torch.equal(rows[[0, 2, 4]], alone[16:19])


@needs_converted
def test_it_is_the_model_and_the_head_that_torch_reads(model: SmallModel, head: SmallHead):
    pair = load_pair(target=FOLDER, draft=HEAD, device="cpu")
    text = (Path(__file__).parents[3] / "README.md").read_text(encoding="utf-8")[:2000]
    ids = torch.tensor(pair.codec.tokenizer(text)["input_ids"][:200])  # type: ignore[attr-defined]
    targets = [model.start(), pair.target.start()]
    heads = [head.start(), pair.draft.start()]
    for target, draft in zip(targets, heads, strict=True):
        draft.follow(target)  # type: ignore[attr-defined]
    ours, theirs = (session.forward(ids, len(ids)) for session in targets)
    assert divergence(theirs, ours).mean() < 1e-5
    assert (ours.argmax(-1) == theirs.argmax(-1)).double().mean() > 0.985
    drafted = [session.forward(ids, len(ids))[:, head.vocab] for session in heads]
    assert divergence(drafted[1], drafted[0]).mean() < 3e-3
    guessed = [session.forward(ids[:1], 1)[:, head.vocab] for session in heads]
    assert divergence(guessed[1], guessed[0]).mean() < 1e-2


def test_the_fetched_pair_runs_on_this_engine(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(fetch, "fetched_file", lambda name: FILE)
    assert load_pair("smollm2").target.portable  # type: ignore[attr-defined]
    trace = hsd.run(
        load_pair("smollm2", device="cpu"), "The capital of France is", max_new_tokens=2
    )
    assert (trace.setup.options.engine, trace.setup.models[-1].dtype) == (
        "portable",
        "int16, 4bit weights",
    )
