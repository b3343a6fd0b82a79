"""The app as on a ZeroGPU Space, in a process of its own: `spaces` emulates CUDA and forks for
every call.

    python tests/zero_gpu_app.py PORT FOLDER

FOLDER has the models "target" and "draft" of a pair that needs a GPU.
A torch that was built for CUDA is needed, a GPU is not: what would start CUDA in the lent process
is left out, so that it decodes on the CPU. All else is the package's own: who asks for how many
seconds, the fork, what travels between the processes, errors.
"""

from __future__ import annotations

import sys
from pathlib import Path

import spaces  # noqa: F401  # must come before torch
import spaces.zero.torch as lent


def main(port: int, folder: Path) -> None:
    lent.init = lent.move = lambda *_, **__: None

    from hsd import space
    from hsd.app import launch

    manifest = space.load()
    own = [
        pair.model_copy(update={name: str(folder / name) for name in ("target", "draft")})
        if pair.from_hub
        else pair
        for pair in manifest.pairs
    ]
    space.load = lambda *_: manifest.model_copy(update={"pairs": own})
    launch(None, port=port, download=False)


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
