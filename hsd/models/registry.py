"""Pairs that can be asked for by name: the embedded one, and published models that share a tokenizer.

Nothing is loaded here, and no network is asked. What a pair needs is computed from `hsd.models.sizes`.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches

from hsd.errors import HsdError
from hsd.models.sizes import SIZES

EMBEDDED = {
    "tiny": "two small models trained from scratch for this project: the decoding is real, the models are toys",
}


@dataclass(frozen=True)
class NamedPair:
    """A target and a draft on the Hub. note: what the pair is good for, shown to users.

    revision, draft_revision: a commit to load instead of the newest; None where none was pinned. gated: the Hub gives
    these models only to who has accepted their licence. instruct: the target was tuned on chats, so that prompts are
    put in its chat template.
    """

    name: str
    target: str
    draft: str
    note: str
    revision: str | None = None
    draft_revision: str | None = None
    gated: bool = False
    instruct: bool = True

    @property
    def parameters(self) -> int:
        """Numbers of both models together."""
        return SIZES[self.target].parameters + SIZES[self.draft].parameters


def _pair(name: str, target: str, draft: str, good_for: str, gated: bool = False) -> NamedPair:
    ratio = SIZES[target].parameters / SIZES[draft].parameters
    tail = "; gated: accept the licence on both models' pages first" if gated else ""
    return NamedPair(name, target, draft, f"{good_for}; the target is {ratio:.0f} times its draft{tail}", gated=gated)


def _qwen25(size: str, good_for: str) -> NamedPair:
    draft = "Qwen/Qwen2.5-0.5B-Instruct"
    return _pair(f"qwen2.5-{size.lower()}", f"Qwen/Qwen2.5-{size}-Instruct", draft, good_for)


def _qwen3(size: str, good_for: str) -> NamedPair:
    return _pair(f"qwen3-{size.lower()}", f"Qwen/Qwen3-{size}", "Qwen/Qwen3-0.6B", good_for)


def _llama(size: str, good_for: str) -> NamedPair:
    target, draft = f"meta-llama/Llama-3.1-{size}-Instruct", "meta-llama/Llama-3.2-1B-Instruct"
    return _pair(f"llama-3.1-{size.lower()}", target, draft, good_for, gated=True)


def _smollm2(draft: str, name: str, good_for: str) -> NamedPair:
    maker = "HuggingFaceTB/SmolLM2"
    return _pair(name, f"{maker}-1.7B-Instruct", f"{maker}-{draft}-Instruct", good_for)


def _gemma3(size: str, draft: str, good_for: str) -> NamedPair:
    name = f"gemma-3-{size}" + ("" if draft == "1b" else f"-{draft}")
    return _pair(name, f"google/gemma-3-{size}-it", f"google/gemma-3-{draft}-it", good_for, gated=True)


_ALL = (
    _smollm2("135M", "smollm2-1.7b", "the smallest pair of real models: chat on a CPU or any GPU"),
    _smollm2("360M", "smollm2-1.7b-360m", "the same target with a larger draft"),
    _qwen25("1.5B", "chat, sums and code on a CPU or any GPU"),
    _qwen25("3B", "chat, sums and code on a small GPU"),
    _qwen25("7B", "chat, sums and code on one GPU"),
    _qwen25("14B", "chat, sums and code on one large GPU"),
    _qwen25("32B", "chat, sums and code on one 80 GB GPU"),
    _qwen25("72B", "chat, sums and code on two or more 80 GB GPUs"),
    _qwen3("4B", "reasoning before the answer, on a small GPU"),
    _qwen3("8B", "reasoning before the answer, on one GPU"),
    _qwen3("14B", "reasoning before the answer, on one large GPU"),
    _qwen3("32B", "reasoning before the answer, on one 80 GB GPU"),
    _llama("8B", "chat on one GPU"),
    _llama("70B", "chat on two or more 80 GB GPUs"),
    _gemma3("4b", "1b", "chat on a small GPU, most layers with a sliding window"),
    _gemma3("4b", "270m", "the same target with a smaller draft"),
    _gemma3("12b", "1b", "chat on one large GPU, most layers with a sliding window"),
    _gemma3("12b", "270m", "the same target with a smaller draft"),
    _gemma3("27b", "1b", "chat on one 80 GB GPU, most layers with a sliding window"),
    _gemma3("27b", "270m", "the same target with a smaller draft"),
)

PAIRS: dict[str, NamedPair] = {pair.name: pair for pair in _ALL}


def names() -> list[str]:
    """Every name that `load_pair` takes, the embedded pair first."""
    return [*EMBEDDED, *PAIRS]


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
