"""How fast a server is with several requests at once, with its drafting and without.

A pass over one token of one request leaves a machine idle, which drafts can use; requests that are
decoded together use it themselves. So a server's drafting pays up to some number of requests.
"""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

from hsd.bench.server import Server
from hsd.http_client import counter_growth, read_counters

LEVEL = 1.02  # times as fast, below which drafting does not pay


@dataclass(frozen=True)
class Load:
    """A server with so many requests in flight: new tokens of all of them a second.

    per_pass: tokens that a pass of the target brings to a request, None where the server does not
    tell. plain: the tokens a second of the server without drafting, None without one. step: what a
    step with its draft costs, in steps without one.
    """

    requests: int
    tokens_per_second: float
    per_pass: float | None = None
    plain: float | None = None

    @property
    def times_plain(self) -> float | None:
        return self.tokens_per_second / self.plain if self.plain else None

    @property
    def step(self) -> float | None:
        times = self.times_plain
        return self.per_pass / times if self.per_pass and times else None


def loads(
    server: Server,
    plain: Server | None,
    prompts: Sequence[str],
    options: dict[str, Any],
    chat: bool,
    counts: Sequence[int],
    progress: Callable[[Load], None] = lambda load: None,
) -> list[Load]:
    """Time a server with each number of requests in flight, and one without drafting in turn.

    prompts: each is asked once a number, again and again until there are twice as many as requests
    in flight. Raises HsdError.
    """
    result = []
    _rate(server, prompts[:1], options, chat, 1)  # what warms up
    for count in counts:
        many = [prompts[i % len(prompts)] for i in range(max(2 * count, len(prompts)))]
        before = read_counters(server.url, server.key) if server.counters else Counter[str]()
        rate = _rate(server, many, options, chat, count)
        per_pass = None
        if before:
            grown = counter_growth(before, read_counters(server.url, server.key))
            if grown["drafts"]:
                per_pass = 1 + grown["kept"] / grown["drafts"]
        without = _rate(plain, many, options, chat, count) if plain else None
        result.append(Load(count, rate, per_pass, without))
        progress(result[-1])
    return result


def _rate(
    server: Server, prompts: Sequence[str], options: dict[str, Any], chat: bool, count: int
) -> float:
    """Return new tokens a second of all requests together, `count` of them at a time."""
    begin = time.perf_counter()
    with ThreadPoolExecutor(count) as pool:
        records = list(
            pool.map(lambda ask: server.ask(options, chat, ask[1], ask[0]), enumerate(prompts))
        )
    return float(sum(record["new_tokens"] for record in records)) / (time.perf_counter() - begin)


def words(result: Sequence[Load]) -> str:
    """Return the table, and up to how many requests at once drafting pays."""
    lines = ["requests  tokens/s  tokens a pass  without drafting  ×     step, in plain ones"]
    for load in result:
        cells = (
            f"{load.requests:8}",
            f"{load.tokens_per_second:8.1f}",
            _text(load.per_pass, 13),
            _text(load.plain, 16, 1),
            _text(load.times_plain, 4),
            _text(load.step, 19),
        )
        lines.append("  ".join(cells).rstrip())
    timed = [load for load in result if load.times_plain]
    if timed:
        paying = [load.requests for load in timed if (load.times_plain or 0) > LEVEL]
        lines.append(
            f"Its drafting pays with {', '.join(map(str, paying))} requests at once."
            if paying
            else "Its drafting pays with no number of requests that was tried."
        )
    return "\n".join(lines)


def _text(value: float | None, width: int, digits: int = 2) -> str:
    return f"{value:{width}.{digits}f}" if value is not None else " " * width


def as_json(result: Sequence[Load]) -> list[dict[str, Any]]:
    """Return the loads as plain data."""
    return [asdict(load) | {"times_plain": load.times_plain, "step": load.step} for load in result]
