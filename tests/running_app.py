"""The app in a process of its own: as it is, but with every step of a run held up a little.

python tests/running_app.py PORT
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STEP_SECONDS = 0.04  # a test can act while a run goes on
PATIENT = 333
MORE_SECONDS = 0.1  # a seed whose runs are held up longer with every step: 128 take 14 minutes
RUN_SECONDS = 3600  # so that no run ends by itself before a test has ended it
STARTED = 600  # seconds until the app counts as broken


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


class Server:
    """A command that starts the app; everything it prints is kept."""

    def __init__(self, command: list[str], port: int, folder: Path = ROOT, **more: str) -> None:
        self.url = f"http://127.0.0.1:{port}/"
        self.lines: list[str] = []
        environment = os.environ | {
            "PYTHONPATH": str(folder),
            "PYTHONUNBUFFERED": "1",
            "OMP_NUM_THREADS": "1",
            **more,
        }
        self.process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._ready = threading.Event()
        threading.Thread(target=self._read, daemon=True).start()
        assert self._ready.wait(STARTED), f"the app did not start: {self.output}"
        assert self.process.poll() is None, f"the app ended: {self.output}"

    def _read(self) -> None:
        for line in self.process.stdout:  # type: ignore[union-attr]
            self.lines.append(line)
            if line.startswith("The app is ready"):
                self._ready.set()
        self._ready.set()

    @property
    def output(self) -> str:
        return "".join(self.lines)

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(STARTED)


class Files:
    """A folder and what serves it: any file server will do. isolated: it sends the headers of a
    static Space.
    """

    def __init__(self, folder: Path, path: str, isolated: bool = False) -> None:
        port = free_port()
        self.url = f"http://127.0.0.1:{port}/{path}"
        command = [
            sys.executable,
            "-m",
            "http.server",
            str(port),
            "--bind",
            "127.0.0.1",
            "--directory",
            str(folder),
        ]
        if isolated:
            command = [
                sys.executable,
                str(Path(__file__).with_name("isolating_server.py")),
                str(port),
                str(folder),
            ]
        self.process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        for _ in range(10 * STARTED):
            with socket.socket() as s:
                if s.connect_ex(("127.0.0.1", port)) == 0:
                    return
            time.sleep(0.1)

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(STARTED)


def main(port: int) -> None:
    from hsd import space
    from hsd.app import launch, runs
    from hsd.decoding.loop import Decoding

    manifest = space.load()
    limits = manifest.limits.model_copy(update={"run_seconds": RUN_SECONDS})

    class Slow(Decoding):
        def __next__(self):  # type: ignore[no-untyped-def]
            time.sleep(
                MORE_SECONDS * len(self.steps) if self.system.seed == PATIENT else STEP_SECONDS
            )
            return super().__next__()

    runs.Decoding = Slow
    launch(None, port=port, manifest=manifest.model_copy(update={"limits": limits}))


if __name__ == "__main__":
    main(int(sys.argv[1]))
