"""The browser-side player: plain JavaScript and CSS, read from the files beside this one. See README.md."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent
SCRIPTS = (
    "format.js",
    "dom.js",
    "model.js",
    "mirror.js",
    "arithmetic.js",
    "drafts.js",
    "told.js",
    "story.js",
    "formula.js",
    "text.js",
    "transport.js",
    "rows.js",
    "layout.js",
    "mass.js",
    "tests.js",
    "tree.js",
    "changes.js",
    "cards.js",
    "ledger.js",
    "table.js",
    "export.js",
    "help.js",
    "frame.js",
    "stage.js",
    "player.js",
)


def script() -> str:
    """All scripts in the order in which they need each other; defines `window.hsdPlayer`."""
    return "\n".join((FOLDER / name).read_text(encoding="utf-8") for name in SCRIPTS)


def style() -> str:
    """The style sheet."""
    return (FOLDER / "player.css").read_text(encoding="utf-8")
