"""What Gradio's `Blocks` of a server does not do: one line for whatever goes wrong, and nothing past the queue."""

from __future__ import annotations

from typing import Any

import gradio as gr

from hsd.app.queue import FairQueue
from hsd.app.replies import brief, unexpected
from hsd.errors import HsdError


class Endpoints(gr.Blocks):
    """Blocks whose events tell in one line what goes wrong. Gradio prints it, with what was sent, and says nothing."""

    @classmethod
    def adopt(cls, blocks: gr.Blocks, limit: int) -> None:
        """Make this of the blocks of a server that has been launched. limit: how many may wait for the model."""
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
