"""Numbers as the page shows them."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from engine import Engine


@pytest.fixture(scope="module")
def page() -> Iterator[Engine]:
    engine = Engine({"format": "kit/format.js"})
    yield engine
    engine.stop()


def test_shares_that_add_up_to_one_are_shown_so(page: Engine):
    noise = random.Random(0)
    for _ in range(300):
        parts = [noise.random() ** noise.choice([1, 4, 12]) for _ in range(noise.randint(2, 4))]
        shares = [part / sum(parts) for part in parts]
        shown = [float(text) for text in page.call("format.adding", shares)]
        assert sum(shown) == pytest.approx(1, abs=1e-12)
        assert shown == pytest.approx(shares, abs=0.01)
    assert page.call("format.adding", [0.112, 0.591, 0.297]) == [".11", ".59", ".3"]
    assert page.call("format.adding", [1.0, 0.0]) == ["1", "0"]
    assert page.call("format.adding", [0.9996, 0.0004]) == [".9996", ".0004"]
