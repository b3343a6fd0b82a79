"""The queue, the endpoints and the tools on the oldest and the newest Gradio that `pyproject.toml`
allows.
"""

from __future__ import annotations

import os
import re
import subprocess
import sysconfig
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ALLOWED = re.findall(
    r'"gradio>=([\d.]+),<([\d.]+)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8")
)[0]
TESTS = ("test_queue.py", "test_mcp.py")


@pytest.mark.slow
@pytest.mark.parametrize("wanted", [f"=={ALLOWED[0]}", f"<{ALLOWED[1]}"], ids=["oldest", "newest"])
def test_what_the_app_relies_on_is_there(wanted: str, tmp_path: Path):
    """In an environment of its own, which has another Gradio and the package `mcp`, and else what
    this one has.
    """
    venv.create(tmp_path, with_pip=True)
    own = sysconfig.get_path("purelib", vars={"base": str(tmp_path), "platbase": str(tmp_path)})
    Path(own, "beside.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    python = str(tmp_path / "bin" / "python")
    pip = [python, "-m", "pip", "install", "--quiet", "--upgrade", f"gradio[mcp]{wanted}"]
    fetched = subprocess.run(pip, capture_output=True, text=True)
    if "No matching distribution" in fetched.stderr or "connection" in fetched.stderr.lower():
        pytest.skip("the package index cannot be reached")
    assert fetched.returncode == 0, fetched.stderr
    found = [str(ROOT / "tests" / "app" / name) for name in TESTS]
    run = [python, "-m", "pytest", "-rs", "-p", "no:cacheprovider", *found]
    told = subprocess.run(
        run, capture_output=True, text=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    assert told.returncode == 0, told.stdout
    assert "SKIPPED" not in told.stdout, told.stdout
