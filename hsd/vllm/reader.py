"""A client of a server's recorded steps: requests as they come, as traces, and what they say together."""

import math
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any
from uuid import uuid4

from hsd.bench.server import base_url, json_of, read_counters
from hsd.bench.summary import ratio_interval
from hsd.errors import HsdError, first_line
from hsd.rules import USUAL, VANILLA
from hsd.trace import Result, Step, Trace, statistics
from hsd.vllm import KEY

BEAT = 0.25  # seconds between two looks
WAIT = 600.0  # … for an answer
DRAWN = '"draft_sample_method": "probabilistic"'
HSD = '"rule": "hsd"'


@dataclass(eq=False)
class Request:
    """A request that a server records. trace: what is known of it so far; done: no more of it will come."""

    name: str
    trace: Trace
    done: bool = False

    @property
    def title(self) -> str:
        """What it is called in a list: the last line of several words in its prompt, as a chat template adds others."""
        pieces = (token.piece for step in self.trace.steps for token in step.committed)
        text = self.trace.prompt.text or "".join(pieces)
        line = next((line for line in reversed(text.splitlines()) if " " in line.strip()), text)
        return " ".join(line.split())[:40] or self.name

    def take(self, kind: str, data: Any) -> None:
        """Add a recorded step or the result. A step whose predecessor the server has dropped ends the trace."""
        if kind == "step" and data["index"] == len(self.trace.steps):
            self.trace.steps.append(Step.model_validate(data))
            return
        if kind == "result":
            self.trace = self.trace.model_copy(update={"result": Result.model_validate(data)})
        self.done = True


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
                try:
                    self._take(entry["request"], entry["kind"], entry["data"])
                except (ValueError, KeyError) as error:
                    form = f"records in another form ({first_line(error)})"
                    raise HsdError(f"{self.url} {form}: use the same hsd on both sides") from None
            return len(answer["entries"])

    def _take(self, name: str, kind: str, data: Any) -> None:
        if kind == "beginning":
            self.requests[name] = Request(name, Trace.model_validate(data))
        elif name in self.requests and not self.requests[name].done:
            self.requests[name].take(kind, data)

    def ask(self, prompt: str, options: dict[str, Any], prompt_as: str = "") -> Iterator[Any]:
        """Have the server answer a prompt, and yield what `follow` does of it. Raises HsdError.

        prompt_as: "chat" puts it into the model's template, "text" has it continued, as "" does where there is none.
        """
        name, failed = uuid4().hex, list[HsdError]()
        body = {"request_id": name, "vllm_xargs": {KEY: "true"}, **options}
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

        posting = threading.Thread(target=post, daemon=True)
        posting.start()
        while True:
            ended, news = not posting.is_alive(), self.look()
            if found := next((one for one in self.requests.values() if name in one.name), None):
                yield from self.follow(found)
                return
            if ended and not news:
                unseen = HsdError(f"{self.url} has answered and recorded nothing of it: see the server's log")
                raise failed[-1] if len(failed) == len(ways) else unseen
            time.sleep(BEAT)

    def follow(self, request: Request) -> Iterator[Any]:
        """Yield a request's trace without steps, then {"steps"}, new ones, and with the last of them "result"."""
        yield request.trace.model_copy(update={"steps": []})
        shown, done = 0, False
        while not done:
            self.look()
            done, trace = request.done, request.trace
            steps = trace.steps[shown:]
            yield {"steps": steps, **({"result": trace.result} if done else {})}
            shown += len(steps)
            time.sleep(0 if done else BEAT)


def summary(steps: Sequence[Step]) -> list[str]:
    """Return what recorded steps say together: lines of text, the last ones advice.

    The gain of drawing the draft from q, in place of q's likeliest token, is 1 - TV(p, q) less p of that token at each
    place; the gain of a rule is what it keeps of the same drafts more than token-wise verification, over all coins.
    """
    drafted = [step for step in steps if step.nodes]
    if not drafted:
        return ["No drafts were recorded."]
    stats = statistics(list(steps), 0.0)
    curve = ", ".join(f"{share:.2f}" for share in stats["acceptance_by_position"])
    kept = {name: mean(step.expected_kept[name] for step in drafted) for name in drafted[0].expected_kept}
    lines = [
        f"{stats['block_efficiency']:.2f} tokens per pass of the target; kept by position: {curve}",
        "Kept of these drafts over all coins: " + ", ".join(f"{name} {x:.3f}" for name, x in kept.items()),
    ]
    if all(node.q > 1 - 1e-6 for step in drafted for node in step.nodes):
        return [*lines, f"Drafts are certain here, so all lossless rules keep the same: only {DRAWN} can bring more."]
    more = [step.expected_kept[USUAL] - step.expected_kept[VANILLA["single"]] for step in drafted]
    return [
        *lines,
        _gain("Drawing the draft keeps {} of each token more than its likeliest", map(_drawing, drafted), DRAWN),
        _gain("HSD keeps {} tokens more of each draft than token-wise verification", more, HSD),
    ]


def _drawing(step: Step) -> float:
    """Return how much more of a token is kept at the places of a draft if it is drawn and not the draft's likeliest."""
    likeliest = (max(branch.top, key=lambda one: one.q) for branch in step.branches)
    return mean(1 - branch.distance - one.p for branch, one in zip(step.branches, likeliest, strict=True))


def _gain(words: str, gains: Iterable[float], setting: str) -> str:
    """Return words with the mean gain of drafts and its 95 % interval, and whether it speaks for a setting."""
    rows = [{"prompt": draft, "gain": gain, "drafts": 1} for draft, gain in enumerate(gains)]
    gain, low, high = ratio_interval(rows, "gain", "drafts", -math.inf)
    unclear = f"{setting} brings nothing that shows yet" if high > 0 else f"leave out {setting}"
    return f"{words.format(f'{gain:+.3f} [{low:+.3f}, {high:+.3f}]')}: {f'ask for {setting}' if low > 0 else unclear}."


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
