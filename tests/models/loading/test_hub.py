"""The Hub: every way in which it may say no is one clear line that says what to do, and comes
without a long wait.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from huggingface_hub import constants
from huggingface_hub import errors as hub_errors
from huggingface_hub.utils import filter_repo_objects

from hsd import HsdError, load_pair
from hsd.models.loading import hub
from hsd.models.loading import model as loading
from hsd.models.loading.hub import Source, bring, explain, find_source

MODEL = "someone/some-model"
Raise = Callable[[Exception], None]


class ConnectError(hub_errors.HTTPError):  # type: ignore[name-defined,misc]
    """Named as that of httpx and httpx2, of which either may be there."""


class ConnectTimeout(ConnectError):
    """The same, where nobody says no."""


def hub_error(kind: type[Exception], status: int = 404) -> Exception:
    """An error of the Hub as the library makes it, whatever its version wants to be told."""
    response = SimpleNamespace(
        status_code=status, headers={}, request=None, url="https://huggingface.co/x"
    )
    error = kind.__new__(kind)
    Exception.__init__(error, f"{status} Client Error.\n\nA second line.")
    error.response = response  # type: ignore[attr-defined]
    error.request_id = error.server_message = None  # type: ignore[attr-defined]
    return error


@pytest.fixture
def online(monkeypatch: pytest.MonkeyPatch) -> Raise:
    """The Hub may be asked, and answers with the error that is given here."""
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)

    def answers(error: Exception) -> None:
        def raise_it(*_: Any, **__: Any) -> None:
            raise error

        monkeypatch.setattr(hub.HfApi, "model_info", raise_it)

    return answers


def refused(**options: Any) -> str:
    with pytest.raises(HsdError) as error:
        load_pair(device="cpu", dtype="bfloat16", **options)
    message = str(error.value)
    assert "\n" not in message
    assert 20 < len(message) < 330
    return message


CASES = [
    (
        hub_errors.GatedRepoError,
        403,
        "accept its licence at https://huggingface.co/someone/some-model, then log in",
    ),
    (
        hub_errors.RepositoryNotFoundError,
        401,
        "the Hub has no model 'someone/some-model': check the spelling",
    ),
    (
        hub_errors.RevisionNotFoundError,
        404,
        "has no revision 'v9': choose a branch, tag or commit from",
    ),
]


@pytest.mark.parametrize(
    ("kind", "status", "words"), CASES, ids=lambda case: getattr(case, "__name__", "")
)
def test_what_the_hub_refuses_is_told_with_what_to_do(
    online: Raise, kind: type[Exception], status: int, words: str
):
    online(hub_error(kind, status))
    assert words in refused(target=MODEL, draft=MODEL, revision="v9")


@pytest.mark.parametrize(
    ("kind", "status", "words"), CASES, ids=lambda case: getattr(case, "__name__", "")
)
@pytest.mark.parametrize("when", ["config", "tokenizer", "model"])
def test_a_refusal_while_files_are_fetched_is_told_in_the_same_way(
    monkeypatch: pytest.MonkeyPatch, kind: type[Exception], status: int, words: str, when: str
):
    """The library wraps the Hub's errors in an OSError of several lines."""

    def fetch(*_: Any, **__: Any) -> None:
        raise OSError(
            "You are trying to access a gated repo.\nMake sure to have access."
        ) from hub_error(kind, status)

    source = Source(MODEL, "v9")
    how = ("cpu", loading.torch.float32)
    steps = {
        "config": (loading.AutoConfig, lambda: loading.load_config(source)),
        "tokenizer": (loading.AutoTokenizer, lambda: loading.load_tokenizer(source)),
        "model": (loading.AutoModelForCausalLM, lambda: loading.load_model(source, "x", *how)),
    }
    place, load = steps[when]
    monkeypatch.setattr(place, "from_pretrained", fetch)
    with pytest.raises(HsdError) as error:
        load()
    assert words in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("status", "words"), [(403, "ask for access"), (429, "answered 429"), (503, "answered 503")]
)
def test_other_answers_of_the_hub_are_told_by_number(
    monkeypatch: pytest.MonkeyPatch, status: int, words: str
):
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    error = OSError("There was a specific connection error\nwhen")
    error.__cause__ = hub_error(hub_errors.HfHubHTTPError, status)
    assert words in explain(error, Source(MODEL))


def test_offline_is_told(online: Raise):
    constants.HF_HUB_OFFLINE = True  # put back by the fixture
    message = refused(target=MODEL, draft=MODEL)
    assert "HF_HUB_OFFLINE" in message
    assert "unset it" in message


@pytest.mark.parametrize("kind", [ConnectError, ConnectTimeout])
def test_no_connection_is_told_at_once(
    online: Raise, monkeypatch: pytest.MonkeyPatch, kind: type[Exception]
):
    """The library by itself tries five times again, with pauses that add up to 23 seconds."""
    online(kind("Name or service not known"))
    monkeypatch.setattr(time, "sleep", lambda seconds: pytest.fail(f"it waits for {seconds} s"))
    assert (
        "cannot reach the Hub, and 'someone/some-model' is not complete on this machine"
        in refused(target=MODEL, draft=MODEL)
    )


def test_without_a_connection_the_files_on_this_machine_are_taken(online: Raise):
    online(ConnectError("Name or service not known"))
    assert find_source(MODEL).local_only
    online(hub_error(hub_errors.HfHubHTTPError, 503))
    assert not find_source(MODEL).local_only, "a Hub that is busy gets the library's patience"
    online(TimeoutError("slow"))
    assert not find_source(MODEL).local_only, "and so does one that is slow"


@pytest.mark.parametrize("name", ["a/b/c", "two words", "x" * 200, "-x/y"])
def test_what_is_no_name_of_a_model_is_told(online: Raise, name: str):
    assert "is neither a folder nor a Hub id" in refused(target=name, draft=name)


def test_a_model_that_brings_its_own_code_is_not_run(tmp_path: Any):
    """Nobody is asked on the terminal whether to run it, either."""
    (tmp_path / "config.json").write_text(
        '{"model_type": "odd", "auto_map": {"AutoConfig": "own.Odd"}}'
    )
    (tmp_path / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\n")
    assert "cannot load a model" in refused(target=str(tmp_path), draft=str(tmp_path))
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("kind", "status", "words"), CASES, ids=lambda case: getattr(case, "__name__", "")
)
def test_files_that_are_to_be_brought_and_are_not_given_are_told_of(
    online: Raise, kind: type[Exception], status: int, words: str
):
    online(hub_error(kind, status))
    with pytest.raises(HsdError, match=re.escape(words).replace("'v9'", ".*")):
        bring(MODEL)


def test_a_model_in_a_folder_need_not_be_brought_and_one_on_the_hub_comes_without_what_nobody_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    asked: list[dict[str, Any]] = []
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(hub.HfApi, "model_info", lambda *_, **__: None)
    monkeypatch.setattr(
        hub, "snapshot_download", lambda name, **how: asked.append({"name": name, **how})
    )
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    bring(str(tmp_path))
    assert asked == []
    bring(MODEL)
    (found,) = asked
    files = [
        "config.json",
        "model.safetensors",
        "tokenizer.model",
        "original/consolidated.00.pth",
        "model.gguf",
    ]
    keep = filter_repo_objects(
        files, allow_patterns=found["allow_patterns"], ignore_patterns=found["ignore_patterns"]
    )
    assert (found["name"], list(keep)) == (MODEL, files[:3])
