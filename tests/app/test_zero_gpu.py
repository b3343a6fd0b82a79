"""ZeroGPU, by the emulation of its own package: a fork for each call that needs the GPU, and none
for others.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import torch
from running_app import Server, free_port

from hsd import Trace
from hsd.app.runs import LOAD_SECONDS, TOKEN_SECONDS
from hsd.paths import ROOT

gradio_client = pytest.importorskip("gradio_client")
pytest.importorskip("spaces")
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        torch.version.cuda is None, reason="the emulation needs a torch that was built for CUDA"
    ),
]


class Lender(ThreadingHTTPServer):
    """What lends GPUs on ZeroGPU: grants every call, and remembers what it was asked."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.asked: list[tuple[str, dict[str, list[str]]]] = []
        self.refuses = False

    @property
    def seconds(self) -> list[int]:
        return [
            int(query["durationSeconds"][0]) for path, query in self.asked if path == "/schedule"
        ]


class Answer(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        asked = urlsplit(self.path)
        self.server.asked.append((asked.path, parse_qs(asked.query)))
        granted = {"idle": False, "nvidiaIndex": 0, "nvidiaUUID": "GPU-0", "allowToken": "one"}
        refused = self.server.refuses and asked.path == "/schedule"
        body = json.dumps({"left": 3, "wait": 60} if refused else granted).encode()
        self.send_response(429 if refused else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def lender() -> Iterator[Lender]:
    server = Lender()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()


@pytest.fixture(scope="module")
def client(
    lender: Lender, byte_folders: tuple[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("models")
    port = free_port()
    for name, source in zip(("target", "draft"), byte_folders, strict=True):
        (folder / name).symlink_to(source)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPACES_ZERO_GPU", "true")
        patch.setenv("SPACES_ZERO_DEVICE_API_URL", f"http://127.0.0.1:{lender.server_port}")
        patch.setenv("SPACE_ID", "owner/name")
        patch.setenv("HOME", str(folder))
        app = Server(
            [sys.executable, str(ROOT / "tests" / "zero_gpu_app.py"), str(port), str(folder)], port
        )
    yield gradio_client.Client(app.url, verbose=False)
    app.stop()


def asked_for(client: Any, **options: Any) -> dict[str, Any]:
    return client.predict("Once upon a time", seed=1, **options, api_name="/run")


def test_an_embedded_pair_costs_no_visitor_gpu_seconds(client: Any, lender: Lender):
    before = len(lender.seconds)
    assert len(asked_for(client, pair="tiny", max_new_tokens=8)["trace"]["steps"]) > 0
    assert len(lender.seconds) == before


def test_a_pair_that_needs_the_gpu_runs_in_a_process_that_is_lent_one(client: Any, lender: Lender):
    answer = asked_for(client, pair="qwen2.5-7b", max_new_tokens=12)
    trace = Trace.from_json(json.dumps(answer["trace"]))
    assert trace.replay() == trace.tokens
    assert trace.tokens
    assert lender.seconds[-1] == LOAD_SECONDS + round(12 * TOKEN_SECONDS)
    asked_for(client, pair="qwen2.5-7b", max_new_tokens=40)
    assert lender.seconds[-1] == LOAD_SECONDS + 40 * TOKEN_SECONDS, (
        "it follows from what is asked for"
    )
    paths = [path for path, _ in lender.asked]
    assert paths.count("/schedule") == paths.count("/release")


def test_what_goes_wrong_in_the_lent_process_is_told_in_the_same_words(client: Any, lender: Lender):
    with pytest.raises(gradio_client.exceptions.AppError, match="128") as told:
        client.predict("a" * 500, pair="qwen2.5-7b", max_new_tokens=8, api_name="/run")
    assert "\n" not in str(told.value)


def test_a_gpu_that_is_not_lent_is_told_in_one_line(client: Any, lender: Lender):
    lender.refuses = True
    with pytest.raises(gradio_client.exceptions.AppError, match="GPU limit") as told:
        asked_for(client, pair="qwen2.5-7b", max_new_tokens=8)
    lender.refuses = False
    assert "\n" not in str(told.value)
    assert "<" not in str(told.value)
