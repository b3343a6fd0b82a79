"""A page never imports a file that somebody names: no link, request, lane or trace can make it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hsd import HsdError, Trace, space
from hsd.app import race
from hsd.app.endpoints import verify_step
from hsd.app.runs import query, read
from hsd.conform import adapter
from hsd.decoding.loop import run
from hsd.models.loading import load_pair

SPACE = space.load()
PROMPT = "Once upon a time"
ROWS = [[0.5, 0.5]] * 2


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file in the working folder; nothing may load it."""
    path = tmp_path / "x.py"
    path.write_text("def verify(*_):\n    return [0]\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(adapter, "_load_module", lambda path: pytest.fail(f"{path} is imported"))
    return path


ASKED = {
    "a request": lambda name: read(SPACE, {"prompt": PROMPT, "rule": name}),
    "a link's other rule": lambda name: read(SPACE, {"prompt": PROMPT, "shadow": name}),
    "a level": lambda name: read(SPACE, {"prompt": PROMPT, "system": "stack", "level_rules": name}),
    "a lane": lambda name: race.read_plan(
        SPACE, {"prompt": PROMPT, "pair": "tiny", "lanes": [{"rule": name, "gamma": 3}]}
    ),
    "a lane in a link": lambda name: race.read_plan(
        SPACE, {"prompt": PROMPT, "pair": "tiny", "lanes": f"rule:{name}~gamma:3"}
    ),
    "a step": lambda name: verify_step(ROWS, ROWS[:1], [0], name),
}


@pytest.mark.parametrize("asked", ASKED)
def test_a_path_for_a_rule_is_refused_in_one_line(asked: str, file: Path):
    for name in ("x.py", "./x.py", str(file)):
        with pytest.raises(HsdError, match="unknown rule") as refused:
            ASKED[asked](name)
        assert "\n" not in str(refused.value)


def test_a_function_is_no_answer_of_a_form(file: Path):
    for value in ({"verify": "x.py"}, ["x.py"]):
        with pytest.raises(HsdError):
            read(SPACE, {"prompt": PROMPT, "rule": value})


def own_trace(name: str) -> dict[str, Any]:
    def verify(p: Any, *_: Any) -> list[int]:
        return [int(p[0].argmax())]

    verify.__name__ = name
    return json.loads(run(load_pair("tiny"), PROMPT, rule=verify, max_new_tokens=8).to_json())


def test_a_trace_that_names_a_file_is_shown_and_loads_none(file: Path):
    trace = own_trace("x.py")
    assert trace["setup"]["options"]["rule"] == "x"
    trace["setup"]["options"]["rule"] = "x.py"
    for step in trace["steps"]:
        step["verdict"]["rule"] = "x.py"
    shown = Trace.from_json(json.dumps(trace))
    assert shown.replay() == shown.tokens
    link = query(read(SPACE, {"prompt": PROMPT})) | {"rule": shown.setup.options.rule}
    with pytest.raises(HsdError, match=r"unknown rule 'x\.py'"):
        read(SPACE, link)
