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
from hsd.estimate.texts import RAW, OtherTokens, scores_of_given, scores_of_own, text_of_scores
from hsd.http_client import json_of

TRIED = 16  # tokens that a server writes and scores before anything else
APART = 0.2  # nats per token, from which on two scores of a text by one server differ
SAME = 1e-3  # below which they are the same


@dataclass(frozen=True)
class Writing:
    """How the target writes. processed: both servers' numbers are of what is sampled from."""

    new_tokens: int
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    processed: bool = False

    @property
    def plain(self) -> bool:
        """Whether raw numbers are those of what is sampled from."""
        return self.temperature == 1 and self.top_p == 1 and self.top_k == 0

    def __post_init__(self) -> None:
        if not self.plain and not self.processed:
            raise HsdError(
                f"servers give raw log-probabilities unless they are set otherwise: {RAW}, and "
                "say --processed"
            )

    @property
    def options(self) -> dict[str, Any]:
        """The fields of a request that say how is sampled."""
        fields: dict[str, Any] = {"temperature": self.temperature}
        if self.top_p != 1:
            fields["top_p"] = self.top_p
        if self.top_k:
            fields["top_k"] = self.top_k
        return fields

    def request(self, new_tokens: int, seed: int) -> dict[str, Any]:
        """Return the fields of a request for a text."""
        about = {"max_tokens": new_tokens, "seed": seed, "return_token_ids": True}
        return about | self.options


def scored_by_servers(
    target: Server, draft: Server, prompts: PromptSet, writing: Writing, seeds: Iterable[int]
) -> Iterator[tuple[ScoredText | None, str]]:
    """Yield a text of the target for each prompt and seed, scored by the draft.

    Where the draft reads a text in other tokens, the text is None and the reason stands beside it.
    Raises HsdError, one line, for servers without such numbers, or whose numbers are not right.
    """
    kinds = prompts.kinds or [""] * len(prompts.prompts)
    for server in (target, draft):
        _check_scores(server, prompts.prompts[0], writing)
    for number, (prompt, kind) in enumerate(zip(prompts.prompts, kinds, strict=True), start=1):
        for seed in seeds:
            where = f"prompt {number}"
            answer = _ask(target, prompt, writing.request(writing.new_tokens, seed))
            tokens, logp = scores_of_own(answer, where)
            if not logp:
                continue
            try:
                logq = _score(draft, _whole_text(answer, prompt), tokens, where, writing.options)
                yield text_of_scores(logp, logq, tokens, where, kind, where), ""
            except OtherTokens as error:
                yield None, str(error)


def _ask(server: Server, prompt: str | list[int], body: dict[str, Any]) -> dict[str, Any]:
    """Return a server's completion with log-probabilities. Raises HsdError."""
    whole = {"model": server.model, "prompt": prompt, "logprobs": 1, **body}
    return json_of(server.url + "/v1/completions", server.timeout, whole, server.key)


def _score(
    server: Server,
    text: str | list[int],
    tokens: tuple[str, ...],
    where: str,
    options: dict[str, Any],
) -> list[float]:
    """Return a server's log-probabilities of the tokens at the end of a text. Raises HsdError."""
    body = {"echo": True, "max_tokens": 1, **options}
    return scores_of_given(_ask(server, text, body), tokens, where)


def _whole_text(answer: dict[str, Any], prompt: str) -> str | list[int]:
    """Return prompt and answer together: as token ids where the server told them, else as text."""
    choice = answer["choices"][0]
    before = choice.get("prompt_token_ids") or answer.get("prompt_token_ids")
    ids = choice.get("token_ids")
    if isinstance(before, list) and isinstance(ids, list):
        return [*before, *ids]
    return prompt + str(choice.get("text", ""))


def _check_scores(server: Server, prompt: str, writing: Writing) -> None:
    """Refuse a server whose numbers of a given text are not those of its own when it wrote it.

    They may be raw, which shows in that temperature does not move them, or of other places.
    """
    answer = _ask(server, prompt, writing.request(TRIED, 0))
    where = f"{server.url}, its own text"
    tokens, logp = scores_of_own(answer, where)
    text = _whole_text(answer, prompt)
    try:
        own = _score(server, text, tokens, where, writing.options)
    except OtherTokens:  # given as text its answer is other tokens: nothing to compare
        return
    if not writing.plain:
        raw = _score(server, text, tokens, where, {"temperature": 1.0})
        if _apart(own, raw) < SAME:
            raise HsdError(
                f"{server.url} gives given tokens the same log-probabilities whatever the "
                f"temperature, so they are raw: {RAW}"
            )
    if (apart := _apart(own, logp)) > APART:
        raise HsdError(
            f"{server.url} scores its own answer otherwise than when it wrote it ({apart:.1f} nats "
            "a token apart), so its scores of given text are raw or wrong: use another server, or "
            "load the models here"
        )


def _apart(one: list[float], other: list[float]) -> float:
    """Return how many nats a token two scores of a text differ by, on average."""
    return sum(abs(a - b) for a, b in zip(one, other, strict=True)) / len(one)
