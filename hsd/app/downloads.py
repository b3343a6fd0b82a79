"""Models that are fetched while the app runs.

It knows which pairs are ready, and the progress of the others. One thread fetches; nothing else
waits for it. A model fetched by another program is noticed too. Large pairs are fetched only when
a visitor of an app on this machine asks for one.
"""

import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hsd.app import device
from hsd.errors import HsdError
from hsd.models.loading import fetch, fetch_pair
from hsd.models.loading.registry import FETCHED, FETCHED_PAIRS
from hsd.space import PairSpec, Space

EARLY = 0.05  # share of a stage before which nobody knows how long it takes
LINES = 4  # in the terminal for each stage, at most
COMING = ("waiting", "downloading", "checking")  # stages of `hsd.models.loading.fetch`


@dataclass(frozen=True)
class News:
    """The progress of a pair.

    stage: "here", "absent" (and not being fetched), "failed", or one of `COMING`.

    share: how much of the stage is done, 0 to 1. problem: one line, where it has failed. seconds:
    of the stage so far.
    """

    stage: str
    share: float = 0.0
    problem: str = ""
    seconds: float = 0.0

    @property
    def coming(self) -> bool:
        return self.stage in COMING

    @property
    def words(self) -> str:
        """The status of a model that is not here, in words."""
        if not self.coming:
            return f"✕ {self.problem}"
        left = self.seconds * (1 / self.share - 1) if self.share > EARLY else 0
        rest = f", about {left:.0f} s left" if left else ""
        return f"{self.stage} … {100 * self.share:.0f} %{rest}"


HERE = News("here")
ABSENT = News("absent")
_news: dict[str, News] = {}  # of those that were to be fetched


def news(pair: PairSpec) -> News:
    """Return the progress of a pair of the manifest."""
    here = pair.from_hub or pair.name not in (*FETCHED, *FETCHED_PAIRS)
    if pair.name in FETCHED:
        here = fetch.fetched_file(pair.name) is not None
    if pair.name in FETCHED_PAIRS:
        here = fetch_pair.fetched_pair(pair.name) is not None
    return HERE if here else _news.get(pair.name, ABSENT)


def available(space: Space) -> list[PairSpec]:
    """Return the pairs that can be run at this moment."""
    return [pair for pair in device.offered(space) if news(pair) is HERE]


def first(space: Space) -> PairSpec:
    """Return the pair to start with: the first of the manifest that can be run."""
    return next(iter(available(space)), space.pairs[0])


def stand_in(space: Space, name: str) -> str:
    """Return `name`, or another pair's name where that one is missing and not being fetched."""
    spec = next((pair for pair in device.offered(space) if pair.name == name), None)
    return name if spec is None or news(spec) is HERE or news(spec).coming else first(space).name


def offers(space: Space) -> dict[str, Any]:
    """Return the state of all downloads as plain data.

    lines: one for each that is under way or failed. here: the ready pairs. offers: large pairs that
    a visitor may have fetched, with their bytes.
    """
    known = [(pair, news(pair)) for pair in device.offered(space)]
    lines = [f"{pair.short_title}: {now.words}" for pair, now in known if now.coming or now.problem]
    here = [{"name": pair.name, "title": pair.title} for pair, now in known if now is HERE]
    large = [pair for pair, now in known if pair.name in FETCHED_PAIRS and now is ABSENT]
    sizes = {pair.name: fetch_pair.PAIRS[pair.name].wheel_bytes for pair in large}
    may = large if device.own_pairs_allowed(space) else []
    return {
        "lines": lines,
        "here": here,
        "offers": [
            {"name": pair.name, "title": pair.short_title, "bytes": sizes[pair.name]}
            for pair in may
        ],
        "coming": any(now.coming for _, now in known),
    }


def begin(
    space: Space, then: Callable[[str], object] = lambda name: None
) -> threading.Thread | None:
    """Fetch missing pairs in the background, unless HSD_DOWNLOAD is 0; no large ones.

    then: called with each name once it is ready.
    """
    missing = [
        pair
        for pair in device.offered(space)
        if news(pair) is not HERE and pair.name not in FETCHED_PAIRS
    ]
    if not missing or os.environ.get("HSD_DOWNLOAD") == "0":
        return None
    return _begin(missing, then)


def start(space: Space, name: str) -> threading.Thread:
    """Fetch a large pair in the background. Raises HsdError unless it is one of `offers`."""
    offered = {offer["name"] for offer in offers(space)["offers"]}
    if name not in offered:
        raise HsdError(f"{name[:60]!r} cannot be fetched from here: run python -m hsd fetch")
    return _begin([pair for pair in space.pairs if pair.name == name], lambda name: None)


def _begin(missing: list[PairSpec], then: Callable[[str], object]) -> threading.Thread:
    """Start a thread that fetches pairs, and return it."""
    _news.update({pair.name: News("downloading") for pair in missing})
    thread = threading.Thread(target=_fetch_all, args=[missing, then], daemon=True)
    thread.start()
    return thread


def _fetch_all(missing: list[PairSpec], then: Callable[[str], object]) -> None:
    for pair in missing:
        try:
            if pair.name in FETCHED_PAIRS:
                fetch_pair.fetch_pair(pair.name, _progress(pair))
            else:
                fetch.fetch(pair.name, _progress(pair))
        except HsdError as error:
            _tell(pair, News("failed", problem=str(error)))
        except Exception as error:
            words = f"that failed ({type(error).__name__}): run python -m hsd fetch {pair.name}"
            _tell(pair, News("failed", problem=words))
            raise  # not expected: the terminal shows where
        else:
            print(f"{pair.short_title}: is here", file=sys.stderr, flush=True)
            then(pair.name)


def _tell(pair: PairSpec, news: News) -> None:
    _news[pair.name] = news
    print(f"{pair.short_title}: {news.words}", file=sys.stderr, flush=True)


def _progress(pair: PairSpec) -> Callable[[str, float], None]:
    """Return a callback for a fetch's progress.

    It keeps the progress for the page, and prints a line now and then.
    """
    last: tuple[str, int] = ("", 0)
    began = dict[str, float]()

    def report(stage: str, share: float) -> None:
        nonlocal last
        clock = time.monotonic()
        _news[pair.name] = News(stage, share, seconds=clock - began.setdefault(stage, clock))
        now = (stage, int(share * LINES))
        if now != last:
            last = now
            _tell(pair, _news[pair.name])

    return report
