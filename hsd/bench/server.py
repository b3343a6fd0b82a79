"""An OpenAI-compatible server (vLLM, llama.cpp, LM Studio) as a case beside ours.

Measured are its time, and the counts it reports.

Nothing but its HTTP API is used, one request at a time, and no redirection is followed. Another
model may run there, and none of its decisions is checked. Its time includes the network, and it may
have cached a prompt in an earlier repetition.
"""

import re
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from hsd.bench.measure import NOTE, UNTIMED, Case, Record
from hsd.errors import HsdError
from hsd.http_client import SHORT, base_url, counter_growth, json_of, read_counters
from hsd.models import Pair
from hsd.sampling import Sampling

TIMEOUT = 120.0  # seconds for an answer


@dataclass(frozen=True)
class Server:
    """A server that was reached.

    url: without /v1; counters: whether it publishes vLLM's counts of all its requests.

    key: its API key, which is sent there and shown nowhere.
    """

    url: str
    model: str
    counters: bool
    timeout: float = TIMEOUT
    key: str = field(default="", repr=False)

    @property
    def about(self) -> dict[str, str]:
        """The server as a benchmark's header describes it."""
        return {"url": self.url, "model": self.model, "note": NOTE}

    def case(self, options: dict[str, Any]) -> Case:
        """Return a case that asks the server.

        options: of `hsd.run`; sampling, prompt_as and length matter.
        """
        return Case(f"server, {self.model[:60]}", options, lambda *run: self._answer(options, *run))

    def _answer(self, options: dict[str, Any], pair: Pair, prompt: str, seed: int) -> Record:
        """Ask for one answer and return its record, with the server's counts for it.

        That is done by the chat endpoint if the options or the pair ask for chat.
        """
        asked_as = options.get("prompt_as")
        chat = asked_as == "chat" if asked_as else getattr(pair.codec, "chat", False)
        before = read_counters(self.url, self.key) if self.counters else Counter[str]()
        record = self.ask(options, chat, prompt, seed)
        if "drafted" not in record and before:
            record |= counter_growth(before, read_counters(self.url, self.key))
        if record.get("kept", 0) > record.get("drafted", 0):
            raise HsdError(
                f"server {self.url} reports more accepted than drafted tokens: leave it out"
            )
        return record

    def ask(self, options: dict[str, Any], chat: bool, prompt: str, seed: int) -> Record:
        """Ask for one answer and return its record, with the counts that it has itself."""
        question: dict[str, Any] = {"prompt": prompt}
        if chat:
            question = {"messages": [{"role": "user", "content": prompt}]}
        sampling = Sampling.of(options)
        if sampling.greedy:  # nothing else has an effect then
            sampling = Sampling(0.0)
        body = {
            "model": self.model,
            **question,
            "max_tokens": options["max_new_tokens"],
            "seed": seed,
        }
        body |= {
            n: x
            for n, x in vars(sampling).items()
            if n == "temperature" or x != getattr(Sampling, n)
        }
        begin = time.perf_counter()
        place = "/v1/chat/completions" if chat else "/v1/completions"
        answer = json_of(self.url + place, self.timeout, body, self.key)
        seconds = time.perf_counter() - begin
        counts = _request_counts(answer) or _timing_counts(answer)
        new_tokens = _count(_object_in(answer, "usage"), "completion_tokens")
        if new_tokens is None:
            new_tokens = _count(_object_in(answer, "timings"), "predicted_n")
        if new_tokens is None:
            raise HsdError(
                f"server {self.url} does not report how many tokens it made: leave it out"
            )
        return {"new_tokens": new_tokens, "seconds": seconds, "calls": UNTIMED, **counts}


def connect(url: str, model: str | None = None, timeout: float = TIMEOUT, key: str = "") -> Server:
    """Reach a server, with its API key if it wants one, and find its model.

    Raises HsdError, one line.
    """
    if not re.fullmatch("[!-~]*", key):
        raise HsdError("server-key: it has a space, or a character that no key has: copy it anew")
    if not 0 < timeout <= 1e6:
        raise HsdError(
            f"server-timeout {timeout:g}: choose more than 0 seconds, and at most a million"
        )
    base = base_url(url)
    rows = json_of(base + "/v1/models", min(SHORT, timeout), key=key).get("data")
    named = [row for row in rows or () if isinstance(row, dict)]
    served = [row["id"] for row in named if isinstance(row.get("id"), str) and row["id"].strip()]
    names = ", ".join(served[:8])[:200]
    if not served:
        raise HsdError(f"server {base} names no model: load one there first")
    if model is None and len(served) > 1:
        raise HsdError(f"server {base} has several models: name one of them: {names}")
    if model is not None and model not in served:
        raise HsdError(f"server {base} has no model {model[:80]!r}: choose {names}")
    try:
        counters = bool(read_counters(base, key))
    except HsdError:  # another kind of server
        counters = False
    return Server(base, model or served[0], counters, timeout, key)


def _request_counts(answer: Record) -> Record:
    """Return drafts, drafted, kept, positions of vLLM's `--per-request-spec-decode-metrics`.

    The record is empty without them.
    """
    counts = _object_in(_object_in(answer, "metrics"), "speculative_decoding")
    names = {
        "drafts": "num_spec_steps",
        "drafted": "num_draft_tokens",
        "kept": "num_accepted_draft_tokens",
    }
    record: Record = {name: _count(counts, theirs) for name, theirs in names.items()}
    if None in record.values():
        return {}
    histogram = counts.get("acceptance_histogram")
    histogram = dict(enumerate(histogram)) if isinstance(histogram, list) else histogram
    if isinstance(histogram, dict) and all(str(key).isdecimal() for key in histogram):
        steps = {int(key): _count(histogram, key) or 0 for key in histogram}
        drafts = record["drafts"]
        longest = min(max(steps, default=0), 320)
        record["positions"] = [
            [sum(n for k, n in steps.items() if k >= i), drafts] for i in range(1, longest + 1)
        ]
    return record


def _timing_counts(answer: Record) -> Record:
    """Return drafts, drafted, kept of llama.cpp's `timings`, {} without them.

    The value of drafts is 0 where it is not reported.
    """
    timings = _object_in(answer, "timings")
    drafted = _count(timings, "draft_n")
    kept = _count(timings, "draft_n_accepted")
    if drafted is None or kept is None:
        return {}
    return {"drafted": drafted, "kept": kept, "drafts": _count(timings, "draft_rounds") or 0}


def _object_in(data: Record, name: str) -> Record:
    """Return the object that `data` has as `name`, {} if there is none."""
    inner = data.get(name)
    return inner if isinstance(inner, dict) else {}


def _count(data: Record, name: Any) -> int | None:
    """Return the value that `data` has as `name`, or None.

    It is None unless the value is a whole number from 0 to 10^12.
    """
    value = data.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 <= value <= 10**12 else None
