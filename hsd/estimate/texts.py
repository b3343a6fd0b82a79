"""Texts with the log-probabilities of target and draft: JSON lines, and answers of servers.

A line is {"logp": […], "logq": […]}, natural logarithms of a text's tokens, optionally with
`tokens` (their texts), `text`, `kind` and `id`; or {"target": ANSWER, "draft": ANSWER}, two answers
of OpenAI-compatible servers: the target's with its log-probabilities (`logprobs`), and the draft's
score of the same tokens (`echo` with `logprobs`, or vLLM's `prompt_logprobs`).
"""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hsd.errors import HsdError

Values = Mapping[str, Any]
FORM = '{"logp": […], "logq": […]}'
RAW = (
    "ask for log-probabilities of what is sampled from (processed), or draw texts at temperature 1"
)
FEWEST = 100  # tokens, from which on their average says something
SURE = 4.0  # standard errors
ROUNDING = 1e-3  # by which a log-probability of single precision may be above 0


class OtherTokens(HsdError):
    """Two models read a text in different tokens."""


@dataclass(frozen=True)
class ScoredText:
    """A text that the target wrote, with two numbers for each of its tokens.

    logp, logq: (n,) float64, natural logarithms of the probability under target and draft, given
    the text before. tokens: their texts, if known.
    """

    logp: NDArray[np.float64]
    logq: NDArray[np.float64]
    name: str = ""
    kind: str = ""
    tokens: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.logp)


def read_texts(file: Path) -> list[ScoredText]:
    """Read a file of JSON lines.

    Raises HsdError, one line, which names the line of the file that cannot be used and what to do.
    """
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        raise HsdError(f"{str(file)!r} is not UTF-8: give a file of JSON lines") from None
    except OSError as error:
        raise HsdError(
            f"cannot read {str(file)!r} ({error.strerror or error}): give a file of JSON lines"
        ) from None
    texts = [
        read_line(line, f"line {number}")
        for number, line in enumerate(lines, start=1)
        if line.strip()
    ]
    return checked(texts)


def read_line(line: str, where: str) -> ScoredText:
    """Read one text. where: names it in errors. Raises HsdError."""
    try:
        values = json.loads(line)
    except (ValueError, RecursionError):
        raise HsdError(f"{where} is no JSON: give a text a line, as {FORM}") from None
    if not isinstance(values, dict):
        raise HsdError(f"{where} is no JSON object: give {FORM}")
    return of_values(values, where)


def of_values(values: Values, where: str) -> ScoredText:
    """Return the text that plain data describes. Raises HsdError."""
    _refuse_raw(values, where)
    name = str(values.get("id", where))
    kind = str(values.get("kind", ""))
    if "target" in values and "draft" in values:
        tokens, logp = scores_of_own(values["target"], where)
        logq = scores_of_given(values["draft"], tokens, where)
    elif "logp" in values and "logq" in values:
        logp = _numbers(values["logp"], f"{where}, logp")
        logq = _numbers(values["logq"], f"{where}, logq")
        pieces = values.get("tokens")
        tokens = tuple(map(str, pieces)) if isinstance(pieces, list) else ()
    else:
        raise HsdError(f"{where} has neither logp and logq nor target and draft: give {FORM}")
    return text_of_scores(logp, logq, tokens, name, kind, where)


def text_of_scores(
    logp: list[float],
    logq: list[float],
    tokens: tuple[str, ...],
    name: str,
    kind: str,
    where: str,
) -> ScoredText:
    """Check the numbers of a text and return it. Raises HsdError."""
    if len(logp) != len(logq):
        raise HsdError(
            f"{where} has {len(logp):,} numbers of the target and {len(logq):,} of the draft: give "
            "one of each for every token"
        )
    if tokens and len(tokens) != len(logp):
        raise HsdError(
            f"{where} has {len(tokens):,} tokens and {len(logp):,} numbers: give as many"
        )
    if not logp:
        raise HsdError(f"{where} has no token: leave the text out")
    for what, numbers in (("logp", logp), ("logq", logq)):
        if any(number > ROUNDING or math.isnan(number) for number in numbers):
            raise HsdError(
                f"{where}, {what}: a number above 0 is no logarithm of a probability: give natural "
                "logarithms"
            )
    if -math.inf in logp:
        place = logp.index(-math.inf) + 1
        raise HsdError(
            f"{where}: the target gives token {place} the probability 0, so it did not write it: "
            "give log-probabilities of the settings that the text was drawn with"
        )
    p, q = (np.minimum(np.array(numbers, np.float64), 0.0) for numbers in (logp, logq))
    return ScoredText(p, q, name, kind, tokens)


def _refuse_raw(values: Values, where: str) -> None:
    """Refuse raw log-probabilities of a text that was drawn in another way than at temperature 1.

    The line says how: `temperature`, `top_p`, `top_k`, and `processed` if the numbers are of what
    was sampled from.
    """
    if values.get("processed") is True or values.get("logprobs_mode") == "processed_logprobs":
        return
    plain = {"temperature": (1, None), "top_p": (1, None), "top_k": (0, -1, None)}
    for name, neutral in plain.items():
        if values.get(name) not in neutral:
            raise HsdError(
                f"{where} was drawn with {name} {values[name]}, and nothing says that its numbers "
                f'are of that distribution ("processed": true): {RAW}'
            )


