"""Texts that one server wrote and another one scored, for `hsd.estimate`.

Both are OpenAI-compatible and give log-probabilities: of what they write, and of a text that they
are given, by a completion with `echo`. vLLM also takes and gives token ids, which it does with
`return_token_ids`; other servers get the text, whose tokens are then compared.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from hsd.bench.prompts import PromptSet
from hsd.bench.server import Server
from hsd.errors import HsdError
from hsd.estimate import ScoredText
from hsd.estimate.texts import RAW, made, scored, written
from hsd.http_client import json_of

APART = 0.2  # nats per token, from which on two scores of a text by one server differ


@dataclass(frozen=True)
class Writing:
    """How the target writes. processed: both servers' numbers are of what is sampled from."""

    new_tokens: int
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    processed: bool = False

    def __post_init__(self) -> None:
        plain = self.temperature == 1 and self.top_p == 1 and self.top_k == 0
        if not plain and not self.processed:
            raise HsdError(
                f"servers give raw log-probabilities unless they were told otherwise: {RAW}, and "
                "say --processed"
            )

    @property
    def options(self) -> dict[str, Any]:
        """The fields of a request."""
        fields: dict[str, Any] = {"temperature": self.temperature, "max_tokens": self.new_tokens}
        if self.top_p != 1:
            fields["top_p"] = self.top_p
        if self.top_k:
            fields["top_k"] = self.top_k
        return fields


def scored_by_servers(
    target: Server, draft: Server, prompts: PromptSet, writing: Writing, seeds: Iterable[int]
) -> Iterator[tuple[ScoredText | None, str]]:
    """Yield a text of the target for each prompt and seed, scored by the draft.

    Where the draft reads a text in other tokens, the text is None and the reason stands beside it.
    Raises HsdError, one line, for servers without such numbers.
    """
    kinds = prompts.kinds or [""] * len(prompts.prompts)
    checked_once = False
    for number, (prompt, kind) in enumerate(zip(prompts.prompts, kinds, strict=True), start=1):
        for seed in seeds:
            where = f"prompt {number}"
            body = writing.options | {"seed": seed, "return_token_ids": True}
            answer = _ask(target, prompt, body)
            tokens, logp = written(answer, where)
            if not logp:
                continue
            text = _whole_text(answer, prompt)
            if not checked_once:
                _check_own_score(target, text, tokens, logp)
                checked_once = True
            try:
                logq = _score(draft, text, tokens, where)
                yield made(logp, logq, tokens, where, kind, where), ""
            except HsdError as error:
                if "same tokenizer" not in str(error):
                    raise
                yield None, str(error)


def _ask(server: Server, prompt: str | list[int], body: dict[str, Any]) -> dict[str, Any]:
    """Return a server's completion with log-probabilities. Raises HsdError."""
    whole = {"model": server.model, "prompt": prompt, "logprobs": 1, **body}
    return json_of(server.url + "/v1/completions", server.timeout, whole, server.key)


def _score(
    server: Server, text: str | list[int], tokens: tuple[str, ...], where: str
) -> list[float]:
    """Return a server's log-probabilities of the tokens at the end of a text. Raises HsdError."""
    body = {"echo": True, "max_tokens": 1, "temperature": 1.0}
    return scored(_ask(server, text, body), tokens, where)


def _whole_text(answer: dict[str, Any], prompt: str) -> str | list[int]:
    """Return prompt and answer together: as token ids where the server told them, else as text."""
    choice = answer["choices"][0]
    before = choice.get("prompt_token_ids") or answer.get("prompt_token_ids")
    ids = choice.get("token_ids")
    if isinstance(before, list) and isinstance(ids, list):
        return [*before, *ids]
    return prompt + str(choice.get("text", ""))


def _check_own_score(
    target: Server, text: str | list[int], tokens: tuple[str, ...], logp: list[float]
) -> None:
    """Refuse a target that scores a text otherwise than when it wrote it.

    One of the two numbers is then raw and the other is not, and the draft's would be raw, too.
    """
    own = _score(target, text, tokens, "the target's own score")
    apart = sum(abs(a - b) for a, b in zip(own, logp, strict=True)) / len(logp)
    if apart > APART:
        raise HsdError(
            f"{target.url} gives its own answer other log-probabilities when that is a prompt "
            f"({apart:.2f} nats a token apart), so they are raw there: {RAW}"
        )
