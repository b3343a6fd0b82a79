"""The app beside a program that goes on, such as a notebook: its address, shared and by proxies."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from running_app import free_port

from hsd.paths import ROOT

BEGIN = """
import json, os
import httpx
from gradio import networking
from hsd import HsdError
from hsd.app import launch

def tunnel(**_):
    {tunnel}

networking.setup_tunnel = tunnel

def status(url, host):
    return httpx.get(url, headers={{"Host": host}}, timeout=60).status_code

problem = address = ""
try:
    address = launch(port={port}, block=False, download=False, {options})
except HsdError as error:
    problem = str(error)
statuses = {{host: status("http://127.0.0.1:{port}/", host) for host in {hosts}}}
print(json.dumps([address, problem, statuses]), flush=True)
os._exit(0)
"""


def begun(port: int, hosts: list[str], tunnel: str = "raise OSError", options: str = "") -> list:
    """What launching returned and raised, and the status by which each host name is answered."""
    code = BEGIN.format(port=port, hosts=hosts, tunnel=tunnel, options=options)
    made = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, timeout=600
    )
    assert made.returncode == 0, made.stderr
    return json.loads(made.stdout.splitlines()[-1])


@pytest.fixture
def port() -> int:
    return free_port()


def test_it_returns_its_address_and_answers_while_the_program_goes_on(port: int):
    hosts = [f"127.0.0.1:{port}", "hub.example.org", "evil.example"]
    options = 'allowed_hosts=("hub.example.org",)'
    address, problem, statuses = begun(port, hosts, options=options)
    assert (address, problem) == (f"http://127.0.0.1:{port}/", "")
    assert [*statuses.values()] == [200, 200, 403]


@pytest.mark.slow
def test_what_is_shared_is_answered_by_its_public_name(port: int):
    tunnel = 'return "http://abc.gradio.live"'
    hosts = ["abc.gradio.live", "def.gradio.live"]
    address, problem, statuses = begun(port, hosts, tunnel, "share=True")
    assert (address, problem) == ("https://abc.gradio.live", "")
    assert [*statuses.values()] == [200, 403]


@pytest.mark.slow
def test_where_nothing_is_shared_the_address_that_there_is_is_named(port: int):
    _, problem, statuses = begun(port, ["localhost"], options="share=True")
    here = f"http://127.0.0.1:{port}/"
    assert problem == f"gradio.live gave no address: leave share out, and open {here}"
    assert statuses == {"localhost": 200}
