"""What Gradio's own `Blocks` lacks: errors reported in one line, and a queue that no request can bypass."""

from __future__ import annotations

from typing import Any

import gradio as gr

from hsd.app.queue import FairQueue
from hsd.app.replies import brief, unexpected
from hsd.errors import HsdError


class Endpoints(gr.Blocks):
    """Blocks whose events report an error in one line. Gradio logs it with the input, and tells the client nothing."""

    @classmethod
    def adopt(cls, blocks: gr.Blocks, limit: int) -> None:
        """Turn the blocks of a launched server into these. limit: how many requests may wait for the model."""
        blocks.__class__ = cls
        blocks.api_open = False  # else a request may pass the queue, and two runs would share the caches of one pair
        FairQueue.adopt(blocks._queue, limit)

    def validate_inputs(self, block_fn: Any, inputs: list[Any]) -> None:
        wanted = len(block_fn.inputs)
        if len(inputs) < wanted:
            how = f"give all, or name those that you give: POST to call/v2/{block_fn.api_name}"
            raise gr.Error(f"{len(inputs)} of {wanted} values came: {how}", print_exception=False)

    async def process_api(self, *arguments: Any, **more: Any) -> Any:
        try:
            return await super().process_api(*arguments, **more)
        except gr.Error:
            raise
        except HsdError as error:
            raise gr.Error(brief(error), print_exception=False) from None
        except Exception as error:
            raise gr.Error(unexpected(error, "try other input"), print_exception=False) from None
