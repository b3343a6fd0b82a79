"""What a server is asked to do with its requests, checked."""

import zlib
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from hsd.errors import HsdError
from hsd.trace.values import Record

KEY = "hsd"  # of vLLM's --additional-config, and of a request's vllm_xargs


class Settings(Record):
    """The values under "hsd" in vLLM's --additional-config.

    record: the share of requests whose steps are recorded, from 0 to 1. A request itself may ask for it, or against it,
    by `vllm_xargs` {"hsd": true}, whatever stands here. rule: "hsd" replaces the verification of vLLM's V1 runner; ""
    leaves it as it is. prompts: record the prompts too; without it a trace begins after the prompt. megabytes: of steps
    that are kept for readers; the oldest are dropped. remote: other machines may read the steps too.
    """

    record: Annotated[float, Field(ge=0, le=1)] = 0
    rule: Literal["", "hsd"] = ""
    prompts: bool = False
    megabytes: Annotated[float, Field(gt=0)] = 64
    remote: bool = False

    def wants(self, request: str, own: Any) -> bool:
        """Return whether a request is recorded. request: its name; own: what its vllm_xargs say, None for nothing."""
        if own is not None:
            return str(own).lower() not in ("", "0", "false", "no")
        return zlib.crc32(request.encode()) / 2**32 < self.record


def settings_of(config: Any) -> Settings | None:
    """Return the settings in vLLM's additional config; None where there are none. Raises HsdError for wrong ones."""
    if not isinstance(config, Mapping) or config.get(KEY) is None:
        return None
    try:
        return Settings.model_validate(config[KEY])
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where, choices = ".".join([KEY, *map(str, first["loc"])]), ", ".join(Settings.model_fields)
        raise HsdError(f"{where} in --additional-config: {first['msg']} (it takes {choices})") from None
