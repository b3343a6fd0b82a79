"""Pairs with a name: the embedded one, one from the package index, and published models.

These share a tokenizer, or are a target with a published EAGLE-3 head. Nothing is loaded here, and
no network is asked. What a pair needs is computed from `hsd.models.loading.memory`.
"""

from dataclasses import dataclass
from difflib import get_close_matches

from hsd.errors import HsdError
from hsd.models.loading import fetch, fetch_pair
from hsd.models.loading.memory import PUBLISHED, SIZES

EMBEDDED = {
    "tiny": "two small models trained from scratch for this project: the decoding is real, the "
    "models are toys"
}
FETCHED = {name: model.note for name, model in fetch.MODELS.items()}
FETCHED_PAIRS = {name: pair.note for name, pair in fetch_pair.PAIRS.items()}


@dataclass(frozen=True)
class NamedPair:
    """A target and a draft on the Hub, the target tuned on chats.

    good_for: what the pair is good for.

    licence: of a head, as far as it could be confirmed; "" for a draft model, which has its
    target's.
    """

    name: str
    target: str
    draft: str
    good_for: str
    licence: str = ""

    @property
    def note(self) -> str:
        """What users are told of the pair, such as that the Hub wants a licence to be accepted."""
        times = SIZES[self.target].parameters / SIZES[self.draft].parameters
        head = (
            f", an EAGLE-3 head by {self.draft.split('/')[0]} ({self.licence})"
            if self.licence
            else ""
        )
        pages = "the target's page" if head else "both models' pages"
        gated = self.target.startswith(("meta-llama/", "google/"))
        tail = f"; gated: accept the licence on {pages} first" if gated else ""
        return f"{self.good_for}; the target is {times:.0f} times its draft{head}{tail}"


PAIRS = {name: NamedPair(name, **pair) for name, pair in PUBLISHED["pairs"].items()}
NAMES = (*EMBEDDED, *FETCHED, *FETCHED_PAIRS, *PAIRS)  # that `load_pair` takes


def usual() -> str:
    """Return the default pair of the app and the command line.

    It is a fetched one if there is one, else the toy.
    """
    return next(filter(fetch.fetched_file, FETCHED), next(iter(EMBEDDED)))


# in words, for help texts
USUAL = f"{' or '.join(FETCHED)} where it has been fetched, else {next(iter(EMBEDDED))}"


def draft_length(pair: str | None) -> int:
    """Return the default γ: the fastest one if the pair of that name has been measured, else 5."""
    return {"smollm2": 2}.get(pair or "", 5)


def unknown(name: str) -> HsdError:
    """Return the error for an unknown name, with the names that are nearest to it."""
    # the smallest of each family
    small = [
        *EMBEDDED,
        *FETCHED,
        *FETCHED_PAIRS,
        "qwen2.5-1.5b",
        "qwen3-4b",
        "llama-3.1-8b",
        "gemma-3-4b",
    ]
    near = get_close_matches(name.lower(), NAMES, n=4, cutoff=0.5) or small
    return HsdError(
        f"unknown pair {name[:60]!r}: did you mean {' or '.join(near)}? Or give a target and a "
        "draft"
    )


def tuned_for_chat(model: str) -> bool:
    """Return whether a model (Hub id or folder) is known to be tuned on chats.

    This list or the model's name says so.
    """
    if model in SIZES:
        return True  # all of them are; Qwen3 does not say so in its name
    words = (
        model.rstrip("/\\").replace("\\", "/").split("/")[-1].lower().replace("_", "-").split("-")
    )
    return bool({"instruct", "chat", "it"} & set(words))
