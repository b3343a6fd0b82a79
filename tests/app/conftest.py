"""The app of the page without `gr.Blocks`, beside the old one."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import running_app
from running_app import Server, free_port


@pytest.fixture(scope="session")
def app(nothing_fetched: None) -> Iterator[Server]:
    """One app for all tests that need it running."""
    port = free_port()
    server = Server([sys.executable, str(Path(running_app.__file__)), str(port), "hsd.app"], port)
    yield server
    server.stop()
    assert "Traceback" not in server.output, server.output
