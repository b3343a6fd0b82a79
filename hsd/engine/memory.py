"""Memory that C reads and writes.

It is on the CPU, of a named type and in one piece, whatever defaults torch has at that time.
"""

import torch
from torch import Tensor

from hsd.errors import HsdError


def room(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Return memory of a shape for numbers that C writes."""
    return torch.empty(shape, dtype=dtype, device="cpu")


def fits(numbers: Tensor, dtype: torch.dtype = torch.float32) -> bool:
    """Return whether C may read or write `numbers` as a row of `dtype`."""
    known = numbers.dtype == dtype and numbers.device.type == "cpu"
    return known and numbers.is_contiguous()


def address(numbers: Tensor, dtype: torch.dtype = torch.float32) -> int:
    """Return the address of `numbers`, which must be `dtype`, on the CPU and in one piece.

    Raises HsdError for others.
    """
    if not fits(numbers, dtype):
        raise HsdError(
            f"the portable engine takes {dtype} on cpu in one piece, not {numbers.dtype} on "
            f"{numbers.device} with strides {numbers.stride()}: convert them first"
        )
    return numbers.data_ptr()
