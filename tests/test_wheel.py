"""What is installed from a wheel needs no checkout: its files, a run, and the page with all that is
recorded.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from urllib.request import Request, urlopen
from zipfile import ZipFile

import pytest
from running_app import Server, free_port

from hsd.paths import ASSETS, ROOT

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout, built without a network."""
    pytest.importorskip("hatchling", reason="needs the dev extra")
    out = tmp_path_factory.mktemp("wheel")
    command = [
        sys.executable,
        "-m",
        "build",
        "--wheel",
        "--no-isolation",
        "--outdir",
        str(out),
        str(ROOT),
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return next(out.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the wheel installs, which Python finds before the checkout."""
    folder = tmp_path_factory.mktemp("installed")
    with ZipFile(wheel) as files:
        files.extractall(folder)
    return folder


def test_a_wheel_has_the_package_and_its_data_and_no_scripts(wheel: Path):
    names = ZipFile(wheel).namelist()
    folders = {name.split("/")[0] for name in names}
    assert {folder for folder in folders if not folder.endswith(".dist-info")} == {"hsd"}
    assert [
        name for name in names if "examples" in name.split("/") or "tests" in name.split("/")
    ] == []
    data = {
        name.removeprefix("hsd/_bundled/") for name in names if name.startswith("hsd/_bundled/")
    }
    assert data == {
        "Spacefile",
        *(f.relative_to(ROOT).as_posix() for f in ASSETS.rglob("*") if f.is_file()),
    }


def test_an_installed_app_runs_outside_of_a_checkout_and_serves_the_page_with_all_that_is_recorded(
    installed: Path,
):
    port = free_port()
    server = Server(
        [sys.executable, "-m", "hsd", "app", "--port", str(port)], port, installed, HSD_DOWNLOAD="0"
    )
    try:

        def get(path: str, asked: object = None) -> bytes:
            data = None if asked is None else json.dumps(asked).encode()
            request = Request(server.url + path, data, {"Content-Type": "application/json"})
            with urlopen(request, timeout=600) as answer:
                return answer.read()

        run = {"prompt": "Once upon a time", "pair": "tiny", "max_new_tokens": 8}
        begun = json.loads(get("gradio_api/call/v2/run", run))
        assert b"event: complete" in get(f"gradio_api/call/v2/run/{begun['event_id']}")

        assert b"<title>" in get("")
        known = json.loads(get("data/page.json"))
        assert known["starters"]["tiny"]
        for name, question in known["recorded"].items():
            for key in question["keys"]:
                assert json.loads(get(f"data/{name}/{key}.json")), (name, key)
        assert {"preset", "lessons", "races", "benchmark"} <= set(known["recorded"])
    finally:
        server.stop()
    assert "Traceback" not in server.output, server.output
