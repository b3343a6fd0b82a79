"""Memory that C reads and writes has its type and place, whatever the program around it has set."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from loops import for_each
from torch import Tensor

from hsd import HsdError
from hsd.engine.memory import address, room


@pytest.fixture(params=[torch.bfloat16, torch.float64])
def default_type(request: pytest.FixtureRequest) -> Iterator[None]:
    torch.set_default_dtype(request.param)
    yield
    torch.set_default_dtype(torch.float32)


def test_memory_has_the_size_that_c_writes(default_type: None):
    with torch.device("meta"):
        rows = room(3, 5)
        sums = room(7, dtype=torch.float64)
    assert rows.untyped_storage().nbytes() == 3 * 5 * 4
    assert sums.untyped_storage().nbytes() == 7 * 8
    assert address(rows) == rows.data_ptr()
    assert address(sums, torch.float64) == sums.data_ptr()


@for_each(
    "numbers",
    [
        torch.zeros(8, dtype=torch.bfloat16),
        torch.zeros(8, dtype=torch.float64),
        torch.zeros(8, 2)[:, 0],
        torch.zeros(4, 8).T,
        torch.zeros(8, device="meta"),
    ],
)
def test_no_address_is_given_of_other_memory(numbers: Tensor):
    with pytest.raises(HsdError, match=r"convert them first$"):
        address(numbers)
