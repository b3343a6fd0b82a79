"""The Race screen: plain decoding, vanilla, HSD and others in turn on this machine, then replayed side by side.

Numbers are those of `hsd.bench`. The scripts use the player's `dom.js`, `format.js` and `export.js`, and the frame, so
these must come first in the page.
"""

from __future__ import annotations

from pathlib import Path

from hsd.ui.race.screen import Race

__all__ = ["Race", "script", "style"]

FOLDER = Path(__file__).parent
SCRIPTS = (
    "link.js",
    "fields.js",
    "lanes.js",
    "tracks.js",
    "replay.js",
    "results.js",
    "files.js",
    "about.js",
    "live.js",
    "race.js",
)


def script() -> str:
    """All scripts in the order in which they need each other; defines `window.hsdRace`."""
    return "\n".join((FOLDER / name).read_text(encoding="utf-8") for name in SCRIPTS)


def style() -> str:
    """The style sheet."""
    return (FOLDER / "race.css").read_text(encoding="utf-8")
