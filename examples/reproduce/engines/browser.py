"""The browser's turn, see turn.py: the exported page in Chromium, decoding in its own worker.

Passes and rows are asked of the same modules by a worker beside it (browser.js), as no visitor asks
for them.
"""

from __future__ import annotations

import json
import os
import re
import sys
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from hsd.space import ISOLATED

if TYPE_CHECKING:
    from collections.abc import Iterator

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
START = """async ({ folder, page, first }) => {
  const begin = performance.now();
  const how = { type: "module", name: document.baseURI };
  const [worker, waiting] = [new Worker(`${folder}answers/browser/worker.js`, how), new Map()];
  worker.onmessage = ({ data: { id, value, refusal, progress } }) => {
    if (progress) return;
    refusal ? waiting.get(id)[1](refusal) : waiting.get(id)[0](value);
  };
  await new Promise((...both) => waiting.set(0, both));
  let id = 0;
  const call = (name, argument = {}) => new Promise((...both) => {
    waiting.set((id += 1), both);
    worker.postMessage({ id, name, argument });
  });
  window.files = page.browser.files;
  await call("load", { about: page.browser.pair, files: window.files, picked: null });
  const options = new URL(`${folder}answers/browser/options.js`, document.baseURI);
  const { readRequest } = await import(options);
  window.decode = async (given) => {
    await call("begin", { request: readRequest(given, page) });
    for (const steps of [[]]) for (;;) {
      const message = await call("next");
      steps.push(...message.steps);
      if (!message.result) continue;
      return steps.map((step) => [step.committed.length, step.start, step.times]);
    }
  };
  window.leave = () => worker.terminate();
  await window.decode(first);
  return (performance.now() - begin) / 1000;
}"""
REST = """({ folder, told, job }) => new Promise((found, failed) => {
  const how = { type: "module", name: document.baseURI };
  const worker = new Worker(`${folder}answers/browser/measure.js`, how);
  worker.onerror = ({ message }) => failed(message);
  worker.onmessage = ({ data }) => {
    if (data) found(data);
    else worker.postMessage({ told, files: window.files, job });
  };
})"""


class Quiet(SimpleHTTPRequestHandler):
    """A plain file server, without a log."""

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class Isolating(Quiet):
    """One that sends what a static Space sends, so that the page may have threads: one for each
    core, at most four.
    """

    def end_headers(self) -> None:
        for name, value in ISOLATED.items():
            self.send_header(name, value)
        super().end_headers()


@contextmanager
def served(folder: Path, port: int, threads: int) -> Iterator[str]:
    handler = Isolating if threads > 1 else Quiet
    with ThreadingHTTPServer(
        ("127.0.0.1", port), partial(handler, directory=str(folder))
    ) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()


def main() -> None:
    job = json.loads(sys.stdin.readline())
    try:
        found = measure(job)
    except (
        Exception
    ) as error:  # no Playwright, no Chromium, a port in use: one line, and the rest goes on
        found = {
            "missing": next(
                line for line in [*str(error).splitlines(), type(error).__name__] if line
            )[:200]
        }
    print(json.dumps(found), flush=True)


def measure(job: dict[str, Any]) -> dict[str, Any]:
    from playwright.sync_api import sync_playwright

    site = Path(job["work"]) / "site"
    told = json.loads((site / "data/page.json").read_text(encoding="utf-8"))
    folder = told["browser"]["files"]["engine"].removesuffix("engine.wasm")
    beside = Path(__file__).with_suffix(".js").read_bytes()
    (site / folder / "answers/browser/measure.js").write_bytes(beside)
    files = [
        site / folder / "engine.wasm",
        *(
            site / piece["path"]
            for part in ("weights", "head")
            for piece in told["browser"]["files"][part]["pieces"]
        ),
    ]
    if job["threads"] > 1 and os.cpu_count() != job["threads"]:
        raise OSError(f"a page takes a thread for each core, and this machine has {os.cpu_count()}")
    with served(site, job["port"], job["threads"]) as address, sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=job["chromium"] or None, args=FLAGS)
        page = chromium.new_page()
        page.goto(address)
        first = {
            "prompt": job["prompts"][0],
            **job["options"],
            "system": "plain",
            "max_new_tokens": 1,
        }
        seconds = page.evaluate(START, {"folder": folder, "page": told, "first": first})
        print(f"ready {seconds}", flush=True)
        found = {way: [0, 0.0] for way in job["ways"]}
        for way, how in job["ways"].items():
            for prompt in job["prompts"]:
                steps = page.evaluate("decode", {"prompt": prompt, **job["options"], **how})
                found[way][0] += sum(count for count, _, _ in steps[1:])
                found[way][1] += steps[-1][1] + sum(steps[-1][2].values()) - steps[1][1]
        most = memory(os.getpid())
        page.evaluate("leave()")
        asked = {name: job[name] for name in ("widths", "before", "repetitions", "rows")}
        rest = page.evaluate(
            REST, {"folder": folder, "told": told["browser"]["pair"], "job": asked}
        )
        version = chromium.version
        chromium.close()
    size = sum(file.stat().st_size for file in files) / 1e6
    precision = told["browser"]["pair"]["target"]["dtype"]
    return {
        "precision": precision,
        "speed": found,
        "memory_mb": most,
        "model_mb": round(size, 1),
        "library_mb": 0.0,
        "versions": {"chromium": version},
        **rest,
    }


def memory(root: int, field: str = "VmHWM") -> int | None:
    """What the largest page of a browser under process `root` has most of, in megabytes.

    field: of the kernel's status of a process; VmHWM is the most memory that it ever had, VmRSS
    what it has now.
    """
    parents = {}
    most = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            told = (folder / "status").read_text(encoding="utf-8")
            words = (folder / "cmdline").read_text(encoding="utf-8", errors="replace")
        except OSError:  # it has ended
            continue
        parents[int(folder.name)] = int(re.findall(r"PPid:\s+(\d+)", told)[0])
        if "--type=renderer" in words and (peak := re.search(field + r":\s+(\d+)", told)):
            most[int(folder.name)] = int(peak[1]) // 1000

    def under(process: int) -> bool:
        while process in parents and process != root:
            process = parents[process]
        return process == root

    return max((peak for process, peak in most.items() if under(process)), default=None)


if __name__ == "__main__":
    main()
