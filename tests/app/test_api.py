"""Programs can use the app too: named endpoints with the same checks, and the app alone in a folder."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest
from conftest import Server, free_port

from hsd import Trace, space
from hsd.paths import ASSETS, ROOT

gradio_client = pytest.importorskip("gradio_client")


@pytest.fixture(scope="module")
def client(app):
    return gradio_client.Client(app.url, verbose=False)


def test_only_these_endpoints_are_public(client):
    assert set(client.view_api(return_format="dict")["named_endpoints"]) == {"/run", "/presets", "/audit"}


def test_run_returns_text_summary_and_a_valid_trace(client):
    answer = client.predict("Once upon a time", gamma=4, length=12, seed=7, api_name="/run")
    trace = Trace.from_json(json.dumps(answer["trace"]))
    assert trace.replay() == trace.tokens
    assert (answer["text"], len(trace.tokens)) == (trace.text, 12)
    assert answer["summary"]["target_calls"] == len(trace.steps)
    again = client.predict("Once upon a time", gamma=4, length=12, seed=7, api_name="/run")
    assert again["text"] == answer["text"]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"prompt": ""}, "the prompt is empty"),
        ({"prompt": "a", "gamma": 99}, "draft length γ 99"),
        ({"prompt": "a", "pair": "x"}, "unknown pair"),
    ],
)
def test_a_bad_call_is_answered_with_one_line(client, values, words):
    with pytest.raises(Exception, match=words):
        client.predict(**values, api_name="/run")


def test_presets_are_listed_in_the_order_of_the_manifest(client):
    assert [preset["name"] for preset in client.predict(api_name="/presets")] == space.load().presets


def test_the_audit_proves_what_is_lossless(client):
    rules = client.predict(vocab=3, gamma=2, seed=1, api_name="/audit")["rules"]
    assert rules["hsd"]["total_variation"] < 1e-12
    assert rules["hsd-released"]["total_variation"] > 1e-6


def test_a_bad_audit_is_answered_with_one_line(client):
    with pytest.raises(Exception, match="vocab"):
        client.predict(vocab=0, gamma=2, seed=1, api_name="/audit")


@pytest.mark.skipif(not (ASSETS / "tiny" / "target").is_dir(), reason="the embedded pair is not there")
def test_the_app_starts_in_a_folder_with_nothing_but_what_a_space_gets(tmp_path: Path, monkeypatch):
    for name in space.space_files():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    port = free_port()
    monkeypatch.setenv("GRADIO_SERVER_PORT", str(port))
    server = Server([sys.executable, "app.py"], port, tmp_path)
    try:
        client = gradio_client.Client(server.url, verbose=False)
        assert client.predict("Once upon a time", length=5, api_name="/run")["trace"]["trace_version"] == 1
        assert client.predict(api_name="/presets")
        assert "Traceback" not in server.output
    finally:
        server.stop()
