"""This project's draft head as a model of vLLM.

It is EAGLE-3 whose layer's sum also takes the embedding (`token_proj`). In vLLM the head does not
read the first token of a text; elsewhere here it does: drafts differ a little, texts do not.
"""

from typing import Any

import torch
from torch import Tensor
from vllm.model_executor.models.llama_eagle3 import Eagle3LlamaForCausalLM, LlamaDecoderLayer


class Layer(LlamaDecoderLayer):
    """The layer of EAGLE-3, which first adds `token_proj` of the normed embedding to the states."""

    def forward(
        self, positions: Tensor, embeds: Tensor, hidden_states: Tensor, residual: Tensor | None
    ) -> Any:
        straight = self.token_proj(self.input_layernorm(embeds))
        return super().forward(positions, embeds, hidden_states + straight, residual)


class Head(Eagle3LlamaForCausalLM):
    """vLLM's model of a folder whose architecture is `HsdLlamaForCausalLMEagle3`."""

    def __init__(self, *, vllm_config: Any, prefix: str = "") -> None:
        super().__init__(vllm_config=vllm_config, prefix=prefix)
        layer = self.model.layers[0]
        size = self.config.hidden_size
        dtype = layer.input_layernorm.weight.dtype
        layer.token_proj = torch.nn.Linear(size, size, bias=False, dtype=dtype)
        layer.__class__ = Layer
