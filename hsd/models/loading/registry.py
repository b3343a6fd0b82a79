"""Pairs that can be asked for by name: the embedded one, one that is fetched from the package index, and published
models that share a tokenizer, or a target with a published EAGLE-3 head.

Nothing is loaded here, and no network is asked. What a pair needs is computed from `hsd.models.loading.sizes`.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches

from hsd.errors import HsdError
from hsd.models.loading import fetch
from hsd.models.loading.sizes import SIZES

EMBEDDED = {
    "tiny": "two small models trained from scratch for this project: the decoding is real, the models are toys",
}
FETCHED = {name: model.note for name, model in fetch.MODELS.items()}


@dataclass(frozen=True)
class NamedPair:
    """A target and a draft on the Hub, the target tuned on chats. good_for: what the pair is good for.

    licence: of a head, as far as it could be confirmed; "" for a draft model, which has its target's.
    """

    name: str
    target: str
    draft: str
    good_for: str
    licence: str = ""

    @property
    def gated(self) -> bool:
        """Whether the Hub gives these models only to who has accepted their licence."""
        return self.target.startswith(("meta-llama/", "google/"))

    @property
    def parameters(self) -> int:
        """Numbers of both models together."""
        return SIZES[self.target].parameters + SIZES[self.draft].parameters

    @property
    def note(self) -> str:
        """What users are told of the pair."""
        ratio = SIZES[self.target].parameters / SIZES[self.draft].parameters
        head = f", an EAGLE-3 head by {self.draft.split('/')[0]} ({self.licence})" if self.licence else ""
        pages = "the target's page" if head else "both models' pages"
        tail = f"; gated: accept the licence on {pages} first" if self.gated else ""
        return f"{self.good_for}; the target is {ratio:.0f} times its draft{head}{tail}"


_SMOLLM2 = "HuggingFaceTB/SmolLM2-{}-Instruct"
_QWEN25 = "Qwen/Qwen2.5-{}-Instruct"
_QWEN3 = "Qwen/Qwen3-{}"
_LLAMA1, _LLAMA2 = "meta-llama/Llama-3.1-{}-Instruct", "meta-llama/Llama-3.2-{}-Instruct"
_GEMMA3 = "google/gemma-3-{}-it"

# name, target and its size, draft and its size, what the pair is good for
_ALL = (
    ("smollm2-1.7b", _SMOLLM2, "1.7B", _SMOLLM2, "135M", "the smallest pair of real models: chat on a CPU or any GPU"),
    ("smollm2-1.7b-360m", _SMOLLM2, "1.7B", _SMOLLM2, "360M", "the same target with a larger draft"),
    ("qwen2.5-1.5b", _QWEN25, "1.5B", _QWEN25, "0.5B", "chat, sums and code on a CPU or any GPU"),
    ("qwen2.5-3b", _QWEN25, "3B", _QWEN25, "0.5B", "chat, sums and code on a small GPU"),
    ("qwen2.5-7b", _QWEN25, "7B", _QWEN25, "0.5B", "chat, sums and code on one GPU"),
    ("qwen2.5-14b", _QWEN25, "14B", _QWEN25, "0.5B", "chat, sums and code on one large GPU"),
    ("qwen2.5-32b", _QWEN25, "32B", _QWEN25, "0.5B", "chat, sums and code on one 80 GB GPU"),
    ("qwen2.5-72b", _QWEN25, "72B", _QWEN25, "0.5B", "chat, sums and code on two or more 80 GB GPUs"),
    ("qwen3-4b", _QWEN3, "4B", _QWEN3, "0.6B", "reasoning before the answer, on a small GPU"),
    ("qwen3-8b", _QWEN3, "8B", _QWEN3, "0.6B", "reasoning before the answer, on one GPU"),
    ("qwen3-14b", _QWEN3, "14B", _QWEN3, "0.6B", "reasoning before the answer, on one large GPU"),
    ("qwen3-32b", _QWEN3, "32B", _QWEN3, "0.6B", "reasoning before the answer, on one 80 GB GPU"),
    ("llama-3.1-8b", _LLAMA1, "8B", _LLAMA2, "1B", "chat on one GPU"),
    ("llama-3.1-70b", _LLAMA1, "70B", _LLAMA2, "1B", "chat on two or more 80 GB GPUs"),
    ("gemma-3-4b", _GEMMA3, "4b", _GEMMA3, "1b", "chat on a small GPU, most layers with a sliding window"),
    ("gemma-3-4b-270m", _GEMMA3, "4b", _GEMMA3, "270m", "the same target with a smaller draft"),
    ("gemma-3-12b", _GEMMA3, "12b", _GEMMA3, "1b", "chat on one large GPU, most layers with a sliding window"),
    ("gemma-3-12b-270m", _GEMMA3, "12b", _GEMMA3, "270m", "the same target with a smaller draft"),
    ("gemma-3-27b", _GEMMA3, "27b", _GEMMA3, "1b", "chat on one 80 GB GPU, most layers with a sliding window"),
    ("gemma-3-27b-270m", _GEMMA3, "27b", _GEMMA3, "270m", "the same target with a smaller draft"),
)

_UNCONFIRMED = "licence not confirmed, see its page"
_ANGELSLIM = "AngelSlim/Qwen3-{}_eagle3"

# The same for heads
_HEADS = (
    ("llama-3.1-8b-eagle3", _LLAMA1, "8B", "yuhuili/EAGLE3-LLaMA3.1-Instruct-{}", "8B", "chat on one GPU"),
    ("qwen3-1.7b-eagle3", _QWEN3, "1.7B", _ANGELSLIM, "1.7B", "reasoning before the answer, on any GPU"),
    ("qwen3-4b-eagle3", _QWEN3, "4B", _ANGELSLIM, "4B", "reasoning before the answer, on a small GPU"),
    ("qwen3-8b-eagle3", _QWEN3, "8B", _ANGELSLIM, "8B", "reasoning before the answer, on one GPU"),
    ("qwen3-14b-eagle3", _QWEN3, "14B", _ANGELSLIM, "14B", "reasoning before the answer, on one large GPU"),
    ("qwen3-32b-eagle3", _QWEN3, "32B", _ANGELSLIM, "32B", "reasoning before the answer, on one 80 GB GPU"),
)

PAIRS: dict[str, NamedPair] = {
    name: NamedPair(name, maker.format(size), drafts.format(small), good_for, licence)
    for rows, licence in ((_ALL, ""), (_HEADS, _UNCONFIRMED))
    for name, maker, size, drafts, small, good_for in rows
}


def names() -> list[str]:
    """Every name that `load_pair` takes, the embedded pair first."""
    return [*EMBEDDED, *FETCHED, *PAIRS]


def usual() -> str:
    """The pair of the app and of the command line where none is named: a fetched one if it is here, else the toy."""
    return next(filter(fetch.find, FETCHED), next(iter(EMBEDDED)))


USUAL = f"{' or '.join(FETCHED)} where it has been fetched, else {next(iter(EMBEDDED))}"
"""The same in words, for help texts."""


def draft_length(pair: str | None) -> int:
    """γ where none is given: what was fastest where the pair of that name was measured, else 5."""
    return {"smollm2": 2}.get(pair or "", 5)


def draft_lengths(pair: str | None) -> tuple[int, ...]:
    """The γ to measure where none are given: those around `draft_length`."""
    return {"smollm2": (1, 2, 3, 5)}.get(pair or "", (3, 5, 10))


def unknown(name: str) -> HsdError:
    """The error for a name that is not there; it tells the nearest ones."""
    near = get_close_matches(name.lower(), names(), n=4, cutoff=0.5) or ["tiny", *_beginning_alike(name)]
    return HsdError(f"unknown pair {name[:60]!r}: did you mean {' or '.join(near)}? Or give a target and a draft")


def _beginning_alike(name: str) -> list[str]:
    """The smallest pair of each family, or of the one that the name begins like."""
    head = name.lower()[:4]
    alike = [known for known in PAIRS if head and known.startswith(head)]
    return (alike or ["smollm2-1.7b", "qwen2.5-1.5b", "qwen3-4b", "llama-3.1-8b", "gemma-3-4b"])[:5]


def tuned_for_chat(model: str) -> bool:
    """Whether a model is known to be tuned on chats: by this list, or by what its makers call it.

    model: a Hub id or a folder.
    """
    if model in SIZES:
        return True  # all of them are; Qwen3 does not say so in its name
    words = model.rstrip("/\\").replace("\\", "/").split("/")[-1].lower().replace("_", "-").split("-")
    return bool({"instruct", "chat", "it"} & set(words))
