"""Random and hostile requests: whatever comes, the answer is one line, never a 500, and the app
goes on.
"""

from __future__ import annotations

import json
import string
from collections import Counter
from typing import Any

import httpx
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from visitor import App, Values, Visitor

MARKS = [
    "<script>alert(1)</script>",
    "{{7*7}}",
    "../../etc/passwd",
    "\x00",
    "\ud800",
    "‮",
    "'; --",
    "%s%n",
    "🦊" * 50,
]
NUMBERS = [0, -1, 1, 2**31, 2**63, 10**400, 0.5, -1e308, float("inf"), float("nan")]
RUN = [
    "prompt",
    "rule",
    "gamma",
    "max_new_tokens",
    "temperature",
    "top_p",
    "top_k",
    "seed",
    "system",
    "pair",
    "drafts",
    "tree",
]
RUN += [
    "nodes",
    "proposer",
    "stack",
    "exits",
    "thresholds",
    "level_rules",
    "tolerance",
    "divergence",
    "prompt_as",
]
ENDPOINTS = {
    "run": RUN,
    "compare": [
        "prompt",
        "rule",
        "other",
        "mode",
        "gamma",
        "max_new_tokens",
        "pair",
        "drafts",
        "tree",
    ],
    "verify_step": ["p", "q", "tokens", "rule"],
    "audit": ["vocab", "gamma", "seed"],
    "presets": [],
    "no_such_endpoint": ["x"],
}
ASKED = [
    "pair",
    "downloads",
    "opened",
    "check",
    "exact_numbers",
    "plan_stack",
    "race_plan",
    "no_such_question",
    "_asdict",
]
LINE = 600  # characters that an answer to bad input has at most
QUIET = {"deadline": None, "database": None, "suppress_health_check": list(HealthCheck)}

simple = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from(NUMBERS),
    st.integers(-(10**20), 10**20),
    st.floats(),
    st.sampled_from(MARKS),
    st.text(max_size=200),
    st.sampled_from(["hsd", "tiny", "stack", "paths", "3, 5", "a" * 100_000]),
)
anything = st.recursive(
    simple,
    lambda inner: (
        st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=8), inner, max_size=5)
    ),
    max_leaves=30,
)
rows = st.lists(st.lists(st.floats(0, 1) | st.sampled_from(NUMBERS), max_size=4), max_size=4)


def abuse(calls: int, home: str, start: int = 0) -> Values:
    """Send so many requests of all kinds, and then an ordinary one."""
    app = App(HSD_HOME=home)
    visitor = Visitor(app.url)
    answers: Counter[str] = Counter()
    wrong: list[str] = []

    def judge(what: str, status: int, text: str) -> None:
        answers[f"{what} {status}"] += 1
        if status >= 500 or "Traceback" in text or (status >= 400 and len(text) > LINE):
            wrong.append(f"{what} {status}: {text[:200]}")

    @seed(start)
    @settings(max_examples=calls, **QUIET)
    @given(st.data())
    def one(data: st.DataObject) -> None:
        kind = data.draw(
            st.sampled_from(["endpoint", "endpoint", "function", "positional", "body", "path"])
        )
        name = data.draw(st.sampled_from(sorted(ENDPOINTS)))
        if kind == "endpoint":
            names = data.draw(st.lists(st.sampled_from([*ENDPOINTS[name], "unknown"]), max_size=6))
            given = {each: data.draw(rows if each in ("p", "q") else anything) for each in names}
            _endpoint(
                visitor,
                name,
                {**({"max_new_tokens": 4} if name in ("run", "compare") else {}), **given},
                judge,
            )
        elif kind == "function":
            asked = data.draw(st.sampled_from(ASKED))
            argument = data.draw(anything)
            _post(visitor, f"../answers/{asked}", argument, kind, judge)
        elif kind == "positional":
            _post(
                visitor,
                f"call/{name}",
                {"data": data.draw(st.lists(anything, max_size=30))},
                kind,
                judge,
            )
        elif kind == "body":
            content = data.draw(
                st.binary(max_size=300) | st.just(b"[" * 100_000) | st.just(b'{"data":')
            )
            _send(visitor, "POST", f"call/{name}", kind, judge, content=content)
        else:
            path = data.draw(st.text(string.ascii_letters + "/.%-_?=&", max_size=60))
            _send(visitor, data.draw(st.sampled_from(["GET", "PUT", "DELETE"])), path, kind, judge)

    one()
    kind, _ = visitor.call("run", prompt="Once upon a time", max_new_tokens=8, pair="tiny")
    app.stop()
    prompts = sum(
        mark in line for line in app.lines for mark in ("alert(1)", "passwd", "aaaaaaaaaa")
    )
    return {
        "calls": sum(answers.values()),
        "by_status": dict(
            sorted(Counter(key.rpartition(" ")[2] for key in answers.elements()).items())
        ),
        "wrong": wrong[:10],
        "failures": len(wrong),
        "tracebacks": app.tracebacks,
        "lines_of_the_log_with_what_was_asked": prompts,
        "an_ordinary_run_afterwards": kind == "complete",
    }


def _endpoint(visitor: Visitor, name: str, given: Values, judge: Any) -> None:
    body = _json(given)
    if body is None:
        return
    begun = _send(visitor, "POST", f"call/v2/{name}", "endpoint", judge, content=body)
    if begun is not None and begun.status_code == 200 and "event_id" in begun.text:
        kind, answer = visitor.answer(f"call/v2/{name}/{begun.json()['event_id']}")
        told = answer.get("error") if isinstance(answer, dict) else answer
        clear = kind == "complete" or (
            isinstance(told, str) and "\n" not in told and len(told) < LINE
        )
        judge(
            "endpoint", 200 if clear else 500, "" if clear else f"{name} {body[:100]!r}: {answer}"
        )


def _post(visitor: Visitor, path: str, value: Any, kind: str, judge: Any) -> None:
    body = _json(value)
    if body is not None:
        _send(visitor, "POST", path, kind, judge, content=body)


def _json(value: Any) -> bytes | None:
    """As JSON, NaN and half characters included, which a hostile client can spell; None where even
    it cannot.
    """

    try:
        return json.dumps(value).encode()
    except (ValueError, OverflowError):
        return None


def _send(
    visitor: Visitor, method: str, path: str, kind: str, judge: Any, **more: Any
) -> httpx.Response | None:
    headers = {"Content-Type": "application/json"}
    try:
        reply = visitor.http.request(method, f"{visitor.api}/{path}", headers=headers, **more)
    except httpx.InvalidURL:
        return None
    judge(kind, reply.status_code, reply.text if reply.status_code >= 400 else "")
    return reply
