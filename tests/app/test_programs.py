"""The page for programs: each of its blocks of code is run against the app as it stands, and
answers what is said.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import shutil
import subprocess

import pytest
from running_app import Server

from hsd.paths import ASSETS, ROOT

PAGE = ASSETS / "docs" / "programs.md"
ADDRESS = "http://127.0.0.1:7860"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)
BLOCKS = [
    (kind, code, said) for kind, code, said in BLOCK.findall(PAGE.read_text(encoding="utf-8"))
]


def of(kind: str) -> list[object]:
    return [
        pytest.param(code, said, id=f"{kind}-{i}")
        for i, (k, code, said) in enumerate(BLOCKS)
        if k == kind
    ]


def here(code: str, app: Server) -> str:
    """The code as it asks the app of the tests; one that reads a file asks nobody."""
    assert ADDRESS in code or "open(" in code
    return code.replace(ADDRESS, app.url.rstrip("/"))


def test_every_block_of_the_page_is_of_a_kind_that_is_tested():
    assert {kind for kind, _, _ in BLOCKS} == {"python", "sh", "json"}
    begun = re.findall(r"^```[a-z]", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    printed = sum(bool(said) for _, _, said in BLOCKS)
    assert len(BLOCKS) == len(begun) - printed
    every = "".join(code for _, code, _ in BLOCKS)
    for endpoint in ("run", "compare", "verify_step", "audit", "explain_step"):
        assert f'api_name="/{endpoint}"' in every
        assert f"ask {endpoint} " in every or f"call/v2/{endpoint} " in every


@pytest.mark.parametrize(("code", "said"), of("python"))
def test_the_python_of_the_page_runs(
    code: str, said: str, app: Server, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(ROOT)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(here(code, app), str(PAGE), "exec"), {"__name__": "__main__"})
    assert printed.getvalue().strip()
    if said:
        assert printed.getvalue() == said


@pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed")
@pytest.mark.parametrize(("code", "said"), of("sh"))
def test_the_shell_commands_of_the_page_run(code: str, said: str, app: Server):
    words = ["bash", "-euo", "pipefail", "-c", here(code, app)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=600, check=True)
    assert "event: error" not in done.stdout
    if "call/" not in code:
        assert {"/run", "/compare", "/explain_step"} <= set(
            json.loads(done.stdout)["named_endpoints"]
        )
        return
    answers = [
        json.loads(line[6:]) for line in done.stdout.splitlines() if line.startswith("data: ")
    ]
    assert (
        len(answers)
        == done.stdout.count("event: complete")
        == max(1, len(re.findall("^ask ", code, re.MULTILINE)))
    )
    assert all(answers)


@pytest.mark.parametrize(("code", "said"), of("json"))
def test_the_address_for_a_models_client_is_where_the_tools_are(code: str, said: str, app: Server):
    (server,) = json.loads(here(code, app))["mcpServers"].values()
    assert server["url"] == f"{app.url}gradio_api/mcp/"  # test_mcp.py connects there
