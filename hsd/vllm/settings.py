"""What a server is asked to do with its requests, checked."""

import zlib
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from hsd.errors import HsdError
from hsd.trace.values import Count, Record

KEY = "hsd"  # of vLLM's --additional-config, and of a request's vllm_xargs
Megabytes = Annotated[float, Field(gt=0)]


class Settings(Record):
    """The values under "hsd" in vLLM's --additional-config.

    record: the share of requests whose steps are recorded, from 0 to 1. next: the first n requests as well. A request
    itself may ask for it, or against it, by `vllm_xargs` {"hsd": true}, and is recorded whatever stands here.
    rule: "hsd" replaces the verification of vLLM's V1 runner; "" leaves it as it is.
    prompts: record the prompts too; without it a trace begins after the prompt.
    megabytes: of steps that are kept for readers, the oldest are dropped. per_second: megabytes that may be recorded.
    remote: other machines may read the steps too.
    """

    record: Annotated[float, Field(ge=0, le=1)] = 0
    next: Count = 0
    rule: Literal["", "hsd"] = ""
    prompts: bool = False
    megabytes: Megabytes = 64
    per_second: Megabytes = 8
    remote: bool = False

    def wants(self, request: str, own: Any, begun: int) -> bool:
        """Return whether a request is recorded. own: what its vllm_xargs say; begun: how many requests came before."""
        if own is not None:
            return str(own).lower() not in ("", "0", "false", "no")
        return begun < self.next or zlib.crc32(request.encode()) / 2**32 < self.record  # the same in every process


def settings_of(config: Any) -> Settings | None:
    """Return the settings in vLLM's additional config; None where there are none. Raises HsdError for wrong ones."""
    if not isinstance(config, Mapping) or config.get(KEY) is None:
        return None
    try:
        return Settings.model_validate(config[KEY])
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join([KEY, *map(str, first["loc"])])
        choices = ", ".join(Settings.model_fields)
        raise HsdError(f"{where} in --additional-config: {first['msg']} (it takes {choices})") from None