def _numbers(values: Any, where: str) -> list[float]:
    """Return log-probabilities as floats; "-inf" and "-Infinity" are allowed. Raises HsdError."""
    if not isinstance(values, list):
        raise HsdError(f"{where} is no list: give {FORM}")
    if values[:1] == [None]:
        raise HsdError(
            f"{where} lacks its first number, as nothing stands before that token: score the "
            "prompt and the answer together, and give the answer's tokens"
        )
    numbers = []
    for place, value in enumerate(values, start=1):
        if value in ("-inf", "-Infinity"):
            value = -math.inf
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            raise HsdError(f"{where}, token {place}: {str(value)[:40]!r} is no number: give {FORM}")
        numbers.append(float(value))
    return numbers


# ---- answers of servers


def scores_of_own(answer: Any, where: str) -> tuple[tuple[str, ...], list[float]]:
    """Return the tokens' texts and log-probabilities of a server's own answer. Raises HsdError."""
    logprobs = _choice(answer, f"{where}, target").get("logprobs")
    rows = logprobs.get("content") if isinstance(logprobs, dict) else None
    if isinstance(rows, list):  # of a chat
        tokens = [row.get("token") if isinstance(row, dict) else None for row in rows]
        numbers = [row.get("logprob") if isinstance(row, dict) else None for row in rows]
    elif isinstance(logprobs, dict):
        tokens = logprobs.get("tokens") or []
        numbers = logprobs.get("token_logprobs") or []
    else:
        raise HsdError(
            f'{where}: the target\'s answer has no log-probabilities: ask for them ("logprobs": '
            "true for chats, 1 for completions)"
        )
    return tuple(map(str, tokens)), _numbers(numbers, f"{where}, target")


def scores_of_given(answer: Any, tokens: tuple[str, ...], where: str) -> list[float]:
    """Return the draft's log-probabilities of these tokens, at the end of what it was given.

    The answer is to a completion with `echo` and `logprobs`, or has vLLM's `prompt_logprobs`. The
    tokens that the draft itself added are left out. Raises HsdError, also if it reads other tokens.
    """
    choice = _choice(answer, f"{where}, draft")
    prompt = choice.get("prompt_logprobs") or _field(answer, "prompt_logprobs")
    if isinstance(prompt, list):
        rows = [next(iter(row.values())) if row else {} for row in prompt]
        texts = [str(row.get("decoded_token")) for row in rows]
        numbers = [row.get("logprob") for row in rows]
    else:
        logprobs = choice.get("logprobs")
        if not isinstance(logprobs, dict) or not isinstance(logprobs.get("tokens"), list):
            raise HsdError(
                f'{where}: the draft\'s answer does not score the text: ask with "echo": true and '
                '"logprobs": 1, or "prompt_logprobs": 0'
            )
        added = _added(answer)
        end = len(logprobs["tokens"]) - added
        texts = list(map(str, logprobs["tokens"][:end]))
        numbers = (logprobs.get("token_logprobs") or [])[:end]
    begin = len(texts) - len(tokens)
    if begin < 0:
        raise HsdError(
            f"{where}: the draft scored {len(texts):,} tokens, and the answer has {len(tokens):,}: "
            "score the prompt and the whole answer"
        )
    for place, (own, theirs) in enumerate(zip(tokens, texts[begin:], strict=True), start=1):
        if own != theirs:
            raise OtherTokens(
                f"{where}: token {place} is {own[:40]!r} for the target and {theirs[:40]!r} for "
                "the draft: choose a draft with the same tokenizer"
            )
    return _numbers(numbers[begin:], f"{where}, draft")


def _added(answer: Any) -> int:
    """Return how many tokens a server added to what it echoes."""
    usage = _field(answer, "usage")
    added = usage.get("completion_tokens") if isinstance(usage, dict) else None
    return added if isinstance(added, int) else 1


def _choice(answer: Any, where: str) -> dict[str, Any]:
    choices = _field(answer, "choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], dict):
        return choices[0]
    raise HsdError(f"{where} is no answer of an OpenAI-compatible server: give one with choices")


def _field(answer: Any, name: str) -> Any:
    return answer.get(name) if isinstance(answer, dict) else None


# ---- traps over all texts


def checked(texts: Iterable[ScoredText]) -> list[ScoredText]:
    """Return the texts, unless their numbers cannot be what they should be. Raises HsdError."""
    kept = list(texts)
    if not kept:
        raise HsdError(f"there is no text: give {FORM} a line")
    for what, numbers in (
        ("target", [text.logp for text in kept]),
        ("draft", [text.logq for text in kept]),
    ):
        if all((row == 0).all() for row in numbers):
            raise HsdError(
                f"the {what} gives every token the probability 1: its server does not fill "
                "log-probabilities in; use one that does, or a later version"
            )
    _refuse_foreign(kept)
    return kept


def _refuse_foreign(texts: list[ScoredText]) -> None:
    """Refuse texts that the target did not write, where that shows.

    The average of q / p over tokens that were drawn from p is the draft's mass on tokens that the
    target may write, so at most 1. It is above by more than chance where texts are of somebody
    else, were drawn at another temperature, or where target and draft changed places.
    """
    ratios = np.concatenate([np.exp(np.minimum(text.logq - text.logp, 50.0)) for text in texts])
    error = ratios.std() / math.sqrt(len(ratios))
    if len(ratios) >= FEWEST and ratios.mean() - SURE * error > 1.0:
        raise HsdError(
            f"the draft finds these texts likelier than the target does (q / p is "
            f"{ratios.mean():.2f} on average, and at most 1 where the target wrote them): give "
            "texts that the target drew with these settings, and the target's numbers as logp"
        )
