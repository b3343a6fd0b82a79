"""A plain file server that says what a static Space is made to say: `isolating_server.py PORT
FOLDER`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from threading import Event

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples" / "reproduce" / "engines"))

from browser import served

if __name__ == "__main__":
    with served(Path(sys.argv[2]), int(sys.argv[1]), threads=2):
        Event().wait()
