"""Heads in the layout in which EAGLE-3 heads are published: against their arithmetic written out,
and in use.
"""

from __future__ import annotations

import json
import math
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkdtemp
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from huggingface_hub import constants
from huggingface_hub.errors import EntryNotFoundError
from loops import for_each, some
from small_models import bytes_tokenizer, head_weights, publish_head, save_deep
from torch import Tensor
from transformers import AutoModelForCausalLM

import hsd
from hsd import HsdError, Pair, load_pair
from hsd.models.causal import CausalModel
from hsd.models.head import HeadModel, HeadSession
from hsd.models.loading import hub, memory
from hsd.models.loading.heads import is_head, load_head, size
from hsd.models.loading.hub import find_source
from hsd.models.loading.memory import Sizes, of_config
from hsd.models.loading.model import load_config
from hsd.models.loading.registry import PAIRS, NamedPair

ROWS = 257
LAYERS = 8
DRAFTED = [*range(32, 127), 256]
PROMPT = "Abc, de"
BIN = "pytorch_model.bin"
PARTS = "pytorch_model.bin.index.json"
VLLM = "Eagle3LlamaForCausalLM"  # another name for the same
LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}
# of EAGLE-3.1
NORMS = {f"model.fc_norm.{i}.weight": torch.linspace(0.5 + i / 4, 1.5, 32) for i in range(3)}
OWN_ROWS = torch.randn(ROWS, 32, generator=torch.Generator().manual_seed(8))


@dataclass(frozen=True)
class Case:
    """A target, a head for it, and what its file leaves to be known: after how many layers it
    reads, how it turns.
    """

    target: str
    published: dict[str, Any] = field(default_factory=dict)
    taps: tuple[int, ...] = (2, 4, 5)
    theta: float = 10_000.0
    llama3: bool = False


def biases() -> dict[str, Tensor]:
    weights = head_weights(ROWS, None, 12, 3)
    names = [
        name.removesuffix(".weight") for name in weights if "_proj" in name or name == "fc.weight"
    ]
    return {f"{name}.bias": torch.randn(len(weights[f"{name}.weight"])) for name in names}


CASES = {
    "reduced": Case("llama", {"vocab": DRAFTED}),
    "bin": Case("qwen2", {"vocab": DRAFTED, "kind": BIN, "architectures": ["LlamaForCausalLM"]}),
    "every token": Case(
        "qwen3", {"kind": BIN, "rope_theta": 1e6, "architectures": [VLLM]}, theta=1e6
    ),
    "in parts": Case(
        "qwen3", {"vocab": DRAFTED, "kind": PARTS, "rope_scaling": None, "num_hidden_layers": 36}
    ),
    "safe parts": Case(
        "llama", {"vocab": DRAFTED, "kind": "model.safetensors.index.json", "draft_vocab_size": 96}
    ),
    "outputs named": Case(
        "llama",
        {"vocab": DRAFTED, "eagle_config": {"eagle_aux_hidden_state_layer_ids": [1, 2, 6]}},
        (2, 3, 7),
    ),
    "inputs named": Case(
        "llama", {"vocab": DRAFTED, "eagle_aux_hidden_state_layer_ids": [2, 3, 6]}, (2, 3, 6)
    ),
    "scaled positions": Case(
        "llama",
        {"vocab": DRAFTED, "rope_scaling": LLAMA3, "rope_theta": 5e5},
        theta=5e5,
        llama3=True,
    ),
    "new positions": Case(
        "llama", {"rope_parameters": LLAMA3 | {"rope_theta": 5e5}}, theta=5e5, llama3=True
    ),
    "biases": Case("qwen3", {"vocab": DRAFTED, "kind": BIN, "more": biases()}),
    "3.1": Case("llama", {"vocab": DRAFTED, "norm_output": True, "fc_norm": True, "more": NORMS}),
    "fed back normed": Case("qwen3", {"vocab": DRAFTED, "kind": BIN, "norm_output": True}),
    "own embeddings": Case("qwen2", {"vocab": DRAFTED, "more": {"embed_tokens.weight": OWN_ROWS}}),
}


