"""A run as a table that people compute with: a row per drafted token."""

import csv
import io
from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any

from hsd.errors import HsdError
from hsd.trace.step import Step
from hsd.trace.verdict import Verdict

JUDGED = {
    "rule": "the rule that judged the draft",
    "threshold": "what the coin was compared with; none where the token was not tested",
    "accepted": "whether that test passed: the coin is below the threshold; none without one",
    "kept": "whether the rule keeps the token",
}
COLUMNS = {
    "step": "the round of decoding, from 1",
    "node": "the token's number in the step's draft, from 1",
    "parent": "the number of the token before it; 0: the last token of the text",
    "position": "its place in its draft, from 1",
    "token": "its id",
    "piece": "its text",
    "p": "its probability by the target, given the tokens before it",
    "q": "its probability by the draft",
    "coin": "the random number of its position, which every rule's tests share",
    **JUDGED,
    **{
        f"other_{name}": f"{name} of the rule to compare with, on the same draft and coins"
        for name in JUDGED
    },
}
"""The columns and what each means; probabilities and coins lie in [0, 1]."""

Row = dict[str, Any]


def rows(steps: Iterable[Step]) -> Iterator[Row]:
    """Yield a row for each drafted token of a run's steps, by the names of `COLUMNS`.

    None stands for what is not known. Raises HsdError for a run without its drafts.
    """
    for step in steps:
        if step.drafted and not step.nodes:
            raise HsdError("this trace was recorded without its drafts: run again with tracing on")
        own = _judged(step, step.verdict)
        other = _judged(step, step.shadow)
        for node in step.nodes:
            yield {
                "step": step.index + 1,
                "node": node.id,
                "parent": node.parent,
                "position": len(step.path(node.id)),
                "token": node.token,
                "piece": node.piece,
                "p": node.p,
                "q": node.q,
                "coin": node.coin,
                **own[node.id],
                **{f"other_{name}": value for name, value in other[node.id].items()},
            }


def _judged(step: Step, verdict: Verdict | None) -> dict[int, Row]:
    """Return what a rule made of each node of a step; the last of several tests counts."""
    if verdict is None:
        return {node.id: dict.fromkeys(JUDGED) for node in step.nodes}
    tests = {test.node: test for test in verdict.decisions}
    accepted = [test.node for test in verdict.decisions if test.accepted]
    path = step.path(accepted[-1] if accepted else 0)
    if not verdict.decisions:  # a rule of one's own tells no tests
        path = [node.id for node in step.nodes[: verdict.kept]]
    return {
        node.id: {
            "rule": verdict.rule,
            "threshold": tests[node.id].threshold if node.id in tests else None,
            "accepted": tests[node.id].accepted if node.id in tests else None,
            "kept": node.id in path,
        }
        for node in step.nodes
    }


def as_csv(steps: Iterable[Step]) -> str:
    """Return `rows` as comma-separated values below a line of names; what is not known is empty."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, [*COLUMNS])
    writer.writeheader()
    writer.writerows(rows(steps))
    return text.getvalue()


def as_frame(steps: Iterable[Step]) -> Any:
    """Return `rows` as a pandas DataFrame. Raises HsdError where pandas is not installed."""
    try:
        pandas = import_module("pandas")
    except ImportError:
        raise HsdError("this table needs pandas: pip install pandas, or write a .csv") from None
    frame = pandas.DataFrame.from_records([*rows(steps)], columns=[*COLUMNS])
    flags = [name for name in COLUMNS if name.removeprefix("other_") in ("accepted", "kept")]
    numbers = [name for name in COLUMNS if name.removeprefix("other_") in ("threshold", "p", "q")]
    kinds = dict.fromkeys(flags, "boolean") | dict.fromkeys([*numbers, "coin"], "float64")
    return frame.astype(kinds)


def as_parquet(steps: Iterable[Step]) -> bytes:
    """Return `rows` as a Parquet file. Raises HsdError where pandas or pyarrow is not installed."""
    frame = as_frame(steps)
    try:
        return bytes(frame.to_parquet(index=False))
    except ImportError:
        raise HsdError("a .parquet needs pyarrow: pip install pyarrow, or write a .csv") from None
