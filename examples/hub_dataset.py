"""Make a data set of a folder of traces, and upload it to the Hugging Face Hub if asked to.

    python examples/hub_dataset.py FOLDER OUT --license cc-by-4.0
    python examples/hub_dataset.py FOLDER OUT --license cc-by-4.0 --push owner/name

The last of these wants `hf auth login` before it.

OUT gets a card (README.md), `runs.jsonl` with a line per run, `drafted.jsonl` with one per drafted
token, and the traces. Files that are no traces are named and left out. Prompts and texts are in all
of it: look at them before you share them.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# so that this runs without installing the package
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from hsd.errors import HsdError
from hsd.trace import Step, Trace
from hsd.trace.run import SCHEMA_ID

CARD = """---
license: {license}
pretty_name: {title}
task_categories:
- text-generation
tags:
- speculative-decoding
configs:
- config_name: runs
  data_files: runs.jsonl
- config_name: drafted
  data_files: drafted.jsonl
---

# {title}

{runs} of speculative decoding, decision by decision: {steps:,} steps, {drafted:,} drafted tokens.

| pair | rule | system | runs |
| --- | --- | --- | --- |
{table}

- `runs.jsonl`: a line per run: what was asked, the text, and its statistics.
- `drafted.jsonl`: a line per drafted token: what target (`p`) and draft (`q`) gave it, its coin, \
the threshold it was
  tested with (none where it was not tested), and whether it was kept.
- `traces/`: the whole records. Their JSON Schema is `{schema}`, \
which `python -m hsd schema` prints.
"""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="where the traces are, in subfolders too")
    parser.add_argument("out", type=Path, help="a new folder")
    parser.add_argument(
        "--license", required=True, help="of the texts, in the Hub's short form, such as cc-by-4.0"
    )
    parser.add_argument("--title", default="Traces of speculative decoding")
    parser.add_argument("--push", metavar="OWNER/NAME", help="upload it as this data set")
    asked = parser.parse_args()
    try:
        found = make(asked.folder, asked.out, asked.license, asked.title)
        print(f"written: {asked.out}, {found} of {asked.folder}")
        if asked.push:
            print(f"uploaded: {push(asked.out, asked.push)}")
    except HsdError as error:
        print(f"hub_dataset: {error}", file=sys.stderr)
        return 2
    return 0


def make(folder: Path, out: Path, licence: str, title: str) -> str:
    """Write the data set; says how many runs it has. Raises HsdError where there is nothing to
    write, or no place.
    """
    traces = dict(_traces(folder))
    if not traces:
        raise HsdError(f"no traces in {folder}: give a folder with files saved by hsd")
    try:
        (out / "traces").mkdir(parents=True)
        for name, trace in traces.items():
            (out / "traces" / name).write_text(trace.to_json(), encoding="utf-8")
        _write(out / "runs.jsonl", (run(name, trace) for name, trace in traces.items()))
        _write(
            out / "drafted.jsonl",
            (row for name, trace in traces.items() for row in drafted(name, trace)),
        )
        (out / "README.md").write_text(
            card(list(traces.values()), licence, title), encoding="utf-8"
        )
    except FileExistsError:
        raise HsdError(f"{out} is there already: give the name of a new folder") from None
    except OSError as error:
        raise HsdError(f"cannot write {out}: {error.strerror}") from None
    return _count(len(traces))


def run(name: str, trace: Trace) -> dict[str, Any]:
    """Return the row of `runs.jsonl` for a run."""
    stats = trace.stats()
    told = {
        key: stats[key]
        for key in ("new_tokens", "steps", "target_calls", "drafted", "kept", "block_efficiency")
    }
    made = {
        "pair": trace.setup.pair,
        "target": trace.setup.target.name,
        "device": trace.setup.device,
    }
    options = {
        "options": json.dumps(trace.setup.options.flat(), sort_keys=True),
        "notes": trace.setup.notes,
    }
    return {
        "trace": name,
        **made,
        **_asked(trace),
        **options,
        "prompt": trace.prompt.text,
        "text": trace.text,
        **told,
    }


def drafted(name: str, trace: Trace) -> Iterator[dict[str, Any]]:
    """Return the rows of `drafted.jsonl` for a run: its drafted tokens in the order of drafting."""
    for step in trace.steps:
        tested = (
            {test.node: test.threshold for test in step.verdict.decisions} if step.verdict else {}
        )
        kept = _kept(step)
        for node in step.nodes:
            place = {"trace": name, "step": step.index, "node": node.id, "parent": node.parent}
            found = node.model_dump(include={"token", "piece", "p", "q", "coin"})
            yield {**place, **found, "threshold": tested.get(node.id), "kept": node.id in kept}


def card(traces: list[Trace], licence: str, title: str) -> str:
    """Return the text of the data set's README.md."""
    kinds = Counter((trace.setup.pair, *_asked(trace).values()) for trace in traces)
    return CARD.format(
        license=licence,
        title=title,
        runs=_count(len(traces)),
        steps=sum(len(trace.steps) for trace in traces),
        drafted=sum(step.drafted for trace in traces for step in trace.steps),
        table="\n".join(
            f"| {' | '.join(kind)} | {count} |" for kind, count in sorted(kinds.items())
        ),
        schema=SCHEMA_ID,
    )


def push(out: Path, name: str) -> str:
    """Upload the folder as the data set `name`; its address. Raises HsdError when that does not
    work.
    """
    from huggingface_hub import HfApi, get_token
    from huggingface_hub.errors import (
        HfHubHTTPError,
        HFValidationError,
        HTTPError,
        OfflineModeIsEnabled,
    )

    if not get_token():
        raise HsdError(
            "not logged in to the Hub: run `hf auth login`, or set HF_TOKEN to a token that may "
            "write"
        )
    try:
        address = HfApi().create_repo(name, repo_type="dataset", exist_ok=True)
        HfApi().upload_folder(
            repo_id=name, repo_type="dataset", folder_path=out, commit_message="Upload traces"
        )
    except (HfHubHTTPError, HFValidationError, HTTPError, OfflineModeIsEnabled, OSError) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
        raise HsdError(f"cannot upload to {name!r}: {reason}") from None
    return str(address)


def _traces(folder: Path) -> Iterator[tuple[str, Trace]]:
    for file in sorted(folder.rglob("*.json")):
        try:
            yield "-".join(file.relative_to(folder).parts), Trace.from_json(file.read_bytes())
        except (HsdError, OSError) as error:
            print(f"left out: {file}: {error}", file=sys.stderr)


def _asked(trace: Trace) -> dict[str, str]:
    return {"rule": trace.setup.options.rule, "system": trace.setup.options.system}


def _kept(step: Step) -> set[int]:
    """Return the ids of the nodes on the kept path."""
    accepted = (
        [test.node for test in step.verdict.decisions if test.accepted] if step.verdict else []
    )
    node = accepted[-1] if accepted else 0
    kept = set()
    while node:
        kept.add(node)
        node = step.nodes[node - 1].parent
    return kept


def _write(file: Path, rows: Iterator[dict[str, Any]]) -> None:
    with file.open("w", encoding="utf-8") as out:
        for row in rows:
            out.write(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n")


def _count(runs: int) -> str:
    return f"{runs:,} run{'s' * (runs != 1)}"


if __name__ == "__main__":
    raise SystemExit(main())
