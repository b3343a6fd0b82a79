"""Store a trained head in 8 bits, as the portable engine computes with it: half the file.

    python examples/reproduce/smollm2/pack_head.py FOLDER

FOLDER is what train_head.py or train_on_gpu.py wrote. The engine's numbers stay the same.
Rewrites model.safetensors in the layout that `hsd.models.loading.tensors.in_full` reads: of each 32
weights in a row the largest magnitude in 16 bits, then each weight in 127ths of it. Vectors and the
list of drafted tokens stay as they are.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

# so that this runs without installing the package
sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from hsd.models.loading.tensors import in_full


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    file = parser.parse_args().folder / "model.safetensors"
    if not file.is_file():
        parser.error(f"{file} is not there: give the folder of a trained head")
    weights = in_full(load_file(file))
    weights.pop("t2d", None)  # d2t tells as much
    before = file.stat().st_size
    save_file(
        {name: in_blocks(one) if packable(name, one) else one for name, one in weights.items()},
        file,
    )
    after = in_full(load_file(file))
    error = max(
        float((after[name] - weight.float()).abs().max()) for name, weight in weights.items()
    )
    sizes = f"{before / 1e6:.1f} MB before, {file.stat().st_size / 1e6:.1f} MB now"
    print(f"{file}: {sizes}, no weight off by more than {error:.4f}")


def packable(name: str, weight: Tensor) -> bool:
    """Return whether a tensor is a matrix of the head; norms are few and stay."""
    return weight.is_floating_point() and weight.dim() == 2 and not name.endswith("norm.weight")


def in_blocks(weight: Tensor) -> Tensor:
    """Return weights (rows, 32 · n) as bytes (rows, 34 · n)."""
    parts = weight.float().unflatten(-1, (-1, 32))
    most = parts.abs().amax(-1, keepdim=True).half()
    shares = (parts / most.float() * 127).round().nan_to_num(0).to(torch.int8)
    return torch.cat([most.view(torch.uint8), shares.view(torch.uint8)], -1).flatten(-2)


if __name__ == "__main__":
    main()
