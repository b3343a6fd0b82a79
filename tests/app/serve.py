"""The app as it is, but with every step of a run held up, so that a test can act while the run goes on.

python tests/app/serve.py PORT SECONDS [TRACE]
"""

from __future__ import annotations

import sys
import time

from hsd.decoding.loop import Decoding
from hsd.ui import launch, runs


def main(port: int, seconds: float, trace_file: str | None) -> None:
    class Slow(Decoding):
        def __next__(self):  # type: ignore[no-untyped-def]
            time.sleep(seconds)
            return super().__next__()

    runs.Decoding = Slow  # type: ignore[misc]
    launch(trace_file, port=port)


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else None)
