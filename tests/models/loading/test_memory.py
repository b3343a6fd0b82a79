"""Memory: a pair that does not fit is refused before it is loaded; where there are several GPUs it
is spread.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from small_models import ARCHITECTURES, bytes_tokenizer, save_architecture
from transformers import AutoModelForCausalLM, Qwen2Config

import hsd
from hsd import HsdError, load_pair
from hsd.models.loading import memory as room
from hsd.models.loading import model as loading
from hsd.models.loading import pair
from hsd.models.loading.hub import find_source
from hsd.models.loading.memory import SIZES, TOKENS, needed, of_config
from hsd.models.loading.model import load_config, load_model
from hsd.models.loading.registry import PAIRS
from hsd.paths import ASSETS

GB = 1e9


@pytest.fixture(autouse=True)
def _nothing_loaded():
    pair._load.cache_clear()


@pytest.fixture
def gpus(monkeypatch: pytest.MonkeyPatch):
    """A machine with GPUs of which so many GB are free; models land on the CPU all the same, and
    `asked` tells how.
    """
    asked: list[dict[str, Any]] = []
    original = AutoModelForCausalLM.from_pretrained

    def from_pretrained(source: str, **options: Any) -> Any:
        asked.append(
            {k: options.pop(k, None) for k in ("device_map", "quantization_config", "dtype")}
        )
        return original(source, dtype=asked[-1]["dtype"], **options)

    def install(*free: float) -> list[dict[str, Any]]:
        monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
        monkeypatch.setattr(torch.cuda, "device_count", lambda: len(free))
        monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
        monkeypatch.setattr(torch.cuda, "empty_cache", lambda: None)
        here = {"cuda": free[0]} | {f"cuda:{i}": free[i] for i in range(len(free))}
        monkeypatch.setattr(
            torch.cuda, "mem_get_info", lambda device: (int(here[device] * GB), int(200 * GB))
        )
        monkeypatch.setattr(torch.cuda, "memory_reserved", lambda device: 0)
        monkeypatch.setattr(torch.cuda, "memory_allocated", lambda device: 0)
        monkeypatch.setattr(loading.AutoModelForCausalLM, "from_pretrained", from_pretrained)
        return asked

    return install


def refused(*name: str, **options: Any) -> str:
    with pytest.raises(HsdError) as error:
        load_pair(*name, **options)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 400
    return str(error.value)


# What is needed


def test_published_pairs_need_what_their_weights_and_caches_take():
    big = SIZES[PAIRS["qwen2.5-7b"].target]
    small = SIZES[PAIRS["qwen2.5-7b"].draft]
    assert (big.weights(torch.bfloat16), small.weights(torch.float32)) == (
        2 * 7_615_616_512,
        4 * 494_032_768,
    )
    assert (
        big.cache(torch.bfloat16) + small.cache(torch.bfloat16)
        == TOKENS * (28 * 4 * 128 + 24 * 2 * 64) * 2 * 2
    )
    assert 0.25 < big.weights(torch.bfloat16, "4bit") / big.weights(torch.bfloat16) < 0.45
    need = needed((big, small), torch.bfloat16, on_gpu=True)
    assert need == pytest.approx(18.1 * GB, rel=0.02)
    quantised = needed((big, small), torch.bfloat16, on_gpu=True, quantize="4bit")
    saved = big.weights(torch.bfloat16) - big.weights(torch.bfloat16, "4bit")
    assert need - quantised == pytest.approx(1.05 * saved), "the draft stays as it is"


@pytest.mark.parametrize("kind", ARCHITECTURES)
def test_folders_tell_what_they_need(tmp_path: Path, kind: str):
    """Against the model itself, and against the cache that it fills."""
    folder, _ = save_architecture(tmp_path, kind, bytes_tokenizer(), (270, 264))
    source = find_source(folder)
    found = of_config(load_config(source))
    model = load_model(source, "small", "cpu", torch.float32)
    assert found is not None
    assert found.parameters == model.parameters
    assert found.context == model.context
    session = model.start()
    session.forward(torch.arange(50), keep=1)
    kept = sum(layer.keys.numel() + layer.values.numel() for layer in session._cache.layers)
    assert found.cache_per_token == kept / 50


def test_what_the_published_models_take_is_told_by_their_configuration():
    known = SIZES["Qwen/Qwen2.5-0.5B-Instruct"]
    config = Qwen2Config(
        vocab_size=known.rows,
        hidden_size=known.hidden,
        num_hidden_layers=known.layers,
        intermediate_size=4864,
        num_attention_heads=14,
        num_key_value_heads=known.kv_heads,
        max_position_embeddings=known.context,
        tie_word_embeddings=True,
    )
    assert of_config(config) == known
    config.quantization_config = {"quant_method": "awq"}
    assert of_config(config) is None


@pytest.mark.parametrize(
    "wrong", [{"num_attention_heads": 0}, {"hidden_size": None}, {"num_hidden_layers": "two"}]
)
def test_a_configuration_that_tells_nothing_is_left_to_the_loader(wrong: dict[str, object]):
    config = Qwen2Config()
    for name, value in wrong.items():
        object.__setattr__(config, name, value)
    assert of_config(config) is None


# What is free


def test_free_memory_is_the_container_s_share(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(
        room.psutil, "virtual_memory", lambda: SimpleNamespace(available=8_000_000_000)
    )
    assert room.free_ram(tmp_path / "nowhere") == 8_000_000_000
    (tmp_path / "memory.current").write_text("3000000000\n")
    (tmp_path / "memory.stat").write_text("anon 5\ninactive_file 1000000000\n")
    (tmp_path / "memory.max").write_text("max\n")
    assert room.free_ram(tmp_path) == 8_000_000_000, "no limit"
    (tmp_path / "memory.max").write_text("4000000000\n")
    assert room.free_ram(tmp_path) == 2_000_000_000


def test_this_machine_tells_what_is_free():
    assert 1e6 < room.free_on("cpu") < 1e14


def test_a_gpu_that_cannot_be_asked_yet_refuses_nothing(monkeypatch: pytest.MonkeyPatch):
    """On ZeroGPU the GPU is lent for single calls only."""

    def no_gpu(index: int | None) -> tuple[int, int]:
        raise RuntimeError("no CUDA-capable device is detected")

    monkeypatch.setattr(torch.cuda, "mem_get_info", no_gpu)
    assert room.free_on("cuda") == math.inf


# Refusals


def test_a_named_pair_that_does_not_fit_is_refused_before_the_hub_is_asked(gpus: Any):
    gpus(32)
    message = refused("qwen2.5-32b")
    assert "needs about 71." in message
    assert "32.0 GB are free on cuda" in message
    assert message.endswith("choose a smaller pair, or quantize 4bit")


@pytest.mark.parametrize(
    ("options", "advice"),
    [
        ({"device": "cpu"}, "a smaller pair, or dtype bfloat16"),
        ({"device": "cpu", "dtype": "bfloat16"}, "a smaller pair"),
        (
            {"device": "cuda", "dtype": "float32"},
            "a smaller pair, or dtype bfloat16, or quantize 4bit",
        ),
    ],
)
def test_advice_is_what_can_still_be_chosen(
    gpus: Any, monkeypatch: pytest.MonkeyPatch, options: Any, advice: str
):
    gpus(1)
    monkeypatch.setattr(room, "free_ram", lambda: GB)
    message = refused("qwen3-14b", **options)
    assert (
        f"1.0 GB are free on {'cuda' if options['device'] == 'cuda' else 'this computer'}: choose "
        f"{advice}" in message
    )
    assert message.endswith(advice)


def test_a_pair_of_folders_that_does_not_fit_is_refused(
    byte_folders: tuple[str, str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(room, "free_on", lambda device: 1e5)
    monkeypatch.setattr(pair, "load_model", lambda *_: pytest.fail("it was loaded"), raising=False)
    message = refused(target=byte_folders[0], draft=byte_folders[1], device="cpu")
    assert message.startswith("target + draft needs about 0.1 GB of memory")


def test_nothing_is_refused_where_the_free_memory_is_unknown(
    byte_folders: tuple[str, str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(room, "free_on", lambda device: math.inf)
    assert (
        load_pair(target=byte_folders[0], draft=byte_folders[1], device="cpu").target.parameters > 0
    )


def test_memory_that_ends_while_a_model_is_loaded_is_one_line(
    byte_folders: tuple[str, str], monkeypatch: pytest.MonkeyPatch
):
    def full(*_: Any, **__: Any) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory.\nTried to allocate 2 GiB")

    monkeypatch.setattr(loading.AutoModelForCausalLM, "from_pretrained", full)
    words = refused(target=byte_folders[0], draft=byte_folders[1], device="cpu")
    assert words.endswith("it does not fit in the free memory, choose a smaller pair")


def test_pairs_loaded_before_make_way(
    byte_folders: tuple[str, str], monkeypatch: pytest.MonkeyPatch
):
    load_pair(target=byte_folders[0], draft=byte_folders[1], device="cpu")
    monkeypatch.setattr(
        room, "free_on", lambda device: 0.0 if pair._load.cache_info().currsize else GB
    )
    half = load_pair(target=byte_folders[0], draft=byte_folders[1], device="cpu", dtype="bfloat16")
    assert pair._load.cache_info().currsize == 1
    assert (
        load_pair(target=byte_folders[0], draft=byte_folders[1], device="cpu", dtype="bfloat16")
        is half
    )


def test_the_pairs_asked_for_last_are_kept(byte_folders: tuple[str, str]):
    def load(dtype: str) -> hsd.Pair:
        return load_pair(target=byte_folders[0], draft=byte_folders[1], device="cpu", dtype=dtype)

    first = load("float32")
    second = load("bfloat16")
    assert load("float32") is first
    load("float16")
    assert load("float32") is first
    assert load("bfloat16") is not second


def test_pairs_are_loaded_one_at_a_time(
    byte_folders: tuple[str, str], monkeypatch: pytest.MonkeyPatch
):
    """`from_pretrained` called twice at once breaks both; and who asks second gets what the first
    one loaded.
    """
    loaded: list[hsd.Pair] = []
    original = pair._load_new

    def load_new(recipe: pair.LoadRequest) -> hsd.Pair:
        assert pair._LOADING.locked()
        loaded.append(original(recipe))
        return loaded[-1]

    monkeypatch.setattr(pair, "_load_new", load_new)
    with ThreadPoolExecutor(4) as pool:
        asked = [
            pool.submit(load_pair, target=byte_folders[0], draft=byte_folders[1], device="cpu")
            for _ in range(4)
        ]
        assert {id(future.result()) for future in asked} == {id(loaded[0])}
    assert len(loaded) == 1


# Several GPUs, and quantised weights


def place(folders: tuple[str, str], **options: Any) -> hsd.Pair:
    return load_pair(target=folders[0], draft=folders[1], **options)


def test_on_one_gpu_the_weights_go_straight_to_it(gpus: Any, byte_folders: tuple[str, str]):
    asked = gpus(80, 80)
    place(byte_folders)
    assert [a["device_map"] for a in asked] == [{"": "cuda:0"}, {"": "cuda:0"}]
    assert {a["dtype"] for a in asked} == {torch.bfloat16}


def test_a_target_that_does_not_fit_one_gpu_is_spread_over_all(
    gpus: Any, byte_folders: tuple[str, str]
):
    asked = gpus(0.5, 0.5)
    place(byte_folders)
    assert [a["device_map"] for a in asked] == [{"": "cuda:0"}, "auto"], "the draft first, on one"


def test_a_gpu_that_was_chosen_is_not_left(gpus: Any, byte_folders: tuple[str, str]):
    asked = gpus(0.5, 80)
    place(byte_folders, device="cuda:1")
    assert [a["device_map"] for a in asked] == [{"": "cuda:1"}, {"": "cuda:1"}]
    pair._load.cache_clear()
    with pytest.raises(HsdError, match=r"0\.5 GB are free on cuda:0"):
        place(byte_folders, device="cuda:0")
    with pytest.raises(HsdError, match="no device 'cuda:2'"):
        place(byte_folders, device="cuda:2")


def test_too_little_on_all_gpus_together_is_refused(gpus: Any, byte_folders: tuple[str, str]):
    gpus(0.2, 0.3)
    with pytest.raises(HsdError, match=r"0\.5 GB are free on all GPUs"):
        place(byte_folders)


def test_a_device_map_may_be_asked_for(gpus: Any, byte_folders: tuple[str, str]):
    asked = gpus(80, 80)
    place(byte_folders, device_map="balanced")
    assert [a["device_map"] for a in asked] == [{"": "cuda:0"}, "balanced"]
    with pytest.raises(HsdError, match="unknown device_map 'everywhere': choose auto"):
        place(byte_folders, device_map="everywhere")


def test_a_spread_model_gives_the_same_text(byte_folders: tuple[str, str], tmp_path: Path):
    """Its layers in turn in memory and on disk, which is as near as one comes to two devices
    without a GPU.
    """
    alone = place(byte_folders, device="cpu", dtype="float32")
    config = json.loads((Path(byte_folders[0]) / "config.json").read_text())
    map_ = {
        "model.embed_tokens": "cpu",
        "model.norm": "cpu",
        "model.rotary_emb": "cpu",
        "lm_head": "disk",
    }
    map_ |= {
        f"model.layers.{i}": ("disk", "cpu")[i % 2] for i in range(config["num_hidden_layers"])
    }
    target = load_model(
        find_source(byte_folders[0]), "spread", "cpu", torch.float32, device_map=map_
    )
    assert target.device.type == "cpu"
    assert target.parameters == alone.target.parameters
    spread = hsd.Pair("spread", target, alone.draft, alone.codec)
    for options in ({}, {"drafts": 3, "rule": "traversal"}):
        wanted = hsd.run(alone, "Once", gamma=3, max_new_tokens=16, seed=1, **options)
        assert (
            hsd.run(spread, "Once", gamma=3, max_new_tokens=16, seed=1, **options).tokens
            == wanted.tokens
        )


def test_spreading_on_a_cpu_changes_nothing(byte_folders: tuple[str, str]):
    both = [place(byte_folders, device="cpu", device_map=how) for how in (None, "auto")]
    texts = [hsd.run(pair, "Once", max_new_tokens=12, seed=1).tokens for pair in both]
    assert texts[0] == texts[1]


@pytest.mark.parametrize(
    ("processes", "more", "words"),
    [
        (None, {}, "several processes: start them by torchrun"),
        ("4", {}, "4 processes cannot share 6 groups of keys"),
        ("2", {"quantize": "4bit"}, "does not go with device map sharded"),
    ],
)
def test_what_processes_cannot_share_is_refused(
    monkeypatch: pytest.MonkeyPatch, processes, more, words
):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    if processes:
        monkeypatch.setenv("WORLD_SIZE", processes)
    toys = tuple(str(ASSETS / "tiny" / name) for name in ("target", "draft"))
    with pytest.raises(HsdError, match=words):
        place(toys, device="cpu", device_map="sharded", **more)


@pytest.mark.slow
def test_two_processes_share_a_target_and_one_of_them_speaks(tmp_path: Path):
    """The same text as by one process; `torchrun` starts both on the toys' folder, and gloo
    connects them.
    """
    files = [
        *("--target", ASSETS / "tiny" / "target", "--draft", ASSETS / "tiny" / "middle"),
        "--json",
    ]
    given = [
        "-m",
        "hsd",
        "run",
        "Once upon a time",
        *files,
        "--max-new-tokens",
        "24",
        "--seed",
        "3",
    ]
    started = [
        "-m",
        "torch.distributed.run",
        "--nproc-per-node",
        "2",
        *given,
        "--device-map",
        "sharded",
    ]
    shared, alone = (
        subprocess.run(
            [sys.executable, *map(str, how)], capture_output=True, text=True, check=True
        ).stdout
        for how in (started, given)
    )
    assert json.loads(shared)["tokens"] == json.loads(alone)["tokens"]


def test_quantising_needs_its_package(
    monkeypatch: pytest.MonkeyPatch, byte_folders: tuple[str, str]
):
    monkeypatch.setattr(pair, "find_spec", lambda name: None)
    with pytest.raises(HsdError, match="run `pip install bitsandbytes`"):
        place(byte_folders, device="cpu", quantize="4bit")
    with pytest.raises(HsdError, match="unknown quantize '3bit': choose 8bit, 4bit"):
        place(byte_folders, device="cpu", quantize="3bit")


def test_only_the_target_is_quantised(
    gpus: Any, monkeypatch: pytest.MonkeyPatch, byte_folders: tuple[str, str]
):
    monkeypatch.setattr(pair, "find_spec", lambda name: True)
    monkeypatch.setattr(loading, "BitsAndBytesConfig", lambda **settings: settings)
    asked = gpus(80)
    named = place(byte_folders, quantize="4bit")
    assert (named.target.dtype, named.draft.dtype) == ("bfloat16, 4bit weights", "bfloat16")
    draft, target = (a["quantization_config"] for a in asked)
    assert draft is None
    assert target["load_in_4bit"] is True
    assert target["bnb_4bit_compute_dtype"] == torch.bfloat16
