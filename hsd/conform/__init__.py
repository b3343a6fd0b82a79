"""Conformance: whether somebody else's verifier is lossless, and what it does with its numbers."""

from hsd.conform.adapter import Adapter, load_adapter
from hsd.conform.judge import rows_models
from hsd.conform.report import conform

__all__ = ["Adapter", "conform", "load_adapter", "rows_models"]
