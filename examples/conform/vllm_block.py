"""vLLM's block verification for GPUs, out of its wheel, run by Triton's interpreter: no GPU, no
server.
"""

import os
import sys
import warnings
from functools import partial
from importlib import import_module, util
from types import ModuleType, SimpleNamespace
from unittest.mock import patch

import torch

os.environ["TRITON_INTERPRET"] = "1"  # before Triton is imported
warnings.filterwarnings("ignore", module="triton")  # logarithms of 0
tl = import_module("triton.language")
pad = torch.nn.functional.pad
home = "vllm.v1.worker.gpu."
own = SimpleNamespace(
    tl=tl, triton=import_module("triton"), tldevice=SimpleNamespace(log1p=lambda x: tl.log(1 + x))
)
stubs = {
    "vllm.triton_utils": own,
    home + "sample.watermark": SimpleNamespace(philox_gumbel_block_argmax=None),
}
for name in ("vllm", "vllm.v1", "vllm.v1.worker", home[:-1], home + "sample", home + "spec_decode"):
    stubs[name] = ModuleType(name)  # a package without what it imports
    stubs[name].__path__ = [
        util.find_spec("vllm").submodule_search_locations[0] + name[4:].replace(".", "/")
    ]
with patch.dict(sys.modules, stubs):
    gumbel, utils = map(
        import_module, (home + "sample.gumbel", home + "spec_decode.rejection_sampler_utils")
    )
# handed in as the position that a coin is made from
utils.tl_rand32 = lambda seed, coin, includes_zero: coin
NOISE = "exponential-race"
BATCHED = True
DTYPE = "float32"


def uniform(noise, seed, coin, keys):
    return sum(
        tl.where(keys == token, x, 0.0) for token, x in enumerate(noise[int(seed.handle.data[0])])
    )


def verify(p, q, tokens, uniforms, noise):
    # -log(1 - u) is the noise again
    gumbel.murmur3_uniform32 = partial(uniform, (-torch.expm1(-noise)).tolist())
    batch, gamma, _ = q.shape
    count = torch.arange(batch)
    ends = torch.arange(batch + 1) * (gamma + 1)
    of = count.repeat_interleave(gamma + 1)
    at = torch.arange(gamma + 1).repeat(batch)
    one = torch.ones(batch)
    rows = (
        p.log().flatten(0, 1),
        q.log(),
        pad(tokens, (1, 0)).flatten(),
        ends,
        pad(uniforms, (0, 1)).flatten(),
    )
    sampled, sizes = utils.rejection_sample(
        *rows, count, of, at, one, count, gamma, use_block_verification=True
    )
    return [row[:size] for row, size in zip(sampled.tolist(), sizes.tolist(), strict=True)]
