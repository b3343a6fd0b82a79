"""For all tests: one thread, no network, and a small pair of models."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

os.environ["HF_HUB_OFFLINE"] = "1"  # before anything imports the library that reads it
# in processes that a test starts, too
os.environ |= {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}
# no proxy of this machine is asked for what a test serves
os.environ["no_proxy"] = ",".join(
    (os.environ.get("no_proxy", os.environ.get("NO_PROXY", "")), "localhost,127.0.0.1,::1")
)

import pytest
import torch
from hypothesis import settings

from hsd.models import Pair
from hsd.models.loading import load_pair
from hsd.paths import ASSETS

if TYPE_CHECKING:
    from recorded_server import Fake
    from recording_server import RecordingServer
    from running_app import Server

torch.set_num_threads(1)
for profile, examples in (
    ("quick", 4),
    ("thorough", 200),
    ("usual", 12),
):  # how many of a property; by "thorough" also all cases of for_each; pytest --hypothesis-profile
    settings.register_profile(profile, max_examples=examples, deadline=None, derandomize=True)
settings.load_profile("usual")

FIRST = ("app", "browser")  # groups of tests that take longest


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what needs a browser; of several processes, one runs all tests of the running app, and
    another those that need a browser alone.

    So there is one app, and two browsers. These tests come first, as they take longest; files of
    others are not divided.
    """
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        if "chromium" in fixtures:
            item.add_marker("browser")
        recorded = item.get_closest_marker("recorded")
        params = item.callspec.params if recorded else {}
        without_server = (params.get("place"), params.get("stage_kind")) in [
            ("files", None),
            (None, "file"),
        ]
        if without_server and not recorded.kwargs.get("core"):
            item.own_markers = [mark for mark in item.own_markers if mark.name != "core"]
        item.add_marker(pytest.mark.xdist_group(group_of(item, fixtures)))
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: next(item.iter_markers("xdist_group")).args[0] not in FIRST)


def group_of(item: pytest.Item, fixtures: set[str]) -> str:
    """Return the name of the tests that one process runs with this one."""
    if fixtures & {"app", "place", "watching"}:
        return "app"
    exported = "folder" in fixtures and item.path.parent.name == "web"
    return "browser" if exported or "chromium" in fixtures else str(item.path)


@pytest.fixture(scope="session", autouse=True)
def nothing_fetched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What this machine has fetched changes no test, and no app that a test starts fetches
    anything.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HSD_HOME", str(tmp_path_factory.mktemp("home")))
        patch.setenv("HSD_DOWNLOAD", "0")
        yield


@pytest.fixture(scope="session")
def byte_folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Folders of a small random target and draft that read any text byte by byte, 128 tokens at
    most.
    """
    from small_models import bytes_tokenizer, save_pair

    return save_pair(tmp_path_factory.mktemp("bytes"), bytes_tokenizer())


@pytest.fixture(scope="session")
def byte_pair(byte_folders: tuple[str, str]) -> Pair:
    """The pair from these folders, in float32."""
    return load_pair(target=byte_folders[0], draft=byte_folders[1], device="cpu", dtype="float32")


@pytest.fixture
def fake() -> Iterator[Fake]:
    """A server with an OpenAI-compatible API, on this machine."""
    from recorded_server import Fake

    server = Fake()
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield server
    server.over.set()
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(scope="session")
def app(nothing_fetched: None) -> Iterator[Server]:
    """The one app of all tests that need it running."""
    from running_app import Server, free_port

    if not (ASSETS / "tiny" / "target").is_dir():
        pytest.skip("the embedded pair is not there")
    port = free_port()
    server = Server(
        [sys.executable, str(Path(__file__).parent / "running_app.py"), str(port)], port
    )
    yield server
    server.stop()
    assert "Traceback" not in server.output, server.output


@pytest.fixture(scope="session")
def recording() -> RecordingServer:
    """A server whose requests are recorded."""
    from recording_server import RecordingServer

    return RecordingServer()


@pytest.fixture(scope="session")
def watching(recording: RecordingServer, nothing_fetched: None) -> Iterator[Server]:
    """`python -m hsd watch` beside that server."""
    from running_app import Server, free_port

    port = free_port()
    command = [sys.executable, "-m", "hsd", "watch", recording.url, "--port", str(port)]
    server = Server(command, port)
    yield server
    server.stop()
    assert "Traceback" not in server.output, server.output
