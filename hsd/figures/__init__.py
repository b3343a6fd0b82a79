"""Plotly figures from the rows of a benchmark: plain data in, a figure out. Nothing is computed here but layout."""

from hsd.figures.bench import (
    acceptance_rate_per_position,
    block_efficiency,
    kept_histogram,
    time_shares,
    tokens_per_second,
)

__all__ = ["acceptance_rate_per_position", "block_efficiency", "kept_histogram", "time_shares", "tokens_per_second"]
