"""Pairs as the page names them: a name from the manifest, or two models of the visitor's own."""

from dataclasses import dataclass
from typing import Any

from hsd.app import device, downloads
from hsd.decoding.system import ALONE, HISPEC_THRESHOLDS
from hsd.errors import HsdError
from hsd.models import Pair
from hsd.models.exits import default_exits
from hsd.models.loading import fetch, fetch_pair, hub, load_pair
from hsd.models.loading.registry import PAIRS, tuned_for_chat
from hsd.space import Space

OWN = "own"


@dataclass(frozen=True)
class PairChoice:
    """Which pair to run; plain data, so that it can travel to another process.

    name: of a pair in the manifest, or `OWN`. target, draft: None for a pair that does not come
    from the Hub.
    """

    name: str
    target: str | None = None
    draft: str | None = None

    @property
    def from_hub(self) -> bool:
        return self.target is not None


def choose(space: Space, name: str, target: str = "", draft: str = "") -> PairChoice:
    """Return the choice that the controls or a link describe.

    Raises HsdError when it is not offered here.
    """
    if target.strip() or draft.strip():
        if not device.own_pairs_allowed(space):
            raise HsdError("own models cannot be loaded here: run the app on your own machine")
        if not (target.strip() and draft.strip()):
            raise HsdError(
                "an own pair needs both a target and a draft: give two folders or two Hub ids"
            )
        return PairChoice(OWN, target.strip(), draft.strip())
    spec = next((pair for pair in device.offered(space) if pair.name == name), None)
    if spec is None:
        names = [pair.name for pair in downloads.available(space)]
        known = any(pair.name == name for pair in space.pairs)
        why = (
            f"the pair {name!r} needs a larger GPU than this machine has"
            if known
            else f"unknown pair {name!r}"
        )
        remedy = (
            f"choose {', '.join(names)}"
            if names
            else "no pair can run here yet, so wait for a download, or use a machine with a GPU"
        )
        raise HsdError(f"{why}: {remedy}")
    news = downloads.news(spec)  # of a pair that comes from the package index
    if news is downloads.ABSENT:
        load_pair(spec.name)  # raises, and says what to do
    if news.coming:
        why = f"{spec.short_title} is not here yet ({news.words})"
        raise HsdError(
            f"{why}: try again when it is, or choose the pair {downloads.first(space).name}"
        )
    if news.problem:
        raise HsdError(news.problem)
    return PairChoice(spec.name, spec.target, spec.draft)


def chats(space: Space, name: str) -> bool:
    """Return whether a pair of the manifest takes questions: whether it was tuned on chats."""
    spec = next((pair for pair in space.pairs if pair.name == name), None)
    model = fetch.MODELS.get(name)
    pair = fetch_pair.PAIRS.get(name)
    title = model.title if model else pair.target.title if pair else name
    return spec is not None and tuned_for_chat(spec.target or title)


def load(choice: PairChoice) -> Pair:
    """Return the pair itself; from memory when it was loaded before.

    Raises HsdError when it cannot be loaded.
    """
    return _load_models(choice) if choice.from_hub else load_pair(choice.name)


def needs_lent_gpu(choice: PairChoice) -> bool:
    """Return whether a run of this pair needs a GPU that is lent, as on ZeroGPU.

    If so, fetch its files first: thus no lent second is spent waiting for the network. The models
    are loaded in the process that is lent the GPU: outside it CUDA is a stand-in that holds in the
    main thread only, and `transformers` loads in threads. Raises HsdError where the files cannot be
    had.
    """
    if not (device.zero_gpu() and choice.from_hub):
        return False
    for name in (choice.target, choice.draft):
        if name is not None:
            hub.bring(name)
    return True


def _load_models(choice: PairChoice) -> Pair:
    named = PAIRS.get(choice.name)
    published = named and (named.target, named.draft) == (choice.target, choice.draft)
    try:
        if published:
            return load_pair(choice.name)
        return load_pair(target=choice.target, draft=choice.draft)
    except HsdError as error:
        offline = "HF_HUB_OFFLINE" in str(error)
        remedy = "start it with HF_HUB_OFFLINE=0 to load models from the Hub"
        hint = f"; this app works offline: {remedy}" if offline else ""
        raise HsdError(f"{error}{hint}") from None


def describe(space: Space, name: str) -> dict[str, Any]:
    """Return what the page says about a pair of the manifest.

    That is its title, the device, and its levels, see `levels`. Pairs are loaded for that; those
    from the Hub only if they are to be preloaded, and never on ZeroGPU.
    """
    chosen = choose(space, name)
    spec = next(pair for pair in space.pairs if pair.name == chosen.name)
    chip: dict[str, Any] = {"name": spec.name, "title": spec.title, "device": device.label(spec)}
    if spec.from_hub and (device.zero_gpu() or not spec.preload):
        return chip
    try:
        pair = load(chosen)
    except HsdError as error:
        return chip | {"problem": str(error)}
    return chip | {"levels": levels(pair)}


def levels(pair: Pair) -> dict[str, Any]:
    """Return facts about the levels of a pair, by name.

    models: their names, smallest first; then the target's layers, and HiSpec's usual exits and
    thresholds. A target whose layers cannot be told apart has no layers and no exits.
    """
    models = [model.name for model in pair.models]
    target = pair.target
    try:
        exits = default_exits(target)
    except HsdError:
        return {"models": models, "layers": 0, "exits": [], "thresholds": []}
    layers: int = target.layers  # type: ignore[attr-defined]
    thresholds = HISPEC_THRESHOLDS if len(exits) > 1 else ALONE
    return {"models": models, "layers": layers, "exits": exits, "thresholds": thresholds}


def credits(space: Space) -> list[str]:
    """Return a line for each pair from the package index.

    It says whose models these are, and under which licence.
    """
    fetched: dict[str, Any] = {**fetch.MODELS, **fetch_pair.PAIRS}
    known = [(pair.short_title, fetched[pair.name]) for pair in space.pairs if pair.name in fetched]
    return [
        f"{title}: {model.note}; licence {model.licence}, {model.credit}" for title, model in known
    ]
