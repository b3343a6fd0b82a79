"""Of a damaged GGUF file the browser's reader says one line, or it reads as the whole one: the
cases of Python.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from damaged_gguf import damages, harmless
from engine import Engine
from small_gguf import VOCAB, write_gguf

from hsd.engine.machine import MODULE

# What a file comes to: the logits after a few tokens, or the line of a refusal. Any other error is
# one of ours.
READ = """async (module, paths) => {
  const { readFileSync } = process.getBuiltinModule("fs");
  globalThis.compiled ??= new WebAssembly.Module(readFileSync(module));
  const found = [];
  for (const path of paths) {
    try {
      const file = await gguf.readGguf(new Blob([readFileSync(path)]));
      const model = await engine.loadModel(new engine.Engine(compiled), file, []);
      const text = new engine.TargetText(model);
      found.push([null, text.read([5, 17, 3, 60], 1, (row) => [...row])[0]]);
    } catch (error) {
      const refused = error.name === "Error" || error.constructor.name === "Refusal";
      found.push([refused ? error.message : error.stack, null]);
    }
  }
  return found;
}"""


@pytest.fixture(scope="module")
def node() -> Iterator[Engine]:
    engine = Engine({name: f"answers/browser/{name}.js" for name in ("engine", "gguf")})
    yield engine
    engine.stop()


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("whole") / "whole.gguf"
    write_gguf(place)
    return place


def read(
    node: Engine, place: Path, files: list[tuple[str, bytes]]
) -> list[tuple[str, str | None, list[float] | None]]:
    """Name, line and logits of each."""
    paths = []
    for i, (_, data) in enumerate(files):
        paths.append(place / f"{i}.gguf")
        paths[-1].write_bytes(data)
    found = node.call(READ, str(MODULE), [str(path) for path in paths])
    assert isinstance(found, list)
    return [(name, *answer) for (name, _), answer in zip(files, found, strict=True)]


def test_every_damaged_file_is_refused_in_one_line_or_reads_as_the_whole_one(
    node: Engine, file: Path, tmp_path: Path
):
    _, _, wanted = read(node, tmp_path, [("whole", file.read_bytes())])[0]
    assert wanted is not None
    assert len(wanted) == VOCAB
    refused = 0
    for name, line, logits in read(node, tmp_path, list(damages(file))):
        assert line is not None or logits == wanted, name
        if line is not None:
            refused += 1
            assert "\n" not in line, (name, line)
            assert "choose" in line, (name, line)
    assert refused > 400


def test_what_says_the_same_in_another_way_is_read(node: Engine, file: Path, tmp_path: Path):
    _, _, wanted = read(node, tmp_path, [("whole", file.read_bytes())])[0]
    for name, line, logits in read(node, tmp_path, list(harmless(file))):
        assert (line, logits) == (None, wanted), name
