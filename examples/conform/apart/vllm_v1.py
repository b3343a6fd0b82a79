"""vLLM's whole module of verification for its older runner, V1, on a CPU: the logits come in, the
tokens go out.

Its fault without Triton (issue #55005) is mended as this project's plugin mends it; the numbers are
put in its place.
"""

from types import SimpleNamespace
from unittest.mock import patch

import torch
from vllm.platforms import current_platform
from vllm.v1.sample import rejection_sampler
from vllm.v1.sample.rejection_sampler import RejectionSampler
from vllm.v1.spec_decode.metadata import SpecDecodeMetadata

from hsd.vllm.binding import patch_cpu_sampling

NOISE = "exponential-race"
BATCHED = True
DTYPE = "float32"
METHOD = "standard"
current_platform.import_kernels()
current_platform.register_triton_kernel_overrides()
patch_cpu_sampling()


class Bonus(torch.nn.Module):
    """Stands for vLLM's sampler, which draws the bonus token; it takes the same noise as recovered
    ones.
    """

    logprobs_mode = "raw_logprobs"
    noise = None

    def forward(self, logits, **_):
        return SimpleNamespace(
            sampled_token_ids=(logits.softmax(-1) / self.noise).argmax(-1, keepdim=True)
        )


def verify(p, q, tokens, uniforms, noise, method=METHOD):
    batch, gamma, _ = q.shape
    bonus = Bonus()
    bonus.noise = noise
    sampler = RejectionSampler(
        bonus, SimpleNamespace(rejection_sample_method=method), torch.device("cpu")
    )
    given = SpecDecodeMetadata.make_dummy(tokens.tolist(), torch.device("cpu"))
    at = torch.arange(batch * (gamma + 1)).view(batch, gamma + 1)
    given.target_logits_indices = at[:, :-1].flatten()
    given.bonus_logits_indices = at[:, -1].contiguous()
    plain = SimpleNamespace(
        all_greedy=False,
        all_random=True,
        temperature=torch.ones(batch),
        top_k=None,
        top_p=None,
        generators={},
        no_penalties=True,
        bad_words_token_ids={},
        output_token_ids=[],
        spec_token_ids=None,
        max_num_logprobs=None,
        allowed_token_ids_mask=None,
        logitsprocs=SimpleNamespace(non_argmax_invariant=[]),
        thinking_budget_state_holder=None,
    )
    coins = uniforms.flatten().double()
    with (
        patch.object(rejection_sampler, "generate_uniform_probs", lambda *_: coins),
        patch.object(rejection_sampler, "replace", lambda metadata, **_: metadata),
        patch.object(torch.Tensor, "exponential_", lambda self, **_: self.copy_(noise)),
    ):
        found = sampler(
            given, q.flatten(0, 1).contiguous(), p.log().flatten(0, 1), plain
        ).sampled_token_ids
    return [[token for token in row if token >= 0] for row in found.tolist()]