@pytest.fixture(scope="module")
def targets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    here = tmp_path_factory.mktemp("targets")
    return {
        kind: save_deep(here / kind, kind, bytes_tokenizer(), LAYERS)
        for kind in ("llama", "qwen2", "qwen3")
    }


def published(folder: Path, target: str, **how: Any) -> Pair:
    head = publish_head(folder, ROWS, **how)
    return load_pair(target=target, draft=head, device="cpu", dtype="float32")


def written_out(case: Case, target: str, ids: list[int], known: int) -> Tensor:
    """The head's logits after each of `ids` from `known` on, in plain arithmetic, from the
    library's hidden states.

    The target has read `known` tokens. The head reads the second token with what the target knew at
    the first, and so on; from then on with what came out of itself.
    """
    how = {key: case.published[key] for key in ("vocab", "more") if key in case.published}
    w = head_weights(ROWS, how.get("vocab"), 12, 3) | how.get("more", {})
    model = AutoModelForCausalLM.from_pretrained(target)
    with torch.no_grad():
        states = model(torch.tensor([ids[:known]]), output_hidden_states=True).hidden_states
    embeddings = w.get("embed_tokens.weight", model.get_input_embeddings().weight.detach())
    known_at = [states[tap][0] for tap in case.taps]
    if case.published.get("fc_norm"):
        weights_of = [w[f"model.fc_norm.{i}.weight"] for i in range(len(known_at))]
        known_at = [
            torch.stack([normed(row, weight) for row in state])
            for state, weight in zip(known_at, weights_of, strict=True)
        ]
    knew = torch.cat(known_at, -1)
    keys = []
    values = []
    out = []
    logits = []

    def times(name: str, x: Tensor) -> Tensor:
        return w[f"{name}.weight"] @ x + w.get(f"{name}.bias", torch.zeros(()))

    for place in range(1, len(ids)):
        hidden = times("fc", knew[place - 1]) if place <= known else out[-1]
        if place > known and case.published.get("norm_output"):
            hidden = normed(hidden, w["norm.weight"])
        embedded = normed(embeddings[ids[place]], w["midlayer.input_layernorm.weight"])
        pre = torch.cat([embedded, normed(hidden, w["midlayer.hidden_norm.weight"])])
        q, k, v = (times(f"midlayer.self_attn.{name}_proj", pre).view(-1, 12) for name in "qkv")
        keys.append(turned(k, place, case))
        values.append(v)
        mixed = []
        for number, query in enumerate(turned(q, place, case)):
            scores = torch.stack([query @ key[number // 2] for key in keys]) / 12**0.5
            mixed.append(scores.softmax(0) @ torch.stack([value[number // 2] for value in values]))
        x = hidden + times("midlayer.self_attn.o_proj", torch.cat(mixed))
        y = normed(x, w["midlayer.post_attention_layernorm.weight"])
        gate, up = (times(f"midlayer.mlp.{name}_proj", y) for name in ("gate", "up"))
        out.append(x + times("midlayer.mlp.down_proj", F.silu(gate) * up))
        logits.append(w["lm_head.weight"] @ normed(out[-1], w["norm.weight"]))
    return torch.stack(logits[known - 1 :])


def normed(x: Tensor, weight: Tensor) -> Tensor:
    return x / (x.pow(2).mean() + 1e-5).sqrt() * weight


def turned(heads: Tensor, place: int, case: Case) -> Tensor:
    """Each pair of numbers (i, i + 6) as a complex number, turned."""
    pairs = torch.complex(heads[:, :6], heads[:, 6:])
    rates = [speed(case.theta ** (-2 * i / 12), case.llama3) for i in range(6)]
    angles = torch.tensor([place * rate for rate in rates])
    done = pairs * torch.polar(torch.ones(6), angles)
    return torch.cat([done.real, done.imag], 1)


def speed(rate: float, llama3: bool) -> float:
    """Of Llama 3: as it is where a turn takes few tokens, an eighth where it takes many, and a
    mixture between.
    """
    turns = 64 * rate / (2 * math.pi)  # in the text that it was first trained on
    if not llama3 or turns > 4:
        return rate
    kept = max(0.0, (turns - 1) / 3)
    return kept * rate + (1 - kept) * rate / 8


@pytest.mark.parametrize("name", CASES)
def test_a_published_head_is_its_arithmetic(tmp_path: Path, targets: dict[str, str], name: str):
    """A text that the target knows, then four tokens drafted one after another."""
    case = CASES[name]
    pair = published(tmp_path, targets[case.target], **case.published)
    ids = [65, 98, 99, 44, 32, 100, 101, 45, 99, 66, 70]
    known = 6
    target = pair.target.start()
    head = pair.draft.start()
    assert isinstance(head, HeadSession)
    head.follow(target)
    target.forward(torch.tensor(ids[:known]), 1)
    told = [head.forward(torch.tensor(ids[: known + 1]), 1)]
    told += [head.forward(torch.tensor([token]), 1) for token in ids[known + 1 :]]
    expected = written_out(case, targets[case.target], ids, known)
    drafted = case.published.get("vocab") or list(range(ROWS))
    assert len(expected) == 5
    torch.testing.assert_close(torch.cat(told)[:, drafted], expected, rtol=1e-3, atol=1e-3)
    assert (torch.cat(told) > -torch.inf).sum() == len(drafted) * len(expected)


@pytest.mark.parametrize("name", some(["reduced", "bin", "every token"], 3))
def test_text_drafted_by_a_published_head_is_the_plain_text(
    tmp_path: Path, targets: dict[str, str], name: str
):
    """As a chain and as a tree; and the other way round where the target gives too little."""
    case = CASES[name]
    head = publish_head(tmp_path, ROWS, **case.published)
    pair = load_pair(target=targets[case.target], draft=head, device="cpu", dtype="float32")
    asked = {"temperature": 0.0, "max_new_tokens": 16}
    plain = hsd.run(pair, PROMPT, system="plain", **asked)
    chain = hsd.run(pair, PROMPT, rule="hsd", gamma=3, **asked)
    tree = hsd.run(pair, PROMPT, rule="one-hot", tree="grown", drafts=3, gamma=3, **asked)
    assert chain.result.text == tree.result.text == plain.result.text
    assert len(plain.tokens) > 8
    sampled = hsd.run(pair, "A", rule="hsd", gamma=3, temperature=1.0, max_new_tokens=16)
    assert hsd.rerun(pair, sampled).tokens == sampled.tokens


def test_the_target_s_embeddings_are_kept_once(tmp_path: Path, targets: dict[str, str]):
    """A file may hold them too, rounded to 16 bits."""
    rows = (
        AutoModelForCausalLM.from_pretrained(targets["llama"])
        .get_input_embeddings()
        .weight.detach()
    )
    pair = published(
        tmp_path / "same", targets["llama"], more={"embed_tokens.weight": rows.half().clone()}
    )
    assert isinstance(pair.draft, HeadModel)
    assert pair.draft.embedding is not None
    assert pair.draft.embedding.data_ptr() == pair.draft.target.embedding.data_ptr()
    own = published(tmp_path / "own", targets["llama"], more={"embed_tokens.weight": OWN_ROWS})
    assert own.draft.parameters == pair.draft.parameters + ROWS * 32


def test_names_are_read_as_others_write_them(tmp_path: Path, targets: dict[str, str]):
    first = published(tmp_path / "first", targets["llama"], vocab=DRAFTED)
    weights = head_weights(ROWS, DRAFTED, 12, 3)
    named = {
        f"model.{name.replace('midlayer.', 'layers.0.')}": weight
        for name, weight in weights.items()
    }
    second = published(
        tmp_path / "second", targets["llama"], vocab=DRAFTED, more=named, without=tuple(weights)
    )
    runs = [
        hsd.run(pair, PROMPT, gamma=3, temperature=1.0, max_new_tokens=20)
        for pair in (first, second)
    ]
    assert [step.tokens for step in runs[0].steps] == [step.tokens for step in runs[1].steps]


# What cannot work, in one line


def cut(folder: Path) -> None:
    file = next(file for file in folder.iterdir() if file.suffix in (".bin", ".safetensors"))
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def with_code(folder: Path) -> None:
    torch.save({"fc.weight": torch.ones(2), "more": SimpleNamespace(of="it")}, folder / BIN)


def with_settings(folder: Path) -> None:
    torch.save({"fc.weight": torch.ones(2), "epoch": 3}, folder / BIN)


def one_part_less(folder: Path) -> None:
    (folder / "pytorch_model-00002-of-00002.bin").unlink()


def no_weights(folder: Path) -> None:
    (folder / "model.safetensors").unlink()


BYTES = f"of a vocabulary of {ROWS}"
OUTSIDE = torch.tensor(DRAFTED) - torch.arange(len(DRAFTED)) + 200
SECOND = {"layers.1.mlp.up_proj.weight": torch.ones(48, 32)}
QUERY_NORM = {"midlayer.self_attn.q_norm.weight": torch.ones(12)}
BAD: dict[str, tuple[dict[str, Any], Any, str]] = {
    "hidden size": (
        {"hidden_size": 64},
        None,
        "its hidden size is 64, that of .* [0-9]+: choose the target",
    ),
    "vocabulary": ({"vocab_size": 900}, None, "it knows 900 tokens, .* [0-9,]+: choose the target"),
    "few layers": (
        {"eagle_aux_hidden_state_layer_ids": [2, 5, 9]},
        None,
        "after layers 2, 5, 9, and .* has 8: choose",
    ),
    "last layer": (
        {"eagle_aux_hidden_state_layer_ids": [1, 4, 7]},
        None,
        "after layers 2, 5, 8, and .* has 8: choose",
    ),
    "no weights": (
        {},
        no_weights,
        "it has no weights, neither model.safetensors nor pytorch_model.bin",
    ),
    "cut bin": ({"kind": BIN}, cut, "pytorch_model.bin is cut short"),
    "cut": ({}, cut, "SafetensorError"),
    "code": (
        {"kind": BIN},
        with_code,
        "pytorch_model.bin holds other things than tensors, which are not run",
    ),
    "settings": ({"kind": BIN}, with_settings, "pytorch_model.bin holds other things than tensors"),
    "a part": (
        {"kind": PARTS},
        one_part_less,
        "the file pytorch_model-00002-of-00002.bin is missing",
    ),
    "d2t": (
        {"vocab": DRAFTED, "more": {"d2t": OUTSIDE}},
        None,
        f"d2t does not lead to 96 tokens {BYTES}",
    ),
    "d2t twice": (
        {"vocab": DRAFTED, "more": {"d2t": -torch.arange(96)}},
        None,
        "d2t does not lead to 96 tokens",
    ),
    "no d2t": ({"vocab": DRAFTED, "without": ("d2t",)}, None, "the tensor d2t is missing"),
    "shape": (
        {"more": {"fc.weight": torch.ones(32, 64)}},
        None,
        r"fc.weight has shape \(32, 64\), where \(32, 96\)",
    ),
    "heads": (
        {"num_key_value_heads": 1},
        None,
        r"self_attn.k_proj.weight has shape \(24, 64\), where \(12, 64\)",
    ),
    "norms of states": ({"fc_norm": True}, None, "the tensor fc_norm.0.weight is missing"),
    "missing": ({"without": ("norm.weight",)}, None, "the tensor norm.weight is missing"),
    "no last layer": (
        {"without": ("lm_head.weight",)},
        None,
        "the tensor lm_head.weight is missing",
    ),
    "nan": (
        {"more": {"norm.weight": torch.full((32,), torch.nan)}},
        None,
        "norm.weight has numbers that are not fin",
    ),
    "norms": ({"more": QUERY_NORM}, None, "q_norm.weight is no part of the model"),
    "embeddings": (
        {
            "vocab_size": 200,
            "vocab": DRAFTED,
            "more": {"embed_tokens.weight": OWN_ROWS[:200].clone()},
        },
        None,
        "its own embeddings are of 200 tokens, and .* has 257",
    ),
    "several layers": (
        {"more": SECOND},
        None,
        r"it has several layers \(layers.1.mlp.up_proj.weight\)",
    ),
    "architecture": (
        {"architectures": ["Eagle3DeepseekV2ForCausalLM"]},
        None,
        "its architecture is Eagle3Deepseek",
    ),
    "speculators": (
        {"architectures": ["Eagle3Speculator"], "speculators_model_type": "eagle3"},
        None,
        "its architecture is Eagle3Speculator, which is not supported",
    ),
    "another form": (
        {"norm_before_residual": True},
        None,
        "norm_before_residual in its config.json makes",
    ),
    "activation": ({"hidden_act": "gelu"}, None, "the activation 'gelu'"),
    "positions": (
        {"rope_scaling": {"rope_type": "dynamic", "factor": 2.0}},
        None,
        "positions of the kind 'dynamic'",
    ),
    "untold": (
        {"num_attention_heads": None},
        None,
        "its config.json gives None as num_attention_heads",
    ),
}


@for_each("name", BAD, every=2)
def test_a_head_that_cannot_work_is_refused_in_one_line(
    tmp_path: Path, targets: dict[str, str], name: str
):
    how, harm, message = BAD[name]
    folder = publish_head(tmp_path / name, ROWS, **how)
    if harm:
        harm(Path(folder))
    with pytest.raises(HsdError, match=message) as raised:
        load_pair(target=targets["llama"], draft=folder, device="cpu", dtype="float32")
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 400


@pytest.fixture(scope="module")
def llama(targets: dict[str, str]) -> CausalModel:
    return CausalModel(AutoModelForCausalLM.from_pretrained(targets["llama"]), "target")


ENTRIES = json.loads((Path(publish_head(Path(mkdtemp()), ROWS)) / "config.json").read_text())


@pytest.mark.parametrize("entry", [*ENTRIES, "rope_theta", "rope_scaling", "eagle_config"])
def test_whatever_a_configuration_says_is_one_line_at_most(
    tmp_path: Path, llama: CausalModel, entry: str
):
    for number, value in enumerate(
        (None, "x", "", -1, 0, 1.5, 10**12, [], [1], {}, {"rope_type": "x"}, True)
    ):
        source = find_source(publish_head(tmp_path / str(number), ROWS, **{entry: value}))
        if not is_head(source):
            continue
        size(source)
        message = ""
        try:
            load_head(source, llama, "head")
        except HsdError as error:
            message = str(error)
        assert "\n" not in message
        assert len(message) < 400


def test_a_target_with_too_few_layers_is_refused(tmp_path: Path):
    target = save_deep(tmp_path / "target", "llama", bytes_tokenizer(), 6)
    with pytest.raises(HsdError, match="after layers 2, 3, 3, and target has 6: choose"):
        published(tmp_path / "head", target)


# From the Hub, for which a folder stands here


@dataclass
class Stand:
    """What was asked of the Hub, and what it has."""

    has: dict[str, Path]
    asked: list[str] = field(default_factory=list)


@pytest.fixture
def online(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stand:
    stand = Stand({})

    def download(name: str, file: str, **_: Any) -> str:
        stand.asked.append(file)
        if name not in stand.has or not (stand.has[name] / file).is_file():
            raise EntryNotFoundError(f"404: {file}")
        here = tmp_path / "cache" / name.replace("/", "--") / "snapshots" / ("c0ffee" * 7)[:40]
        here.mkdir(parents=True, exist_ok=True)
        return shutil.copy(stand.has[name] / file, here / file)

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(hub.HfApi, "model_info", lambda *_, **__: SimpleNamespace(safetensors=None))
    monkeypatch.setattr(hub, "hf_hub_download", download)
    return stand


def test_a_head_on_the_hub_is_known_by_its_configuration_alone(online: Stand, tmp_path: Path):
    online.has["someone/head"] = Path(publish_head(tmp_path / "head", ROWS))
    assert is_head(find_source("someone/head"))
    assert online.asked == ["config.json"]
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text('{"architectures": ["LlamaForCausalLM"]}')
    online.has["someone/model"] = tmp_path / "model"
    assert not is_head(find_source("someone/model"))
    assert not is_head(find_source("someone/nothing"))


def test_only_what_is_needed_is_fetched(online: Stand, tmp_path: Path, targets: dict[str, str]):
    source = Path(publish_head(tmp_path / "head", ROWS, DRAFTED, PARTS))
    (source / "training_state.pt").write_bytes(b"large")
    online.has["someone/head"] = source
    pair = load_pair(target=targets["qwen3"], draft="someone/head", device="cpu", dtype="float32")
    parts = [f"pytorch_model-0000{i}-of-00002.bin" for i in (1, 2)]
    got = [name for name in online.asked if (source / name).is_file()]
    assert sorted(set(got)) == sorted(["config.json", PARTS, *parts])
    assert got.count(parts[0]) == got.count(parts[1]) == 1
    assert pair.draft.name == "someone/head"
    assert pair.draft.revision == ("c0ffee" * 7)[:40]
    text = hsd.run(pair, PROMPT, temperature=0.0, max_new_tokens=12).result.text
    assert (
        text
        == hsd.run(pair, PROMPT, system="plain", temperature=0.0, max_new_tokens=12).result.text
    )


def test_a_pair_with_a_head_has_a_name(
    online: Stand, tmp_path: Path, targets: dict[str, str], monkeypatch: pytest.MonkeyPatch
):
    online.has["someone/head"] = Path(publish_head(tmp_path / "head", ROWS, DRAFTED))
    source = find_source("someone/head")
    for model, sizes in {
        targets["llama"]: of_config(load_config(find_source(targets["llama"]))),
        source.name: size(source),
    }.items():
        monkeypatch.setitem(memory.SIZES, model, sizes)
    named = NamedPair(
        "small-eagle3", targets["llama"], "someone/head", "tests", "licence not confirmed"
    )
    monkeypatch.setitem(PAIRS, "small-eagle3", named)
    pair = load_pair("small-eagle3", device="cpu", dtype="float32")
    assert isinstance(pair.draft, HeadModel)
    assert "an EAGLE-3 head by someone (licence not confirmed)" in pair.note


def test_what_is_not_on_this_machine_is_told_without_a_connection(
    tmp_path: Path, targets: dict[str, str], monkeypatch: pytest.MonkeyPatch
):
    """The configuration is in the cache, and the weights are not."""
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    commit = "ab" * 20
    place = tmp_path / "models--someone--head"
    folder = Path(publish_head(place / "snapshots" / commit, ROWS))
    (place / "refs").mkdir()
    (place / "refs" / "main").write_text(commit)
    pair = load_pair(target=targets["llama"], draft="someone/head", device="cpu", dtype="float32")
    assert pair.draft.revision == commit
    (folder / "model.safetensors").unlink()
    with pytest.raises(
        HsdError, match="'someone/head' is not complete on this machine, and HF_HUB_OFFLINE forbids"
    ):
        load_pair(target=targets["llama"], draft="someone/head", device="cpu", dtype="bfloat16")


# How much memory


@pytest.mark.parametrize("vocab", [None, DRAFTED], ids=["all", "some"])
def test_a_head_s_size_is_known_before_it_is_loaded(
    tmp_path: Path,
    targets: dict[str, str],
    vocab: list[int] | None,
    monkeypatch: pytest.MonkeyPatch,
):
    needs: list[tuple[Sizes | None, ...]] = []
    monkeypatch.setattr(
        "hsd.models.loading.pair._make_room", lambda recipe, *sizes: needs.append(sizes)
    )
    folder = publish_head(tmp_path, ROWS, vocab)
    pair = load_pair(target=targets["llama"], draft=folder, device="cpu", dtype="float32")
    (draft,) = needs[-1][1:]
    assert draft is not None
    assert draft.parameters == pair.draft.parameters
    assert draft.cache_per_token == 2 * 2 * 12
