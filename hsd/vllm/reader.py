"""A client of a server's recorded steps: requests as they come, as traces, and what they say together."""

import math
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from statistics import mean
from typing import Any
from uuid import uuid4

from hsd.bench.server import base_url, json_of, read_counters
from hsd.bench.summary import ratio_interval
from hsd.errors import HsdError
from hsd.rules import RULES, USUAL, VANILLA
from hsd.trace import Result, Step, Trace, statistics
from hsd.vllm.settings import KEY

BEAT = 0.25  # seconds between two looks
PATIENCE = 20.0  # … for the first step of a request
WAIT = 600.0  # … for a whole answer
EMPTY = {"text": "", "finish": "cancelled", "seconds": 0.0}
DRAWN = '"draft_sample_method": "probabilistic"'
BLOCK = '"rejection_sample_method": "block"'


@dataclass
class Request:
    """A request that a server records. header: its trace without steps and result; done: it has ended."""

    name: str
    label: str
    header: dict[str, Any]
    steps: list[Step] = field(default_factory=list)
    result: Result = field(default_factory=lambda: Result.model_validate(EMPTY))
    done: bool = False

    @property
    def title(self) -> str:
        """What it is called in a list: the last line of several words in its prompt, as a chat template adds others."""
        text = self.header["prompt"]["text"] or self.text
        line = next((line for line in reversed(text.splitlines()) if " " in line.strip()), text)
        return " ".join(line.split())[:40] or self.name

    @property
    def text(self) -> str:
        return "".join(token.piece for step in self.steps for token in step.committed)

    @property
    def trace(self) -> Trace:
        """The trace so far. Raises HsdError where its beginning was dropped."""
        try:
            return Trace.model_validate({**self.header, "steps": self.steps, "result": self.result})
        except ValueError as error:
            raise HsdError(f"{self.name}: {' '.join(str(error).split())[:160]}") from None


class Reader:
    """What a server at `url` has recorded; token: its HSD_VLLM_TOKEN. requests: by name, oldest first."""

    def __init__(self, url: str, token: str) -> None:
        self.url, self._token, self._next = base_url(url), token, 0
        self.requests: dict[str, Request] = {}
        self._lock = threading.Lock()

    def look(self) -> int:
        """Fetch the server's new entries once, and return their number. Raises HsdError."""
        with self._lock:
            answer = json_of(f"{self.url}/hsd/steps?after={self._next}", WAIT, key=self._token)
            self._next = answer["next"]
            for entry in answer["entries"]:
                name, data = entry["request"], entry["data"]
                if entry["kind"] == "header":
                    self.requests[name] = Request(name, data["label"], data["trace"])
                elif (one := self.requests.get(name)) and entry["kind"] == "step":
                    one.steps.append(Step.model_validate(data))
                elif one:
                    one.result, one.done = Result.model_validate(data), True
            return len(answer["entries"])

    def ask(self, prompt: str, options: dict[str, Any], prompt_as: str = "") -> Iterator[Request]:
        """Have the server answer a prompt, and yield the request, again after every look, until it is done.

        prompt_as: "chat" puts it into the model's template, "text" has it continued, as "" does where there is none.
        """
        label, failed = uuid4().hex, list[HsdError]()
        model = json_of(f"{self.url}/v1/models", WAIT)["data"][0]["id"]
        body = {"model": model, "vllm_xargs": {KEY: label}, **options}
        chat = "chat/completions", {"messages": [{"role": "user", "content": prompt}]}
        text = "completions", {"prompt": prompt}
        ways: Any = {"chat": [chat], "text": [text]}.get(prompt_as, [chat, text])

        def post() -> None:
            for place, question in ways:
                try:
                    json_of(f"{self.url}/v1/{place}", WAIT, body | question)
                    break
                except HsdError as error:
                    failed.append(error)

        threading.Thread(target=post, daemon=True).start()
        begun = time.monotonic()
        while not (found := next((one for one in self.requests.values() if one.label == label), None)):
            self.look()
            if len(failed) == len(ways):
                raise failed[-1]
            if time.monotonic() - begun > PATIENCE:
                raise HsdError(f"{self.url} has not begun within {PATIENCE:g} s: see that it runs and is not busy")
            time.sleep(BEAT)
        yield from self.follow(found)

    def follow(self, request: Request) -> Iterator[Request]:
        """Yield a request after every look, until it is done."""
        while True:
            self.look()
            yield request
            if request.done:
                return
            time.sleep(BEAT)


