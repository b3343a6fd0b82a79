"""vLLM's V1 module when it is asked for block verification, which it takes without a word:
`--expect blockwise`.
"""

from functools import partial

import vllm_v1

NOISE = vllm_v1.NOISE
BATCHED = vllm_v1.BATCHED
DTYPE = vllm_v1.DTYPE
verify = partial(vllm_v1.verify, method="block")
