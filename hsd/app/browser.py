"""What a page needs to decode by itself.

That is the portable engine, the pair's files, and facts about them. `hsd/web/answers/browser` reads
it. The weights are the file that the package index has, as published. Large files lie in pieces,
each with its own hash, so that a download which breaks off goes on from the last whole piece.
"""

import json
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from safetensors.torch import load_file

from hsd.engine.machine import MODULE, THREADED
from hsd.errors import HsdError
from hsd.models.loading import fetch
from hsd.models.loading.memory import SIZES
from hsd.models.loading.registry import draft_length
from hsd.models.loading.tensors import in_full
from hsd.models.small.head import SmallHead
from hsd.models.small.model import DTYPE
from hsd.paths import ASSETS, WEB, cached_by_file
from hsd.space import PairSpec, Space
from hsd.version import __version__

NAME = "smollm2"
HEAD = ASSETS / NAME / "draft"
HEAD_FILE = HEAD / "model.safetensors"
FOLDER = "model/"
HEAD_PATH = f"{FOLDER}head.safetensors"
PIECE = 8 << 20  # bytes: the most that is downloaded again after an interruption
CHAT = (
    "<|im_start|>system\n"
    "You are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
    "<|im_start|>user\n",
    "<|im_end|>\n<|im_start|>assistant\n",
)
"""What the chat template of the published file puts before a question, and after it."""


def spec(space: Space) -> PairSpec | None:
    """Return the pair that a browser can run, None if the manifest lacks it."""
    return next((pair for pair in space.pairs if pair.name == NAME), None)


def about(space: Space, folder: str, weights: bool) -> dict[str, Any]:
    """Return facts about the pair for the page.

    folder: of the page's modules; weights: whether they are in the site too.
    """
    pair = spec(space)
    model = fetch.MODELS[NAME]
    assert pair, "the manifest names no pair that a browser can run"
    config = json.loads((HEAD / "config.json").read_text(encoding="utf-8"))
    target = SIZES[f"HuggingFaceTB/{model.title}"]
    name = f"{model.title}.gguf"
    whole = [{"path": None, "bytes": model.gguf_bytes, "sha256": model.gguf_sha256}]
    pieces = _pieces(fetch.fetch(NAME), FOLDER + name) if weights else whole
    files = {
        "engine": f"{folder}{MODULE.name}",
        "threaded": f"{folder}{THREADED.name}",
        "weights": {"name": name, "bytes": model.gguf_bytes, "pieces": pieces},
        "head": {
            "name": "the draft",
            "bytes": HEAD_FILE.stat().st_size,
            "pieces": _pieces(HEAD_FILE, HEAD_PATH),
        },
    }
    sizes = {"target": target.parameters, "draft": _parameters(HEAD_FILE)}
    chip = {"name": NAME, "title": pair.title, "device": "in this browser", **sizes}
    run = {
        "name": NAME,
        "version": __version__,
        "config": config,
        "chat": CHAT,
        "target": {"name": model.title, "revision": model.revision, "dtype": DTYPE},
        "draft": {"name": f"{NAME} draft", "revision": None, "dtype": SmallHead.dtype},
    }
    known = {"name": NAME, "title": model.title, "gamma": draft_length(NAME), "engine": "portable"}
    licence = f"Licence {model.licence}; {model.credit}."
    return {**known, "licence": licence, "chip": chip, "pair": run, "files": files}


def files(folder: str, weights: bool) -> dict[str, Any]:
    """Return, for each path, a function that reads its file.

    Raises HsdError for missing or damaged weights.
    """
    contents: dict[str, Any] = {
        f"{folder}{module.name}": module.read_bytes for module in (MODULE, THREADED)
    }
    contents |= _contents(HEAD_FILE, HEAD_PATH)
    if weights:
        model = fetch.MODELS[NAME]
        file = fetch.fetch(NAME)
        if sha256(file.read_bytes()).hexdigest() != model.gguf_sha256:
            raise HsdError(f"{file} is damaged: delete it, and run this again")
        contents |= _contents(file, f"{FOLDER}{model.title}.gguf")
        # Apache-2.0 as well
        contents[f"{FOLDER}LICENSE"] = (WEB / "vendor" / "tokenizers.LICENSE").read_bytes
        template = Path(__file__).with_suffix(".md").read_text(encoding="utf-8")
        contents[f"{FOLDER}README.md"] = template.format(**vars(model)).encode
    return contents


def _pieces(file: Path, path: str) -> list[dict[str, Any]]:
    """Return path, length and hash of each piece of a file."""
    pieces = ((name, read()) for name, read in _contents(file, path).items())
    return [
        {"path": name, "bytes": len(piece), "sha256": sha256(piece).hexdigest()}
        for name, piece in pieces
    ]


def _contents(file: Path, path: str) -> dict[str, Callable[[], bytes]]:
    """Cut a file into pieces of at most PIECE bytes.

    Return for each piece's path a function that reads it.
    """

    def read(begin: int) -> bytes:
        with file.open("rb") as source:
            source.seek(begin)
            return source.read(PIECE)

    begins = range(0, file.stat().st_size, PIECE)
    return {f"{path}.{i}": partial(read, begin) for i, begin in enumerate(begins)}


@cached_by_file()
def _parameters(file: Path) -> int:
    """Return how many parameters the head in a file has."""
    weights = in_full(load_file(file))
    return sum(weight.numel() for name, weight in weights.items() if name not in ("d2t", "t2d"))
