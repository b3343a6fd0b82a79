"""A client of a server's recorded steps.

It gives requests as they come, as traces, and what they say together.
"""

import math
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any
from uuid import uuid4

from hsd.bench.summary import ratio_interval
from hsd.errors import HsdError, first_line, one_line
from hsd.http_client import base_url, json_of
from hsd.rules import USUAL, VANILLA
from hsd.trace import Result, Step, Trace, statistics
from hsd.vllm import KEY

BEAT = 0.25  # seconds between two looks
LISTED = 100  # requests that are listed, at most
LONGEST = 40  # characters of a title, before " …"
WAIT = 600.0  # … for an answer
DRAWN = '"draft_sample_method": "probabilistic"'
HSD = '"rule": "hsd"'


@dataclass(eq=False)
class Request:
    """A request that a server records.

    trace: what is known of it so far; done: no more of it will come.
    """

    name: str
    trace: Trace
    done: bool = False

    @property
    def title(self) -> str:
        """Its title in a list: the prompt's last line of several words.

        A chat template adds lines of one word.
        """
        pieces = (token.piece for step in self.trace.steps for token in step.committed)
        text = self.trace.prompt.text or "".join(pieces)
        line = next((line for line in reversed(text.splitlines()) if " " in line.strip()), text)
        words = " ".join(line.split())
        if len(words) > LONGEST:
            return f"{words[:LONGEST].rstrip()} …"
        return words or self.name


class ServerReader:
    """What a server at `url` has recorded; token: its HSD_VLLM_TOKEN.

    requests: by name, oldest first.
    """

    def __init__(self, url: str, token: str) -> None:
        self.url = base_url(url)
        self._token = token
        self._next = 0
        self.requests: dict[str, Request] = {}
        self._lock = threading.Lock()

    def look(self) -> int:
        """Fetch the server's new entries once, and return their number. Raises HsdError."""
        with self._lock:
            answer = json_of(f"{self.url}/hsd/steps?after={self._next}", WAIT, key=self._token)
            try:
                self._next = int(answer["next"])
                for entry in answer["entries"]:
                    self._take(**entry)
            except (ValueError, TypeError, KeyError) as error:
                form = f"records in another form ({first_line(error)})"
                raise HsdError(f"{self.url} {form}: use the same hsd on both sides") from None
            return len(answer["entries"])

    def _take(self, request: str, kind: str, data: Any) -> None:
        """Add an entry. A step whose predecessor the server has dropped ends the trace."""
        if not isinstance(request, str):
            raise TypeError("a request without a name")
        if kind == "beginning":
            self.requests[request] = Request(request, Trace.model_validate(data))
        elif (one := self.requests.get(request)) and not one.done:
            if kind == "step" and data["index"] == len(one.trace.steps):
                one.trace.steps.append(Step.model_validate(data))
                return
            if kind == "result":
                one.trace = one.trace.model_copy(update={"result": Result.model_validate(data)})
            one.done = True

    def ask(self, prompt: str, options: dict[str, Any], prompt_as: str = "") -> Request:
        """Have the server answer a prompt, and return the request once the server records it.

        Raises HsdError. prompt_as: "chat" puts it into the model's template, "text" has it
        continued, as "" does where there is none.
        """
        name = uuid4().hex
        failed = list[HsdError]()
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
            ended = not posting.is_alive()
            news = self.look()
            if found := next((one for one in self.requests.values() if name in one.name), None):
                return found
            if ended and not news:
                unseen = HsdError(
                    f"{self.url} has answered and recorded nothing of it: see the server's log"
                )
                raise failed[-1] if len(failed) == len(ways) else unseen
            time.sleep(BEAT)

    def runs(self) -> list[dict[str, Any]]:
        """Return the newest requests, the latest first: of each name, title and finished.

        Raises HsdError.
        """
        self.look()
        numbered = list(enumerate(self.requests.values(), start=1))
        return [
            {
                "name": request.name,
                "title": f"{number} · {request.title}",
                "finished": request.done,
            }
            for number, request in reversed(numbered[-LISTED:])
        ]

    def follow(self, name: str) -> Iterator[Any]:
        """Yield a request's trace without steps, then {"steps"}, new ones.

        The last of these have "result" too. Raises HsdError for a name that is not known.
        """
        self.look()
        request = self.requests.get(name)
        if request is None:
            raise HsdError(f"{self.url} has recorded no request {name[:60]!r}, or dropped it since")
        yield request.trace.model_copy(update={"steps": []})
        shown = 0
        done = False
        while not done:
            self.look()
            done = request.done
            trace = request.trace
            steps = trace.steps[shown:]
            yield {"steps": steps, **({"result": trace.result} if done else {})}
            shown += len(steps)
            time.sleep(0 if done else BEAT)


def summary(steps: Sequence[Step]) -> list[str]:
    """Return what recorded steps say together: lines of text, the last ones advice.

    The gain of drawing the draft from q, in place of q's likeliest token, is 1 - TV(p, q) less p of
    that token at each place; the gain of a rule is how many tokens more of a draft it keeps than
    token-wise verification, over all coins.
    """
    drafted = [step for step in steps if step.nodes]
    if not drafted:
        return ["No drafts were recorded."]
    stats = statistics(list(steps), 0.0)
    curve = ", ".join(f"{share:.2f}" for share in stats["acceptance_by_position"])
    kept = {
        name: mean(step.expected_kept[name] for step in drafted)
        for name in drafted[0].expected_kept
    }
    averages = ", ".join(f"{one_line(name)} {average:.3f}" for name, average in kept.items())
    lines = [
        f"{stats['block_efficiency']:.2f} tokens per pass of the target; kept by position: {curve}",
        f"Kept of these drafts over all coins: {averages}",
    ]
    if all(node.q > 1 - 1e-6 for step in drafted for node in step.nodes):
        why = "Drafts are certain here, so all lossless rules keep the same"
        return [*lines, f"{why}: only {DRAWN} can bring more."]
    drawing = [
        mean(1 - one.distance - max(one.top, key=lambda token: token.q).p for one in step.branches)
        for step in drafted
    ]
    rule = [step.expected_kept[USUAL] - step.expected_kept[VANILLA["single"]] for step in drafted]
    for setting, gains, words in (
        (DRAWN, drawing, "Drawing the draft keeps {} of each token more than its likeliest"),
        (HSD, rule, "HSD keeps {} tokens more of each draft than token-wise verification"),
    ):
        rows = [{"prompt": draft, "gain": gain, "drafts": 1} for draft, gain in enumerate(gains)]
        gain, low, high = ratio_interval(rows, "gain", "drafts", -math.inf)
        unclear = f"{setting} brings nothing that shows yet" if high > 0 else f"leave out {setting}"
        advice = f"ask for {setting}" if low > 0 else unclear
        lines.append(f"{words.format(f'{gain:+.3f} [{low:+.3f}, {high:+.3f}]')}: {advice}.")
    return lines