def summary(steps: Sequence[Step]) -> list[str]:
    """Return what recorded steps say together: lines of text, the last one advice.

    The gain of drawing the draft from q, in place of q's likeliest token, is 1 - TV(p, q) less p of that token at each
    place; the gain of a rule is what it keeps of the same drafts more than token-wise verification, over all coins.
    """
    drafted = [step for step in steps if step.nodes]
    if not drafted:
        return ["No drafts were recorded."]
    stats = statistics(list(steps), 0.0)
    curve = ", ".join(f"{share:.2f}" for share in stats["acceptance_by_position"])
    kept = {
        name: mean(step.expected_kept[name] for step in drafted) for name in drafted[0].expected_kept if name in RULES
    }
    lines = [
        f"{stats['block_efficiency']:.2f} tokens per pass of the target; kept by position: {curve}",
        "Kept of these drafts over all coins: " + ", ".join(f"{name} {x:.3f}" for name, x in kept.items()),
    ]
    if all(node.q > 1 - 1e-6 for step in drafted for node in step.nodes):
        return [*lines, f"Drafts are certain here, so all lossless rules keep the same: only {DRAWN} can bring more."]
    one, low, high = _interval(map(_drawing, drafted))
    two, least, most = _interval(one.expected_kept[USUAL] - one.expected_kept[VANILLA["single"]] for one in drafted)
    use = f"ask for {BLOCK} as well" if least > 0 else f"{BLOCK} brings nothing that shows yet"
    unclear = f"{DRAWN} brings nothing that shows yet" if high > 0 else f"leave out {DRAWN}"
    return [
        *lines,
        f"Drawing the draft keeps {one:+.3f} [{low:+.3f}, {high:+.3f}] of each token more than its likeliest",
        f"Block verification keeps {two:+.3f} [{least:+.3f}, {most:+.3f}] tokens more of each draft",
        f"Advice: {f'keep {DRAWN}' if low > 0 else unclear}; {use}.",
    ]


def _drawing(step: Step) -> float:
    """Return how much more of a token is kept at the places of a draft if it is drawn and not the draft's likeliest."""
    likeliest = (max(branch.top, key=lambda one: one.q) for branch in step.branches)
    return mean(1 - branch.distance - one.p for branch, one in zip(step.branches, likeliest, strict=True))


def _interval(gains: Iterable[float]) -> tuple[float, float, float]:
    """Return the mean gain of drafts and its 95 % interval."""
    rows = [{"prompt": draft, "gain": gain, "drafts": 1} for draft, gain in enumerate(gains)]
    return ratio_interval(rows, "gain", "drafts", -math.inf)


def counts(url: str) -> str:
    """Return what a server's public counters say of its drafts, in one line: vLLM's, llama.cpp's and their like."""
    found = read_counters(base_url(url), "")
    drafts = found.get("drafts", 0)
    if not drafts:
        return "its counters tell of no drafts"
    curve = [found[str(place)] / drafts for place in sorted(int(name) for name in found if name.isdecimal())]
    words = f"{1 + found.get('accepted_tokens', 0) / drafts:.2f} tokens per pass"
    words += f"; kept by position {', '.join(f'{share:.2f}' for share in curve)}" if curve else ""
    synthetic = drafts > 50 and 1.0 in curve and 0.0 in curve
    return words + ("; such a curve is set and not measured (synthetic acceptance): the text is wrong" * synthetic)
